//! The values of sequences: each is given once, across rollbacks and crashes.
//!
//! A counter's record says where the counter goes on after the database was opened. It is written
//! by transactions of its own, ahead of the values: one for [`AHEAD`] of them. No session waits
//! until that is durable. A transaction that has got a value depends on the record's commit
//! ([`engine::Transaction::depends_on`]), and is acknowledged only after it; recovery keeps a
//! prefix of the commit order. A value whose use was acknowledged, or recovered, is therefore below
//! what the record says, and is not given again. (A value that was only shown, within a transaction
//! that had not ended when the database crashed, may be given again, as in PostgreSQL.)
//!
//! ```text
//! sql.counters   number u32, big-endian → last i64 | is_called u8, little-endian
//! ```
//! A counter without a record has not begun.
//!
//! # Restarts
//! ALTER SEQUENCE .. RESTART gives a sequence another counter. No other transaction takes a value
//! of the old one until it is known which of them goes on; otherwise that value would be given
//! again. The counter is marked ([`Counter::hold`]) by a transaction that has locked the sequence,
//! when no other is about to write its record. A caller finds the mark at the latest when it takes
//! a value. It checks whether that lock is free, and waits for it if it is not: its transaction
//! then has the lock, too, which lets a deadlock be found, and aborts a transaction with an older
//! snapshot. The caller removes the mark if the sequence still has this counter.

use std::{
    rc::Rc,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use async_channel::{Receiver, Sender};
use engine::{
    Durability, Error, IfLocked, Isolation, OnConflict, Session, Strength, Timestamp, Transaction,
};
use interleave::Interleaved;
use types::{Result, SqlError, SqlState};

use super::{ObjectId, Sequence, SequenceOptions, failure::from_engine, record, store::Catalogs};

/// Number of values for one write, as in PostgreSQL.
const AHEAD: u32 = 32;

/// The position of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CounterState {
    /// Value that was given last, or is given first.
    pub last: i64,
    /// Whether `last` was given.
    pub is_called: bool,
}

impl CounterState {
    fn first(options: &SequenceOptions) -> CounterState {
        CounterState {
            last: options.start,
            is_called: false,
        }
    }

    fn encode(self) -> [u8; 9] {
        let mut bytes = [0; 9];
        bytes[..8].copy_from_slice(&self.last.to_le_bytes());
        bytes[8] = self.is_called.into();
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<CounterState> {
        let (last, is_called) = bytes.split_first_chunk::<8>()?;
        let &[is_called @ (0 | 1)] = is_called else {
            return None;
        };
        Some(CounterState {
            last: i64::from_le_bytes(*last),
            is_called: is_called == 1,
        })
    }

    /// Returns the state after one more value; `None` at the end.
    fn next(self, options: &SequenceOptions) -> Option<CounterState> {
        let SequenceOptions {
            increment,
            minimum,
            maximum,
            cycle,
            ..
        } = *options;
        let last = match self.last.checked_add(increment) {
            _ if !self.is_called => self.last,
            Some(next) if next >= minimum && next <= maximum => next,
            _ if !cycle => return None,
            _ if increment > 0 => minimum,
            _ => maximum,
        };
        Some(CounterState {
            last,
            is_called: true,
        })
    }
}

/// The cached state of a counter, once it was read.
#[derive(Debug, Clone, Copy)]
struct Known {
    state: CounterState,
    /// Number of values that are still covered by the record.
    left: u32,
    /// Commit timestamp of the record.
    at: Timestamp,
    /// Options by which those values were counted. A sequence that was altered since counts by
    /// others, and would leave what the record covers.
    options: SequenceOptions,
}

impl Known {
    fn covers(&self, options: &SequenceOptions) -> bool {
        self.left > 0 && self.options == *options
    }
}

/// A counter of values: see the module text.
#[derive(Debug)]
pub(super) struct Counter {
    known: Mutex<Option<Known>>,
    /// Whether the sequence may get another counter when a transaction ends that has it locked.
    is_held: AtomicBool,
    /// Turn to write the record: the task whose message is in the channel has it.
    turn: (Sender<()>, Receiver<()>),
}

impl Default for Counter {
    fn default() -> Counter {
        Counter {
            known: Mutex::default(),
            is_held: AtomicBool::new(false),
            turn: async_channel::bounded(1),
        }
    }
}

/// The outcome of taking values.
enum Advanced {
    Done,
    /// There are no more values.
    AtEnd,
    /// The caller has to look up whether the sequence still has this counter.
    Held,
}

/// A turn to write, which is given back when it is dropped.
struct Turn<'c>(&'c Counter);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // The message is there: this turn has put it in.
        let _ = self.0.turn.1.try_recv();
    }
}

