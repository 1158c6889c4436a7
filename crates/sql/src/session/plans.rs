//! Plans that are kept, by all that they depend on.
//!
//! A plan is found again by its statement and by the [`Inputs`] of its binding. Its third dependency
//! is a version of the catalog: a plan of another version is replaced by the new one
//! ([`Session::is_current`](super::Session::is_current)), because no statement can use the old one
//! again. Lookups compare the statement itself, token by token (`syntax/shape.rs`) or as a whole text,
//! and the inputs themselves; hashes only find the place.
//!
//! | cache | plans | sessions |
//! | --- | --- | --- |
//! | [`Plans`] | of committed versions of the catalog | all of a database, on whatever worker |
//! | [`OwnPlans`] | of the version that a transaction's own DDL has made | its own, until it ends |
//!
//! # Bounds
//! [`Plans`] weighs at most a part of the database's memory limit ([`capacity`]), which is set aside
//! for it as long as it lives. Both caches evict by use: a statement that is sent once leaves before
//! one that is sent often (S3-FIFO, Yang et al. 2023), so a client that sends nothing but new
//! statements does not empty the cache of others.

use std::{
    hash::{Hash, Hasher, RandomState},
    rc::Rc,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use quick_cache::{Equivalent, OptionsBuilder, Weighter, sync, unsync};
use types::{Charge, Memory, Type};

use super::{query::Planned, references::Question};
use catalog::{Catalog, ObjectId};
use logical::bind::Inputs;
use syntax::shape::{KeptPieces, Pieces};

/// One of so many parts of the database's memory limit is for plans.
const PART: usize = 64;

/// Bytes of plans that a database keeps in any case.
const BYTES_MIN: usize = 1 << 20;

/// Bytes of plans that a database keeps at most.
const BYTES_MAX: usize = 64 << 20;

/// Bytes of plans that a transaction with changes of the catalog keeps at most.
const OWN_BYTES_MAX: u64 = 2 << 20;

/// Bytes of a plan that the caches are prepared for. Others cost time, not correctness.
const USUAL_BYTES: usize = 8 << 10;

/// Different inputs that sessions share. Beyond them a session has its own copy, and lookups compare
/// more.
const INPUTS_MAX: usize = 64;

/// What a plan is asked for by.
#[derive(Debug, Clone, Copy)]
pub(super) enum Asked<'a> {
    /// A client's statement, in which literals may have been taken out.
    Statement(Pieces<'a>),
    /// A client's statement with parameters, as it was sent.
    Text {
        text: &'a str,
        /// The types that the client has told of its parameters.
        declared: &'a [Option<Type>],
    },
    /// What a foreign key asks of its tables.
    Reference(ObjectId, Question),
}

/// Key of a kept plan: an [`Asked`] with its inputs, owned.
#[derive(Debug)]
struct Key {
    statement: Statement,
    inputs: Arc<Inputs>,
}

#[derive(Debug, PartialEq, Eq)]
enum Statement {
    Pieces(KeptPieces),
    Text {
        text: Box<str>,
        declared: Box<[Option<Type>]>,
    },
    Reference(ObjectId, Question),
}

impl Statement {
    fn of(asked: Asked<'_>) -> Self {
        match asked {
            Asked::Statement(pieces) => Statement::Pieces(pieces.to_kept()),
            Asked::Text { text, declared } => Statement::Text {
                text: text.into(),
                declared: declared.into(),
            },
            Asked::Reference(constraint, question) => Statement::Reference(constraint, question),
        }
    }

    fn is(&self, asked: Asked<'_>) -> bool {
        match (self, asked) {
            (Statement::Pieces(own), Asked::Statement(pieces)) => *own == pieces,
            (
                Statement::Text { text, declared },
                Asked::Text {
                    text: other,
                    declared: told,
                },
            ) => **text == *other && **declared == *told,
            (Statement::Reference(id, question), Asked::Reference(other, asked)) => {
                (*id, *question) == (other, asked)
            }
            _ => false,
        }
    }
}

/// A lookup: equal to a [`Key`] if it asks for the same, and hashed like it.
struct Lookup<'a> {
    asked: Asked<'a>,
    inputs: &'a Arc<Inputs>,
}

impl Equivalent<Key> for Lookup<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        are_equal(&key.inputs, self.inputs) && key.statement.is(self.asked)
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        are_equal(&self.inputs, &other.inputs) && self.statement == other.statement
    }
}

impl Eq for Key {}

/// Whether statements are bound alike under both.
pub(super) fn are_equal(one: &Arc<Inputs>, other: &Arc<Inputs>) -> bool {
    Arc::ptr_eq(one, other) || one == other
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_inputs(&self.inputs, state);
        match &self.statement {
            Statement::Pieces(pieces) => pieces.hash(state),
            Statement::Text { text, declared } => hash_text(text, declared, state),
            Statement::Reference(constraint, question) => (constraint, question).hash(state),
        }
    }
}

impl Hash for Lookup<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_inputs(self.inputs, state);
        match self.asked {
            Asked::Statement(pieces) => pieces.hash(state),
            Asked::Text { text, declared } => hash_text(text, declared, state),
            Asked::Reference(constraint, question) => (constraint, question).hash(state),
        }
    }
}

/// The inputs' part of a hash is short: their other fields seldom differ.
fn hash_inputs<H: Hasher>(inputs: &Inputs, state: &mut H) {
    inputs.search_path.schemas.hash(state);
}

fn hash_text<H: Hasher>(text: &str, declared: &[Option<Type>], state: &mut H) {
    text.hash(state);
    declared.len().hash(state);
}

