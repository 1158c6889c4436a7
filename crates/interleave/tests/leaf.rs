//! Leaf resumption is indistinguishable from polling the root, except in speed.

use std::{
    cell::{Cell, RefCell},
    future::Future,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use interleave::{
    Clock, FromFn, InFlight, Interleaved, Leaf, Point, Policy, Scheduling, Worker, WorkerConfig,
    sleep, yield_now,
};

fn worker(in_flight: usize) -> Worker<()> {
    let config = WorkerConfig {
        in_flight: InFlight::Fixed(in_flight),
        ..WorkerConfig::default()
    };
    Worker::new(config, Rc::new(()), Clock::real())
}

/// Runs the futures that `make` returns for 0..count, interleaved.
fn run<F: Future<Output = ()> + 'static>(
    in_flight: usize,
    count: usize,
    make: impl Fn(usize) -> F + 'static,
) -> u64 {
    let mut worker = worker(in_flight);
    let next = Cell::new(0);
    worker.set_source(FromFn(move |_: &Rc<()>| {
        let number = next.replace(next.get() + 1);
        (number < count).then(|| make(number))
    }));
    worker.run_until_idle();
    worker.handle().stats().waits_memory
}

async fn touch() {
    static WORD: u64 = 7;
    Interleaved::touch(Point::new("test"), &raw const WORD, 8).await;
}

/// Counts how often it is polled through.
struct Counted<F> {
    inner: F,
    polls: Rc<Cell<u32>>,
}

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.polls.set(self.polls.get() + 1);
        // SAFETY: `inner` is structurally pinned: never moved, no Drop.
        unsafe { self.map_unchecked_mut(|this| &mut this.inner) }.poll(context)
    }
}

#[test]
fn levels_above_a_leaf_are_polled_twice_however_often_it_suspends() {
    let polls = Rc::new(Cell::new(0));
    let seen = polls.clone();
    let waits = run(4, 1, move |_| {
        let polls = seen.clone();
        Counted {
            polls,
            inner: async {
                let sum = Leaf::new(async {
                    let mut sum = 0;
                    for i in 0..50 {
                        touch().await;
                        sum += i;
                    }
                    sum
                })
                .await;
                assert_eq!(sum, 1225);
            },
        }
    });
    assert_eq!((waits, polls.get()), (50, 2));
}

#[test]
fn slots_take_turns() {
    let order = Rc::new(RefCell::new(Vec::new()));
    let log = order.clone();
    run(3, 3, move |number| {
        let log = log.clone();
        async move {
            for _ in 0..3 {
                log.borrow_mut().push(number);
                Leaf::new(touch()).await;
            }
        }
    });
    assert_eq!(*order.borrow(), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
}

#[test]
fn a_single_slot_in_flight_does_not_suspend() {
    assert_eq!(run(1, 5, |_| async { Leaf::new(touch()).await }), 0);
}

/// Joins two futures, written by hand: polls both until both are ready.
async fn join<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (Box::pin(a), Box::pin(b));
    let (mut x, mut y) = (None, None);
    std::future::poll_fn(move |context| {
        if x.is_none()
            && let Poll::Ready(value) = a.as_mut().poll(context)
        {
            x = Some(value);
        }
        if y.is_none()
            && let Poll::Ready(value) = b.as_mut().poll(context)
        {
            y = Some(value);
        }
        if x.is_some() && y.is_some() {
            Poll::Ready((x.take().unwrap(), y.take().unwrap()))
        } else {
            Poll::Pending
        }
    })
    .await
}

#[test]
fn two_leaves_under_a_join_both_make_progress() {
    let done = Rc::new(Cell::new(0));
    let count = done.clone();
    run(4, 8, move |number| {
        let count = count.clone();
        async move {
            let long = Leaf::new(async {
                for _ in 0..10 {
                    touch().await;
                }
                10
            });
            let short = Leaf::new(async {
                touch().await;
                number
            });
            assert_eq!(join(long, short).await, (10, number));
            // A leaf beside a bare touch, and a leaf beside an event.
            join(Leaf::new(touch()), touch()).await;
            join(Leaf::new(touch()), sleep(Duration::from_micros(50))).await;
            count.set(count.get() + 1);
        }
    });
    assert_eq!(done.get(), 8);
}

