//! Signals to a connection from outside: to give its statement up, or to end.
//!
//! A request to cancel comes over another connection, with the number and the secret that the first
//! connection was given. The request sets a flag and wakes: a running statement looks at the flag
//! now and then, and a waiting statement waits for it too.
//!
//! A lost client is another signal. The reactor sees a socket closed whether the connection reads or
//! not, and tells two cases apart. A reset connection is *lost*: its statement ends at once. A
//! connection whose other side has closed its sending half is *half-closed*: its client either waits
//! for an answer or was killed, which look alike until the server sends something. A session gives
//! the statement of a half-closed connection some time, and then takes it for lost
//! ([`Control::lose`]).

use std::{
    collections::HashMap,
    future::poll_fn,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use atomic_waker::AtomicWaker;
use subtle::ConstantTimeEq;
use types::{Result, SqlError, SqlState};

use crate::scram::random;

/// The signals of one connection, for other threads.
#[derive(Debug)]
pub struct Control {
    process: i32,
    secret: i32,
    cancelled: AtomicBool,
    stopping: AtomicBool,
    lost: AtomicBool,
    half_closed: AtomicBool,
    waker: AtomicWaker,
}

impl Control {
    /// Returns the number by which clients name the connection.
    pub fn process(&self) -> i32 {
        self.process
    }

    pub(crate) fn secret(&self) -> i32 {
        self.secret
    }

    /// Checks whether the statement may go on.
    ///
    /// # Errors
    /// Returns the error to give the statement up with, if it should be given up.
    pub fn check(&self) -> Result<()> {
        // Nothing else was published with the flags.
        if self.stopping.load(Ordering::Relaxed) {
            return Err(shut_down());
        }
        if self.is_lost() {
            return Err(lost());
        }
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(SqlError::new(
                SqlState::QUERY_CANCELED,
                "canceling statement due to user request",
            ));
        }
        Ok(())
    }

    /// Waits until the statement should be given up, and returns the error to do so with. Await it
    /// beside the statement's own wait, and only in the task of the connection.
    pub async fn requested(&self) -> SqlError {
        poll_fn(|context| self.poll(context)).await
    }

    /// Polls for the error of [`Control::requested`].
    pub fn poll(&self, context: &mut Context<'_>) -> Poll<SqlError> {
        self.waker.register(context.waker());
        match self.check() {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(error),
        }
    }

    /// Polls for the shutdown of the server alone: without a statement there is nothing to cancel.
    pub(crate) fn poll_stopping(&self, context: &mut Context<'_>) -> Poll<SqlError> {
        self.waker.register(context.waker());
        match self.stopping.load(Ordering::Relaxed) {
            true => Poll::Ready(shut_down()),
            false => Poll::Pending,
        }
    }

    /// Clears an earlier cancel, which found no statement.
    pub(crate) fn begin(&self) {
        if self.cancelled.load(Ordering::Relaxed) {
            self.cancelled.store(false, Ordering::Relaxed);
        }
    }

    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        // The waker is registered before the flag is read, and orders the two.
        self.waker.wake();
    }

    /// Notes that the client will send nothing more. Wakes the connection's task.
    pub(crate) fn half_close(&self) {
        self.half_closed.store(true, Ordering::Relaxed);
        self.waker.wake();
    }

    /// Returns whether the client will send nothing more; it may wait for answers.
    pub fn is_half_closed(&self) -> bool {
        self.half_closed.load(Ordering::Relaxed)
    }

    /// Marks the client as gone: its statement is given up.
    pub fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
        self.waker.wake();
    }

    /// Returns whether the client is gone. It may have sent requests before.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.waker.wake();
    }
}

/// Returns the error for a client that is gone.
pub(crate) fn lost() -> SqlError {
    SqlError::new(SqlState::CONNECTION_FAILURE, "connection to client lost")
}

fn shut_down() -> SqlError {
    SqlError::new(
        SqlState::ADMIN_SHUTDOWN,
        "terminating connection due to administrator command",
    )
}

/// Kinds of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    /// A task that accepts connections.
    Listener,
}

/// All connections of a server, and its listeners: both are told to end, and waited for.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    known: Mutex<Known>,
    /// Number of clients whose tasks have not ended.
    open: AtomicUsize,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Known {
    controls: HashMap<i32, Arc<Control>>,
    last: i32,
    stopping: bool,
}

impl Connections {
    /// Adds a connection or a listener, with a new number and secret.
    ///
    /// # Errors
    /// Fails if the system gives no random numbers.
    pub(crate) fn enter(self: &Arc<Self>, role: Role) -> Result<Entered> {
        let mut secret = [0; 4];
        random(&mut secret)?;
        let mut known = self.lock();
        let process = loop {
            known.last = known.last.checked_add(1).unwrap_or(1);
            let process = known.last;
            if !known.controls.contains_key(&process) {
                break process;
            }
        };
        let control = Arc::new(Control {
            process,
            secret: i32::from_be_bytes(secret),
            cancelled: AtomicBool::new(false),
            stopping: AtomicBool::new(known.stopping),
            lost: AtomicBool::new(false),
            half_closed: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        });
        known.controls.insert(process, control.clone());
        if role == Role::Client {
            self.open.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Entered {
            connections: self.clone(),
            control,
            role,
        })
    }

    /// Returns the number of clients.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Cancels the statement of the connection that has these numbers, if there is one.
    pub(crate) fn cancel(&self, process: i32, secret: i32) {
        let control = self.lock().controls.get(&process).cloned();
        if let Some(control) = control
            && bool::from(control.secret.to_be_bytes().ct_eq(&secret.to_be_bytes()))
        {
            control.cancel();
        }
    }

    /// Tells all connections to end, including later ones.
    pub(crate) fn stop(&self) {
        let mut known = self.lock();
        known.stopping = true;
        let controls: Vec<_> = known.controls.values().cloned().collect();
        // Wakers are foreign code, so the lock is released first.
        drop(known);
        for control in controls {
            control.stop();
        }
    }

    /// Blocks until no connection or listener is left, or `at_most` has passed. Returns how many are
    /// left.
    pub(crate) fn wait(&self, at_most: Duration) -> usize {
        let end = Instant::now() + at_most;
        let mut known = self.lock();
        while !known.controls.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let woken = self.ended.wait_timeout(known, left);
            known = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        known.controls.len()
    }

    /// Locks the table. A panic leaves it consistent, so poisoning is ignored.
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection's entry among all connections, until it is dropped.
#[derive(Debug)]
pub(crate) struct Entered {
    connections: Arc<Connections>,
    pub(crate) control: Arc<Control>,
    role: Role,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if self.role == Role::Client {
            self.connections.open.fetch_sub(1, Ordering::Relaxed);
        }
        let mut known = self.connections.lock();
        known.controls.remove(&self.control.process);
        self.connections.ended.notify_all();
    }
}
