//! Objects that the catalog has under a name: tables and views.

use std::sync::Arc;

use types::{Result, SqlError, SqlState};

use super::{
    Binder,
    scalar::place,
    scope::{Reach, Scope, Source, SourceColumn},
};
use crate::relation::{IfLocked, Relation, RowLock, SystemScan};
use catalog::{NameClass, ObjectId, Table, TableKind, View};
use syntax::{
    lock_strength,
    name::QualifiedName,
    query::{self, Lock},
    statement::RowStatement,
};

/// Views within views, at most.
const DEPTH_MAX: u32 = 64;

impl Binder<'_> {
    /// The rows of a table or view, and what it is called.
    pub(super) fn stored(
        &mut self,
        name: &QualifiedName,
        position: Option<u32>,
    ) -> Result<(Relation, Source)> {
        match self.look_up(name, position)? {
            catalog::Relation::Table(table) if table.kind == TableKind::System => {
                let table = table.clone();
                Ok(self.system(&table))
            }
            catalog::Relation::Table(table) => {
                let table = table.clone();
                self.note_use(table.id);
                let (scan, mut source) = self.scan(&table);
                self.hide_later(table.id, &mut source);
                Ok((Relation::Scan(scan), source))
            }
            catalog::Relation::View(view) => {
                let view = view.clone();
                self.view(&view).map_err(|error| place(error, position))
            }
            catalog::Relation::Index(..) => {
                let message = format!("\"{}\" is an index", name.name);
                Err(place(
                    SqlError::new(SqlState::WRONG_OBJECT_TYPE, message),
                    position,
                ))
            }
            catalog::Relation::Sequence(_) => Err(place(
                SqlError::unsupported(format_args!(
                    "reading sequence \"{}\" as a table",
                    name.name
                ))
                .hint("Use currval() or nextval()."),
                position,
            )),
        }
    }

    /// The rows of a relation of the system's.
    fn system(&mut self, table: &Arc<Table>) -> (Relation, Source) {
        let mut columns = Vec::with_capacity(table.columns.len());
        let mut found = Vec::with_capacity(table.columns.len());
        for (attribute, column) in table.live_columns() {
            let id = self.new_column();
            columns.push((id, attribute));
            let name = column.name.to_string();
            found.push(SourceColumn {
                attribute: Some(attribute),
                ..SourceColumn::new(name, id, column.ty, column.modifier)
            });
        }
        let source = Source {
            name: Some(table.name.to_string()),
            schema: Some(self.catalog.schema_name(table.schema).to_owned()),
            columns: found,
            table: Some(table.clone()),
            below_join: false,
        };
        let relation = table.id;
        (Relation::System(SystemScan { relation, columns }), source)
    }

    /// A table that may be written to.
    pub(super) fn writable(
        &mut self,
        name: &QualifiedName,
        position: Option<u32>,
    ) -> Result<Arc<Table>> {
        match self.look_up(name, position)? {
            catalog::Relation::Table(table) if table.kind == TableKind::Ordinary => {
                Ok(table.clone())
            }
            catalog::Relation::Table(_) => {
                let message = format!("permission denied: \"{}\" is a system catalog", name.name);
                Err(place(
                    SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message),
                    position,
                ))
            }
            catalog::Relation::View(_) => {
                let error =
                    SqlError::unsupported(format_args!("writing to view \"{}\"", name.name));
                Err(place(
                    error.hint("Write to the table that the view is over."),
                    position,
                ))
            }
            catalog::Relation::Index(..) | catalog::Relation::Sequence(_) => {
                let message = format!("cannot change \"{}\": it is no table", name.name);
                Err(place(
                    SqlError::new(SqlState::WRONG_OBJECT_TYPE, message),
                    position,
                ))
            }
        }
    }

    fn look_up(
        &self,
        name: &QualifiedName,
        position: Option<u32>,
    ) -> Result<catalog::Relation<'_>> {
        // What has come since before what a view reads, under the same name, is not meant by it.
        if name.schema.is_none()
            && let Some(found) = self.of_view(&name.name)
        {
            return Ok(found);
        }
        let found =
            self.catalog
                .expect_relation(&self.search_path, name.schema.as_deref(), &name.name);
        found.map_err(|error| place(error, position))
    }

    /// The relation of a name that the view depends on which is being bound.
    fn of_view(&self, name: &str) -> Option<catalog::Relation<'_>> {
        let view = self.view.as_ref()?;
        let mut searched = self.catalog.searched(&self.search_path);
        searched.find_map(|schema| {
            let id = self.catalog.named(NameClass::Relation, schema, name)?;
            let depends = view.dependencies.iter().any(|on| on.object == id);
            self.catalog.relation(id).filter(|_| depends)
        })
    }

    /// A view is its query.
    fn view(&mut self, view: &Arc<View>) -> Result<(Relation, Source)> {
        if self.depth >= DEPTH_MAX {
            return Err(SqlError::new(
                SqlState::STATEMENT_TOO_COMPLEX,
                "views are nested too deeply",
            ));
        }
        self.note_use(view.id);
        let text = view.text.clone();
        let statement = syntax::kept(&text)?.statement()?;
        let syntax::Statement::Rows(RowStatement::Query(query)) = &*statement else {
            return Err(not_a_query());
        };
        // Names in it are its own: neither common tables nor positions of this statement count.
        let common_tables = std::mem::take(&mut self.common_tables);
        let around = self.view.replace(view.clone());
        self.depth += 1;
        let bound = self.stored_text(&view.search_path, |binder| {
            binder.deeper(|binder| binder.query(query, &Scope::default()))
        });
        self.depth -= 1;
        self.view = around;
        self.common_tables = common_tables;
        let (relation, outputs) = bound?;
        let mut columns = Vec::with_capacity(outputs.len());
        let mut converted = Vec::new();
        for (at, (output, column)) in outputs.iter().zip(view.columns.iter()).enumerate() {
            let name = column.name.to_string();
            let mut found = SourceColumn::new(name, output.column, output.ty, output.modifier);
            // Views of the system say what they are wanted to have.
            if output.ty != column.ty {
                let value = self.cast(found.value, column.ty, column.modifier, None)?;
                let id = self.new_column();
                converted.push((id, value));
                found = SourceColumn::new(column.name.to_string(), id, column.ty, column.modifier);
            }
            found.attribute = Some(at);
            columns.push(found);
        }
        let relation = match converted.is_empty() {
            true => relation,
            false => Relation::Compute {
                input: Box::new(relation),
                columns: converted,
            },
        };
        let mut source = Source {
            name: Some(view.name.to_string()),
            schema: Some(self.catalog.schema_name(view.schema).to_owned()),
            columns,
            table: None,
            below_join: false,
        };
        self.note_view(view.id, &source.columns);
        self.hide_later(view.id, &mut source);
        Ok((relation, source))
    }

    /// Leaves names to those columns of a relation that the view whose query is being bound has named when it
    /// was created, as itself or by a `*`. Others may be younger, and its text does not mean them, but
    /// where it names a row as a whole.
    fn hide_later(&self, relation: ObjectId, source: &mut Source) {
        let Some(view) = self.view.as_ref().filter(|view| view.names_columns) else {
            return;
        };
        if relation < ObjectId::FIRST {
            return;
        }
        for column in &mut source.columns {
            let position = column.attribute.and_then(|at| u16::try_from(at).ok());
            if position.is_some_and(|position| !view.reads(relation, position)) {
                column.reach = Reach::Row;
            }
        }
    }

    /// `FOR UPDATE` and its relatives: the rows of tables that the query reads itself.
    pub(super) fn locked(&mut self, relation: Relation, locks: &[Lock]) -> Result<Relation> {
        let mut scans = Vec::new();
        let mut bound: Vec<RowLock> = Vec::new();
        for lock in locks {
            let strength = lock.strength;
            let shown = lock_strength::shown(strength);
            scans.clear();
            lockable(&relation, shown, &mut scans)?;
            let if_locked = match lock.if_locked {
                query::IfLocked::Wait => IfLocked::Wait,
                query::IfLocked::Fail => IfLocked::Fail,
                query::IfLocked::Skip => IfLocked::Skip,
            };
            let of = lock.of.as_ref();
            let of = of.map(|of| of.qualified(self.database)).transpose()?;
            let mut any = false;
            for scan in &scans {
                if of
                    .as_ref()
                    .is_some_and(|of| Some(&of.name) != scan.name.as_ref())
                {
                    continue;
                }
                any = true;
                if let Some(other) = bound.iter_mut().find(|other| other.scan == scan.id) {
                    other.strength = other.strength.max(strength);
                    other.if_locked = other.if_locked.max(if_locked);
                    continue;
                }
                bound.push(RowLock {
                    scan: scan.id,
                    table: scan.table.clone(),
                    key: scan.key,
                    strength,
                    if_locked,
                });
            }
            if let (false, Some(of)) = (any, of) {
                let message = format!(
                    "relation \"{}\" in {shown} clause not found in FROM clause",
                    of.name
                );
                return Err(SqlError::new(SqlState::UNDEFINED_TABLE, message));
            }
        }
        Ok(Relation::Lock {
            input: Box::new(relation),
            locks: bound,
        })
    }
}

