//! The transactions of a workload, written once against Weft's public interface
//! and generic over the suspension policy.

use std::cell::RefCell;
use std::ops::{Bound, ControlFlow};

use weft::{Policy, Result, Table, Transaction};

use crate::keys::KeyShape;
use crate::operations::Operation;
use crate::values::{ValueShape, Verifier};
use crate::workload::OperationKind;

/// The table under measurement.
pub(super) type Bytes = Table<Vec<u8>, Vec<u8>>;

/// Parameters of a worker's transactions, and their findings. One per worker.
pub(super) struct Application {
    pub(super) table: Bytes,
    pub(super) key: KeyShape,
    pub(super) value: ValueShape,
    /// Number of records loaded: records below it are always there.
    pub(super) loaded: u64,
    pub(super) verifier: RefCell<Verifier>,
}

/// Buffers of one transaction, reused.
pub(super) struct Buffers {
    pub(super) operations: Vec<Operation>,
    pub(super) key: Vec<u8>,
    pub(super) value: Vec<u8>,
    /// Keys of grouped reads, one after another, and their key words.
    pub(super) keys: Vec<u8>,
    pub(super) words: Vec<u64>,
}

impl Buffers {
    pub(super) fn new(key: KeyShape, value: ValueShape) -> Self {
        Self {
            operations: Vec::new(),
            key: vec![0; key.bytes()],
            value: vec![0; value.bytes()],
            keys: Vec::new(),
            words: Vec::new(),
        }
    }

    /// Returns whether none of the operations writes.
    pub(super) fn only_reads(&self) -> bool {
        let reads = [OperationKind::Read, OperationKind::Scan];
        self.operations
            .iter()
            .all(|operation| reads.contains(&operation.kind))
    }
}

impl Application {
    /// Runs all operations, one after another.
    #[inline]
    pub(super) async fn flat<P: Policy>(
        &self,
        txn: &Transaction<P>,
        buffers: &mut Buffers,
    ) -> Result<()> {
        for position in 0..buffers.operations.len() {
            let operation = buffers.operations[position];
            self.operation(txn, operation, &mut buffers.key, &mut buffers.value)
                .await?;
        }
        Ok(())
    }

    /// Runs one operation and checks its answer.
    #[inline]
    #[allow(
        clippy::manual_async_fn,
        reason = "an async fn copies its arguments when it is first polled, right after \
                  they were written, which stalls the processor: 5 % of a cached read"
    )]
    pub(super) fn operation<P: Policy>(
        &self,
        txn: &Transaction<P>,
        operation: Operation,
        key: &mut [u8],
        value: &mut [u8],
    ) -> impl Future<Output = Result<()>> {
        async move {
            let word = self.key.write(operation.record, key);
            let record = operation.record;
            match operation.kind {
                OperationKind::Read => {
                    // The tuple takes one word, which is passed on from future to future.
                    let expected = &(self, word);
                    let check = |found: &[u8]| {
                        let (application, word) = expected;
                        application.verifier.borrow_mut().check(*word, found);
                    };
                    let found = txn.get_with(&self.table, &*key, check).await?;
                    self.must_exist(found.is_some(), record);
                }
                OperationKind::Update => {
                    self.value.write(word, record as u16, value);
                    let found = txn.update(&self.table, &*key, &*value).await?;
                    self.must_exist(found, record);
                }
                OperationKind::ReadModifyWrite => {
                    let version = |found: &[u8]| {
                        self.verifier.borrow_mut().check(word, found);
                        ValueShape::version(found)
                    };
                    let found = txn.get_with(&self.table, &*key, version).await?;
                    self.must_exist(found.is_some(), record);
                    if let Some(version) = found {
                        self.value.write(word, version.wrapping_add(1), value);
                        txn.update(&self.table, &*key, &*value).await?;
                    }
                }
                OperationKind::Insert => {
                    self.value.write(word, 0, value);
                    txn.insert(&self.table, &*key, &*value).await?;
                }
                OperationKind::Scan => self.scan(txn, key, operation.length).await?,
            }
            Ok(())
        }
    }

    async fn scan<P: Policy>(&self, txn: &Transaction<P>, from: &[u8], length: u32) -> Result<()> {
        let mut left = length;
        let range = (Bound::Included(from), Bound::<&[u8]>::Unbounded);
        let rows = txn.scan(&self.table, range);
        rows.for_each_bytes(|key, value| {
            self.verifier
                .borrow_mut()
                .check(KeyShape::word_of(key), value);
            left -= 1;
            if left == 0 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .await?;
        Ok(())
    }

    #[inline]
    pub(super) fn must_exist(&self, found: bool, record: u64) {
        if !found && record < self.loaded {
            self.verifier.borrow_mut().missing();
        }
    }
}
