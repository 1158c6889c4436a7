//! An observed task is resumed from its observer each time, and every other task as ever.

use std::{
    cell::RefCell,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use interleave::{
    Clock, InFlight, Interleaved, JoinHandle, Leaf, Observed, Point, Policy, Wait, Worker,
    WorkerConfig, note_wait, noted_wait, noting, sleep, yield_now,
};

fn worker(in_flight: usize) -> Worker<()> {
    let config = WorkerConfig {
        in_flight: InFlight::Fixed(in_flight),
        ..WorkerConfig::default()
    };
    Worker::new(config, Rc::new(()), Clock::real())
}

async fn touch() {
    static WORD: u64 = 7;
    Interleaved::touch(Point::new("test"), &raw const WORD, 8).await;
}

/// Log of a watched future's polls: the wait that each noted, or the end.
type Log = Rc<RefCell<Vec<Option<Wait>>>>;

/// A future that logs the result of each of its polls.
struct Watched<F> {
    inner: F,
    log: Log,
}

impl<F: Future> Future for Watched<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let log = self.log.clone();
        // SAFETY: `inner` is structurally pinned: never moved, no Drop.
        let inner = unsafe { self.map_unchecked_mut(|this| &mut this.inner) };
        let polled = inner.poll(context);
        log.borrow_mut().push(polled.is_pending().then(noted_wait));
        polled
    }
}

/// Leaves within leaves, one after the other, with waits of several kinds.
async fn body(log: Log) -> u64 {
    let inner = async {
        let mut sum = 0;
        for number in 0..5 {
            touch().await;
            sum += Leaf::new(async {
                touch().await;
                touch().await;
                number
            })
            .await;
        }
        yield_now().await;
        sum
    };
    let watched = Watched {
        inner: Leaf::new(inner),
        log,
    };
    watched.await + Leaf::new(async { 100 }).await
}

fn submit<F: Future<Output = u64> + 'static>(
    worker: &Worker<()>,
    make: impl FnOnce() -> F + Send + 'static,
) -> JoinHandle<u64, ()> {
    worker.handle().submit(move |_| make())
}

thread_local! {
    static LOGS: RefCell<Vec<(u32, Log)>> = RefCell::default();
}

/// Returns the log with this number, of this thread.
fn log(number: u32) -> Log {
    LOGS.with_borrow_mut(|logs| {
        if let Some((_, log)) = logs.iter().find(|(known, _)| *known == number) {
            return log.clone();
        }
        let log = Log::default();
        logs.push((number, log.clone()));
        log
    })
}

#[test]
fn an_observer_sees_each_wait_and_its_kind_and_the_answer_is_the_same() {
    let mut worker = worker(4);
    let observed = submit(&worker, || async {
        Observed::new(pin!(body(log(0)))).await
    });
    let beside = submit(&worker, || body(log(1)));
    assert_eq!(worker.run_until(observed), Ok(110));
    assert_eq!(worker.run_until(beside), Ok(110));
    let mut seen = vec![Some(Wait::Memory); 15];
    seen.extend([Some(Wait::Turn), None]);
    assert_eq!(*log(0).borrow(), seen);
    // A task that is not observed goes on as ever: its leaf is resumed past the watcher.
    assert_eq!(*log(1).borrow(), [Some(Wait::Memory), None]);
    assert_eq!(worker.handle().stats().waits_memory, 2 * 16);
}

#[test]
fn a_leaf_around_an_observer_is_still_resumed_directly() {
    let mut worker = worker(4);
    let task = submit(&worker, || Watched {
        inner: Leaf::new(async {
            let mut within = pin!(body(log(1)));
            Observed::new(within.as_mut()).await
        }),
        log: log(0),
    });
    assert_eq!(worker.run_until(task), Ok(110));
    assert_eq!(*log(0).borrow(), [Some(Wait::Memory), None]);
    assert_eq!(log(1).borrow().len(), 17);
}

#[test]
fn an_observed_leaf_beside_another_wait_is_resumed_through_both() {
    let mut worker = worker(4);
    let task = submit(&worker, || async {
        let mut observed = pin!(Observed::new(Box::pin(body(log(0)))));
        let mut other = pin!(Leaf::new(async {
            for _ in 0..30 {
                touch().await;
            }
            7
        }));
        let (mut first, mut second) = (None, None);
        poll_fn(|context| {
            if first.is_none()
                && let Poll::Ready(value) = observed.as_mut().poll(context)
            {
                first = Some(value);
            }
            if second.is_none()
                && let Poll::Ready(value) = other.as_mut().poll(context)
            {
                second = Some(value);
            }
            match (first, second) {
                (Some(first), Some(second)) => Poll::Ready(first + second),
                _ => Poll::Pending,
            }
        })
        .await
    });
    assert_eq!(worker.run_until(task), Ok(117));
    assert_eq!(log(0).borrow().len(), 17);
}

