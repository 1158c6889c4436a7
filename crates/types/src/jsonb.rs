//! `jsonb`: JSON in a form that is navigated without parsing.
//!
//! A [`Jsonb`] borrows its stored form, a tree of nodes. A node begins with its kind; its end
//! is known from outside.
//!
//! ```text
//! null, false, true   kind
//! number              kind │ stored form of a numeric
//! string              kind │ UTF-8
//! array               kind │ count u32 │ ends u32 × count │ nodes
//! object              kind │ count u32 │ ends of keys u32 × count │ ends of values u32 × count
//!                          │ keys in UTF-8 │ nodes
//! ```
//!
//! Ends count from the beginning of the keys or nodes. Keys are unique and in the order of
//! PostgreSQL, the shorter first, so that a key is found by bisection. No bytes are trusted: a
//! damaged node is an error when it is read.

mod builder;
mod containers;
pub(crate) mod display;
pub(crate) mod order;

use crate::{
    Numeric, Result, Scratch,
    stored::{self, corrupted},
};
pub use builder::JsonbBuilder;
pub use containers::{JsonbArray, JsonbObject};

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const NUMBER: u8 = 3;
const STRING: u8 = 4;
const ARRAY: u8 = 5;
const OBJECT: u8 = 6;

/// Maximum nesting, because functions that walk the tree are recursive.
pub const DEPTH_MAX: usize = 1000;

/// A JSON value; see the module.
#[derive(Debug, Clone, Copy)]
pub struct Jsonb<'a>(&'a [u8]);

/// Content of a JSON value.
#[derive(Debug, Clone, Copy)]
pub enum JsonbView<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, neither infinite nor NaN.
    Number(Numeric<'a>),
    /// A string, its escapes resolved.
    String(&'a str),
    /// An array.
    Array(JsonbArray<'a>),
    /// An object.
    Object(JsonbObject<'a>),
}

impl<'a> Jsonb<'a> {
    /// `null`
    pub const NULL: Self = Self(&[NULL]);
    /// `true`
    pub const TRUE: Self = Self(&[TRUE]);
    /// `false`
    pub const FALSE: Self = Self(&[FALSE]);

    /// Reads the stored form, which is all of `bytes`. Inner nodes are read when they are asked
    /// for.
    ///
    /// # Errors
    /// `XX001` if `bytes` is no JSON value.
    pub fn from_stored(bytes: &'a [u8]) -> Result<Self> {
        match bytes {
            [] => Err(corrupted()),
            [NULL..=TRUE] | [NUMBER..=OBJECT, ..] => Ok(Self(bytes)),
            _ => Err(corrupted()),
        }
    }

    /// Parses JSON.
    ///
    /// # Errors
    /// `22P02` if it is not JSON, `22P05` if a string has `\u0000`, `54001` if it is too deep.
    pub fn parse(text: &str, scratch: &'a Scratch) -> Result<Self> {
        let mut builder = JsonbBuilder::new(scratch);
        crate::json::parse(text, scratch, &mut builder)?;
        builder.finish()
    }

    /// Copies the value into `scratch`.
    pub(crate) fn copied<'s>(self, scratch: &'s Scratch) -> Jsonb<'s> {
        Jsonb(scratch.alloc_slice_copy(self.0))
    }

    /// Returns the stored form.
    pub fn as_stored(self) -> &'a [u8] {
        self.0
    }

    /// Returns the content of the value.
    ///
    /// # Errors
    /// `XX001` if the value is damaged.
    pub fn view(self) -> Result<JsonbView<'a>> {
        let (kind, rest) = self.0.split_first().ok_or_else(corrupted)?;
        Ok(match *kind {
            NULL => JsonbView::Null,
            FALSE => JsonbView::Bool(false),
            TRUE => JsonbView::Bool(true),
            NUMBER => JsonbView::Number(Numeric::from_stored(rest)?),
            STRING => JsonbView::String(stored::text(rest)?),
            ARRAY => JsonbView::Array(JsonbArray::new(rest)?),
            OBJECT => JsonbView::Object(JsonbObject::new(rest)?),
            _ => return Err(corrupted()),
        })
    }

    /// Returns the name of the kind of value: `jsonb_typeof`.
    ///
    /// # Errors
    /// `XX001` if the value is damaged.
    pub fn type_name(self) -> Result<&'static str> {
        Ok(match self.0.first().copied().ok_or_else(corrupted)? {
            NULL => "null",
            FALSE | TRUE => "boolean",
            NUMBER => "number",
            STRING => "string",
            ARRAY => "array",
            _ => "object",
        })
    }

    /// Returns whether the value is an object or array.
    pub fn is_container(self) -> bool {
        matches!(self.0.first(), Some(&(ARRAY | OBJECT)))
    }

    /// Reads every node.
    ///
    /// # Errors
    /// `XX001` if a node is damaged, `54001` if it is too deep.
    pub fn check(self) -> Result<()> {
        self.check_below(0)
    }

    fn check_below(self, depth: usize) -> Result<()> {
        if depth > DEPTH_MAX {
            return Err(crate::json::too_deep());
        }
        match self.view()? {
            JsonbView::Array(array) => {
                for element in array.iter() {
                    element?.check_below(depth + 1)?;
                }
            }
            JsonbView::Object(object) => {
                let mut last = None;
                for entry in object.iter() {
                    let (key, value) = entry?;
                    if last.is_some_and(|last| builder::compare_keys(last, key).is_ge()) {
                        return Err(corrupted());
                    }
                    last = Some(key);
                    value.check_below(depth + 1)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
