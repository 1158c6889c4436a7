//! Benchmark of the cost of one switch, which shows that nesting adds nothing to it.
//!
//! A task runs operations of ten or of a hundred touches at the bottom of 1, 5 or 20 nested `async fn` levels; sixteen
//! such tasks take turns. All memory is in the cache, so that only two costs are seen: switching, and entering and
//! leaving the levels once per operation, which the longer operations spread. The rows compare direct resumption (a
//! leaf around each operation), polling from the root (no leaf), and both with every level boxed behind `dyn Future`,
//! which the compiler cannot flatten.
//!
//! `cargo bench -p interleave --bench switch`; otherwise it runs tiny, as a test.

#![allow(clippy::print_stdout, reason = "a program that reports to people")]

use std::{
    cell::Cell,
    future::Future,
    pin::Pin,
    rc::Rc,
    time::{Duration, Instant},
};

use interleave::{Clock, FromFn, InFlight, Interleaved, Leaf, Point, Policy, Worker, WorkerConfig};

const IN_FLIGHT: usize = 16;
const TOUCHES: [u64; 2] = [10, 100];
const DEPTHS: [usize; 3] = [1, 5, 20];

static LINES: [u64; 512] = [1; 512];

/// Does one operation: dependent reads.
async fn operation(seed: u64, touches: u64) -> u64 {
    let mut sum = seed;
    for _ in 0..touches {
        let line = &LINES[sum as usize % LINES.len()];
        Interleaved::touch(Point::new("line"), line, 8).await;
        sum = sum.wrapping_add(*line);
    }
    sum
}

/// Work at the bottom of the levels.
trait Work: 'static {
    fn run(self, seed: u64, touches: u64) -> impl Future<Output = u64> + 'static;
}

struct WithLeaf;
struct WithoutLeaf;
struct Level<W>(W);
struct Boxed<W>(W);

impl Work for WithLeaf {
    async fn run(self, seed: u64, touches: u64) -> u64 {
        Leaf::new(operation(seed, touches)).await
    }
}

impl Work for WithoutLeaf {
    async fn run(self, seed: u64, touches: u64) -> u64 {
        operation(seed, touches).await
    }
}

impl<W: Work> Work for Level<W> {
    async fn run(self, seed: u64, touches: u64) -> u64 {
        // Something that lives across the wait, as application code has.
        let mine = std::hint::black_box(seed);
        self.0.run(seed, touches).await.wrapping_add(mine)
    }
}

impl<W: Work> Work for Boxed<W> {
    async fn run(self, seed: u64, touches: u64) -> u64 {
        let mine = std::hint::black_box(seed);
        let inner: Pin<Box<dyn Future<Output = u64>>> = Box::pin(self.0.run(seed, touches));
        inner.await.wrapping_add(mine)
    }
}

type Five<W> = Level<Level<Level<Level<Level<W>>>>>;
type FiveBoxed<W> = Boxed<Boxed<Boxed<Boxed<Boxed<W>>>>>;

fn five<W>(work: W) -> Five<W> {
    Level(Level(Level(Level(Level(work)))))
}

fn five_boxed<W>(work: W) -> FiveBoxed<W> {
    Boxed(Boxed(Boxed(Boxed(Boxed(work)))))
}

/// Returns the nanoseconds per switch. Checks the sum, to which each level adds the seed.
fn measure<W: Work>(make: fn() -> W, depth: usize, operations: u64, touches: u64) -> f64 {
    let config = WorkerConfig {
        in_flight: InFlight::Fixed(IN_FLIGHT),
        ..WorkerConfig::default()
    };
    let mut worker = Worker::new(config, Rc::new(()), Clock::real());
    let sum = Rc::new(Cell::new(0u64));
    let (total, mut begun) = (sum.clone(), 0);
    worker.set_source(FromFn(move |_: &Rc<()>| {
        begun += 1;
        let sum = total.clone();
        (begun <= IN_FLIGHT).then_some(async move {
            for seed in 0..operations {
                let value = make().run(seed, touches).await;
                sum.set(sum.get().wrapping_add(value));
            }
        })
    }));
    let start = Instant::now();
    worker.run_until_idle();
    let elapsed = start.elapsed();
    let tasks = IN_FLIGHT as u64;
    let seeds = operations * (operations - 1) / 2 * (depth as u64 + 1);
    assert_eq!(sum.get(), tasks * (seeds + operations * touches));
    let switches = worker.handle().stats().waits_memory;
    assert_eq!(switches, tasks * operations * touches);
    elapsed.as_nanos() as f64 / switches as f64
}

type Measure = Box<dyn Fn(u64, u64) -> f64>;

/// Returns a row per way of running, a column per depth.
fn rows() -> Vec<(&'static str, [Measure; 3])> {
    fn at<W: Work>(make: fn() -> W, depth: usize) -> Measure {
        Box::new(move |operations, touches| measure(make, depth, operations, touches))
    }
    let [one, few, many] = DEPTHS;
    vec![
        (
            "leaf",
            [
                at(|| Level(WithLeaf), one),
                at(|| five(WithLeaf), few),
                at(|| five(five(five(five(WithLeaf)))), many),
            ],
        ),
        (
            "root",
            [
                at(|| Level(WithoutLeaf), one),
                at(|| five(WithoutLeaf), few),
                at(|| five(five(five(five(WithoutLeaf)))), many),
            ],
        ),
        (
            "leaf, boxed levels",
            [
                at(|| Boxed(WithLeaf), one),
                at(|| five_boxed(WithLeaf), few),
                at(
                    || five_boxed(five_boxed(five_boxed(five_boxed(WithLeaf)))),
                    many,
                ),
            ],
        ),
        (
            "root, boxed levels",
            [
                at(|| Boxed(WithoutLeaf), one),
                at(|| five_boxed(WithoutLeaf), few),
                at(
                    || five_boxed(five_boxed(five_boxed(five_boxed(WithoutLeaf)))),
                    many,
                ),
            ],
        ),
    ]
}

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (operations, least) = if full {
        (2_000, Duration::from_millis(60))
    } else {
        (100, Duration::ZERO)
    };
    for touches in TOUCHES {
        println!("nanoseconds per switch, {touches} touches per operation, at depth");
        let [one, few, many] = DEPTHS;
        println!("{:20} {one:>8} {few:>8} {many:>8}", "");
        for (name, measures) in rows() {
            let best = measures.map(|measure| {
                let operations = (operations / touches).max(2);
                // The least of several measurements: interruptions only add time.
                let (start, mut best) = (Instant::now(), measure(operations, touches));
                while start.elapsed() < least {
                    best = best.min(measure(operations, touches));
                }
                best
            });
            println!("{name:20} {:8.1} {:8.1} {:8.1}", best[0], best[1], best[2]);
        }
    }
}
