//! Columns and blocks when memory is lacking: an allocator that fails after a number of allocations.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use segment::{Builder, CellError, SegmentError, Values};

struct Failing;

thread_local! {
    /// Allocations that succeed before one fails.
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Takes one of the allocations that are left, if there is one.
fn take() -> bool {
    let left = LEFT.try_with(|left| left.replace(left.get().saturating_sub(1)));
    left.unwrap_or(1) > 0
}

/// Calls `work`, all of whose allocations fail after the first `count`.
fn with_allocations<T>(count: usize, work: impl FnOnce() -> T) -> T {
    LEFT.set(count);
    let done = work();
    LEFT.set(usize::MAX);
    done
}

// SAFETY: all work is the system's; a null pointer says that it was not done.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !take() {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if !take() {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Failing = Failing;

/// A decimal whose scale was noted before memory for its number was lacking gave its scale to the next row without a
/// value, and widened the range of scales.
#[test]
fn a_decimal_without_memory_leaves_the_column_as_it_was() {
    let mut failed = 0;
    for rows in 1..10 {
        let mut builder = Builder::new(1).unwrap();
        let cells = builder.cells(0);
        for _ in 0..rows {
            cells.decimal(1, 2).unwrap();
        }
        let added = with_allocations(1, || cells.decimal(1, 200));
        if added == Ok(()) {
            continue;
        }
        assert_eq!(added, Err(CellError::Memory));
        failed += 1;
        cells.absent().unwrap();
        let block = builder.finish().unwrap();
        let Values::Decimals { scales, .. } = block.column(0).values() else {
            panic!("a column of decimals");
        };
        assert_eq!((block.rows(), scales.constant()), (rows + 1, Some(2)));
    }
    assert!(failed > 0);
}

#[test]
fn a_block_is_made_after_memory_was_lacking() {
    let collected = || {
        let mut builder = Builder::new(4).unwrap();
        for row in 0..100 {
            builder.cells(0).integer(row << 40).unwrap();
            builder.cells(1).integer((row % 3) << 40).unwrap();
            builder.cells(2).decimal(row, (row % 2) as u8).unwrap();
            let text = [&b"long and longer"[..], b"short", b""][row as usize % 3];
            builder.cells(3).bytes(text).unwrap();
        }
        builder.fill_to(200).unwrap();
        builder
    };
    let expected = collected().finish().unwrap();
    let mut failed = 0;
    while let Err(error) = {
        let mut builder = collected();
        let first = with_allocations(failed, || builder.finish());
        let second = builder.finish().unwrap();
        assert_eq!(
            second.words(),
            expected.words(),
            "after {failed} allocations"
        );
        first
    } {
        assert!(matches!(error, SegmentError::Memory(_)), "{error}");
        failed += 1;
    }
    assert!(failed > 5, "{failed}");
}
