//! Where statements are understood: the phases between a text and its plan, on a stack of their own.
//!
//! Parsing, binding and planning are plain recursive functions over what a client has written. Two
//! things follow, and [`run`] is the one place that sees to both:
//!
//! - **Depth.** A phase runs on a stack of `STACK_BYTES` with a guard page, never on its worker's.
//!   The nesting of a text is bounded by `DEPTH_MAX`, the links of its chains (`a + b + ...`, `a
//!   UNION ALL b ...`) by `CHAIN_MAX`; `tests/hostile.rs` shows that the stack bears both.
//! - **Time.** Loops and recursions of a phase call [`pause`]. A phase that has had its worker for
//!   `SLICE` is suspended there, stack and all, and goes on at its task's next turn. So other
//!   tasks run meanwhile, and the statement hears that it is cancelled or out of time.
//!
//! A phase that is given up while it is suspended is unwound, as if `pause` had panicked.
//!
//! # Stacks
//! A worker keeps up to `IDLE_MAX` stacks, so a short phase costs a switch and touches memory that
//! the one before it has warmed. A stack on which a phase was suspended is unmapped when the phase
//! ends, because the phase may have touched much of it. At most `STACKS_MAX` exist at once on a
//! worker; a phase that finds none waits for its turn.

use std::{
    cell::{Cell, RefCell},
    time::{Duration, Instant},
};

use corosensei::{Coroutine, CoroutineResult, Yielder, stack::DefaultStack};
use types::{Result, SqlError, SqlState};

/// Address space of one stack. Memory is taken only for what a phase touches.
pub(crate) const STACK_BYTES: usize = 512 << 20;

/// Levels of expressions within expressions and queries within queries.
pub const DEPTH_MAX: usize = 256;

/// Links of chains within a statement, one within the other counted together. The parser makes trees
/// of this depth of them.
pub(crate) const CHAIN_MAX: usize = 250_000;

/// How long a phase has its worker before other tasks get a turn: as long as any turn.
const SLICE: Duration = Duration::from_micros(150);

/// Calls of [`pause`] between two looks at the clock.
const LOOK_EVERY: u32 = 16;

/// Stacks of one worker that nobody uses.
const IDLE_MAX: usize = 2;

/// Stacks of one worker.
const STACKS_MAX: usize = 64;

type Suspended = Yielder<(), ()>;

thread_local! {
    static STACKS: Stacks = const {
        Stacks { idle: RefCell::new(Vec::new()), used: Cell::new(0) }
    };
    static CURRENT: Current = const {
        Current {
            yielder: Cell::new(std::ptr::null()),
            ends: Cell::new(None),
            calls: Cell::new(0),
        }
    };
}

/// The stacks of a worker.
struct Stacks {
    idle: RefCell<Vec<DefaultStack>>,
    used: Cell<usize>,
}

/// The phase that runs on this thread now.
struct Current {
    /// Null where none does.
    yielder: Cell<*const Suspended>,
    /// When its slice is over.
    ends: Cell<Option<Instant>>,
    /// Calls of [`pause`] until the clock is looked at.
    calls: Cell<u32>,
}

/// A stack that a phase has; given back when it is dropped.
struct Lease {
    stack: Option<DefaultStack>,
}

impl Lease {
    /// A stack, if there may be one more.
    ///
    /// # Errors
    /// 53200 if the system has no room for it.
    fn take() -> Result<Option<Lease>> {
        STACKS.with(|stacks| {
            if stacks.used.get() == STACKS_MAX {
                return Ok(None);
            }
            let idle = stacks.idle.borrow_mut().pop();
            let stack = match idle {
                Some(stack) => stack,
                None => new_stack()?,
            };
            stacks.used.set(stacks.used.get() + 1);
            Ok(Some(Lease { stack: Some(stack) }))
        })
    }

    /// Gives a stack back of which little was touched.
    fn put_back(mut self, stack: DefaultStack) {
        STACKS.with(|stacks| {
            let mut idle = stacks.idle.borrow_mut();
            if idle.len() < IDLE_MAX {
                idle.push(stack);
            }
        });
        self.stack = None;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // A thread that ends has no stacks any more.
        let _ = STACKS.try_with(|stacks| stacks.used.set(stacks.used.get() - 1));
    }
}

/// Runs a phase on a stack of its own.
///
/// # Errors
/// Those of the phase; 53200 if there is no room for a stack.
///
/// # Suspension
/// Suspends where the phase calls [`pause`] after its slice. What the phase borrows stays borrowed.
///
/// # Cancellation
/// Dropping the future unwinds the phase.
pub async fn run<T>(phase: impl FnOnce() -> Result<T>) -> Result<T> {
    // Callers have many phases, and their futures room for each.
    Box::pin(run_in_place(phase)).await
}

