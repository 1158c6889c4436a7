//! Foreign keys: the changes of a statement to keys are checked at its end, or at the commit.
//!
//! A row that refers to a key has to find it. When a key is taken away, no row may refer to it any
//! more, or the constraint's action is carried out on the rows that do. Checks and actions are
//! statements that are planned and carried out as any other (`references/question.rs`), once for
//! each key. The changes of an action are noted in turn and lead to further checks, until no notes
//! are left.
//!
//! # Why no row ever refers to a missing key
//! Let `I` write a row that refers to key `k`, and `D` delete the row `p` that has `k`, or change
//! its key. Neither commits before its check.
//!
//! 1. `I` looks for `k` by a locking read: it finds the newest committed version of `p` (or its
//!    own), or, if all later writes keep the key, the one that its snapshot sees; and it holds a
//!    key share of `p` from then on until it ends.
//! 2. `D` has an exclusive hold on `p` from its write on until it ends (the write does not keep the
//!    key), and looks for rows that refer to `k` afterwards, in the present: all rows that were
//!    committed by then, and its own.
//! 3. The two exclude each other. If `I` has its lock first, `D` waits in its write until `I` has
//!    ended; if `I` has committed, its row is in the present that `D` looks at. If `D` writes
//!    first, `I` waits in its check until `D` has ended; if `D` has committed, there is no `p`.
//! 4. It therefore does not matter that `D` does not see rows that other transactions have not
//!    committed: they have not passed their check either, and will fail it.
//! 5. A row that refers to `k` and is deleted by another transaction `X` is still there for `D`: it
//!    waits for `X` in locking it, or in its own action on it, and looks again. If `X` only makes
//!    it refer to another key, `D` need not wait: the row that is there still refers to `k`, and
//!    `D` fails (as in PostgreSQL).
//!
//! ```text
//!   I: insert child(k)     D: delete parent(k)
//!   writes child
//!   locks p's key
//!                          waits for I
//!   commits
//!                          owns p, deletes it
//!                          looks in the present: finds child
//! ```
//!
//! The present is that of a reader beside the transaction (`engine::Present`), at every level: a
//! statement's own snapshot is older than what it waited for.
//!
//! *On a snapshot*, rule 1 and the writes of rule 2 hold anyway: a row whose key was changed since
//! is not locked, and a row that was changed at all is not written; the transaction aborts (40001).
//! The rows that `D` looks for may be newer than its snapshot. `D` cannot change a row that it
//! finds there and does not see: if an action has left any, it aborts (40001). *Serializable*
//! transactions also read their snapshot, so that the reads they decide by are certified.
//!
//! *Deadlocks* are the engine's to find: all waits are for records (40P01).
//!
//! *Deferred* checks are the same ones, later (`deferred.rs`): 1 to 5 are about the time of the
//! check, not of the row's write. A check that fails then tests whether there is still a row that
//! refers to the key.
//!
//! *Reported violation*: that of the first row, and of its first constraint, as in PostgreSQL; for
//! one row, keys that it has lost come before those that it refers to. An error of an action counts
//! too. Constraints are checked one after the other, for all rows; after a violation, the others
//! are checked for the rows before it.
//!
//! *Definitions*: a foreign key is added and dropped under locks at both ends that exclude writers
//! (`catalog/ddl/reference.rs`); a transaction that has written one end can therefore rely on the
//! foreign keys that it has seen. The other end's table is locked before it is read, and its names
//! are looked up then.

mod question;
mod violation;

use std::{cell::Cell, sync::Arc};

use engine::{Abort, Isolation, Transaction};
use interleave::Turn;
use types::{Result, SqlError, Type, Value};

pub(in crate::session) use self::question::Question;
pub(super) use self::{
    question::{column, qualified},
    violation::{missing, mixed},
};
use super::{
    Session,
    copy::no_parameters,
    plan_cache::PlanKey,
    query::{CachedPlan, no_plan},
};
use batch::Rows;
use catalog::{Catalog, ObjectId, ReferentialAction, from_engine};
use executor::execute::{
    ExecutionContext, Happened, KeyChanges, Noted, Opened, Place, Reference, SharedRows, lock_rows,
};
use syntax::phase;

