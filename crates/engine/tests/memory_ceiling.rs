//! The memory limit covers the lists of transactions, not only the contents of tables.

#[path = "common/by_hand.rs"]
mod by_hand;
#[path = "common/in_memory.rs"]
mod in_memory;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    ops::{Bound, ControlFlow},
    sync::atomic::{AtomicUsize, Ordering},
};

use by_hand::Setup;
use engine::{Abort, DatabaseConfig, Direction, Error, Isolation, TransactionOptions};
use in_memory::in_memory;
use interleave::{Sequential, run_inline};

/// Allocator that counts the bytes that the process has on its heap.
struct Counting;

static HEAP_BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: hands everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HEAP_BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HEAP_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn heap_bytes() -> u64 {
    HEAP_BYTES.load(Ordering::Relaxed) as u64
}

fn listed_bytes(s: &Setup) -> u64 {
    s.session.database().memory().listed_bytes
}

fn fill(s: &Setup, records: u32) {
    for from in (0..records).step_by(100) {
        let txn = s.begin(Isolation::Snapshot);
        for number in from..from + 100 {
            s.put(&txn, &format!("k{number:07}"), "value").unwrap();
        }
        run_inline(txn.commit()).unwrap();
        s.session.tend();
    }
}

// A single test: the heap is the whole process's.
#[test]
fn memory_of_transactions_counts_and_is_given_back() {
    let s = Setup::new();
    fill(&s, 50_000);
    s.collect();
    let (heap, listed) = (heap_bytes(), listed_bytes(&s));

    let reader = s.begin(Isolation::Serializable);
    assert_eq!(s.keys(&reader).len(), 50_002);
    let (heap_now, listed_now) = (heap_bytes(), listed_bytes(&s));
    assert!(heap_now > heap + 500_000, "reads are remembered");
    // Half of the last doubling of a list may not be counted yet.
    assert!(listed_now - listed > (heap_now - heap) * 45 / 100);
    drop(reader);

    let writer = s.begin(Isolation::Snapshot);
    for number in 0..50_000 {
        s.put(&writer, &format!("k{number:07}"), "other").unwrap();
    }
    let (heap_now, listed_now) = (heap_bytes(), listed_bytes(&s));
    assert!(heap_now > heap + 2_000_000, "writes are remembered");
    assert!(listed_now - listed > (heap_now - heap) * 45 / 100);
    run_inline(writer.commit()).unwrap();
    let garbage = listed_bytes(&s);
    s.session.tend();
    assert!(
        garbage > listed + 1_000_000,
        "what waits for collection counts"
    );
    s.collect();
    assert!(listed_bytes(&s) < listed + 4_000_000);

    reads_go_on_at_the_limit();
}

/// A small limit is filled up to the last record.
fn reads_go_on_at_the_limit() {
    let (session, table) = in_memory(DatabaseConfig::with_memory(8 << 20));
    let mut records = 0_u32;
    let full = loop {
        let txn = session.begin(Isolation::Snapshot).unwrap();
        let key = records.to_be_bytes();
        let inserted = run_inline(txn.insert::<Sequential>(&table, &key, &[0; 40]));
        if let Err(error) = inserted.and_then(|()| run_inline(txn.commit()).map(drop)) {
            break error;
        }
        records += 1;
        session.tend();
    };
    assert_eq!(full, Error::MemoryExhausted);

    let scan = |options: TransactionOptions| {
        let txn = session.begin(options).unwrap();
        let range = (Bound::Unbounded, Bound::Unbounded);
        let visit = |_: &[u8], _: &[u8]| ControlFlow::Continue(());
        run_inline(txn.scan::<Sequential>(&table, range, Direction::Forward, visit))
    };
    // Other users have the rest of the limit.
    let rest = session.database().arena().clone();
    let usage = rest.usage();
    let left = usage.limit_bytes - usage.claimed_bytes - usage.listed_bytes;
    let mut others = rest.reserve(0).unwrap();
    others.charge(left as usize);
    assert_eq!(scan(Isolation::Snapshot.into()), Ok(records.into()));
    let declared = TransactionOptions {
        read_only: true,
        ..Isolation::Serializable.into()
    };
    assert_eq!(scan(declared), Ok(records.into()));
    let refused = scan(Isolation::Serializable.into());
    assert_eq!(refused, Err(Error::Abort(Abort::TooMuchRead)));
    drop(others);

    // Deleting makes room.
    for number in 0..records {
        let txn = session.begin(Isolation::Serializable).unwrap();
        let deleted = run_inline(txn.delete::<Sequential>(&table, &number.to_be_bytes()));
        assert_eq!(deleted, Ok(true), "{number} of {records}");
        run_inline(txn.commit()).unwrap();
        session.tend();
    }
    let txn = session.begin(Isolation::Serializable).unwrap();
    run_inline(txn.insert::<Sequential>(&table, b"again", &[0; 40])).unwrap();
    run_inline(txn.commit()).unwrap();
}
