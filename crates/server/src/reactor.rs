//! The sockets of one worker, which it listens to beside its device.
//!
//! A connection asks its reactor whether its socket is ready, and waits as an event when it is not. A
//! socket becomes ready only when the worker looks: between two slices after some time has passed, and
//! when it has nothing else to do (the reactor is its [`Outside`]).
//!
//! All of this happens on the worker's thread, tasks included; other threads only make reactors,
//! register listeners before their tasks begin, and call the rouser. The atomics and locks are never
//! contended: they are there because a reactor is made elsewhere.
//!
//! # No lost readiness
//! Sockets are registered edge-triggered, once: the kernel reports that bytes *arrive*, not that bytes
//! are there. A connection clears `readable` before it reads, not after:
//!
//! ```text
//!   connection                     reactor
//!   swap(readable, false)
//!   read: 5 bytes
//!                                  edge: store(readable, true); wake
//!   would wait: readable? reads
//! ```
//! If it was cleared after the read, the edge between the two would be forgotten. A read that brings
//! fewer bytes than there was room for has emptied the socket; a read that fills the room may not
//! have, and the connection then takes the socket for ready still. Writing works alike.
//!
//! The last bytes and the end that follows them may come as one edge, and none comes after the end.
//! `closed` remembers it: a socket that the other side has closed stays ready, so that the next
//! read finds the end.
//!
//! The waker is registered before the flag is read, and the flag is set before the waker
//! is called ([`AtomicWaker`] orders the two).

