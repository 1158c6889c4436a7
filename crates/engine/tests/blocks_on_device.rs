//! Blocks of columns on the device: scans find the same there as by the index, whatever leaves memory, is written
//! meanwhile, or is damaged.

use crate::durable;

use std::{
    ops::{Bound, ControlFlow},
    rc::Rc,
    sync::Arc,
};

use durable::{Durable, LOG, open_configured};
use engine::{
    BlockScan, ColdConfig, DatabaseConfig, Direction, Isolation, Met, RecordFields, RecoveryConfig,
    Session, Table, TransactionStats, Unsplit, Wanted,
};
use interleave::Interleaved;
use io::{Directory, Faults, OpenMode, SimulatedDisk};
use segment::{Builder, Directory as Columns, Values};

/// Positions of a chunk.
const CHUNK: u64 = 4096;

/// Records of a number, a text, and a number again, which is the first one's negative.
struct Triples;

impl RecordFields for Triples {
    fn count(&self, record: &[u8]) -> Option<usize> {
        (record.len() >= 8).then_some(3)
    }

    fn split(&self, record: &[u8], _: &mut [bool], block: &mut Builder) -> Result<(), Unsplit> {
        let (number, text) = record.split_first_chunk::<8>().ok_or(Unsplit::Refused)?;
        let number = i64::from_le_bytes(*number);
        let added = block.cells(0).integer(number);
        let added = added.and_then(|()| block.cells(1).bytes(text));
        let added = added.and_then(|()| block.cells(2).integer(-number));
        added.map_err(|_| Unsplit::Refused)
    }
}

fn record(number: i64) -> Vec<u8> {
    let text = format!(
        "text {} of a record",
        number.wrapping_mul(0x9e37_79b9) % 10_007
    );
    [&number.to_le_bytes()[..], text.as_bytes()].concat()
}

fn number_of(record: &[u8]) -> i64 {
    i64::from_le_bytes(record[..8].try_into().expect("a record has a number"))
}

/// Opens a database whose blocks have `block_bytes` of memory.
fn open(directory: Arc<dyn Directory>, block_bytes: usize) -> Durable {
    let config = DatabaseConfig {
        cold_tier: Some(ColdConfig::default()),
        block_bytes: Some(block_bytes),
        ..DatabaseConfig::with_memory(64 << 20)
    };
    open_configured(config, directory, LOG, RecoveryConfig::default()).expect("opens")
}

/// Makes a table of `chunks` chunks of records, the number of which is three times the key.
fn loaded(durable: &mut Durable, chunks: u64) -> Arc<Table> {
    let table = durable.create_table("t", &[]).expect("a table");
    for chunk in 0..chunks {
        let keys = chunk * CHUNK..(chunk + 1) * CHUNK;
        let records = keys.map(|key| (key.to_be_bytes().to_vec(), Some(record(key as i64 * 3))));
        durable.write(&table, records.collect()).expect("commits");
    }
    tend(durable);
    table
}

/// Brings the horizon up to the last commit.
fn tend(durable: &mut Durable) {
    durable.run(async |session: Rc<Session>| session.tend());
}

fn stats(durable: &Durable) -> TransactionStats {
    durable.database.stats()
}

/// The findings of a scan by blocks: sorted numbers of the records, and how many were in blocks.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    numbers: Vec<i64>,
    in_blocks: usize,
}

/// Scans by blocks, for numbers below `below`, with `ahead_max` blocks read ahead, reading one of both numbers.
fn by_blocks(durable: &mut Durable, table: &Arc<Table>, below: i64, ahead_max: usize) -> Found {
    let table = table.clone();
    durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).expect("begins");
        let (mut scan, mut found) = (BlockScan::default(), Found::default());
        let wanted = Wanted {
            columns: &[0, 2],
            may_have: &|columns: &Columns| {
                let [least, _] = columns.integer_bounds(0).expect("numbers are integers");
                least < below
            },
            ahead_max,
            at_first_visit: false,
        };
        loop {
            let unordered = transaction.unordered().expect("it may scan in no order");
            let visit = |record: &[u8]| {
                found.numbers.push(number_of(record));
                ControlFlow::Continue(())
            };
            let piece =
                unordered.scan_blocks::<Interleaved>(&table, &mut scan, &Triples, &wanted, visit);
            match piece.await.expect("scans") {
                Met::End => break,
                Met::Break => {}
                Met::Block(block, marks) => {
                    assert!(block.column(1).is_none(), "the scan does not want texts");
                    let [numbers, negatives] = [0, 2].map(|at| {
                        match block.column(at).expect("a wanted column is there").values() {
                            Values::Integers(integers) => integers,
                            _ => panic!("numbers are integers"),
                        }
                    });
                    let is_shown = |row: &usize| marks[row / 64] >> (row % 64) & 1 == 0;
                    for row in (0..block.rows()).filter(is_shown) {
                        assert_eq!(numbers.get(row), -negatives.get(row));
                        found.numbers.push(numbers.get(row));
                        found.in_blocks += 1;
                    }
                }
            }
        }
        transaction.rollback();
        found.numbers.sort_unstable();
        found
    })
}

