use std::{ptr::NonNull, sync::Arc};

use super::Space;
use crate::{Arena, Epochs, Exhausted, Local, Purpose};

fn local(limit: usize) -> Local {
    Local::new(&Arena::new(limit).unwrap(), &Epochs::new())
}

/// Fills the arena with blocks of versions.
fn fill(local: &Local, bytes: usize) -> Vec<NonNull<u8>> {
    let block = || local.allocate(bytes, Purpose::Version).ok();
    std::iter::from_fn(block).collect()
}

fn free(local: &Local, block: NonNull<u8>, bytes: usize) {
    // SAFETY: allocated with this size and purpose, never shared, freed once.
    unsafe { local.free(block, bytes, Purpose::Version) };
}

/// Moves blocks out of regions that are closing.
fn move_away(local: &Local, blocks: &mut [NonNull<u8>], bytes: usize) {
    for block in blocks {
        if local.arena().is_closing(*block) {
            let new = local.allocate(bytes, Purpose::Version).unwrap();
            assert!(!local.arena().is_closing(new));
            free(local, std::mem::replace(block, new), bytes);
        }
    }
}

#[test]
fn what_versions_leave_serves_an_index() {
    const LIMIT: usize = 8 << 20;
    let local = local(LIMIT);
    let arena = local.arena();
    let all = fill(&local, 1024);
    assert!(all.len() > 7000 && arena.room() < LIMIT / 16);
    // Every eighth block stays, all over memory: no other class gets any memory.
    let (mut kept, gone): (Vec<_>, Vec<_>) =
        all.into_iter().enumerate().partition(|(i, _)| i % 8 == 0);
    gone.into_iter()
        .for_each(|(_, block)| free(&local, block, 1024));
    let mut kept: Vec<_> = kept.drain(..).map(|(_, block)| block).collect();
    assert_eq!(local.allocate(64 << 10, Purpose::Index), Err(Exhausted));

    assert!(arena.close_sparsest(LIMIT / 2) >= LIMIT / 2);
    local.quiesce();
    move_away(&local, &mut kept, 1024);
    drop(fill(&local, 2048));
    let claimed = arena.usage().claimed_bytes;
    assert!(claimed <= LIMIT as u64, "{claimed}");
    // The cache keeps some of the blocks, which count as in use.
    local.quiesce();
    assert!(arena.close_sparsest(0) == 0);
    local.quiesce();
    let lines = std::iter::from_fn(|| local.allocate(320, Purpose::Border).ok());
    // SAFETY: a block of that size that this test owns.
    let is_zero = |line: NonNull<u8>| unsafe { line.cast::<u64>().read() } == 0;
    assert!(lines.take(100).all(is_zero));
}

#[test]
fn an_empty_region_is_room_for_all() {
    const LIMIT: usize = 8 << 20;
    let local = local(LIMIT);
    let arena = local.arena();
    for bytes in [100, 1000, 30_000, 100_000, 3 << 20] {
        let all = fill(&local, bytes);
        assert!(!all.is_empty());
        all.into_iter().for_each(|block| free(&local, block, bytes));
        let before = arena.room();
        // The first round does not know yet which blocks the cache has.
        for _ in 0..2 {
            arena.close_sparsest(LIMIT);
            local.quiesce();
        }
        // The lists take some room, and from one region the next chunk is cut.
        assert!(
            arena.room() > LIMIT * 3 / 4,
            "{bytes}: {before}, {}",
            arena.room()
        );
        let nodes = std::iter::from_fn(|| local.allocate(4096, Purpose::Index).ok());
        if bytes == 3 << 20 {
            assert!(nodes.count() * 4096 > LIMIT * 3 / 4);
        }
        arena.reopen();
    }
}

#[test]
fn what_is_kept_from_versions_is_there_for_an_index() {
    const LIMIT: usize = 8 << 20;
    let local = local(LIMIT);
    local.arena().keep_from_versions(LIMIT / 4);
    let all = fill(&local, 1024);
    assert!(all.len() * 1024 > LIMIT / 2 && local.arena().room() >= LIMIT / 4);
    let nodes = std::iter::from_fn(|| local.allocate(4096, Purpose::Index).ok());
    assert!(nodes.count() * 4096 >= LIMIT / 5);
}

/// The sparsest regions have blocks that do not move: other regions are closed instead, though not
/// before these have been.
#[test]
fn what_does_not_become_empty_is_not_closed_again_and_again() {
    const LIMIT: usize = 8 << 20;
    let local = local(LIMIT);
    let arena = local.arena();
    // In every second region every eighth block stays, in the others half of the blocks.
    let (mut stuck, mut moving) = (Vec::new(), Vec::new());
    let first = fill(&local, 1024);
    let base = first[0].addr().get();
    for (i, block) in first.into_iter().enumerate() {
        let is_sparse = ((block.addr().get() - base) / (128 << 10)).is_multiple_of(2);
        match (is_sparse, i % 8) {
            (true, 0) => stuck.push(block),
            (false, 0..4) => moving.push(block),
            _ => free(&local, block, 1024),
        }
    }
    local.quiesce();
    let before = arena.room();
    let mut moved = 0;
    for _ in 0..10 {
        arena.reopen();
        assert!(arena.close_sparsest(LIMIT / 8) > 0);
        local.quiesce();
        moved += moving.iter().filter(|&&b| arena.is_closing(b)).count();
        move_away(&local, &mut moving, 1024);
        local.quiesce();
    }
    assert!(moved > 0 && arena.room() > before);
    // When the stuck blocks can move, their regions have their turn again.
    for _ in 0..40 {
        arena.reopen();
        arena.close_sparsest(LIMIT / 8);
        local.quiesce();
        move_away(&local, &mut stuck, 1024);
        move_away(&local, &mut moving, 1024);
        local.quiesce();
    }
    assert!(arena.room() > LIMIT / 2, "{}", arena.room());
}

