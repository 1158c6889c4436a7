//! Foreign code that panics, blocks or sends where it should not: the worker and its other tasks
//! survive, and no caller waits for ever.

use std::{
    cell::{Cell, RefCell},
    future::{Future, pending, poll_fn},
    panic::{catch_unwind, panic_any, resume_unwind},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use interleave::{
    Clock, FromFn, Handle, InFlight, Lost, Place, Runtime, Source, Worker, WorkerConfig, sleep,
    yield_now,
};

fn config(open_tasks_max: usize) -> WorkerConfig {
    WorkerConfig {
        in_flight: InFlight::Fixed(4),
        open_tasks_max,
        ..WorkerConfig::default()
    }
}

fn worker() -> Worker<()> {
    Worker::new(config(64), Rc::new(()), Clock::real())
}

/// Panics when dropped, unless during another panic.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "bomb");
    }
}

/// Cancelling a task that had not begun dropped its closure outside of any
/// containment: the worker's thread died, and with it all other tasks.
#[test]
fn a_queued_task_whose_drop_panics_does_not_kill_the_worker() {
    let mut worker = Worker::new(config(1), Rc::new(()), Clock::real());
    let handle = worker.handle();
    let open = handle.submit(|_| pending::<()>());
    worker.run_until_idle();
    let bomb = Bomb;
    let queued = handle.submit(move |_| async move { drop(bomb) });
    worker.run_until_idle();
    drop(queued); // The worker finds it in the queue.
    worker.run_until_idle();
    drop(open);
    let (late, bomb) = (handle.clone(), Bomb);
    drop(late.submit(move |_| async move { drop(bomb) })); // Cancelled before it arrives.
    let task = handle.submit(|_| async { 1 });
    assert_eq!(worker.run_until(task), Ok(1));
    assert_eq!(handle.open_tasks(), 0);
}

/// Drops of queued tasks panicked out of the worker's own drop, before waiting callers had been
/// told.
#[test]
fn dropping_a_worker_survives_what_its_tasks_own() {
    let mut worker = Worker::new(config(1), Rc::new(()), Clock::real());
    let handle = worker.handle();
    let parked = handle.submit(|_| async {
        let _bomb = Bomb;
        pending::<()>().await;
    });
    worker.run_until_idle();
    let bomb = Bomb;
    let queued = handle.submit(move |_| async move { drop(bomb) });
    worker.receive();
    let bomb = Bomb;
    let sent = handle.submit(move |_| async move { drop(bomb) });
    let bomb = Bomb;
    worker.set_source(FromFn(move |_: &Rc<()>| {
        let _ = &bomb;
        None::<std::future::Ready<()>>
    }));
    drop(worker);
    assert_eq!(parked.wait(), Err(Lost::Closed));
    assert_eq!(queued.wait(), Err(Lost::Closed));
    assert_eq!(sent.wait(), Err(Lost::Closed));
    // Neither a lost task nor a refused one is counted as open for ever.
    assert_eq!(handle.submit(|_| async {}).wait(), Err(Lost::Closed));
    assert_eq!(handle.open_tasks(), 0);
}

/// Orders ran bare; a panic in one ended the worker's thread.
#[test]
fn an_order_that_panics_does_not_kill_the_worker() {
    let runtime = Runtime::start("hostile", 1, false, config(64), |_| Ok(())).unwrap();
    runtime.pick().order(|_| panic!("order"));
    assert_eq!(runtime.pick().submit(|_| async { 1 }).wait(), Ok(1));
}

/// An order that sends itself again kept the worker in its inbox for ever.
#[test]
fn an_order_that_repeats_itself_lets_tasks_run() {
    fn again(handle: Handle<()>, count: Arc<AtomicU32>) {
        let next = handle.clone();
        handle.order(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            again(next, count);
        });
    }
    let mut worker = worker();
    let count = Arc::new(AtomicU32::new(0));
    again(worker.handle(), count.clone());
    let task = worker.handle().submit(|_| async { yield_now().await });
    assert_eq!(worker.run_until(task), Ok(()));
    assert!(count.load(Ordering::Relaxed) > 0);
}

