//! Interactive and batch tasks, on a clock that tasks move by their computations: neither class starves, tasks begin
//! and sockets are looked at beside tasks that compute for ever, and a long slice is reported with the task's name.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    rc::Rc,
    task::{Poll, Waker},
    time::Duration,
};

use interleave::{
    Clock, InFlight, JoinHandle, LongSlice, SLICE_US_MAX, Scheduling, Turn, Wait, Worker,
    WorkerConfig, WorkerLocal, become_batch, label, note_wait, yield_now,
};

/// The clock, and a record of events.
#[derive(Default)]
struct Machine {
    now: Rc<Cell<Duration>>,
    looks: Cell<u32>,
    long: RefCell<Vec<LongSlice>>,
    /// Slices of tasks, by the tasks' numbers.
    slices: RefCell<Vec<u64>>,
    done: Cell<bool>,
    /// Waker of a client that asks again whenever the worker looks.
    client: RefCell<Option<Waker>>,
}

impl Machine {
    /// Computes for `microseconds`.
    fn compute(&self, microseconds: u64) {
        self.now
            .set(self.now.get() + Duration::from_micros(microseconds));
    }

    fn count(&self, number: u64) -> usize {
        self.slices
            .borrow()
            .iter()
            .filter(|&&n| n == number)
            .count()
    }
}

impl WorkerLocal for Machine {
    fn look_outside(&self) {
        self.looks.set(self.looks.get() + 1);
        if let Some(client) = self.client.take() {
            client.wake();
        }
    }

    fn slice_was_long(&self, slice: &LongSlice) {
        self.long.borrow_mut().push(*slice);
    }
}

fn worker(in_flight: usize, batch_percent: u8) -> Worker<Machine> {
    let config = WorkerConfig {
        in_flight: InFlight::Fixed(in_flight),
        batch_percent,
        ..WorkerConfig::default()
    };
    config.validate().unwrap();
    let machine = Machine::default();
    let clock = Clock::Manual(machine.now.clone());
    Worker::new(config, Rc::new(machine), clock)
}

/// Submits a task that computes in slices of `microseconds` until the machine is done.
fn hog(worker: &Worker<Machine>, number: u64, microseconds: u64) {
    let task = worker.handle().submit(move |machine: &Rc<Machine>| {
        let machine = machine.clone();
        async move {
            while !machine.done.get() {
                machine.compute(microseconds);
                machine.slices.borrow_mut().push(number);
                yield_now().await;
            }
        }
    });
    task.detach();
}

/// Submits a task that computes in a number of slices and returns the time of its end.
fn short(
    worker: &Worker<Machine>,
    slices: u32,
    microseconds: u64,
) -> JoinHandle<Duration, Machine> {
    worker.handle().submit(move |machine: &Rc<Machine>| {
        let machine = machine.clone();
        async move {
            for _ in 0..slices {
                machine.compute(microseconds);
                yield_now().await;
            }
            machine.now.get()
        }
    })
}

/// A part of long work is batch from its first slice on, and other tasks are interactive for as long as ever.
#[test]
fn a_task_can_say_that_it_is_batch() {
    let mut worker = worker(4, 50);
    let task = short(&worker, 4, 100);
    worker.run_until(task).unwrap();
    assert_eq!(worker.handle().stats().tasks_batch, 0);
    let part = worker.handle().submit(|machine: &Rc<Machine>| {
        let machine = machine.clone();
        async move {
            become_batch();
            for _ in 0..4 {
                machine.compute(100);
                yield_now().await;
            }
        }
    });
    worker.run_until(part).unwrap();
    let task = short(&worker, 4, 100);
    worker.run_until(task).unwrap();
    assert_eq!(worker.handle().stats().tasks_batch, 1);
}

/// The client's tasks were not begun while a statement computed: the statement had the only
/// place, and gave it back to itself.
#[test]
fn tasks_begin_beside_those_that_compute_for_ever() {
    for hogs in [1, 3] {
        let mut worker = worker(1, 50);
        (0..hogs).for_each(|number| hog(&worker, number, 100));
        for _ in 0..20 {
            let task = short(&worker, 1, 10);
            let before = worker.local().now.get();
            let done = worker.run_until(task).unwrap();
            // The hogs came before it, and while they are interactive, one begins in a millisecond.
            let waited = done - before;
            assert!(waited <= Duration::from_millis(8), "{hogs}: {waited:?}");
        }
        let machine = worker.local().clone();
        assert_eq!(worker.handle().stats().tasks_batch, 1.max(hogs));
        machine.done.set(true);
        worker.run_until_idle();
    }
}

