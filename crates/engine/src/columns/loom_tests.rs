//! A writer, a builder and a reader of one record, on real slots and chunks, in all interleavings. Versions are names
//! that nothing dereferences; marks stay in place, as they do under pins.

use std::ptr::NonNull;

use loom::{sync::Arc, thread};
use memory::Arena;

use super::{
    charged::Charged,
    marks::{MarkWords, Marks, WORDS},
    *,
};
use crate::{
    indirection::{Head, Slot},
    version::Version,
};

/// Snapshots below include the version `old` alone.
const COMMIT: u64 = 2;
const RID: Rid = Rid(0);

fn old() -> Version {
    Version::from_word(0x100).unwrap()
}

fn new() -> Version {
    Version::from_word(0x200).unwrap()
}

/// A block is the version that it shows at the position, if any.
type Shown = Option<Version>;

struct World {
    clock: AtomicU64,
    slot: Slot,
    chunks: Chunks<Shown>,
    arena: std::sync::Arc<Arena>,
    /// Marks for two buildings.
    marks: [Box<Marks>; 2],
}

impl World {
    fn new() -> Arc<World> {
        let arena = Arena::new(1 << 20).unwrap();
        let world = World {
            clock: AtomicU64::new(COMMIT - 1),
            slot: Slot::holding(old()),
            chunks: Chunks::new(),
            arena,
            marks: [Box::new(Marks::new()), Box::new(Marks::new())],
        };
        // The model checker does not know the places of chunks.
        let chunk = Chunk::new();
        let arena = &world.arena;
        let charged = Charged::new(arena, 0, || chunk).unwrap();
        let levels = get_or_make_level(&world.chunks.chunks, arena).unwrap();
        let level = get_or_make_level(&levels[0], arena).unwrap();
        assert!(level[0].set(Box::new(charged)).is_ok());
        Arc::new(world)
    }

    /// Makes a world whose chunk has a block that shows the old version, and so many marks that it is built anew.
    fn with_block() -> Arc<World> {
        let world = World::new();
        world.build(0, usize::MAX);
        // The marks of other positions.
        (1..POSITIONS).for_each(|position| world.marks[0].set(position));
        let chunk = world.chunks.chunk(ChunkId(0)).unwrap();
        assert!(chunk.start(|| None).is_none(), "refused once");
        world
    }

    /// Does what `Building` does with the marks numbered `number`; gives up the building of number `given_up`.
    fn build(&self, number: usize, given_up: usize) {
        let chunk = self.chunks.prepare(ChunkId(0), &self.arena).unwrap();
        let marks = NonNull::from(&*self.marks[number]);
        let Some(marks) = chunk.start(|| Some(marks)) else {
            panic!("the chunk is to be built");
        };
        let shown = match self.slot.head() {
            Head::Version(head) if head == old() => Some(head),
            // Not committed, or not before the horizon.
            _ => {
                // SAFETY: the world has the marks.
                unsafe { marks.as_ref() }.set(0);
                None
            }
        };
        let block = || std::sync::Arc::new(Charged::new(&self.arena, 0, || shown).unwrap());
        chunk.finish(marks, (number != given_up).then(block));
    }

    /// Writes the record and commits.
    fn write(&self) {
        assert!(self.slot.replace(old(), new()));
        self.supersede();
        self.clock.fetch_add(1, Ordering::SeqCst);
    }

    /// Does what `Chunks::supersede` does.
    fn supersede(&self) {
        if self.chunks.may_have_block(RID) {
            // SAFETY: the world has the marks.
            unsafe { self.chunks.mark(RID) };
        }
    }

    /// Reads the record at a new snapshot, as a scan does.
    fn read(&self) {
        let snapshot = self.clock.load(Ordering::Acquire);
        let mut words: MarkWords = [0; WORDS];
        let chunk = self.chunks.chunk(ChunkId(0)).unwrap();
        // SAFETY: the world has the marks.
        let block = unsafe { chunk.current_pinned(&mut words) };
        if let Some(block) = block
            && words[0] & 1 == 0
        {
            assert_eq!(**block, Some(old()));
            assert!(snapshot < COMMIT, "a superseded version is shown");
        }
    }
}

/// Runs `first` and `second` beside a reader.
fn model(world: fn() -> Arc<World>, first: fn(&World), second: fn(&World)) {
    loom::model(move || {
        let world = world();
        let threads = [first, second].map(|work| {
            let world = world.clone();
            thread::spawn(move || work(&world))
        });
        world.read();
        for thread in threads {
            thread.join().unwrap();
        }
        world.read();
    });
}

#[test]
fn a_reader_of_a_first_block_sees_no_superseded_record() {
    model(World::new, World::write, |world| world.build(0, usize::MAX));
}

#[test]
fn a_reader_of_a_block_that_is_replaced_sees_no_superseded_record() {
    model(World::with_block, World::write, |world| {
        world.build(1, usize::MAX)
    });
}

#[test]
fn a_building_that_is_given_up_changes_nothing() {
    model(World::with_block, World::write, |world| world.build(1, 1));
}

#[test]
fn a_reader_of_a_block_that_is_released_sees_no_superseded_record() {
    model(World::with_block, World::write, |world| {
        world.chunks.chunk(ChunkId(0)).unwrap().take_block();
    });
}

/// A write that is rolled back leaves the old version to a block that is built in between, or the mark.
#[test]
fn a_write_after_a_rollback_is_noticed_as_the_first_was() {
    let writes = |world: &World| {
        assert!(world.slot.replace(old(), new()));
        world.supersede();
        world.slot.replace_own(new(), old());
        world.write();
    };
    model(World::new, writes, |world| world.build(0, usize::MAX));
}
