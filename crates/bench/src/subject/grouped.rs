//! Transactions whose reads are issued together, as applications of a multi-get interface do. Other
//! operations follow one by one.

use weft::{Interleaved, Policy, Sequential, Transaction};

use super::transaction::{Application, Buffers};
use crate::workload::OperationKind;

/// Executions of the reads of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// Hand-written state machines.
    Amac,
    /// Coroutines polled in a ring.
    Coroutines,
}

impl Application {
    pub(super) async fn grouped(
        &self,
        txn: &Transaction<Sequential>,
        buffers: &mut Buffers,
        group: Group,
    ) -> weft::Result<()> {
        self.read_group(txn, buffers, group)?;
        self.others(txn, buffers).await
    }

    /// Runs a transaction with grouped reads among interleaved transactions, through the public
    /// interface.
    pub(super) async fn hybrid(
        &self,
        txn: &Transaction<Interleaved>,
        buffers: &mut Buffers,
    ) -> weft::Result<()> {
        let loaded_reads = self.collect_reads(buffers);
        let keys = keys(buffers, self.key.bytes());
        let mut found = 0;
        for (&word, value) in buffers
            .words
            .iter()
            .zip(txn.multi_get(&self.table, &keys).await?)
        {
            if let Some(value) = value {
                self.verifier.borrow_mut().check(word, &value);
                found += 1;
            }
        }
        self.must_have_found(found, loaded_reads);
        self.others(txn, buffers).await
    }

    /// Runs all operations except the reads.
    async fn others<P: Policy>(
        &self,
        txn: &Transaction<P>,
        buffers: &mut Buffers,
    ) -> weft::Result<()> {
        for position in 0..buffers.operations.len() {
            let operation = buffers.operations[position];
            if operation.kind != OperationKind::Read {
                self.operation(txn, operation, &mut buffers.key, &mut buffers.value)
                    .await?;
            }
        }
        Ok(())
    }

    fn read_group(
        &self,
        txn: &Transaction<Sequential>,
        buffers: &mut Buffers,
        group: Group,
    ) -> weft::Result<()> {
        let loaded_reads = self.collect_reads(buffers);
        let keys = keys(buffers, self.key.bytes());
        if keys.is_empty() {
            return Ok(());
        }
        let mut verifier = self.verifier.borrow_mut();
        let mut found = 0;
        let check = |index: usize, value: &[u8]| {
            verifier.check(buffers.words[index], value);
            found += 1;
        };
        let (transaction, table) = (txn.engine(), self.table.engine());
        match group {
            Group::Amac => transaction.multi_get_amac(table, &keys, check)?,
            Group::Coroutines => transaction.multi_get_coroutines(table, &keys, check)?,
        }
        drop(verifier);
        self.must_have_found(found, loaded_reads);
        Ok(())
    }

    /// Writes the keys and key words of all reads into the buffers. Returns how many are of records
    /// that are always there.
    fn collect_reads(&self, buffers: &mut Buffers) -> u64 {
        let bytes = self.key.bytes();
        let Buffers {
            operations,
            keys,
            words,
            ..
        } = buffers;
        words.clear();
        let reads = operations
            .iter()
            .filter(|operation| operation.kind == OperationKind::Read);
        let mut loaded_reads = 0;
        for operation in reads {
            let start = words.len() * bytes;
            if keys.len() < start + bytes {
                keys.resize(start + bytes, 0);
            }
            words.push(
                self.key
                    .write(operation.record, &mut keys[start..start + bytes]),
            );
            loaded_reads += u64::from(operation.record < self.loaded);
        }
        loaded_reads
    }

    fn must_have_found(&self, found: u64, loaded_reads: u64) {
        for _ in found..loaded_reads {
            self.verifier.borrow_mut().missing();
        }
    }
}

/// Returns the keys of the reads that were collected, of `bytes` each.
fn keys(buffers: &Buffers, bytes: usize) -> Vec<&[u8]> {
    buffers
        .keys
        .chunks_exact(bytes)
        .take(buffers.words.len())
        .collect()
}