/// Waits until another task has had a turn; its waker is called then.
async fn event() {
    let mut is_over = false;
    poll_fn(|context| {
        if std::mem::replace(&mut is_over, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[test]
fn kinds_of_events_are_told_and_counted() {
    // With one task in flight nothing waits for memory; a turn is given all the same.
    for in_flight in [1, 4] {
        let mut worker = worker(in_flight);
        let number = in_flight as u32;
        let task = submit(&worker, move || async move {
            let inner = Leaf::new(async {
                event().await;
                for wait in [Wait::Lock, Wait::Log, Wait::Log, Wait::Client, Wait::Device] {
                    noting(wait, pin!(event())).await;
                }
                // Only a touch waits for memory.
                noting(Wait::Memory, pin!(event())).await;
                yield_now().await;
                sleep(Duration::from_micros(1)).await;
                // The last of the kinds counts, in whatever order they are noted.
                note_wait(Wait::Device);
                note_wait(Wait::Lock);
                event().await;
                3
            });
            let watched = Watched {
                inner,
                log: log(number),
            };
            Observed::new(pin!(watched)).await
        });
        assert_eq!(worker.run_until(task), Ok(3));
        let kinds: Vec<Wait> = log(number).borrow().iter().copied().flatten().collect();
        assert_eq!(
            kinds,
            [
                Wait::Event,
                Wait::Lock,
                Wait::Log,
                Wait::Log,
                Wait::Client,
                Wait::Device,
                Wait::Event,
                Wait::Turn,
                Wait::Event,
                Wait::Device,
            ],
            "{in_flight} in flight"
        );
        let stats = worker.handle().stats();
        assert_eq!(stats.waits_memory, 1);
        assert_eq!(stats.waits_device, 2);
        assert_eq!(stats.waits_event, 7);
        let parts = (stats.waits_lock, stats.waits_log, stats.waits_client);
        assert_eq!(parts, (1, 2, 1));
    }
    assert_eq!(noted_wait(), Wait::Event, "outside a worker");
}

#[test]
fn a_panic_in_an_observed_leaf_comes_out_where_it_is_awaited() {
    let mut worker = worker(4);
    let caught = submit(&worker, || async {
        let leaf = Leaf::new(async {
            touch().await;
            touch().await;
            panic!("within");
        });
        let mut observed = pin!(Observed::new(Box::pin(leaf)));
        let caught = poll_fn(|context| {
            let poll = AssertUnwindSafe(|| observed.as_mut().poll(context).map(|()| 0));
            match catch_unwind(poll) {
                Ok(polled) => polled,
                Err(_) => Poll::Ready(5),
            }
        })
        .await;
        // The task goes on as any task, with leaves that are resumed directly.
        Leaf::new(touch()).await;
        caught
    });
    let ended = submit(&worker, || async {
        let leaf = Leaf::new(async {
            touch().await;
            panic!("within");
        });
        Observed::new(Box::pin(leaf)).await
    });
    let beside = submit(&worker, || body(log(9)));
    assert_eq!(worker.run_until(caught), Ok(5));
    assert!(worker.run_until(ended).is_err());
    assert_eq!(worker.run_until(beside), Ok(110));
    assert_eq!(worker.handle().stats().tasks_panicked, 1);
}

#[test]
fn an_observed_task_may_be_cancelled_while_it_waits() {
    let mut worker = worker(4);
    let task: JoinHandle<u64, ()> = submit(&worker, || async {
        Observed::new(Box::pin(Leaf::new(async {
            loop {
                touch().await;
            }
        })))
        .await
    });
    let beside = submit(&worker, || body(log(0)));
    assert_eq!(worker.run_until(beside), Ok(110));
    drop(task);
    worker.run_until_idle();
    assert_eq!(worker.handle().stats().tasks_cancelled, 1);
}

#[test]
fn outside_a_worker_an_observer_changes_nothing() {
    let mut observed = pin!(Observed::new(Box::pin(body(log(0)))));
    let mut context = Context::from_waker(Waker::noop());
    let polled = observed.as_mut().poll(&mut context);
    assert_eq!(polled, Poll::Ready(110));
}
