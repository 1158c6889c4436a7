//! Tasks: submission, results, cancellation.

use std::{
    cell::RefCell,
    fmt,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    task::{Context, Poll},
};

use futures_channel::oneshot;

use crate::{
    inbox::{Inbox, Message, Start},
    root::Root,
    slot::Payload,
    worker,
};

/// Reason why a task has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lost {
    /// The task panicked; the panic's message.
    Panicked(String),
    /// The worker was shut down before or while the task ran.
    Closed,
    /// The calling thread is a worker: blocking it would make it wait for itself.
    WouldBlockWorker,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::Panicked(message) => write!(f, "the task panicked: {message}"),
            Lost::Closed => f.write_str("the worker was shut down before the task had finished"),
            Lost::WouldBlockWorker => {
                f.write_str("a worker cannot block on a task; await it, or block on another thread")
            }
        }
    }
}

impl std::error::Error for Lost {}

/// Place for a task's future. Consumed by [`Place::put`]; a place that is not used starts nothing.
pub struct Place<'s> {
    root: &'s mut Root,
}

impl<'s> Place<'s> {
    pub(crate) fn new(root: &'s mut Root) -> Place<'s> {
        Place { root }
    }

    /// Starts the future that `make` returns, without allocating.
    #[inline]
    pub fn put<F: Future<Output = ()> + 'static>(self, make: impl FnOnce() -> F) {
        self.root.emplace(make);
    }
}

/// A supply of tasks that the worker draws from whenever it has room: a closed
/// loop of clients, a batch to work off.
pub trait Source<L>: 'static {
    /// Puts the next task into `place`, or leaves it empty: the source is then dropped and not
    /// asked again.
    fn next(&mut self, local: &Rc<L>, place: Place<'_>);
}

/// A source of tasks made by a closure; `None` ends it.
#[derive(Debug)]
pub struct FromFn<M>(pub M);

impl<L, M, F> Source<L> for FromFn<M>
where
    M: FnMut(&Rc<L>) -> Option<F> + 'static,
    F: Future<Output = ()> + 'static,
{
    #[inline]
    fn next(&mut self, local: &Rc<L>, place: Place<'_>) {
        if let Some(future) = (self.0)(local) {
            place.put(|| future);
        }
    }
}

/// A source like [`FromFn`] whose closure returns a maker of the future, which is called in the
/// future's place: a frame of a kilobyte is not moved there.
#[derive(Debug)]
pub struct InPlace<M>(pub M);

impl<L, M, T, F> Source<L> for InPlace<M>
where
    M: FnMut(&Rc<L>) -> Option<T> + 'static,
    T: FnOnce() -> F,
    F: Future<Output = ()> + 'static,
{
    #[inline]
    fn next(&mut self, local: &Rc<L>, place: Place<'_>) {
        if let Some(make) = (self.0)(local) {
            place.put(make);
        }
    }
}

/// Identity of a submitted task, shared between its handle and its worker.
#[derive(Debug)]
pub(crate) struct Ticket {
    /// Whether no handle waits for the task any more.
    pub(crate) cancelled: AtomicBool,
    /// Index of the slot that runs the task. Written and read by the worker alone; it does not say
    /// whether the task still runs.
    pub(crate) slot: AtomicU32,
}

thread_local! {
    /// Message of the panic that ends the task which [`end`] is dropping.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Drops a task by `drop_task`, whose panics are contained. With a `payload`, the task ends because
/// of that panic, and its handle is told so.
pub(crate) fn end(payload: Option<Payload>, drop_task: impl FnOnce()) {
    /// The message that an outer `end` on this stack had set.
    struct Outer(Option<String>);
    impl Drop for Outer {
        fn drop(&mut self) {
            set_panic(self.0.take());
        }
    }
    let outer = Outer(set_panic(payload.as_ref().map(message)));
    if let Err(second) = catch_unwind(AssertUnwindSafe(drop_task)) {
        drop_quietly(second);
    }
    drop(outer);
    if let Some(payload) = payload {
        drop_quietly(payload);
    }
}

/// Sets the message of the panic, returns the one before. A worker may be dropped while its thread
/// ends and the thread-local is gone; no task needs the message then.
fn set_panic(message: Option<String>) -> Option<String> {
    PANIC
        .try_with(|panic| panic.replace(message))
        .ok()
        .flatten()
}

fn message(payload: &Payload) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|message| (*message).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value that is not text".to_owned())
}

/// Drops the payload of a panic. Its drop may panic in turn, and the payload of that panic again;
/// the chain is cut by leaking the second.
pub(crate) fn drop_quietly(payload: Payload) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}

/// The sending end of a result. If dropped unused, it sends the reason.
struct Completion<T: Send + 'static> {
    sender: Option<oneshot::Sender<Result<T, Lost>>>,
    lost: Lost,
}

impl<T: Send + 'static> Completion<T> {
    fn send(&mut self, value: T) {
        if let Some(sender) = self.sender.take() {
            // The receiver may be gone; then the value is not wanted.
            let _ = sender.send(Ok(value));
        }
    }
}

impl<T: Send + 'static> Drop for Completion<T> {
    fn drop(&mut self) {
        if let Some(sender) = self.sender.take() {
            let _ = sender.send(Err(self.lost.clone()));
        }
    }
}

