//! The seam for simulators: something that is told about every named suspension
//! point and may panic there. Without the feature `simulation` it is nothing.
//!
//! Crates with points of their own, such as latches for which a thread waits, tell it
//! with [`passed`].

use crate::policy::Point;

#[cfg(feature = "simulation")]
mod enabled {
    use super::Point;
    use std::cell::RefCell;

    type Hook = Box<dyn FnMut(Point)>;

    thread_local! {
        static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
    }

    /// Calls `hook` at every suspension point that is passed on this thread while
    /// `run` runs. The hook may panic: the panic then comes out of that point.
    pub fn with_injector<R>(hook: impl FnMut(Point) + 'static, run: impl FnOnce() -> R) -> R {
        struct Restore(Option<Hook>);
        impl Drop for Restore {
            fn drop(&mut self) {
                HOOK.set(self.0.take());
            }
        }
        let _restore = Restore(HOOK.replace(Some(Box::new(hook))));
        run()
    }

    /// Whether this thread has something that is told. It has not while it is being told.
    pub fn is_injected() -> bool {
        HOOK.with_borrow(|hook| hook.is_some())
    }

    /// Tells of a point that is passed on this thread.
    ///
    /// # Panics
    /// If the hook does.
    pub fn passed(point: Point) {
        // Taken out while it runs, so that it is put back after a panic too and
        // a point passed inside the hook is not reported to it.
        struct Return(Option<Hook>);
        impl Drop for Return {
            fn drop(&mut self) {
                HOOK.set(self.0.take());
            }
        }
        let mut hook = Return(HOOK.take());
        if let Some(hook) = &mut hook.0 {
            hook(point);
        }
    }
}

#[cfg(feature = "simulation")]
pub use enabled::{is_injected, passed, with_injector};

#[cfg(not(feature = "simulation"))]
#[inline(always)]
pub(crate) fn passed(_: Point) {}
