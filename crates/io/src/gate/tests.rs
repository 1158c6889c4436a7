use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Wake,
};

use super::*;

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn gate(depth: usize, when_full: WhenFull) -> Rc<Gate> {
    let gate = Gate::new(|| Duration::ZERO);
    gate.set_rule(GateRule {
        depth: Depth::Fixed(depth),
        when_full,
    });
    gate
}

fn poll(entry: &mut Entry) -> Poll<Result<Pass, Full>> {
    Pin::new(entry).poll(&mut Context::from_waker(Waker::noop()))
}

fn passes(gate: &Rc<Gate>, count: usize) -> Vec<Pass> {
    let enter = |_| match poll(&mut gate.enter(Priority::Interactive)) {
        Poll::Ready(Ok(pass)) => pass,
        other => panic!("{other:?}"),
    };
    (0..count).map(enter).collect()
}

#[test]
fn who_finds_it_full_waits_in_line() {
    let gate = gate(2, WhenFull::Wait);
    let mut held = passes(&gate, 2);
    let mut line: Vec<_> = (0..3).map(|_| gate.enter(Priority::Interactive)).collect();
    assert!(line.iter_mut().all(|entry| poll(entry).is_pending()));
    held.pop();
    // A newcomer does not overtake.
    assert!(poll(&mut gate.enter(Priority::Interactive)).is_pending());
    assert!(poll(&mut line[1]).is_pending());
    let Poll::Ready(Ok(first)) = poll(&mut line[0]) else {
        panic!("the first in line was not let in");
    };
    drop(first);
    assert!(poll(&mut line[2]).is_pending());
    assert!(poll(&mut line[1]).is_ready());
    assert_eq!(
        gate.stats().waits,
        3,
        "the pass of the second went to the third"
    );
    assert!(poll(&mut line[2]).is_ready());
    drop(held);
    assert_eq!(gate.open(), 0);
}

#[test]
fn who_waits_is_woken_by_the_waker_of_his_last_poll() {
    let gate = gate(1, WhenFull::Wait);
    let held = passes(&gate, 1);
    let (old, new) = (Arc::<Wakes>::default(), Arc::<Wakes>::default());
    let mut entry = pin!(gate.enter(Priority::Interactive));
    for wakes in [&old, &new] {
        let waker = wakes.clone().into();
        let polled = entry.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
    }
    drop(held);
    assert_eq!(old.0.load(Ordering::Relaxed), 0);
    assert_eq!(new.0.load(Ordering::Relaxed), 1);
}

#[test]
fn who_leaves_the_line_gives_his_place_on() {
    let gate = gate(1, WhenFull::Wait);
    let held = passes(&gate, 1);
    let mut line: Vec<_> = (0..3).map(|_| gate.enter(Priority::Interactive)).collect();
    assert!(line.iter_mut().all(|entry| poll(entry).is_pending()));
    // One reader still waits; one was let in and has not heard of it.
    drop(line.remove(1));
    drop(held);
    assert_eq!(gate.open(), 1);
    drop(line.remove(0));
    assert!(poll(&mut line[0]).is_ready());
    drop(line);
    assert_eq!(gate.open(), 0);
}

#[test]
fn interactive_ones_go_first_but_one_in_eight_is_of_the_others() {
    let gate = gate(1, WhenFull::Wait);
    let mut held = passes(&gate, 1);
    let line = |priority| {
        let mut line: VecDeque<_> = (0..20).map(|_| gate.enter(priority)).collect();
        assert!(line.iter_mut().all(|entry| poll(entry).is_pending()));
        line
    };
    let mut batch = line(Priority::Batch);
    let mut interactive = line(Priority::Interactive);
    let mut order = String::new();
    while !batch.is_empty() || !interactive.is_empty() {
        held.clear();
        for (line, letter) in [(&mut interactive, 'i'), (&mut batch, 'b')] {
            let Some(first) = line.front_mut() else {
                continue;
            };
            if let Poll::Ready(Ok(pass)) = poll(first) {
                held.push(pass);
                order.push(letter);
                line.pop_front();
            }
        }
        assert_eq!(held.len(), 1);
    }
    let expected = "iiiiiiib".repeat(2) + "iiiiii" + &"b".repeat(18);
    assert_eq!(order, expected);
}

#[test]
fn a_gate_that_refuses_lets_in_who_was_in_before() {
    let gate = gate(2, WhenFull::Refuse);
    let held = passes(&gate, 2);
    let refused = poll(&mut gate.enter(Priority::Interactive));
    assert!(matches!(refused, Poll::Ready(Err(Full))));
    let mut again = gate.enter_again(Priority::Interactive);
    assert!(poll(&mut again).is_pending());
    drop(held);
    assert!(poll(&mut again).is_ready());
    assert_eq!(gate.stats().refused, 1);
}

#[test]
fn a_deeper_rule_lets_in_who_waits() {
    let gate = gate(1, WhenFull::Wait);
    let _held = passes(&gate, 1);
    let mut entry = gate.enter(Priority::Batch);
    assert!(poll(&mut entry).is_pending());
    gate.set_rule(GateRule::default());
    assert_eq!(gate.depth(), DEPTH_START);
    assert!(poll(&mut entry).is_ready());
}

#[test]
fn time_in_line_is_counted() {
    let now = Rc::new(Cell::new(Duration::from_secs(5)));
    let clock = now.clone();
    let gate = Gate::new(move || clock.get());
    gate.set_rule(GateRule {
        depth: Depth::Fixed(1),
        when_full: WhenFull::Wait,
    });
    let held = passes(&gate, 1);
    let mut entry = gate.enter(Priority::Interactive);
    assert!(poll(&mut entry).is_pending());
    now.set(now.get() + Duration::from_nanos(700));
    drop(held);
    let Poll::Ready(Ok(pass)) = poll(&mut entry) else {
        panic!("not let in");
    };
    pass.begin();
    pass.end();
    let stats = gate.stats();
    assert_eq!((stats.waits, stats.waited_ns), (1, 700));
    assert_eq!((stats.begun, stats.completed, stats.depth_sum), (1, 1, 1));
}
