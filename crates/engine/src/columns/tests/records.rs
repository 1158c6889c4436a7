//! Blocks of a table whose records are written, undone, removed and inserted again while blocks are built: a
//! transaction finds the same in blocks and in slots.

use std::{ops::Range, rc::Rc};

use index::look_up;
use interleave::{Policy, Sequential, run_inline};

use super::*;
use crate::{
    Database, DatabaseConfig, Error, Isolation, Session, Table, Timestamp, Transaction,
    indirection::Head, timestamp::Begin, transaction::INDEX_POINT,
};

/// Keys of the table, few enough for records to be deleted and inserted again.
const KEYS: u64 = 150;

/// Maximum number of slots that a builder looks at in a step.
const SLOTS_MAX: u64 = 400;

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (self.0 >> 33) % n
    }
}

/// A record holds its key and a number.
fn bytes(key: u64, number: u64) -> Vec<u8> {
    [key.to_be_bytes(), number.to_be_bytes()].concat()
}

fn words(bytes: &[u8]) -> [u64; 2] {
    let word = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap());
    [word(0), word(8)]
}

fn get(transaction: &Transaction, table: &Table, key: u64) -> Option<[u64; 2]> {
    let key = key.to_be_bytes();
    run_inline(transaction.get::<Sequential, _>(table, &key, words)).unwrap()
}

/// Returns a block of these words, two for each position.
fn frozen(session: &Session, words: &[u64]) -> FrozenBlock {
    let mut builder = segment::Builder::new(2).unwrap();
    for (at, word) in words.iter().enumerate() {
        builder.cells(at % 2).integer(*word as i64).unwrap();
    }
    let (block, database) = (builder.finish().unwrap(), session.database());
    let directory = block.directory().unwrap();
    let frozen = FrozenBlock::new(directory, Timestamp(1), None, &database.block_room);
    for column in 0..2 {
        let place = frozen.directory().place(column);
        let segment = frozen.segment(column, &block.bytes()[place], &database.arena);
        frozen.keep(column, &segment.unwrap());
    }
    frozen
}

/// Returns the words at a position.
fn record(block: &BlockColumns, position: usize) -> [u64; 2] {
    [0, 1].map(|column| match block.column(column).unwrap().values() {
        segment::Values::Integers(words) => words.get(position) as u64,
        _ => panic!("words are integers"),
    })
}

/// A building, by a transaction of its own.
struct Builder<'t> {
    building: Building<'t, FrozenBlock>,
    horizon: Timestamp,
    rids: Range<u64>,
    /// Key and number of the record at each position.
    block: Vec<u64>,
    transaction: Transaction,
}

impl<'t> Builder<'t> {
    fn begin(session: &'t Rc<Session>, table: &'t Table) -> Option<Builder<'t>> {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        let building = table.chunks.begin(ChunkId(0), &session.memory)?;
        Some(Builder {
            building,
            horizon: session.database().horizon(),
            rids: ChunkId(0).rids(),
            block: vec![0; 2 * POSITIONS],
            transaction,
        })
    }

    /// Looks at some slots. Returns whether there are more.
    fn step(&mut self, slots: u64, session: &Session, table: &Table) -> bool {
        let _pin = session.memory.pin();
        for rid in self.rids.by_ref().take(slots as usize) {
            let (_, position) = ChunkId::locate(Rid(rid));
            let head = match rid < table.records.taken() {
                true => table.records.slot(Rid(rid)).head(),
                false => Head::Unused,
            };
            if let Head::Version(head) = head
                && let Begin::Committed(at) = head.begin()
                && at <= self.horizon
                && let Some(payload) = head.payload()
            {
                self.block[2 * position..][..2].copy_from_slice(&words(payload));
            } else {
                self.building.leave_out(position);
            }
        }
        !self.rids.is_empty()
    }

    fn end(self, session: &Session) {
        let block = frozen(session, &self.block);
        let bytes = FrozenBlock::bytes_without_columns(block.directory());
        self.building.publish(block, bytes).unwrap();
        self.transaction.rollback();
    }
}

/// Compares the records that `transaction` sees with the block's. Returns how many the block shows.
fn check(session: &Session, table: &Table, transaction: &Transaction) -> usize {
    let Some((block, marked)) = read(&table.chunks, 0, &session.memory) else {
        return 0;
    };
    let mut is_marked = vec![false; POSITIONS];
    let block = BlockColumns::take(&block, &[0, 1]);
    marked
        .iter()
        .for_each(|&position| is_marked[position] = true);
    let mut shown = 0;
    for position in (0..POSITIONS).filter(|position| !is_marked[*position]) {
        shown += 1;
        let record = record(&block, position);
        assert_eq!(get(transaction, table, record[0]), Some(record));
    }
    for key in 0..KEYS {
        let Some(seen) = get(transaction, table, key) else {
            continue;
        };
        let (pin, key) = (session.memory.pin(), key.to_be_bytes());
        let mut lookup = table.index.lookup(&pin, &key);
        let rid = run_inline(async { look_up!(Sequential, INDEX_POINT, lookup) });
        let (id, position) = ChunkId::locate(Rid(rid.unwrap()));
        assert_eq!(id, ChunkId(0));
        assert!(is_marked[position] || record(&block, position) == seen);
    }
    shown
}

