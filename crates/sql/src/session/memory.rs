//! The memory of a session: of its statements and cursors, and of what it keeps beside them.

use std::{rc::Rc, sync::Arc};

use types::{Allowance, Memory};

use crate::memory::{FREE_BYTES, StatementMemory};
use batch::SpareRows;
use executor::execute::Budget;

/// A session's share of the memory of all statements.
pub(super) struct SessionMemory {
    all: Arc<StatementMemory>,
    statements: Rc<Allowance>,
    /// Memory of plans, prepared statements, portals, cursors, savepoints and settings.
    kept: Rc<Memory>,
    /// Lists of rows that a short statement leaves for the next one.
    spare_rows: Rc<SpareRows>,
}

impl SessionMemory {
    /// Makes the share of a session that holds nothing yet.
    pub(super) fn new(all: &Arc<StatementMemory>) -> Self {
        Self {
            all: all.clone(),
            statements: Allowance::new(all.clone(), FREE_BYTES),
            kept: Memory::new(&Allowance::new(all.clone(), 0), usize::MAX),
            spare_rows: Rc::default(),
        }
    }

    /// Returns the budget of an execution that is about to begin; `share` is the most that it may hold, if that was
    /// set.
    pub(super) fn budget(&self, share: Option<usize>) -> Budget {
        Budget::new(&self.statements, share.unwrap_or(self.all.share_bytes()))
    }

    /// Returns the memory that is charged for what outlives a statement.
    pub(super) fn kept(&self) -> &Rc<Memory> {
        &self.kept
    }

    /// Returns the lists that a statement may take, and gives back.
    pub(super) fn spare_rows(&self) -> &Rc<SpareRows> {
        &self.spare_rows
    }
}
