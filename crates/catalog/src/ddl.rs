//! DDL on the catalog, as parts of a transaction.
//!
//! | part | file |
//! | --- | --- |
//! | schemas, sequences, roles; names; comments | here |
//! | views, enum types | `view.rs`, `enumeration.rs` |
//! | tables, columns, constraints | `table.rs` |
//! | foreign keys | `reference.rs` |
//! | indexes | `index.rs`; beside writers: `concurrently.rs` |
//! | statistics objects | `statistics.rs` |
//! | drops, and what they take along | `drop.rs` |
//! | truncation; other storage | `truncate.rs`; `rewrite.rs` |
//!
//! An operation that fails may have done a part of its work: see [`Mark`](super::Mark).
//!
//! # Locks
//! A table's own operations lock the table, as PostgreSQL does, and then its record. An object that
//! a new one refers to is kept from being dropped by a shared lock on its record. A drop waits for
//! this lock; or the lock waits for the drop, and then finds no object.

mod concurrently;
mod drop;
mod enumeration;
mod index;
mod reference;
mod rewrite;
mod statistics;
mod table;
mod truncate;
mod view;

use std::sync::Arc;

use engine::{IfLocked, OnConflict, TableLockMode, Transaction};
use types::{EnumId, Result, Scalar, SqlError, SqlState, Type};

pub use self::{
    concurrently::create_index_concurrently,
    drop::{Behavior, Dropped, Target},
    enumeration::LabelPlace,
    index::{Constraint, NewIndex},
    table::{NewCheck, NewTable, NewUnique},
};
use super::{
    Changes, Comments, Dependency, NameClass, Object, ObjectId, Part, Role, Schema, Sequence,
    StoredExpression, Table,
};

/// The checks that a transaction has deferred, which need its tables as they are.
pub trait PutOff {
    /// Returns whether rows of a table have checks that are still to be done.
    fn is_pending(&self, table: ObjectId) -> bool;
}

/// DDL within one transaction.
#[derive(Clone, Copy)]
pub struct Ddl<'t> {
    transaction: &'t Transaction,
    changes: &'t Changes,
    put_off: Option<&'t dyn PutOff>,
}

