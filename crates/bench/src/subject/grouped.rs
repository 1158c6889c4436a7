//! Transactions whose reads are asked for at once: what a multi-get interface
//! makes of an application. Other operations follow one by one.

use weft::{Sequential, Transaction};

use super::transaction::{Application, Buffers};
use crate::workload::OperationKind;

/// How the reads of one transaction are executed.
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
        if words.is_empty() {
            return Ok(());
        }
        let keys: Vec<&[u8]> = keys.chunks_exact(bytes).take(words.len()).collect();
        let mut verifier = self.verifier.borrow_mut();
        let mut found = 0;
        let check = |index: usize, value: &[u8]| {
            verifier.check(words[index], value);
            found += 1;
        };
        let (transaction, table) = (txn.engine(), self.table.engine());
        match group {
            Group::Amac => transaction.multi_get_amac(table, &keys, check)?,
            Group::Coroutines => transaction.multi_get_coroutines(table, &keys, check)?,
        }
        for _ in found..loaded_reads {
            verifier.missing();
        }
        Ok(())
    }
}