/// An order may run the worker it is given, or exchange it.
#[test]
fn orders_may_do_anything_to_their_worker() {
    let mut worker = worker();
    let handle = worker.handle();
    let waits = handle.submit(|_| async { sleep(Duration::from_micros(100)).await });
    let within = handle.submit(|_| async { 4 });
    let (sender, receiver) = mpsc::channel();
    handle.order(move |worker| sender.send(worker.run_until(within)).unwrap());
    worker.run_until_idle();
    assert_eq!(receiver.recv(), Ok(Ok(4)));
    assert_eq!(worker.run_until(waits), Ok(()));
    let lost = handle.submit(|_| pending::<()>());
    handle.order(|worker| *worker = Worker::new(config(8), Rc::new(()), Clock::real()));
    worker.run_until_idle();
    assert_eq!(lost.wait(), Err(Lost::Closed));
    let task = worker.handle().submit(|_| async { 5 });
    assert_eq!(worker.run_until(task), Ok(5));
}

/// A panic's payload may panic when dropped, with a payload of its own kind. The
/// second was dropped bare.
#[test]
fn a_payload_that_panics_for_ever_is_cut_off() {
    struct Hydra;
    impl Drop for Hydra {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                resume_unwind(Box::new(Hydra));
            }
        }
    }
    let mut worker = worker();
    let task = worker.handle().submit(|_| async { panic_any(Hydra) });
    let lost: Result<(), Lost> = worker.run_until(task);
    assert_eq!(lost, Err(Lost::Panicked("a value that is not text".into())));
}

/// A source could fill its place and panic afterwards; the slot was then returned
/// with a future in it, and the next task met an assertion.
#[test]
fn a_source_that_panics_after_it_has_put_a_task_is_cleaned_up() {
    struct Late(u32);
    impl Source<()> for Late {
        fn next(&mut self, _: &Rc<()>, place: Place<'_>) {
            self.0 += 1;
            place.put(|| async { yield_now().await });
            assert!(self.0 < 6, "late");
        }
    }
    for begins in [0, 5] {
        let mut worker = worker();
        worker.set_source(Late(begins));
        worker.run_until_idle();
        assert_eq!(worker.handle().stats().tasks_panicked, 0);
        let task = worker.handle().submit(|_| async { 6 });
        assert_eq!(worker.run_until(task), Ok(6));
    }
}

/// A completion dropped during *any* unwinding was set aside until its task's panic would be known.
/// Dropped by another panic on another thread, it was never sent, and a caller that waited for the
/// task did so for ever.
#[test]
fn a_worker_dropped_by_an_unwinding_thread_tells_everybody_who_waits() {
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let caught = catch_unwind(|| {
            let mut worker = worker();
            let task = worker.handle().submit(|_| pending::<()>());
            worker.run_until_idle();
            sender.send(task).unwrap();
            panic!("the owner's own fault");
        });
        assert!(caught.is_err());
        // The task is still alive, so that nothing is cleaned up by the thread's end.
        receiver_end(sender);
    });
    fn receiver_end<T>(sender: mpsc::Sender<T>) {
        drop(sender);
        std::thread::park();
    }
    let task = receiver.recv().unwrap();
    assert_eq!(task.wait(), Err(Lost::Closed));
    thread.thread().unpark();
    thread.join().unwrap();
}

/// A panicking task owned another worker; that worker's tasks took the message,
/// and the one that had panicked was reported as closed.
#[test]
fn the_panic_is_reported_to_the_task_that_panicked() {
    thread_local! { static INNER: RefCell<Option<Worker<()>>> = const { RefCell::new(None) } }
    let mut inner = worker();
    let innocent = inner.handle().submit(|_| pending::<()>());
    inner.run_until_idle();
    INNER.set(Some(inner));
    let mut outer = worker();
    let guilty = outer.handle().submit(|_| {
        let inner = INNER.take();
        // A future written by hand drops what it owns after the unwinding.
        poll_fn(move |_| -> Poll<()> {
            let _ = &inner;
            panic!("guilty");
        })
    });
    assert_eq!(
        outer.run_until(guilty),
        Err(Lost::Panicked("guilty".into()))
    );
    assert_eq!(innocent.wait(), Err(Lost::Closed));
}

/// Dropping a worker from outside of its run did not count as being on a worker:
/// a task whose drop waits for another task waited for ever.
#[test]
fn a_drop_that_blocks_on_the_dying_worker_is_refused() {
    struct Blocks(Handle<()>, mpsc::Sender<Result<u32, Lost>>);
    impl Drop for Blocks {
        fn drop(&mut self) {
            let _ = self.1.send(self.0.submit(|_| async { 1 }).wait());
        }
    }
    let (sender, receiver) = mpsc::channel();
    let mut worker = worker();
    let blocks = Blocks(worker.handle(), sender);
    worker
        .handle()
        .submit(move |_| async move {
            let _blocks = blocks;
            pending::<()>().await;
        })
        .detach();
    worker.run_until_idle();
    drop(worker);
    assert!(receiver.recv().unwrap().is_err());
}

