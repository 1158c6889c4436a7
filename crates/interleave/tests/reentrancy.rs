//! Attempts of a task, in safe code, on its own leaf or on a leaf of another task. Each test tells
//! how the first version of leaf resumption failed.

use std::{
    cell::{Cell, RefCell},
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

use interleave::{
    Clock, FromFn, InFlight, Interleaved, Leaf, Lost, Point, Policy, Worker, WorkerConfig,
};

type Boxed = Pin<Box<dyn Future<Output = ()>>>;
type Shared = Rc<RefCell<Option<Boxed>>>;

fn worker(in_flight: usize) -> Worker<()> {
    let config = WorkerConfig {
        in_flight: InFlight::Fixed(in_flight),
        ..WorkerConfig::default()
    };
    Worker::new(config, Rc::new(()), Clock::real())
}

/// Makes a worker with one task drawn from a source.
fn with_task<F: Future<Output = ()> + 'static>(in_flight: usize, task: F) -> Worker<()> {
    let mut worker = worker(in_flight);
    let mut task = Some(task);
    worker.set_source(FromFn(move |_: &Rc<()>| task.take()));
    worker
}

async fn touch() {
    static WORD: u64 = 7;
    Interleaved::touch(Point::new("test"), &raw const WORD, 8).await;
}

fn fail() {
    panic!("leaf");
}

/// Awaits the shared leaf, locking its cell for each poll alone.
async fn drive(shared: Shared) {
    poll_fn(move |context| {
        let mut leaf = shared.borrow_mut();
        leaf.as_mut().expect("present").as_mut().poll(context)
    })
    .await
}

/// The first version claimed that only unsafe code could reach a leaf from within
/// its body. But a direct resumption does not lock the `RefCell` that an ordinary
/// poll would have found locked: the body polled itself while it ran.
#[test]
fn a_leaf_polled_from_within_its_own_body_panics() {
    let shared: Shared = Rc::default();
    let inside = shared.clone();
    *shared.borrow_mut() = Some(Box::pin(Leaf::new(async move {
        touch().await;
        poll_fn(|context| {
            let mut leaf = inside.borrow_mut();
            let _ = leaf.as_mut().expect("present").as_mut().poll(context);
            Poll::Ready(())
        })
        .await;
    })));
    let mut worker = worker(2);
    let unsend = Cell::new(Some(drive(shared)));
    let (sender, receiver) = std::sync::mpsc::channel();
    worker.set_source(FromFn(move |_: &Rc<()>| {
        let task = unsend.take()?;
        let sender = sender.clone();
        Some(async move {
            let caught = CatchUnwind(Box::pin(task)).await;
            sender.send(caught.unwrap_err()).unwrap();
        })
    }));
    worker.run_until_idle();
    assert_eq!(
        receiver.try_recv().as_deref(),
        Ok("a leaf was polled from within its own body")
    );
}

/// A direct resumption also led to a freed leaf under a running body. Nothing but ending the
/// process keeps a `Box` from being freed once its content has been dropped.
#[cfg(all(unix, not(miri)))] // Runs itself as a second process.
#[test]
fn a_leaf_dropped_from_within_its_own_body_aborts_the_process() {
    const NAME: &str = "a_leaf_dropped_from_within_its_own_body_aborts_the_process";
    if std::env::args().any(|argument| argument == "--nocapture")
        && std::env::var_os("INTERLEAVE_ABORTS").is_some()
    {
        let shared: Shared = Rc::default();
        let inside = shared.clone();
        *shared.borrow_mut() = Some(Box::pin(Leaf::new(async move {
            touch().await;
            *inside.borrow_mut() = None;
        })));
        with_task(2, drive(shared)).run_until_idle();
        return; // Not reached; success would be noticed.
    }
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([NAME, "--exact", "--nocapture"])
        .env("INTERLEAVE_ABORTS", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        std::os::unix::process::ExitStatusExt::signal(&output.status).is_some(),
        "{:?}",
        output.status
    );
    assert!(
        said.contains("a leaf was dropped from within its own body"),
        "{said}"
    );
}