impl Counter {
    /// Returns a counter that gives no values.
    pub(super) fn held() -> Counter {
        let counter = Counter::default();
        counter.is_held.store(true, Ordering::Release);
        counter
    }

    fn known(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps other transactions from taking values. The caller has locked the sequence.
    pub(super) async fn hold(&self) {
        let _turn = self.take_turn().await;
        let _known = self.known();
        self.is_held.store(true, Ordering::Release);
    }

    fn is_held(&self) -> bool {
        self.is_held.load(Ordering::Acquire)
    }

    async fn take_turn(&self) -> Turn<'_> {
        // The channel is never closed: both ends are here.
        let _ = self.turn.0.send(()).await;
        Turn(self)
    }

    /// Appends the next values, as many as are wanted and the record covers; returns the record's
    /// commit timestamp, or `None` if it covers none, or the counter is held.
    fn step(
        &self,
        options: &SequenceOptions,
        wanted: u32,
        values: &mut Vec<i64>,
    ) -> Option<Timestamp> {
        let mut known = self.known();
        if self.is_held() {
            return None;
        }
        let known = known.as_mut().filter(|known| known.covers(options))?;
        for _ in 0..wanted.min(known.left) {
            known.state = known.state.next(options)?;
            known.left -= 1;
            values.push(known.state.last);
        }
        Some(known.at)
    }
}

impl Catalogs {
    /// Appends the next values of a sequence to `values`: `wanted` if there are so many, at least
    /// one. No rollback gives them back.
    ///
    /// # Errors
    /// 2200H at the end of the sequence; errors of the engine.
    ///
    /// # Suspension
    /// Suspends at most once: where the values that were set aside run out, until a transaction of
    /// its own has committed, without waiting for the device.
    pub async fn next_values(
        &self,
        transaction: &Transaction,
        sequence: &Sequence,
        wanted: u32,
        values: &mut Vec<i64>,
    ) -> Result<()> {
        let mut other = None;
        let sequence = loop {
            let now = other.as_deref().unwrap_or(sequence);
            let advanced = self.advance(transaction, now.counter, &now.options, wanted, values);
            match advanced.await? {
                Advanced::Done => return Ok(()),
                Advanced::AtEnd => break now,
                Advanced::Held => {
                    let restarted = self.restarted(transaction, now).await?;
                    other = restarted.or(other);
                }
            }
        };
        Err({
            let SequenceOptions {
                increment,
                minimum,
                maximum,
                ..
            } = sequence.options;
            let (end, limit) = match increment > 0 {
                true => ("maximum", maximum),
                false => ("minimum", minimum),
            };
            let name = &sequence.name;
            SqlError::new(
                SqlState::SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
                format!("nextval: reached {end} value of sequence \"{name}\" ({limit})"),
            )
        })
    }

