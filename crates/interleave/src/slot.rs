//! Slots: where a root future lives and how it is resumed.
//!
//! # What a slot is
//! A worker owns slots. A slot holds one task's root future in storage that is reused from task to
//! task, the waker that names the slot, and two notes that a poll leaves behind for the scheduler:
//! *which kind of wait* made it return `Pending`, and *which leaf*, if exactly one, is to be
//! resumed directly. The module `leaf.rs` explains why direct resumption is allowed.
//!
//! # The three kinds of wait, as seen here
//! - *Memory*: a [`Touch`](crate::Touch) was polled under the slot's own context and noted
//!   [`Wait::Memory`]. The scheduler comes back without being told to.
//! - *Device*: a future noted [`Wait::Device`], no matter under whose context, and the task does
//!   not wait for memory besides.
//! - *Event*: everything else, whatever was noted. The slot leaves the hot rotation, as it does for
//!   a device, and the completer of the wait calls the waker.
//!
//! # Fields, and access to them
//! Only the worker's thread reaches a slot. `root` is borrowed by a root poll and, between
//! resumptions, by the worker; by nothing else. All other state is in cells.
//! - `armed`: the leaf to resume directly. Set by leaves during a root poll, cleared
//!   by [`Slot::poll_root`], by a wake, by the leaf itself and by [`Slot::vacate`], so
//!   that a slot never carries a leaf of one task over to the next.
//! - `direct`: true exactly while the armed leaf's body is on the stack, called from
//!   [`Slot::resume`]. Left true when that call unwinds, by which [`Slot::postpone`] knows that the
//!   panic came from the leaf.
//! - `fallen`: the panic of a leaf that was resumed directly, kept until the root
//!   polls that leaf.
//! - `noted`, `ambiguous`: notes of the current poll, see `wait.rs` and `leaf.rs`.

use std::{
    any::Any,
    cell::{Cell, UnsafeCell},
    ptr::NonNull,
    rc::{Rc, Weak},
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use crate::{
    class::Class,
    root::Root,
    slice::{Label, LongSlice},
    stage::Stage,
    task::drop_quietly,
    timer::Timers,
    wait::Wait,
    wake::{WakeHandle, Waking},
};

thread_local! {
    /// The slot being resumed on this thread, or null.
    static CURRENT: Cell<*const Slot> = const { Cell::new(std::ptr::null()) };
}

/// Reason why the last poll returned `Pending`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Noted {
    pub(crate) wait: Wait,
    /// Whether the slot stays in the rotation; otherwise its waker will be called.
    pub(crate) is_hot: bool,
}

impl Noted {
    const NOTHING: Noted = Noted {
        wait: Wait::Event,
        is_hot: false,
    };
}

/// Outcome of a resumption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resumed {
    Pending(Noted),
    Done,
}

/// Payload of a panic.
pub(crate) type Payload = Box<dyn Any + Send>;

