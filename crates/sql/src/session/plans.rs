//! The plans that a session keeps, by all that they depend on.
//!
//! A plan is found again by the statement and by the [`Inputs`] of its binding. The third thing
//! that it depends on is the catalog's picture: a plan of another picture is replaced by the new
//! one ([`Planned::is_current`]), since the old one can be of no use again. What is compared is
//! the statement itself, token by token (`syntax/shape.rs`), and the inputs themselves; hashes only
//! find the place.
//!
//! Plans are the session's own: they hold what belongs to its thread.

use std::{
    hash::{BuildHasher, Hash, Hasher, RandomState},
    rc::Rc,
};

use hashbrown::HashTable;
use types::{Charge, Memory, Type};

use super::{query::Planned, references::Question};
use catalog::ObjectId;
use logical::bind::Inputs;
use syntax::shape::{KeptPieces, Pieces};

/// Maximum number of plans that a session keeps.
const PLANS_MAX: usize = 256;

/// Maximum size of all of them together, as [`Planned::bytes`] estimates it. A larger plan is used
/// and not kept.
const PLANS_BYTES_MAX: usize = 8 << 20;

/// What a plan is asked for by.
#[derive(Debug, Clone, Copy)]
pub(super) enum Asked<'a> {
    /// A client's statement.
    Statement {
        pieces: Pieces<'a>,
        /// The types that the client has told of its parameters; `None` if it can have none.
        declared: Option<&'a [Option<Type>]>,
    },
    /// What a foreign key asks of its tables.
    Reference(ObjectId, Question),
}

/// The same, owned.
#[derive(Debug)]
enum Key {
    Statement {
        pieces: KeptPieces,
        declared: Option<Box<[Option<Type>]>>,
    },
    Reference(ObjectId, Question),
}

impl Key {
    fn of(asked: Asked<'_>) -> Self {
        match asked {
            Asked::Statement { pieces, declared } => Key::Statement {
                pieces: pieces.to_kept(),
                declared: declared.map(Box::from),
            },
            Asked::Reference(constraint, question) => Key::Reference(constraint, question),
        }
    }

    fn is(&self, asked: Asked<'_>) -> bool {
        match (self, asked) {
            (
                Key::Statement { pieces, declared },
                Asked::Statement {
                    pieces: other,
                    declared: told,
                },
            ) => declared.as_deref() == told && *pieces == other,
            (Key::Reference(id, question), Asked::Reference(other, asked)) => {
                (*id, *question) == (other, asked)
            }
            _ => false,
        }
    }
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    key: Key,
    planned: Rc<Planned>,
}

/// The plans of a session. At most [`PLANS_MAX`], and of [`PLANS_BYTES_MAX`] together.
#[derive(Debug, Default)]
pub(super) struct Plans {
    entries: HashTable<Entry>,
    hasher: RandomState,
    bytes: usize,
    charge: Charge,
}

impl Plans {
    /// The plan of a statement that was bound with these inputs.
    pub(super) fn find(&self, asked: Asked<'_>, inputs: &Rc<Inputs>) -> Option<&Rc<Planned>> {
        let hash = self.hash(asked, inputs);
        let is = |entry: &Entry| entry.is(hash, asked, inputs);
        self.entries.find(hash, is).map(|entry| &entry.planned)
    }

    /// Keeps a plan in place of the one that was found by the same, charged to the session. None are
    /// kept while the database's limit leaves no memory for them.
    pub(super) fn keep(&mut self, asked: Asked<'_>, planned: &Rc<Planned>, memory: &Rc<Memory>) {
        let hash = self.hash(asked, planned.inputs());
        let is = |entry: &Entry| entry.is(hash, asked, planned.inputs());
        if let Ok(known) = self.entries.find_entry(hash, is) {
            let (old, _) = known.remove();
            self.bytes -= old.planned.bytes();
            self.charge.lower(self.bytes);
        }
        let bytes = planned.bytes();
        if bytes > PLANS_BYTES_MAX {
            return;
        }
        // A client that sends so many different statements is not helped by keeping them.
        if self.entries.len() >= PLANS_MAX || self.bytes + bytes > PLANS_BYTES_MAX {
            self.clear();
        }
        self.bytes += bytes;
        let entry = Entry {
            hash,
            key: Key::of(asked),
            planned: planned.clone(),
        };
        self.entries.insert_unique(hash, entry, |entry| entry.hash);
        if self.charge.set(memory, self.bytes).is_err() {
            self.clear();
        }
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.bytes = 0;
        self.charge.lower(0);
    }

    /// Equal for what is equal. The inputs' part is short: their other fields seldom differ.
    fn hash(&self, asked: Asked<'_>, inputs: &Inputs) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        inputs.search_path.schemas.hash(&mut hasher);
        match asked {
            Asked::Statement { pieces, declared } => {
                pieces.hash(&mut hasher);
                declared.map(<[_]>::len).hash(&mut hasher);
            }
            Asked::Reference(constraint, question) => (constraint, question).hash(&mut hasher),
        }
        hasher.finish()
    }
}

impl Entry {
    fn is(&self, hash: u64, asked: Asked<'_>, inputs: &Rc<Inputs>) -> bool {
        self.hash == hash && self.planned.is_of(inputs) && self.key.is(asked)
    }
}