async fn run_in_place<T>(phase: impl FnOnce() -> Result<T>) -> Result<T> {
    let mut lease = loop {
        match Lease::take()? {
            Some(lease) => break lease,
            // Phases wait for nothing but their turns: one of them ends.
            None => interleave::yield_now().await,
        }
    };
    let Some(stack) = lease.stack.take() else {
        return Err(SqlError::new(
            SqlState::INTERNAL_ERROR,
            "a lease without a stack",
        ));
    };
    // SAFETY: `with_stack_unchecked` asks that what `phase` borrows outlive the coroutine. The
    // coroutine is a local of this future, whose type names the same lifetimes as `phase`, so it is
    // dropped, or forgotten and never resumed, before they end.
    let mut coroutine = unsafe {
        Coroutine::<(), (), Result<T>, DefaultStack>::with_stack_unchecked(
            stack,
            move |yielder, ()| {
                enter(yielder);
                phase()
            },
        )
    };
    let mut was_suspended = false;
    loop {
        match resume(&mut coroutine) {
            CoroutineResult::Return(done) => {
                // A stack that was used for long is unmapped: see above.
                if !was_suspended {
                    lease.put_back(coroutine.into_stack());
                }
                return done;
            }
            CoroutineResult::Yield(()) => {
                was_suspended = true;
                interleave::yield_now().await;
            }
        }
    }
}

/// Runs a phase on a stack of its own if it may take long, else where it is.
///
/// # Errors
/// As for [`run`].
pub async fn run_if<T>(is_long: bool, phase: impl FnOnce() -> Result<T>) -> Result<T> {
    match is_long {
        true => run(phase).await,
        false => phase(),
    }
}

/// Runs a phase to its next pause.
fn resume<T>(
    coroutine: &mut Coroutine<(), (), Result<T>, DefaultStack>,
) -> CoroutineResult<(), Result<T>> {
    /// Whatever way the phase leaves the thread, another one finds none there.
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            CURRENT.with(|current| current.yielder.set(std::ptr::null()));
        }
    }
    CURRENT.with(|current| {
        current.ends.set(None);
        current.calls.set(0);
    });
    let _leave = Leave;
    coroutine.resume(())
}

/// Makes a phase the one that runs on this thread.
fn enter(yielder: *const Suspended) {
    CURRENT.with(|current| current.yielder.set(yielder));
}

/// Lets others have a turn if the phase that this is called in has had its worker for long enough.
/// Does nothing outside a phase, so code that is also used elsewhere may call it.
///
/// The caller holds nothing that another task of the worker may want: no borrow of a cell of the
/// session's or the thread's, no pin and no latch of the engine's.
#[inline]
pub fn pause() {
    CURRENT.with(|current| {
        let calls = current.calls.get();
        current.calls.set(calls.wrapping_add(1));
        if calls % LOOK_EVERY == LOOK_EVERY - 1 && !current.yielder.get().is_null() {
            look(current);
        }
    });
}

#[cold]
fn look(current: &Current) {
    let now = Instant::now();
    match current.ends.get() {
        // The first look of a slice, a few steps after it has begun.
        None => current.ends.set(Some(now + SLICE)),
        Some(ends) if now < ends => {}
        Some(_) => {
            let yielder = current.yielder.get();
            // SAFETY: `enter` has set it from the reference that the coroutine's body was given,
            // which is valid while the coroutine is not done. It is not null, so a coroutine runs
            // on this thread now: `resume` clears it whenever one leaves. This is it, since no
            // coroutine resumes another.
            unsafe { &*yielder }.suspend(());
            enter(yielder);
        }
    }
}

/// Runs a short phase to its end, for those who cannot suspend: on a stack of its own, unless the
/// caller is within a phase.
///
/// # Errors
/// Those of the phase; 53200 if there is no room for a stack.
pub fn at_once<T>(phase: impl FnOnce() -> Result<T>) -> Result<T> {
    if CURRENT.with(|current| !current.yielder.get().is_null()) {
        return phase();
    }
    corosensei::on_stack(new_stack()?, phase)
}

fn new_stack() -> Result<DefaultStack> {
    DefaultStack::new(STACK_BYTES).map_err(|error| {
        let message = format!("no stack to plan the statement on: {error}");
        SqlError::new(SqlState::OUT_OF_MEMORY, message).hint(
            "Raise the limit of the server's address space, or send fewer statements at once.",
        )
    })
}
