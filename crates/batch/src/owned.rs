//! A single value with the memory that it borrows, for plans.

use types::{Coercion, Result, Scratch, Type, TypeModifier, Value};

use crate::Rows;

/// A value that borrows from nobody else.
pub struct OwnedValue(Rows);

// SAFETY: the rows are this value's alone. They are never settled, so they hold no statement's
// memory, which is all in them that belongs to a thread.
unsafe impl Send for OwnedValue {}

// SAFETY: nothing is changed in a value once it is made, and its arena is reached through it only.
unsafe impl Sync for OwnedValue {}

impl OwnedValue {
    /// A copy of a value.
    pub fn new(value: Value<'_>) -> Self {
        let mut rows = Rows::new(1);
        rows.push([value]);
        Self(rows)
    }

    /// Returns a value of type `text` that holds a copy of `text`.
    pub fn text(text: &str) -> Self {
        Self::new(Value::Text(text))
    }

    /// The value that a text has in a type, under default settings.
    ///
    /// # Errors
    /// 22P02 and the like.
    pub fn parse(text: &str, ty: Type) -> Result<Self> {
        Self::parse_fitted(text, ty, TypeModifier::NONE)
    }

    /// The same, as a modifier lets it be.
    ///
    /// # Errors
    /// As of [`parse`](Self::parse).
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

    /// Bytes that the value takes.
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

/// Two values are the same if nothing could tell them apart, so `1.0` and `1.00` are not.
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
