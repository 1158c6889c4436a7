//! Records transactions while they run.
//!
//! A transaction that is retried has several *attempts*, each a transaction of the history; the
//! beginning of the next attempt tells that the one before was aborted. An attempt is recorded
//! operation by operation, and shared with the task that carries it out: if the task is dropped,
//! the operations of the attempt are still there, with an unknown outcome.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use isolation::history::{Action, Operation, Outcome, Transaction, Value, Version};

/// State that all clients of a run share.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    order: AtomicU64,
    transactions: AtomicU64,
    processes: AtomicU64,
    attempts: Mutex<Vec<Arc<Attempts>>>,
    ended: AtomicU64,
}

impl Recorder {
    /// Returns the next number of the history's order.
    fn next(&self) -> u64 {
        // SeqCst: the order must agree with real time on all threads; an operation that ended
        // before another began has drawn its number before it.
        self.order.fetch_add(1, Ordering::SeqCst)
    }

    pub(crate) fn process(&self) -> u64 {
        self.processes.fetch_add(1, Ordering::Relaxed)
    }

    /// Begins the record of the attempts that a client is about to make.
    pub(crate) fn attempts(self: &Arc<Recorder>, process: u64) -> Arc<Attempts> {
        let attempts = Arc::new(Attempts {
            recorder: self.clone(),
            process,
            begins: AtomicU64::new(self.next()),
            written: AtomicU64::new(0),
            made: Mutex::default(),
        });
        lock(&self.attempts).push(attempts.clone());
        attempts
    }

    /// Returns how many transactions have ended so far.
    pub(crate) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    /// Takes all recorded transactions.
    pub(crate) fn take(&self) -> Vec<Transaction> {
        let attempts = std::mem::take(&mut *lock(&self.attempts));
        let mut all = Vec::new();
        for attempts in attempts {
            all.append(&mut lock(&attempts.made));
        }
        all.sort_by_key(|transaction| transaction.number);
        all
    }
}

/// Returns the part of `action` that tells of other transactions' writes, as a read or an attempt
/// without effect. An update or a deletion that succeeded does not know the version that it
/// replaced, and returns `None`.
fn told_by(action: Action) -> Option<Action> {
    match action {
        Action::Read { .. } | Action::Scan { .. } => Some(action),
        Action::Insert { done: false, .. }
        | Action::Update { done: false, .. }
        | Action::Delete { done: false, .. } => Some(action),
        Action::Insert { key, .. } => Some(Action::Read { key, found: None }),
        Action::Append { key, onto, .. } => onto.map(|onto| Action::Read {
            key,
            found: (!onto.is_empty()).then_some(Value::List(onto)),
        }),
        Action::Write { .. } | Action::Update { .. } | Action::Delete { .. } => None,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The attempts at one transaction; see the module text.
#[derive(Debug)]
pub(crate) struct Attempts {
    recorder: Arc<Recorder>,
    process: u64,
    /// The order before the next attempt begins. The database begins an attempt before it first
    /// polls the task that carries it out, and threads may stand still in between; the number is
    /// therefore drawn when the transaction is submitted, or when the attempt before has done its
    /// work.
    begins: AtomicU64,
    /// Count of version numbers that the last attempt has used; a number whose write was undone is
    /// not used again.
    written: AtomicU64,
    made: Mutex<Vec<Transaction>>,
}

impl Attempts {
    /// Records that an attempt begins; the attempt before it, if any, was aborted.
    pub(crate) fn begin(&self) {
        // Relaxed: attempts are made one after the other.
        let begun = self.begins.load(Ordering::Relaxed);
        self.written.store(0, Ordering::Relaxed);
        self.end_last(begun, Outcome::Aborted, Some("at commit"));
        lock(&self.made).push(Transaction {
            number: self.recorder.transactions.fetch_add(1, Ordering::Relaxed) + 1,
            process: self.process,
            begun,
            ended: begun,
            outcome: Outcome::Unknown,
            why: None,
            operations: Vec::new(),
        });
    }

    /// Records an operation that has ended.
    pub(crate) fn note(&self, action: Action) {
        let ended = self.recorder.next();
        if let Some(last) = lock(&self.made).last_mut() {
            last.operations.push(Operation { action, ended });
        }
    }

    /// Returns the number of operations so far, to return to.
    pub(crate) fn mark(&self) -> usize {
        lock(&self.made)
            .last()
            .map_or(0, |last| last.operations.len())
    }

    /// Removes the operations since `mark`, which were undone. Their observations of other
    /// transactions stay.
    pub(crate) fn undone(&self, mark: usize) {
        let mut made = lock(&self.made);
        if let Some(last) = made.last_mut() {
            let undone = last.operations.split_off(mark);
            let told = undone
                .into_iter()
                .filter_map(|Operation { action, ended }| {
                    let action = told_by(action)?;
                    Some(Operation { action, ended })
                });
            last.operations.extend(told);
        }
    }

    /// Records that the attempt has done its work: it is committed, or made again.
    pub(crate) fn done(&self) {
        self.begins.store(self.recorder.next(), Ordering::Relaxed);
    }

    /// Returns a version number that no other write uses: made of the attempt's number and a count
    /// of the attempt's writes.
    pub(crate) fn unique(&self) -> Version {
        let made = lock(&self.made);
        let number = made.last().map_or(0, |last| last.number);
        // Relaxed: the lock is held.
        number * 1000 + self.written.fetch_add(1, Ordering::Relaxed)
    }

    /// Records why the attempt will be aborted.
    pub(crate) fn because(&self, why: &str) {
        if let Some(last) = lock(&self.made).last_mut() {
            last.why = Some(why.to_owned());
        }
    }

    /// Records how the last attempt has ended.
    pub(crate) fn end(&self, outcome: Outcome, why: Option<&str>) {
        let ended = self.recorder.next();
        self.end_last(ended, outcome, why);
    }

    fn end_last(&self, ended: u64, outcome: Outcome, why: Option<&str>) {
        if let Some(last) = lock(&self.made).last_mut()
            && last.outcome == Outcome::Unknown
        {
            last.ended = ended;
            last.outcome = outcome;
            if outcome != Outcome::Committed && last.why.is_none() {
                last.why = why.map(str::to_owned);
            }
            self.recorder.ended.fetch_add(1, Ordering::Relaxed);
        }
    }
}
