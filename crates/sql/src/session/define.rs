//! CREATE, DROP, TRUNCATE: from syntax to the catalog's operations. Tables, indexes, views and
//! enum types are created in `new_table.rs`, `new_index.rs`, `new_view.rs` and `enumeration.rs`.

use std::sync::Arc;

use sqlparser::ast::{self, ObjectType, Statement};
use types::{Result, SqlError, SqlState};

use super::{Notice, Session, Sink, Tag};
use catalog::{Behavior, Catalog, Ddl, NameClass, ObjectId, Relation, Target};
use logical::bind::BindContext;
use syntax::{
    Source,
    definition::Definition,
    name::{self, QualifiedName},
};

impl Session {
    pub(super) async fn define(
        &mut self,
        statement: &Statement,
        sink: &mut impl Sink,
    ) -> Result<()> {
        self.begin()?;
        self.settle().await?;
        self.changes.begin_definition();
        match statement {
            Statement::CreateTable(create) => {
                self.create_table(create, &[], sink).await?;
                sink.complete(Tag::Word("CREATE TABLE"))
            }
            Statement::CreateIndex(create) => {
                self.create_index(create, sink).await?;
                sink.complete(Tag::Word("CREATE INDEX"))
            }
            Statement::CreateView(create) => {
                self.create_view(create).await?;
                sink.complete(Tag::Word("CREATE VIEW"))
            }
            Statement::CreateSchema {
                schema_name,
                if_not_exists,
                ..
            } => {
                let ast::SchemaName::Simple(name) = schema_name else {
                    return Err(SqlError::unsupported("AUTHORIZATION"));
                };
                let name = name::qualified(name, &self.database.name)?.name;
                let catalog = self.changes.catalog();
                if catalog.schema_named(&name).is_none() || !if_not_exists {
                    self.ddl()?.create_schema(&name).await?;
                } else {
                    self.tell(sink, &Notice::exists_already("schema", &name));
                }
                sink.complete(Tag::Word("CREATE SCHEMA"))
            }
            Statement::CreateType {
                name,
                representation,
            } => {
                self.create_type(name, representation.as_ref()).await?;
                sink.complete(Tag::Word("CREATE TYPE"))
            }
            Statement::AlterType(alter) => {
                self.alter_type(alter).await?;
                sink.complete(Tag::Word("ALTER TYPE"))
            }
            Statement::Drop {
                object_type,
                if_exists,
                names,
                cascade,
                ..
            } => {
                self.drop(*object_type, names, *if_exists, *cascade).await?;
                sink.complete(Tag::Word(match object_type {
                    ObjectType::View => "DROP VIEW",
                    ObjectType::Index => "DROP INDEX",
                    ObjectType::Schema => "DROP SCHEMA",
                    ObjectType::Sequence => "DROP SEQUENCE",
                    ObjectType::Type => "DROP TYPE",
                    _ => "DROP TABLE",
                }))
            }
            Statement::Truncate(truncate) => {
                self.truncate(truncate).await?;
                sink.complete(Tag::Word("TRUNCATE TABLE"))
            }
            _ => Err(SqlError::new(SqlState::INTERNAL_ERROR, "not a definition")),
        }
    }

    /// Definitions that the parser does not know whole.
    pub(super) async fn define_otherwise(
        &mut self,
        definition: &Definition,
        source: &Source<'_>,
        sink: &mut impl Sink,
    ) -> Result<()> {
        self.begin()?;
        self.settle().await?;
        self.changes.begin_definition();
        match definition {
            Definition::CreateSequence {
                temporary: true, ..
            } => Err(SqlError::unsupported("a temporary sequence")),
            Definition::CreateSequence {
                name,
                if_not_exists,
                clauses,
                ..
            } => {
                self.create_sequence(name, *if_not_exists, clauses).await?;
                sink.complete(Tag::Word("CREATE SEQUENCE"))
            }
            Definition::CreateTableLike { create, likes } => {
                self.create_table(create, likes, sink).await?;
                sink.complete(Tag::Word("CREATE TABLE"))
            }
            Definition::Comment { on, text } => {
                self.comment(on, text.as_deref()).await?;
                sink.complete(Tag::Word("COMMENT"))
            }
            Definition::CreateTableAs(new) => self.create_table_as(new, source, sink).await,
            Definition::AlterSequence {
                name,
                if_exists,
                clauses,
            } => {
                self.alter_sequence(name, *if_exists, clauses).await?;
                sink.complete(Tag::Word("ALTER SEQUENCE"))
            }
            Definition::AlterTable {
                name,
                if_exists,
                actions,
            } => {
                self.alter_table(name, *if_exists, actions).await?;
                sink.complete(Tag::Word("ALTER TABLE"))
            }
            Definition::AlterObject {
                kind,
                name,
                if_exists,
                change,
            } => {
                self.alter_object(*kind, name, *if_exists, change).await?;
                sink.complete(Tag::Word(kind.tag()))
            }
        }
    }

