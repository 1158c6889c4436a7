//! Checks of constraints that are deferred to the commit.
//!
//! A check stays in the list until the transaction ends, also when it has been done: a return to a
//! savepoint removes the checks that were deferred since, and makes those pending again that were
//! done since. A table with pending checks cannot be altered, truncated or dropped, as in
//! PostgreSQL.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
};

use catalog::{ObjectId, PutOff, ReferentialAction};
use executor::execute::{Happened, Noted};

/// The checks that a transaction has deferred, and the constraints that it defers from now on.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    checks: RefCell<Vec<Rc<Check>>>,
    /// Position of the first check that may be pending.
    first: Cell<usize>,
    /// Number of the statements, and actions of statements, whose notes were handled.
    rounds: Cell<u64>,
    /// Number of checks that were done in this transaction.
    done: Cell<u64>,
    /// Number of pending checks by the table whose rows have made them necessary; tables with none
    /// may be missing.
    pending: RefCell<HashMap<ObjectId, usize>>,
    modes: RefCell<Modes>,
}

#[derive(Debug)]
pub(super) struct Check {
    pub(super) noted: Noted,
    /// Number of the round: checks of one round concern the same rows.
    pub(super) round: u64,
    /// Number of checks that were done before this one, if it is done.
    done: Cell<Option<u64>>,
}

impl Check {
    /// Returns the table whose rows have made the check necessary.
    fn table(&self) -> ObjectId {
        let reference = &self.noted.reference;
        match self.noted.happened {
            Happened::Referred => reference.referring.id,
            Happened::Deleted | Happened::Changed => reference.key.referenced,
        }
    }

    fn is_done(&self) -> bool {
        self.done.get().is_some()
    }
}

/// The state of the checks when a savepoint was made.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    checks: usize,
    done: u64,
    modes: Modes,
}

/// The modes that SET CONSTRAINTS has set: whether constraints are deferred.
#[derive(Debug, Default, Clone)]
struct Modes {
    all: Option<bool>,
    some: HashMap<ObjectId, bool>,
}

impl Deferred {
    /// Begins a round: the checks that are deferred until the next one were noted together.
    pub(super) fn begin_round(&self) {
        self.rounds.set(self.rounds.get() + 1);
    }

    /// Defers a check; returns it instead if it is due now, or is an action, which always is.
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
        let check = Check {
            noted,
            round: self.rounds.get(),
            done: Cell::new(None),
        };
        *self.pending.borrow_mut().entry(check.table()).or_default() += 1;
        self.checks.borrow_mut().push(Rc::new(check));
        None
    }

    /// Defers all constraints, or these, from now on, or no longer defers them.
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

    /// Returns the state for a savepoint.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            checks: self.checks.borrow().len(),
            done: self.done.get(),
            modes: self.modes.borrow().clone(),
        }
    }

    /// Returns the next check that was not done yet, of these constraints or any, at or behind
    /// `from`, which moves behind it; the check counts as done now. A transaction may have as many
    /// as it has changed rows.
    pub(super) fn next(
        &self,
        from: &mut usize,
        constraints: Option<&[ObjectId]>,
    ) -> Option<Rc<Check>> {
        let checks = self.checks.borrow();
        let is_meant = |check: &Rc<Check>| {
            let id = check.noted.reference.key.id;
            !check.is_done() && constraints.is_none_or(|meant| meant.contains(&id))
        };
        let begin = self.first.get().max(*from);
        let found = checks.get(begin..)?.iter().position(is_meant);
        let end = found.map_or(checks.len(), |found| begin + found + 1);
        *from = end;
        if constraints.is_none() {
            self.first.set(end);
        }
        let found = &checks[begin + found?];
        found.done.set(Some(self.done.get()));
        self.done.set(self.done.get() + 1);
        if let Some(pending) = self.pending.borrow_mut().get_mut(&found.table()) {
            *pending -= 1;
        }
        Some(found.clone())
    }

    /// Returns to the state of a savepoint.
    pub(super) fn return_to(&self, mark: &Mark) {
        let mut checks = self.checks.borrow_mut();
        let mut pending = self.pending.borrow_mut();
        while checks.len() > mark.checks
            && let Some(check) = checks.pop()
        {
            if !check.is_done()
                && let Some(pending) = pending.get_mut(&check.table())
            {
                *pending -= 1;
            }
        }
        // Only then is a check pending again: most returns to a savepoint need no look at the
        // checks that were deferred before it.
        if self.done.replace(mark.done) > mark.done {
            for check in checks.iter() {
                if check.done.get() >= Some(mark.done) {
                    check.done.set(None);
                    *pending.entry(check.table()).or_default() += 1;
                }
            }
            self.first.set(0);
        }
        self.first.set(self.first.get().min(checks.len()));
        self.modes.replace(mark.modes.clone());
    }

    /// Returns whether any check was deferred.
    pub(super) fn is_any(&self) -> bool {
        !self.checks.borrow().is_empty()
    }

    /// Forgets everything, for the next transaction.
    pub(super) fn clear(&self) {
        self.checks.borrow_mut().clear();
        self.first.set(0);
        self.done.set(0);
        self.pending.take();
        self.modes.take();
    }
}

impl PutOff for Deferred {
    fn is_pending(&self, table: ObjectId) -> bool {
        let pending = self.pending.borrow();
        pending.get(&table).is_some_and(|checks| *checks > 0)
    }
}

impl Modes {
    fn puts_off(&self, constraint: ObjectId, initially: bool) -> bool {
        let some = self.some.get(&constraint).copied();
        some.or(self.all).unwrap_or(initially)
    }
}
