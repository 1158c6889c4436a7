//! Group prefetching: all lookups of a group take a step, then all take the next. A lookup that ends early is passed
//! over until the last one ends.

use std::collections::TryReserveError;

use interleave::{Execution, Policy, Prefetching};

use super::GROUP_MAX;
use crate::hash::{
    ChainedTable, Key, OpenTable, Refused,
    chained::{NONE, Onward},
    hash_of,
    open::Seen,
};

/// Stores the value of each key.
pub fn probe_open_group_prefetching<K: Key, V: Copy>(
    table: &OpenTable<K, V>,
    keys: &[K],
    group: usize,
    found: &mut [Option<V>],
) {
    assert!(found.len() >= keys.len());
    if table.is_empty() {
        return found[..keys.len()].fill(None);
    }
    let group = group.clamp(1, GROUP_MAX);
    let mut states = [(0_u64, 0_usize, false); GROUP_MAX];
    for (keys, found) in keys.chunks(group).zip(found.chunks_mut(group)) {
        let states = &mut states[..keys.len()];
        for (state, &key) in states.iter_mut().zip(keys) {
            let hash = hash_of(key);
            let at = table.first(hash);
            Prefetching::prefetch(table.address(at), 1);
            *state = (hash, at, true);
        }
        let mut live = keys.len();
        while live > 0 {
            for ((state, &key), found) in states.iter_mut().zip(keys).zip(&mut *found) {
                let (hash, at, is_live) = state;
                if !*is_live {
                    continue;
                }
                match table.look(*at, *hash, key) {
                    Seen::Done(value) => {
                        *found = value;
                        *is_live = false;
                        live -= 1;
                    }
                    Seen::Onward(after) => {
                        Prefetching::prefetch(table.address(after), 1);
                        *at = after;
                    }
                }
            }
        }
    }
}

/// Inserts or replaces, in the order of `pairs` if keys are unique.
///
/// # Errors
/// [`TryReserveError`] if there is no memory for the table to grow; nothing was inserted.
pub fn build_open_group_prefetching<K: Key, V: Copy>(
    table: &mut OpenTable<K, V>,
    pairs: &[(K, V)],
    group: usize,
) -> Result<(), TryReserveError> {
    table.grow(table.len() + pairs.len(), Execution::Sequential)?;
    let building = table.building();
    let mut added = 0;
    let mut states = [(0_u64, 0_usize, false); GROUP_MAX];
    for pairs in pairs.chunks(group.clamp(1, GROUP_MAX)) {
        let states = &mut states[..pairs.len()];
        for (state, pair) in states.iter_mut().zip(pairs) {
            let hash = hash_of(pair.0);
            let at = building.first(hash);
            Prefetching::prefetch(building.address(at), 1);
            *state = (hash, at, true);
        }
        let mut live = pairs.len();
        while live > 0 {
            for (state, &pair) in states.iter_mut().zip(pairs) {
                let (hash, at, is_live) = state;
                if !*is_live {
                    continue;
                }
                match building.put(*at, *hash, pair) {
                    Seen::Done(old) => {
                        added += usize::from(old.is_none());
                        *is_live = false;
                        live -= 1;
                    }
                    Seen::Onward(after) => {
                        Prefetching::prefetch(building.address(after), 1);
                        *at = after;
                    }
                }
            }
        }
    }
    table.count(added);
    Ok(())
}

/// Stores the newest value of each key.
pub fn probe_chained_group_prefetching<K: Key, V: Copy>(
    table: &ChainedTable<K, V>,
    keys: &[K],
    group: usize,
    found: &mut [Option<V>],
) {
    assert!(found.len() >= keys.len());
    if table.is_empty() {
        return found[..keys.len()].fill(None);
    }
    let group = group.clamp(1, GROUP_MAX);
    let mut heads = [table.head(0); GROUP_MAX];
    let mut entries = [NONE; GROUP_MAX];
    for (keys, found) in keys.chunks(group).zip(found.chunks_mut(group)) {
        let entries = &mut entries[..keys.len()];
        for (head, &key) in heads.iter_mut().zip(keys) {
            *head = table.head(hash_of(key));
            Prefetching::prefetch(*head, 1);
        }
        let mut live = 0;
        for (&head, entry) in heads.iter().zip(&mut *entries) {
            *entry = *head;
            live += usize::from(*entry != NONE);
            Prefetching::prefetch(table.address(*entry), 1);
        }
        found.fill(None);
        while live > 0 {
            for ((entry, &key), found) in entries.iter_mut().zip(keys).zip(&mut *found) {
                if *entry == NONE {
                    continue;
                }
                *entry = match table.look(*entry, key) {
                    Onward::Found(value) => {
                        *found = Some(value);
                        NONE
                    }
                    Onward::Next(next) => {
                        Prefetching::prefetch(table.address(next), 1);
                        next
                    }
                };
                live -= usize::from(*entry == NONE);
            }
        }
    }
}

/// Adds an entry for each pair.
///
/// # Errors
/// [`Refused`] if memory is lacking or there would be too many entries; nothing was added.
pub fn build_chained_group_prefetching<K: Key, V: Copy>(
    table: &mut ChainedTable<K, V>,
    pairs: &[(K, V)],
    group: usize,
) -> Result<(), Refused> {
    let building = table.append(pairs)?;
    let group = group.clamp(1, GROUP_MAX);
    let mut buckets = [0_usize; GROUP_MAX];
    for (part, pairs) in pairs.chunks(group).enumerate() {
        for (bucket, pair) in buckets.iter_mut().zip(pairs) {
            *bucket = building.bucket(pair.0);
            Prefetching::prefetch(building.address(*bucket), 1);
        }
        for (at, &bucket) in buckets[..pairs.len()].iter().enumerate() {
            building.link(part * group + at, bucket);
        }
    }
    Ok(())
}
