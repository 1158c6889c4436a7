//! Caches of plans, by their statements and by the inputs of their binding.
//!
//! A plan is found again by its statement and by the [`Inputs`] of its binding. No key has the
//! plan's other dependencies, which [`Session::is_current`](super::Session::is_current) compares: the
//! version of the catalog, sizes and statistics of tables, and the age of indexes. A plan of another
//! version is replaced by the new one, because no statement can use the old one again. Lookups
//! compare the statement itself, token by token (`syntax/fingerprint.rs`) or as a whole text, and
//! the inputs themselves; hashes only find the place.
//!
//! | cache | plans | sessions |
//! | --- | --- | --- |
//! | [`PlanCache`] | plans of committed versions of the catalog | all of a database, on whatever worker |
//! | [`PrivatePlanCache`] | plans of the version that a transaction's own DDL has made | its own, until it ends |
//!
//! # Bounds
//! [`PlanCache`] weighs at most a part of the database's memory limit ([`capacity`]), which is set
//! aside for it as long as it lives. A weight counts the plan, its constants, its key and its
//! inputs.
//!
//! The cache is divided into shards of about [`SHARD_BYTES`], each with a latch of its own that is
//! held for one lookup, one insertion, or one sweep of a shard's few hundred plans. Each shard
//! evicts by use (`quick_cache`, after CLOCK-Pro): a client that sends nothing but new statements
//! does not empty it for others. Heavy plans would, since an insertion evicts as much as it weighs.
//! They have a shard of their own and compete among themselves.
//!
//! # Catalog versions
//! A plan keeps the version of the catalog alive that it was made from. Insertions sweep plans of
//! older versions out of their own shard and, in turn, one other: old versions go soon after a
//! change without a sweep of the whole cache.

use std::{
    hash::{BuildHasher, Hash, Hasher, RandomState},
    rc::Rc,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Instant,
};

use quick_cache::{Equivalent, OptionsBuilder, Weighter, sync, unsync};
use types::{Charge, Memory, Type};

use super::{query::CachedPlan, references::Question};
use catalog::ObjectId;
use logical::bind::Inputs;
use syntax::fingerprint::{Fingerprint, OwnedFingerprint};

/// Divisor of the database's memory limit for the part that is for plans.
const PART: usize = 64;

/// Bytes of plans that a database may keep in any case, unless its limit is small.
const BYTES_MIN: usize = 4 << 20;

/// Most bytes of plans that a database keeps.
const BYTES_MAX: usize = 64 << 20;

/// Divisor of a small limit for the most that plans get of it.
const PART_MIN: usize = 8;

/// Approximate bytes of one shard.
const SHARD_BYTES: usize = 1 << 20;

/// Divisor of the cache for the part that is for heavy plans.
const HEAVY_PART: usize = 4;

/// Divisor of a shard for the weight above which a plan is heavy.
const LIGHT_PART: usize = 32;

/// Least weight of a plan in bytes. It bounds the number of plans in a shard.
const WEIGHT_MIN: usize = 2 << 10;

/// Bytes of a key, declared types included, beyond which its plan is not kept.
const TEXT_BYTES_MAX: usize = 256 << 10;

/// Most bytes of plans that a transaction with changes of the catalog keeps.
const OWN_BYTES_MAX: u64 = 2 << 20;

/// Bytes of a plan that the caches are prepared for. Other sizes cost time, not correctness.
const USUAL_BYTES: usize = 8 << 10;

/// Number of different inputs that sessions share. Beyond them a session has its own copy, and
/// lookups compare more.
const INPUTS_MAX: usize = 64;

/// Most bytes of inputs that sessions share.
const INPUTS_BYTES_MAX: usize = 1 << 10;

