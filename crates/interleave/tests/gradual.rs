//! Memory that tasks leave is given back in steps beside the tasks, in the order in which it was left, and to the end
//! before the thread does something else.

use std::{cell::Cell, rc::Rc, time::Duration};

use interleave::{
    Clock, Gradual, RELEASED_AT_ONCE, Release, Worker, WorkerConfig, WorkerLocal, released,
    yield_now,
};

/// The clock, and the steps that were taken.
#[derive(Default)]
struct Machine {
    now: Rc<Cell<Duration>>,
    taken: Rc<Cell<usize>>,
    /// Maximum steps taken between two looks of the worker at its sockets.
    unlooked: Cell<usize>,
    looked_at: Cell<usize>,
}

impl Machine {
    /// Returns a container that takes `steps`, of which the last is its drop.
    fn container(&self, steps: usize) -> Gradual<Steps> {
        Gradual::from(Steps {
            left: steps,
            taken: self.taken.clone(),
        })
    }
}

impl WorkerLocal for Machine {
    fn look_outside(&self) {
        let taken = self.taken.get() - self.looked_at.replace(self.taken.get());
        self.unlooked.set(self.unlooked.get().max(taken));
    }
}

#[derive(Default)]
struct Steps {
    left: usize,
    taken: Rc<Cell<usize>>,
}

impl Release for Steps {
    fn bytes(&self) -> usize {
        self.left * RELEASED_AT_ONCE
    }

    fn release(&mut self) -> bool {
        self.left -= 1;
        self.taken.set(self.taken.get() + 1);
        self.left <= 1
    }
}

fn worker() -> Worker<Machine> {
    let machine = Machine::default();
    let clock = Clock::Manual(machine.now.clone());
    Worker::new(WorkerConfig::default(), Rc::new(machine), clock)
}

#[test]
fn a_task_has_turns_while_memory_is_given_back() {
    let mut worker = worker();
    let task = worker.handle().submit(|machine: &Rc<Machine>| {
        let machine = machine.clone();
        async move {
            drop(machine.container(101));
            assert_eq!(machine.taken.get(), 0, "the drop takes no time");
            let mut turns = 0;
            while machine.taken.get() < 100 {
                let before = machine.taken.get();
                machine
                    .now
                    .set(machine.now.get() + Duration::from_micros(100));
                yield_now().await;
                assert!(machine.taken.get() <= before + 1, "one step at a time");
                turns += 1;
                assert!(turns < 1000, "it goes on");
            }
        }
    });
    worker.run_until(task).unwrap();
}

#[test]
fn whoever_awaits_what_was_left_does_not_await_what_is_left_later() {
    let mut worker = worker();
    let first = worker.handle().submit(|machine: &Rc<Machine>| {
        let machine = machine.clone();
        async move {
            drop(machine.container(11));
            released().await;
            machine.taken.get()
        }
    });
    // The task leaves more and more memory.
    let later = worker.handle().submit(|machine: &Rc<Machine>| {
        let machine = machine.clone();
        async move {
            for _ in 0..100 {
                drop(machine.container(11));
                machine
                    .now
                    .set(machine.now.get() + Duration::from_micros(100));
                yield_now().await;
            }
        }
    });
    let waited_for = worker.run_until(first).unwrap();
    assert!((10..=12).contains(&waited_for), "{waited_for}");
    worker.run_until(later).unwrap();
}

/// A worker that had nothing else to do gave back all of it before it looked at its sockets.
#[test]
fn sockets_are_looked_at_between_two_steps_of_a_worker_at_rest() {
    let mut worker = worker();
    let task = worker.handle().submit(|machine: &Rc<Machine>| {
        let machine = machine.clone();
        async move {
            drop(machine.container(1001));
            released().await;
            (machine.taken.get(), machine.unlooked.get())
        }
    });
    assert_eq!(worker.run_until(task).unwrap(), (1000, 1));
}

#[test]
fn a_container_that_panics_is_over() {
    #[derive(Default)]
    struct Panicking(bool);
    impl Release for Panicking {
        fn bytes(&self) -> usize {
            usize::from(self.0) * 2 * RELEASED_AT_ONCE
        }

        fn release(&mut self) -> bool {
            panic!("a container's own fault")
        }
    }
    let mut worker = worker();
    let task = worker.handle().submit(|machine: &Rc<Machine>| {
        let machine = machine.clone();
        async move {
            drop(Gradual::from(Panicking(true)));
            drop(machine.container(3));
            released().await;
            machine.taken.get()
        }
    });
    assert_eq!(worker.run_until(task).unwrap(), 2);
}

#[test]
fn nothing_is_left_when_the_thread_does_something_else() {
    let mut worker = worker();
    let task = worker.handle().submit(|machine: &Rc<Machine>| {
        let machine = machine.clone();
        async move { drop(machine.container(1001)) }
    });
    worker.run_until(task).unwrap();
    assert_eq!(worker.local().taken.get(), 1000);
    drop(worker.local().container(1001));
    assert_eq!(
        worker.local().taken.get(),
        1000,
        "a drop elsewhere is one drop"
    );
}
