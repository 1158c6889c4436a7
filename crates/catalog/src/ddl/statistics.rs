//! Statistics objects: created, and given other names.

use std::sync::Arc;

use engine::TableLockMode;
use types::Result;

use super::{Ddl, gone};
use crate::{ObjectId, StatisticsKinds, StatisticsObject, Table};

impl Ddl<'_> {
    /// Creates a statistics object over columns of a table, beside readers and writers. Nothing is known about its
    /// columns until the table is analysed.
    ///
    /// # Errors
    /// 42710 if the name is taken; 42704 if a column is gone; errors of [`Ddl::alter_table`].
    pub async fn create_statistics(
        &self,
        table: ObjectId,
        name: &str,
        columns: &[u16],
        kinds: StatisticsKinds,
    ) -> Result<()> {
        let new = StatisticsObject {
            id: self.new_id().await?,
            name: Arc::from(name),
            columns: columns.into(),
            kinds,
        };
        let add = |table: &mut Table| {
            let is_gone = |at: &u16| {
                let column = table.columns.get(usize::from(*at));
                column.is_none_or(|column| column.dropped)
            };
            if columns.iter().any(is_gone) {
                return Err(gone("a column of object", table.id));
            }
            let others = table.statistics_objects.iter().cloned();
            table.statistics_objects = others.chain([new]).collect();
            Ok(())
        };
        let mode = TableLockMode::ShareUpdateExclusive;
        self.alter_table(table, mode, add).await.map(drop)
    }

    /// Gives a statistics object of a table another name.
    pub(super) async fn rename_statistics(
        &self,
        table: ObjectId,
        id: ObjectId,
        name: Arc<str>,
    ) -> Result<()> {
        let rename = |table: &mut Table| {
            let mut objects = table.statistics_objects.to_vec();
            let object = objects.iter_mut().find(|object| object.id == id);
            object.ok_or_else(|| gone("statistics object", id))?.name = name;
            table.statistics_objects = objects.into();
            Ok(())
        };
        let mode = TableLockMode::ShareUpdateExclusive;
        self.alter_table(table, mode, rename).await.map(drop)
    }
}
