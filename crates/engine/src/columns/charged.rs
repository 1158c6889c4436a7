//! Values on the heap that count towards the memory limit for as long as they live.

use std::{ops::Deref, sync::Arc};

use memory::{Arena, Exhausted, Reservation};

/// Value whose bytes are charged to the memory limit until its last owner drops it.
#[derive(Debug)]
pub(crate) struct Charged<T> {
    value: T,
    _charge: Reservation,
}

impl<T> Charged<T> {
    /// Makes a value of `bytes` bytes, if the limit leaves room for them.
    ///
    /// # Errors
    /// [`Exhausted`] if the bytes do not fit; `make` is not called then.
    pub(super) fn new(
        arena: &Arc<Arena>,
        bytes: usize,
        make: impl FnOnce() -> T,
    ) -> Result<Charged<T>, Exhausted> {
        let charge = arena.reserve(bytes)?;
        Ok(Charged {
            value: make(),
            _charge: charge,
        })
    }
}

impl<T> Deref for Charged<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.value
    }
}
