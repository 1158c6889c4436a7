//! Allocations of prepared statements that have been planned: the calls of the allocator by a
//! session for each execution, from binding its parameters to its last row.

#[path = "common/bed.rs"]
mod bed;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    rc::Rc,
};

use bed::Bed;
use sql::{CommandTag, Progress, Session};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting the requests of this thread.
struct Counting;

// SAFETY: all requests are handed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are the same.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises are the same.
        unsafe { System.realloc(pointer, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const WARM_UP: u32 = 50;
const EXECUTIONS: u32 = 100;

/// Returns the fewest allocations of one execution of a statement whose parameter is a key.
async fn counted(session: &mut Session, text: &str) -> u64 {
    let prepared = Rc::new(session.prepare(text, &[]).await.unwrap());
    let mut fewest = u64::MAX;
    for execution in 0..WARM_UP + EXECUTIONS {
        let key = (1 + execution).to_string();
        let before = ALLOCATIONS.get();
        let values = [(false, Some(key.as_bytes()))];
        let mut portal = session.bind(&prepared, values.into_iter()).unwrap();
        let progress = session.run_portal(&mut portal, None, &mut ()).await;
        let Progress::Complete(CommandTag::Rows(_, rows)) = progress.unwrap() else {
            panic!("{text} has not ended with rows");
        };
        drop(portal);
        session.end_implicit().await.unwrap();
        let allocations = ALLOCATIONS.get() - before;
        assert_eq!(rows, 1, "{text}");
        if execution >= WARM_UP {
            fewest = fewest.min(allocations);
        }
    }
    fewest
}

#[test]
fn points_take_few_allocations() {
    let mut bed = Bed::new();
    bed.run("create table account (id int primary key, balance int, note text)")
        .unwrap();
    bed.run("insert into account select i, 0, 'note ' || i from generate_series(1, 1000) i")
        .unwrap();
    bed.within(async |session| {
        let read = counted(session, "select balance, note from account where id = $1").await;
        let update = counted(
            session,
            "update account set balance = balance + 1 where id = $1",
        )
        .await;
        let computed = "select balance + 1, note from account where id = $1";
        let computed = counted(session, computed).await;
        assert!(
            read <= 2 && update <= 5 && computed <= 5,
            "{read} for a read, {update} for an update, {computed} for a computed column"
        );
    });
}
