//! A client: one transaction that records its operations and their answers.
//!
//! A client that is dropped in the middle (cancelled, or by a panic) still hands
//! in its record. Dropping the transaction comes after that record's `ended`, so
//! no other transaction's success is taken for a dirty write.
//!
//! A commit on a device has two moments: when others see it, and when its client is told.
//! A client that is dropped in between is *in doubt*. The timestamp is known all the same:
//! everything runs on one thread, so if the clock moved while the commit was polled, this
//! commit moved it.

mod catalog;
mod expiring;

use std::{
    cell::{Cell, RefCell},
    future::{Future, poll_fn},
    ops::{Bound, ControlFlow},
    pin::pin,
    rc::Rc,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use engine::{
    Direction, Durability, Error, IfLocked, Isolation, OnConflict, Savepoint, Session, Strength,
    Table, Timestamp, Transaction,
};
use interleave::{Policy, Sequential, run_inline};

use crate::{
    history::{Action, Claim, Event, Key, Outcome, Record, Value},
    parameters::Planted,
    together::{join, within},
    world::World,
};

/// A range of keys.
pub(crate) type Range = (Bound<Key>, Bound<Key>);

/// One transaction and its record. See the module text.
pub(crate) struct Client<'w> {
    world: &'w World,
    transaction: Option<Transaction>,
    record: RefCell<Option<Record>>,
    values: Cell<u16>,
}

/// The moment at which an operation began.
#[derive(Clone, Copy)]
struct Start {
    clock: u64,
    order: u64,
}

