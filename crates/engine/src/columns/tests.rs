mod records;

use memory::{Epochs, Local};

use super::{
    marks::{MarkWords, WORDS},
    *,
};

fn local() -> Local {
    Local::new(&Arena::new(64 << 20).unwrap(), &Epochs::new())
}

/// Returns the current block of a chunk, and the positions that are marked.
fn read<B>(chunks: &Chunks<B>, id: u64, local: &Local) -> Option<(Arc<Charged<B>>, Vec<usize>)> {
    let mut words: MarkWords = [0; WORDS];
    let block = chunks
        .chunk(ChunkId(id))?
        .current(&local.pin(), &mut words)?;
    let is_marked = |position: &usize| words[position / 64] >> (position % 64) & 1 == 1;
    Some((block, (0..POSITIONS).filter(is_marked).collect()))
}

fn build(chunks: &Chunks<u64>, block: u64, marked: usize, local: &Local) -> bool {
    let Some(building) = chunks.begin(ChunkId(0), local) else {
        return false;
    };
    (0..marked).for_each(|position| building.leave_out(position));
    building.publish(block, 8).unwrap();
    true
}

#[test]
fn a_record_is_marked_in_the_block_of_its_chunk_and_in_the_one_that_is_built() {
    let (local, chunks) = (local(), Chunks::new());
    let rid = |chunk: u64, position: u64| Rid(chunk * POSITIONS as u64 + position);
    chunks.supersede(rid(2, 5), &local);
    let building = chunks.begin(ChunkId(2), &local).unwrap();
    building.leave_out(4095);
    chunks.supersede(rid(2, 64), &local);
    chunks.supersede(rid(1, 7), &local);
    chunks.supersede(rid(3, 8), &local);
    assert!(read(&chunks, 2, &local).is_none());
    building.publish("first", 100).unwrap();
    let (block, marked) = read(&chunks, 2, &local).unwrap();
    assert_eq!((**block, marked), ("first", vec![64, 4095]));

    (0..2000).for_each(|position| chunks.supersede(rid(2, position), &local));
    assert!(chunks.begin(ChunkId(2), &local).is_none(), "refused once");
    let building = chunks.begin(ChunkId(2), &local).unwrap();
    chunks.supersede(rid(2, 3000), &local);
    let (block, marked) = read(&chunks, 2, &local).unwrap();
    assert_eq!((**block, marked.len()), ("first", 2002));
    assert_eq!(marked[1999..], [1999, 3000, 4095]);
    building.publish("second", 100).unwrap();
    let (block, marked) = read(&chunks, 2, &local).unwrap();
    assert_eq!((**block, marked), ("second", vec![3000]));
    for other in [0, 1, 3, 1 << 20, u64::MAX >> CHUNK_LOG2] {
        assert!(read(&chunks, other, &local).is_none());
    }
}

#[test]
fn chunks_are_found_up_to_the_last_rid() {
    let (local, chunks) = (local(), Chunks::new());
    let last = RIDS_END - 1;
    let (id, position) = ChunkId::locate(Rid(last));
    assert_eq!(position, POSITIONS - 1);
    assert_eq!(id.rids(), RIDS_END - POSITIONS as u64..RIDS_END);
    chunks.begin(id, &local).unwrap().publish((), 0).unwrap();
    chunks.supersede(Rid(last), &local);
    assert_eq!(read(&chunks, id.0, &local).unwrap().1, [POSITIONS - 1]);
    assert!(chunks.begin(ChunkId(id.0 + 1), &local).is_none());
}

#[test]
fn one_building_is_under_way_and_giving_it_up_leaves_the_block() {
    let (local, chunks) = (local(), Chunks::new());
    assert!(build(&chunks, 1, 1025, &local));
    assert!(chunks.begin(ChunkId(0), &local).is_none(), "refused once");
    let building = chunks.begin(ChunkId(0), &local).unwrap();
    assert!(
        chunks.begin(ChunkId(0), &local).is_none(),
        "one is under way"
    );
    building.leave_out(4000);
    drop(building);
    let (block, marked) = read(&chunks, 0, &local).unwrap();
    assert_eq!((**block, marked.len()), (1, 1025));
    chunks.supersede(Rid(4001), &local);
    assert_eq!(read(&chunks, 0, &local).unwrap().1.len(), 1026);
    let attempts = (1..).find(|_| build(&chunks, 2, 0, &local));
    assert_eq!(attempts, Some(3), "refused twice");
}

