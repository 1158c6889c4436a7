//! Transfers as futures: one thread's channel, shared by its coroutines.

#[cfg(test)]
mod tests;

use std::{
    cell::{Cell, RefCell},
    fmt,
    future::Future,
    io,
    os::fd::RawFd,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use crate::{
    buffer::Buffer,
    channel::{Action, Channel, Completion, Operation, Rouse},
    directory::File,
    gate::Pass,
};

/// One thread's transfers. A transfer completes only in calls of [`Port::poll`] or [`Port::wait`]:
/// the thread's worker makes these, between resumptions.
pub struct Port {
    channel: RefCell<Box<dyn Channel>>,
    transfers: RefCell<Transfers>,
    outstanding: Cell<usize>,
    /// Completions; reused between polls.
    completions: RefCell<Vec<Completion>>,
}

#[derive(Default)]
struct Transfers {
    states: Vec<State>,
    free: Vec<u32>,
}

enum State {
    Free,
    Pending(Option<Waker>, Option<Pass>),
    /// No future waits for the transfer any more.
    Abandoned(Option<Pass>),
    Done(Buffer, io::Result<usize>),
}

impl Port {
    /// Returns a port over `channel`.
    pub fn new(channel: Box<dyn Channel>) -> Rc<Port> {
        Rc::new(Port {
            channel: RefCell::new(channel),
            transfers: RefCell::default(),
            outstanding: Cell::new(0),
            completions: RefCell::default(),
        })
    }

    /// Begins a transfer of all of `buffer` from or to `offset` of `file`.
    ///
    /// # Cancellation
    /// Dropping the transfer does not stop it.
    pub fn begin(
        self: &Rc<Self>,
        action: Action,
        file: &Arc<dyn File>,
        offset: u64,
        buffer: Buffer,
    ) -> Transfer {
        let (transfer, operation) = self.prepare(action, file, offset, buffer, None);
        self.channel.borrow_mut().submit(operation);
        transfer
    }

    /// Begins a read that has a `pass`, which it holds until it has ended. The device hears of it
    /// with the next [`Port::flush`], [`Port::poll`] or [`Port::wait`], together with all reads
    /// begun since the last of these.
    ///
    /// # Cancellation
    /// Dropping the transfer does not stop it.
    pub fn begin_through(
        self: &Rc<Self>,
        pass: Pass,
        file: &Arc<dyn File>,
        offset: u64,
        buffer: Buffer,
    ) -> Transfer {
        pass.begin();
        let (transfer, operation) = self.prepare(Action::Read, file, offset, buffer, Some(pass));
        self.channel.borrow_mut().queue(operation);
        transfer
    }

    /// Hands over the reads begun through a gate.
    pub fn flush(&self) {
        self.channel.borrow_mut().flush();
    }

    fn prepare(
        self: &Rc<Self>,
        action: Action,
        file: &Arc<dyn File>,
        offset: u64,
        buffer: Buffer,
        pass: Option<Pass>,
    ) -> (Transfer, Operation) {
        let mut transfers = self.transfers.borrow_mut();
        let index = transfers.free.pop().unwrap_or_else(|| {
            transfers.states.push(State::Free);
            transfers.states.len() as u32 - 1
        });
        transfers.states[index as usize] = State::Pending(None, pass);
        drop(transfers);
        self.outstanding.set(self.outstanding.get() + 1);
        let operation = Operation {
            token: index.into(),
            action,
            file: file.clone(),
            offset,
            buffer,
        };
        let transfer = Transfer {
            port: self.clone(),
            index: Some(index),
        };
        (transfer, operation)
    }

    /// Takes in completions and wakes the tasks that wait for them. Returns their number.
    #[inline]
    pub fn poll(&self) -> usize {
        if self.outstanding.get() == 0 {
            return 0;
        }
        self.take_in()
    }

    fn take_in(&self) -> usize {
        let mut completions = self.completions.take();
        self.channel.borrow_mut().reap(&mut completions);
        let count = completions.len();
        for completion in completions.drain(..) {
            self.outstanding.set(self.outstanding.get() - 1);
            let mut transfers = self.transfers.borrow_mut();
            let state = &mut transfers.states[completion.token as usize];
            let done = State::Done(completion.buffer, completion.result);
            let (waker, pass) = match std::mem::replace(state, done) {
                State::Pending(waker, pass) => (waker, pass),
                State::Abandoned(pass) => {
                    *state = State::Free;
                    transfers.free.push(completion.token as u32);
                    (None, pass)
                }
                State::Free | State::Done(..) => unreachable!("a transfer completes once"),
            };
            // The following is foreign code, which must not find anything borrowed.
            drop(transfers);
            if let Some(pass) = pass {
                pass.end();
            }
            if let Some(waker) = waker {
                waker.wake();
            }
        }
        self.completions.replace(completions);
        count
    }

    /// Returns the number of transfers under way.
    pub fn outstanding(&self) -> usize {
        self.outstanding.get()
    }

    /// Blocks until a transfer has completed, the port is roused, or `at_most` is over, and takes
    /// in completions.
    pub fn wait(&self, at_most: Option<Duration>) {
        self.channel.borrow_mut().wait(at_most);
        self.poll();
    }

    /// Has waits end as well while `descriptor` is readable, if the channel can do that: see
    /// [`Channel::watch`].
    pub fn watch(&self, descriptor: RawFd) -> bool {
        self.channel.borrow_mut().watch(descriptor)
    }

    /// Returns a rouser, which ends waits from any thread.
    pub fn rouser(&self) -> Arc<dyn Rouse> {
        self.channel.borrow().rouser()
    }
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port")
            .field("channel", &self.channel)
            .field("outstanding", &self.outstanding)
            .finish_non_exhaustive()
    }
}

