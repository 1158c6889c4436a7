//! Suspension policies: one body, three executions.
//!
//! A search is written once, as an `async fn` generic over a [`Policy`], and
//! calls `P::touch(..).await` before it reads memory that is probably not in
//! the cache. Under [`Sequential`] that compiles to nothing, under
//! [`Prefetching`] to prefetch instructions, under [`Interleaved`] to a prefetch
//! and a memory wait (paper 003 section 4 does the same with a boolean template
//! parameter; the three-way form and the adaptive switch are ours).
//!
//! The execution is fixed at compile time. The interleaved execution can still fall back at run
//! time: when the worker has found that nothing misses the cache, [`Policy::suspends`] is false and
//! leaf operations run the sequential body instead (see `leaf.rs`).

use std::{
    future::{Future, Ready, ready},
    pin::pin,
    task::{Context, Poll, Waker},
};

use crate::{prefetch::prefetch, slot, touch::Touch};

/// A suspension point: its name, for simulators and messages, and a depth, for bodies that pass the
/// point more than once. Slots that wait at the same point and depth are resumed together (see
/// `stage.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Point {
    name: &'static str,
    /// A number that differs between most points and between depths of one.
    pub(crate) place: u8,
}

impl Point {
    /// Returns the point called `name`.
    #[inline(always)]
    pub const fn new(name: &'static str) -> Point {
        let (bytes, mut place, mut at) = (name.as_bytes(), 0_u32, 0);
        while at < bytes.len() {
            place = (place ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
            at += 1;
        }
        Point {
            name,
            place: (place >> 16) as u8,
        }
    }

    /// Returns this point, `depth` levels down a structure or rounds into a loop.
    #[inline(always)]
    pub const fn at(self, depth: u8) -> Point {
        Point {
            name: self.name,
            place: self.place.wrapping_add(depth),
        }
    }

    /// Returns the point's name.
    pub const fn name(self) -> &'static str {
        self.name
    }
}

/// Way in which a body reaches memory that may not be in the cache.
pub trait Policy: Copy + Default + Send + Sync + 'static {
    /// Name for people and reports.
    const NAME: &'static str;

    /// Whether [`Policy::touch`] can ever suspend.
    const MAY_SUSPEND: bool;

    /// Whether [`Policy::prefetch`] does anything: bodies may skip loops that only
    /// prefetch.
    const PREFETCHES: bool = true;

    /// Whether [`Policy::touch`] suspends for the other bodies of a group, and not for those of the
    /// worker (`group.rs`).
    const IS_GROUPED: bool = false;

    /// Future that [`Policy::touch`] returns.
    type Touch: Future<Output = ()>;

    /// Announces at `point` that the `bytes` at `address` are read next, and waits for them as the
    /// policy says. Any address is allowed: nothing is dereferenced.
    ///
    /// # Suspension
    /// May suspend: data read optimistically before a touch must be validated after it, and no
    /// latch may be held across it.
    fn touch<T: ?Sized>(point: Point, address: *const T, bytes: usize) -> Self::Touch;

    /// Announces a read of `bytes` at `address` without waiting.
    fn prefetch<T: ?Sized>(address: *const T, bytes: usize);

    /// Returns whether leaf operations should run as suspending coroutines now. False outside a
    /// worker's slot and where the worker found suspending useless.
    fn suspends() -> bool;
}

/// Reads memory as it comes: no prefetch, no suspension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequential;

/// Prefetches and goes on at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefetching;

/// Prefetches and lets other slots run meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interleaved;

impl Policy for Sequential {
    const NAME: &'static str = "sequential";
    const MAY_SUSPEND: bool = false;
    const PREFETCHES: bool = false;
    type Touch = Ready<()>;

    #[inline(always)]
    fn touch<T: ?Sized>(_: Point, _: *const T, _: usize) -> Ready<()> {
        ready(())
    }

    #[inline(always)]
    fn prefetch<T: ?Sized>(_: *const T, _: usize) {}

    #[inline(always)]
    fn suspends() -> bool {
        false
    }
}

impl Policy for Prefetching {
    const NAME: &'static str = "prefetch";
    const MAY_SUSPEND: bool = false;
    type Touch = Ready<()>;

    #[inline(always)]
    fn touch<T: ?Sized>(_: Point, address: *const T, bytes: usize) -> Ready<()> {
        prefetch(address.cast(), bytes);
        ready(())
    }

    #[inline(always)]
    fn prefetch<T: ?Sized>(address: *const T, bytes: usize) {
        prefetch(address.cast(), bytes);
    }

    #[inline(always)]
    fn suspends() -> bool {
        false
    }
}

impl Policy for Interleaved {
    const NAME: &'static str = "interleaved";
    const MAY_SUSPEND: bool = true;
    type Touch = Touch;

    #[inline(always)]
    fn touch<T: ?Sized>(point: Point, address: *const T, bytes: usize) -> Touch {
        prefetch(address.cast(), bytes);
        Touch::new(point)
    }

    #[inline(always)]
    fn prefetch<T: ?Sized>(address: *const T, bytes: usize) {
        prefetch(address.cast(), bytes);
    }

    #[inline(always)]
    fn suspends() -> bool {
        slot::in_suspending_slot()
    }
}

/// Awaits a body of the form `object.method(arguments)`, an `async fn` whose first generic
/// parameter is the policy, as a leaf: directly resumable where the policy suspends now, in place
/// where it does not. A touch that would suspend still prefetches in place: a worker that found
/// suspending useless did not find that nothing misses.
///
/// A macro, because the three executions are three instances of a generic
/// function that is not a value.
#[macro_export]
macro_rules! leaf {
    ($policy:ty, $object:ident.$method:ident($($argument:expr),* $(,)?)) => {
        if !<$policy as $crate::Policy>::MAY_SUSPEND {
            $crate::run_inline($object.$method::<$policy>($($argument),*))
        } else if <$policy as $crate::Policy>::suspends() {
            $crate::Leaf::new($object.$method::<$policy>($($argument),*)).await
        } else {
            $crate::run_inline($object.$method::<$crate::Prefetching>($($argument),*))
        }
    };
}

/// Runs a body of a policy that never suspends, in place.
///
/// # Panics
/// Panics if the body suspends: it then has a wait that is not a touch.
#[inline(always)]
pub fn run_inline<F: Future>(body: F) -> F::Output {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(body).poll(&mut context) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("a body that never suspends has suspended"),
    }
}