/// Returns the sorted numbers that a scan by the index finds.
fn in_order(durable: &mut Durable, table: &Arc<Table>) -> Vec<i64> {
    let table = table.clone();
    let mut numbers = durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).expect("begins");
        let (all, mut numbers) = ((Bound::Unbounded, Bound::Unbounded), Vec::new());
        let scan = transaction.scan::<Interleaved>(&table, all, Direction::Forward, |_, record| {
            numbers.push(number_of(record));
            ControlFlow::Continue(())
        });
        scan.await.expect("scans");
        transaction.rollback();
        numbers
    });
    numbers.sort_unstable();
    numbers
}

/// Lets all records leave memory.
fn demote_all(durable: &mut Durable) {
    durable.run(async |session: Rc<Session>| {
        for _ in 0..40 {
            session.demote(u64::MAX).await.expect("the device works");
        }
    });
}

/// Blocks have no memory: each scan reads the columns that it wants from the device, ahead of itself or one transfer
/// after the other, and passes by blocks whose bounds say that nothing is wanted.
#[test]
fn scans_read_the_columns_that_they_want_from_the_device() {
    let disk = SimulatedDisk::new(3, Faults::default());
    let mut durable = open(disk.directory(), 0);
    let table = loaded(&mut durable, 8);
    let expected = in_order(&mut durable, &table);
    assert_eq!(by_blocks(&mut durable, &table, i64::MAX, 4).in_blocks, 0);
    assert_eq!(
        by_blocks(&mut durable, &table, i64::MAX, 4).numbers,
        expected
    );
    let built = stats(&durable);
    assert_eq!((built.blocks_built, built.blocks_written), (8, 8));
    let (kept, all) = durable.database.block_bytes();
    assert!(kept == 0 && all > 100 << 10, "{kept} of {all} bytes");
    let mut before = built;
    for ahead_max in [0, 1, 4, 64] {
        let found = by_blocks(&mut durable, &table, i64::MAX, ahead_max);
        assert_eq!(
            (&found.numbers, found.in_blocks),
            (&expected, 8 * CHUNK as usize)
        );
        let after = stats(&durable);
        let (reads, bytes) = (
            after.block_reads - before.block_reads,
            after.block_bytes_read - before.block_bytes_read,
        );
        // Texts lie between the numbers, and are more than a transfer reads needlessly.
        assert_eq!(reads, 16, "two transfers for each block");
        assert!(bytes < 16 * (16 << 10), "{bytes} bytes without the texts");
        before = after;
    }
    let below = by_blocks(&mut durable, &table, 3 * 2 * CHUNK as i64 + 1, 4);
    assert_eq!(
        below.in_blocks,
        3 * CHUNK as usize,
        "numbers of three chunks may be below"
    );
    assert_eq!(stats(&durable).blocks_skipped, 5);
    assert_eq!(stats(&durable).blocks_damaged, 0);
}

/// Columns are kept up to what blocks may have, and scans go on to find these: they read the others alone.
#[test]
fn columns_are_kept_within_their_share() {
    let disk = SimulatedDisk::new(4, Faults::default());
    let share = 150 << 10;
    let mut durable = open(disk.directory(), share);
    let table = loaded(&mut durable, 12);
    let expected = in_order(&mut durable, &table);
    let mut reads = Vec::new();
    for _ in 0..5 {
        let before = stats(&durable).block_reads;
        let found = by_blocks(&mut durable, &table, i64::MAX, 8);
        assert_eq!(found.numbers, expected);
        reads.push(stats(&durable).block_reads - before);
        let (kept, _) = durable.database.block_bytes();
        assert!(kept <= share, "{kept} bytes are kept");
    }
    assert!(durable.database.block_bytes().0 > share / 2);
    assert!(reads[2] < 24 && reads[2] > 0, "{reads:?}");
    assert!(
        reads[2..].iter().all(|of_scan| *of_scan == reads[2]),
        "{reads:?}"
    );
}