#[test]
fn a_chunk_that_changes_is_left_alone_for_longer_and_longer() {
    let (local, chunks) = (local(), Chunks::new());
    let mut pauses = Vec::new();
    for block in 0..9 {
        let attempts = (0..1000).take_while(|_| !build(&chunks, block, 1025, &local));
        pauses.push(attempts.count());
    }
    assert_eq!(pauses, [0, 1, 2, 4, 8, 16, 32, 64, 64]);
    while !build(&chunks, 100, 1024, &local) {}
    assert!((0..1000).all(|_| !build(&chunks, 101, 0, &local)), "good");
    chunks.supersede(Rid(4095), &local);
    let attempts = (0..1000).take_while(|_| !build(&chunks, 101, 0, &local));
    assert_eq!(attempts.count(), 64);
}

#[test]
fn a_block_counts_towards_the_limit_until_its_last_reader_drops_it() {
    let (local, chunks) = (local(), Chunks::new());
    let arena = local.arena();
    let reserved = || arena.usage().reserved_bytes;
    let building = chunks.begin(ChunkId(0), &local).unwrap();
    let before = reserved();
    assert!(before > 0, "levels and chunk");
    building.publish(vec![0_u64; 1 << 10], 8 << 10).unwrap();
    assert_eq!(reserved(), before + (8 << 10));
    let (block, _) = read(&chunks, 0, &local).unwrap();
    assert_eq!(chunks.drop_blocks(ChunkId(0), 10, &local), None);
    assert!(read(&chunks, 0, &local).is_none());
    assert_eq!((block.len(), reserved()), (1 << 10, before + (8 << 10)));
    drop(block);
    assert_eq!(reserved(), before);
    drop(chunks);
    assert_eq!(reserved(), 0);
}

#[test]
fn marks_go_back_to_the_arena_whatever_becomes_of_a_building() {
    let (local, chunks) = (local(), Chunks::new());
    let arena = local.arena();
    let marks_bytes = || {
        (0..3).for_each(|_| local.quiesce());
        arena.usage().indirection_bytes
    };
    for round in 0..10 {
        while !build(&chunks, round, 1025, &local) {}
        assert_eq!(marks_bytes(), 512);
    }
    let building = loop {
        match chunks.begin(ChunkId(0), &local) {
            Some(building) => break building,
            None => continue,
        }
    };
    assert_eq!(marks_bytes(), 1024);
    // A release does not concern the building.
    chunks.drop_blocks(ChunkId(0), 1, &local);
    assert_eq!(marks_bytes(), 512);
    drop(building);
    assert_eq!(marks_bytes(), 0);
}

#[test]
fn without_memory_no_block_is_begun_or_published() {
    let (local, chunks) = (local(), Chunks::new());
    let arena = local.arena();
    let building = chunks.begin(ChunkId(0), &local).unwrap();
    let rest = arena.reserve(arena.room()).unwrap();
    assert_eq!(building.publish(7, 100), Err(Exhausted));
    assert!(read(&chunks, 0, &local).is_none());
    assert!(chunks.begin(ChunkId(1), &local).is_none());
    drop(rest);
    assert!(chunks.begin(ChunkId(1), &local).is_some());
}

#[test]
fn blocks_are_dropped_some_at_a_time() {
    let (local, chunks) = (local(), Chunks::new());
    for id in [0, 3, 4, 9] {
        let building = chunks.begin(ChunkId(id), &local).unwrap();
        building.publish(id, 8).unwrap();
    }
    let has = |id: u64| read(&chunks, id, &local).is_some();
    assert_eq!(chunks.drop_blocks(ChunkId(2), 2, &local), Some(ChunkId(4)));
    assert_eq!([0, 3, 4, 9].map(has), [true, false, true, true]);
    assert_eq!(chunks.drop_blocks(ChunkId(4), 6, &local), None);
    assert_eq!([0, 3, 4, 9].map(has), [true, false, false, false]);
    assert_eq!(chunks.drop_blocks(ChunkId(0), u64::MAX, &local), None);
    assert!(!has(0));
}