impl<'w> Client<'w> {
    /// Begins a transaction.
    pub(crate) fn begin(
        world: &'w World,
        session: &Rc<Session>,
        isolation: Isolation,
        number: u64,
        label: &'static str,
    ) -> Result<Client<'w>, Error> {
        let begun = world.recorder.next();
        let transaction = session.begin(isolation)?;
        let record = Record {
            begun,
            number,
            label,
            isolation,
            durability: transaction.durability(),
            snapshot: world.database.now().0,
            events: Vec::new(),
            claims: Vec::new(),
            outcome: Outcome::Unfinished,
            ended: 0,
            told: 0,
        };
        Ok(Client {
            world,
            transaction: Some(transaction),
            record: RefCell::new(Some(record)),
            values: Cell::new(0),
        })
    }

    /// Returns a number that no other value of the run has.
    pub(crate) fn unique(&self) -> u64 {
        let sequence = self.values.get();
        self.values.set(sequence + 1);
        let number = self.with_record(|record| record.number);
        number << 16 | u64::from(sequence)
    }

    /// Returns a unique value of 8 bytes and `padding`.
    pub(crate) fn value(&self, padding: usize) -> Value {
        let mut value = self.unique().to_be_bytes().to_vec();
        value.resize(8 + padding, 0xcc);
        value
    }

    pub(crate) fn isolation(&self) -> Isolation {
        self.with_record(|record| record.isolation)
    }

    /// Changes the event that the acknowledgement waits for.
    pub(crate) fn set_durability(&self, durability: Durability) {
        self.transaction().set_durability(durability);
        self.with_record(|record| record.durability = durability);
    }

    fn table(&self, key: &[u8]) -> Arc<Table> {
        self.world.table_of(key)
    }

    /// Reads a record.
    pub(crate) async fn get<P: Policy>(&self, key: &[u8]) -> Result<Option<Value>, Error> {
        let start = self.start();
        let result = if self.misbehaves(Planted::LateRead) {
            let late = self.transaction().session().begin(Isolation::Snapshot)?;
            run_inline(late.get::<Sequential, _>(&self.table(key), key, <[u8]>::to_vec))
        } else {
            self.transaction()
                .get::<P, _>(&self.table(key), key, <[u8]>::to_vec)
                .await
        };
        self.finish(start, Some(key), result, |found| Action::Get {
            key: key.to_vec(),
            found: found.clone(),
        })
    }

    /// Waits for other transactions from now on, instead of aborting.
    pub(crate) fn wait_for_others(&self, at_most: Option<Duration>) {
        self.transaction().set_on_conflict(OnConflict::Wait);
        self.transaction().set_lock_timeout(at_most);
    }

    pub(crate) fn waits(&self) -> bool {
        self.transaction().on_conflict() == OnConflict::Wait
    }

    /// Locks a record and reads it, on a snapshot.
    pub(crate) async fn lock<P: Policy>(
        &self,
        key: &[u8],
        strength: Strength,
        if_locked: IfLocked,
    ) -> Result<Option<Value>, Error> {
        let start = self.start();
        let table = self.table(key);
        let result = self
            .transaction()
            .lock::<P, _>(&table, key, strength, if_locked, <[u8]>::to_vec)
            .await;
        self.finish(start, Some(key), result, |found| Action::Get {
            key: key.to_vec(),
            found: found.clone(),
        })
    }

    /// Returns a savepoint, and the number of events before it.
    pub(crate) fn savepoint(&self) -> Result<(Savepoint, usize), Error> {
        let events = self.with_record(|record| record.events.len());
        Ok((self.transaction().savepoint()?, events))
    }

    /// Takes back the writes since a savepoint, all of which were upserts.
    pub(crate) fn return_to(&self, savepoint: &(Savepoint, usize)) -> Result<(), Error> {
        self.transaction().rollback_to(&savepoint.0)?;
        self.with_record(|record| {
            for event in &mut record.events[savepoint.1..] {
                if let Action::Upsert { key, value } = &event.action {
                    event.action = Action::Abandoned {
                        key: key.clone(),
                        value: value.clone(),
                        done: false,
                    };
                }
            }
        });
        Ok(())
    }

    /// Visits the records of `range`, `limit` at most.
    pub(crate) async fn scan<P: Policy>(
        &self,
        range: Range,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<(Key, Value)>, Error> {
        let start = self.start();
        let mut found = Vec::new();
        let bounds = (
            range.0.as_ref().map(Vec::as_slice),
            range.1.as_ref().map(Vec::as_slice),
        );
        let result = self
            .transaction()
            .scan::<P>(&self.world.table, bounds, direction, |key, value| {
                found.push((key.to_vec(), value.to_vec()));
                if found.len() == limit {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })
            .await;
        self.finish(start, None, result.map(|_| found), |found| Action::Scan {
            range: self.world.part_of_table(range),
            direction,
            limit,
            found: found.clone(),
        })
    }

    /// Inserts a record; returns false if there is one.
    pub(crate) async fn insert<P: Policy>(&self, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        let start = self.start();
        let table = &self.table(key);
        let result = match self.transaction().insert::<P>(table, key, value).await {
            Ok(()) => Ok(true),
            Err(Error::DuplicateKey) => Ok(false),
            Err(error) => Err(error),
        };
        self.finish(start, Some(key), result, |&done| Action::Insert {
            key: key.to_vec(),
            value: value.to_vec(),
            done,
        })
    }

    /// Updates a record; returns whether there is one.
    pub(crate) async fn update<P: Policy>(&self, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        let start = self.start();
        let table = &self.table(key);
        let result = self.transaction().update::<P>(table, key, value).await;
        self.finish(start, Some(key), result, |&done| Action::Update {
            key: key.to_vec(),
            value: value.to_vec(),
            done,
        })
    }

    /// Changes a record, depending on its content, on a snapshot; returns whether there is
    /// one. The history has this as a read and an update.
    pub(crate) async fn modify<P: Policy>(
        &self,
        key: &[u8],
        change: impl Fn(&mut Value),
    ) -> Result<bool, Error> {
        let start = self.start();
        let table = &self.table(key);
        let mut last = None;
        let modify = self.transaction().modify::<P>(table, key, |old, new| {
            let before = old.to_vec();
            let mut after = before.clone();
            change(&mut after);
            new.extend_from_slice(&after);
            last = Some((before, after));
            ControlFlow::Continue(())
        });
        let result = modify.await;
        let (found, value) = last.filter(|_| result == Ok(true)).unzip();
        let key = key.to_vec();
        let result = self.finish(start, Some(&key), result, |_| Action::Get {
            key: key.clone(),
            found,
        });
        let Some(value) = value else { return result };
        let start = self.start();
        self.finish(start, Some(&key), result, |&done| Action::Update {
            key: key.clone(),
            value,
            done,
        })
    }

    /// Writes a record.
    pub(crate) async fn upsert<P: Policy>(&self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let start = self.start();
        let result = if self.misbehaves(Planted::DropWrite) {
            Ok(())
        } else {
            let table = &self.table(key);
            self.transaction().upsert::<P>(table, key, value).await
        };
        self.finish(start, Some(key), result, |()| Action::Upsert {
            key: key.to_vec(),
            value: value.to_vec(),
        })
    }

    /// Begins to write a record, drops the future after `turns` suspensions and looks what
    /// has become of the write.
    pub(crate) async fn upsert_within<P: Policy>(
        &self,
        turns: usize,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), Error> {
        let start = self.start();
        if let Some(result) = within(turns, self.upsert::<P>(key, value)).await {
            return result;
        }
        let table = &self.table(key);
        let transaction = self.transaction();
        let done = transaction
            .get::<Sequential, _>(table, key, |it| it == value)
            .await;
        self.finish(
            start,
            Some(key),
            done.map(|done| done == Some(true)),
            |&done| Action::Abandoned {
                key: key.to_vec(),
                value: value.to_vec(),
                done,
            },
        )?;
        Ok(())
    }

    /// Deletes a record; returns whether there was one.
    pub(crate) async fn delete<P: Policy>(&self, key: &[u8]) -> Result<bool, Error> {
        let start = self.start();
        let result = self.transaction().delete::<P>(&self.table(key), key).await;
        self.finish(start, Some(key), result, |&done| Action::Delete {
            key: key.to_vec(),
            done,
        })
    }

    /// Runs two operations at once.
    pub(crate) async fn both<A, B>(
        &self,
        a: impl Future<Output = Result<A, Error>>,
        b: impl Future<Output = Result<B, Error>>,
    ) -> Result<(A, B), Error> {
        let events = self.with_record(|record| record.events.len());
        let (a, b) = join(a, b).await;
        self.with_record(|record| {
            if record.events.len() == events + 2 {
                record.events[events + 1].joined = true;
            }
        });
        Ok((a?, b?))
    }

    /// Notes a claim that must hold.
    pub(crate) fn claim(&self, what: &'static str, expected: u64, found: u64) {
        let claim = Claim {
            what,
            expected,
            found,
        };
        self.with_record(|record| record.claims.push(claim));
    }

    /// Commits.
    pub(crate) async fn commit(mut self) -> Result<(), Error> {
        self.note_snapshot();
        let transaction = self.transaction.take().expect("only the end takes it");
        let database = &self.world.database;
        let tells = database.directory().is_some();
        let acknowledges_early = self.misbehaves(Planted::EarlyAcknowledgement);
        // The call commits; the block puts it into the first poll.
        let mut commit = pin!(async { transaction.commit().await });
        let result = poll_fn(|context| {
            let before = database.now();
            if !self.is_in_doubt() {
                let ended = self.world.recorder.next();
                self.with_record(|record| record.ended = ended);
            }
            let polled = commit.as_mut().poll(context);
            if tells && database.now() > before {
                let outcome = Outcome::InDoubt(database.now().0);
                self.with_record(|record| record.outcome = outcome);
                if acknowledges_early {
                    return Poll::Ready(Ok(database.now()));
                }
            }
            polled
        })
        .await;
        let (known, ended) = self.with_record(|record| (record.outcome, record.ended));
        let outcome = match result {
            Ok(Timestamp(at)) => Outcome::Committed(at),
            // The transaction had taken a timestamp; only this moved the clock.
            Err(Error::Abort(_)) => Outcome::Aborted,
            Err(_) if self.is_in_doubt() => known,
            Err(_) => Outcome::Aborted,
        };
        self.hand_in(outcome, ended);
        result.map(drop)
    }

    /// Returns whether the transaction has committed without its client having been told.
    fn is_in_doubt(&self) -> bool {
        self.with_record(|record| matches!(record.outcome, Outcome::InDoubt(_)))
    }

    /// Rolls back.
    pub(crate) fn rollback(mut self) {
        let ended = self.world.recorder.next();
        self.note_snapshot();
        self.transaction.take();
        self.hand_in(Outcome::RolledBack, ended);
    }

    /// Notes the snapshot at the end: until then it may move.
    fn note_snapshot(&self) {
        if let Some(transaction) = &self.transaction
            && transaction.isolation() != Isolation::ReadCommitted
        {
            let snapshot = transaction.snapshot().0;
            self.with_record(|record| record.snapshot = snapshot);
        }
    }

    fn transaction(&self) -> &Transaction {
        self.transaction.as_ref().expect("only the end takes it")
    }

    fn with_record<R>(&self, change: impl FnOnce(&mut Record) -> R) -> R {
        change(
            self.record
                .borrow_mut()
                .as_mut()
                .expect("only the end takes it"),
        )
    }

    fn misbehaves(&self, planted: Planted) -> bool {
        self.world.parameters.planted == Some(planted)
            && self.with_record(|record| record.number > 0 && record.number.is_multiple_of(5))
    }

    fn start(&self) -> Start {
        Start {
            order: self.world.recorder.next(),
            clock: self.world.database.now().0,
        }
    }

    fn finish<R>(
        &self,
        start: Start,
        key: Option<&[u8]>,
        result: Result<R, Error>,
        action: impl FnOnce(&R) -> Action,
    ) -> Result<R, Error> {
        let clock = self.world.database.now().0;
        let order = self.world.recorder.next();
        let action = match &result {
            Ok(result) => action(result),
            Err(error) => Action::Failed {
                key: key.map(<[u8]>::to_vec),
                error: *error,
            },
        };
        let event = Event {
            clock: (start.clock, clock),
            order: (start.order, order),
            joined: false,
            action,
        };
        self.with_record(|record| record.events.push(event));
        result
    }

    fn hand_in(&self, outcome: Outcome, ended: u64) {
        if let Some(mut record) = self.record.borrow_mut().take() {
            record.outcome = outcome;
            record.ended = ended;
            record.told = self.world.recorder.next();
            self.world.recorder.push(record);
        }
    }
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        if self.record.borrow().is_none() {
            return;
        }
        if self.is_in_doubt() {
            let (outcome, ended) = self.with_record(|record| (record.outcome, record.ended));
            return self.hand_in(outcome, ended);
        }
        let aborted = self.with_record(|record| {
            let failures = record.events.iter().map(|event| &event.action);
            failures
                .filter(|action| {
                    matches!(
                        action,
                        Action::Failed {
                            error: Error::Abort(_),
                            ..
                        }
                    )
                })
                .count()
                > 0
        });
        let outcome = if aborted {
            Outcome::Aborted
        } else {
            Outcome::Unfinished
        };
        let ended = self.world.recorder.next();
        self.note_snapshot();
        self.transaction.take();
        self.hand_in(outcome, ended);
    }
}