/// The root future of a submitted task.
///
/// Written by hand because an `async` block that panics drops what it holds while still unwinding,
/// before the message is known. `Task` keeps the completion until [`end`] drops it.
struct Task<F: Future<Output: Send + 'static>> {
    /// Structurally pinned. Dropped before the completion is sent: a task has cleaned up when its
    /// handle hears of it.
    future: Option<F>,
    completion: Completion<F::Output>,
}

impl<F: Future<Output: Send + 'static>> Future for Task<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: `future` is not moved below; assigning `None` drops it in place.
        let task = unsafe { self.get_unchecked_mut() };
        let future = task.future.as_mut().expect("polled after it had finished");
        // SAFETY: pinned with the task.
        let value = std::task::ready!(unsafe { Pin::new_unchecked(future) }.poll(context));
        task.future = None;
        task.completion.send(value);
        Poll::Ready(())
    }
}

impl<F: Future<Output: Send + 'static>> Drop for Task<F> {
    fn drop(&mut self) {
        // The message is taken before anything else is dropped: it is for this task.
        if let Some(message) = set_panic(None) {
            self.completion.lost = Lost::Panicked(message);
        }
    }
}

struct Submitted<T: Send + 'static, M> {
    make: M,
    completion: Completion<T>,
}

impl<L, T, M, F> Start<L> for Submitted<T, M>
where
    L: 'static,
    T: Send + 'static,
    M: FnOnce(&Rc<L>) -> F + Send,
    F: Future<Output = T> + 'static,
{
    fn start(self: Box<Self>, local: &Rc<L>, place: Place<'_>) {
        let Submitted {
            make,
            mut completion,
        } = *self;
        match catch_unwind(AssertUnwindSafe(|| make(local))) {
            Ok(future) => place.put(|| Task {
                future: Some(future),
                completion,
            }),
            Err(payload) => {
                completion.lost = Lost::Panicked(message(&payload));
                drop_quietly(payload);
            }
        }
    }
}

/// Sends a task by [`Message::Start`] and returns its handle.
pub(crate) fn submit<L, T, M, F>(inbox: &Arc<Inbox<L>>, make: M) -> JoinHandle<T, L>
where
    L: 'static,
    T: Send + 'static,
    M: FnOnce(&Rc<L>) -> F + Send + 'static,
    F: Future<Output = T> + 'static,
{
    let (sender, receiver) = oneshot::channel();
    let ticket = Arc::new(Ticket {
        cancelled: AtomicBool::new(false),
        slot: AtomicU32::new(u32::MAX),
    });
    let task = Submitted {
        make,
        completion: Completion {
            sender: Some(sender),
            lost: Lost::Closed,
        },
    };
    inbox.open.fetch_add(1, Ordering::Relaxed);
    inbox.send(Message::Start(Box::new(task), ticket.clone()));
    JoinHandle {
        receiver: Some(receiver),
        received: None,
        inbox: inbox.clone(),
        ticket,
    }
}

/// The result of a submitted task, to be awaited in any runtime or waited for.
/// Dropping it cancels the task.
#[must_use = "dropping a join handle cancels its task"]
pub struct JoinHandle<T, L: 'static> {
    receiver: Option<oneshot::Receiver<Result<T, Lost>>>,
    /// Result that has been received, and not been asked for yet.
    received: Option<Result<T, Lost>>,
    inbox: Arc<Inbox<L>>,
    ticket: Arc<Ticket>,
}

impl<T, L: 'static> fmt::Debug for JoinHandle<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

impl<T, L: 'static> JoinHandle<T, L> {
    /// Blocks the calling thread until the task has ended.
    ///
    /// # Errors
    /// [`Lost::WouldBlockWorker`] on a worker's own thread; otherwise the error that awaiting the
    /// handle returns.
    pub fn wait(self) -> Result<T, Lost> {
        if worker::on_worker_thread() {
            return Err(Lost::WouldBlockWorker);
        }
        pollster::block_on(self)
    }

    /// Lets the task run on with no handle that waits for it.
    pub fn detach(mut self) {
        self.receiver = None;
    }

    /// Returns whether the result has come (or never will).
    pub(crate) fn is_ready(&mut self) -> bool {
        let received = self.receiver.as_mut().map(oneshot::Receiver::try_recv);
        if let Some(Ok(None)) = received {
            return false;
        }
        if let Some(Ok(Some(result))) = received {
            self.received = Some(result);
        }
        self.receiver = None;
        true
    }
}

/// No field is pinned with the handle.
impl<T, L: 'static> Unpin for JoinHandle<T, L> {}

impl<T, L: 'static> Future for JoinHandle<T, L> {
    type Output = Result<T, Lost>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(receiver) = self.receiver.as_mut() else {
            return Poll::Ready(self.received.take().unwrap_or(Err(Lost::Closed)));
        };
        let result = std::task::ready!(Pin::new(receiver).poll(context));
        self.receiver = None;
        Poll::Ready(result.unwrap_or(Err(Lost::Closed)))
    }
}

impl<T, L: 'static> Drop for JoinHandle<T, L> {
    fn drop(&mut self) {
        if !self.is_ready() {
            self.ticket.cancelled.store(true, Ordering::Release);
            self.inbox.send(Message::Cancel(self.ticket.clone()));
        }
    }
}