/// The statement that a plan is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) enum PlanKey<'a> {
    /// A client's statement, in which literals may have been taken out.
    Fingerprint(Fingerprint<'a>),
    /// A client's statement with parameters, as it was sent.
    Text {
        text: &'a str,
        /// Types that the client has declared for its parameters.
        declared: &'a [Option<Type>],
    },
    /// The query within a client's utility statement, which has the fingerprint.
    Within(Fingerprint<'a>),
    /// A question of a foreign key to its tables.
    Reference(ObjectId, Question),
}

/// The key of a cached plan: a [`PlanKey`] with its inputs, owned.
#[derive(Debug)]
struct CacheKey {
    plan: OwnedPlanKey,
    inputs: Arc<Inputs>,
    /// Hash, which is the same for equal keys.
    hash: u64,
    /// Bytes of the plan and of the key.
    weight: u64,
}

#[derive(Debug, PartialEq, Eq)]
enum OwnedPlanKey {
    Fingerprint(OwnedFingerprint),
    Text {
        text: Box<str>,
        declared: Box<[Option<Type>]>,
    },
    Within(OwnedFingerprint),
    Reference(ObjectId, Question),
}

impl OwnedPlanKey {
    fn of(plan_key: PlanKey<'_>) -> Self {
        match plan_key {
            PlanKey::Fingerprint(fingerprint) => {
                OwnedPlanKey::Fingerprint(fingerprint.to_owned_fingerprint())
            }
            PlanKey::Text { text, declared } => OwnedPlanKey::Text {
                text: text.into(),
                declared: declared.into(),
            },
            PlanKey::Within(fingerprint) => {
                OwnedPlanKey::Within(fingerprint.to_owned_fingerprint())
            }
            PlanKey::Reference(constraint, question) => {
                OwnedPlanKey::Reference(constraint, question)
            }
        }
    }

    /// Returns the bytes of the key itself.
    fn bytes(&self) -> usize {
        match self {
            OwnedPlanKey::Fingerprint(fingerprint) | OwnedPlanKey::Within(fingerprint) => {
                fingerprint.bytes()
            }
            OwnedPlanKey::Text { text, declared } => text.len() + size_of_val(&**declared),
            OwnedPlanKey::Reference(..) => 0,
        }
    }

    fn is(&self, plan_key: PlanKey<'_>) -> bool {
        match (self, plan_key) {
            (OwnedPlanKey::Fingerprint(own), PlanKey::Fingerprint(fingerprint))
            | (OwnedPlanKey::Within(own), PlanKey::Within(fingerprint)) => *own == fingerprint,
            (
                OwnedPlanKey::Text { text, declared },
                PlanKey::Text {
                    text: other,
                    declared: told,
                },
            ) => **text == *other && **declared == *told,
            (OwnedPlanKey::Reference(id, question), PlanKey::Reference(other, asked)) => {
                (*id, *question) == (other, asked)
            }
            _ => false,
        }
    }
}

/// A lookup: equal to a [`CacheKey`] if it asks for the same plan, and hashed like it.
struct Lookup<'a> {
    plan_key: PlanKey<'a>,
    inputs: &'a Arc<Inputs>,
    hash: u64,
}

impl Equivalent<CacheKey> for Lookup<'_> {
    fn equivalent(&self, key: &CacheKey) -> bool {
        self.hash == key.hash && are_equal(&key.inputs, self.inputs) && key.plan.is(self.plan_key)
    }
}

impl PartialEq for CacheKey {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && are_equal(&self.inputs, &other.inputs) && self.plan == other.plan
    }
}

impl Eq for CacheKey {}

/// Returns whether statements are bound alike under both.
pub(super) fn are_equal(one: &Arc<Inputs>, other: &Arc<Inputs>) -> bool {
    Arc::ptr_eq(one, other) || one == other
}

impl Hash for CacheKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Hash for Lookup<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// A hasher of a [`PlanKey`] with its inputs. The hash of a [`CacheKey`] is kept in the key.
#[derive(Debug, Default, Clone)]
struct PlanKeyHasher(RandomState);

impl PlanKeyHasher {
    /// Returns the hash of a statement and its inputs. Only the search path is hashed of the inputs:
    /// their other fields seldom differ.
    fn hash(&self, plan_key: PlanKey<'_>, inputs: &Inputs) -> u64 {
        let mut hasher = self.0.build_hasher();
        inputs.search_path.schemas.hash(&mut hasher);
        match plan_key {
            PlanKey::Fingerprint(fingerprint) | PlanKey::Within(fingerprint) => {
                fingerprint.hash(&mut hasher);
            }
            PlanKey::Text { text, declared } => {
                text.hash(&mut hasher);
                declared.len().hash(&mut hasher);
            }
            PlanKey::Reference(constraint, question) => (constraint, question).hash(&mut hasher),
        }
        hasher.finish()
    }