#[test]
fn what_is_opened_again_is_used_again() {
    let local = local(8 << 20);
    let mut all = fill(&local, 1024);
    let half = all.split_off(all.len() / 2);
    let count = half.len();
    half.into_iter().for_each(|block| free(&local, block, 1024));
    local.arena().close_sparsest(1 << 20);
    local.quiesce();
    local.arena().reopen();
    let again = fill(&local, 1024).len();
    assert!(again + 2 >= count, "{again} of {count}");
}

/// A thread that closes regions has loaded the number of closings, and is overtaken: other threads
/// close some, and open them again, in vain. (It was a subtraction that overflowed.)
#[test]
fn who_closes_is_overtaken_by_who_opens_again() {
    const LIMIT: usize = 8 << 20;
    let local = local(LIMIT);
    let all = fill(&local, 1024);
    for (i, block) in all.into_iter().enumerate() {
        if i % 8 > 0 {
            free(&local, block, 1024);
        }
    }
    local.quiesce();
    let regions = &local.arena().regions;
    for class in &regions.classes {
        let mut owner = class.lock().unwrap();
        let later = owner.free.keys().map(|&region| (region, 7)).collect();
        owner.in_vain = later;
    }
    assert!(local.arena().close_sparsest(LIMIT / 2) > 0);
}

/// Threads that allocate, free, close and open at random: each block has its owner's mark from
/// its first byte to its last, and the limit holds.
#[test]
fn blocks_never_overlap_whatever_is_closed() {
    const LIMIT: usize = if cfg!(miri) { 2 << 20 } else { 16 << 20 };
    // Regions of whole pages, of parts of pages, and of no power of two.
    for region_bytes in [None, Some(1 << 10), Some(12 << 10)] {
        let arena = Arena::with_regions(LIMIT, region_bytes).unwrap();
        let epochs = Epochs::new();
        std::thread::scope(|scope| {
            for thread in 0..3_u64 {
                let (arena, epochs) = (arena.clone(), epochs.clone());
                scope.spawn(move || at_random(&arena, &epochs, thread));
            }
        });
        let usage = arena.usage();
        assert_eq!(usage.version_bytes, 0);
        assert!(usage.regions_emptied > 0 || cfg!(miri));
    }
}

#[test]
#[should_panic(expected = "is_multiple_of")]
fn regions_are_of_whole_lines() {
    drop(Arena::with_regions(1 << 20, Some(1000)));
}

fn at_random(arena: &Arc<Arena>, epochs: &Arc<Epochs>, thread: u64) {
    const SIZES: [usize; 5] = [64, 200, 1024, 9000, 150_000];
    let local = Local::new(arena, epochs);
    let mut state = thread + 1;
    let mut below = |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % bound
    };
    let mut blocks = Vec::new();
    let check = |(block, bytes, mark): (NonNull<u8>, usize, u8)| {
        // SAFETY: a block of that size that this thread owns.
        let content = unsafe { std::slice::from_raw_parts(block.as_ptr(), bytes) };
        assert!(content.iter().all(|&byte| byte == mark));
        free(&local, block, bytes);
    };
    for turn in 0..if cfg!(miri) { 300_u64 } else { 60_000 } {
        match below(100) {
            0..50 => {
                // Small and large blocks alternate.
                let size = (turn / 5000 + below(2)) % SIZES.len() as u64;
                let bytes = SIZES[size as usize];
                if let Ok(block) = local.allocate(bytes, Purpose::Version) {
                    let mark = (turn % 251) as u8;
                    // SAFETY: a block of that size that this thread owns.
                    unsafe { block.as_ptr().write_bytes(mark, bytes) };
                    blocks.push((block, bytes, mark));
                }
            }
            50..97 if !blocks.is_empty() => {
                let at = below(blocks.len() as u64) as usize;
                check(blocks.swap_remove(at));
            }
            97 => {
                arena.close_sparsest(below(1 << 21) as usize);
            }
            98 if below(8) == 0 => arena.reopen(),
            _ => local.quiesce(),
        }
        let usage = arena.usage();
        assert!(usage.claimed_bytes <= usage.limit_bytes);
        // The number wrapped once: noted after the lock, shrinking came before growing.
        assert!(usage.listed_bytes <= usage.limit_bytes, "{usage:?}");
    }
    blocks.into_iter().for_each(check);
    local.quiesce();
}

#[test]
fn runs_of_regions_grow_together_again() {
    let mut space = Space {
        fresh: 0,
        blank: std::collections::BTreeMap::new(),
    };
    let firsts: Vec<_> = (0..5).map(|_| space.take(2, 10).unwrap()).collect();
    assert_eq!((firsts, space.take(1, 10)), (vec![0, 2, 4, 6, 8], None));
    space.put(2, 2);
    space.put(6, 2);
    assert_eq!(space.take(3, 10), None);
    space.put(4, 2);
    assert_eq!(space.take(5, 10), Some(2));
    space.put(2, 5);
    space.put(8, 2);
    assert_eq!((space.fresh, space.blank.len()), (2, 0));
    assert_eq!(space.take(8, 10), Some(2));
}
