//! Tasks from other threads: results, panics, cancellation, shutdown, sleep.

use std::{
    cell::Cell,
    future::Future,
    hint::spin_loop,
    pin::pin,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    task::{Context, Poll, Wake, Waker},
    time::{Duration, Instant},
};

use interleave::{
    Clock, FromFn, InFlight, Leaf, Lost, Runtime, Worker, WorkerConfig, WorkerLocal, sleep,
    yield_now,
};

fn config(in_flight: usize) -> WorkerConfig {
    WorkerConfig {
        in_flight: InFlight::Fixed(in_flight),
        ..WorkerConfig::default()
    }
}

fn runtime(workers: usize) -> Runtime<()> {
    Runtime::start("test", workers, false, config(8), |_| Ok(())).unwrap()
}

#[test]
fn results_come_back_to_threads_and_to_runtimes() {
    let runtime = runtime(2);
    let sum: u64 = (0..1000u64)
        .map(|i| {
            runtime.pick().submit(move |_| async move {
                Leaf::new(yield_now()).await;
                i
            })
        })
        .collect::<Vec<_>>()
        .into_iter()
        .map(|handle| handle.wait().unwrap())
        .sum();
    assert_eq!(sum, 499_500);
    let task = runtime.pick().submit(|_| async { 5 });
    assert_eq!(pollster::block_on(task), Ok(5));
}

/// The channel by which results came back freed its memory while the worker was still about to wake the reader, which
/// was gone (issue 87 of the crate oneshot): generated histories, with clients that lose patience, ended in a
/// segmentation fault.
#[test]
fn a_handle_can_be_dropped_while_its_result_arrives() {
    const ROUNDS: u64 = 300_000;
    struct Counted(Arc<AtomicU64>);
    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let runtime = runtime(1);
    let woken = Arc::new(AtomicU64::new(0));
    for round in 0..ROUNDS {
        let mut task = runtime.pick().submit(|_| async { vec![5; 5] });
        // A waker of its own, freed with the channel.
        let waker = Waker::from(Arc::new(Counted(woken.clone())));
        let polled = pin!(&mut task).poll(&mut Context::from_waker(&waker));
        drop(waker);
        for _ in 0..round % 200 {
            spin_loop();
        }
        drop((task, polled));
    }
    let task = runtime.pick().submit(|_| async { 5 });
    assert_eq!(task.wait(), Ok(5));
    assert!(woken.load(Ordering::Relaxed) <= ROUNDS);
}

#[test]
fn a_panicking_task_reports_its_message_and_the_others_go_on() {
    let runtime = runtime(1);
    let gate = Arc::new(AtomicBool::new(false));
    let other = {
        let gate = gate.clone();
        runtime.pick().submit(move |_| async move {
            while !gate.load(Ordering::Relaxed) {
                yield_now().await;
            }
            "done"
        })
    };
    let at_once = runtime.pick().submit(|_| async { panic!("no {}", "luck") });
    let in_leaf = runtime.pick().submit(|_| async {
        Leaf::new(async {
            yield_now().await;
            yield_now().await;
            panic!("leaf")
        })
        .await
    });
    let in_closure = runtime
        .pick()
        .submit(|_| -> std::future::Ready<()> { panic!("closure") });
    assert_eq!(
        at_once.wait(),
        Err::<(), _>(Lost::Panicked("no luck".into()))
    );
    assert_eq!(in_leaf.wait(), Err::<(), _>(Lost::Panicked("leaf".into())));
    assert_eq!(in_closure.wait(), Err(Lost::Panicked("closure".into())));
    gate.store(true, Ordering::Relaxed);
    assert_eq!(other.wait(), Ok("done"));
}

#[test]
fn a_panic_in_the_drop_of_a_panicked_task_is_contained_too() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic!("drop");
            }
        }
    }
    let runtime = runtime(1);
    let cancelled = runtime.pick().submit(|_| async {
        let _bomb = Bomb;
        std::future::pending::<()>().await;
    });
    drop(cancelled);
    assert_eq!(runtime.pick().submit(|_| async { 1 }).wait(), Ok(1));
}

