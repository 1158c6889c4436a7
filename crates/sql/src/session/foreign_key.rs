//! FOREIGN KEY and REFERENCES in definitions: from syntax to the catalog's foreign keys, and the
//! look at the rows that are there.

use std::sync::Arc;

use functions::{CastContext, cast};
use types::{Result, Scalar, SqlError, SqlState, Type};

use super::{
    Session,
    copy::no_parameters,
    query::no_plan,
    references::{column, missing, mixed, qualified},
};
use batch::Rows;
use catalog::{
    Catalog, ForeignKey, MatchKind, ObjectId, ReferentialAction, Relation, Table, from_engine,
};
use executor::execute::{KeyChanges, Reference};
use syntax::{
    name::{DottedName, Name},
    statement::{
        self, ColumnDefinition, ColumnOptionKind, ConstraintKind, CreateTable, TableConstraint,
    },
};

/// A foreign key as it is written.
pub(super) struct Written<'s> {
    name: Option<String>,
    columns: Vec<String>,
    key: &'s statement::ForeignKey,
}

impl<'s> Written<'s> {
    /// Returns the foreign key that a constraint of a table is.
    pub(super) fn of_table(
        constraint: &TableConstraint,
        columns: &[Name],
        key: &'s statement::ForeignKey,
    ) -> Self {
        Self {
            name: constraint.name.as_ref().map(owned),
            columns: columns.iter().map(owned).collect(),
            key,
        }
    }

    /// Returns the foreign keys of a column.
    pub(super) fn of_column(
        definition: &'s ColumnDefinition,
    ) -> impl Iterator<Item = Written<'s>> + 's {
        let options = definition.options.iter();
        options.filter_map(|option| match &option.kind {
            ColumnOptionKind::References(key) => Some(Written {
                name: option.name.as_ref().map(owned),
                columns: vec![owned(&definition.name)],
                key,
            }),
            _ => None,
        })
    }

    /// Returns all foreign keys of a table that is created.
    pub(super) fn all(create: &'s CreateTable) -> Vec<Written<'s>> {
        let of_columns = create.columns.iter().flat_map(Written::of_column);
        let constraints = create.constraints.iter();
        let of_table = constraints.filter_map(|constraint| match &constraint.kind {
            ConstraintKind::ForeignKey { columns, key } => {
                Some(Written::of_table(constraint, columns, key))
            }
            _ => None,
        });
        of_columns.chain(of_table).collect()
    }
}

fn owned(name: &Name) -> String {
    name.as_str().to_owned()
}

impl Session {
    /// Adds a foreign key to a table. With `looks`, its rows are looked at; without it, it is
    /// `NOT VALID`.
    ///
    /// # Errors
    /// 42P01, 42703, 42804, 42830, 42710; 23503.
    pub(super) async fn add_foreign_key(
        &self,
        table: ObjectId,
        written: &Written<'_>,
        looks: bool,
    ) -> Result<()> {
        let catalog = self.transaction.catalog();
        let Some(table) = catalog.table(table) else {
            return Err(SqlError::new(SqlState::INTERNAL_ERROR, "the table is gone"));
        };
        let referenced = self.referenced(&catalog, &written.key.table)?;
        let columns = positions(table, written.columns.iter().map(String::as_str))?;
        let there = positions(&referenced, written.key.columns.iter().map(Name::as_str))?;
        let ddl = self.transaction.ddl()?;
        let name = written.name.clone().unwrap_or_else(|| {
            let is_taken = |name: &str| table.constraint(name).is_some();
            let columns = written.columns.join("_");
            ddl.choose_name(table.schema, &table.name, Some(&columns), "fkey", is_taken)
        });
        let key = ForeignKey {
            name: name.as_str().into(),
            id: ObjectId::default(),
            columns: columns.into(),
            referenced: referenced.id,
            referenced_columns: there.into(),
            referenced_index: None,
            on_delete: action(written.key.on_delete),
            on_delete_columns: Arc::default(),
            on_update: action(written.key.on_update),
            match_kind: match written.key.is_full {
                true => MatchKind::Full,
                false => MatchKind::Simple,
            },
            is_deferrable: written.key.timing.is_deferrable,
            is_deferred: written.key.timing.is_deferred,
            is_valid: looks,
        };
        let table = ddl.add_foreign_key(table.id, key).await?;
        let reference = self.reference(&table, &name)?;
        comparable(&reference, &self.transaction.catalog())?;
        match looks {
            true => self.look_at_rows(&reference).await,
            false => Ok(()),
        }
    }

    /// Looks at the rows of a table for a foreign key that was `NOT VALID`.
    ///
    /// # Errors
    /// 23503.
    pub(super) async fn validate_foreign_key(&self, table: ObjectId, name: &str) -> Result<()> {
        let validate = |table: &mut Table| {
            let mut keys = table.foreign_keys.to_vec();
            let found = keys.iter_mut().find(|key| *key.name == *name);
            found.into_iter().for_each(|key| key.is_valid = true);
            table.foreign_keys = keys.into();
            Ok(())
        };
        let mode = engine::TableLockMode::ShareUpdateExclusive;
        let ddl = self.transaction.ddl()?;
        let table = ddl.alter_table(table, mode, validate).await?;
        let reference = self.reference(&table, name)?;
        self.look_at_rows(&reference).await
    }

    fn reference(&self, table: &Arc<Table>, name: &str) -> Result<Arc<Reference>> {
        let references = Reference::from(table, &self.transaction.catalog());
        let mut references = references.into_iter();
        let found = references.find(|reference| *reference.key.name == *name);
        found.ok_or_else(|| SqlError::new(SqlState::INTERNAL_ERROR, "the foreign key is gone"))
    }