#[test]
fn a_leaf_left_behind_while_another_wait_goes_on_is_harmless() {
    let done = Rc::new(Cell::new(false));
    let flag = done.clone();
    run(2, 1, move |_| {
        let flag = flag.clone();
        async move {
            let mut abandoned = Box::pin(Leaf::new(async {
                touch().await;
                touch().await;
                5
            }));
            // The leaf was polled once, hence is armed; then the task waits for other things.
            std::future::poll_fn(|context| {
                assert!(abandoned.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
            touch().await;
            sleep(Duration::from_micros(10)).await;
            Leaf::new(touch()).await;
            assert_eq!(abandoned.await, 5);
            flag.set(true);
        }
    });
    assert!(done.get());
}

#[test]
fn a_leaf_dropped_in_mid_flight_is_not_resumed() {
    let done = Rc::new(Cell::new(false));
    let flag = done.clone();
    run(2, 1, move |_| {
        let flag = flag.clone();
        async move {
            let mut leaf = Some(Box::pin(Leaf::new(async {
                loop {
                    touch().await;
                }
            })));
            let mut rounds = 0;
            std::future::poll_fn(move |context| {
                rounds += 1;
                let pending = leaf
                    .as_mut()
                    .is_some_and(|leaf| leaf.as_mut().poll(context).is_pending());
                if rounds == 1 {
                    assert!(pending);
                    // Dropped while armed, in the poll that armed it.
                    leaf = None;
                    context.waker().wake_by_ref();
                    return Poll::<()>::Pending;
                }
                Poll::Ready(())
            })
            .await;
            flag.set(true);
        }
    });
    assert!(done.get());
}

#[test]
fn a_leaf_that_outlives_its_worker_is_dropped_safely() {
    type Boxed = Pin<Box<dyn Future<Output = ()>>>;
    let smuggled: Rc<RefCell<Option<Boxed>>> = Rc::default();
    let inside = smuggled.clone();
    let mut worker = worker(2);
    let mut once = Some(());
    worker.set_source(FromFn(move |_: &Rc<()>| {
        let inside = inside.clone();
        once.take().map(|()| async move {
            let mut leaf: Boxed = Box::pin(Leaf::new(async {
                loop {
                    touch().await;
                }
            }));
            std::future::poll_fn(|context| {
                assert!(leaf.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
            *inside.borrow_mut() = Some(leaf);
            std::future::pending::<()>().await;
        })
    }));
    worker.admit();
    worker.step(0);
    drop(worker);
    let leaf = smuggled.borrow_mut().take();
    assert!(leaf.is_some());
    drop(leaf);
}

#[test]
fn under_a_foreign_waker_a_touch_does_not_wait() {
    // A foreign waker, as under `FuturesUnordered`, is called by no worker.
    let done = Rc::new(Cell::new(false));
    let flag = done.clone();
    run(2, 1, move |_| {
        let flag = flag.clone();
        async move {
            let mut leaf = Box::pin(Leaf::new(touch()));
            let mut foreign = Context::from_waker(Waker::noop());
            flag.set(leaf.as_mut().poll(&mut foreign).is_ready());
        }
    });
    assert!(done.get());
}

#[test]
fn outside_a_worker_a_leaf_runs_through() {
    assert_eq!(
        interleave::run_inline(Leaf::new(async {
            touch().await;
            yield_now().await;
            3
        })),
        3
    );
}

#[test]
fn a_strict_batch_starts_nothing_before_its_last_task_has_ended() {
    let config = WorkerConfig {
        in_flight: InFlight::Fixed(3),
        scheduling: Scheduling::StrictBatch,
        ..WorkerConfig::default()
    };
    let mut worker = Worker::new(config, Rc::new(()), Clock::real());
    let log = Rc::new(RefCell::new(Vec::new()));
    let (tasks, next) = (log.clone(), Cell::new(0));
    worker.set_source(FromFn(move |_: &Rc<()>| {
        let number = next.replace(next.get() + 1);
        let log = tasks.clone();
        (number < 6).then_some(async move {
            log.borrow_mut().push(('b', number));
            for _ in 0..number * 2 {
                touch().await;
            }
            log.borrow_mut().push(('e', number));
        })
    }));
    worker.run_until_idle();
    let log = log.borrow();
    let fourth = log.iter().position(|&entry| entry == ('b', 3)).unwrap();
    for number in 0..3 {
        assert!(
            log.iter()
                .position(|&entry| entry == ('e', number))
                .unwrap()
                < fourth
        );
    }
    assert_eq!(log.len(), 12);
}
