//! Description of a function or an operator: its signature and its body.
//!
//! Entries are `static`; the registry finds them once, when a statement is bound, and evaluation
//! calls through the pointer. An operator is an entry whose name is its symbol.

use types::{Result, Scalar, Type, Value};

use crate::{Context, aggregate::Aggregate, set::SetFunction, window::WindowFunction};

/// A function of single values. It has as many arguments as the resolved call, each of its parameter's
/// type or NULL; a strict function is never called with a NULL.
pub type ScalarFunction = for<'a> fn(&Context<'a>, &[Value<'a>]) -> Result<Value<'a>>;

/// Type of a parameter or a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// This type.
    Of(Type),
    /// `anyelement`
    AnyElement,
    /// `anyarray`
    AnyArray,
    /// `anynonarray`
    AnyNonArray,
    /// `anyenum`
    AnyEnum,
    /// `anycompatible`
    AnyCompatible,
    /// `anycompatiblearray`
    AnyCompatibleArray,
    /// `"any"`: each argument as it is.
    Any,
}

impl Parameter {
    pub(crate) fn is_polymorphic(self) -> bool {
        !matches!(self, Self::Of(_) | Self::Any)
    }

    /// Returns the type, unless it depends on the call.
    pub fn fixed(self) -> Option<Type> {
        match self {
            Self::Of(ty) => Some(ty),
            _ => None,
        }
    }
}

/// The conditions under which a result is the same for the same arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volatility {
    /// The result is always the same.
    Immutable,
    /// The result is the same within a statement.
    Stable,
    /// The result may differ even within a statement.
    Volatile,
}

/// One of the six comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// Returns the comparison that is equivalent with its sides exchanged.
    #[must_use]
    pub fn commuted(self) -> Self {
        match self {
            Self::Equal | Self::NotEqual => self,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }

    /// Returns the comparison that is true where this one is false.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
        }
    }
}

/// Binary functions of which a left-deep chain, `((a || b) || c) || d`, is one call with all operands.
/// Each link by itself would copy the result of the links before it: a chain of texts would take
/// memory and time with the square of its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chain {
    /// `||` of texts, and of values that are written as text beside them.
    Texts,
    /// `||` of `bytea`.
    Bytes,
    /// `||` of an array and elements at its end.
    Elements,
}

impl Chain {
    /// Returns the function of all operands. It uses [`Context::argument_types`], and is strict if the
    /// links are.
    pub fn body(self) -> ScalarFunction {
        match self {
            Self::Texts => crate::string::concatenate_texts,
            Self::Bytes => crate::string::concatenate_bytes,
            Self::Elements => crate::array::append,
        }
    }
}

/// Body of a function.
#[derive(Clone, Copy)]
pub enum Body {
    /// One value for one row.
    Scalar(ScalarFunction),
    /// Any number of rows.
    Set(SetFunction),
    /// One value for many rows.
    Aggregate(&'static Aggregate),
    /// One value for a row within its window; aggregates can be window functions too.
    Window(WindowFunction),
}

/// A function or an operator.
#[derive(Clone, Copy)]
pub struct Function {
    /// Name, or symbol.
    pub name: &'static str,
    /// Parameters. Direct ones of an ordered-set aggregate come first.
    pub parameters: &'static [Parameter],
    /// Whether the last parameter, an array or [`Parameter::Any`], takes any number of arguments.
    pub variadic: bool,
    /// Number of last parameters that may be left out; the body handles their absence.
    pub optional: usize,
    /// Result; for a set, the result of each row.
    pub result: Parameter,
    /// Names and types of the columns, if a row of the set has several.
    pub columns: &'static [(&'static str, Parameter)],
    /// Whether the result is NULL, without a call, as soon as an argument is. Strict aggregates are
    /// not given rows with a NULL.
    pub strict: bool,
    /// Volatility of the results.
    pub volatility: Volatility,
    /// Whether the function uses [`Context::argument_types`].
    pub typed: bool,
    /// The comparison of which this is the implementation, over all types of its parameters.
    pub comparison: Option<Comparison>,
    /// The chain of which this can be a link.
    pub chain: Option<Chain>,
    /// The implementation.
    pub body: Body,
}

/// Names of stable functions that ask for nothing but settings by which values are read and written, names of the
/// catalog, and the times of the transaction and the statement. Operators ask for no more either.
const OF_SETTINGS_AND_TIMES: &[&str] = &[
    "age",
    "concat",
    "concat_ws",
    "current_date",
    "current_time",
    "current_timestamp",
    "date_part",
    "date_trunc",
    "extract",
    "format",
    "localtime",
    "localtimestamp",
    "make_date",
    "make_time",
    "make_timestamp",
    "make_timestamptz",
    "now",
    "statement_timestamp",
    "timezone",
    "to_char",
    "to_date",
    "to_number",
    "to_timestamp",
    "transaction_timestamp",
];

