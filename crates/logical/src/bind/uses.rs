//! What a definition refers to: noted while the definition is bound, for the catalog to keep.
//!
//! A view refers to relations and to columns, an expression of a table to neither but to the columns
//! of its own table, which `sql/session/stored_text.rs` finds in its text. Both refer to the enum types of
//! their casts and literals, and to what constants of `regclass` and its like are. A column counts
//! as soon as something names it, a `*` included, whether or not the result depends on it: the
//! text has to mean something after each drop. Names within a view that is read are that view's.

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

/// At most a note for each column of each relation that is named, and for each name.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// The columns of the tables and views that are read.
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
    /// The notes, if names are those of the definition itself.
    fn uses(&mut self) -> Option<&mut Uses> {
        self.uses.as_mut().filter(|_| self.depth == 0)
    }

    /// Takes note of an object. Those of the system cannot go.
    pub(super) fn note_use(&mut self, object: ObjectId) {
        if object >= ObjectId::FIRST
            && let Some(uses) = self.uses()
        {
            uses.found.insert(Dependency::on(object));
        }
    }

    /// Takes note of a type: of the one that its arrays have, too.
    pub(super) fn note_type(&mut self, ty: Type) {
        if let Type::Scalar(Scalar::Enum(EnumId(id))) | Type::Array(Scalar::Enum(EnumId(id))) = ty {
            self.note_use(ObjectId(id));
        }
    }

    /// Takes note of what a constant is that was read as a type: the type, and an object by its number.
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

    /// Takes note of the columns that a scan reads, to know them when they are named.
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

    /// The same for the columns of a view.
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

    /// Takes note of the columns that a value is made of.
    pub(super) fn note_columns(&mut self, value: &Expression) {
        if let Some(uses) = self.uses() {
            uses.columns(value);
        }
    }

    /// Takes note of columns that are named together.
    pub(super) fn note_all<'c>(&mut self, columns: impl IntoIterator<Item = &'c SourceColumn>) {
        if let Some(uses) = self.uses() {
            let values = columns.into_iter().map(|column| &column.value);
            values.for_each(|value| uses.columns(value));
        }
    }

    /// Takes note of a row of a relation as one value. A table's has the columns that there are when it is
    /// read, also younger ones, and depends on none of them.
    pub(super) fn note_row(&mut self, source: &Source) {
        if source.table.is_none() {
            self.note_all(&source.columns);
        }
    }

    /// What was noted since notes were last taken, sorted; a table whose columns are named is not
    /// named for itself. Nothing, unless the binder is one for definitions.
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
