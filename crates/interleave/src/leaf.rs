//! Leaves: operations that the scheduler resumes directly.
//!
//! # Leaf resumption
//! Polling a deeply nested future from the root costs a call and a jump per
//! level. A [`Leaf`] is a future that, when it returns `Pending` for memory, *arms*
//! itself: it leaves its address and a resume function in the slot. The next
//! resumption calls that function; the root is polled again only when the leaf
//! has finished, and then finds its output ready.
//!
//! Rules that make this equivalent to polling from the root:
//! 1. Each root poll starts with nothing armed, and so does each task. Any leaf armed afterwards
//!    was polled during this very root poll.
//! 2. If more than one thing waits for memory in one root poll (two leaves under
//!    a `join`, a touch outside any leaf), nothing stays armed: `ambiguous`. If all
//!    of them are inside one leaf, that leaf is armed instead.
//! 3. A slot that was woken through its waker is resumed at the root, because
//!    the wake may be for something that is not the leaf.
//! 4. A leaf arms itself and a touch suspends only if the context they are
//!    polled with is the slot's own. Combinators that bring their own wakers
//!    (`FuturesUnordered`) would never be told; under them a touch does not wait.
//! 5. A leaf that is polled or dropped, by any code, is disarmed first.
//! 6. A panic that comes out of a leaf resumed directly does not end the task: the
//!    root is polled next, and gets the panic from the leaf.
//! 7. An [`Observed`](crate::Observed) future in which something waits for memory counts as one
//!    more thing that does: `ambiguous`. Hence the root is polled next, or, if all waits are inside
//!    one leaf, that leaf (rule 2), and on the way down the observer.
//!
//! Hence, whenever a leaf is resumed directly, it is the only thing in the task that waits, and
//! polling the root would have led to it and nowhere else.
//!
//! # Safety argument
//! The resume function is called with the leaf's address, from the scheduler,
//! while no other reference into the task is in use:
//! - *The address is valid.* The leaf is pinned when it arms itself, so it does
//!   not move before its drop, and its drop disarms it (rule 5). A leaf holds a
//!   reference count on the slot it is armed in, so disarming never meets a freed
//!   slot, even when the leaf was smuggled out of the task in an `Rc` or `Box`.
//! - *One thread.* Leaves are not `Send` (they hold that `Rc`), and slots are only
//!   reached through the thread-local `CURRENT` that the worker on this very
//!   thread has set, checked against the context's waker.
//! - *Aliasing.* The leaf's state sits in an `UnsafeCell`, the leaf is `!Unpin`, and
//!   so are the futures that contain it; the `&mut` references that `poll` makes to
//!   `!Unpin` futures do not claim uniqueness. Intrusive waiter lists (tokio's
//!   semaphores) rest on the same rule. Between polls no reference exists at all.
//!   `tests/leaf.rs` and `tests/reentrancy.rs` pass under Miri with tree borrows
//!   (`MIRIFLAGS="-Zmiri-tree-borrows -Zmiri-permissive-provenance"`), which found
//!   that a count on the slot must be taken from its own `Weak`, not from a `&Slot`.
//! - *Reentrancy.* A direct resumption goes past the guards above the leaf: a task that keeps the
//!   leaf in an `Rc<RefCell<Pin<Box<_>>>>` locks the cell when it polls, the scheduler does not.
//!   The leaf's body, or anything it calls, may therefore get at the leaf, in safe code. Two facts
//!   close this. While the body of a leaf runs *directly*, its slot says so (`direct`): polling the
//!   leaf then panics, and dropping it aborts the process, since nothing else keeps its memory from
//!   being freed under the running body. While the body runs under an *ordinary poll*, the poller
//!   holds the leaf exclusively and it is not armed anywhere (rule 5), so that no worker that the
//!   body runs can resume it.

use std::{
    cell::{Cell, UnsafeCell},
    future::Future,
    marker::PhantomPinned,
    panic::resume_unwind,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

use crate::{
    slot::{Armed, Slot, with_slot},
    task::drop_quietly,
};

/// A future that the scheduler resumes directly. Wrap each operation that touches memory in one;
/// the levels above it then cost nothing per switch.
///
/// A leaf adds nothing to what its body may do: it may wait for events too, and
/// may be dropped at any time (but not from within its own body: that aborts the
/// process). While it waits for memory, the levels above it are not polled, so
/// wrappers that act on each poll (tracing spans, task-local scopes) do not see
/// those resumptions. Wrappers that catch panics do see the body's panics.
///
/// # Panics
/// Panics if the leaf is polled from within its own body, or again after it has finished.
#[must_use = "a leaf runs only when it is awaited"]
pub struct Leaf<F: Future> {
    state: UnsafeCell<State<F>>,
    /// Slot that this leaf was armed in since it was last polled.
    slot: Cell<Option<Rc<Slot>>>,
    _pinned: PhantomPinned,
}

enum State<F: Future> {
    Running(F),
    /// The output, until it is taken.
    Finished(Option<F::Output>),
}

impl<F: Future> std::fmt::Debug for Leaf<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Leaf").finish_non_exhaustive()
    }
}

impl<F: Future> Leaf<F> {
    /// Makes `body` directly resumable.
    #[inline(always)]
    pub fn new(body: F) -> Leaf<F> {
        Leaf {
            state: UnsafeCell::new(State::Running(body)),
            slot: Cell::new(None),
            _pinned: PhantomPinned,
        }
    }

    fn address(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }

