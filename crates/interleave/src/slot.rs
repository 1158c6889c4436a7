//! Slots: where a root future lives and how it is resumed.
//!
//! # What a slot is
//! A worker owns slots. A slot holds one task's root future in storage that is
//! reused from task to task, the waker that names the slot, and two notes that a
//! poll leaves behind for the scheduler: *which kind of wait* made it return
//! `Pending`, and *which leaf*, if exactly one, is to be resumed directly. Why that
//! is allowed is the subject of `leaf.rs`.
//!
//! # The three kinds of wait, as seen here
//! - *Memory*: a [`Touch`](crate::Touch) was polled under the slot's own context and noted
//!   [`Wait::Memory`]. The scheduler comes back without being told to.
//! - *Device*: somebody noted [`Wait::Device`], no matter under whose context, and memory is not
//!   waited for besides.
//! - *Event*: everything else, whatever was noted. As for a device, the slot leaves the hot
//!   rotation, and whoever completes the wait calls the waker.
//!
//! # Fields, and who may touch them when
//! Only the worker's thread reaches a slot. `root` is borrowed by a root poll and,
//! between resumptions, by the worker; nobody else. All other state is in cells.
//! - `armed`: the leaf to resume directly. Set by leaves during a root poll, cleared
//!   by [`Slot::poll_root`], by a wake, by the leaf itself and by [`Slot::vacate`], so
//!   that a slot never carries a leaf of one task over to the next.
//! - `direct`: true exactly while the armed leaf's body is on the stack, called from
//!   [`Slot::resume`]. Left true when that call unwinds, which is how
//!   [`Slot::postpone`] knows whose panic it was.
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

/// Why the last poll returned `Pending`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Noted {
    pub(crate) wait: Wait,
    /// It stays in the rotation; otherwise somebody will call the waker.
    pub(crate) is_hot: bool,
}

impl Noted {
    const NOTHING: Noted = Noted {
        wait: Wait::Event,
        is_hot: false,
    };
}

/// How a resumption ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resumed {
    Pending(Noted),
    Done,
}

/// What a panic carries.
pub(crate) type Payload = Box<dyn Any + Send>;

