//! The arena for values that a statement makes: freed as a whole, reset between rows or batches.
//!
//! A [`Scratch`] is a bump arena that is charged to the statement whose values it keeps, once that
//! is known ([`Scratch::charge_to`]). [`Scratch::settle`] notices growth, at the cost of a
//! comparison if there is none.

use std::{
    cell::{Cell, OnceCell},
    ops::Deref,
    rc::Rc,
};

use bumpalo::Bump;

use crate::{Charge, Memory, Result};

/// Maximum bytes that an arena keeps at a reset for the next values.
const KEPT_BYTES: usize = 512 << 10;

/// The arena of a statement: see the module text. Dereferences to the arena.
#[derive(Debug, Default)]
pub struct Scratch {
    arena: Bump,
    memory: OnceCell<Rc<Memory>>,
    /// Bytes of the arena when it was last measured; charged, if there is a statement.
    settled: Cell<usize>,
}

impl Scratch {
    /// Returns an arena that has taken no memory yet.
    pub fn new() -> Scratch {
        Scratch::default()
    }

    /// Charges the arena to a statement from now on, unless it belongs to one already. The next
    /// [`Scratch::settle`] charges the memory taken so far.
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

    /// Charges the growth of the arena since it was last measured.
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
    /// differs from its operands'.
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

    /// Forgets all values, as [`Scratch::reset`] does, and ends charging a statement: another one may be charged
    /// from now on.
    pub fn release(&mut self) {
        self.reset();
        if let Some(memory) = self.memory.take() {
            memory.give_back(self.settled.get());
        }
        self.settled.set(0);
    }

    /// Ends charging a statement, and returns the charge for what was charged so far. The values stay.
    pub fn take_charge(&mut self) -> Charge {
        let settled = self.settled.replace(0);
        match self.memory.take() {
            Some(memory) => Charge::of(memory, settled),
            None => Charge::default(),
        }
    }

    #[cold]
    fn settle_reset(&mut self, mut bytes: usize) {
        if bytes > KEPT_BYTES {
            self.arena = Bump::new();
            bytes = 0;
        }
        // An arena that was measured in time has shrunk; another one is measured later.
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
