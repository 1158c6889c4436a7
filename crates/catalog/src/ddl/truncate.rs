//! Emptying tables, at once however large they are.

use std::collections::BTreeSet;

use engine::TableLockMode;
use interleave::Interleaved;
use types::{Result, SqlError, SqlState};

use super::{Behavior, Ddl};
use crate::{Object, ObjectId, Table, failure::from_engine};

impl Ddl<'_> {
    /// Empties tables, and with CASCADE the tables that refer to them, whose numbers are returned
    /// behind the given ones. With `restarts`, the sequences of their columns begin anew.
    ///
    /// # Errors
    /// 0A000 if other tables refer to them and it does not cascade; errors of [`Ddl::alter_table`].
    pub async fn truncate(
        &self,
        tables: &[ObjectId],
        restarts: bool,
        behavior: Behavior,
    ) -> Result<Vec<ObjectId>> {
        let mut all = tables.to_vec();
        let mut at = 0;
        while let Some(id) = all.get(at).copied() {
            let table = self.lock(id, TableLockMode::AccessExclusive).await?;
            for other in table
                .referenced_by
                .iter()
                .filter(|other| !all.contains(other))
            {
                if behavior == Behavior::Restrict {
                    return Err(self.is_referred_to(&table, *other));
                }
            }
            let others = table.referenced_by.iter().copied();
            let new: BTreeSet<_> = others.filter(|other| !all.contains(other)).collect();
            all.extend(new);
            at += 1;
        }
        for id in &all {
            self.not_pending("TRUNCATE", *id)?;
        }
        for id in &all {
            self.truncate_one(*id).await?;
            if restarts {
                self.restart_sequences(*id).await?;
            }
        }
        Ok(all)
    }

    async fn truncate_one(&self, id: ObjectId) -> Result<()> {
        let table = self.lock(id, TableLockMode::AccessExclusive).await?;
        let storage = self
            .transaction
            .truncate_table::<Interleaved>(&table.storage_name)
            .await;
        let storage = storage.map_err(from_engine)?;
        let replace = |table: &mut Table| {
            let mut indexes = table.indexes.to_vec();
            for index in &mut indexes {
                let handle = index.handle.take();
                let newest = handle.map(|handle| self.transaction.current_index(&handle));
                index.handle = newest.transpose().map_err(from_engine)?;
            }
            (table.indexes, table.storage) = (indexes.into(), storage.into());
            Ok(())
        };
        self.alter_table(id, TableLockMode::AccessExclusive, replace)
            .await
            .map(drop)
    }

    async fn restart_sequences(&self, table: ObjectId) -> Result<()> {
        let catalog = self.changes.catalog();
        let owned = catalog.objects().filter_map(|object| match object {
            Object::Sequence(sequence) => sequence
                .owned_by
                .is_some_and(|owner| owner.table == table)
                .then_some(sequence.id),
            _ => None,
        });
        for sequence in owned {
            self.alter_sequence(sequence, true, |_| Ok(())).await?;
        }
        Ok(())
    }

    fn is_referred_to(&self, table: &Table, by: ObjectId) -> SqlError {
        let catalog = self.changes.catalog();
        let by = catalog.object(by).map_or("", |object| &**object.name());
        let message = "cannot truncate a table referenced in a foreign key constraint";
        SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
            .detail(format!("Table \"{by}\" references \"{}\".", table.name))
            .hint(format!(
                "Truncate table \"{by}\" at the same time, or use TRUNCATE ... CASCADE."
            ))
    }
}