#[test]
fn an_interactive_task_waits_for_one_slice_of_a_batch_task() {
    let mut worker = worker(4, 50);
    hog(&worker, 0, 100);
    let warm = short(&worker, 100, 100);
    worker.run_until(warm).unwrap();
    worker.local().compute(10_000);
    for _ in 0..50 {
        let before = worker.local().now.get();
        let task = short(&worker, 3, 10);
        let waited = worker.run_until(task).unwrap() - before;
        assert!(waited <= Duration::from_micros(100 + 3 * 10), "{waited:?}");
        // The client of the task thinks.
        let pause = short(&worker, 0, 0);
        worker.run_until(pause).unwrap();
    }
    worker.local().done.set(true);
    worker.run_until_idle();
}

#[test]
fn each_class_has_its_share_while_both_want_all() {
    for percent in [20, 50, 80] {
        let mut worker = worker(8, percent);
        hog(&worker, 0, 100);
        let task = short(&worker, 100, 100);
        worker.run_until(task).unwrap();
        let machine = worker.local().clone();
        let (before, slices) = (machine.now.get(), machine.count(0));
        // A closed loop of short tasks.
        for _ in 0..2000 {
            let task = short(&worker, 2, 20);
            worker.run_until(task).unwrap();
        }
        let took = machine.now.get() - before;
        let batch = Duration::from_micros(100) * (machine.count(0) - slices) as u32;
        let share = 100.0 * batch.as_secs_f64() / took.as_secs_f64();
        // A client that waits for its answer leaves the worker idle for a moment.
        let expected = f64::from(percent);
        assert!(
            (expected - 3.0..=expected + 25.0).contains(&share),
            "{percent}: {share}"
        );
        machine.done.set(true);
        worker.run_until_idle();
    }
}

/// A client that asks again at once is seen by the look that follows its answer. The time of its short requests is
/// charged to its class, though the clock is not read after each.
#[test]
fn a_client_who_asks_again_at_each_look_leaves_batch_tasks_their_share() {
    for microseconds in [1, 5, 10, 60] {
        let mut worker = worker(8, 50);
        hog(&worker, 0, 100);
        let task = short(&worker, 100, 100);
        worker.run_until(task).unwrap();
        let machine = worker.local().clone();
        let requests = worker.handle().submit(move |machine: &Rc<Machine>| {
            let machine = machine.clone();
            async move {
                while machine.now.get() < Duration::from_secs(1) {
                    machine.compute(microseconds);
                    machine.slices.borrow_mut().push(1);
                    let mut asked = false;
                    poll_fn(|context| {
                        if std::mem::replace(&mut asked, true) {
                            return Poll::Ready(());
                        }
                        note_wait(Wait::Request);
                        *machine.client.borrow_mut() = Some(context.waker().clone());
                        Poll::Pending
                    })
                    .await;
                }
            }
        });
        worker.run_until(requests).unwrap();
        let batch = 100 * machine.count(0) as u64;
        let interactive = microseconds * machine.count(1) as u64;
        let share = 100 * batch / (batch + interactive);
        assert!((45..=99).contains(&share), "{microseconds}: {share}");
        assert!(machine.count(1) > 1000, "{microseconds}: {share}");
        machine.done.set(true);
        worker.run_until_idle();
    }
}

#[test]
fn batch_tasks_take_turns_among_themselves() {
    let mut worker = worker(1, 50);
    (0..4).for_each(|number| hog(&worker, number, 100));
    let task = short(&worker, 400, 100);
    worker.run_until(task).unwrap();
    let machine = worker.local().clone();
    let counts: Vec<_> = (0..4).map(|number| machine.count(number)).collect();
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(most - least <= 60, "{counts:?}");
    machine.done.set(true);
    worker.run_until_idle();
}

/// A connection serves many requests: a long one does not make the next ones batch.
#[test]
fn whoever_waits_for_the_next_request_is_interactive_again() {
    let mut worker = worker(1, 50);
    let task = worker.handle().submit(|machine: &Rc<Machine>| {
        let machine = machine.clone();
        async move {
            for _ in 0..10 {
                // One millisecond of two.
                for _ in 0..10 {
                    machine.compute(100);
                    yield_now().await;
                }
                let mut asked = false;
                std::future::poll_fn(|context| {
                    if asked {
                        return std::task::Poll::Ready(());
                    }
                    asked = true;
                    note_wait(Wait::Request);
                    context.waker().wake_by_ref();
                    std::task::Poll::Pending
                })
                .await;
            }
        }
    });
    worker.run_until(task).unwrap();
    let stats = worker.handle().stats();
    assert_eq!((stats.tasks_batch, stats.waits_client), (0, 10));
}

