//! The seam for simulators: a hook that is told about every named suspension point and may panic
//! there. Without the feature `simulation` the module does nothing.
//!
//! Crates with points of their own, such as latches that a thread waits for, report these with
//! [`passed`].

use crate::policy::Point;

#[cfg(feature = "simulation")]
mod enabled {
    use super::Point;
    use std::cell::RefCell;

    type Hook = Box<dyn FnMut(Point)>;

    thread_local! {
        static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
    }

    /// Calls `hook` at every suspension point that is passed on this thread while `run` runs. The
    /// hook may panic: the panic then comes out of that point.
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

    /// Returns whether this thread has a hook. A hook that is running does not count.
    pub fn is_injected() -> bool {
        HOOK.with_borrow(|hook| hook.is_some())
    }

    /// Reports to the hook a point that is passed on this thread.
    ///
    /// # Panics
    /// Panics if the hook does.
    pub fn passed(point: Point) {
        // The hook is taken out while it runs, so that it is put back after a panic too and a point
        // passed inside the hook is not reported to it.
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
