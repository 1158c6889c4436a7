//! The transactions of a workload, written once for all the other engines.
//!
//! The counterpart of the transactions that `bench` runs on Weft: the same
//! operations, the same values, the same checks. The engines are called
//! synchronously, and each is its own type, so the compiler sees through
//! [`Transaction`] and no engine pays for the abstraction.

use std::ops::ControlFlow;

use bench::keys::{KeyShape, mix};
use bench::operations::Operation;
use bench::plan::Plan;
use bench::values::{ValueShape, Verifier};
use bench::workload::OperationKind;
use commands::{Error, Result};

/// Operations on an open transaction of any engine. A transaction that was opened to read only need
/// not implement those that write.
pub(crate) trait Transaction {
    /// Hands the value of `key` to `found`; returns whether there is one.
    fn read(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool>;

    /// Reads as [`read`](Self::read) does, a record that the transaction will write.
    fn read_for_update(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool> {
        self.read(key, found)
    }

    /// Writes a value, whether the key had one before or not.
    fn write(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let _ = (key, value);
        Err(read_only())
    }

    /// Writes a value over another one; returns whether there was one. An engine that would have to
    /// read to find out returns `true`.
    fn update(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.write(key, value)?;
        Ok(true)
    }

    /// Removes the record of `key`, if it is there.
    fn delete(&mut self, key: &[u8]) -> Result<()> {
        let _ = key;
        Err(read_only())
    }

    /// Visits records in key order from `from` on, until `row` returns a break.
    fn scan(&mut self, from: &[u8], row: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>)
    -> Result<()>;
}

fn read_only() -> Error {
    Error::run("a transaction that was to read only writes; report this")
}

/// The operations between begin and commit of a transaction. They may be run again after an abort.
pub(crate) trait Body {
    /// Runs the operations in `txn`.
    fn run<T: Transaction>(&mut self, txn: &mut T) -> Result<()>;
}

/// The operations of a workload, and the check of their answers.
pub(crate) struct Operations {
    /// Operations of the transaction.
    pub(crate) operations: Vec<Operation>,
    /// Check of every answer.
    pub(crate) verifier: Verifier,
    key_shape: KeyShape,
    value_shape: ValueShape,
    /// Number of records loaded: records below it are always there.
    loaded: u64,
    /// Version of the value that the next update writes. SQLite skips the write, and the sync, of a
    /// value that is there already.
    version: u16,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Operations {
    /// Returns operations of the client number `client`, none yet.
    pub(crate) fn new(plan: &Plan, client: usize) -> Self {
        Self {
            operations: Vec::new(),
            verifier: Verifier::new(),
            key_shape: plan.key,
            value_shape: plan.value,
            loaded: plan.records,
            // Clients in step should not write equal values either.
            version: mix(client as u64) as u16,
            key: vec![0; plan.key.bytes()],
            value: vec![0; plan.value.bytes()],
        }
    }

    fn operation<T: Transaction>(&mut self, txn: &mut T, operation: Operation) -> Result<()> {
        let record = operation.record;
        let word = self.key_shape.write(record, &mut self.key);
        let verifier = &mut self.verifier;
        let found = match operation.kind {
            OperationKind::Read => txn.read(&self.key, |value| verifier.check(word, value))?,
            OperationKind::Update => {
                self.version = self.version.wrapping_add(1);
                self.value_shape.write(word, self.version, &mut self.value);
                txn.update(&self.key, &self.value)?
            }
            OperationKind::ReadModifyWrite => {
                let mut version = 0;
                let found = txn.read_for_update(&self.key, |value| {
                    verifier.check(word, value);
                    version = ValueShape::version(value);
                })?;
                if found {
                    let next = version.wrapping_add(1);
                    self.value_shape.write(word, next, &mut self.value);
                    txn.update(&self.key, &self.value)?;
                }
                found
            }
            OperationKind::Insert => {
                self.value_shape.write(word, 0, &mut self.value);
                txn.write(&self.key, &self.value)?;
                true
            }
            OperationKind::Scan => {
                let mut left = operation.length;
                txn.scan(&self.key, |key, value| {
                    verifier.check(KeyShape::word_of(key), value);
                    left -= 1;
                    if left == 0 {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                })?;
                true
            }
        };
        if !found && record < self.loaded {
            self.verifier.missing();
        }
        Ok(())
    }
}

impl Body for Operations {
    #[inline]
    fn run<T: Transaction>(&mut self, txn: &mut T) -> Result<()> {
        for position in 0..self.operations.len() {
            self.operation(txn, self.operations[position])?;
        }
        Ok(())
    }
}

/// Removes records.
pub(crate) struct Removal {
    pub(crate) key: KeyShape,
    pub(crate) records: std::ops::Range<u64>,
}

impl Body for Removal {
    fn run<T: Transaction>(&mut self, txn: &mut T) -> Result<()> {
        let mut records = self.records.clone();
        records.try_for_each(|record| txn.delete(&self.key.key(record)))
    }
}

/// Reads a whole table.
pub(crate) struct Audit {
    key: KeyShape,
    value: ValueShape,
    /// Number of records whose value is whole.
    pub(crate) whole: u64,
    /// Number of records whose value is damaged.
    pub(crate) damaged: u64,
}

impl Audit {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            key: plan.key,
            value: plan.value,
            whole: 0,
            damaged: 0,
        }
    }
}

impl Body for Audit {
    fn run<T: Transaction>(&mut self, txn: &mut T) -> Result<()> {
        (self.whole, self.damaged) = (0, 0);
        let lowest = vec![0; self.key.bytes()];
        txn.scan(&lowest, |key, value| {
            let whole =
                key.len() == self.key.bytes() && self.value.is_whole(KeyShape::word_of(key), value);
            if whole {
                self.whole += 1;
            } else {
                self.damaged += 1;
            }
            ControlFlow::Continue(())
        })
    }
}
