//! What is known of a function or an operator: its signature and how it is called.
//!
//! Entries are `static`; the registry finds them once, when a statement is bound, and evaluation
//! calls through the pointer. An operator is an entry whose name is its symbol.

use types::{Result, Scalar, Type, Value};

use crate::{Context, aggregate::Aggregate, set::SetFunction, window::WindowFunction};

/// A function of single values. Arguments are as many as the resolved call has, each of its
/// parameter's type or NULL; a strict function is never called with a NULL.
pub type ScalarFunction = for<'a> fn(&Context<'a>, &[Value<'a>]) -> Result<Value<'a>>;

/// What a parameter or a result may be.
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

    /// The type, unless that depends on the call.
    pub fn fixed(self) -> Option<Type> {
        match self {
            Self::Of(ty) => Some(ty),
            _ => None,
        }
    }
}

/// Whether results can be known before, or used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volatility {
    /// The same result for the same arguments, always.
    Immutable,
    /// Within a statement.
    Stable,
    /// Not even that.
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
    /// The comparison that says the same with its sides exchanged.
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

    /// The comparison that is true where this one is false.
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
/// Each link by itself would copy what the links before it have made: a chain of texts would take
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
    /// The function of all operands. It looks at [`Context::argument_types`], and is strict if the
    /// links are.
    pub fn body(self) -> ScalarFunction {
        match self {
            Self::Texts => crate::string::concatenate_texts,
            Self::Bytes => crate::string::concatenate_bytes,
            Self::Elements => crate::array::append,
        }
    }
}

/// How a function is called.
#[derive(Clone, Copy)]
pub enum Body {
    /// One value for one row.
    Scalar(ScalarFunction),
    /// Any number of rows.
    Set(SetFunction),
    /// One value for many rows.
    Aggregate(&'static Aggregate),
    /// One value for a row within its window; aggregates can be used so too.
    Window(WindowFunction),
}

/// A function or an operator.
#[derive(Clone, Copy)]
pub struct Function {
    /// Its name, or symbol.
    pub name: &'static str,
    /// Its parameters. Of an ordered-set aggregate the direct ones come first.
    pub parameters: &'static [Parameter],
    /// Whether the last parameter, an array or [`Parameter::Any`], takes any number of arguments.
    pub variadic: bool,
    /// How many of the last parameters may be left out; the body knows what that means.
    pub optional: usize,
    /// What it returns; of a set, what each row is.
    pub result: Parameter,
    /// Names and types of the columns, if a row of the set has several.
    pub columns: &'static [(&'static str, Parameter)],
    /// Whether it is NULL as soon as an argument is, without being called. Aggregates that are
    /// strict are not told of rows with a NULL.
    pub strict: bool,
    /// Whether its results can be known before.
    pub volatility: Volatility,
    /// Whether it looks at [`Context::argument_types`].
    pub typed: bool,
    /// The comparison that it is, if it is one, over all types of its parameters.
    pub comparison: Option<Comparison>,
    /// The chain that it is a link of, if it can be one.
    pub chain: Option<Chain>,
    /// How it is called.
    pub body: Body,
}

impl Function {
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

    /// It is called with NULLs too.
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

/// An entry whose body is a Rust function over [`Argument`](crate::argument::Argument)s; one per
/// parameter, after the context if the entry says so.
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

/// The next argument; the parameter is there for the macro's repetition.
#[inline]
pub(crate) fn next<'a, T: crate::argument::Argument<'a>>(
    arguments: &[Value<'a>],
    position: &mut std::ops::Range<usize>,
    _parameter: Parameter,
) -> Result<T> {
    crate::argument::take(arguments, position.next().unwrap_or(usize::MAX))
}

/// Parameters by their types' names, for the tables.
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