/// A leaf armed in a slot of one worker, then polled by a task of another, whose
/// body runs the first worker: that worker resumed the leaf it still held armed,
/// while its body was running.
#[test]
fn a_worker_run_from_within_a_leaf_cannot_resume_that_leaf() {
    let shared: Shared = Rc::default();
    let inner: Rc<RefCell<Option<Worker<()>>>> = Rc::default();
    let (body_inner, depth) = (inner.clone(), Rc::new(Cell::new(0)));
    let body_depth = depth.clone();
    *shared.borrow_mut() = Some(Box::pin(Leaf::new(async move {
        loop {
            assert_eq!(body_depth.replace(1), 0, "the body runs twice at once");
            if let Ok(mut inner) = body_inner.try_borrow_mut()
                && let Some(inner) = inner.as_mut()
                && inner.step_choices() > 0
            {
                inner.step(0);
            }
            body_depth.set(0);
            touch().await;
        }
    })));
    // Armed in the inner worker: the leaf alone waits after this first step.
    let armed = shared.clone();
    let mut first = with_task(2, async move {
        poll_fn(|context| {
            let mut leaf = armed.borrow_mut();
            assert!(leaf.as_mut().unwrap().as_mut().poll(context).is_pending());
            Poll::<()>::Pending
        })
        .await;
    });
    first.admit();
    first.step(0);
    *inner.borrow_mut() = Some(first);
    let mut outer = with_task(2, drive(shared.clone()));
    outer.admit();
    for _ in 0..5 {
        outer.step(0);
    }
    assert_eq!(depth.get(), 0);
    drop(outer);
    inner.borrow_mut().take();
    shared.borrow_mut().take();
}

/// A slot kept what its last task had armed when that task ended with the leaf
/// alive elsewhere. The slot's next task was then not polled for as long as the
/// stranger went on, here for ever.
#[test]
fn a_leaf_left_behind_by_one_task_is_not_resumed_in_the_next() {
    for ending in ["finished", "panicked", "cancelled"] {
        let shared: Shared = Rc::default();
        *shared.borrow_mut() = Some(Box::pin(Leaf::new(async {
            loop {
                touch().await;
            }
        })));
        // Submitted tasks are `Send`; the shared leaf is handed over by hand.
        thread_local! { static SHARED: RefCell<Option<Shared>> = const { RefCell::new(None) } }
        SHARED.set(Some(shared.clone()));
        let mut worker = worker(2);
        let first = worker.handle().submit(move |_| {
            let shared = SHARED.take().unwrap();
            poll_fn(move |context| {
                let mut leaf = shared.borrow_mut();
                let _ = leaf.as_mut().unwrap().as_mut().poll(context);
                assert!(ending != "panicked", "as told");
                if ending == "finished" {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
        });
        worker.receive();
        worker.admit();
        worker.step(0);
        drop(first);
        worker.receive();
        let next = worker.handle().submit(|_| async { 3 });
        worker.receive();
        worker.admit();
        for _ in 0..3 {
            if worker.step_choices() > 0 {
                worker.step(0);
            }
        }
        assert_eq!(worker.step_choices(), 0, "{ending}: the next task hangs");
        assert_eq!(worker.run_until(next), Ok(3));
        drop(shared.borrow_mut().take());
    }
}

/// Catches panics of what it wraps, like the combinator of the futures crate.
struct CatchUnwind<F>(Pin<Box<F>>);

impl<F: Future> Future for CatchUnwind<F> {
    type Output = Result<F::Output, String>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context))) {
            Ok(polled) => polled.map(Ok),
            Err(payload) => Poll::Ready(Err((*payload.downcast::<&str>().unwrap()).to_owned())),
        }
    }
}

