use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Wake,
};

use super::*;
use crate::gate::{Gate, Priority};

/// A channel that completes operations on demand, with twice the token as the result.
#[derive(Clone, Debug, Default)]
struct Manual(Rc<RefCell<Manually>>);

#[derive(Debug, Default)]
struct Manually {
    submitted: Vec<Operation>,
    completed: Vec<Completion>,
    rouses: Arc<Rouses>,
}

#[derive(Debug, Default)]
struct Rouses(AtomicUsize);

impl Rouse for Rouses {
    fn rouse(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Manual {
    /// Completes the `index`th of the operations under way.
    fn complete(&self, index: usize) {
        let mut inner = self.0.borrow_mut();
        let operation = inner.submitted.remove(index);
        inner.completed.push(Completion {
            token: operation.token,
            buffer: operation.buffer,
            result: Ok(operation.offset as usize),
        });
    }
}

impl Channel for Manual {
    fn submit(&mut self, operation: Operation) {
        self.0.borrow_mut().submitted.push(operation);
    }

    fn reap(&mut self, completions: &mut Vec<Completion>) {
        completions.append(&mut self.0.borrow_mut().completed);
    }

    fn outstanding(&self) -> usize {
        let inner = self.0.borrow();
        inner.submitted.len() + inner.completed.len()
    }

    /// Completes the newest operation first, when it blocks.
    fn wait(&mut self, _at_most: Option<Duration>) {
        let count = self.0.borrow().submitted.len();
        if count > 0 {
            self.complete(count - 1);
        }
    }

    fn rouser(&self) -> Arc<dyn Rouse> {
        self.0.borrow().rouses.clone()
    }
}

#[derive(Debug)]
struct Nothing;

impl File for Nothing {
    fn length(&self) -> io::Result<u64> {
        Ok(0)
    }

    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Ok(0)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn handle(&self) -> u64 {
        0
    }
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn port() -> (Rc<Port>, Manual) {
    let manual = Manual::default();
    (Port::new(Box::new(manual.clone())), manual)
}

fn begin(port: &Rc<Port>, offset: u64) -> Transfer {
    let file: Arc<dyn File> = Arc::new(Nothing);
    port.begin(Action::Read, &file, offset, Buffer::with_capacity(1))
}

#[test]
fn a_transfer_is_a_future_woken_when_it_completes() {
    let (port, manual) = port();
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(wakes.clone());
    let mut context = Context::from_waker(&waker);
    let mut first = pin!(begin(&port, 10));
    let mut second = pin!(begin(&port, 20));
    assert!(first.as_mut().poll(&mut context).is_pending());
    assert!(second.as_mut().poll(&mut context).is_pending());
    assert_eq!((port.outstanding(), port.poll()), (2, 0));
    manual.complete(1);
    assert!(
        second.as_mut().poll(&mut context).is_pending(),
        "nobody polled the port"
    );
    assert_eq!(port.poll(), 1);
    assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
    assert!(first.as_mut().poll(&mut context).is_pending());
    match second.poll(&mut context) {
        Poll::Ready((_, result)) => assert_eq!(result.unwrap(), 20),
        Poll::Pending => panic!("it has completed"),
    }
    manual.complete(0);
    assert_eq!((port.poll(), port.outstanding()), (1, 0));
    assert!(first.poll(&mut context).is_ready());
}

#[test]
fn a_pass_is_held_until_the_device_has_ended_the_read() {
    let (port, manual) = port();
    let gate = Gate::new(|| Duration::ZERO);
    let file: Arc<dyn File> = Arc::new(Nothing);
    let mut context = Context::from_waker(Waker::noop());
    let mut read = || {
        let Poll::Ready(Ok(pass)) = pin!(gate.enter(Priority::Batch)).poll(&mut context) else {
            panic!("there are passes");
        };
        port.begin_through(pass, &file, 0, Buffer::with_capacity(1))
    };
    let (awaited, dropped) = (read(), read());
    drop(dropped);
    port.poll();
    assert_eq!((gate.open(), gate.stats().begun), (2, 2));
    manual.complete(1);
    port.poll();
    assert_eq!((gate.open(), gate.stats().completed), (1, 1));
    manual.complete(0);
    port.poll();
    assert_eq!((gate.open(), gate.stats().completed), (0, 2));
    assert!(pin!(awaited).poll(&mut context).is_ready());
    assert_eq!(gate.stats().depth_sum, 3);
}

#[test]
fn the_last_waker_is_woken() {
    let (port, manual) = port();
    let wakes = [Arc::new(Wakes::default()), Arc::new(Wakes::default())];
    let mut transfer = pin!(begin(&port, 0));
    for wakes in &wakes {
        let waker = Waker::from(wakes.clone());
        let mut context = Context::from_waker(&waker);
        assert!(transfer.as_mut().poll(&mut context).is_pending());
        assert!(transfer.as_mut().poll(&mut context).is_pending());
    }
    manual.complete(0);
    port.poll();
    assert_eq!(wakes.map(|wakes| wakes.0.load(Ordering::Relaxed)), [0, 1]);
}

#[test]
fn the_end_is_taken_once() {
    let (port, manual) = port();
    let mut transfer = begin(&port, 7);
    assert!(transfer.try_take().is_none());
    manual.complete(0);
    assert!(transfer.try_take().is_none());
    port.poll();
    assert_eq!(transfer.try_take().unwrap().1.unwrap(), 7);
    assert!(transfer.try_take().is_none());
    // The place belongs to another transfer now.
    let other = begin(&port, 8);
    assert!(transfer.try_take().is_none());
    drop(transfer);
    assert_eq!(other.block().1.unwrap(), 8);
}

#[test]
fn a_dropped_transfer_completes_unseen() {
    let (port, manual) = port();
    let abandoned = begin(&port, 1);
    let kept = begin(&port, 2);
    drop(abandoned);
    // The place is not given away before its transfer has completed.
    let later = begin(&port, 3);
    assert_eq!(port.outstanding(), 3);
    manual.complete(0);
    assert_eq!((port.poll(), port.outstanding()), (1, 2));
    let last = begin(&port, 4);
    assert_eq!(port.transfers.borrow().states.len(), 3);
    for (transfer, expected) in [(later, 3), (kept, 2), (last, 4)] {
        assert_eq!(transfer.block().1.unwrap(), expected);
    }
    // A transfer may have ended already when it is dropped.
    let ended = begin(&port, 5);
    port.wait(None);
    drop(ended);
    assert_eq!(port.transfers.borrow().free.len(), 3);
}

/// A task's waker may own the task; dropping the one drops the other.
struct Owner(#[allow(dead_code, reason = "dropped")] std::sync::Mutex<Option<Owned>>);
struct Owned(#[allow(dead_code, reason = "dropped")] Transfer);

// SAFETY: the test has one thread.
unsafe impl Send for Owned {}

impl Wake for Owner {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn dropping_a_waker_may_drop_another_transfer() {
    let (port, _manual) = port();
    let mut transfer = Box::pin(begin(&port, 1));
    for repeat in 0..2 {
        let owned = Owned(begin(&port, 2 + repeat));
        let owner = Owner(std::sync::Mutex::new(Some(owned)));
        let waker = Waker::from(Arc::new(owner));
        assert!(
            transfer
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
    }
    drop(transfer);
    while port.outstanding() > 0 {
        port.wait(None);
    }
    let transfers = port.transfers.borrow();
    assert_eq!(transfers.free.len(), transfers.states.len());
}

#[test]
fn rouses_go_to_the_channel() {
    let (port, manual) = port();
    port.rouser().rouse();
    assert_eq!(manual.0.borrow().rouses.0.load(Ordering::Relaxed), 1);
}
