//! Slots: where a root future lives, how it is resumed, and how leaves are
//! resumed without walking down from the root.
//!
//! # What a slot is
//! A worker owns slots. A slot holds one task's root future in storage that is
//! reused from task to task, the waker that names the slot, and two notes that a
//! poll leaves behind for the scheduler: *which kind of wait* made it return
//! `Pending`, and *which leaf*, if exactly one, is to be resumed directly.
//!
//! # The three kinds of wait, as seen here
//! - *Memory*: a [`Touch`] was polled under the slot's own context and noted
//!   `Wait::Memory`. The scheduler comes back without being told to.
//! - *Device* and *event*: everything else. Nothing was noted, the slot leaves the
//!   hot rotation, and whoever completes the wait calls the waker.
//!
//! # Leaf resumption
//! Polling a deeply nested future from the root costs a call and a jump per
//! level. A [`Leaf`] is a future that, when it returns `Pending` for memory, *arms*
//! itself: it leaves its address and a resume function in the slot. The next
//! resumption calls that function; the root is polled again only when the leaf
//! has finished, and then finds its output ready.
//!
//! Rules that make this equivalent to polling from the root:
//! 1. Each root poll starts with nothing armed. What is armed afterwards was
//!    polled during this very root poll.
//! 2. If more than one thing waits for memory in one root poll (two leaves under
//!    a `join`, a touch outside any leaf), nothing stays armed: `ambiguous`.
//! 3. A slot that was woken through its waker is resumed at the root, because
//!    the wake may be for something that is not the leaf.
//! 4. A leaf arms itself and a touch suspends only if the context they are
//!    polled with is the slot's own. Combinators that bring their own wakers
//!    (`FuturesUnordered`) would never be told; under them a touch does not wait.
//! 5. A leaf that is dropped or finishes is disarmed first.
//!
//! So whenever a leaf is resumed directly, it is the only thing in the task that
//! waits, and polling the root would have led to it and nowhere else.
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
//!   Within a direct resumption the only path to the leaf's state is the resumed
//!   call itself: the root is not polled until it has returned.
//! - *Reentrancy.* A leaf's body could only poll the leaf itself again through
//!   aliased pins, which safe code cannot make.

use std::{
    cell::{Cell, UnsafeCell},
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, Waker},
};

pub(crate) use crate::touch::Touch;
use crate::{
    root::Root,
    timer::Timers,
    wake::{WakeHandle, Waking},
};

thread_local! {
    /// The slot being resumed on this thread, or null.
    static CURRENT: Cell<*const Slot> = const { Cell::new(std::ptr::null()) };
}

/// Why the last poll returned `Pending`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// A prefetch is under way; resume after the others had a turn.
    Memory,
    /// Somebody will call the waker.
    Event,
}

/// How a resumption ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resumed {
    Pending(Wait),
    Done,
}

