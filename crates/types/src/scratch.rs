//! Where a statement keeps the values it makes: freed as a whole, reset between rows or batches.
//!
//! A [`Scratch`] is a bump arena that is charged to the statement whose values it keeps, once it was
//! told which ([`Scratch::charge_to`]). Growth is noticed by [`Scratch::settle`], which costs a
//! comparison when there is none.

use std::{
    cell::{Cell, OnceCell},
    ops::Deref,
    rc::Rc,
};

use bumpalo::Bump;

use crate::{Memory, Result};

/// An arena that is reset keeps up to so many bytes for the next values.
const KEPT_BYTES: usize = 512 << 10;

/// See the module text. Dereferences to the arena.
#[derive(Debug, Default)]
pub struct Scratch {
    arena: Bump,
    memory: OnceCell<Rc<Memory>>,
    /// Bytes of the arena when it was last looked at; charged, if there is a statement.
    settled: Cell<usize>,
}

impl Scratch {
    /// An arena that has taken no memory yet.
    pub fn new() -> Scratch {
        Scratch::default()
    }

    /// Charges the arena to a statement from now on, unless it belongs to one already. What it has
    /// taken so far is charged by the next [`Scratch::settle`].
    #[inline]
    pub fn charge_to(&self, memory: &Rc<Memory>) {
        if self.memory.get().is_none() {
            self.begin_charging(memory);
        }
    }

    #[cold]
    fn begin_charging(&self, memory: &Rc<Memory>) {
        self.settled.set(0);
        let _ = self.memory.set(memory.clone());
    }

    /// Charges what the arena has grown by since it was last looked at.
    ///
    /// # Errors
    /// 53200 if the statement may not hold as much.
    #[inline]
    pub fn settle(&self) -> Result<()> {
        let bytes = self.arena.allocated_bytes();
        match bytes == self.settled.get() {
            true => Ok(()),
            false => self.settle_at(bytes),
        }
    }

    #[cold]
    fn settle_at(&self, bytes: usize) -> Result<()> {
        if let Some(memory) = self.memory.get() {
            memory.resize(self.settled.get(), bytes)?;
        }
        self.settled.set(bytes);
        Ok(())
    }

    /// Asks for `bytes` that are about to be taken from the arena: before a value is made whose size
    /// is another than its operands'.
    ///
    /// # Errors
    /// 53200 if the statement may not hold as much.
    pub fn ask(&self, bytes: usize) -> Result<()> {
        self.settle()?;
        match self.memory.get() {
            Some(memory) => memory.ask(bytes),
            None => Ok(()),
        }
    }

    /// Forgets all values. Memory is kept for the next ones, up to a bound.
    pub fn reset(&mut self) {
        self.arena.reset();
        let bytes = self.arena.allocated_bytes();
        if bytes != self.settled.get() {
            self.settle_reset(bytes);
        }
    }

    #[cold]
    fn settle_reset(&mut self, mut bytes: usize) {
        if bytes > KEPT_BYTES {
            self.arena = Bump::new();
            bytes = 0;
        }
        // An arena that was looked at in time has shrunk; one that was not is looked at later.
        let settled = self.settled.get();
        if bytes < settled {
            if let Some(memory) = self.memory.get() {
                memory.give_back(settled - bytes);
            }
            self.settled.set(bytes);
        }
    }
}

impl Deref for Scratch {
    type Target = Bump;

    #[inline(always)]
    fn deref(&self) -> &Bump {
        &self.arena
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.get() {
            memory.give_back(self.settled.get());
        }
    }
}