impl Session {
    /// Handles all keys that a statement has noted, and those that its actions note.
    ///
    /// # Errors
    /// 23503 for a violation; errors of the actions' statements.
    pub(super) async fn keep_references(&self, changes: &KeyChanges<'_>) -> Result<()> {
        let turn = Turn::default();
        loop {
            let noted = changes.take();
            if noted.is_empty() {
                return Ok(());
            }
            self.transaction.deferred().begin_round();
            let mut first: Option<Violation> = None;
            for noted in noted {
                if let Some(noted) = self.transaction.deferred().put_off(noted) {
                    let before = first.as_ref().map(|violation| violation.place);
                    let earlier = self.keep_reference(&noted, changes, &turn, before);
                    first = earlier.await?.or(first);
                }
            }
            if let Some(violation) = first {
                return Err(violation.error);
            }
        }
    }

    /// Handles the deferred checks: of these constraints, or all.
    ///
    /// # Errors
    /// Errors of [`Session::keep_references`].
    pub(super) async fn keep_deferred(&self, constraints: Option<&[ObjectId]>) -> Result<()> {
        // One turn for all checks: a check alone is too short for its turn to end.
        let (turn, budget) = (Turn::default(), self.budget());
        let mut from = 0;
        let mut first: Option<(u64, Violation)> = None;
        while let Some(check) = self.transaction.deferred().next(&mut from, constraints) {
            let before = match &first {
                Some((round, _)) if *round != check.round => break,
                first => first.as_ref().map(|(_, violation)| violation.place),
            };
            let catalog = self.transaction.catalog();
            // A constraint that was dropped since demands nothing.
            let reference = &check.noted.reference;
            let referring = catalog.table(reference.referring.id);
            let is_there = referring.is_some_and(|table| {
                (table.foreign_keys.iter()).any(|key| key.id == reference.key.id)
            });
            if is_there {
                let changes = KeyChanges::new(&catalog, &budget);
                let earlier = self.keep_reference(&check.noted, &changes, &turn, before);
                let earlier = earlier.await?.map(|violation| (check.round, violation));
                first = earlier.or(first);
            }
        }
        match first {
            Some((_, violation)) => Err(violation.error),
            None => Ok(()),
        }
    }

    /// Handles keys of one foreign key, as far as they come before another key that has violated
    /// its constraint, or for which an action failed. A failure here, which comes first, replaces
    /// that one.
    async fn keep_reference(
        &self,
        noted: &Noted,
        changes: &KeyChanges<'_>,
        turn: &Turn,
        before: Option<Place>,
    ) -> Result<Option<Violation>> {
        let keeping = Keeping {
            session: self,
            transaction: self.transaction.open()?,
            reference: &noted.reference,
            changes,
            turn,
            at: Cell::default(),
        };
        match keeping.keep(noted, noted.keys_before(before)).await {
            Err(error) if is_of_row(&error) => Ok(Some(Violation {
                place: noted.place(keeping.at.get()),
                error,
            })),
            kept => kept.map(|()| None),
        }
    }

    /// Returns the plan of a question, with its tables locked.
    async fn question(&self, reference: &Reference, question: Question) -> Result<Arc<CachedPlan>> {
        let plan_key = PlanKey::Reference(reference.key.id, question);
        let find = async || {
            let make = |catalog: &Arc<Catalog>| {
                let (text, types) = question.text(reference, catalog)?;
                self.bound_text(&text, types, catalog)
            };
            Ok(Some((self.keyed_plan(plan_key, make).await?, ())))
        };
        let (cached_plan, ()) = self.locked_plan(find).await?.ok_or_else(no_plan)?;
        Ok(cached_plan)
    }

    /// Returns the plan of an internal statement, with parameters of these types. No other statement asks for it, so it
    /// is not kept.
    pub(super) async fn internal(&self, text: &str, types: Vec<Type>) -> Result<CachedPlan> {
        let catalog = self.transaction.catalog();
        phase::run(|| self.bound_text(text, types, &catalog)).await
    }