    fn referenced(&self, catalog: &Catalog, written: &DottedName) -> Result<Arc<Table>> {
        match self.relation_written(catalog, written)? {
            (Relation::Table(table), _) => Ok(table.clone()),
            (_, name) => {
                let message = format!("referenced relation \"{name}\" is not a table");
                Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message))
            }
        }
    }

    /// # Errors
    /// 23503 if a row refers to a key that is not there, or is half NULL.
    async fn look_at_rows(&self, reference: &Reference) -> Result<()> {
        let (text, mixes) = dangling(reference, &self.transaction.catalog());
        if let Some(mixes) = mixes
            && !self.first_row(&mixes).await?.is_empty()
        {
            return Err(mixed(self, reference));
        }
        let found = self.first_row(&text).await?;
        match found.is_empty() {
            true => Ok(()),
            false => Err(missing(self, reference, found.row(0))),
        }
    }

    /// The first row of a query, in the present.
    async fn first_row(&self, text: &str) -> Result<Rows> {
        let find = async || Ok(Some((Arc::new(self.internal(text, Vec::new()).await?), ())));
        let (cached_plan, ()) = self.locked_plan(find).await?.ok_or_else(no_plan)?;
        let transaction = self.transaction.open()?;
        let changes = KeyChanges::new(&cached_plan.catalog, &self.budget());
        let present = transaction.read_present().map_err(from_engine)?;
        let none = no_parameters();
        let found = self
            .carry_out(&cached_plan, &none, &present, &changes)
            .await?;
        let mut rows = Rows::new(cached_plan.statement.outputs.len());
        for row in found.iter().take(1) {
            rows.push(cached_plan.statement.outputs.iter().map(|at| row[*at]));
        }
        Ok(rows)
    }
}

/// Queries for rows that refer to nothing, and for those that are half NULL and must not be.
fn dangling(reference: &Reference, catalog: &Catalog) -> (String, Option<String>) {
    let (key, referring) = (&reference.key, &reference.referring);
    let own: Vec<String> = key
        .columns
        .iter()
        .map(|at| column(referring, *at))
        .collect();
    let there = key.referenced_columns.iter();
    let there = there.map(|at| column(&reference.referenced, *at));
    let pairs = there.zip(&own);
    let joined: Vec<String> = pairs
        .map(|(there, own)| format!("there.{there} = own.{own}"))
        .collect();
    let all = |suffix: &str, word: &str| {
        let conditions = own.iter().map(|own| format!("own.{own} {suffix}"));
        conditions.collect::<Vec<_>>().join(word)
    };
    let from = qualified(referring, catalog);
    let text = format!(
        "select {} from {from} own where {} and not exists (select 1 from {} there where {})",
        own.iter()
            .map(|own| format!("own.{own}"))
            .collect::<Vec<_>>()
            .join(", "),
        all("is not null", " and "),
        qualified(&reference.referenced, catalog),
        joined.join(" and ")
    );
    let mixes = (key.match_kind == MatchKind::Full && own.len() > 1).then(|| {
        format!(
            "select 1 from {from} own where ({}) and ({})",
            all("is null", " or "),
            all("is not null", " or ")
        )
    });
    (text, mixes)
}

fn action(written: statement::ReferentialAction) -> ReferentialAction {
    match written {
        statement::ReferentialAction::NoAction => ReferentialAction::NoAction,
        statement::ReferentialAction::Restrict => ReferentialAction::Restrict,
        statement::ReferentialAction::Cascade => ReferentialAction::Cascade,
        statement::ReferentialAction::SetNull => ReferentialAction::SetNull,
        statement::ReferentialAction::SetDefault => ReferentialAction::SetDefault,
    }
}

fn positions<'n>(table: &Table, names: impl Iterator<Item = &'n str>) -> Result<Vec<u16>> {
    let position = |name: &str| match table.column(name) {
        Some((at, _)) => Ok(u16::try_from(at).unwrap_or(u16::MAX)),
        None => {
            let message =
                format!("column \"{name}\" referenced in foreign key constraint does not exist");
            Err(SqlError::new(SqlState::UNDEFINED_COLUMN, message))
        }
    };
    names.map(position).collect()
}

/// # Errors
/// 42804 if a column is of a type whose values cannot be those of the one it refers to.
fn comparable(reference: &Reference, catalog: &Catalog) -> Result<()> {
    let (referring, referenced) = (&reference.referring, &reference.referenced);
    let key = &reference.key;
    for (own, there) in key.columns.iter().zip(key.referenced_columns.iter()) {
        let own = &referring.columns[usize::from(*own)];
        let there = &referenced.columns[usize::from(*there)];
        if !is_comparable(own.ty, there.ty) {
            let message = format!(
                "foreign key constraint \"{}\" cannot be implemented",
                key.name
            );
            let detail = format!(
                "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
                own.name,
                there.name,
                own.ty.name(catalog),
                there.ty.name(catalog)
            );
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message).detail(detail));
        }
    }
    Ok(())
}

/// PostgreSQL wants an operator of the index's family, or a cast that is done unasked.
fn is_comparable(own: Type, there: Type) -> bool {
    use Scalar::{Date, Float4, Float8, Int2, Int4, Int8, Timestamp, TimestampTz};
    const FAMILIES: [&[Scalar]; 3] = [
        &[Int2, Int4, Int8],
        &[Float4, Float8],
        &[Date, Timestamp, TimestampTz],
    ];
    let is_family = |family: &&[Scalar]| match (own, there) {
        (Type::Scalar(own), Type::Scalar(there)) => {
            family.contains(&own) && family.contains(&there)
        }
        _ => false,
    };
    FAMILIES.iter().any(is_family) || cast(own, there, CastContext::Implicit).is_some()
}