/// Records that have left memory come into blocks, too, and what is written later is found beside them.
#[test]
fn blocks_are_built_of_cold_records() {
    let disk = SimulatedDisk::new(5, Faults::default());
    let mut durable = open(disk.directory(), 0);
    let table = loaded(&mut durable, 4);
    let mut expected = in_order(&mut durable, &table);
    demote_all(&mut durable);
    let versions = durable.database.memory().version_bytes;
    assert!(versions < 100 << 10, "{versions} bytes have not left");
    assert_eq!(
        by_blocks(&mut durable, &table, i64::MAX, 4).numbers,
        expected
    );
    let found = by_blocks(&mut durable, &table, i64::MAX, 4);
    assert_eq!(
        (&found.numbers, found.in_blocks),
        (&expected, 4 * CHUNK as usize)
    );

    // A cold record is changed, one is deleted, and one comes.
    let write = |key: u64, number: Option<i64>| (key.to_be_bytes().to_vec(), number.map(record));
    let writes = vec![
        write(7, Some(-5)),
        write(2 * CHUNK, None),
        write(9 * CHUNK, Some(-6)),
    ];
    durable.write(&table, writes).expect("commits");
    expected.retain(|number| ![21, 6 * CHUNK as i64].contains(number));
    expected.extend([-5, -6]);
    expected.sort_unstable();
    let found = by_blocks(&mut durable, &table, i64::MAX, 4);
    assert_eq!(
        (&found.numbers, found.in_blocks),
        (&expected, 4 * CHUNK as usize - 2)
    );
    demote_all(&mut durable);
    let found = by_blocks(&mut durable, &table, i64::MAX, 4);
    assert_eq!(
        (&found.numbers, found.in_blocks),
        (&expected, 4 * CHUNK as usize - 2)
    );
    assert_eq!(in_order(&mut durable, &table), expected);
}

/// A block that is damaged on the device is given up: scans find its records where they are, and build it anew.
#[test]
fn damaged_blocks_are_given_up() {
    let disk = SimulatedDisk::new(6, Faults::default());
    let mut durable = open(disk.directory(), 0);
    let table = loaded(&mut durable, 3);
    let expected = in_order(&mut durable, &table);
    for _ in 0..2 {
        assert_eq!(
            by_blocks(&mut durable, &table, i64::MAX, 4).numbers,
            expected
        );
    }
    let directory = disk.directory();
    let names = directory.list().expect("lists");
    let name = names.iter().find(|name| name.starts_with("temporary-"));
    let name = name.expect("blocks are in a temporary file");
    let file = directory.open(name, OpenMode::Write, false).expect("opens");
    let mut bytes = vec![0; 8 << 10];
    file.read_at(&mut bytes, 0).expect("reads");
    // Behind the directory, in the numbers of the first block.
    bytes[4 << 10..].iter_mut().for_each(|byte| *byte ^= 0x55);
    file.write_at(&bytes, 0).expect("writes");
    let found = by_blocks(&mut durable, &table, i64::MAX, 4);
    assert_eq!(
        (&found.numbers, found.in_blocks),
        (&expected, 2 * CHUNK as usize)
    );
    assert_eq!(stats(&durable).blocks_damaged, 1);
    let mut in_blocks = 0;
    for _ in 0..70 {
        let found = by_blocks(&mut durable, &table, i64::MAX, 4);
        assert_eq!(found.numbers, expected);
        in_blocks = found.in_blocks;
    }
    assert_eq!(in_blocks, 3 * CHUNK as usize, "the block is there again");
    assert_eq!(stats(&durable).blocks_damaged, 1);
}

/// A table that is dropped gives the device's room back, and the next one uses it again.
#[test]
fn extents_of_dropped_tables_are_used_again() {
    let disk = SimulatedDisk::new(7, Faults::default());
    let mut durable = open(disk.directory(), 0);
    let mut lengths = Vec::new();
    for _ in 0..4 {
        let table = loaded(&mut durable, 3);
        for _ in 0..2 {
            by_blocks(&mut durable, &table, i64::MAX, 4);
        }
        let directory = disk.directory();
        let mut names = directory.list().expect("lists");
        names.retain(|name| name.starts_with("temporary-"));
        assert_eq!(names.len(), 1, "{names:?}");
        let file = directory.open(&names[0], OpenMode::Read, false);
        lengths.push(file.expect("opens").length().expect("has a length"));
        drop(table);
        durable.database.drop_table("t").expect("drops");
        for _ in 0..100 {
            tend(&mut durable);
        }
    }
    assert!(
        lengths.iter().all(|length| *length == lengths[0]),
        "{lengths:?}"
    );
    assert_eq!(stats(&durable).blocks_written, 12);
}
