//! Checks of constraints that are put off to the commit.
//!
//! A check stays in the list until the transaction ends, also when it has been done: a return to a
//! savepoint takes back the checks that were put off since, and makes those pending again that were
//! done since. A table with pending checks cannot be altered, truncated or dropped, as in PostgreSQL.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
};

use catalog::{ObjectId, PutOff, ReferentialAction};
use executor::execute::{Happened, Noted};

/// What a transaction has put off, and what it puts off from now on.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    checks: RefCell<Vec<Rc<Check>>>,
    /// All checks before this one are done.
    first: Cell<usize>,
    /// How often a statement, or an action of one, has been seen to.
    rounds: Cell<u64>,
    /// How many checks were done in this transaction.
    done: Cell<u64>,
    /// How many checks are pending by the table whose rows have made them necessary; those with none
    /// may be missing.
    pending: RefCell<HashMap<ObjectId, usize>>,
    modes: RefCell<Modes>,
}

#[derive(Debug)]
pub(super) struct Check {
    pub(super) noted: Noted,
    /// Checks of one round concern the same rows.
    pub(super) round: u64,
    /// How many were done before it, if it is done.
    done: Cell<Option<u64>>,
}

impl Check {
    /// The table whose rows have made it necessary.
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

/// What SET CONSTRAINTS has said: whether they are put off.
#[derive(Debug, Default, Clone)]
struct Modes {
    all: Option<bool>,
    some: HashMap<ObjectId, bool>,
}

impl Deferred {
    /// Begins a round: the checks that are put off until the next one were noted together.
    pub(super) fn begin_round(&self) {
        self.rounds.set(self.rounds.get() + 1);
    }

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
        let check = Check {
            noted,
            round: self.rounds.get(),
            done: Cell::new(None),
        };
        *self.pending.borrow_mut().entry(check.table()).or_default() += 1;
        self.checks.borrow_mut().push(Rc::new(check));
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

    /// For a savepoint.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            checks: self.checks.borrow().len(),
            done: self.done.get(),
            modes: self.modes.borrow().clone(),
        }
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

    /// The transaction has returned to a savepoint.
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
        // Only then is there one that is pending again: most savepoints are returned to without a look
        // at what was put off before them.
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

    /// Whether any check was put off.
    pub(super) fn is_any(&self) -> bool {
        !self.checks.borrow().is_empty()
    }

    /// For the next transaction.
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