#[test]
fn dropping_a_handle_cancels_its_task() {
    struct Signal(mpsc::Sender<&'static str>);
    impl Drop for Signal {
        fn drop(&mut self) {
            let _ = self.0.send("dropped");
        }
    }
    let runtime = runtime(1);
    let (sender, receiver) = mpsc::channel();
    let (started, has_started) = mpsc::channel();
    let task = runtime.pick().submit(move |_| async move {
        let _signal = Signal(sender);
        started.send(()).unwrap();
        loop {
            yield_now().await;
        }
    });
    has_started.recv().unwrap();
    drop(task);
    assert_eq!(
        receiver.recv_timeout(Duration::from_secs(10)),
        Ok("dropped")
    );
}

#[test]
fn a_detached_task_runs_to_its_end() {
    let runtime = runtime(1);
    let (sender, receiver) = mpsc::channel();
    runtime
        .pick()
        .submit(move |_| async move { sender.send(1).unwrap() })
        .detach();
    assert_eq!(receiver.recv_timeout(Duration::from_secs(10)), Ok(1));
}

#[test]
fn shutting_down_lets_open_tasks_end_and_refuses_new_ones() {
    let runtime = runtime(1);
    let handle = runtime.pick().clone();
    let slow = handle.submit(|_| async {
        sleep(Duration::from_millis(20)).await;
        7
    });
    runtime.shut_down();
    assert_eq!(slow.wait(), Ok(7));
    assert_eq!(handle.submit(|_| async { 1 }).wait(), Err(Lost::Closed));
    assert!(handle.is_closed());
}

#[test]
fn dropping_a_worker_tells_everybody_who_waits() {
    let mut worker = Worker::new(config(4), Rc::new(()), Clock::real());
    let handle = worker.handle();
    let parked = handle.submit(|_| std::future::pending::<()>());
    worker.run_until_idle();
    let queued = handle.submit(|_| async {});
    drop(worker);
    assert_eq!(parked.wait(), Err(Lost::Closed));
    assert_eq!(queued.wait(), Err(Lost::Closed));
}

#[test]
fn a_worker_thread_refuses_to_block_on_a_task() {
    let runtime = runtime(1);
    let handle = runtime.pick().clone();
    let inner = runtime
        .pick()
        .submit(move |_| async move { handle.submit(|_| async { 1 }).wait() });
    assert_eq!(inner.wait(), Ok(Err(Lost::WouldBlockWorker)));
}

#[test]
fn the_calling_thread_can_be_the_worker() {
    let mut worker = Worker::new(config(4), Rc::new(()), Clock::real());
    let task = worker.handle().submit(|_| async {
        sleep(Duration::from_millis(1)).await;
        yield_now().await;
        11
    });
    assert_eq!(worker.run_until(task), Ok(11));
}

#[test]
fn timers_fire_in_order() {
    // The clock is moved by hand: on a slow machine the second task may begin to sleep late.
    let now = Rc::new(std::cell::Cell::new(Duration::ZERO));
    let mut worker = Worker::new(config(4), Rc::new(()), Clock::Manual(now.clone()));
    let log = Arc::new(std::sync::Mutex::new(Vec::new()));
    for ms in [30u64, 10, 20] {
        let log = log.clone();
        worker
            .handle()
            .submit(move |_| async move {
                sleep(Duration::from_millis(ms)).await;
                log.lock().unwrap().push(ms);
            })
            .detach();
    }
    worker.run_until_idle();
    while let Some(next) = worker.step_next_timer() {
        now.set(now.get() + next);
        worker.run_until_idle();
    }
    assert_eq!(*log.lock().unwrap(), [10, 20, 30]);
    assert_eq!(now.get(), Duration::from_millis(30));
}

#[test]
fn an_idle_runtime_sleeps() {
    let runtime = runtime(2);
    runtime.pick().submit(|_| async {}).wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while runtime
        .handles()
        .iter()
        .any(|handle| handle.stats().sleeps == 0)
    {
        assert!(
            Instant::now() < deadline,
            "a worker without work never slept"
        );
        std::thread::yield_now();
    }
}

/// A worker that waited only for a sleep without an end died: its clock overflowed.
#[test]
fn a_worker_sleeps_beside_a_sleep_without_an_end() {
    let runtime = runtime(1);
    let endless = runtime.pick().submit(|_| sleep(Duration::MAX));
    let before = runtime.handles()[0].stats().sleeps;
    let deadline = Instant::now() + Duration::from_secs(10);
    while runtime.handles()[0].stats().sleeps < before + 2 {
        assert!(Instant::now() < deadline, "the worker does not sleep");
        runtime.pick().submit(|_| async {}).wait().unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(endless);
}

#[test]
fn wakes_from_other_threads_are_never_lost() {
    // A rendezvous per step, so that a lost wake hangs the test at once.
    let runtime = runtime(2);
    let (to_peer, from_task) = mpsc::channel::<Waker>();
    let step = Arc::new(AtomicU64::new(0));
    let peer_step = step.clone();
    let peer = std::thread::spawn(move || {
        for waker in from_task {
            peer_step.fetch_add(1, Ordering::Release);
            waker.wake();
        }
    });
    let steps = step.clone();
    let task = runtime.pick().submit(move |_| async move {
        for expected in 1..=20_000u64 {
            let mut sent = false;
            std::future::poll_fn(|context| {
                if !sent {
                    sent = true;
                    to_peer.send(context.waker().clone()).unwrap();
                }
                if steps.load(Ordering::Acquire) >= expected {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
            .await;
        }
    });
    task.wait().unwrap();
    peer.join().unwrap();
    assert_eq!(step.load(Ordering::Relaxed), 20_000);
}

#[test]
fn sources_and_submitted_tasks_share_a_worker() {
    let mut worker = Worker::new(config(4), Rc::new(()), Clock::real());
    let drawn = Rc::new(std::cell::Cell::new(0));
    let count = drawn.clone();
    worker.set_source(FromFn(move |_: &Rc<()>| {
        let count = count.clone();
        (count.get() < 1000).then_some(async move {
            yield_now().await;
            count.set(count.get() + 1);
        })
    }));
    let task = worker.handle().submit(|_| async { 9 });
    assert_eq!(worker.run_until(task), Ok(9));
    worker.run_until_idle();
    assert!(drawn.get() >= 1000);
}

#[test]
fn a_panicking_source_is_dropped_and_the_worker_goes_on() {
    let mut worker = Worker::new(config(4), Rc::new(()), Clock::real());
    let mut left = 3;
    worker.set_source(FromFn(move |_: &Rc<()>| {
        left -= 1;
        assert!(left > 0, "source");
        Some(async { yield_now().await })
    }));
    worker.run_until_idle();
    let task = worker.handle().submit(|_| async { 2 });
    assert_eq!(worker.run_until(task), Ok(2));
}

#[test]
fn a_handle_polled_without_a_worker_is_just_pending() {
    let worker: Worker<()> = Worker::new(config(4), Rc::new(()), Clock::real());
    let mut task = pin!(worker.handle().submit(|_| async {}));
    assert!(
        task.as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
}

/// Tasks that wait for others are a part of what is in flight.
#[test]
fn who_waits_for_others_leaves_less_room() {
    struct Waiting(usize);
    impl WorkerLocal for Waiting {
        fn waiting(&self) -> usize {
            self.0
        }
    }
    for (waiting, hot) in [(0, 8), (3, 5), (8, 1), (15, 1), (16, 0)] {
        let clock = Clock::Manual(Rc::default());
        let mut worker = Worker::new(config(8), Rc::new(Waiting(waiting)), clock);
        worker.set_source(FromFn(|_: &Rc<Waiting>| {
            Some(async {
                loop {
                    yield_now().await;
                }
            })
        }));
        worker.step_intake();
        assert_eq!(worker.step_choices(), hot, "{waiting} wait");
    }
}

/// An idle worker slept with a task in its queue, which had no room because others waited for each other: nothing woke
/// the worker when that task had waited long enough.
#[test]
fn an_idle_worker_begins_the_first_in_the_queue_though_there_is_no_room() {
    struct Waiting;
    impl WorkerLocal for Waiting {
        fn waiting(&self) -> usize {
            2
        }
    }
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut worker = Worker::new(config(1), Rc::new(Waiting), Clock::real());
        let task = worker.handle().submit(|_: &Rc<Waiting>| async {});
        ended.send(worker.run_until(task)).unwrap();
    });
    let result = end.recv_timeout(Duration::from_secs(30));
    result.expect("the task begins").unwrap();
}

/// Slots that were made under a higher bound were used under the lower one as well: a worker that
/// was to run one task at a time ran as many as ever.
#[test]
fn a_bound_on_open_tasks_that_is_lowered_holds() {
    let mut worker = Worker::new(config(8), Rc::new(()), Clock::real());
    let mut most_open = |open_tasks_max: usize| {
        worker.configure(WorkerConfig {
            open_tasks_max,
            ..config(8)
        });
        let (open, most) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let (left, seen) = (Cell::new(64), most.clone());
        worker.set_source(FromFn(move |_: &Rc<()>| {
            let (open, most) = (open.clone(), most.clone());
            let number = left.get();
            left.set(number - 1);
            (number > 0).then_some(async move {
                open.set(open.get() + 1);
                most.set(most.get().max(open.get()));
                // The task is parked, so that others could begin.
                sleep(Duration::from_micros(200)).await;
                open.set(open.get() - 1);
            })
        }));
        worker.run_until_idle();
        seen.get()
    };
    assert!(most_open(1000) > 8);
    assert_eq!(most_open(1), 1);
    assert_eq!(most_open(3), 3);
}