    pub(super) fn ddl(&self) -> Result<Ddl<'_>> {
        let transaction = self.transaction.as_ref();
        let transaction =
            transaction.ok_or_else(|| SqlError::new(SqlState::INTERNAL_ERROR, "no transaction"))?;
        Ok(Ddl::new(transaction, &self.changes).sparing(&self.deferred))
    }

    /// The relation of a name, held, in the catalog as it is then; `None` if there need not be one.
    ///
    /// # Errors
    /// 42P01; 42501 for the system's; the engine's.
    pub(super) async fn held_relation(
        &self,
        named: &QualifiedName,
        if_exists: bool,
    ) -> Result<Option<(Arc<Catalog>, ObjectId)>> {
        let (path, schema) = (&self.inputs.search_path, named.schema.as_deref());
        let mut held = None;
        // Once more each time that another transaction has given the name to something else.
        loop {
            let catalog = self.changes.catalog();
            let found = match catalog.find_relation(path, schema, &named.name) {
                None if if_exists => return Ok(None),
                _ => catalog.expect_relation(path, schema, &named.name)?.id(),
            };
            if held == Some(found) {
                self.changes.begin_definition();
                return Ok(Some((catalog, found)));
            }
            if found < ObjectId::FIRST {
                let message = format!("permission denied: \"{}\" is a system catalog", named.name);
                return Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
            }
            match self.ddl()?.hold(found).await {
                // It was dropped meanwhile; its name may be another's.
                Err(_) if self.changes.catalog().relation(found).is_none() => {}
                outcome => outcome?,
            }
            held = Some(found);
        }
    }

    /// The schema and the name of something to be created.
    pub(super) fn place(
        &self,
        catalog: &Catalog,
        written: &ast::ObjectName,
    ) -> Result<(ObjectId, String)> {
        let qualified = name::qualified(written, &self.database.name)?;
        let schema = match &qualified.schema {
            Some(schema) => catalog.expect_schema(schema)?.id,
            None => catalog.creation_schema(&self.inputs.search_path)?.id,
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
            inputs: &self.inputs,
            database: &self.database.name,
            now: self.environment.transaction_time(),
        }
    }

    async fn drop(
        &self,
        object_type: ObjectType,
        names: &[ast::ObjectName],
        if_exists: bool,
        cascade: bool,
    ) -> Result<()> {
        let catalog = self.changes.catalog();
        let mut targets = Vec::with_capacity(names.len());
        for written in names {
            let qualified = name::qualified(written, &self.database.name)?;
            let found = self.dropped(&catalog, object_type, &qualified)?;
            match found {
                Some(target) => targets.push(target),
                None if if_exists => {}
                None => {
                    let what = object_type.to_string().to_lowercase();
                    let state = match object_type {
                        ObjectType::Table | ObjectType::View | ObjectType::Sequence => {
                            SqlState::UNDEFINED_TABLE
                        }
                        ObjectType::Schema => SqlState::INVALID_SCHEMA_NAME,
                        _ => SqlState::UNDEFINED_OBJECT,
                    };
                    return Err(SqlError::new(
                        state,
                        format!("{what} \"{}\" does not exist", qualified.name),
                    ));
                }
            }
        }
        let behavior = if cascade {
            Behavior::Cascade
        } else {
            Behavior::Restrict
        };
        if targets.is_empty() {
            return Ok(());
        }
        self.ddl()?.drop(&targets, behavior).await.map(drop)
    }

    fn dropped(
        &self,
        catalog: &Catalog,
        object_type: ObjectType,
        written: &name::QualifiedName,
    ) -> Result<Option<Target>> {
        if object_type == ObjectType::Schema {
            return Ok(catalog
                .schema_named(&written.name)
                .map(|schema| Target::Object(schema.id)));
        }
        if object_type == ObjectType::Type {
            let schema = written.schema.as_deref();
            let found = catalog.find(
                NameClass::Type,
                &self.inputs.search_path,
                schema,
                &written.name,
            );
            return Ok(found.map(Target::Object));
        }
        let found = catalog.find_relation(
            &self.inputs.search_path,
            written.schema.as_deref(),
            &written.name,
        );
        let target = match (object_type, found) {
            (_, None) => return Ok(None),
            (ObjectType::Table, Some(Relation::Table(table))) => Target::Object(table.id),
            (ObjectType::View, Some(Relation::View(view))) => Target::Object(view.id),
            (ObjectType::Sequence, Some(Relation::Sequence(sequence))) => {
                Target::Object(sequence.id)
            }
            (ObjectType::Index, Some(Relation::Index(table, index))) => {
                Target::Index(table.id, index.id)
            }
            (
                ObjectType::Table | ObjectType::View | ObjectType::Sequence | ObjectType::Index,
                Some(_),
            ) => {
                let message = format!(
                    "\"{}\" is not a {}",
                    written.name,
                    object_type.to_string().to_lowercase()
                );
                return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
            _ => return Err(SqlError::unsupported(format_args!("DROP {object_type}"))),
        };
        Ok(Some(target))
    }

    async fn truncate(&self, truncate: &ast::Truncate) -> Result<()> {
        let catalog = self.changes.catalog();
        let mut tables = Vec::with_capacity(truncate.table_names.len());
        for target in &truncate.table_names {
            let written = name::qualified(&target.name, &self.database.name)?;
            match catalog.expect_relation(
                &self.inputs.search_path,
                written.schema.as_deref(),
                &written.name,
            )? {
                Relation::Table(table) => tables.push(table.id),
                _ => {
                    let message = format!("\"{}\" is not a table", written.name);
                    return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
                }
            }
        }
        let restarts = matches!(
            truncate.identity,
            Some(ast::TruncateIdentityOption::Restart)
        );
        let behavior = match truncate.cascade {
            Some(ast::CascadeOption::Cascade) => Behavior::Cascade,
            _ => Behavior::Restrict,
        };
        self.ddl()?
            .truncate(&tables, restarts, behavior)
            .await
            .map(drop)
    }
}
