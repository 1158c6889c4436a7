//! Schedulers, over tasks of which some wait for a device: the order of tasks differs, the results
//! do not.

use std::{
    cell::{Cell, RefCell},
    future::Future,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use interleave::{
    Clock, InFlight, JoinHandle, Scheduling, Wait, Worker, WorkerConfig, WorkerLocal, noting,
    yield_now,
};

/// A device that answers a read after a number of looks since the hand-over.
#[derive(Default)]
struct Device {
    delay: Cell<u64>,
    looks: Cell<u64>,
    /// Begun reads, with the look at which each is answered, once it is handed over.
    reads: RefCell<Vec<Read>>,
    hand_overs: Cell<u64>,
    /// Events in order.
    log: RefCell<Vec<Event>>,
}

struct Read {
    due: Option<u64>,
    waker: Option<Waker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Begins(u64),
    Ends(u64),
    Looks,
}

impl Device {
    fn note(&self, event: Event) {
        self.log.borrow_mut().push(event);
    }

    fn read(self: &Rc<Device>) -> impl Future<Output = ()> + Unpin + use<> {
        let mut reads = self.reads.borrow_mut();
        reads.push(Read {
            due: None,
            waker: None,
        });
        noting(
            Wait::Device,
            Reading {
                device: self.clone(),
                index: reads.len() - 1,
            },
        )
    }

    fn take_over(&self) {
        for read in &mut *self.reads.borrow_mut() {
            read.due.get_or_insert(self.looks.get() + self.delay.get());
        }
    }

    fn under_way(&self) -> usize {
        let looks = self.looks.get();
        let is_under_way = |read: &&Read| read.due.is_none_or(|due| due > looks);
        self.reads.borrow().iter().filter(is_under_way).count()
    }
}

impl WorkerLocal for Device {
    fn poll(&self, _idle: bool) {
        if self.under_way() == 0 {
            return;
        }
        self.note(Event::Looks);
        self.looks.set(self.looks.get() + 1);
        for read in &mut *self.reads.borrow_mut() {
            if read.due == Some(self.looks.get())
                && let Some(waker) = read.waker.take()
            {
                waker.wake();
            }
        }
        self.take_over();
    }

    fn awaits_device(&self) -> bool {
        self.under_way() > 0
    }

    /// A read is answered only at a look.
    fn before_sleep(&self) -> Option<Duration> {
        (self.under_way() > 0).then_some(Duration::ZERO)
    }

    fn hand_over(&self) {
        self.hand_overs.set(self.hand_overs.get() + 1);
        self.take_over();
    }
}

struct Reading {
    device: Rc<Device>,
    index: usize,
}

impl Future for Reading {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let looks = self.device.looks.get();
        let read = &mut self.device.reads.borrow_mut()[self.index];
        if read.due.is_some_and(|due| due <= looks) {
            return Poll::Ready(());
        }
        read.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

const RESERVED: Scheduling = Scheduling::Reserved { device_slots: 2 };
const DUAL: Scheduling = Scheduling::DualQueue {
    cold_slots: 16,
    visit_interval: 8,
};
const ALL: [Scheduling; 5] = [
    Scheduling::Sequential,
    Scheduling::StrictBatch,
    RESERVED,
    DUAL,
    Scheduling::Pipelined,
];

fn worker(scheduling: Scheduling, in_flight: usize, delay: u64) -> Worker<Device> {
    let config = WorkerConfig {
        in_flight: InFlight::Fixed(in_flight),
        scheduling,
        ..WorkerConfig::default()
    };
    config.validate().unwrap();
    let device = Device::default();
    device.delay.set(delay);
    // All operations take no time, and no sleep comes in between.
    Worker::new(config, Rc::new(device), Clock::Manual(Rc::default()))
}

/// Submits a task that waits for memory, then `reads` times for the device, then for memory.
fn submit(worker: &Worker<Device>, number: u64, reads: u64) -> JoinHandle<u64, Device> {
    worker.handle().submit(move |device| {
        let device = device.clone();
        async move {
            device.note(Event::Begins(number));
            yield_now().await;
            for _ in 0..reads {
                device.read().await;
            }
            yield_now().await;
            device.note(Event::Ends(number));
            number * 10 + reads
        }
    })
}

fn finish(worker: &mut Worker<Device>, tasks: impl IntoIterator<Item = JoinHandle<u64, Device>>) {
    for task in tasks {
        worker.run_until(task).unwrap();
    }
}

/// Returns how often a task reads: every third task reads, once or twice.
fn reads_of(number: u64) -> u64 {
    if number.is_multiple_of(3) {
        1 + number % 2
    } else {
        0
    }
}

fn run(scheduling: Scheduling, count: u64) -> Worker<Device> {
    let mut worker = worker(scheduling, 4, 3);
    let submit = |number| submit(&worker, number, reads_of(number));
    let tasks: Vec<_> = (0..count).map(submit).collect();
    for (number, task) in (0..).zip(tasks) {
        assert_eq!(worker.run_until(task), Ok(number * 10 + reads_of(number)));
    }
    worker
}

/// Returns the tasks that were open before each event.
fn open_before(worker: &Worker<Device>) -> Vec<(Event, Vec<u64>)> {
    let mut open = Vec::new();
    let mut all = Vec::new();
    for &event in &*worker.local().log.borrow() {
        all.push((event, open.clone()));
        match event {
            Event::Begins(number) => open.push(number),
            Event::Ends(number) => open.retain(|&other| other != number),
            Event::Looks => {}
        }
    }
    all
}

#[test]
fn all_give_the_same_answers() {
    for scheduling in ALL {
        let mut worker = run(scheduling, 100);
        worker.run_until_idle();
        let stats = worker.handle().stats();
        assert_eq!(stats.tasks_finished, 100, "{scheduling:?}");
        // 17 tasks read once and 17 twice.
        assert_eq!(stats.waits_device, 51, "{scheduling:?}");
    }
}

#[test]
fn sequentially_nobody_begins_while_another_is_open() {
    let worker = run(Scheduling::Sequential, 30);
    for (event, open) in open_before(&worker) {
        if let Event::Begins(_) = event {
            assert_eq!(open, []);
        }
    }
}

#[test]
fn a_batch_begins_when_all_of_the_last_have_ended() {
    let worker = run(Scheduling::StrictBatch, 30);
    for (event, open) in open_before(&worker) {
        if let Event::Begins(number) = event {
            assert!(open.iter().all(|other| other / 4 == number / 4), "{open:?}");
        }
    }
}

#[test]
fn with_reserved_slots_who_waits_for_the_device_keeps_his() {
    let worker = run(RESERVED, 60);
    let most = open_before(&worker)
        .iter()
        .map(|(_, open)| open.len())
        .max();
    assert_eq!(most, Some(4));
}

#[test]
fn in_two_queues_who_waits_for_the_device_takes_nobodys_place() {
    for scheduling in [DUAL, Scheduling::Pipelined] {
        let mut worker = worker(scheduling, 2, 1000);
        let cold: Vec<_> = (0..10).map(|number| submit(&worker, number, 1)).collect();
        let hot: Vec<_> = (10..40).map(|number| submit(&worker, number, 0)).collect();
        finish(&mut worker, hot);
        assert_eq!(worker.local().under_way(), 10, "{scheduling:?}");
        finish(&mut worker, cold);
    }
}

#[test]
fn in_two_queues_completions_are_looked_at_when_so_many_have_finished() {
    let mut worker = worker(DUAL, 1, 2);
    let cold = submit(&worker, 0, 1);
    let hot: Vec<_> = (1..100).map(|number| submit(&worker, number, 0)).collect();
    finish(&mut worker, hot);
    finish(&mut worker, [cold]);
    let (mut looks, mut ended) = (Vec::new(), 0);
    for &event in &*worker.local().log.borrow() {
        match event {
            Event::Looks => looks.push(ended),
            Event::Ends(_) => ended += 1,
            Event::Begins(_) => {}
        }
    }
    assert_eq!(looks, [8, 16]);
}

#[test]
fn in_two_queues_who_was_answered_comes_before_those_who_are_new() {
    let mut worker = worker(DUAL, 2, 1);
    let tasks: Vec<_> = (0..100)
        .map(|number| submit(&worker, number, u64::from(number == 0)))
        .collect();
    finish(&mut worker, tasks);
    let log = worker.local().log.borrow();
    let looked = log.iter().position(|&event| event == Event::Looks).unwrap();
    let ended = log
        .iter()
        .position(|&event| event == Event::Ends(0))
        .unwrap();
    let begun = |event: &&Event| matches!(event, Event::Begins(_));
    // One place becomes free for the read, the other one is refilled while it is used.
    assert!(
        log[looked..ended].iter().filter(begun).count() <= 2,
        "{log:?}"
    );
}

#[test]
fn cold_tasks_do_not_starve_among_hot_ones() {
    for scheduling in [RESERVED, DUAL, Scheduling::Pipelined] {
        let mut worker = worker(scheduling, 4, 1);
        let tasks: Vec<_> = (0..1000)
            .map(|number| submit(&worker, number, u64::from(number == 0)))
            .collect();
        finish(&mut worker, tasks);
        let log = worker.local().log.borrow();
        let ended = log
            .iter()
            .position(|&event| event == Event::Ends(0))
            .unwrap();
        let others = |event: &&Event| matches!(event, Event::Ends(_));
        let before = log[..ended].iter().filter(others).count();
        assert!(before <= 24, "{scheduling:?}: {before} ended before it");
    }
}

#[test]
fn what_tasks_of_a_round_want_is_handed_over_at_once() {
    // Adapted looks hand over as well, and nothing else does.
    for (scheduling, expected) in [(Scheduling::StrictBatch, 1), (Scheduling::Pipelined, 0)] {
        let mut worker = worker(scheduling, 8, 1);
        let tasks: Vec<_> = (0..8).map(|number| submit(&worker, number, 1)).collect();
        finish(&mut worker, tasks);
        assert_eq!(worker.local().hand_overs.get(), expected, "{scheduling:?}");
    }
}

#[test]
fn who_is_cancelled_while_the_device_reads_leaves_room() {
    for scheduling in ALL {
        let mut worker = worker(scheduling, 1, u64::MAX / 2);
        let cold = submit(&worker, 0, 1);
        for _ in 0..5 {
            worker.step_intake();
            while worker.step_choices() > 0 {
                worker.step(0);
            }
        }
        assert_eq!(worker.local().under_way(), 1);
        drop(cold);
        let hot = submit(&worker, 1, 0);
        assert_eq!(worker.run_until(hot), Ok(10), "{scheduling:?}");
    }
}

#[test]
fn who_is_cancelled_after_it_was_answered_leaves_the_staging_area() {
    let mut worker = worker(DUAL, 1, 1);
    let cold = submit(&worker, 0, 1);
    for _ in 0..2 {
        worker.step_intake();
        worker.step(0);
    }
    // The only place is taken when the device answers.
    let _hot = worker.handle().submit(|_| std::future::pending::<()>());
    let blocker = submit(&worker, 1, 0);
    worker.receive();
    worker.admit();
    worker.local().poll(true);
    worker.receive();
    drop(cold);
    worker.receive();
    assert_eq!(worker.run_until(blocker), Ok(10));
    let next = submit(&worker, 2, 0);
    assert_eq!(worker.run_until(next), Ok(20));
    assert_eq!(worker.handle().stats().tasks_cancelled, 1);
}

#[test]
fn slots_out_of_range_are_refused_by_name() {
    let config = |scheduling| WorkerConfig {
        scheduling,
        ..WorkerConfig::default()
    };
    let refused = |scheduling| config(scheduling).validate().unwrap_err();
    let reserved = Scheduling::Reserved { device_slots: 0 };
    assert!(refused(reserved).starts_with("device_slots is 0;"));
    let dual = |cold_slots, visit_interval| Scheduling::DualQueue {
        cold_slots,
        visit_interval,
    };
    assert!(refused(dual(1025, 8)).starts_with("cold_slots is 1025;"));
    assert!(refused(dual(16, 0)).starts_with("visit_interval is 0;"));
}
