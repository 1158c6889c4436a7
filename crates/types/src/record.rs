//! Rows as values: each carries the names and types of its fields, as PostgreSQL's composite values
//! carry the number of their row type. A type that says [`Type::Record`] alone could not, because
//! one column may hold rows of several descriptions (`UNION`, arguments of polymorphic functions).

use crate::{Scratch, Type, Value};

/// A field of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    /// Name; `f1`, `f2`, ... for fields without names.
    pub name: &'a str,
    /// Type.
    pub ty: Type,
}

/// A row.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Descriptions of the fields: as many as there are values, or none if the row is not
    /// described.
    pub fields: &'a [Field<'a>],
    /// The values of the fields, in order.
    pub values: &'a [Value<'a>],
}

impl<'a> Record<'a> {
    /// Returns a row in `scratch` that is not described: rows of functions, whose columns are known
    /// where the function is called.
    pub fn plain(values: &[Value<'a>], scratch: &'a Scratch) -> Value<'a> {
        Value::Record(scratch.alloc(Self {
            fields: &[],
            values: scratch.alloc_slice_copy(values),
        }))
    }

    /// Returns the type of a value; `Unknown` in a row that is not described.
    pub fn ty(&self, position: usize) -> Type {
        self.fields
            .get(position)
            .map_or(Type::Unknown, |field| field.ty)
    }

    /// Calls `visit` with the name, value and type of each field in order, and stops at the first
    /// error.
    ///
    /// # Errors
    /// Returns the first error of `visit`.
    pub fn each<E>(
        &self,
        mut visit: impl FnMut(&str, Value<'a>, Type) -> Result<(), E>,
    ) -> Result<(), E> {
        for (position, value) in self.values.iter().enumerate() {
            match self.fields.get(position) {
                Some(field) => visit(field.name, *value, field.ty)?,
                None => visit(&format!("f{}", position + 1), *value, Type::Unknown)?,
            }
        }
        Ok(())
    }

    pub(crate) fn copied<'s>(&self, scratch: &'s Scratch) -> Record<'s> {
        let fields = self.fields.iter().map(|field| Field {
            name: &*scratch.alloc_str(field.name),
            ty: field.ty,
        });
        let values = self.values.iter().map(|value| value.copied(scratch));
        Record {
            fields: scratch.alloc_slice_fill_iter(fields.collect::<Vec<_>>()),
            values: scratch.alloc_slice_fill_iter(values.collect::<Vec<_>>()),
        }
    }
}
