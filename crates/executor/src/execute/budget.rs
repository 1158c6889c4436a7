//! The budget of an execution: memory, and its worker's time.
//!
//! Each execution has one [`Budget`], from its first operator to its last row, also while it stays
//! open between a client's calls. Operators charge what they keep to its memory: rows by
//! [`Rows::settle`](batch::Rows::settle), arenas of programs by themselves ([`types::Scratch`]),
//! and everything else by a [`types::Charge`] beside it. A charge that exceeds the statement's
//! share, or what the database's limit leaves, ends the statement with 53200. The work of operators
//! is counted in the execution's turn, which is over after some time: see
//! [`ExecutionContext::pause`](super::ExecutionContext::pause).

use std::rc::Rc;

use interleave::Turn;
use types::{Allowance, Memory};

/// The memory and the turn of an execution: see the module text.
#[derive(Debug)]
pub struct Budget {
    memory: Rc<Memory>,
    turn: Turn,
}

impl Budget {
    /// Makes a budget of `share` bytes of a connection's memory.
    pub fn new(connection: &Rc<Allowance>, share: usize) -> Self {
        Self {
            memory: Memory::new(connection, share),
            turn: Turn::default(),
        }
    }

    /// Returns the execution's turn, in which operators count their work.
    pub fn turn(&self) -> &Turn {
        &self.turn
    }

    /// Returns the memory that the execution holds.
    pub fn memory(&self) -> &Rc<Memory> {
        &self.memory
    }
}