pub(crate) type ResumeLeaf = unsafe fn(*const (), &mut Context<'_>) -> bool;

#[derive(Clone, Copy)]
pub(crate) struct Armed {
    pub(crate) leaf: *const (),
    /// Polls the leaf's body; returns true when the body has finished.
    pub(crate) resume: ResumeLeaf,
}

struct Fallen {
    leaf: *const (),
    payload: Payload,
}

/// A slot. The fields that a direct resumption needs come first and take one line.
#[repr(C, align(64))]
pub(crate) struct Slot {
    pub(crate) armed: Cell<Option<Armed>>,
    /// Next slot of the worker's rotation.
    pub(crate) next: Cell<Option<NonNull<Slot>>>,
    waker: Waker,
    /// Address of the wake handle, which identifies contexts of this slot.
    identity: *const (),
    direct: Cell<bool>,
    noted: Cell<Noted>,
    /// Suspension point at which the slot waits, or last waited, for memory.
    stage: Cell<Stage>,
    /// Whether something besides the armed leaf waits for memory: the next resumption is at the
    /// root.
    pub(crate) ambiguous: Cell<bool>,
    /// Whether touches suspend (the worker's adaptive switch).
    suspends: Cell<bool>,
    /// Class of the task: interactive or batch. Used by the worker alone.
    class: Cell<Class>,
    /// Processor time of the task since it began or since it last waited for its client, sampled:
    /// see `worker/pace.rs`.
    spent: Cell<Duration>,
    /// Label that the task gave itself.
    label: Cell<Label>,
    this: Weak<Slot>,
    fallen: Cell<Option<Box<Fallen>>>,
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
        Rc::new_cyclic(|this| Slot {
            this: this.clone(),
            armed: Cell::new(None),
            next: Cell::new(None),
            direct: Cell::new(false),
            fallen: Cell::new(None),
            noted: Cell::new(Noted::NOTHING),
            stage: Cell::default(),
            ambiguous: Cell::new(false),
            suspends: Cell::new(suspends),
            class: Cell::default(),
            spent: Cell::default(),
            label: Cell::default(),
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

    /// Returns the class of the task.
    #[inline(always)]
    pub(crate) fn class(&self) -> Class {
        self.class.get()
    }

    /// Moves the task to a class, with nothing spent in it.
    pub(crate) fn set_class(&self, class: Class) {
        self.class.set(class);
        self.spent.set(Duration::ZERO);
    }

    /// Charges processor time to the task. Returns all time charged since it was last reset.
    pub(crate) fn charge(&self, time: Duration) -> Duration {
        let spent = self.spent.get() + time;
        self.spent.set(spent);
        spent
    }

    /// Returns the label that the task gave itself.
    pub(crate) fn label(&self) -> Label {
        self.label.get()
    }

    pub(crate) fn set_label(&self, label: Label) {
        self.label.set(label);
    }

    /// Returns a counted reference, for a leaf that arms itself.
    pub(crate) fn counted(&self) -> Option<Rc<Slot>> {
        self.this.upgrade()
    }

    /// Disarms any leaf: the next resumption polls the root (rule 3 of `leaf.rs`).
    pub(crate) fn disarm_any(&self) {
        self.armed.set(None);
    }

    /// Returns the root's storage.
    ///
    /// # Safety
    /// The slot is not being resumed, and no other borrow of the root is live.
    #[allow(clippy::mut_from_ref)] // The worker is the single owner, by the contract above.
    pub(crate) unsafe fn root(&self) -> &mut Root {
        // SAFETY: exclusive by the caller's promise.
        unsafe { &mut *self.root.get() }
    }

    /// Drops the task, if there is one, and all notes about it.
    ///
    /// # Safety
    /// The contract of [`Slot::root`].
    pub(crate) unsafe fn vacate(&self) {
        self.armed.set(None);
        self.direct.set(false);
        self.forget_fallen();
        // SAFETY: the caller's promise. Code run by the task's drop has no access to the worker,
        // hence none to this storage.
        unsafe { self.root() }.clear();
    }

    /// Resumes the armed leaf, or polls the root.
    ///
    /// # Safety
    /// The caller runs on the owning worker's thread, not within a resumption of this slot, and the
    /// root holds a future.
    #[inline]
    pub(crate) unsafe fn resume(&self) -> Resumed {
        let _current = Entered::new(self);
        self.noted.set(Noted::NOTHING);
        let mut context = Context::from_waker(&self.waker);
        if let Some(armed) = self.armed.get() {
            self.direct.set(true);
            // SAFETY: armed leaves are alive, pinned and alone (`leaf.rs`), and
            // `direct` keeps them so until the call has returned.
            let finished = unsafe { (armed.resume)(armed.leaf, &mut context) };
            self.direct.set(false);
            if !finished {
                return Resumed::Pending(self.noted.get());
            }
        }
        self.poll_root(&mut context)
    }

    #[inline]
    fn poll_root(&self, context: &mut Context<'_>) -> Resumed {
        self.armed.set(None);
        self.ambiguous.set(false);
        self.noted.set(Noted::NOTHING);
        // SAFETY: the callers promise that no other resumption of this slot runs, and nothing else
        // borrows the root meanwhile.
        match unsafe { (*self.root.get()).poll(context) } {
            Poll::Ready(()) => {
                // The next task must not find a leaf that this one left behind.
                self.armed.set(None);
                self.forget_fallen();
                Resumed::Done
            }
            Poll::Pending => {
                if self.ambiguous.get() {
                    self.armed.set(None);
                }
                Resumed::Pending(self.noted.get())
            }
        }
    }

    /// Returns the suspension point at which the slot waits, or last waited, for memory.
    #[inline(always)]
    pub(crate) fn stage(&self) -> Stage {
        self.stage.get()
    }

    /// Notes that the task waits at `stage` and is to stay in the rotation. Returns whether touches
    /// suspend: if not, nothing is noted.
    #[inline(always)]
    pub(crate) fn touched(&self, stage: Stage) -> bool {
        let suspends = self.suspends.get();
        if suspends {
            self.stage.set(stage);
            self.noted.set(Noted {
                wait: Wait::Memory,
                is_hot: true,
            });
            // A leaf around the touch clears this flag and arms itself.
            self.ambiguous.set(true);
        }
        suspends
    }

    /// Notes that the task gives the others a turn, and stays in the rotation. (A task leaves the
    /// rotation of a worker that keeps one task in flight between two turns as it does any other
    /// rotation.)
    pub(crate) fn yielded(&self, stage: Stage) {
        self.stage.set(stage);
        self.noted.set(Noted {
            wait: Wait::Turn,
            is_hot: true,
        });
        self.ambiguous.set(true);
    }

    /// Notes the kind of wait until the waker is called.
    pub(crate) fn note(&self, wait: Wait) {
        let noted = self.noted.get();
        if !noted.is_hot && wait > noted.wait {
            self.noted.set(Noted {
                wait,
                is_hot: false,
            });
        }
    }

    pub(crate) fn noted(&self) -> Noted {
        self.noted.get()
    }

    /// Returns whether the armed leaf's body is on the stack.
    #[inline]
    pub(crate) fn is_direct(&self) -> bool {
        self.direct.get()
    }

    /// Returns whether the body of `leaf` is on the stack, called directly.
    pub(crate) fn is_inside(&self, leaf: *const ()) -> bool {
        self.direct.get() && self.is_armed(leaf)
    }

    fn is_armed(&self, leaf: *const ()) -> bool {
        self.armed
            .get()
            .is_some_and(|armed| std::ptr::eq(armed.leaf, leaf))
    }

    /// Forgets `leaf`; returns the panic that came out of the leaf's last resumption.
    pub(crate) fn part(&self, leaf: *const ()) -> Option<Payload> {
        if self.is_armed(leaf) {
            self.armed.set(None);
        }
        let fallen = self.fallen.take()?;
        if std::ptr::eq(fallen.leaf, leaf) {
            return Some(fallen.payload);
        }
        self.fallen.set(Some(fallen));
        None
    }

    /// Takes in the panic that has come out of [`Slot::resume`]. A panic that came straight from a
    /// leaf is kept until the root polls that leaf and gets it from there, so that code in between
    /// can catch it. Any other panic is returned: the task is over.
    pub(crate) fn postpone(&self, payload: Payload) -> Option<Payload> {
        match (self.direct.replace(false), self.armed.take()) {
            (true, Some(armed)) => {
                self.forget_fallen();
                self.fallen.set(Some(Box::new(Fallen {
                    leaf: armed.leaf,
                    payload,
                })));
                None
            }
            _ => Some(payload),
        }
    }

    #[inline]
    fn forget_fallen(&self) {
        if let Some(fallen) = self.fallen.take() {
            drop_quietly(fallen.payload);
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

/// Runs `f` with the slot that is being resumed with `context`, if there is one (rule 4 of
/// `leaf.rs`).
#[inline(always)]
pub(crate) fn with_slot<R>(
    context: &mut Context<'_>,
    f: impl FnOnce(Option<&Slot>, &mut Context<'_>) -> R,
) -> R {
    let current = CURRENT.get();
    // SAFETY: `Entered` keeps the pointer current only while the slot is borrowed
    // by the resumption below us on this thread's stack.
    let slot = unsafe { current.as_ref() };
    let own = slot.filter(|slot| std::ptr::eq(context.waker().data(), slot.identity));
    f(own, context)
}

/// Runs `f` with the slot that is being resumed on this thread, if there is one, whatever waker is
/// in use.
#[inline(always)]
pub(crate) fn current<R>(f: impl FnOnce(&Slot) -> R) -> Option<R> {
    let current = CURRENT.get();
    // SAFETY: as in `with_slot`.
    unsafe { current.as_ref() }.map(f)
}

/// Returns whether the running code is in a slot whose touches suspend.
#[inline(always)]
pub(crate) fn in_suspending_slot() -> bool {
    current(|slot| slot.suspends.get()).unwrap_or(false)
}

/// Returns the clock of the worker whose slot is being resumed on this thread, and the worker's
/// last reading between two resumptions.
pub(crate) fn time() -> Option<(Duration, Duration)> {
    current(|slot| (slot.timers.now(), slot.timers.read_at()))
}

/// Returns the longest slice of the worker whose slot is being resumed on this thread.
pub(crate) fn longest_slice() -> Option<LongSlice> {
    current(|slot| slot.timers.longest()).flatten()
}

/// Forgets the longest slice of the worker whose slot is being resumed on this thread.
pub(crate) fn forget_longest_slice() {
    current(|slot| slot.timers.set_longest(None));
}

/// Returns the timers of the worker whose slot is being resumed on this thread. A timer calls the
/// waker that it was given.
pub(crate) fn timers() -> Option<Rc<Timers>> {
    current(|slot| slot.timers.clone())
}
