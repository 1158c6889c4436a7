//! The transactions of a workload, written the way applications are: through layers.
//!
//! Transaction → page of work → unit → access → record: five `async fn` levels
//! above Weft's own. Nothing here is flattened by hand.

use weft::{Policy, Result, Transaction};

use super::transaction::{Application, Buffers};
use crate::operations::Operation;

/// Operations in one page of work.
const PAGE: usize = 4;

impl Application {
    /// Runs level 1: the business transaction.
    pub(super) async fn nested<P: Policy>(
        &self,
        txn: &Transaction<P>,
        buffers: &mut Buffers,
    ) -> Result<()> {
        let Buffers {
            operations,
            key,
            value,
            ..
        } = buffers;
        for page in operations.chunks(PAGE) {
            self.page(txn, page, key, value).await?;
        }
        Ok(())
    }

    /// Runs level 2: a page of work.
    async fn page<P: Policy>(
        &self,
        txn: &Transaction<P>,
        page: &[Operation],
        key: &mut [u8],
        value: &mut [u8],
    ) -> Result<()> {
        for &operation in page {
            self.unit(txn, operation, key, value).await?;
        }
        Ok(())
    }

    /// Runs level 3: a unit of work, where an application would authorise and log.
    async fn unit<P: Policy>(
        &self,
        txn: &Transaction<P>,
        operation: Operation,
        key: &mut [u8],
        value: &mut [u8],
    ) -> Result<()> {
        let outcome = self.access(txn, operation, key, value).await;
        if outcome.is_err() {
            // Stands for an application's own error handling.
            std::hint::black_box(&outcome);
        }
        outcome
    }

    /// Runs level 4: data access. Level 5 is the operation itself.
    async fn access<P: Policy>(
        &self,
        txn: &Transaction<P>,
        operation: Operation,
        key: &mut [u8],
        value: &mut [u8],
    ) -> Result<()> {
        self.operation(txn, operation, key, value).await
    }
}