    /// Waits until a restart of the sequence has ended; returns the sequence as it is then, if it
    /// has another counter.
    ///
    /// # Errors
    /// 42P01 if the sequence is gone; errors of the engine.
    ///
    /// # Suspension
    /// Suspends while the restarting transaction has the sequence locked.
    async fn restarted(
        &self,
        transaction: &Transaction,
        sequence: &Sequence,
    ) -> Result<Option<Arc<Sequence>>> {
        let (objects, key) = (&self.tables.objects, record::key_of(sequence.id));
        // A transaction that has no snapshot yet does not mind earlier changes.
        let look = transaction.session().begin(Isolation::ReadCommitted);
        let look = look.map_err(from_engine)?;
        let (share, fail) = (Strength::Share, IfLocked::Fail);
        let seen = look.lock::<Interleaved, _>(objects, &key, share, fail, |_| ());
        let seen = seen.await;
        let locked = match seen {
            Err(Error::Locked) => {
                drop(look);
                let wait = IfLocked::Wait;
                let locked = transaction.lock::<Interleaved, _>(objects, &key, share, wait, |_| ());
                locked.await
            }
            seen => seen,
        };
        if locked.map_err(from_engine)?.is_none() {
            return Err(no_sequence(sequence));
        }
        let now = self.current().sequence(sequence.id).cloned();
        let other = now.filter(|now| now.counter != sequence.counter);
        if other.is_none() {
            // The sequence is not restarted meanwhile: one of the two transactions has its lock.
            let counter = self.counters.get(sequence.counter);
            counter.is_held.store(false, Ordering::Release);
        }
        Ok(other)
    }

    /// Sets a sequence: the next value follows `last`, or is it, unless `is_called`.
    ///
    /// # Errors
    /// 22003 for a value beyond the sequence's bounds; errors of the engine.
    ///
    /// # Suspension
    /// Suspends until a transaction of its own has committed.
    pub async fn set_value(
        &self,
        transaction: &Transaction,
        sequence: &Sequence,
        state: CounterState,
    ) -> Result<()> {
        let mut other: Option<Arc<Sequence>> = None;
        loop {
            let now = other.as_deref().unwrap_or(sequence);
            if self.set_unless_held(transaction, now, state).await? {
                return Ok(());
            }
            let restarted = self.restarted(transaction, now).await?;
            other = restarted.or(other);
        }
    }

    /// Sets a sequence; returns false if its counter is held.
    async fn set_unless_held(
        &self,
        transaction: &Transaction,
        sequence: &Sequence,
        state: CounterState,
    ) -> Result<bool> {
        let SequenceOptions {
            minimum, maximum, ..
        } = sequence.options;
        if state.last < minimum || state.last > maximum {
            let (last, name) = (state.last, &sequence.name);
            return Err(SqlError::new(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                format!(
                    "setval: value {last} is out of bounds for sequence \"{name}\" \
                     ({minimum}..{maximum})"
                ),
            ));
        }
        let counter = self.counters.get(sequence.counter);
        let _turn = counter.take_turn().await;
        if counter.is_held() {
            return Ok(false);
        }
        // If this future is dropped or fails, the record is read again by the next caller.
        *counter.known() = None;
        let at = self
            .write(transaction.session(), sequence.counter, state)
            .await?;
        *counter.known() = Some(Known {
            state,
            left: 0,
            at,
            options: sequence.options,
        });
        transaction.depends_on(at);
        Ok(true)
    }

    /// Returns the position of a sequence.
    ///
    /// # Errors
    /// 42P01 if the sequence is gone; errors of the engine.
    pub async fn state_of(
        &self,
        transaction: &Transaction,
        sequence: &Sequence,
    ) -> Result<CounterState> {
        let mut now = None;
        let mut counter = self.counters.get(sequence.counter);
        // Each turn of the loop comes after a restart that has committed.
        while self.counters.is_retired(&counter) {
            let other = self.current().sequence(sequence.id).cloned();
            let other = other.ok_or_else(|| no_sequence(sequence))?;
            counter = self.counters.get(other.counter);
            now = Some(other);
        }
        let sequence = now.as_deref().unwrap_or(sequence);
        let known = *counter.known();
        if let Some(known) = known {
            transaction.depends_on(known.at);
            return Ok(known.state);
        }
        let _turn = counter.take_turn().await;
        self.recall(
            transaction.session(),
            &counter,
            sequence.counter,
            &sequence.options,
        )
        .await
    }