impl<'t> Ddl<'t> {
    /// Makes DDL for a transaction and the changes it has made up to now. From now on, the
    /// transaction waits when its DDL conflicts with another transaction.
    pub fn new(transaction: &'t Transaction, changes: &'t Changes) -> Ddl<'t> {
        transaction.set_on_conflict(OnConflict::Wait);
        Ddl {
            transaction,
            changes,
            put_off: None,
        }
    }

    /// Returns this with the deferred checks of the transaction: tables that they need are left
    /// alone.
    #[must_use]
    pub fn sparing(self, put_off: &'t dyn PutOff) -> Ddl<'t> {
        Ddl {
            put_off: Some(put_off),
            ..self
        }
    }

    /// Checks that no checks of a table's rows are deferred that a command would make impossible.
    ///
    /// # Errors
    /// 55006 if there are deferred checks of the table's rows.
    pub fn not_pending(&self, command: &str, table: ObjectId) -> Result<()> {
        if !self.put_off.is_some_and(|checks| checks.is_pending(table)) {
            return Ok(());
        }
        let catalog = self.changes.catalog();
        let name = catalog.table(table).map_or("", |table| &table.name);
        let message = format!("cannot {command} \"{name}\" because it has pending trigger events");
        let error = SqlError::new(SqlState::OBJECT_IN_USE, message);
        Err(error.hint("Commit, or SET CONSTRAINTS ALL IMMEDIATE, first."))
    }

    /// Locks an object, or an index, until the transaction ends: from then on no other transaction
    /// changes it, or makes an object that depends on it.
    ///
    /// # Errors
    /// 42704 if the object is gone; errors of the engine.
    pub async fn hold(&self, id: ObjectId) -> Result<()> {
        let catalog = self.changes.catalog();
        let table = match (catalog.table(id), catalog.index(id)) {
            (Some(table), _) => Some((table, TableLockMode::AccessExclusive)),
            (None, Some((table, _))) => Some((table, TableLockMode::ShareUpdateExclusive)),
            (None, None) => None,
        };
        let Some((table, mode)) = table else {
            return self.hold_record(id).await;
        };
        let id = self.lock(table.id, mode).await?.id;
        self.hold_record(id).await
    }

    /// Locks the catalog's record of an object, and of a table nothing else: its rows are read and
    /// written as before.
    ///
    /// # Errors
    /// 42704 if the object is gone; errors of the engine.
    pub async fn hold_record(&self, id: ObjectId) -> Result<()> {
        self.changes.hold(self.transaction, id).await.map(drop)
    }

    /// Returns a number for a new object.
    ///
    /// # Errors
    /// 54000 if there are no more; errors of the engine.
    pub async fn new_id(&self) -> Result<ObjectId> {
        self.changes.catalogs().take_id(self.transaction).await
    }

    /// Creates a schema.
    ///
    /// # Errors
    /// 42P06 if the name is taken; 42939 for names that begin with `pg_`; errors of the engine.
    pub async fn create_schema(&self, name: &str) -> Result<ObjectId> {
        if name.starts_with("pg_") {
            let message = format!("unacceptable schema name \"{name}\"");
            return Err(SqlError::new(SqlState::RESERVED_NAME, message)
                .detail("The prefix \"pg_\" is reserved for system schemas."));
        }
        let id = self.new_id().await?;
        let schema = Schema {
            id,
            name: Arc::from(name),
            comments: Comments::default(),
        };
        self.create(Object::Schema(Arc::new(schema)), &[]).await
    }

    /// Creates a sequence, and gives it its numbers. The column that owns it is kept from being
    /// dropped.
    ///
    /// # Errors
    /// 42P07 if the name is taken; errors of the engine.
    pub async fn create_sequence(&self, mut sequence: Sequence) -> Result<ObjectId> {
        let id = self.new_id().await?;
        (sequence.id, sequence.counter) = (id, id);
        self.create(Object::Sequence(Arc::new(sequence)), &[]).await
    }

    /// Changes a sequence. A restart gives it another counter, which begins at `options.start`
    /// unless it is set ([`super::Catalogs::set_value`]).
    ///
    /// # Errors
    /// 42P01 if the sequence is gone; errors of `edit`; errors of the engine.
    pub async fn alter_sequence(
        &self,
        id: ObjectId,
        restarts: bool,
        edit: impl FnOnce(&mut Sequence) -> Result<()>,
    ) -> Result<Arc<Sequence>> {
        let Object::Sequence(sequence) = self.changes.hold(self.transaction, id).await? else {
            return Err(gone("sequence", id));
        };
        let mut sequence = (*sequence).clone();
        edit(&mut sequence)?;
        if restarts {
            let catalogs = self.changes.catalogs();
            let committed = catalogs.current();
            // A counter of this transaction's own is known to no other transaction.
            let is_known =
                committed.sequence(id).map(|known| known.counter) == Some(sequence.counter);
            if is_known {
                catalogs.counters.get(sequence.counter).hold().await;
            }
            sequence.counter = self.new_id().await?;
        }
        let sequence = Arc::new(sequence);
        self.put(Object::Sequence(sequence.clone())).await?;
        Ok(sequence)
    }

    /// Creates a role, and gives it its number.
    ///
    /// # Errors
    /// 42710 if the name is taken; errors of the engine.
    pub async fn create_role(&self, mut role: Role) -> Result<ObjectId> {
        role.id = self.new_id().await?;
        self.create(Object::Role(Arc::new(role)), &[]).await
    }

    /// Changes a role.
    ///
    /// # Errors
    /// 42704 if the role is gone; errors of the engine.
    pub async fn alter_role(&self, id: ObjectId, edit: impl FnOnce(&mut Role)) -> Result<()> {
        let Object::Role(role) = self.changes.hold(self.transaction, id).await? else {
            return Err(gone("role", id));
        };
        let mut role = (*role).clone();
        edit(&mut role);
        self.put(Object::Role(Arc::new(role))).await
    }

    /// Renames an object, an index or a statistics object.
    ///
    /// # Errors
    /// 42P07 and similar if the name is taken; 42704 if the object is gone; errors of the engine.
    pub async fn rename(&self, id: ObjectId, name: &str) -> Result<()> {
        let name = Arc::from(name);
        if let Some((table, _)) = self.changes.catalog().index(id) {
            return self.rename_index(table.id, id, name).await;
        }
        if let Some((table, _)) = self.changes.catalog().statistics_object(id) {
            return self.rename_statistics(table.id, id, name).await;
        }
        if self.changes.catalog().table(id).is_some() {
            let rename = |table: &mut Table| {
                table.name = name;
                Ok(())
            };
            return self
                .alter_table(id, TableLockMode::AccessExclusive, rename)
                .await
                .map(drop);
        }
        let mut object = self.changes.hold(self.transaction, id).await?;
        match &mut object {
            Object::Schema(schema) => Arc::make_mut(schema).name = name,
            Object::Table(_) => return Err(gone("relation", id)),
            Object::Sequence(sequence) => Arc::make_mut(sequence).name = name,
            Object::View(view) => Arc::make_mut(view).name = name,
            Object::Enum(ty) => Arc::make_mut(ty).name = name,
            Object::Role(role) => Arc::make_mut(role).name = name,
        }
        self.put(object).await
    }

    /// Moves a table, sequence, view or type into another schema; a table's sequences go along.
    ///
    /// # Errors
    /// 42P07 and similar if the name is taken; 42704 if the object is gone; errors of the engine.
    pub async fn set_schema(&self, id: ObjectId, schema: ObjectId) -> Result<()> {
        self.keep(&[Dependency::on(schema)]).await?;
        let catalog = self.changes.catalog();
        if catalog.table(id).is_none() {
            let mut object = self.changes.hold(self.transaction, id).await?;
            match &mut object {
                Object::Sequence(sequence) => Arc::make_mut(sequence).schema = schema,
                Object::View(view) => Arc::make_mut(view).schema = schema,
                Object::Enum(ty) => Arc::make_mut(ty).schema = schema,
                Object::Schema(_) | Object::Role(_) | Object::Table(_) => {
                    return Err(gone("relation", id));
                }
            }
            return self.put(object).await;
        }
        let moved = |table: &mut Table| {
            table.schema = schema;
            Ok(())
        };
        self.alter_table(id, TableLockMode::AccessExclusive, moved)
            .await?;
        let owned = catalog.objects().filter_map(|object| match object {
            Object::Sequence(sequence) => sequence
                .owned_by
                .is_some_and(|owner| owner.table == id)
                .then_some(sequence.id),
            _ => None,
        });
        for sequence in owned {
            let moved = |sequence: &mut Sequence| {
                sequence.schema = schema;
                Ok(())
            };
            self.alter_sequence(sequence, false, moved).await?;
        }
        Ok(())
    }

    /// Sets the comment on an object or a part of it; `None` removes it.
    ///
    /// # Errors
    /// 42704 and similar if the object is gone; errors of the engine.
    pub async fn comment(&self, id: ObjectId, part: Part, text: Option<&str>) -> Result<()> {
        if self.changes.catalog().table(id).is_some() {
            let say = |table: &mut Table| {
                table.comments = table.comments.with(part, text);
                Ok(())
            };
            let mode = TableLockMode::ShareUpdateExclusive;
            return self.alter_table(id, mode, say).await.map(drop);
        }
        let mut object = self.changes.hold(self.transaction, id).await?;
        let comments = match &mut object {
            Object::Table(_) => return Err(gone("relation", id)),
            Object::Schema(schema) => &mut Arc::make_mut(schema).comments,
            Object::Sequence(sequence) => &mut Arc::make_mut(sequence).comments,
            Object::View(view) => &mut Arc::make_mut(view).comments,
            Object::Enum(ty) => &mut Arc::make_mut(ty).comments,
            Object::Role(role) => &mut Arc::make_mut(role).comments,
        };
        *comments = comments.with(part, text);
        self.put(object).await
    }

    async fn rename_index(&self, table: ObjectId, id: ObjectId, name: Arc<str>) -> Result<()> {
        let rename = |table: &mut Table| {
            let mut indexes = table.indexes.to_vec();
            let index = indexes.iter_mut().find(|index| index.id == id);
            index.ok_or_else(|| gone("index", id))?.name = name.clone();
            table.indexes = indexes.into();
            let mut uniques = table.uniques.to_vec();
            uniques
                .iter_mut()
                .filter(|unique| unique.index == id)
                .for_each(|unique| {
                    unique.name = name.clone();
                });
            table.uniques = uniques.into();
            if let Some(key) = &mut table.primary_key
                && key.index == Some(id)
            {
                key.name = name;
            }
            Ok(())
        };
        let mode = TableLockMode::ShareUpdateExclusive;
        self.alter_table(table, mode, rename).await.map(drop)
    }

    /// Locks a table, and returns its descriptor as it is then.
    pub async fn lock(&self, id: ObjectId, mode: TableLockMode) -> Result<Arc<Table>> {
        let locked = self
            .changes
            .lock_table(self.transaction, id, mode, IfLocked::Wait);
        locked.await?.ok_or_else(|| gone("relation", id))
    }

    /// Keeps the objects of `dependencies` from being dropped.
    ///
    /// # Errors
    /// 42704 if an object is gone, or a column of it; errors of the engine.
    async fn keep(&self, dependencies: &[Dependency]) -> Result<()> {
        let mut kept = None;
        for on in dependencies {
            if kept != Some(on.object) {
                if self.changes.catalog().object(on.object).is_some() {
                    self.changes.keep(self.transaction, on.object).await?;
                } else if self.changes.catalog().index(on.object).is_none() {
                    return Err(gone("object", on.object));
                }
                kept = Some(on.object);
            }
            let catalog = self.changes.catalog();
            let columns = catalog.table(on.object).map(|table| &table.columns);
            if let (Some(columns), Some(position)) = (columns, on.column)
                && columns
                    .get(usize::from(position))
                    .is_none_or(|column| column.dropped)
            {
                return Err(gone("a column of object", on.object));
            }
        }
        Ok(())
    }

    async fn keep_expression(&self, expression: &StoredExpression, own: ObjectId) -> Result<()> {
        let others = expression.dependencies.iter();
        let others: Vec<_> = others.filter(|on| on.object != own).copied().collect();
        self.keep(&others).await
    }

    async fn keep_type(&self, ty: Type) -> Result<()> {
        match ty {
            Type::Scalar(Scalar::Enum(EnumId(id))) | Type::Array(Scalar::Enum(EnumId(id))) => {
                self.keep(&[Dependency::on(ObjectId(id))]).await
            }
            _ => Ok(()),
        }
    }

    async fn create(&self, object: Object, dependencies: &[Dependency]) -> Result<ObjectId> {
        if let Some(schema) = object.schema() {
            self.keep(&[Dependency::on(schema)]).await?;
        }
        self.keep(dependencies).await?;
        let id = object.id();
        self.put(object).await?;
        Ok(id)
    }

    async fn put(&self, object: Object) -> Result<()> {
        self.changes.put(self.transaction, object).await
    }

    /// Chooses a name for a part of a table that has not been given one: `table_column_suffix`,
    /// shortened as in PostgreSQL, with a number behind it if it is taken.
    pub fn choose_name(
        &self,
        schema: ObjectId,
        table: &str,
        columns: Option<&str>,
        suffix: &str,
        is_taken: impl Fn(&str) -> bool,
    ) -> String {
        let catalog = self.changes.catalog();
        for number in 0_u32.. {
            let suffix = match number {
                0 => suffix.to_owned(),
                _ => format!("{suffix}{number}"),
            };
            let name = object_name(table, columns, &suffix);
            if catalog.named(NameClass::Relation, schema, &name).is_none() && !is_taken(&name) {
                return name;
            }
        }
        unreachable!("some number is free")
    }
}