/// A task that cancels and submits others while it is dropped works through the
/// inbox; the slots are not touched under the worker's hands.
#[test]
fn a_drop_may_cancel_and_submit() {
    struct Chain(Handle<()>, u32, mpsc::Sender<u32>);
    impl Drop for Chain {
        fn drop(&mut self) {
            self.2.send(self.1).unwrap();
            if self.1 > 0 {
                let next = Chain(self.0.clone(), self.1 - 1, self.2.clone());
                // The handle is dropped at once: submitted and cancelled.
                drop(self.0.submit(move |_| async move {
                    let _next = next;
                    pending::<()>().await;
                }));
            }
        }
    }
    let (sender, receiver) = mpsc::channel();
    let mut worker = worker();
    let first = Chain(worker.handle(), 5, sender);
    let task = worker.handle().submit(move |_| async move {
        let _first = first;
        pending::<()>().await;
    });
    worker.run_until_idle();
    drop(task);
    worker.run_until_idle();
    let seen: Vec<u32> = receiver.try_iter().collect();
    assert_eq!(seen, [5, 4, 3, 2, 1, 0]);
    assert_eq!(worker.handle().open_tasks(), 0);
}

/// The last owner of a runtime may be one of its own tasks; its thread then joined
/// itself.
#[test]
fn a_runtime_dropped_by_its_own_task_ends() {
    let runtime = Arc::new(Runtime::start("hostile", 2, false, config(64), |_| Ok(())).unwrap());
    let handles = runtime.handles().clone();
    let (sender, receiver) = mpsc::channel::<Arc<Runtime<()>>>();
    let task = runtime.handles()[0].submit(move |_| async move {
        let runtime = receiver.recv().unwrap();
        assert_eq!(Arc::strong_count(&runtime), 1);
        drop(runtime);
    });
    sender.send(runtime).unwrap();
    assert_eq!(task.wait(), Ok(()));
    while !handles.iter().all(|handle| handle.is_closed()) {
        std::thread::yield_now();
    }
}

/// `run_until` slept through the end of another worker's task.
#[test]
fn a_worker_can_wait_for_a_task_of_another() {
    let runtime = Runtime::start("hostile", 1, false, config(64), |_| Ok(())).unwrap();
    let mut worker = worker();
    let task = runtime.pick().submit(|_| async {
        sleep(Duration::from_millis(5)).await;
        8
    });
    assert_eq!(worker.run_until(task), Ok(8));
}

/// With every slot parked and more tasks queued, `run_until_idle` spun for ever.
#[test]
fn a_full_worker_is_idle() {
    let mut worker = Worker::new(config(2), Rc::new(()), Clock::real());
    let tasks: Vec<_> = (0..5)
        .map(|_| worker.handle().submit(|_| pending::<()>()))
        .collect();
    worker.run_until_idle();
    drop(tasks);
    worker.run_until_idle();
    assert_eq!(worker.handle().open_tasks(), 0);
}

/// With a clock moved by hand, `run_until_idle` waited in real time for a timer that never became
/// due.
#[test]
fn a_clock_moved_by_hand_is_not_waited_for() {
    let now = Rc::new(Cell::new(Duration::ZERO));
    let mut worker = Worker::new(config(4), Rc::new(()), Clock::Manual(now.clone()));
    let task = worker
        .handle()
        .submit(|_| async { sleep(Duration::from_secs(3600)).await });
    worker.run_until_idle();
    assert_eq!(worker.step_next_timer(), Some(Duration::from_secs(3600)));
    now.set(Duration::from_secs(3600));
    assert_eq!(worker.run_until(task), Ok(()));
}