    /// Returns a number for a new object.
    pub(super) async fn take_id(&self, transaction: &Transaction) -> Result<ObjectId> {
        let options = SequenceOptions {
            start: ObjectId::FIRST.0.into(),
            minimum: ObjectId::FIRST.0.into(),
            // The type of an enum's arrays has the next number.
            maximum: i64::from(u32::MAX) - 1,
            ..SequenceOptions::ascending(types::Type::Scalar(types::Scalar::Oid))
        };
        let mut next = Vec::with_capacity(1);
        self.advance(transaction, ObjectId::default(), &options, 1, &mut next)
            .await?;
        let next = next
            .pop()
            .and_then(|next| u32::try_from(next).ok())
            .map(ObjectId);
        next.ok_or_else(|| {
            SqlError::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                "there are no more object identifiers",
            )
        })
    }

    /// Appends the next values, as many as are wanted and there are.
    async fn advance(
        &self,
        transaction: &Transaction,
        id: ObjectId,
        options: &SequenceOptions,
        wanted: u32,
        values: &mut Vec<i64>,
    ) -> Result<Advanced> {
        let counter = self.counters.get(id);
        loop {
            if let Some(at) = counter.step(options, wanted, values) {
                transaction.depends_on(at);
                return Ok(Advanced::Done);
            }
            let _turn = counter.take_turn().await;
            if counter.is_held() {
                return Ok(Advanced::Held);
            }
            let state = self
                .recall(transaction.session(), &counter, id, options)
                .await?;
            // Another task has written the record meanwhile.
            if counter.known().is_some_and(|known| known.covers(options)) {
                continue;
            }
            let (mut end, mut left) = (state, 0);
            while left < AHEAD.max(wanted)
                && let Some(next) = end.next(options)
            {
                end = next;
                left += 1;
            }
            if left == 0 {
                return Ok(Advanced::AtEnd);
            }
            let at = self.write(transaction.session(), id, end).await?;
            *counter.known() = Some(Known {
                state,
                left,
                at,
                options: *options,
            });
        }
    }

    /// Returns the state of a counter, and reads it if it is not known. The caller has the turn.
    async fn recall(
        &self,
        session: &Rc<Session>,
        counter: &Counter,
        id: ObjectId,
        options: &SequenceOptions,
    ) -> Result<CounterState> {
        if let Some(known) = *counter.known() {
            return Ok(known.state);
        }
        let read = session.begin(Isolation::Snapshot).map_err(from_engine)?;
        let (counters, key) = (&self.tables.counters, record::key_of(id));
        let found = read.get::<Interleaved, _>(counters, &key, CounterState::decode);
        let state = match found.await.map_err(from_engine)? {
            None => CounterState::first(options),
            Some(found) => found.ok_or_else(|| {
                let message = format!("the state of counter {id} cannot be read");
                SqlError::new(SqlState::DATA_CORRUPTED, message)
            })?,
        };
        let at = read.seen();
        *counter.known() = Some(Known {
            state,
            left: 0,
            at,
            options: *options,
        });
        Ok(state)
    }

    /// Writes a counter's record; returns the commit timestamp. The caller has the turn.
    async fn write(
        &self,
        session: &Rc<Session>,
        id: ObjectId,
        state: CounterState,
    ) -> Result<Timestamp> {
        let write = session
            .begin(Isolation::ReadCommitted)
            .map_err(from_engine)?;
        write.set_on_conflict(OnConflict::Wait);
        write.set_durability(Durability::None);
        let (counters, key) = (&self.tables.counters, record::key_of(id));
        let bytes = state.encode();
        let written = write.upsert::<Interleaved>(counters, &key, &bytes);
        written.await.map_err(from_engine)?;
        let retired = self.counters.take_records();
        let committed = async {
            for id in &retired {
                let key = record::key_of(*id);
                // The record may never have been written.
                write.delete::<Interleaved>(counters, &key).await?;
            }
            write.commit().await
        };
        let committed = committed.await;
        if committed.is_err() {
            self.counters.put_back_records(retired);
        }
        committed.map_err(from_engine)
    }
}

fn no_sequence(sequence: &Sequence) -> SqlError {
    let message = format!("relation \"{}\" does not exist", sequence.name);
    SqlError::new(SqlState::UNDEFINED_TABLE, message)
}