/// Bytes of the longest name.
const NAME_BYTES_MAX: usize = 63;

/// Returns `first_second_suffix`, with the longer of the first two cut until all fits.
fn object_name(first: &str, second: Option<&str>, suffix: &str) -> String {
    let overhead = suffix.len() + 1 + usize::from(second.is_some());
    let (mut one, mut two) = (first.len(), second.map_or(0, str::len));
    while one + two + overhead > NAME_BYTES_MAX {
        match one > two {
            true => one -= 1,
            false => two -= 1,
        }
    }
    let cut = |text: &str, mut end: usize| {
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text[..end].to_owned()
    };
    match second {
        Some(second) => format!("{}_{}_{suffix}", cut(first, one), cut(second, two)),
        None => format!("{}_{suffix}", cut(first, one)),
    }
}

fn gone(noun: &str, id: ObjectId) -> SqlError {
    let state = match noun {
        "relation" | "sequence" | "view" => SqlState::UNDEFINED_TABLE,
        _ => SqlState::UNDEFINED_OBJECT,
    };
    SqlError::new(
        state,
        format!("{noun} with OID {id} does not exist: it was dropped meanwhile"),
    )
}

#[cfg(test)]
mod tests {
    use super::object_name;

    #[test]
    fn long_names_are_cut_as_postgresql_does() {
        assert_eq!(object_name("t", Some("a"), "key"), "t_a_key");
        assert_eq!(object_name("t", None, "pkey"), "t_pkey");
        // The expected names are PostgreSQL 15's: unique (b…) of a table a….
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let expected = format!("{}_{}_key", "a".repeat(29), "b".repeat(29));
        assert_eq!(object_name(&a, Some(&b), "key"), expected);
        let expected = format!("{}_pkey", "c".repeat(58));
        assert_eq!(object_name(&"c".repeat(63), None, "pkey"), expected);
    }
}