use std::{
    io,
    os::fd::{AsRawFd, RawFd},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use atomic_waker::AtomicWaker;
use interleave::{Outside, Rouser};
use mio::{
    Events, Interest, Registry, Token,
    event::{Event, Source},
};
use slab::Slab;

use crate::{control::Control, statistics::Counters};

/// The token of the rouser; no entry's number is as large.
const ROUSED: Token = Token(usize::MAX);

/// Events taken in at once.
const EVENTS_MAX: usize = 256;

/// Number of looks between two slices without a find from which a worker counts as one beside silent
/// clients.
const QUIET_MIN: u32 = 16;

/// Share of looks that ask the kernel beside silent clients: one of so many, which are some 150
/// microseconds apart, since asking costs a long statement a few per cent of its time.
const QUIET_TIMES: u32 = 3;

/// One worker's sockets.
pub struct Reactor {
    polled: Mutex<Polled>,
    registry: Registry,
    rouser: Arc<mio::Waker>,
    descriptor: RawFd,
    entries: Mutex<Slab<Arc<Entry>>>,
    counters: Arc<Counters>,
    /// Number of clients that this worker serves or is about to.
    clients: AtomicUsize,
    /// Whether the worker has nothing to do, and has said so before.
    idle: AtomicBool,
}

struct Polled {
    poll: mio::Poll,
    /// Events that the last sleep found, until they are taken in.
    events: Events,
    /// Looks between two slices since something was found.
    quiet: u32,
}

/// One direction of a socket.
#[derive(Debug)]
struct Direction {
    ready: AtomicBool,
    /// Whether the kernel has reported the end of this direction, after which no edge comes.
    closed: AtomicBool,
    waker: AtomicWaker,
}

#[derive(Debug)]
struct Entry {
    reading: Direction,
    writing: Direction,
    /// Control that is told when the other side is gone, or sends nothing more.
    mourner: OnceLock<Arc<Control>>,
}

impl Direction {
    /// Returns a direction that counts as ready until a first attempt.
    fn new() -> Direction {
        Direction {
            ready: AtomicBool::new(true),
            closed: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        }
    }

    fn set(&self) {
        // Release pairs with the Acquire in `poll_ready`: the kernel's data is seen.
        self.ready.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// Notes that this direction has ended, and makes it ready for good.
    fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.set();
    }

    fn poll_ready(&self, waker: &Waker) -> Poll<()> {
        if self.ready.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        self.waker.register(waker);
        match self.ready.load(Ordering::Acquire) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

impl Reactor {
    /// Returns a reactor without sockets.
    ///
    /// # Errors
    /// Fails if the system has no more descriptors.
    pub fn new() -> io::Result<Arc<Reactor>> {
        let poll = mio::Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let rouser = Arc::new(mio::Waker::new(&registry, ROUSED)?);
        Ok(Arc::new(Reactor {
            descriptor: poll.as_raw_fd(),
            polled: Mutex::new(Polled {
                poll,
                events: Events::with_capacity(EVENTS_MAX),
                quiet: 0,
            }),
            registry,
            rouser,
            entries: Mutex::default(),
            counters: Arc::default(),
            clients: AtomicUsize::new(0),
            idle: AtomicBool::new(false),
        }))
    }

    /// Returns the counters of this worker's connections.
    pub(crate) fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    pub(crate) fn clients(&self) -> &AtomicUsize {
        &self.clients
    }

    /// Asks the kernel for ready sockets.
    fn ask(polled: &mut Polled, at_most: Option<Duration>) {
        // A signal makes it fail without an event; the caller looks again.
        if polled.poll.poll(&mut polled.events, at_most).is_err() {
            polled.events.clear();
        }
    }

    fn take_in_polled(&self, polled: &mut Polled) {
        if polled.events.is_empty() {
            Reactor::ask(polled, Some(Duration::ZERO));
        }
        for event in &polled.events {
            self.tell(event);
            polled.quiet = 0;
        }
        polled.events.clear();
    }

    /// Reports to a socket's entry what `event` says.
    fn tell(&self, event: &Event) {
        if event.token() == ROUSED {
            return;
        }
        // The socket may have gone after its event came.
        let Some(entry) = lock(&self.entries).get(event.token().0).cloned() else {
            return;
        };
        if event.is_read_closed() || event.is_error() {
            entry.reading.close();
        } else if event.is_readable() {
            entry.reading.set();
        }
        if let Some(control) = entry.mourner.get() {
            if event.is_error() || event.is_write_closed() {
                control.lose();
            } else if event.is_read_closed() {
                control.half_close();
            }
        }
        if event.is_write_closed() || event.is_error() {
            entry.writing.close();
        } else if event.is_writable() {
            entry.writing.set();
        }
    }
}

impl Outside for Reactor {
    fn poll_idle(&self) {
        // The first time, the worker will sleep next, and look then; unless it asks again.
        if self.idle.swap(true, Ordering::Relaxed) {
            self.take_in();
        }
    }

    fn sleep(&self, at_most: Option<Duration>) {
        Reactor::ask(&mut lock(&self.polled), at_most);
    }

    fn take_in(&self) {
        self.idle.store(false, Ordering::Relaxed);
        self.take_in_polled(&mut lock(&self.polled));
    }

    fn look(&self) {
        self.idle.store(false, Ordering::Relaxed);
        let polled = &mut *lock(&self.polled);
        polled.quiet = polled.quiet.saturating_add(1);
        if polled.quiet < QUIET_MIN || polled.quiet.is_multiple_of(QUIET_TIMES) {
            self.take_in_polled(polled);
        }
    }

    fn rouser(&self) -> Rouser {
        let rouser = self.rouser.clone();
        Arc::new(move || {
            // Fails only if the counter behind it is full; the worker is woken already then.
            let _ = rouser.wake();
        })
    }

    fn descriptor(&self) -> RawFd {
        self.descriptor
    }
}

impl std::fmt::Debug for Reactor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Reactor")
            .field("sockets", &lock(&self.entries).len())
            .finish_non_exhaustive()
    }
}

/// A socket that a reactor listens to.
#[derive(Debug)]
pub(crate) struct Watched<S: Source> {
    socket: S,
    reactor: Arc<Reactor>,
    entry: Arc<Entry>,
    number: usize,
}

impl<S: Source> Watched<S> {
    /// Registers `socket` with `reactor`.
    ///
    /// # Errors
    /// Fails if the system cannot watch the socket.
    pub(crate) fn new(mut socket: S, reactor: Arc<Reactor>) -> io::Result<Watched<S>> {
        let entry = Arc::new(Entry {
            reading: Direction::new(),
            writing: Direction::new(),
            mourner: OnceLock::new(),
        });
        let number = lock(&reactor.entries).insert(entry.clone());
        let interest = Interest::READABLE | Interest::WRITABLE;
        if let Err(error) = reactor
            .registry
            .register(&mut socket, Token(number), interest)
        {
            lock(&reactor.entries).remove(number);
            return Err(error);
        }
        Ok(Watched {
            socket,
            reactor,
            entry,
            number,
        })
    }

    /// Tells `control` when the other side has closed its sending half or is gone, whether the
    /// connection reads or not: a statement that computes does not.
    pub(crate) fn mourn_by(&self, control: Arc<Control>) {
        // A socket has one connection.
        let _ = self.entry.mourner.set(control);
    }

    /// Tries `read` for as long as the socket seems to be readable. `wanted`: the number of bytes that
    /// it can take.
    ///
    /// # Errors
    /// Returns the error of `read`.
    pub(crate) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        wanted: usize,
        mut read: impl FnMut(&mut S) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        let direction = &self.entry.reading;
        attempt(direction, context, wanted, || read(&mut self.socket))
    }

    /// Tries `write` for as long as the socket seems to be writable.
    ///
    /// # Errors
    /// Returns the error of `write`.
    pub(crate) fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        wanted: usize,
        mut write: impl FnMut(&mut S) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        let direction = &self.entry.writing;
        attempt(direction, context, wanted, || write(&mut self.socket))
    }
}

fn attempt(
    direction: &Direction,
    context: &mut Context<'_>,
    wanted: usize,
    mut attempt: impl FnMut() -> io::Result<usize>,
) -> Poll<io::Result<usize>> {
    loop {
        std::task::ready!(direction.poll_ready(context.waker()));
        // Before the attempt: see the module's text.
        direction.ready.store(false, Ordering::Relaxed);
        match attempt() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                direction.ready.store(true, Ordering::Relaxed);
            }
            Ok(count)
                if count < wanted && count > 0 && !direction.closed.load(Ordering::Relaxed) =>
            {
                return Poll::Ready(Ok(count));
            }
            // All of it, an end or an error: there may be more.
            other => {
                direction.ready.store(true, Ordering::Relaxed);
                return Poll::Ready(other);
            }
        }
    }
}

impl<S: Source> Drop for Watched<S> {
    fn drop(&mut self) {
        // Closing it would do as well.
        let _ = self.reactor.registry.deregister(&mut self.socket);
        lock(&self.reactor.entries).remove(self.number);
    }
}

/// Locks a mutex. A panic leaves its data consistent, so poisoning is ignored.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