pub(crate) type ResumeLeaf = unsafe fn(*const (), &mut Context<'_>) -> bool;

#[derive(Clone, Copy)]
pub(crate) struct Armed {
    pub(crate) leaf: *const (),
    /// Polls the leaf's body; true when it has finished.
    pub(crate) resume: ResumeLeaf,
}

struct Fallen {
    leaf: *const (),
    payload: Payload,
}

/// What a direct resumption needs comes first and is one line.
#[repr(C, align(64))]
pub(crate) struct Slot {
    pub(crate) armed: Cell<Option<Armed>>,
    /// The worker's rotation: who comes after this slot.
    pub(crate) next: Cell<Option<NonNull<Slot>>>,
    waker: Waker,
    /// Address of the wake handle, which identifies contexts of this slot.
    identity: *const (),
    direct: Cell<bool>,
    noted: Cell<Noted>,
    /// Where the slot waits, or last waited, for memory.
    stage: Cell<Stage>,
    /// Something besides the armed leaf waits for memory: resume at the root.
    pub(crate) ambiguous: Cell<bool>,
    /// Whether touches suspend (the worker's adaptive switch).
    suspends: Cell<bool>,
    /// Whether the task is interactive or batch. The worker's alone.
    class: Cell<Class>,
    /// Processor time that the task has had since it began or its client was last
    /// waited for, sampled: see `worker/pace.rs`.
    spent: Cell<Duration>,
    /// What the task calls itself.
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

    /// Which of the two classes the task belongs to.
    #[inline(always)]
    pub(crate) fn class(&self) -> Class {
        self.class.get()
    }

    /// Moves the task to a class, with nothing spent in it.
    pub(crate) fn set_class(&self, class: Class) {
        self.class.set(class);
        self.spent.set(Duration::ZERO);
    }

    /// Charges processor time to the task. All that it has had.
    pub(crate) fn charge(&self, time: Duration) -> Duration {
        let spent = self.spent.get() + time;
        self.spent.set(spent);
        spent
    }

    /// What the task calls itself.
    pub(crate) fn label(&self) -> Label {
        self.label.get()
    }

    pub(crate) fn set_label(&self, label: Label) {
        self.label.set(label);
    }

    /// A counted reference, for a leaf that arms itself.
    pub(crate) fn counted(&self) -> Option<Rc<Slot>> {
        self.this.upgrade()
    }

    /// The next resumption polls the root (rule 3 of `leaf.rs`).
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

    /// Drops the task, if there is one, and all notes about it.
    ///
    /// # Safety
    /// As for [`Slot::root`].
    pub(crate) unsafe fn vacate(&self) {
        self.armed.set(None);
        self.direct.set(false);
        self.forget_fallen();
        // SAFETY: the caller's promise. What the task's drop runs has no access to
        // the worker, hence none to this storage.
        unsafe { self.root() }.clear();
    }

    /// Resumes the armed leaf, or polls the root.
    ///
    /// # Safety
    /// On the owning worker's thread, not from within a resumption of this slot,
    /// with a future in the root.
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
        // SAFETY: the callers promise that no other resumption of this slot runs,
        // and nobody else borrows the root meanwhile.
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

    /// Where the slot waits, or last waited, for memory.
    #[inline(always)]
    pub(crate) fn stage(&self) -> Stage {
        self.stage.get()
    }

    /// Notes that something is to stay in the rotation. Whether it does.
    #[inline(always)]
    pub(crate) fn touched(&self, stage: Stage) -> bool {
        let suspends = self.suspends.get();
        if suspends {
            self.stage.set(stage);
            self.noted.set(Noted {
                wait: Wait::Memory,
                is_hot: true,
            });
            // A leaf around the touch takes this back and arms itself.
            self.ambiguous.set(true);
        }
        suspends
    }

    /// Notes that the task gives the others a turn, and stays in the rotation. (The
    /// rotation of a worker that keeps one task in flight is left between two turns
    /// like any other.)
    pub(crate) fn yielded(&self, stage: Stage) {
        self.stage.set(stage);
        self.noted.set(Noted {
            wait: Wait::Turn,
            is_hot: true,
        });
        self.ambiguous.set(true);
    }

    /// Notes what is waited for until the waker is called.
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

    /// Whether the armed leaf's body is on the stack.
    #[inline]
    pub(crate) fn is_direct(&self) -> bool {
        self.direct.get()
    }

    /// Whether the body of `leaf` is on the stack, called directly.
    pub(crate) fn is_inside(&self, leaf: *const ()) -> bool {
        self.direct.get() && self.is_armed(leaf)
    }

    fn is_armed(&self, leaf: *const ()) -> bool {
        self.armed
            .get()
            .is_some_and(|armed| std::ptr::eq(armed.leaf, leaf))
    }

    /// Forgets `leaf`; returns the panic that came out of it when it was last
    /// resumed.
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

    /// Takes in the panic that has come out of [`Slot::resume`]. If it came
    /// straight from a leaf, it is kept until the root polls that leaf and gets it
    /// from there, so that whoever catches panics in between has the chance.
    /// Otherwise it is returned: the task is over.
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

/// Runs `f` with the slot that is being resumed with this very context, if it is
/// one (rule 4 of `leaf.rs`).
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

/// Runs `f` with the slot that is being resumed on this thread, if there is one. Whose waker
/// is in use does not matter.
#[inline(always)]
pub(crate) fn current<R>(f: impl FnOnce(&Slot) -> R) -> Option<R> {
    let current = CURRENT.get();
    // SAFETY: as in `with_slot`.
    unsafe { current.as_ref() }.map(f)
}

/// Whether the running code is in a slot whose touches suspend.
#[inline(always)]
pub(crate) fn in_suspending_slot() -> bool {
    current(|slot| slot.suspends.get()).unwrap_or(false)
}

/// The clock of the worker whose slot is being resumed on this thread, and when it
/// was last read between two resumptions.
pub(crate) fn time() -> Option<(Duration, Duration)> {
    current(|slot| (slot.timers.now(), slot.timers.read_at()))
}

/// The longest slice of the worker whose slot is being resumed on this thread.
pub(crate) fn longest_slice() -> Option<LongSlice> {
    current(|slot| slot.timers.longest()).flatten()
}

/// Forgets it.
pub(crate) fn forget_longest_slice() {
    current(|slot| slot.timers.set_longest(None));
}

/// The timers of the worker whose slot is being resumed on this thread: a timer calls the waker
/// that it was given.
pub(crate) fn timers() -> Option<Rc<Timers>> {
    current(|slot| slot.timers.clone())
}
