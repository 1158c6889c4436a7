//! Values with the memory that they borrow: a single one, for plans, and rows that go to another thread.

use types::{Coercion, Result, Scratch, Type, TypeModifier, Value};

use crate::Rows;

/// A value that owns all memory that it borrows.
pub struct OwnedValue(Rows);

// SAFETY: the rows are this value's alone. They are never settled, and therefore hold no
// statement's memory, which is the only part of them that belongs to a thread.
unsafe impl Send for OwnedValue {}

// SAFETY: a value does not change once it is made, and its arena is reached through it only.
unsafe impl Sync for OwnedValue {}

impl OwnedValue {
    /// Returns a copy of `value`.
    pub fn new(value: Value<'_>) -> Self {
        let mut rows = Rows::new(1);
        rows.push([value]);
        Self(rows)
    }

    /// Returns a value of type `text` that holds a copy of `text`.
    pub fn text(text: &str) -> Self {
        Self::new(Value::Text(text))
    }

    /// Returns the value that `text` has in the type `ty`, under default settings.
    ///
    /// # Errors
    /// 22P02 and others for a text that is no value of the type.
    pub fn parse(text: &str, ty: Type) -> Result<Self> {
        Self::parse_fitted(text, ty, TypeModifier::NONE)
    }

    /// Returns the value that `text` has in the type `ty`, adjusted to `modifier`.
    ///
    /// # Errors
    /// Errors of [`parse`](Self::parse), and those of a value that the modifier forbids.
    pub fn parse_fitted(text: &str, ty: Type, modifier: TypeModifier) -> Result<Self> {
        let scratch = Scratch::new();
        let settings = types::Settings::default();
        let context = types::Context {
            settings: &settings,
            names: &types::NoNames,
            now: 0,
        };
        let coercion = Coercion::Explicit;
        types::text::read_with_modifier(text, ty, modifier, coercion, &context, &scratch)
            .map(Self::new)
    }

    /// Returns the bytes that the value takes.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// Returns the value, which borrows from this one.
    pub fn value(&self) -> Value<'_> {
        self.0.row(0)[0]
    }
}

/// Rows that own all memory that they borrow, and can go to another thread.
pub struct OwnedRows(Rows);

// SAFETY: the rows were copied for this list alone, and cannot be reached to be settled: they hold no statement's
// memory, which is the only part of them that belongs to a thread.
unsafe impl Send for OwnedRows {}

impl OwnedRows {
    /// Returns copies of `rows`, each of which has `width` values.
    ///
    /// # Panics
    /// If a row has another width.
    pub fn new<'v>(width: usize, rows: impl Iterator<Item = &'v [Value<'v>]>) -> Self {
        let mut copies = Rows::new(width);
        rows.for_each(|row| copies.push(row.iter().copied()));
        Self(copies)
    }

    /// Returns the bytes that the rows take.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// Returns the rows, which borrow from this list.
    pub fn rows(&self) -> &Rows {
        &self.0
    }
}

impl std::fmt::Debug for OwnedRows {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.0.iter()).finish()
    }
}

impl Clone for OwnedValue {
    fn clone(&self) -> Self {
        Self::new(self.value())
    }
}

/// Two values are equal if no expression could tell them apart: `1.0` and `1.00` are not equal.
impl PartialEq for OwnedValue {
    fn eq(&self, other: &Self) -> bool {
        self.value().is_same(&other.value())
    }
}

impl std::fmt::Debug for OwnedValue {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.value().fmt(formatter)
    }
}
