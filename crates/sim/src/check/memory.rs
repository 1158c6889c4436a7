//! Memory: the space that the versions of the surviving records take, and nothing
//! else.
//!
//! A transaction that writes a record again reuses its version if the new value
//! fits, so a version may be larger than its value; the history says by how much.

use std::collections::BTreeMap;

use memory::{Arena, Epochs, Local, Purpose};

use crate::history::{Key, Record};

/// Bytes of a version's header (`engine`, `version.rs`).
const HEADER_BYTES: usize = 24;

/// Returns the bytes of live version blocks once every transaction has ended and
/// all garbage was collected.
///
/// # Panics
/// Panics if the system refuses a little address space.
pub fn version_bytes(records: &[Record]) -> u64 {
    let mut commits: Vec<(u64, &Record)> = records
        .iter()
        .filter_map(|record| Some((record.written_at()?, record)))
        .collect();
    commits.sort_by_key(|&(at, _)| at);
    let mut survivors: BTreeMap<&Key, Option<usize>> = BTreeMap::new();
    for (_, record) in commits {
        survivors.extend(blocks(record));
    }
    let mut rounded = Rounding::new();
    survivors
        .into_values()
        .flatten()
        .map(|bytes| rounded.block_bytes(bytes))
        .sum()
}

/// Returns the bytes of the version blocks for values of these lengths.
///
/// # Panics
/// Panics if the system refuses a little address space.
pub fn block_bytes(values: impl Iterator<Item = usize>) -> u64 {
    let mut rounded = Rounding::new();
    values
        .map(|bytes| rounded.block_bytes(HEADER_BYTES + bytes))
        .sum()
}

/// Returns, for each record that a transaction wrote, the bytes requested for its
/// last version, `None` if it was deleted.
fn blocks(record: &Record) -> BTreeMap<&Key, Option<usize>> {
    let mut blocks: BTreeMap<&Key, (usize, bool)> = BTreeMap::new();
    for (key, value) in record.effects() {
        let needed = HEADER_BYTES + value.map_or(0, Vec::len);
        let has = blocks.get(key).map_or(0, |&(bytes, _)| bytes);
        let bytes = if needed <= has { has } else { needed };
        blocks.insert(key, (bytes, value.is_some()));
    }
    blocks
        .into_iter()
        .map(|(key, (bytes, lives))| (key, lives.then_some(bytes)))
        .collect()
}

/// Asks an arena how large its blocks are.
struct Rounding {
    local: Local,
    known: BTreeMap<usize, u64>,
}

impl Rounding {
    fn new() -> Rounding {
        let arena = Arena::new(32 << 20).expect("the system gives address space");
        Rounding {
            local: Local::new(&arena, &Epochs::new()),
            known: BTreeMap::new(),
        }
    }

    fn block_bytes(&mut self, bytes: usize) -> u64 {
        let local = &self.local;
        *self.known.entry(bytes).or_insert_with(|| {
            let before = local.arena().usage().version_bytes;
            local
                .allocate(bytes, Purpose::Version)
                .expect("a few blocks have room");
            local.arena().usage().version_bytes - before
        })
    }
}
