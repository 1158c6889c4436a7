//! Things that operations use for a while, such as the memory of their buffers: the session lends
//! them, and they are given back for the next operation.

use std::{
    cell::RefCell,
    ops::{Deref, DerefMut},
};

/// Things that no operation uses now.
pub(crate) struct Spares<T>(RefCell<Vec<T>>);

/// Lent thing, given back at the end as it is then.
pub(crate) struct Lent<'s, T: Default> {
    spares: &'s Spares<T>,
    thing: T,
}

impl<T> Default for Spares<T> {
    fn default() -> Spares<T> {
        Spares(RefCell::default())
    }
}

impl<T: Default> Spares<T> {
    /// Lends the thing that was given back last; a new one, if there is none.
    #[inline(always)]
    pub(crate) fn lend(&self) -> Lent<'_, T> {
        let thing = self.0.borrow_mut().pop().unwrap_or_default();
        Lent {
            spares: self,
            thing,
        }
    }
}

impl<T: Default> Deref for Lent<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.thing
    }
}

impl<T: Default> DerefMut for Lent<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.thing
    }
}

impl<T: Default> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        let thing = std::mem::take(&mut self.thing);
        self.spares.0.borrow_mut().push(thing);
    }
}