/// A direct resumption went past the code that would have caught the panic: the task survived when
/// its leaf panicked at once, and died when it did so later.
#[test]
fn a_leafs_panic_reaches_those_above_it_whenever_it_happens() {
    for touches in 0..3 {
        let mut worker = worker(2);
        let task = worker.handle().submit(move |_| async move {
            let caught = CatchUnwind(Box::pin(async {
                Leaf::new(async {
                    for _ in 0..touches {
                        touch().await;
                    }
                    fail();
                })
                .await
            }))
            .await;
            touch().await;
            caught
        });
        assert_eq!(worker.run_until(task), Ok(Err("leaf".to_owned())));
        worker.run_until_idle();
        assert_eq!(worker.handle().stats().tasks_panicked, 0);
    }
}

/// The panic waits in the slot for its leaf; the leaf is dropped instead of polled
/// when its task is cancelled. A later leaf at the same address must not get it.
#[test]
fn a_leafs_panic_goes_with_the_leaf() {
    let mut worker = worker(2);
    let handle = worker.handle();
    let fails = |_: &Rc<()>| {
        Leaf::new(async {
            touch().await;
            fail();
        })
    };
    for _ in 0..3 {
        let task = handle.submit(move |local| fails(local));
        worker.receive();
        worker.admit();
        worker.step(0);
        worker.step(0); // Panics; its root would be polled next.
        drop(task);
        worker.receive();
        assert_eq!(worker.step_choices(), 0);
        let next = handle.submit(|_| Leaf::new(touch()));
        assert_eq!(worker.run_until(next), Ok(()));
    }
    let task = handle.submit(move |local| fails(local));
    assert_eq!(worker.run_until(task), Err(Lost::Panicked("leaf".into())));
}

/// Two leaves inside a third: the third alone waits, as seen from the root, so it
/// is resumed directly instead of the root being polled.
#[test]
fn a_leaf_around_a_join_of_leaves_is_resumed_itself() {
    let polls = Rc::new(Cell::new(0));
    let count = polls.clone();
    with_task(2, async move {
        let mut work = Box::pin(Leaf::new(async {
            let (mut a, mut b) = (
                Box::pin(Leaf::new(async {
                    touch().await;
                    touch().await;
                })),
                Box::pin(Leaf::new(touch())),
            );
            let (mut a_done, mut b_done) = (false, false);
            poll_fn(|context| {
                a_done = a_done || a.as_mut().poll(context).is_ready();
                b_done = b_done || b.as_mut().poll(context).is_ready();
                if a_done && b_done {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
            .await;
        }));
        poll_fn(|context| {
            count.set(count.get() + 1);
            work.as_mut().poll(context)
        })
        .await;
    })
    .run_until_idle();
    assert_eq!(polls.get(), 2);
}

/// A panic below a leaf used to leave the note "nothing else waits for memory" behind, whatever had
/// been noted before. With the panic caught, a leaf was then resumed alone beside a touch that the
/// scheduler did not come back to.
#[test]
fn a_caught_panic_does_not_hide_another_wait() {
    let done = Rc::new(Cell::new(false));
    let flag = done.clone();
    let mut worker = with_task(2, async move {
        let mut bare = Box::pin(touch());
        let mut failing = Some(CatchUnwind(Box::pin(Leaf::new(async {
            panic!("at once")
        }))));
        let mut endless = Box::pin(Leaf::new(async {
            loop {
                touch().await;
            }
        }));
        poll_fn(|context| {
            let waits = bare.as_mut().poll(context).is_pending();
            if let Some(mut failing) = failing.take() {
                let _: Poll<Result<(), _>> = Pin::new(&mut failing).poll(context);
            }
            if waits {
                let _: Poll<()> = endless.as_mut().poll(context);
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
        flag.set(true);
    });
    worker.admit();
    for _ in 0..4 {
        if worker.step_choices() > 0 {
            worker.step(0);
        }
    }
    assert!(done.get());
}
