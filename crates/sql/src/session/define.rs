//! CREATE, ALTER, DROP, TRUNCATE: from statements to the catalog's operations. Tables, indexes, statistics
//! objects, views and enum types are created in `new_table.rs`, `new_index.rs`, `new_statistics.rs`,
//! `new_view.rs` and `enumeration.rs`.

use std::sync::Arc;

use types::{Result, SqlError, SqlState};

use super::{CommandTag, Notice, Session, Sink};
use catalog::{Behavior, Catalog, NameClass, ObjectId, Relation, Target};
use logical::bind::BindContext;
use syntax::{
    Source, Statement,
    name::{DottedName, QualifiedName},
    statement::{CreateSchema, Drop, DropKind, Truncate},
};

impl Session {
    /// Carries out a statement that changes definitions, or tables as a whole.
    pub(super) async fn define(
        &mut self,
        statement: &Statement,
        source: &Source<'_>,
        sink: &mut impl Sink,
    ) -> Result<()> {
        if let Statement::CreateIndex(create) = statement
            && create.concurrently
        {
            return self.create_index_concurrently(create, sink).await;
        }
        self.begin()?;
        self.settle().await?;
        self.transaction.begin_definition();
        match statement {
            Statement::CreateTableAs(new) => return self.create_table_as(new, source, sink).await,
            Statement::CreateTable(create) => self.create_table(create, sink).await?,
            Statement::CreateIndex(create) => self.create_index(create, sink).await?,
            Statement::CreateStatistics(create) => self.create_statistics(create, sink).await?,
            Statement::CreateView(create) => self.create_view(create, source).await?,
            Statement::CreateSchema(create) => self.create_schema(create, sink).await?,
            Statement::CreateType(create) => self.create_type(create).await?,
            Statement::CreateSequence(create) => self.create_sequence(create, sink).await?,
            Statement::AlterTable(alter) => self.alter_table(alter).await?,
            Statement::AlterType(alter) => self.alter_type(alter).await?,
            Statement::AlterSequence(alter) => self.alter_sequence(alter).await?,
            Statement::AlterObject(alter) => self.alter_object(alter).await?,
            Statement::Drop(dropped) => self.drop(dropped).await?,
            Statement::Truncate(truncate) => self.truncate(truncate).await?,
            Statement::Comment(comment) => self.comment(comment).await?,
            Statement::Rows(_)
            | Statement::Session(_)
            | Statement::SetConstraints(_)
            | Statement::Copy(_)
            | Statement::Explain(_)
            | Statement::Maintenance(_)
            | Statement::Refused(_) => {}
        }
        match statement.defines() {
            Some(name) => sink.complete(CommandTag::Word(name)),
            None => Err(SqlError::new(SqlState::INTERNAL_ERROR, "not a definition")),
        }
    }

    async fn create_schema(&self, create: &CreateSchema, sink: &mut impl Sink) -> Result<()> {
        let name = create.name.qualified(&self.database.name)?.name;
        let catalog = self.transaction.catalog();
        if catalog.schema_named(&name).is_none() || !create.if_not_exists {
            create.supported.clone()?;
            return self.transaction.ddl()?.create_schema(&name).await.map(drop);
        }
        self.tell(sink, &Notice::exists_already("schema", &name));
        Ok(())
    }

    /// Finds and holds the relation of a name, in the catalog as it is then; `None` if there need not
    /// be one.
    ///
    /// # Errors
    /// 42P01; 42501 for the system's; the engine's.
    pub(super) async fn held_relation(
        &self,
        named: &QualifiedName,
        if_exists: bool,
    ) -> Result<Option<(Arc<Catalog>, ObjectId)>> {
        let (path, schema) = (self.settings.search_path(), named.schema.as_deref());
        let mut held = None;
        // Once more each time that another transaction has given the name to something else.
        loop {
            let catalog = self.transaction.catalog();
            let found = match catalog.find_relation(path, schema, &named.name) {
                None if if_exists => return Ok(None),
                _ => catalog.expect_relation(path, schema, &named.name)?.id(),
            };
            if held == Some(found) {
                self.transaction.begin_definition();
                return Ok(Some((catalog, found)));
            }
            if found < ObjectId::FIRST {
                let message = format!("permission denied: \"{}\" is a system catalog", named.name);
                return Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
            }
            match self.transaction.ddl()?.hold(found).await {
                // It was dropped meanwhile; its name may be another's.
                Err(_) if self.transaction.catalog().relation(found).is_none() => {}
                outcome => outcome?,
            }
            held = Some(found);
        }
    }

