//! A single value with the memory that it borrows, for plans.

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