pub(crate) type ResumeLeaf = unsafe fn(*const (), &mut Context<'_>) -> bool;

#[derive(Clone, Copy)]
pub(crate) struct Armed {
    pub(crate) leaf: *const (),
    /// Polls the leaf's body; true when it has finished.
    pub(crate) resume: ResumeLeaf,
}

pub(crate) struct Slot {
    pub(crate) armed: Cell<Option<Armed>>,
    pub(crate) wait: Cell<Wait>,
    /// Something besides the armed leaf waits for memory: resume at the root.
    pub(crate) ambiguous: Cell<bool>,
    /// Whether touches suspend (the worker's adaptive switch).
    pub(crate) suspends: Cell<bool>,
    /// Address of the wake handle, which identifies contexts of this slot.
    identity: *const (),
    waker: Waker,
    wake: Arc<WakeHandle>,
    root: UnsafeCell<Root>,
    timers: Rc<Timers>,
}

impl Slot {
    pub(crate) fn new(
        index: u32,
        waking: Arc<dyn Waking>,
        timers: Rc<Timers>,
        suspends: bool,
    ) -> Rc<Slot> {
        let wake = WakeHandle::new(index, waking);
        let waker = wake.clone().into_waker();
        Rc::new(Slot {
            armed: Cell::new(None),
            wait: Cell::new(Wait::Event),
            ambiguous: Cell::new(false),
            suspends: Cell::new(suspends),
            identity: waker.data(),
            waker,
            wake,
            root: UnsafeCell::new(Root::new()),
            timers,
        })
    }

    pub(crate) fn set_suspends(&self, suspends: bool) {
        self.suspends.set(suspends);
    }

    pub(crate) fn index(&self) -> u32 {
        self.wake.index()
    }

    /// The next resumption polls the root (rule 3).
    pub(crate) fn disarm_any(&self) {
        self.armed.set(None);
    }

    /// The root's storage.
    ///
    /// # Safety
    /// Not while the slot is being resumed, and one borrow at a time.
    #[allow(clippy::mut_from_ref)] // The worker is the single owner, by the contract above.
    pub(crate) unsafe fn root(&self) -> &mut Root {
        // SAFETY: exclusive by the caller's promise.
        unsafe { &mut *self.root.get() }
    }

    /// Resumes the armed leaf, or polls the root.
    ///
    /// # Safety
    /// On the owning worker's thread, not from within a resumption of this slot,
    /// with a future in the root.
    #[inline]
    pub(crate) unsafe fn resume(&self) -> Resumed {
        let _current = Entered::new(self);
        self.wait.set(Wait::Event);
        let mut context = Context::from_waker(&self.waker);
        if let Some(armed) = self.armed.get() {
            // SAFETY: armed leaves are alive, pinned and alone: module text.
            if !unsafe { (armed.resume)(armed.leaf, &mut context) } {
                return Resumed::Pending(self.wait.get());
            }
        }
        self.poll_root(&mut context)
    }

    #[inline]
    fn poll_root(&self, context: &mut Context<'_>) -> Resumed {
        self.armed.set(None);
        self.ambiguous.set(false);
        self.wait.set(Wait::Event);
        // SAFETY: the callers promise that no other resumption of this slot runs,
        // and nobody else borrows the root meanwhile.
        match unsafe { (*self.root.get()).poll(context) } {
            Poll::Ready(()) => Resumed::Done,
            Poll::Pending => {
                if self.ambiguous.get() {
                    self.armed.set(None);
                }
                Resumed::Pending(self.wait.get())
            }
        }
    }

    pub(crate) fn disarm(&self, leaf: *const ()) {
        if self
            .armed
            .get()
            .is_some_and(|armed| std::ptr::eq(armed.leaf, leaf))
        {
            self.armed.set(None);
        }
    }
}

/// Sets `CURRENT` for the duration of a resumption, panics included.
struct Entered {
    outer: *const Slot,
}

impl Entered {
    #[inline(always)]
    fn new(slot: &Slot) -> Entered {
        Entered {
            outer: CURRENT.replace(slot),
        }
    }
}

impl Drop for Entered {
    #[inline(always)]
    fn drop(&mut self) {
        CURRENT.set(self.outer);
    }
}

/// Runs `f` with the slot that is being resumed with this very context (rule 4).
#[inline(always)]
pub(crate) fn with_slot<R>(context: &Context<'_>, f: impl FnOnce(&Slot) -> R) -> Option<R> {
    let current = CURRENT.get();
    if current.is_null() {
        return None;
    }
    // SAFETY: `Entered` keeps the pointer current only while the slot is borrowed
    // by the resumption below us on this thread's stack.
    let slot = unsafe { &*current };
    std::ptr::eq(context.waker().data(), slot.identity).then(|| f(slot))
}

/// Whether the running code is in a slot whose touches suspend.
#[inline(always)]
pub(crate) fn in_suspending_slot() -> bool {
    let current = CURRENT.get();
    // SAFETY: as in `with_slot`.
    !current.is_null() && unsafe { (*current).suspends.get() }
}

/// The timers of the worker that is polling with `context`.
pub(crate) fn timers(context: &Context<'_>) -> Option<Rc<Timers>> {
    with_slot(context, |slot| slot.timers.clone())
}