    /// Polls the body: from an ordinary poll, or directly, without the levels above. Returns true
    /// when the body has finished; its output is in the state. (One place for both, so that the
    /// compiler puts the body right here.)
    ///
    /// # Safety
    /// `leaf` is the address of a pinned and live `Leaf<F>`. Either an ordinary poll has the leaf
    /// exclusively, or the leaf is armed, and its slot marked as direct during the call.
    #[inline(never)]
    unsafe fn advance(leaf: *const (), context: &mut Context<'_>) -> bool {
        // SAFETY: the caller's promise. Only a shared reference is made to the
        // leaf itself.
        let leaf = unsafe { &*leaf.cast::<Leaf<F>>() };
        // SAFETY: this call alone uses the state: an ordinary poll is exclusive and finds the leaf
        // disarmed; a direct poll keeps ordinary polls away (module text). The reference ends with
        // this call.
        let state = unsafe { &mut *leaf.state.get() };
        let State::Running(body) = state else {
            return true;
        };
        // SAFETY: the leaf is pinned and its body is never moved out.
        match unsafe { Pin::new_unchecked(body) }.poll(context) {
            Poll::Pending => false,
            Poll::Ready(output) => {
                *state = State::Finished(Some(output));
                true
            }
        }
    }

    fn arm(&self, slot: &Slot) {
        self.slot.set(slot.counted());
        slot.armed.set(Some(Armed {
            leaf: self.address(),
            resume: Self::advance,
        }));
    }

    /// Disarms the leaf before an ordinary poll (rule 5), and lets out the panic of the last direct
    /// resumption (rule 6).
    #[inline]
    fn part(&self) {
        if let Some(slot) = self.slot.take() {
            self.part_from(slot);
        }
    }

    fn part_from(&self, slot: Rc<Slot>) {
        if slot.is_inside(self.address()) {
            self.slot.set(Some(slot));
            panic!("a leaf was polled from within its own body");
        }
        if let Some(payload) = slot.part(self.address()) {
            drop(slot);
            resume_unwind(payload);
        }
    }

    /// Polls the body in a root poll of `slot`, and arms the leaf if rule 2 says so. Returns true
    /// when the body has finished.
    ///
    /// # Safety
    /// An ordinary poll has the leaf exclusively.
    #[inline]
    unsafe fn poll_in(&self, slot: &Slot, context: &mut Context<'_>) -> bool {
        let outside = Outside::new(slot);
        // SAFETY: the caller's promise.
        let finished = unsafe { Self::advance(self.address(), context) };
        let waits_beyond_an_inner_leaf = slot.ambiguous.get();
        if finished {
            // Waits inside the body have been given up.
            slot.armed.set(None);
        } else if waits_beyond_an_inner_leaf {
            self.arm(slot);
        }
        outside.merge();
        finished
    }
}

/// Notes of the slot from before a leaf's body was polled.
struct Outside<'s> {
    slot: &'s Slot,
    armed: Option<Armed>,
    ambiguous: bool,
}

impl<'s> Outside<'s> {
    #[inline]
    fn new(slot: &'s Slot) -> Outside<'s> {
        Outside {
            slot,
            armed: slot.armed.take(),
            ambiguous: slot.ambiguous.replace(false),
        }
    }

    #[inline]
    fn merge(self) {
        let Outside {
            slot,
            armed: outside,
            ambiguous,
        } = self;
        std::mem::forget(self);
        let inside = slot.armed.take();
        slot.ambiguous
            .set(ambiguous || outside.is_some() && inside.is_some());
        slot.armed.set(outside.or(inside));
    }
}

impl Drop for Outside<'_> {
    /// Notes that the body has panicked. Code above may catch the panic; then nothing that was
    /// noted in this root poll is to be relied upon.
    fn drop(&mut self) {
        self.slot.ambiguous.set(true);
    }
}

impl<F: Future> Future for Leaf<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let leaf = self.as_ref().get_ref();
        leaf.part();
        // SAFETY: `poll` has the leaf exclusively, and it is not armed.
        let running = matches!(unsafe { &*leaf.state.get() }, State::Running(_));
        if running {
            let finished = with_slot(context, |slot, context| match slot {
                // Inside a leaf that is resumed directly, the outer leaf stays armed.
                // SAFETY: `poll` has this leaf exclusively, and it is not armed.
                Some(slot) if !slot.is_direct() => unsafe { leaf.poll_in(slot, context) },
                // SAFETY: `poll` has the leaf exclusively, and it is not armed.
                _ => unsafe { Self::advance(leaf.address(), context) },
            });
            if !finished {
                return Poll::Pending;
            }
        }
        // SAFETY: `poll` has the leaf exclusively, and it is not armed.
        match unsafe { &mut *leaf.state.get() } {
            State::Finished(output) => match output.take() {
                Some(output) => Poll::Ready(output),
                None => panic!("a leaf was polled after it had finished"),
            },
            State::Running(_) => unreachable!("it has finished"),
        }
    }
}

impl<F: Future> Drop for Leaf<F> {
    #[inline]
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            dropped(&slot, self.address());
        }
    }
}

fn dropped(slot: &Slot, leaf: *const ()) {
    if slot.is_inside(leaf) {
        dropped_inside();
    }
    if let Some(payload) = slot.part(leaf) {
        drop_quietly(payload);
    }
}

/// Ends the process: a panic cannot leave an `extern "C"` function. Returning or
/// unwinding would let the leaf's memory be freed under its running body.
#[cold]
extern "C" fn dropped_inside() -> ! {
    panic!("a leaf was dropped from within its own body");
}
