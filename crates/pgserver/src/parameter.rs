//! Values for the parameters of statements, `$1` and so on.

/// Value of a parameter, in one of PostgreSQL's two forms. The statement says which type it has.
///
/// Numbers, truth values and texts of Rust become texts, which every type reads that can hold them;
/// bytes become the binary form, which is that of `bytea`. `None` is NULL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parameter {
    /// NULL.
    Null,
    /// The text form of a value.
    Text(String),
    /// The binary form of a value, as clients send it.
    Binary(Vec<u8>),
}

impl Parameter {
    /// Returns whether the form is the binary one, and the value's bytes.
    pub(crate) fn encoded(&self) -> (bool, Option<&[u8]>) {
        match self {
            Parameter::Null => (false, None),
            Parameter::Text(text) => (false, Some(text.as_bytes())),
            Parameter::Binary(bytes) => (true, Some(bytes)),
        }
    }
}

macro_rules! as_texts {
    ($($type:ty),*) => {
        $(impl From<$type> for Parameter {
            fn from(value: $type) -> Parameter {
                Parameter::Text(value.to_string())
            }
        })*
    };
}

as_texts!(i16, i32, i64, f32, f64, bool, &str);

impl From<String> for Parameter {
    fn from(text: String) -> Parameter {
        Parameter::Text(text)
    }
}

impl From<Vec<u8>> for Parameter {
    fn from(bytes: Vec<u8>) -> Parameter {
        Parameter::Binary(bytes)
    }
}

impl From<&[u8]> for Parameter {
    fn from(bytes: &[u8]) -> Parameter {
        Parameter::Binary(bytes.to_vec())
    }
}

impl<T: Into<Parameter>> From<Option<T>> for Parameter {
    fn from(value: Option<T>) -> Parameter {
        value.map_or(Parameter::Null, Into::into)
    }
}
