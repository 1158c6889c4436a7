//! Memory of a large vector is backed by the system before its owner writes to it: [`backed`].
//!
//! Whoever writes first to a huge page waits for milliseconds where the system has to find it (`ahead.rs`). A task
//! that is about to fill a large vector gives it away meanwhile, to a thread that all of the process shares and
//! that serves nobody, and lets others go on. The thread owns the vector while it touches its pages; if nobody
//! waits for it any more, the thread frees it.
//!
//! Bounded by who asks: a task has one vector with the thread at a time.

use std::{
    future::Future,
    mem::MaybeUninit,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, OnceLock, mpsc},
    task::{Context, Poll, Waker},
    thread,
};

use crate::mapping::HUGE_PAGE_BYTES;

type Work = Box<dyn FnOnce() + Send>;

/// The vector, empty, with all of the memory that it has room for backed by the system. At once if that is less
/// than two huge pages.
///
/// # Suspension
/// Wakes from another thread.
///
/// # Cancellation
/// Dropping the future frees the vector.
pub fn backed<T: Send + 'static>(mut vector: Vec<T>) -> Backing<T> {
    vector.clear();
    let place = Arc::new(Mutex::new(Place::default()));
    if vector.capacity() * size_of::<T>() < 2 * HUGE_PAGE_BYTES {
        lock(&place).vector = Some(vector);
        return Backing { place };
    }
    let work = {
        let place = place.clone();
        move || {
            touch(vector.spare_capacity_mut());
            let mut place = lock(&place);
            place.vector = Some(vector);
            if let Some(waker) = place.waker.take() {
                drop(place);
                waker.wake();
            }
        }
    };
    hand_over(Box::new(work));
    Backing { place }
}

/// See [`backed`].
#[must_use = "the vector is in it"]
pub struct Backing<T> {
    place: Arc<Mutex<Place<T>>>,
}

/// Where the vector lies when it is ready.
struct Place<T> {
    vector: Option<Vec<T>>,
    waker: Option<Waker>,
}

impl<T> Default for Place<T> {
    fn default() -> Self {
        Place {
            vector: None,
            waker: None,
        }
    }
}

impl<T> Future for Backing<T> {
    type Output = Vec<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Vec<T>> {
        let mut place = lock(&self.place);
        match place.vector.take() {
            Some(vector) => Poll::Ready(vector),
            None => {
                place.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

fn lock<T>(place: &Mutex<Place<T>>) -> MutexGuard<'_, Place<T>> {
    place.lock().unwrap_or_else(|e| e.into_inner())
}

/// Has the thread do it; in place, if the system refuses a thread.
fn hand_over(work: Work) {
    static THREAD: OnceLock<Option<mpsc::Sender<Work>>> = OnceLock::new();
    let begin = || {
        let (sender, receiver) = mpsc::channel::<Work>();
        let named = thread::Builder::new().name("weft-memory".to_owned());
        let begun = named.spawn(move || receiver.into_iter().for_each(|work| work()));
        begun.is_ok().then_some(sender)
    };
    match THREAD.get_or_init(begin) {
        // The thread ends with the process.
        Some(sender) => drop(sender.send(work)),
        None => work(),
    }
}

/// Writes into each page.
fn touch<T>(memory: &mut [MaybeUninit<T>]) {
    let bytes = size_of_val(memory);
    let start = memory.as_mut_ptr().cast::<u8>();
    for at in (0..bytes).step_by(HUGE_PAGE_BYTES) {
        // SAFETY: within the memory, which has no values yet.
        unsafe { start.add(at).write_volatile(0) };
    }
    if let Some(last) = bytes.checked_sub(1) {
        // SAFETY: as above.
        unsafe { start.add(last).write_volatile(0) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::task::Wake;

    use super::*;

    struct Unpark(thread::Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    /// The vector, and how often it was asked for.
    fn wait<T>(mut backing: Backing<T>) -> (Vec<T>, u32) {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        let mut polls = 0;
        loop {
            polls += 1;
            match Pin::new(&mut backing).poll(&mut context) {
                Poll::Ready(vector) => return (vector, polls),
                Poll::Pending => thread::park(),
            }
        }
    }

    #[test]
    fn a_vector_comes_back_with_its_room() {
        let (small, polls) = wait(backed(Vec::<u64>::with_capacity(100)));
        assert_eq!((small.capacity(), polls), (100, 1));
        for pages in [3, 20] {
            let room = pages * HUGE_PAGE_BYTES / size_of::<u64>() + 7;
            let mut vector = crate::on_huge_pages::<u64>(room).unwrap();
            vector.push(1);
            let (vector, _) = wait(backed(vector));
            assert!(vector.is_empty() && vector.capacity() >= room);
        }
    }

    #[test]
    fn who_does_not_wait_keeps_nobody() {
        for _ in 0..10 {
            drop(backed(Vec::<u8>::with_capacity(4 * HUGE_PAGE_BYTES)));
        }
        let (vector, _) = wait(backed(Vec::<u8>::with_capacity(4 * HUGE_PAGE_BYTES)));
        assert!(vector.is_empty());
    }
}
