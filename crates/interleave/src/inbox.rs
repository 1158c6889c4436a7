//! Messages of other threads to a worker, and how these threads rouse it.
//!
//! # Sleeping without missing a message
//! The worker announces that it sleeps, fences, looks into the inbox once more
//! and parks. A sender pushes, fences, and unparks if it sees the announcement:
//!
//! ```text
//!   worker                         sender
//!   asleep = true                  push(message)
//!   fence(SeqCst)                  fence(SeqCst)
//!   inbox empty? -> park           asleep? -> unpark
//! ```
//! One of the two fences is first, so at least one side sees the other's write (store buffering is
//! excluded). `park` returns at once when `unpark` came before it. `sleeper.rs` and `wake.rs` are
//! checked by loom, and `tests/hostile.rs` runs under the thread sanitizer.

use std::{
    marker::PhantomData,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use crossbeam_queue::SegQueue;

use crate::{
    sleeper::Sleeper,
    slice::Longest,
    stats::Published,
    task::{Place, Ticket, end},
    wake::{WakeHandle, Waking},
    worker::{Rouser, Worker},
};

/// A task on its way to a worker.
pub(crate) trait Start<L: 'static>: Send {
    fn start(self: Box<Self>, local: &Rc<L>, place: Place<'_>);
}

pub(crate) type Order<L> = Box<dyn FnOnce(&mut Worker<L>) + Send>;

pub(crate) enum Message<L: 'static> {
    Start(Box<dyn Start<L>>, Arc<Ticket>),
    Wake(Arc<WakeHandle>),
    Cancel(Arc<Ticket>),
    Order(Order<L>),
    /// Ends a sleep and does nothing else.
    Rouse,
}

/// The side of a worker that other threads see.
pub(crate) struct Inbox<L: 'static> {
    queue: SegQueue<Message<L>>,
    sleeper: Sleeper,
    closed: AtomicBool,
    /// Tasks sent and not yet finished, for choosing the less loaded worker.
    pub(crate) open: AtomicU64,
    pub(crate) stats: Published,
    pub(crate) longest: Longest,
    _local: PhantomData<fn(L)>,
}

impl<L: 'static> Inbox<L> {
    pub(crate) fn new() -> Arc<Inbox<L>> {
        Arc::new(Inbox {
            queue: SegQueue::new(),
            sleeper: Sleeper::new(),
            closed: AtomicBool::new(false),
            open: AtomicU64::new(0),
            stats: Published::default(),
            longest: Longest::default(),
            _local: PhantomData,
        })
    }

    /// Sends `message`, unless the worker is gone; then the message is dropped.
    pub(crate) fn send(&self, message: Message<L>) {
        self.queue.push(message);
        self.sleeper.rouse();
        // The worker may have closed and drained between the caller's check and the push; then only
        // this call can drop the message.
        if self.closed.load(Ordering::SeqCst) {
            self.drain();
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.drain();
    }

    fn drain(&self) {
        while let Some(message) = self.queue.pop() {
            if matches!(message, Message::Start(..)) {
                self.open.fetch_sub(1, Ordering::Relaxed);
            }
            end(None, || drop(message));
        }
    }

    #[inline]
    pub(crate) fn receive(&self) -> Option<Message<L>> {
        self.queue.pop()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Sleeps until a message comes or `at_most` is over: by `sleep`, if the worker has its own way
    /// ([`Inbox::rouse_by`]).
    pub(crate) fn sleep(&self, at_most: Option<Duration>, sleep: impl FnOnce(Option<Duration>)) {
        self.sleeper.sleep(at_most, || self.queue.is_empty(), sleep);
    }

    /// Sets how a sleeping worker is roused.
    pub(crate) fn rouse_by(&self, rouser: Rouser) {
        self.sleeper.rouse_by(rouser);
    }
}

impl<L: 'static> Waking for Inbox<L> {
    fn enqueue(&self, handle: Arc<WakeHandle>) {
        self.send(Message::Wake(handle));
    }
}
