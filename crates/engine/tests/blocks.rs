//! Scans by blocks of columns beside writers: they find what a scan by the index finds, at every snapshot.

use std::{
    cell::Cell,
    ops::{Bound, ControlFlow},
    rc::Rc,
};

use engine::{
    BlockScan, DatabaseConfig, Direction, Error, Isolation, Met, RecordFields, Session, Table,
    TableOptions, Transaction, Unsplit, Wanted,
};
use interleave::{Sequential, run_inline};
use segment::{Builder, CellError, Column, Values};

use crate::{in_memory::in_memory, rng::Rng};

/// Positions of a chunk.
const CHUNK: u64 = 4096;

/// Records of a number and a text: eight bytes, then all others.
#[derive(Default)]
struct Numbered {
    /// Records that were split into fields.
    split: Cell<usize>,
}

impl RecordFields for Numbered {
    fn count(&self, record: &[u8]) -> Option<usize> {
        (record.len() >= 8).then_some(2)
    }

    fn split(&self, record: &[u8], plain: &mut [bool], block: &mut Builder) -> Result<(), Unsplit> {
        self.split.set(self.split.get() + 1);
        let (number, text) = record.split_first_chunk::<8>().ok_or(Unsplit::Refused)?;
        let integer = i64::from_le_bytes(*number);
        let cells = block.cells(0);
        // Negative numbers are not integers here, so that a column has two kinds.
        let added = match plain[0] || integer < 0 {
            true => cells.bytes(number),
            false => cells.integer(integer),
        };
        match added.and_then(|()| block.cells(1).bytes(text)) {
            Ok(()) => Ok(()),
            Err(CellError::Mixed) => {
                plain[0] = true;
                Err(Unsplit::Mixed)
            }
            Err(_) => Err(Unsplit::Refused),
        }
    }
}

fn record(number: i64, text: &str) -> Vec<u8> {
    [&number.to_le_bytes()[..], text.as_bytes()].concat()
}

/// Returns the record at a row of a block.
fn joined(number: Column<'_>, text: Column<'_>, row: usize) -> Vec<u8> {
    let Values::Bytes(texts) = text.values() else {
        panic!("texts are bytes");
    };
    let number = match number.values() {
        Values::Integers(numbers) => numbers.get(row).to_le_bytes().to_vec(),
        Values::Bytes(numbers) => numbers.get(row).to_vec(),
        _ => panic!("numbers are integers or bytes"),
    };
    [&number, texts.get(row)].concat()
}

/// The findings of a scan by blocks: records, how many of them in blocks, and the number of blocks.
#[derive(Default)]
struct Found {
    records: Vec<Vec<u8>>,
    in_blocks: usize,
    blocks: usize,
}

/// Scans for the second time: the first one builds nothing.
fn built(session: &Rc<Session>, table: &Table, fields: &Numbered) -> Found {
    let reader = session.begin(Isolation::Snapshot).unwrap();
    assert_eq!(by_blocks(&reader, table, fields, usize::MAX).blocks, 0);
    by_blocks(&reader, table, fields, usize::MAX)
}

/// Scans by blocks, in pieces of at most `limit` records.
fn by_blocks(transaction: &Transaction, table: &Table, fields: &Numbered, limit: usize) -> Found {
    let mut found = Found::default();
    scan_on(
        &mut BlockScan::default(),
        transaction,
        table,
        fields,
        limit,
        &mut found,
    );
    found.records.sort_unstable();
    found
}

/// Scans by blocks as [`by_blocks`] does, in ranges of chunks that are drawn and come in any order.
fn in_parts(
    rng: &mut Rng,
    transaction: &Transaction,
    table: &Table,
    fields: &Numbered,
    limit: usize,
) -> Found {
    let _snapshot = transaction.statement_snapshot().unwrap();
    let chunks = transaction.unordered().unwrap().chunks(table);
    let mut ranges: Vec<_> = Vec::new();
    let mut next = 0;
    while next < chunks {
        let until = chunks.min(next + 1 + rng.below(3));
        let at = rng.below(ranges.len() as u64 + 1) as usize;
        ranges.insert(at, next..until);
        next = until;
    }
    let (mut found, mut scan) = (Found::default(), BlockScan::default());
    for range in ranges {
        scan.enter(range);
        scan_on(&mut scan, transaction, table, fields, limit, &mut found);
    }
    found.records.sort_unstable();
    found
}

