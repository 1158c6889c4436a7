//! Statistics objects: CREATE STATISTICS, and other names for them.

use std::sync::Arc;

use types::{Result, SqlError, SqlState, key::has_order};

use super::{Notice, Session, Sink};
use catalog::{
    Catalog, NameClass, ObjectId, Relation, STATISTICS_COLUMNS_MAX, StatisticsKinds, Table,
    TableKind,
};
use syntax::{
    name::{DottedName, Name, QualifiedName},
    statement::{AlterObject, CreateStatistics, ObjectChange},
};

/// Noun of a statistics object in messages.
const NOUN: &str = "statistics object";

impl Session {
    /// `CREATE STATISTICS`.
    pub(super) async fn create_statistics(
        &self,
        create: &CreateStatistics,
        sink: &mut impl Sink,
    ) -> Result<()> {
        create.supported.clone()?;
        let catalog = self.transaction.catalog();
        let table = self.described_table(&catalog, &create.table)?;
        let named = create.name.qualified(&self.database.name)?;
        if let Some(schema) = &named.schema
            && catalog.expect_schema(schema)?.id != table.schema
        {
            return Err(SqlError::unsupported(
                "a statistics object in another schema than its table",
            ));
        }
        if catalog
            .named(NameClass::Statistics, table.schema, &named.name)
            .is_some()
        {
            if !create.if_not_exists {
                return Err(exists_already(&named.name));
            }
            self.tell(sink, &Notice::exists_already(NOUN, &named.name));
            return Ok(());
        }
        let columns = described_columns(&catalog, &table, &create.columns)?;
        let kinds = kinds(&create.kinds)?;
        let columns = in_order(columns)?;
        let ddl = self.transaction.ddl()?;
        ddl.create_statistics(table.id, &named.name, &columns, kinds)
            .await
    }

    /// Returns the table that a statistics object is to be over.
    fn described_table(&self, catalog: &Catalog, written: &DottedName) -> Result<Arc<Table>> {
        let (found, name) = self.relation_written(catalog, written)?;
        let kinds = match found {
            Relation::Table(table) if table.kind == TableKind::System => {
                let message = format!("permission denied: \"{name}\" is a system catalog");
                return Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
            }
            Relation::Table(table) => return Ok(table.clone()),
            Relation::Index(..) => "indexes",
            Relation::Sequence(_) => "sequences",
            Relation::View(_) => "views",
        };
        let message = format!("cannot define statistics for relation \"{name}\"");
        let error = SqlError::new(SqlState::WRONG_OBJECT_TYPE, message);
        Err(error.detail(format!("This operation is not supported for {kinds}.")))
    }

    /// Finds a statistics object by its name; returns its table's number and its own.
    pub(super) fn statistics_named(
        &self,
        catalog: &Catalog,
        named: &QualifiedName,
    ) -> Option<(ObjectId, ObjectId)> {
        let (path, schema) = (self.settings.search_path(), named.schema.as_deref());
        let id = catalog.find(NameClass::Statistics, path, schema, &named.name)?;
        let (table, object) = catalog.statistics_object(id)?;
        Some((table.id, object.id))
    }

    /// `ALTER STATISTICS ... RENAME TO`, `OWNER TO`.
    pub(super) async fn alter_statistics(&self, alter: &AlterObject) -> Result<()> {
        let catalog = self.transaction.catalog();
        let named = alter.name.qualified(&self.database.name)?;
        let found = self.statistics_named(&catalog, &named);
        let (table, id) = found.ok_or_else(|| no_statistics(&named.name))?;
        match &alter.change {
            ObjectChange::Owner(owner) => self.owner_is(owner),
            ObjectChange::Name(new) => {
                let schema = catalog.table(table).map(|table| table.schema);
                let schema = schema.unwrap_or_default();
                let new = new.as_str();
                if catalog.named(NameClass::Statistics, schema, new).is_some() {
                    let schema = catalog.schema_name(schema);
                    let message = format!("{NOUN} \"{new}\" already exists in schema \"{schema}\"");
                    return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, message));
                }
                self.transaction.ddl()?.rename(id, new).await
            }
            ObjectChange::Schema(_) => Err(SqlError::unsupported(
                "a statistics object in another schema than its table",
            )),
            ObjectChange::ColumnName(..) | ObjectChange::ConstraintName(..) => Err(SqlError::new(
                SqlState::SYNTAX_ERROR,
                "a statistics object can be renamed, and no more",
            )),
        }
    }
}

/// Returns the positions of the columns that a statement names.
fn described_columns(catalog: &Catalog, table: &Table, names: &[Name]) -> Result<Vec<u16>> {
    if names.len() > STATISTICS_COLUMNS_MAX {
        let message =
            format!("cannot have more than {STATISTICS_COLUMNS_MAX} columns in statistics");
        return Err(SqlError::new(SqlState::TOO_MANY_COLUMNS, message));
    }
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let name = name.as_str();
        let Some((at, column)) = table.column(name) else {
            let message = format!("column \"{name}\" does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_COLUMN, message));
        };
        if !has_order(column.ty) {
            let message = format!(
                "column \"{name}\" cannot be used in statistics because its type {} has no default btree operator class",
                column.ty.name(catalog)
            );
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        columns.push(u16::try_from(at).unwrap_or(u16::MAX));
    }
    Ok(columns)
}

/// Returns columns in the order of their positions.
///
/// # Errors
/// 42P17 for fewer than two; 42701 if one is there twice.
fn in_order(mut columns: Vec<u16>) -> Result<Vec<u16>> {
    if columns.len() < 2 {
        let message = "extended statistics require at least 2 columns";
        return Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, message));
    }
    columns.sort_unstable();
    if columns.windows(2).any(|pair| pair[0] == pair[1]) {
        let message = "duplicate column name in statistics definition";
        return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
    }
    Ok(columns)
}

/// Returns the kinds of findings that a statement names; all, if it names none.
fn kinds(names: &[Name]) -> Result<StatisticsKinds> {
    if names.is_empty() {
        return Ok(StatisticsKinds::ALL);
    }
    let mut kinds = StatisticsKinds {
        ndistinct: false,
        dependencies: false,
        mcv: false,
    };
    for name in names {
        match name.as_str() {
            "ndistinct" => kinds.ndistinct = true,
            "dependencies" => kinds.dependencies = true,
            "mcv" => kinds.mcv = true,
            other => {
                let message = format!("unrecognized statistics kind \"{other}\"");
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
            }
        }
    }
    Ok(kinds)
}

pub(super) fn no_statistics(name: &str) -> SqlError {
    let message = format!("{NOUN} \"{name}\" does not exist");
    SqlError::new(SqlState::UNDEFINED_OBJECT, message)
}

fn exists_already(name: &str) -> SqlError {
    let message = format!("{NOUN} \"{name}\" already exists");
    SqlError::new(SqlState::DUPLICATE_OBJECT, message)
}
