//! Copies of all rows of a table into another storage, and checks of all of them.

use std::sync::Arc;

use engine::Isolation;
use types::{
    Result, SqlError, SqlState, Type,
    row::{RowLayout, RowWriter},
};

use super::super::{
    ResultRow, Session, Sink, copy::no_parameters, query::CachedPlan, references::qualified,
};
use catalog::{Index, ObjectId, Table};
use logical::{
    bind::{Binder, NewValue},
    expression::{ColumnId, Expression},
    relation::Relation,
};
use planner::plan;
use syntax::{phase, statement::RowKind};

impl Session {
    /// Copies a table's rows into a storage of another form: `edit` changes the table's definition,
    /// `changed` lists the columns that are computed anew. Indexes are built over the copy.
    pub(super) async fn rewrite(
        &self,
        id: ObjectId,
        edit: impl FnOnce(&mut Table),
        changed: &[(usize, NewValue<'_>)],
    ) -> Result<Arc<Table>> {
        self.reads_newest()?;
        let ddl = self.transaction.ddl()?;
        let old = ddl.lock_exclusively(id).await?;
        let mut new = (*old).clone();
        edit(&mut new);
        let indexes: Vec<Index> = new.indexes.to_vec();
        ddl.new_storage(&mut new).await?;
        // The copy is written as a table of its own, and can therefore be written while the old one
        // is read; columns that were not read in the old rows are not in the new ones.
        let copy = Table {
            id: ObjectId::default(),
            checks: new
                .checks
                .iter()
                .filter(|check| check.is_valid)
                .cloned()
                .collect(),
            foreign_keys: Arc::default(),
            referenced_by: Arc::default(),
            ..new.clone()
        };
        let catalog = self.transaction.catalog();
        let plan = phase::run(|| {
            let bind_context = self.bind_context(&catalog);
            let relation = Binder::rewrite(&bind_context, &old, &Arc::new(copy), changed)?;
            plan::plan(relation, &[], 0)
        })
        .await?;
        let cached_plan = CachedPlan::own(plan, RowKind::Insert, &catalog, self.settings.inputs());
        let copied = self.run(&cached_plan, &no_parameters(), &mut ()).await;
        copied.map_err(|error| not_copied(error, &new))?;
        ddl.replace_storage(new, &indexes).await
    }

    /// Returns whether a table has a row for which a condition holds, written as SQL.
    pub(super) async fn has_row(&self, table: &Table, condition: &str) -> Result<bool> {
        self.reads_newest()?;
        let name = qualified(table, &self.transaction.catalog());
        let text = format!("select from {name} where {condition} limit 1");
        let cached_plan = Arc::new(self.internal(&text, Vec::new()).await?);
        let mut found = Found(false);
        self.run(&cached_plan, &no_parameters(), &mut found).await?;
        Ok(found.0)
    }

    /// Returns the value of an expression over nothing, in the form for rows that are older than a
    /// column of its type; `None` for NULL.
    pub(super) async fn value_of(&self, value: Expression) -> Result<Option<Arc<[u8]>>> {
        let catalog = self.transaction.catalog();
        let mut kept = Kept {
            ty: value.ty,
            bytes: None,
        };
        let column = ColumnId(0);
        let relation = Relation::Rows {
            columns: vec![column],
            rows: vec![vec![value]],
        };
        let plan = phase::run(|| plan::plan(relation, &[column], 0)).await?;
        let cached_plan = CachedPlan::own(plan, RowKind::Select, &catalog, self.settings.inputs());
        self.run(&cached_plan, &no_parameters(), &mut kept).await?;
        Ok(kept.bytes)
    }

    /// Checks that the transaction sees the newest rows.
    ///
    /// # Errors
    /// 0A000 in a transaction on a snapshot, which does not see later commits.
    fn reads_newest(&self) -> Result<()> {
        match self
            .transaction
            .begun()
            .map(|transaction| transaction.isolation())
        {
            None | Some(Isolation::ReadCommitted) => Ok(()),
            Some(Isolation::Snapshot | Isolation::Serializable) => Err(SqlError::unsupported(
                "ALTER TABLE that looks at rows in a transaction on a snapshot",
            )
            .hint("Use READ COMMITTED.")),
        }
    }
}

/// Converts an error of copying a row to one of altering the table.
fn not_copied(error: SqlError, table: &Table) -> SqlError {
    let name = &table.name;
    match (error.state(), error.constraint_name(), error.column_name()) {
        (SqlState::NOT_NULL_VIOLATION, _, Some(column)) => {
            let message =
                format!("column \"{column}\" of relation \"{name}\" contains null values");
            SqlError::new(SqlState::NOT_NULL_VIOLATION, message)
                .table(name)
                .column(column)
        }
        (SqlState::CHECK_VIOLATION, Some(check), _) => violated_by_some(table, check),
        (SqlState::UNIQUE_VIOLATION, Some(key), _) => {
            let message = format!("could not create unique index \"{key}\"");
            let told = SqlError::new(SqlState::UNIQUE_VIOLATION, message)
                .table(name)
                .constraint(key);
            match error.detail_text() {
                Some(detail) => told.detail(detail.replace("already exists.", "is duplicated.")),
                None => told,
            }
        }
        _ => error,
    }
}

/// Returns the error for a check that rows do not satisfy.
pub(super) fn violated_by_some(table: &Table, check: &str) -> SqlError {
    let name = &table.name;
    let message =
        format!("check constraint \"{check}\" of relation \"{name}\" is violated by some row");
    SqlError::new(SqlState::CHECK_VIOLATION, message)
        .table(name)
        .constraint(check)
}

/// A sink that keeps a value in the form of rows.
struct Kept {
    ty: Type,
    bytes: Option<Arc<[u8]>>,
}

impl Sink for Kept {
    fn row(&mut self, row: &ResultRow<'_>) -> Result<()> {
        if let [value] = row.values
            && !value.is_null()
        {
            let mut bytes = Vec::new();
            RowWriter::write(&RowLayout::new(&[self.ty])?, row.values, &mut bytes)?;
            self.bytes = Some(bytes.into());
        }
        Ok(())
    }
}

/// A sink that notes whether there was a row.
struct Found(bool);

impl Sink for Found {
    fn row(&mut self, _: &ResultRow<'_>) -> Result<()> {
        self.0 = true;
        Ok(())
    }
}