impl Function {
    /// Returns whether a call gives the same wherever a part of the statement is carried out, if the part knows the
    /// statement's settings, catalog and times, and nothing else of its session.
    pub fn is_the_same_anywhere(&self) -> bool {
        match self.volatility {
            Volatility::Immutable => true,
            Volatility::Stable => {
                let is_operator = !self.name.starts_with(|c: char| c.is_ascii_alphabetic());
                is_operator || OF_SETTINGS_AND_TIMES.contains(&self.name)
            }
            Volatility::Volatile => false,
        }
    }

    pub(crate) const fn new(
        name: &'static str,
        parameters: &'static [Parameter],
        result: Parameter,
        body: Body,
    ) -> Self {
        Self {
            name,
            parameters,
            variadic: false,
            optional: 0,
            result,
            columns: &[],
            strict: true,
            volatility: Volatility::Immutable,
            typed: false,
            comparison: None,
            chain: None,
            body,
        }
    }

    pub(crate) const fn scalar(
        name: &'static str,
        parameters: &'static [Parameter],
        result: Parameter,
        body: ScalarFunction,
    ) -> Self {
        Self::new(name, parameters, result, Body::Scalar(body))
    }

    /// Makes the function accept NULLs.
    pub(crate) const fn lenient(mut self) -> Self {
        self.strict = false;
        self
    }

    pub(crate) const fn stable(mut self) -> Self {
        self.volatility = Volatility::Stable;
        self
    }

    pub(crate) const fn volatile(mut self) -> Self {
        self.volatility = Volatility::Volatile;
        self
    }

    pub(crate) const fn variadic(mut self) -> Self {
        self.variadic = true;
        self
    }

    pub(crate) const fn optional(mut self, parameters: usize) -> Self {
        self.optional = parameters;
        self
    }

    pub(crate) const fn typed(mut self) -> Self {
        self.typed = true;
        self
    }

    pub(crate) const fn columns(mut self, columns: &'static [(&'static str, Parameter)]) -> Self {
        self.columns = columns;
        self
    }

    pub(crate) const fn comparison(mut self, comparison: Comparison) -> Self {
        self.comparison = Some(comparison);
        self
    }

    pub(crate) const fn chain(mut self, chain: Chain) -> Self {
        self.chain = Some(chain);
        self
    }
}

/// Defines an entry whose body is a Rust function over [`Argument`](crate::argument::Argument)s; one
/// per parameter, after the context if the entry says so.
macro_rules! entry {
    ($name:literal ($($parameter:expr),*) -> $result:expr, in context $body:expr) => {
        $crate::function::Function::scalar(
            $name,
            &[$($parameter),*],
            $result,
            |context, arguments| {
                let mut position = 0..arguments.len();
                let _ = &mut position;
                $crate::argument::Outcome::outcome(($body)(
                    context,
                    $($crate::function::next::<_>(arguments, &mut position, $parameter)?),*
                ))
            },
        )
    };
    ($name:literal ($($parameter:expr),*) -> $result:expr, $body:expr) => {
        $crate::function::Function::scalar(
            $name,
            &[$($parameter),*],
            $result,
            |_, arguments| {
                let mut position = 0..arguments.len();
                let _ = &mut position;
                $crate::argument::Outcome::outcome(($body)(
                    $($crate::function::next::<_>(arguments, &mut position, $parameter)?),*
                ))
            },
        )
    };
}
pub(crate) use entry;

/// Returns the next argument; the parameter is there for the macro's repetition.
#[inline]
pub(crate) fn next<'a, T: crate::argument::Argument<'a>>(
    arguments: &[Value<'a>],
    position: &mut std::ops::Range<usize>,
    _parameter: Parameter,
) -> Result<T> {
    crate::argument::take(arguments, position.next().unwrap_or(usize::MAX))
}

/// Defines parameters by their types' names, for the tables.
macro_rules! names {
    ($kind:ident: $($name:ident $scalar:ident;)*) => {$(
        pub(crate) const $name: Parameter = Parameter::Of(Type::$kind(Scalar::$scalar));
    )*};
}

names! {
    Scalar: BOOL Bool; INT2 Int2; INT4 Int4; INT8 Int8; FLOAT4 Float4; FLOAT8 Float8;
    NUMERIC Numeric; TEXT Text; BPCHAR Bpchar; NAME Name; CHAR Char; BYTEA Bytea; UUID Uuid;
    JSON Json; JSONB Jsonb; DATE Date; TIME Time; TIMETZ TimeTz; TIMESTAMP Timestamp;
    TIMESTAMPTZ TimestampTz; INTERVAL Interval; OID Oid; REGTYPE Regtype;
    REGCLASS Regclass; REGNAMESPACE Regnamespace; REGROLE Regrole; REGPROC Regproc;
}

names! {
    Array: INT4S Int4; FLOAT8S Float8; TEXTS Text; NAMES Name; INTERVALS Interval;
}

pub(crate) const RECORD: Parameter = Parameter::Of(Type::Record);
pub(crate) const VOID: Parameter = Parameter::Of(Type::Void);