fn write(rng: &mut Rng, transaction: &Transaction, table: &Table) -> Result<(), Error> {
    let key = rng.below(KEYS);
    let (value, key) = (bytes(key, rng.below(1 << 30)), key.to_be_bytes());
    match rng.below(3) {
        0 => run_inline(transaction.delete::<Sequential>(table, &key)).map(drop),
        _ => run_inline(transaction.upsert::<Sequential>(table, &key, &value)),
    }
}

/// Runs random transactions. Returns the numbers of records that blocks have shown, and of blocks.
fn run(seed: u64) -> (usize, usize) {
    let database = Database::new(DatabaseConfig::with_memory(64 << 20)).unwrap();
    let table = database.create_table("t", &[]).unwrap();
    let session = Session::new(&database).unwrap();
    let mut rng = Rng(seed);
    let mut open: Vec<Transaction> = Vec::new();
    // Reads alone, and mostly at an older snapshot than all others.
    let mut elder = session.begin(Isolation::Snapshot).unwrap();
    let mut builder: Option<Builder<'_>> = None;
    let (mut shown, mut blocks) = (0, 0);
    for _ in 0..6_000 {
        let action = rng.below(20);
        if open.is_empty() || (action == 0 && open.len() < 4) {
            open.push(session.begin(Isolation::Snapshot).unwrap());
            continue;
        }
        let at = rng.below(open.len() as u64) as usize;
        match action {
            1..=6 => {
                let written = write(&mut rng, &open[at], &table);
                if written.is_err() {
                    open.swap_remove(at);
                }
            }
            7 => {
                let savepoint = open[at].savepoint().unwrap();
                let written = (0..3).try_for_each(|_| write(&mut rng, &open[at], &table));
                match written {
                    Ok(()) => open[at].rollback_to(&savepoint).unwrap(),
                    Err(_) => drop(open.swap_remove(at)),
                }
            }
            8 | 9 => drop(run_inline(open.swap_remove(at).commit())),
            10 => open.swap_remove(at).rollback(),
            11 => session.tend(),
            12 | 18 | 19 if builder.is_none() => builder = Builder::begin(&session, &table),
            13 if rng.below(20) == 0 => builder = None,
            14 if rng.below(50) == 0 => {
                table.chunks.drop_blocks(ChunkId(0), 1, &session.memory);
            }
            15 | 16 => {
                if let Some(mut now) = builder.take() {
                    if now.step(rng.below(SLOTS_MAX), &session, &table) {
                        builder = Some(now);
                    } else {
                        now.end(&session);
                        blocks += 1;
                    }
                }
            }
            17 => shown += check(&session, &table, &open[at]),
            13 if rng.below(20) == 0 => elder = session.begin(Isolation::Snapshot).unwrap(),
            13 => shown += check(&session, &table, &elder),
            _ => {}
        }
    }
    (shown, blocks)
}

#[test]
fn a_transaction_finds_the_same_in_blocks_and_in_slots() {
    let (mut shown, mut blocks) = (0, 0);
    for seed in 1..=20 {
        let (shown_now, blocks_now) = run(seed);
        shown += shown_now;
        blocks += blocks_now;
    }
    assert!(
        shown > 1000 && blocks > 50,
        "{shown} records, {blocks} blocks"
    );
}

#[test]
fn a_dropped_table_gives_its_blocks_back() {
    let database = Database::new(DatabaseConfig::with_memory(64 << 20)).unwrap();
    let session = Session::new(&database).unwrap();
    let bytes_after = |chunks: u64| {
        let table = database.create_table("t", &[]).unwrap();
        for id in 0..chunks {
            let building = table.chunks.begin(ChunkId(id), &session.memory).unwrap();
            building.publish(frozen(&session, &[0; 100]), 800).unwrap();
        }
        database.drop_table("t").unwrap();
        drop(table);
        for _ in 0..100 {
            session.tend();
        }
        assert!(!session.has_garbage());
        let usage = database.memory();
        (usage.indirection_bytes, usage.reserved_bytes)
    };
    let without_blocks = bytes_after(0);
    assert_eq!(bytes_after(40), without_blocks);
}