/// Scans to the end of what a scan is confined to.
fn scan_on(
    scan: &mut BlockScan,
    transaction: &Transaction,
    table: &Table,
    fields: &Numbered,
    limit: usize,
    found: &mut Found,
) {
    let unordered = transaction.unordered().unwrap();
    loop {
        let mut left = limit;
        let wanted = Wanted {
            columns: &[0, 1],
            may_have: &|_| true,
            ahead_max: 4,
            at_first_visit: false,
        };
        let piece = unordered.scan_blocks::<Sequential>(table, scan, fields, &wanted, |record| {
            found.records.push(record.to_vec());
            left -= 1;
            match left {
                0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        });
        match run_inline(piece).unwrap() {
            Met::End => break,
            Met::Break => {}
            Met::Block(block, marks) => {
                assert_eq!(block.rows() as u64, CHUNK);
                let is_shown = |row: &usize| marks[row / 64] >> (row % 64) & 1 == 0;
                let [number, text] = [0, 1].map(|column| block.column(column).unwrap());
                let rows = (0..block.rows()).filter(is_shown);
                let before = found.records.len();
                found
                    .records
                    .extend(rows.map(|row| joined(number, text, row)));
                found.in_blocks += found.records.len() - before;
                found.blocks += 1;
            }
        }
    }
}

/// Scans by the index.
fn in_order(transaction: &Transaction, table: &Table) -> Vec<Vec<u8>> {
    let all = (Bound::Unbounded::<&[u8]>, Bound::Unbounded);
    let mut records = Vec::new();
    let scan = transaction.scan::<Sequential>(table, all, Direction::Forward, |_, record| {
        records.push(record.to_vec());
        ControlFlow::Continue(())
    });
    run_inline(scan).unwrap();
    records.sort_unstable();
    records
}

fn load(session: &Rc<Session>, table: &Table, keys: std::ops::Range<u64>) {
    let transaction = session.begin(Isolation::Snapshot).unwrap();
    for key in keys {
        let record = record(key as i64 * 3, "loaded");
        run_inline(transaction.insert::<Sequential>(table, &key.to_be_bytes(), &record)).unwrap();
    }
    run_inline(transaction.commit()).unwrap();
    // The horizon comes up to the commit.
    session.tend();
}

/// Writers that insert, update, delete, go back and give up, readers with old snapshots, records that are taken up and
/// places that are used again: every scan by blocks finds what a scan by the index does.
#[test]
fn scans_by_blocks_find_what_scans_by_the_index_find() {
    for seed in 1..=6 {
        let mut rng = Rng(seed * 0x9e37_79b9);
        let (session, table) = in_memory(DatabaseConfig::with_memory(256 << 20));
        load(&session, &table, 0..3 * CHUNK + 100);
        let fields = Numbered::default();
        let (mut open, mut in_blocks): (Vec<Transaction>, usize) = (Vec::new(), 0);
        for step in 0..400 {
            if open.len() < 4 {
                open.push(session.begin(Isolation::Snapshot).unwrap());
            }
            let at = rng.below(open.len() as u64) as usize;
            match rng.below(12) {
                0 => drop(run_inline(open.swap_remove(at).commit())),
                1 => open.swap_remove(at).rollback(),
                2..=4 => {
                    let transaction = &open[at];
                    let limit = 1 + rng.below(300) as usize;
                    let found = match rng.below(2) {
                        0 => by_blocks(transaction, &table, &fields, limit),
                        _ => in_parts(&mut rng, transaction, &table, &fields, limit),
                    };
                    assert!(
                        found.records == in_order(transaction, &table),
                        "seed {seed}, step {step}"
                    );
                    in_blocks += found.in_blocks;
                }
                kind => {
                    let savepoint = open[at].savepoint().unwrap();
                    if !write_some(&mut rng, &open[at], &table, kind) {
                        drop(open.swap_remove(at));
                    } else if rng.below(4) == 0 {
                        open[at].rollback_to(&savepoint).unwrap();
                    }
                }
            }
            session.tend();
        }
        assert!(in_blocks > 100_000, "seed {seed}: {in_blocks} in blocks");
    }
}

/// Writes a few records, or many of one chunk. Returns false if a conflict has ended the transaction.
fn write_some(rng: &mut Rng, transaction: &Transaction, table: &Table, kind: u64) -> bool {
    let many = rng.below(40) == 0;
    let first = rng.below(3 * CHUNK + 200);
    for offset in 0..if many { 1500 } else { 1 + rng.below(8) } {
        let key = (first + offset * if many { 1 } else { 977 }) % (3 * CHUNK + 200);
        let number = match rng.below(2000) {
            0 => -1,
            other => other as i64,
        };
        let (key, record) = (key.to_be_bytes(), record(number, "written"));
        let done = match kind {
            5 | 6 => run_inline(transaction.insert::<Sequential>(table, &key, &record)),
            7 | 8 => run_inline(transaction.delete::<Sequential>(table, &key)).map(drop),
            9 => run_inline(transaction.upsert::<Sequential>(table, &key, &record)),
            _ => run_inline(transaction.update::<Sequential>(table, &key, &record)).map(drop),
        };
        if let Err(Error::Abort(_)) = done {
            return false;
        }
    }
    true
}

/// A block is built of records that all transactions see, and serves those that were open before: they have no other.
/// A chunk that is mostly unused, and a table whose records expire, keep their records as they are.
#[test]
fn blocks_are_built_of_whole_chunks() {
    let (session, table) = in_memory(DatabaseConfig::with_memory(64 << 20));
    load(&session, &table, 0..2 * CHUNK + 5);
    let fields = Numbered::default();
    let early = session.begin(Isolation::Snapshot).unwrap();
    let found = built(&session, &table, &fields);
    assert_eq!((found.blocks, found.in_blocks), (2, 2 * CHUNK as usize));
    assert_eq!(found.records.len(), found.in_blocks + 5);
    assert_eq!(fields.split.get(), 2 * CHUNK as usize);

    let writer = session.begin(Isolation::Snapshot).unwrap();
    for key in 0..10_u64 {
        let key = (key * 400).to_be_bytes();
        assert!(run_inline(writer.delete::<Sequential>(&table, &key)).unwrap());
    }
    let own = by_blocks(&writer, &table, &fields, 3);
    assert_eq!(own.records.len(), 2 * CHUNK as usize + 5 - 10);
    assert_eq!(by_blocks(&early, &table, &fields, 3).records, found.records);
    run_inline(writer.commit()).unwrap();
    let late = session.begin(Isolation::Snapshot).unwrap();
    assert_eq!(by_blocks(&late, &table, &fields, 7).records, own.records);
    assert_eq!(by_blocks(&early, &table, &fields, 7).records, found.records);
    assert_eq!(fields.split.get(), 2 * CHUNK as usize, "few are superseded");

    let options = TableOptions {
        ttl: Some(std::time::Duration::from_secs(1000)),
    };
    let expiring = session
        .database()
        .create_table_with("expiring", &[], options)
        .unwrap();
    load(&session, &expiring, 0..CHUNK);
    let found = built(&session, &expiring, &fields);
    assert_eq!((found.blocks, found.records.len()), (0, CHUNK as usize));
}

/// Numbers of two kinds become bytes; records that are not split are read as they are.
#[test]
fn records_that_do_not_fit_are_kept_as_bytes_or_as_they_are() {
    let (session, table) = in_memory(DatabaseConfig::with_memory(64 << 20));
    load(&session, &table, 0..2 * CHUNK);
    let writer = session.begin(Isolation::Snapshot).unwrap();
    let mixed = record(-7, "another kind");
    let keys = [(CHUNK - 1).to_be_bytes(), (CHUNK + 9).to_be_bytes()];
    run_inline(writer.upsert::<Sequential>(&table, &keys[0], &mixed)).unwrap();
    run_inline(writer.upsert::<Sequential>(&table, &keys[1], b"short")).unwrap();
    run_inline(writer.commit()).unwrap();
    session.tend();
    let found = built(&session, &table, &Numbered::default());
    let reader = session.begin(Isolation::Snapshot).unwrap();
    assert_eq!((found.blocks, found.in_blocks), (1, CHUNK as usize));
    assert!(found.records == in_order(&reader, &table));
    assert!(found.records.contains(&mixed));
}

/// Blocks are built as long as half of memory is free, and go before records find no room.
#[test]
fn blocks_leave_memory_to_records() {
    let (session, table) = in_memory(DatabaseConfig::with_memory(16 << 20));
    load(&session, &table, 0..4 * CHUNK);
    let fields = Numbered::default();
    assert_eq!(built(&session, &table, &fields).blocks, 4);
    session.tend();
    let all_built = session.database().stats().blocks_built;
    assert_eq!(all_built, 4);
    let mut loaded = 4 * CHUNK;
    let writer = session.begin(Isolation::Snapshot).unwrap();
    while let Ok(()) = {
        let record = record(loaded as i64, "more");
        run_inline(writer.insert::<Sequential>(&table, &loaded.to_be_bytes(), &record))
    } {
        loaded += 1;
        session.tend();
    }
    run_inline(writer.commit()).unwrap();
    session.tend();
    let found = built(&session, &table, &fields);
    let reader = session.begin(Isolation::Snapshot).unwrap();
    assert_eq!((found.records.len() as u64, found.blocks), (loaded, 0));
    assert!(found.records == in_order(&reader, &table));
    assert_eq!(session.database().stats().blocks_built, all_built);
}