#[derive(Debug, Clone)]
struct Weight;

impl Weighter<Key, Arc<Planned>> for Weight {
    fn weight(&self, _: &Key, planned: &Arc<Planned>) -> u64 {
        planned.bytes().max(1) as u64
    }
}

/// Bytes of plans that a database with a memory limit keeps.
fn capacity(limit_bytes: usize) -> usize {
    (limit_bytes / PART).clamp(BYTES_MIN, BYTES_MAX)
}

/// The plans of a database.
pub(crate) struct Plans {
    cache: sync::Cache<Key, Arc<Planned>, Weight, RandomState>,
    /// Version of the catalog that the newest plan was made from. Plans of older ones go when it
    /// changes, so that old versions are not kept for them.
    version: AtomicU64,
    inputs: Mutex<Vec<Weak<Inputs>>>,
    database: Arc<engine::Database>,
    bytes: usize,
}

impl Plans {
    /// Makes an empty cache, whose memory is set aside within the limit of `database`.
    pub(crate) fn new(database: &Arc<engine::Database>) -> Self {
        let bytes = capacity(database.memory_limit());
        database.charge_memory(bytes);
        // A shard keeps no plan larger than itself.
        let shards = (bytes / BYTES_MIN).clamp(1, 8);
        let options = OptionsBuilder::new()
            .shards(shards)
            .estimated_items_capacity(bytes / USUAL_BYTES)
            .weight_capacity(bytes as u64)
            .build();
        let (hasher, lifecycle) = (RandomState::new(), sync::DefaultLifecycle::default());
        let cache = match options {
            Ok(options) => sync::Cache::with_options(options, Weight, hasher, lifecycle),
            Err(_) => {
                let items = bytes / USUAL_BYTES;
                sync::Cache::with(items, bytes as u64, Weight, hasher, lifecycle)
            }
        };
        Self {
            cache,
            version: AtomicU64::new(0),
            inputs: Mutex::default(),
            database: database.clone(),
            bytes,
        }
    }

    /// Returns the plan of a statement that was bound with `inputs`.
    pub(super) fn find(&self, asked: Asked<'_>, inputs: &Arc<Inputs>) -> Option<Arc<Planned>> {
        self.cache.get(&Lookup { asked, inputs })
    }

    /// Keeps a plan of a committed version of the catalog, in place of an older one.
    pub(super) fn keep(&self, asked: Asked<'_>, planned: &Arc<Planned>) {
        // Relaxed: a plan that is missed goes by its age.
        let version = planned.catalog.version();
        if self.version.fetch_max(version, Ordering::Relaxed) < version {
            let is_new = |_: &Key, kept: &Arc<Planned>| kept.catalog.version() >= version;
            self.cache.retain(is_new);
        }
        self.cache.insert(key(asked, planned), planned.clone());
    }

    /// Returns the bytes of its plans, as they are estimated, and their bound.
    #[cfg(test)]
    pub(super) fn weight(&self) -> (u64, u64) {
        (self.cache.weight(), self.bytes as u64)
    }

    /// Returns inputs that equal `inputs`, shared with other sessions that have them.
    pub(super) fn shared(&self, inputs: Arc<Inputs>) -> Arc<Inputs> {
        let mut all = self.inputs.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| known.strong_count() > 0);
        let mut known = all.iter().filter_map(Weak::upgrade);
        if let Some(known) = known.find(|known| *known == inputs) {
            return known;
        }
        drop(known);
        if all.len() < INPUTS_MAX {
            all.push(Arc::downgrade(&inputs));
        }
        inputs
    }
}

impl Drop for Plans {
    fn drop(&mut self) {
        self.database.give_memory_back(self.bytes);
    }
}

fn key(asked: Asked<'_>, planned: &Planned) -> Key {
    Key {
        statement: Statement::of(asked),
        inputs: planned.inputs().clone(),
    }
}

/// The plans of a transaction that has changed the catalog: no other one sees what it sees.
pub(super) struct OwnPlans {
    cache: unsync::Cache<Key, Arc<Planned>, Weight, RandomState>,
    charge: Charge,
}

impl Default for OwnPlans {
    fn default() -> Self {
        Self {
            cache: unsync::Cache::with(
                16,
                OWN_BYTES_MAX,
                Weight,
                RandomState::new(),
                unsync::DefaultLifecycle::default(),
            ),
            charge: Charge::default(),
        }
    }
}

impl OwnPlans {
    /// Returns the plan of a statement that was bound with `inputs`.
    pub(super) fn find(&self, asked: Asked<'_>, inputs: &Arc<Inputs>) -> Option<Arc<Planned>> {
        self.cache.get(&Lookup { asked, inputs }).cloned()
    }

    /// Keeps a plan of the transaction's `catalog`, charged to `memory`, and drops those of versions
    /// before it. None are kept while there is no memory for them.
    pub(super) fn keep(
        &mut self,
        asked: Asked<'_>,
        planned: &Arc<Planned>,
        catalog: &Catalog,
        memory: &Rc<Memory>,
    ) {
        self.cache
            .retain(|_, kept| std::ptr::eq(&*kept.catalog, catalog));
        self.cache.insert(key(asked, planned), planned.clone());
        let bytes = usize::try_from(self.cache.weight()).unwrap_or(usize::MAX);
        if self.charge.set(memory, bytes).is_err() {
            self.clear();
        }
    }

    /// Drops all plans.
    pub(super) fn clear(&mut self) {
        self.cache.clear();
        self.charge.lower(0);
    }
}