/// A transfer under way: the buffer comes back with the number of bytes
/// transferred, which may be short (see [`Completion::result`]).
#[must_use = "a transfer goes on without being awaited, but nobody learns how it ended"]
pub struct Transfer {
    port: Rc<Port>,
    /// Index of the transfer; `None` once its result was taken.
    index: Option<u32>,
}

impl Transfer {
    /// Returns the result of the transfer, if it has ended (and the result was not taken before).
    pub fn try_take(&mut self) -> Option<(Buffer, io::Result<usize>)> {
        let index = self.index?;
        let mut transfers = self.port.transfers.borrow_mut();
        let state = &mut transfers.states[index as usize];
        if !matches!(state, State::Done(..)) {
            return None;
        }
        let State::Done(buffer, result) = std::mem::replace(state, State::Free) else {
            unreachable!("matched above");
        };
        transfers.free.push(index);
        self.index = None;
        Some((buffer, result))
    }

    /// Blocks the thread until the transfer has ended. Returns its result.
    ///
    /// # Panics
    /// Panics if the result was taken before.
    pub fn block(mut self) -> (Buffer, io::Result<usize>) {
        loop {
            if let Some(end) = self.try_take() {
                return end;
            }
            assert!(self.index.is_some(), "the end of the transfer was taken");
            self.port.wait(None);
        }
    }
}

impl Future for Transfer {
    type Output = (Buffer, io::Result<usize>);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(end) = self.try_take() {
            return Poll::Ready(end);
        }
        let index = self.index.expect("polled after it had ended");
        let waker = context.waker();
        let mut transfers = self.port.transfers.borrow_mut();
        let state = &mut transfers.states[index as usize];
        if let State::Pending(known, _) = state
            && !known.as_ref().is_some_and(|known| known.will_wake(waker))
        {
            let old = known.replace(waker.clone());
            // The drop of a waker may drop its task, and other transfers in it.
            drop(transfers);
            drop(old);
        }
        Poll::Pending
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        let Some(index) = self.index else { return };
        let mut transfers = self.port.transfers.borrow_mut();
        let state = &mut transfers.states[index as usize];
        let new = match state {
            State::Pending(_, pass) => State::Abandoned(pass.take()),
            _ => State::Free,
        };
        let old = std::mem::replace(state, new);
        if !matches!(old, State::Pending(..)) {
            transfers.free.push(index);
        }
        // The drop of the waker may drop other transfers.
        drop(transfers);
        drop(old);
    }
}

impl fmt::Debug for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transfer")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}