    /// Carries an internal statement out; returns its first rows if it is a query, or none.
    pub(super) async fn carry_out(
        &self,
        cached_plan: &CachedPlan,
        parameters: &Rows,
        reads: &Transaction,
        changes: &KeyChanges<'_>,
    ) -> Result<Rows> {
        let environment = self.statement_environment(&cached_plan.catalog);
        let shared = SharedRows::new(self.budget());
        let _snapshot = reads.statement_snapshot().map_err(from_engine)?;
        let transaction = self.transaction.open()?;
        let context = ExecutionContext {
            reads,
            ..self.execution_context(transaction, &environment, parameters, &shared, changes)
        };
        let mut opened = Opened::new(cached_plan.statement.plan.clone(), self.memory.spare_rows())?;
        let mut batch = Rows::new(opened.width());
        let mut written = 0;
        while opened.next(&context, &mut batch).await? && !cached_plan.shows_rows() {
            written += batch.len() as u64;
            batch.clear();
        }
        let changed_rows = self.transaction.changed_rows();
        changed_rows.note(written, cached_plan.written());
        Ok(batch)
    }
}

/// Returns whether an error is about one row, so that an earlier row's error would come before it:
/// a violation, or an error of computing a value for an action. Other errors end everything at
/// once.
fn is_of_row(error: &SqlError) -> bool {
    let state = error.state();
    ["22", "23"]
        .iter()
        .any(|class| state.code().starts_with(class))
}

/// Units of a turn that a question about a key counts for. Each is an execution of its own, too
/// short for its own turn to end.
const QUESTION_UNITS: usize = 64;

/// The state while the keys of one foreign key are handled.
struct Keeping<'s> {
    session: &'s Session,
    transaction: &'s Transaction,
    reference: &'s Reference,
    changes: &'s KeyChanges<'s>,
    turn: &'s Turn,
    /// Number of the key that is being handled.
    at: Cell<usize>,
}

/// A key that violates a constraint.
struct Violation {
    place: Place,
    error: SqlError,
}

