//! The objects that a definition refers to: noted while the definition is bound, for the catalog to
//! keep.
//!
//! A view refers to relations and to columns. An expression of a table refers to neither, except to
//! the columns of its own table, which `sql/session/stored_text.rs` finds in its text. Both refer
//! to the enum types of their casts and literals, and to the objects of constants of `regclass` and
//! similar types. A column counts as soon as the text names it, also by a `*`, whether or not the
//! result depends on it: the text has to keep its meaning after each drop. Names within a view that
//! is read are that view's.

use std::collections::{BTreeSet, HashMap};

use types::{EnumId, Scalar, Type, Value};

use super::{
    Binder,
    scope::{Source, SourceColumn},
};
use crate::{
    expression::{ColumnId, Expression},
    relation::Scan,
};
use catalog::{Dependency, Object, ObjectId};

/// The notes: at most one for each column of each relation that is named, and for each name.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// Columns of the tables and views that are read.
    scanned: HashMap<ColumnId, Dependency>,
    found: BTreeSet<Dependency>,
}

impl Uses {
    fn columns(&mut self, value: &Expression) {
        let columns = value.columns().into_iter();
        let on = columns.filter_map(|id| self.scanned.get(&id).copied());
        self.found.extend(on);
    }
}

impl Binder<'_> {
    /// Returns the notes, if names are those of the definition itself.
    fn uses(&mut self) -> Option<&mut Uses> {
        self.uses.as_mut().filter(|_| self.depth == 0)
    }

    /// Notes an object. Objects of the system cannot be dropped, and are not noted.
    pub(super) fn note_use(&mut self, object: ObjectId) {
        if object >= ObjectId::FIRST
            && let Some(uses) = self.uses()
        {
            uses.found.insert(Dependency::on(object));
        }
    }

    /// Notes a type, and an enum type also for its arrays.
    pub(super) fn note_type(&mut self, ty: Type) {
        if let Type::Scalar(Scalar::Enum(EnumId(id))) | Type::Array(Scalar::Enum(EnumId(id))) = ty {
            self.note_use(ObjectId(id));
        }
    }

    /// Notes the type of a constant that was read as a value of that type, and an object that the
    /// constant has the number of.
    pub(super) fn note_constant(&mut self, value: Value<'_>, ty: Type) {
        self.note_type(ty);
        let (
            Type::Scalar(Scalar::Regclass | Scalar::Regtype | Scalar::Regnamespace),
            Value::Oid(id),
        ) = (ty, value)
        else {
            return;
        };
        let is_enum = |id| matches!(self.catalog.object(ObjectId(id)), Some(Object::Enum(_)));
        // The type of an enum's arrays has the next number.
        if id > 0 && is_enum(id - 1) {
            self.note_use(ObjectId(id - 1));
        } else if self.catalog.object(ObjectId(id)).is_some() {
            self.note_use(ObjectId(id));
        }
    }

    /// Notes which columns a scan reads, so that they are known when they are named.
    pub(super) fn note_scanned(&mut self, scan: &Scan) {
        let table = scan.table.id;
        let columns = scan.columns.iter().filter_map(|(id, attribute)| {
            let position = u16::try_from(*attribute).ok()?;
            Some((*id, Dependency::on_column(table, position)))
        });
        if let Some(uses) = self.uses() {
            uses.scanned.extend(columns);
        }
    }

    /// Notes which columns of a view are read, so that they are known when they are named.
    pub(super) fn note_view(&mut self, view: ObjectId, columns: &[SourceColumn]) {
        let known = columns.iter().filter_map(|column| {
            let position = u16::try_from(column.attribute?).ok()?;
            let ids = column.value.columns().into_iter();
            Some(ids.map(move |id| (id, Dependency::on_column(view, position))))
        });
        if view >= ObjectId::FIRST
            && let Some(uses) = self.uses()
        {
            uses.scanned.extend(known.flatten());
        }
    }

    /// Notes the columns that a value is made of.
    pub(super) fn note_columns(&mut self, value: &Expression) {
        if let Some(uses) = self.uses() {
            uses.columns(value);
        }
    }

    /// Notes columns that are named together.
    pub(super) fn note_all<'c>(&mut self, columns: impl IntoIterator<Item = &'c SourceColumn>) {
        if let Some(uses) = self.uses() {
            let values = columns.into_iter().map(|column| &column.value);
            values.for_each(|value| uses.columns(value));
        }
    }

    /// Notes a row of a relation as one value. A table's row has the columns that exist when it is
    /// read, also younger ones, and depends on none of them.
    pub(super) fn note_row(&mut self, source: &Source) {
        if source.table.is_none() {
            self.note_all(&source.columns);
        }
    }

    /// Returns the notes made since the last call, sorted; a table whose columns are named is not
    /// listed for itself. The list is empty unless the binder is one for definitions.
    pub(crate) fn take_uses(&mut self) -> Vec<Dependency> {
        let Some(uses) = &mut self.uses else {
            return Vec::new();
        };
        let found = std::mem::take(&mut uses.found);
        let mut taken: Vec<Dependency> = Vec::with_capacity(found.len());
        for on in found {
            if let Some(last) = taken.last_mut()
                && *last == Dependency::on(on.object)
            {
                *last = on;
                continue;
            }
            taken.push(on);
        }
        taken
    }
}
