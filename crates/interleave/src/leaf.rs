//! Leaves: operations that the scheduler resumes directly.

use std::{
    cell::{Cell, UnsafeCell},
    future::Future,
    marker::PhantomPinned,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

use crate::slot::{Armed, Slot, with_slot};

/// A future that the scheduler resumes directly. Wrap each operation that touches
/// memory in one; whatever is awaited above it then costs nothing per switch.
///
/// A leaf adds nothing to what its body may do: it may wait for events too, and
/// may be dropped at any time. While it waits for memory, the levels above it
/// are not polled, so wrappers that act on each poll (tracing spans, task-local
/// scopes) do not see those resumptions.
#[must_use = "a leaf runs only when it is awaited"]
pub struct Leaf<F: Future> {
    state: UnsafeCell<State<F>>,
    /// The slot this leaf is, or was last, armed in.
    slot: Cell<Option<Rc<Slot>>>,
    _pinned: PhantomPinned,
}

enum State<F: Future> {
    Running(F),
    Finished(F::Output),
    Taken,
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

    /// Resumes the body without the levels above. True when it has finished, its
    /// output waiting for the next ordinary poll.
    ///
    /// # Safety
    /// `leaf` is the address of an armed, hence pinned and live, `Leaf<F>`, and
    /// nothing else is using its state.
    unsafe fn resume(leaf: *const (), context: &mut Context<'_>) -> bool {
        // SAFETY: the caller's promise. Only a shared reference is made to the
        // leaf itself.
        let leaf = unsafe { &*leaf.cast::<Leaf<F>>() };
        // SAFETY: as above; the exclusive reference ends with this call.
        let state = unsafe { &mut *leaf.state.get() };
        let State::Running(body) = state else {
            // Only running leaves are armed.
            return true;
        };
        // SAFETY: the leaf is pinned and its body is never moved out.
        match unsafe { Pin::new_unchecked(body) }.poll(context) {
            Poll::Pending => false,
            Poll::Ready(output) => {
                *state = State::Finished(output);
                true
            }
        }
    }

    #[inline]
    fn arm(&self, slot: &Slot) {
        if slot
            .armed
            .get()
            .is_some_and(|armed| !std::ptr::eq(armed.leaf, self.address()))
        {
            slot.ambiguous.set(true); // Rule 2: two leaves.
            return;
        }
        let registered = self.slot.take();
        let here = registered
            .as_ref()
            .is_some_and(|other| std::ptr::eq(&**other, slot));
        if here {
            self.slot.set(registered);
        } else {
            if let Some(other) = registered {
                other.disarm(self.address());
            }
            // SAFETY: slots exist only inside the `Rc` that `Slot::new` made, and
            // `CURRENT` (where this reference is from) points at that value.
            let counted = unsafe {
                Rc::increment_strong_count(std::ptr::from_ref(slot));
                Rc::from_raw(std::ptr::from_ref(slot))
            };
            self.slot.set(Some(counted));
        }
        slot.armed.set(Some(Armed {
            leaf: self.address(),
            resume: Self::resume,
        }));
    }

    #[inline]
    fn disarm(&self) {
        if let Some(slot) = self.slot.take() {
            slot.disarm(self.address());
        }
    }
}

impl<F: Future> Future for Leaf<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let leaf = self.as_ref().get_ref();
        // SAFETY: `poll` has the leaf exclusively; direct resumption and polling
        // never overlap (module text).
        let state = unsafe { &mut *leaf.state.get() };
        match state {
            State::Running(body) => {
                let ambiguous = with_slot(context, |slot| slot.ambiguous.replace(false));
                // SAFETY: the leaf is pinned and its body is never moved out.
                match unsafe { Pin::new_unchecked(body) }.poll(context) {
                    Poll::Ready(output) => {
                        *state = State::Taken;
                        leaf.disarm();
                        with_slot(context, |slot| {
                            slot.ambiguous.set(ambiguous.unwrap_or(false))
                        });
                        Poll::Ready(output)
                    }
                    Poll::Pending => {
                        with_slot(context, |slot| {
                            // The touch inside noted itself as ambiguous.
                            let waits_for_memory =
                                slot.ambiguous.replace(ambiguous.unwrap_or(false));
                            if waits_for_memory {
                                leaf.arm(slot);
                            }
                        });
                        Poll::Pending
                    }
                }
            }
            State::Finished(_) => {
                leaf.disarm();
                match std::mem::replace(state, State::Taken) {
                    State::Finished(output) => Poll::Ready(output),
                    _ => unreachable!("matched above"),
                }
            }
            State::Taken => panic!("a leaf was polled after it had finished"),
        }
    }
}

impl<F: Future> Drop for Leaf<F> {
    #[inline]
    fn drop(&mut self) {
        self.disarm();
    }
}