    /// Returns the relation that a statement names, and its name without a schema.
    ///
    /// # Errors
    /// 42P01 if there is none.
    pub(super) fn relation_written<'c>(
        &self,
        catalog: &'c Catalog,
        written: &DottedName,
    ) -> Result<(Relation<'c>, String)> {
        let QualifiedName { schema, name } = written.qualified(&self.database.name)?;
        let path = self.settings.search_path();
        let found = catalog.expect_relation(path, schema.as_deref(), &name)?;
        Ok((found, name))
    }

    /// Returns whether a relation has a name already, and tells the client if it has.
    pub(super) fn is_taken(
        &self,
        catalog: &Catalog,
        schema: ObjectId,
        name: &str,
        sink: &mut impl Sink,
    ) -> bool {
        let is_taken = catalog.named(NameClass::Relation, schema, name).is_some();
        if is_taken {
            self.tell(sink, &Notice::exists_already("relation", name));
        }
        is_taken
    }

    /// Returns the schema and the name of something to be created.
    pub(super) fn place(
        &self,
        catalog: &Catalog,
        written: &DottedName,
    ) -> Result<(ObjectId, String)> {
        let qualified = written.qualified(&self.database.name)?;
        let schema = match &qualified.schema {
            Some(schema) => catalog.expect_schema(schema)?.id,
            None => catalog.creation_schema(self.settings.search_path())?.id,
        };
        if schema == ObjectId::PG_CATALOG {
            let name = &qualified.name;
            let message = format!("permission denied to create \"pg_catalog.{name}\"");
            let error = SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message);
            return Err(error.detail("System catalog modifications are currently disallowed."));
        }
        Ok((schema, qualified.name))
    }

    pub(super) fn bind_context<'s>(&'s self, catalog: &'s Catalog) -> BindContext<'s> {
        BindContext {
            catalog,
            inputs: self.settings.inputs(),
            database: &self.database.name,
            now: self.environment.transaction_time(),
        }
    }

    async fn drop(&self, dropped: &Drop) -> Result<()> {
        let catalog = self.transaction.catalog();
        let mut targets = Vec::with_capacity(dropped.names.len());
        for written in &dropped.names {
            let qualified = written.qualified(&self.database.name)?;
            let found = self.dropped(&catalog, &dropped.kind, &qualified)?;
            match found {
                Some(target) => targets.push(target),
                None if dropped.if_exists => {}
                None => {
                    let what = dropped.kind.noun();
                    let state = match dropped.kind {
                        DropKind::Table | DropKind::View | DropKind::Sequence => {
                            SqlState::UNDEFINED_TABLE
                        }
                        DropKind::Schema => SqlState::INVALID_SCHEMA_NAME,
                        DropKind::Index
                        | DropKind::Type
                        | DropKind::Statistics
                        | DropKind::Other(_) => SqlState::UNDEFINED_OBJECT,
                    };
                    return Err(SqlError::new(
                        state,
                        format!("{what} \"{}\" does not exist", qualified.name),
                    ));
                }
            }
        }
        let behavior = Behavior::of(dropped.cascade);
        if targets.is_empty() {
            return Ok(());
        }
        let ddl = self.transaction.ddl()?;
        ddl.drop(&targets, behavior).await.map(drop)
    }

    fn dropped(
        &self,
        catalog: &Catalog,
        kind: &DropKind,
        written: &QualifiedName,
    ) -> Result<Option<Target>> {
        if *kind == DropKind::Schema {
            return Ok(catalog
                .schema_named(&written.name)
                .map(|schema| Target::Object(schema.id)));
        }
        if *kind == DropKind::Statistics {
            let found = self.statistics_named(catalog, written);
            return Ok(found.map(|(table, object)| Target::Statistics(table, object)));
        }
        let (path, schema) = (self.settings.search_path(), written.schema.as_deref());
        if *kind == DropKind::Type {
            let found = catalog.find(NameClass::Type, path, schema, &written.name);
            return Ok(found.map(Target::Object));
        }
        let target = match (kind, catalog.find_relation(path, schema, &written.name)) {
            (_, None) => return Ok(None),
            (DropKind::Table, Some(Relation::Table(table))) => Target::Object(table.id),
            (DropKind::View, Some(Relation::View(view))) => Target::Object(view.id),
            (DropKind::Sequence, Some(Relation::Sequence(sequence))) => Target::Object(sequence.id),
            (DropKind::Index, Some(Relation::Index(table, index))) => {
                Target::Index(table.id, index.id)
            }
            (DropKind::Table | DropKind::View | DropKind::Sequence | DropKind::Index, Some(_)) => {
                let message = format!("\"{}\" is not a {}", written.name, kind.noun());
                return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
            (DropKind::Other(tag), _) => return Err(SqlError::unsupported(tag)),
            (DropKind::Schema | DropKind::Type | DropKind::Statistics, _) => return Ok(None),
        };
        Ok(Some(target))
    }

    async fn truncate(&self, truncate: &Truncate) -> Result<()> {
        let catalog = self.transaction.catalog();
        let mut tables = Vec::with_capacity(truncate.tables.len());
        for table in &truncate.tables {
            match self.relation_written(&catalog, table)? {
                (Relation::Table(table), _) => tables.push(table.id),
                (_, name) => return Err(no_table(&name)),
            }
        }
        let behavior = Behavior::of(truncate.cascade);
        let ddl = self.transaction.ddl()?;
        let truncating = ddl.truncate(&tables, truncate.restarts, behavior);
        truncating.await.map(drop)
    }
}

pub(super) fn no_table(name: &str) -> SqlError {
    let message = format!("\"{name}\" is not a table");
    SqlError::new(SqlState::WRONG_OBJECT_TYPE, message)
}

pub(super) fn duplicate_relation(name: &str) -> SqlError {
    let message = format!("relation \"{name}\" already exists");
    SqlError::new(SqlState::DUPLICATE_TABLE, message)
}

pub(super) fn no_such_column(relation: &str, name: &str) -> SqlError {
    let message = format!("column \"{name}\" of relation \"{relation}\" does not exist");
    SqlError::new(SqlState::UNDEFINED_COLUMN, message)
}

pub(super) fn no_constraint(table: &str, name: &str) -> SqlError {
    let message = format!("constraint \"{name}\" for table \"{table}\" does not exist");
    SqlError::new(SqlState::UNDEFINED_OBJECT, message)
}