    fn lookup<'a>(&self, plan_key: PlanKey<'a>, inputs: &'a Arc<Inputs>) -> Lookup<'a> {
        Lookup {
            plan_key,
            inputs,
            hash: self.hash(plan_key, inputs),
        }
    }

    /// Returns the key of a plan; `None` if its statement is too long to be kept.
    fn key(&self, plan_key: PlanKey<'_>, cached_plan: &CachedPlan) -> Option<CacheKey> {
        let inputs = cached_plan.inputs();
        let plan = OwnedPlanKey::of(plan_key);
        if plan.bytes() > TEXT_BYTES_MAX {
            return None;
        }
        let bytes = cached_plan.bytes() + plan.bytes() + bytes_of(inputs);
        Some(CacheKey {
            hash: self.hash(plan_key, inputs),
            weight: bytes.max(WEIGHT_MIN) as u64,
            plan,
            inputs: inputs.clone(),
        })
    }
}

/// Returns the bytes of the names in inputs.
fn bytes_of(inputs: &Inputs) -> usize {
    let schemas = inputs.search_path.schemas.iter().map(String::len);
    schemas.sum::<usize>() + inputs.user.len()
}

#[derive(Debug, Clone)]
struct Weight;

impl Weighter<CacheKey, Arc<CachedPlan>> for Weight {
    fn weight(&self, key: &CacheKey, _: &Arc<CachedPlan>) -> u64 {
        key.weight
    }
}

/// Returns the bytes of plans that a database with a memory limit keeps.
fn capacity(limit_bytes: usize) -> usize {
    let least = BYTES_MIN.min(limit_bytes / PART_MIN);
    (limit_bytes / PART).clamp(least, BYTES_MAX.max(least))
}

/// A part of a database's plans, under a latch of its own.
struct Shard {
    cache: sync::Cache<CacheKey, Arc<CachedPlan>, Weight, RandomState>,
    /// Version of the catalog: plans of earlier ones were swept out.
    swept: AtomicU64,
}

impl Shard {
    fn new(bytes: usize) -> Shard {
        let (hasher, lifecycle) = (RandomState::new(), sync::DefaultLifecycle::default());
        let items = bytes / USUAL_BYTES;
        let options = OptionsBuilder::new()
            .shards(1)
            .estimated_items_capacity(items)
            .weight_capacity(bytes as u64)
            .build();
        let cache = match options {
            Ok(options) => sync::Cache::with_options(options, Weight, hasher, lifecycle),
            Err(_) => sync::Cache::with(items, bytes as u64, Weight, hasher, lifecycle),
        };
        Shard {
            cache,
            swept: AtomicU64::new(0),
        }
    }

    /// Drops the plans of versions of the catalog before `version`, once.
    fn sweep(&self, version: u64) {
        // Relaxed: a plan that is missed goes at the next change, or by its age.
        if self.swept.fetch_max(version, Ordering::Relaxed) < version {
            self.cache
                .retain(|_, kept| kept.catalog.version() >= version);
        }
    }
}

/// The plan cache of a database.
pub(crate) struct PlanCache {
    light: Box<[Shard]>,
    heavy: Shard,
    /// Greatest weight of a light plan.
    light_bytes_max: u64,
    hasher: PlanKeyHasher,
    /// Newest version of the catalog that a plan was kept of.
    version: AtomicU64,
    /// Number of the light shard that is swept next.
    next_swept: AtomicUsize,
    inputs: Mutex<Vec<Weak<Inputs>>>,
    began: Instant,
    database: Arc<engine::Database>,
    bytes: usize,
}

impl PlanCache {
    /// Makes an empty cache, whose memory is set aside within the limit of `database`.
    pub(crate) fn new(database: &Arc<engine::Database>) -> Self {
        let bytes = capacity(database.memory_limit());
        database.charge_memory(bytes);
        let heavy = bytes / HEAVY_PART;
        let light = bytes - heavy;
        let shards = (light / SHARD_BYTES).max(1);
        let shard_bytes = light / shards;
        Self {
            light: (0..shards).map(|_| Shard::new(shard_bytes)).collect(),
            heavy: Shard::new(heavy),
            light_bytes_max: (shard_bytes / LIGHT_PART) as u64,
            hasher: PlanKeyHasher::default(),
            version: AtomicU64::new(0),
            next_swept: AtomicUsize::new(0),
            inputs: Mutex::default(),
            began: Instant::now(),
            database: database.clone(),
            bytes,
        }
    }