/// A sleep without end overflowed; one that was given up stayed among the timers
/// until its time had come.
#[test]
fn a_sleep_given_up_leaves_nothing_behind() {
    let mut worker = worker();
    let task = worker.handle().submit(|_| async {
        for duration in [Duration::MAX, Duration::from_secs(3600)] {
            let mut sleep = Box::pin(sleep(duration));
            poll_fn(|context| {
                assert!(sleep.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
        }
    });
    assert_eq!(worker.run_until(task), Ok(()));
    assert_eq!(worker.step_next_timer(), None);
}

/// A combinator that brings its own wakers made a sleep end at once, because the
/// context was not the slot's: time limits under a `join` of many ran out first.
#[test]
fn a_sleep_under_a_foreign_waker_waits() {
    struct Foreign(Waker);
    impl Wake for Foreign {
        fn wake(self: Arc<Self>) {
            self.0.wake_by_ref();
        }
    }
    let mut worker = worker();
    let task = worker.handle().submit(|_| async {
        let mut sleep = Box::pin(sleep(Duration::from_millis(2)));
        let mut polls = 0;
        poll_fn(|context| {
            polls += 1;
            let foreign = Arc::new(Foreign(context.waker().clone())).into();
            sleep
                .as_mut()
                .poll(&mut Context::from_waker(&foreign))
                .map(|()| polls)
        })
        .await
    });
    assert_eq!(worker.run_until(task), Ok(2));
}

/// A configuration out of range made a runtime that never ran anything, or one
/// whose `pick` divided by zero.
#[test]
fn a_runtime_refuses_a_configuration_out_of_range() {
    let error = |workers, config| {
        Runtime::start("hostile", workers, false, config, |_| Ok(()))
            .unwrap_err()
            .kind()
    };
    assert_eq!(error(0, config(8)), std::io::ErrorKind::InvalidInput);
    assert_eq!(error(1, config(0)), std::io::ErrorKind::InvalidInput);
    // A worker made directly takes the nearest that works.
    let mut worker = Worker::new(config(0), Rc::new(()), Clock::real());
    let task = worker.handle().submit(|_| async { 9 });
    assert_eq!(worker.run_until(task), Ok(9));
}

/// A slot's waker may be called long after its task: the next task in that slot
/// is polled once more and must not be harmed.
#[test]
fn a_late_wake_meets_the_slots_next_task() {
    let mut worker = worker();
    let (sender, receiver) = mpsc::channel::<Waker>();
    let first = worker.handle().submit(move |_| {
        poll_fn(move |context| {
            sender.send(context.waker().clone()).unwrap();
            Poll::Ready(())
        })
    });
    assert_eq!(worker.run_until(first), Ok(()));
    let late = receiver.recv().unwrap();
    let polls = Arc::new(AtomicU32::new(0));
    let count = polls.clone();
    let second = worker.handle().submit(move |_| {
        poll_fn(move |_| {
            if count.fetch_add(1, Ordering::Relaxed) < 3 {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        })
    });
    for _ in 0..4 {
        worker.run_until_idle();
        late.wake_by_ref();
        late.wake_by_ref();
    }
    assert_eq!(worker.run_until(second), Ok(()));
    assert_eq!(polls.load(Ordering::Relaxed), 4);
    drop(worker);
    late.wake(); // Into a closed inbox.
}

/// Submitting, waiting, cancelling and waking from many threads at once. Small
/// enough for the thread sanitizer.
#[test]
fn threads_submit_wait_cancel_and_wake_at_once() {
    let (threads, tasks) = if cfg!(miri) { (2, 10) } else { (4, 500) };
    let runtime = Arc::new(Runtime::start("hostile", 2, false, config(16), |_| Ok(())).unwrap());
    let peers: Vec<_> = (0..threads)
        .map(|thread| {
            let runtime = runtime.clone();
            std::thread::spawn(move || {
                for number in 0..tasks {
                    let other = runtime.pick().clone();
                    let task = runtime.pick().submit(move |_| async move {
                        yield_now().await;
                        // The inner task runs on another worker: its end wakes this slot from
                        // there.
                        let inner = other.submit(move |_| async move {
                            yield_now().await;
                            number
                        });
                        // While the runtime ends, the other may already be closed.
                        let value = inner.await.unwrap_or(number);
                        if number % 7 == 0 {
                            sleep(Duration::from_micros(50)).await;
                        }
                        value + thread
                    });
                    match number % 3 {
                        0 => drop(task),
                        1 => task.detach(),
                        _ => assert_eq!(task.wait(), Ok(number + thread)),
                    }
                }
            })
        })
        .collect();
    for peer in peers {
        peer.join().unwrap();
    }
    let runtime = Arc::into_inner(runtime).unwrap();
    let handles = runtime.handles().clone();
    runtime.shut_down();
    assert_eq!(handles.iter().map(Handle::open_tasks).sum::<u64>(), 0);
}