impl Keeping<'_> {
    /// Handles the first `count` keys.
    async fn keep(&self, noted: &Noted, count: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        if noted.happened == Happened::Referred {
            return self.referred(&noted.keys, count).await;
        }
        for (at, key) in noted.keys.iter().take(count).enumerate() {
            self.at.set(at);
            self.turn.pause(QUESTION_UNITS).await;
            match noted.happened {
                Happened::Referred => {}
                Happened::Deleted => self.lost(key, &[]).await?,
                Happened::Changed => {
                    let (old, new) = key.split_at(key.len() / 2);
                    self.lost(old, new).await?;
                }
            }
        }
        Ok(())
    }

    /// Checks keys that rows refer to, of which the first `count` matter.
    async fn referred(&self, keys: &Rows, count: usize) -> Result<()> {
        let is_mixed = |key: &[Value<'_>]| key.iter().any(Value::is_null);
        self.turn.pause(QUESTION_UNITS).await;
        let question = self
            .session
            .question(self.reference, Question::Find)
            .await?;
        let found = match keys.iter().any(is_mixed) {
            true => None,
            false => self.found(&question, keys).await?,
        };
        for (at, key) in keys.iter().take(count).enumerate() {
            self.at.set(at);
            self.turn
                .pause(match found {
                    Some(_) => 1,
                    None => QUESTION_UNITS,
                })
                .await;
            if is_mixed(key) {
                // The row that has it may be gone by now, too.
                if self.asked_present(Question::StillMixed, key).await? {
                    return Err(violation::mixed(self.session, self.reference));
                }
                continue;
            }
            let is_there = match &found {
                Some(found) => found[at],
                None => self.asked(Question::Find, key).await?,
            };
            // The row that referred to the key may be gone by now.
            if !is_there && self.asked_present(Question::StillRefers, key).await? {
                return Err(violation::missing(self.session, self.reference, key));
            }
        }
        Ok(())
    }

    /// Returns which of the keys exist, if one plan can find that out for all at once.
    async fn found(&self, cached_plan: &CachedPlan, keys: &Rows) -> Result<Option<Vec<bool>>> {
        let environment = self.session.statement_environment(&cached_plan.catalog);
        let shared = SharedRows::new(self.session.budget());
        let parameters = no_parameters();
        let context = self.session.execution_context(
            self.transaction,
            &environment,
            &parameters,
            &shared,
            self.changes,
        );
        lock_rows(&cached_plan.statement.plan, &context, keys).await
    }

    /// Handles a key that its row has lost; `new` is the row's new key, or empty if the row was
    /// deleted.
    async fn lost(&self, old: &[Value<'_>], new: &[Value<'_>]) -> Result<()> {
        let key = &self.reference.key;
        let is_deleted = new.is_empty();
        let action = match is_deleted {
            true => key.on_delete,
            false => key.on_update,
        };
        match action {
            ReferentialAction::NoAction => self.replaced(old).await,
            ReferentialAction::Restrict => self.unreferred(old).await,
            ReferentialAction::Cascade if is_deleted => self.act(Question::Delete, old, old).await,
            ReferentialAction::Cascade => {
                let both: Vec<Value<'_>> = old.iter().chain(new).copied().collect();
                self.act(Question::Follow, &both, old).await
            }
            ReferentialAction::SetNull => {
                self.act(Question::SetNull { is_deleted }, old, old).await
            }
            ReferentialAction::SetDefault => {
                self.act(Question::SetDefault { is_deleted }, old, old)
                    .await?;
                // The default may be the key that is gone.
                self.replaced(old).await
            }
        }
    }

    /// Checks that another row has a key now, or that no row refers to it.
    ///
    /// # Errors
    /// 23503 if a row refers to a key that no other row has now.
    async fn replaced(&self, key: &[Value<'_>]) -> Result<()> {
        // Another row of the statement may have it.
        match self.asked(Question::HasKey, key).await? {
            true => Ok(()),
            false => self.unreferred(key).await,
        }
    }

    /// Checks that no row refers to a key.
    ///
    /// # Errors
    /// 23503 if a row refers to it.
    async fn unreferred(&self, key: &[Value<'_>]) -> Result<()> {
        let refers = match self.transaction.isolation() {
            // The locking read waits for a transaction that is just deleting a referring row.
            Isolation::ReadCommitted => self.asked(Question::RefersLocked, key).await?,
            Isolation::Snapshot | Isolation::Serializable => {
                self.look_back(key).await?;
                self.asked_present(Question::Refers, key).await?
            }
        };
        match refers {
            true => Err(violation::referred(self.session, self.reference, key)),
            false => Ok(()),
        }
    }

    /// Carries an action out on the rows that refer to a key.
    async fn act(&self, action: Question, values: &[Value<'_>], key: &[Value<'_>]) -> Result<()> {
        if self.transaction.isolation() == Isolation::ReadCommitted {
            return self.asked(action, values).await.map(drop);
        }
        self.look_back(key).await?;
        self.asked_present(action, values).await?;
        let sets_default = matches!(action, Question::SetDefault { .. });
        // Rows that are newer than the snapshot were found, and not changed.
        if !sets_default && self.asked_present(Question::Refers, key).await? {
            return Err(from_engine(self.transaction.abort(Abort::SnapshotTooOld)));
        }
        Ok(())
    }

    /// Adds the rows that a serializable transaction decides by to its reads.
    async fn look_back(&self, key: &[Value<'_>]) -> Result<()> {
        if self.transaction.isolation() == Isolation::Serializable {
            self.asked(Question::Refers, key).await?;
        }
        Ok(())
    }

    /// Returns whether a question has rows: as the transaction sees them, or in the present under
    /// read committed.
    async fn asked(&self, question: Question, values: &[Value<'_>]) -> Result<bool> {
        match self.transaction.isolation() {
            Isolation::ReadCommitted => self.asked_present(question, values).await,
            Isolation::Snapshot | Isolation::Serializable => {
                self.answered(question, values, self.transaction).await
            }
        }
    }

    /// Returns whether a question has rows in the present, also within a statement that sees a
    /// moment of the past.
    async fn asked_present(&self, question: Question, values: &[Value<'_>]) -> Result<bool> {
        let present = self.transaction.read_present().map_err(from_engine)?;
        self.answered(question, values, &present).await
    }

    async fn answered(
        &self,
        question: Question,
        values: &[Value<'_>],
        reads: &Transaction,
    ) -> Result<bool> {
        let cached_plan = self.session.question(self.reference, question).await?;
        let mut parameters = Rows::new(values.len());
        parameters.push(values.iter().copied());
        let found = self
            .session
            .carry_out(&cached_plan, &parameters, reads, self.changes);
        Ok(!found.await?.is_empty())
    }
}