    /// Returns the milliseconds since the cache was made.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX - 1)
    }

    /// Returns the plan of a statement that was bound with `inputs`.
    pub(super) fn find(
        &self,
        plan_key: PlanKey<'_>,
        inputs: &Arc<Inputs>,
    ) -> Option<Arc<CachedPlan>> {
        let lookup = self.hasher.lookup(plan_key, inputs);
        let light = self.shard(lookup.hash).cache.get(&lookup);
        light.or_else(|| self.heavy.cache.get(&lookup))
    }

    /// Keeps a plan of a committed version of the catalog, in place of an older one.
    pub(super) fn keep(&self, plan_key: PlanKey<'_>, cached_plan: &Arc<CachedPlan>) {
        let version = cached_plan.catalog.version();
        // Relaxed: lookups compare versions; this saves memory alone.
        let newest = self
            .version
            .fetch_max(version, Ordering::Relaxed)
            .max(version);
        let turn = self.next_swept.fetch_add(1, Ordering::Relaxed);
        if let Some(shard) = self.light.get(turn % self.light.len()) {
            shard.sweep(newest);
        }
        let key = self.hasher.key(plan_key, cached_plan);
        let Some(key) = key.filter(|_| version == newest) else {
            return;
        };
        let light = self.shard(key.hash);
        let shard = match key.weight > self.light_bytes_max {
            true => {
                // Lookups come to the light shard first, and must not find the plan that this one replaces.
                light.cache.remove(&key);
                &self.heavy
            }
            false => light,
        };
        shard.sweep(newest);
        shard.cache.insert(key, cached_plan.clone());
    }

    fn shard(&self, hash: u64) -> &Shard {
        // The caches within take their places from other bits: they hash the hash again.
        &self.light[hash as usize % self.light.len()]
    }

    /// Returns the estimated bytes of its plans, and their bound.
    #[cfg(test)]
    pub(super) fn weight(&self) -> (u64, u64) {
        let shards = self.light.iter().chain([&self.heavy]);
        let weights = shards.map(|shard| shard.cache.weight());
        (weights.sum(), self.bytes as u64)
    }

    /// Returns inputs that equal `inputs`, shared with other sessions that have them.
    pub(super) fn shared(&self, inputs: Arc<Inputs>) -> Arc<Inputs> {
        if bytes_of(&inputs) > INPUTS_BYTES_MAX {
            return inputs;
        }
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

impl Drop for PlanCache {
    fn drop(&mut self) {
        self.database.give_memory_back(self.bytes);
    }
}

/// The plan cache of a transaction that has changed the catalog: its version of the catalog is
/// visible to no other one.
pub(super) struct PrivatePlanCache {
    cache: unsync::Cache<CacheKey, Arc<CachedPlan>, Weight, RandomState>,
    hasher: PlanKeyHasher,
    charge: Charge,
}

impl Default for PrivatePlanCache {
    fn default() -> Self {
        Self {
            cache: unsync::Cache::with(
                16,
                OWN_BYTES_MAX,
                Weight,
                RandomState::new(),
                unsync::DefaultLifecycle::default(),
            ),
            hasher: PlanKeyHasher::default(),
            charge: Charge::default(),
        }
    }
}

impl PrivatePlanCache {
    /// Returns the plan of a statement that was bound with `inputs`.
    pub(super) fn find(
        &self,
        plan_key: PlanKey<'_>,
        inputs: &Arc<Inputs>,
    ) -> Option<Arc<CachedPlan>> {
        self.cache
            .get(&self.hasher.lookup(plan_key, inputs))
            .cloned()
    }

    /// Keeps a plan of the transaction's catalog, charged to `memory`, and drops those of earlier
    /// versions. No plan is kept while there is no memory for it.
    pub(super) fn keep(
        &mut self,
        plan_key: PlanKey<'_>,
        cached_plan: &Arc<CachedPlan>,
        memory: &Rc<Memory>,
    ) {
        self.cache
            .retain(|_, kept| Arc::ptr_eq(&kept.catalog, &cached_plan.catalog));
        if let Some(key) = self.hasher.key(plan_key, cached_plan) {
            self.cache.insert(key, cached_plan.clone());
        }
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
