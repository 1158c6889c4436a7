//! CREATE INDEX: from the statement to the catalog's operations.

use std::sync::Arc;

use engine::TableLockMode;
use types::{Result, SqlError, SqlState, Type};

use super::{
    CommandTag, Notice, Session, Sink, copy::no_parameters, new_table::free_name,
    references::qualified,
};
use catalog::{
    Catalog, IndexColumn, IndexKey, NameClass, NewIndex, ObjectId, Relation, Table,
    create_index_concurrently,
};
use logical::bind::{Binder, Parameters};
use syntax::{
    name::{DottedName, Name},
    phase,
    statement::CreateIndex,
};

/// Columns of an index, those that it only includes counted too.
const COLUMNS_MAX: usize = 32;

impl Session {
    /// `CREATE INDEX`, within the transaction.
    pub(super) async fn create_index(
        &self,
        create: &CreateIndex,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let catalog = self.transaction.catalog();
        let table = self.indexed_table(&catalog, create)?;
        let new = phase::run(|| self.new_index(&catalog, &table, create)).await?;
        if is_there(&new, create, &catalog, table.schema) {
            self.tell(sink, &Notice::exists_already("relation", &new.name));
            return Ok(());
        }
        let ddl = self.transaction.ddl()?;
        if new.is_computed() {
            ddl.lock(table.id, TableLockMode::Share).await?;
            self.compute_all(&table, create).await?;
        }
        ddl.not_pending("CREATE INDEX", table.id)?;
        ddl.create_index(table.id, new).await.map(drop)
    }

    /// `CREATE INDEX CONCURRENTLY`, in transactions of its own.
    ///
    /// # Errors
    /// 25001 in a transaction block; those of the index.
    pub(super) async fn create_index_concurrently(
        &mut self,
        create: &CreateIndex,
        sink: &mut impl Sink,
    ) -> Result<()> {
        self.not_in_block("CREATE INDEX CONCURRENTLY")?;
        self.end_implicit().await?;
        self.begin()?;
        let catalog = self.transaction.catalog();
        let table = self.indexed_table(&catalog, create)?;
        let new = phase::run(|| self.new_index(&catalog, &table, create)).await?;
        let is_there = is_there(&new, create, &catalog, table.schema);
        if new.is_computed() && !is_there {
            self.compute_all(&table, create).await?;
        }
        // The builder waits for all transactions that are open.
        self.end_implicit().await?;
        if is_there {
            self.tell(sink, &Notice::exists_already("relation", &new.name));
        } else {
            let catalogs = &self.database.catalogs;
            create_index_concurrently(self.transaction.engine(), catalogs, catalog, table.id, new)
                .await?;
        }
        sink.complete(CommandTag::Word("CREATE INDEX"))
    }