#[test]
fn a_slice_that_is_long_is_counted_and_named() {
    let mut worker = worker(4, 50);
    let quick = short(&worker, 100, 1);
    let task = worker.handle().submit(|machine: &Rc<Machine>| {
        let machine = machine.clone();
        async move {
            label("client", 17);
            for microseconds in [SLICE_US_MAX, 900, 300] {
                machine.compute(microseconds);
                yield_now().await;
            }
        }
    });
    worker.run_until(task).unwrap();
    worker.run_until(quick).unwrap();
    let machine = worker.local().clone();
    let long = machine.long.borrow();
    assert_eq!(long.len(), 2, "{long:?}");
    assert!(
        long.iter().all(|slice| slice.label.number == 17),
        "{long:?}"
    );
    let stats = worker.handle().stats();
    assert_eq!(stats.slices_long, long.len() as u64);
    let longest = worker.handle().longest_slice().unwrap();
    assert_eq!(longest.duration.as_nanos() as u64, stats.slice_ns_max);
    assert!(longest.duration >= Duration::from_micros(900), "{longest}");
    assert!(longest.to_string().contains("client 17"), "{longest}");
    worker.forget_longest_slice();
    assert_eq!(worker.handle().longest_slice(), None);
}

#[test]
fn whatever_comes_from_outside_is_looked_at_between_any_two_slices() {
    let mut worker = worker(16, 50);
    // All hogs are in one cohort: a round of it would take a second.
    (0..16).for_each(|number| hog(&worker, number, 60_000));
    let task = short(&worker, 10, 60_000);
    worker.run_until(task).unwrap();
    let machine = worker.local().clone();
    let slices = machine.slices.borrow().len();
    assert!(
        machine.looks.get() as usize >= slices - 2,
        "{}",
        machine.looks.get()
    );
    machine.done.set(true);
    worker.run_until_idle();
}

#[test]
fn a_turn_ends_after_so_many_units_where_the_clock_stands_still() {
    let mut worker = worker(1, 50);
    let task = worker.handle().submit(|_| async {
        let turn = Turn::default();
        let mut turns = 0;
        for _ in 0..100_000 {
            turns += u32::from(turn.spend(1));
        }
        turns
    });
    assert_eq!(worker.run_until(task), Ok(100_000 / 4096));
}

/// A scan whose batch was full when its turn was over left the pause to the task that took the batch, whose count was
/// below the one at which the clock is read: count(*) over six million rows held its worker for 4 ms each time.
#[test]
fn a_turn_that_is_over_is_told_until_others_have_theirs() {
    for unheeded in [0, 1, 5] {
        let mut worker = worker(1, 50);
        let task = worker.handle().submit(move |machine: &Rc<Machine>| {
            let machine = machine.clone();
            async move {
                let (turn, mut told) = (Turn::default(), 0);
                for _ in 0..50_000 {
                    machine.compute(1);
                    if turn.spend(1) {
                        told += 1;
                        if told % (unheeded + 1) == 0 {
                            yield_now().await;
                        }
                    }
                }
                told
            }
        });
        let told = worker.run_until(task).unwrap();
        assert!(told > 300 * (unheeded + 1), "{told}");
        let long = worker.local().long.borrow();
        assert!(long.is_empty(), "{unheeded}: {long:?}");
    }
}

#[test]
fn a_turn_ends_by_time_however_long_a_unit_takes() {
    for unit in [1, 7, 40, 150] {
        let mut worker = worker(1, 50);
        let task = worker.handle().submit(move |machine: &Rc<Machine>| {
            let machine = machine.clone();
            async move {
                let turn = Turn::default();
                for _ in 0..5000 {
                    machine.compute(unit);
                    turn.pause(1).await;
                }
            }
        });
        worker.run_until(task).unwrap();
        // The first step is a guess.
        let long = worker.local().long.borrow();
        assert!(long.len() <= 1, "{unit}: {long:?}");
    }
}

#[test]
fn what_one_task_at_a_time_means_stays_so() {
    let config = WorkerConfig {
        scheduling: Scheduling::Sequential,
        ..WorkerConfig::default()
    };
    let machine = Machine::default();
    let clock = Clock::Manual(machine.now.clone());
    let mut worker = Worker::new(config, Rc::new(machine), clock);
    let first = short(&worker, 100, 100);
    let second = short(&worker, 1, 1);
    let second = worker.run_until(second).unwrap();
    let first = worker.run_until(first).unwrap();
    assert!(first < second);
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    let refused = |config: WorkerConfig| config.validate().unwrap_err();
    let config = WorkerConfig {
        batch_after_us: 0,
        ..WorkerConfig::default()
    };
    assert!(refused(config).starts_with("batch_after_us is 0;"));
    for batch_percent in [0, 100] {
        let config = WorkerConfig {
            batch_percent,
            ..WorkerConfig::default()
        };
        assert!(refused(config).starts_with("batch_percent is "));
    }
    let config = WorkerConfig {
        demand_percent: 0,
        ..WorkerConfig::default()
    };
    assert!(refused(config).starts_with("demand_percent is "));
}