/// The scans whose rows come through as they are.
fn lockable<'r>(
    relation: &'r Relation,
    shown: &str,
    scans: &mut Vec<&'r crate::relation::Scan>,
) -> Result<()> {
    let refused = |what: &str| {
        let message = format!("{shown} is not allowed with {what}");
        Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message))
    };
    match relation {
        Relation::Scan(scan) => scans.push(scan),
        Relation::Filter { input, .. }
        | Relation::Compute { input, .. }
        | Relation::Sort { input, .. }
        | Relation::Limit { input, .. }
        | Relation::Calls { input, .. }
        | Relation::Apply { input, .. } => lockable(input, shown, scans)?,
        Relation::Join(join) => {
            lockable(&join.left, shown, scans)?;
            if !matches!(
                join.kind,
                crate::relation::JoinKind::Semi | crate::relation::JoinKind::Anti
            ) {
                lockable(&join.right, shown, scans)?;
            }
        }
        Relation::Distinct { .. } => return refused("DISTINCT clause"),
        Relation::Aggregate(_) => return refused("GROUP BY clause or aggregate functions"),
        Relation::Window { .. } => return refused("window functions"),
        Relation::Set(_) => return refused("UNION/INTERSECT/EXCEPT"),
        _ => {}
    }
    Ok(())
}

fn not_a_query() -> SqlError {
    SqlError::new(SqlState::INTERNAL_ERROR, "a view is not a query")
}
