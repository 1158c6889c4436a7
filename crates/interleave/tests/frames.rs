//! Memory of frames: the worker's local is told of it, may bound it, and gets it back.

use std::{
    cell::Cell,
    future::{pending, ready},
    hint::black_box,
    rc::Rc,
    time::Duration,
};

use interleave::{Clock, InFlight, JoinHandle, Wait, Worker, WorkerConfig, WorkerLocal, noting};

const FRAME_BYTES: usize = 4096;
const IN_FLIGHT: usize = 8;

#[derive(Default)]
struct Ledger {
    bytes: Cell<usize>,
    places: Cell<usize>,
    at_device_max: Cell<Option<usize>>,
}

impl WorkerLocal for Ledger {
    fn frames(&self, bytes: usize, places: usize) -> usize {
        self.bytes.set(bytes);
        self.places.set(places);
        self.at_device_max.get().unwrap_or(usize::MAX)
    }
}

fn worker() -> Worker<Ledger> {
    let config = WorkerConfig {
        in_flight: InFlight::Fixed(IN_FLIGHT),
        ..WorkerConfig::default()
    };
    let clock = Clock::Manual(Rc::new(Cell::new(Duration::ZERO)));
    Worker::new(config, Rc::default(), clock)
}

/// Thing that a task waits for, for ever.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    Client,
    Device,
}

/// Submits tasks that wait until they are dropped.
fn wait(worker: &mut Worker<Ledger>, tasks: usize, what: For) -> Vec<JoinHandle<(), Ledger>> {
    let handle = worker.handle();
    let submit = |_| {
        handle.submit(move |_| async move {
            let frame = [1u8; FRAME_BYTES];
            match what {
                For::Client => pending::<()>().await,
                For::Device => noting(Wait::Device, pending()).await,
            }
            black_box(&frame);
        })
    };
    let waiting = (0..tasks).map(submit).collect();
    worker.run_until_idle();
    waiting
}

#[test]
fn frames_are_told_of_and_given_up_when_nobody_needs_them() {
    let mut worker = worker();
    let waiting = wait(&mut worker, 2000, For::Client);
    let ledger = worker.local().clone();
    assert_eq!(ledger.places.get(), 2000);
    let all = ledger.bytes.get();
    assert!(
        (2000 * FRAME_BYTES..3000 * FRAME_BYTES).contains(&all),
        "{all}"
    );
    drop(waiting);
    worker.run_until_idle();
    for _ in 0..3 * 4096 {
        worker.step_housekeep();
    }
    let left = ledger.bytes.get();
    assert!(left < all / 4, "{left} of {all}");
    // The places serve again.
    let waiting = wait(&mut worker, 2000, For::Client);
    assert_eq!(ledger.places.get(), 2000);
    assert_eq!(ledger.bytes.get(), all);
    drop(waiting);
}

#[test]
fn who_has_a_limit_to_keep_bounds_the_tasks_that_wait_for_the_device() {
    let mut worker = worker();
    let ledger = worker.local().clone();
    ledger.at_device_max.set(Some(50));
    // A task that waits for a client, perhaps for ever, keeps no task out.
    let clients = wait(&mut worker, 300, For::Client);
    assert_eq!(ledger.places.get(), 300);
    let waiting = wait(&mut worker, 100, For::Device);
    // A task that ran already when so many waited may wait too.
    let places = ledger.places.get();
    assert!((350..350 + IN_FLIGHT).contains(&places), "{places}");
    drop((clients, waiting));
    // A bound of 0 does not keep all tasks out for ever.
    ledger.at_device_max.set(Some(0));
    worker.step_housekeep();
    let tasks: Vec<_> = (0..10)
        .map(|i| worker.handle().submit(move |_| ready(i)))
        .collect();
    worker.run_until_idle();
    let ended: Vec<_> = tasks.into_iter().map(|task| task.wait()).collect();
    assert_eq!(ended, (0..10).map(Ok).collect::<Vec<_>>());
}
