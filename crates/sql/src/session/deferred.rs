//! Checks of constraints that are put off to the commit.
//!
//! What was put off stays in the list until the transaction ends, also when it has been seen to: so
//! after a return to a savepoint all of it is looked at again. A check of what was undone then finds
//! nothing wrong, because it looks at rows that are there.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
};

use crate::{
    catalog::{ObjectId, ReferentialAction},
    execute::{Happened, Noted},
};

/// What a transaction has put off, and what it puts off from now on.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    checks: RefCell<Vec<Rc<Check>>>,
    /// All checks before this one are done.
    first: Cell<usize>,
    modes: RefCell<Modes>,
}

#[derive(Debug)]
pub(super) struct Check {
    pub(super) noted: Noted,
    is_done: Cell<bool>,
}

/// What SET CONSTRAINTS has said: whether they are put off.
#[derive(Debug, Default, Clone)]
pub(super) struct Modes {
    all: Option<bool>,
    some: HashMap<ObjectId, bool>,
}

impl Deferred {
    /// Puts a check off, unless it is due now, or an action, which always is: then it is given back.
    pub(super) fn put_off(&self, noted: Noted) -> Option<Noted> {
        let key = &noted.reference.key;
        if !key.is_deferrable {
            return Some(noted);
        }
        let is_check = match noted.happened {
            Happened::Referred => true,
            Happened::Deleted => key.on_delete == ReferentialAction::NoAction,
            Happened::Changed => key.on_update == ReferentialAction::NoAction,
        };
        if !is_check || !self.modes.borrow().puts_off(key.id, key.is_deferred) {
            return Some(noted);
        }
        self.checks.borrow_mut().push(Rc::new(Check {
            noted,
            is_done: Cell::new(false),
        }));
        None
    }

    /// From now on, all constraints, or these, are put off or not.
    pub(super) fn set(&self, constraints: Option<&[ObjectId]>, is_deferred: bool) {
        let mut modes = self.modes.borrow_mut();
        match constraints {
            None => {
                modes.all = Some(is_deferred);
                modes.some.clear();
            }
            Some(constraints) => {
                let constraints = constraints.iter().map(|id| (*id, is_deferred));
                modes.some.extend(constraints);
            }
        }
    }

    /// What SET CONSTRAINTS has said so far.
    pub(super) fn modes(&self) -> Modes {
        self.modes.borrow().clone()
    }

    pub(super) fn set_modes(&self, modes: Modes) {
        self.modes.replace(modes);
    }

    /// Whether a check is put off that rows of a table have made necessary.
    pub(super) fn is_pending(&self, table: ObjectId) -> bool {
        self.checks.borrow().iter().any(|check| {
            let reference = &check.noted.reference;
            let changed = match check.noted.happened {
                Happened::Referred => reference.referring.id,
                Happened::Deleted | Happened::Changed => reference.key.referenced,
            };
            changed == table && !check.is_done.get()
        })
    }

    /// The next check that was not done yet, of these constraints or any, at or behind a place, which
    /// moves behind it; it counts as done now. A transaction may have as many as it has changed rows.
    pub(super) fn next(
        &self,
        from: &mut usize,
        constraints: Option<&[ObjectId]>,
    ) -> Option<Rc<Check>> {
        let checks = self.checks.borrow();
        let is_meant = |check: &Rc<Check>| {
            let id = check.noted.reference.key.id;
            !check.is_done.get() && constraints.is_none_or(|meant| meant.contains(&id))
        };
        let begin = self.first.get().max(*from);
        let found = checks.get(begin..)?.iter().position(is_meant);
        let end = found.map_or(checks.len(), |found| begin + found + 1);
        *from = end;
        if constraints.is_none() {
            self.first.set(end);
        }
        let found = &checks[begin + found?];
        found.is_done.set(true);
        Some(found.clone())
    }

    /// The transaction has returned to a savepoint, perhaps to before checks that it has done.
    pub(super) fn look_again(&self) {
        let checks = self.checks.borrow();
        checks.iter().for_each(|check| check.is_done.set(false));
        self.first.set(0);
    }

    /// For the next transaction.
    pub(super) fn clear(&self) {
        self.checks.borrow_mut().clear();
        self.first.set(0);
        self.modes.take();
    }
}

impl Modes {
    fn puts_off(&self, constraint: ObjectId, initially: bool) -> bool {
        let some = self.some.get(&constraint).copied();
        some.or(self.all).unwrap_or(initially)
    }
}