    fn indexed_table(&self, catalog: &Catalog, create: &CreateIndex) -> Result<Arc<Table>> {
        match self.relation_written(catalog, &create.table)? {
            (Relation::Table(table), _) => Ok(table.clone()),
            (_, name) => {
                let message = format!("cannot create index on relation \"{name}\"");
                Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message))
            }
        }
    }

    /// Returns the index that a statement asks for.
    fn new_index(
        &self,
        catalog: &Catalog,
        table: &Arc<Table>,
        create: &CreateIndex,
    ) -> Result<NewIndex> {
        if create.columns.len() + create.included.len() > COLUMNS_MAX {
            let message = format!("cannot use more than {COLUMNS_MAX} columns in an index");
            return Err(SqlError::new(SqlState::TOO_MANY_COLUMNS, message));
        }
        create.supported.clone()?;
        let bind_context = self.bind_context(catalog);
        let mut parameters = Parameters::default();
        let mut binder = Binder::for_definitions(&bind_context, &mut parameters);
        let mut columns = Vec::with_capacity(create.columns.len());
        let mut names: Vec<String> = Vec::with_capacity(create.columns.len());
        for column in &create.columns {
            let (key, ty) = binder.index_key(table, &column.key)?;
            check_type(catalog, ty)?;
            if let Some(class) = &column.operator_class {
                check_operator_class(class)?;
            }
            let wanted = match &key {
                IndexKey::Column(at) => table.columns[usize::from(*at)].name.to_string(),
                IndexKey::Expression(_) => binder.index_key_name(&column.key),
            };
            names.push(other_name(&names, &wanted));
            columns.push(IndexColumn {
                key,
                ty,
                descending: column.descending,
                nulls_first: column.nulls_first.unwrap_or(column.descending),
            });
        }
        let mut included = Vec::with_capacity(create.included.len());
        for name in &create.included {
            let folded = name.as_str();
            let Some((at, _)) = table.column(folded) else {
                let message = format!("column \"{folded}\" does not exist");
                return Err(SqlError::new(SqlState::UNDEFINED_COLUMN, message));
            };
            included.push(u16::try_from(at).unwrap_or(u16::MAX));
            names.push(other_name(&names, folded));
        }
        let predicate = create.predicate.as_ref();
        let predicate = predicate
            .map(|predicate| binder.index_predicate(table, predicate))
            .transpose()?;
        let name = match &create.name {
            Some(name) => name.qualified(&self.database.name)?.name,
            None => {
                let columns = names.join("_");
                let ddl = self.transaction.ddl()?;
                ddl.choose_name(table.schema, &table.name, Some(&columns), "idx", |_| false)
            }
        };
        Ok(NewIndex {
            name,
            unique: create.unique,
            nulls_not_distinct: create.nulls_not_distinct,
            columns,
            included,
            predicate,
            constraint: None,
        })
    }

    /// Computes what an index is to be over for all rows that there are: the engine asks for
    /// entries where nothing can fail any more.
    ///
    /// # Errors
    /// Those of its expressions.
    async fn compute_all(&self, table: &Table, create: &CreateIndex) -> Result<()> {
        let computed = create.columns.iter().filter(|column| !column.key.is_name());
        let (counted, predicate) = phase::run(|| {
            let counted = computed.map(|column| format!("count({})", column.key));
            let counted: Vec<String> = counted.collect();
            Ok((counted, create.predicate.as_ref().map(ToString::to_string)))
        })
        .await?;
        if counted.is_empty() && predicate.is_none() {
            return Ok(());
        }
        let catalog = self.transaction.catalog();
        let what = match counted.is_empty() {
            true => "count(*)".to_owned(),
            false => counted.join(", "),
        };
        let mut text = format!("select {what} from {}", qualified(table, &catalog));
        if let Some(predicate) = predicate {
            text.push_str(&format!(" where {predicate}"));
        }
        let cached_plan = Arc::new(self.internal(&text, Vec::new()).await?);
        self.run(&cached_plan, &no_parameters(), &mut ()).await
    }

    pub(super) fn not_in_block(&self, what: &str) -> Result<()> {
        if self.transaction.status() == super::Status::Idle {
            return Ok(());
        }
        let message = format!("{what} cannot run inside a transaction block");
        Err(SqlError::new(SqlState::ACTIVE_SQL_TRANSACTION, message))
    }
}

/// Returns whether there is something of the index's name, and may be.
fn is_there(new: &NewIndex, create: &CreateIndex, catalog: &Catalog, schema: ObjectId) -> bool {
    let named = catalog.named(NameClass::Relation, schema, &new.name);
    create.if_not_exists && named.is_some()
}

/// Returns a name that none of the others has.
pub(super) fn other_name(names: &[String], wanted: &str) -> String {
    free_name(wanted, |name| !names.iter().any(|other| other == name))
}

/// Text is in the order of its bytes, which is what the classes for patterns ask for.
fn check_operator_class(class: &DottedName) -> Result<()> {
    let written = class.parts().last().map_or("", Name::as_str);
    let of = written.strip_suffix("_ops").unwrap_or_default();
    let of = of.strip_suffix("_pattern").unwrap_or(of);
    if Type::named(of).is_some() {
        return Ok(());
    }
    let message =
        format!("operator class \"{written}\" does not exist for access method \"btree\"");
    Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message))
}

fn check_type(catalog: &Catalog, ty: Type) -> Result<()> {
    if types::key::has_order(ty) {
        return Ok(());
    }
    let message = format!(
        "data type {} has no default operator class for access method \"btree\"",
        ty.name(catalog)
    );
    Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message)
        .hint("You must specify an operator class for the index or define a default operator class for the data type."))
}
