//! Expressions, as PostgreSQL's grammar has them before names are looked up.
//!
//! [`Expr`] is a piece of syntax with its place; the binder makes another expression, with types, of it. Parentheses
//! leave no trace, and forms that mean one thing are one variant: `x IN (query)` is `x = ANY (query)`, and
//! `trim(leading from x)` is a call of `ltrim` whose column has that name. A form that there is not is
//! [`ExprKind::Refused`], by the error that the binder raises where it comes to it.
//!
//! Trees are as deep as a chain of operators is long on their left sides alone; elsewhere their depth is that of the
//! text's brackets, its CASEs, and the prefix operators (`NOT`, `-`, ..) in a row, each at most `DEPTH_MAX`
//! (`depth.rs`). Only [`crate::Tree`] drops deep ones anywhere.

use std::borrow::Cow;

use types::{Result, SqlError};

use crate::{
    name::{DottedName, Name},
    position::Span,
    query::{OrderKey, Query},
    statement::TypeName,
};

/// An expression with its place in the text.
#[derive(Debug, Clone)]
pub struct Expr {
    /// The form of the expression, with its parts.
    pub kind: ExprKind,
    /// The place of the expression; that of parentheses around it is not counted.
    pub span: Span,
}

/// Expressions are equal if they are written alike, wherever they stand.
impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl Expr {
    /// Returns whether the expression is the word `DEFAULT`, which the parser takes for a name.
    pub fn is_default(&self) -> bool {
        matches!(&self.kind, ExprKind::Name(name) if !name.is_quoted() && name.as_str() == "default")
    }

    /// Returns the expression that a postfix or an infix operator has been put behind; chains of these are as deep as
    /// they are long.
    pub fn left_operand(&self) -> Option<&Expr> {
        match &self.kind {
            ExprKind::Connected { left, .. }
            | ExprKind::Operator { left, .. }
            | ExprKind::Quantified { left, .. }
            | ExprKind::QuantifiedQuery { left, .. }
            | ExprKind::PatternMatch { left, .. }
            | ExprKind::IsDistinct { left, .. }
            | ExprKind::InList { left, .. }
            | ExprKind::IsNull { operand: left, .. }
            | ExprKind::IsTruth { operand: left, .. }
            | ExprKind::Between { operand: left, .. }
            | ExprKind::Cast { operand: left, .. }
            | ExprKind::Collate { operand: left, .. }
            | ExprKind::AtTimeZone { operand: left, .. } => Some(left),
            _ => None,
        }
    }
}

/// The form of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// A name alone: of a column, of a relation, or a word such as `current_date`.
    Name(Name),
    /// A name with others before it: two parts or more.
    QualifiedName(DottedName),
    /// `relation.*`, as one value or as the values of its columns.
    RelationStar(DottedName),
    /// A literal or a parameter.
    Literal(Literal),
    /// `type 'text'`, placed where the literal is.
    TypedLiteral {
        /// The type before the literal.
        data_type: TypeName,
        /// The literal.
        literal: Literal,
    },
    /// `interval 'text' fields`.
    Interval {
        /// The literal.
        value: Box<Expr>,
        /// The fields, as `DAY TO SECOND`.
        fields: Option<String>,
        /// The number of digits of the seconds.
        precision: Option<u64>,
    },
    /// `AND` or `OR`.
    Connected {
        /// The word between the conditions.
        connective: Connective,
        /// The condition before the word.
        left: Box<Expr>,
        /// The condition behind the word.
        right: Box<Expr>,
    },
    /// `NOT condition`.
    Not(Box<Expr>),
    /// An operator between two operands.
    Operator {
        /// The operator.
        operator: Operator,
        /// The operand before the operator.
        left: Box<Expr>,
        /// The operand behind the operator.
        right: Box<Expr>,
    },
    /// An operator before its operand.
    Prefix {
        /// The operator, as `-`.
        operator: &'static str,
        /// The operand.
        operand: Box<Expr>,
    },
    /// `left operator ANY (array)`, and `ALL`.
    Quantified {
        /// The operand before the operator.
        left: Box<Expr>,
        /// The operator.
        operator: Operator,
        /// The array.
        array: Box<Expr>,
        /// Whether the comparison has to hold for all elements.
        is_all: bool,
    },
    /// `left operator ANY (query)`, `ALL (query)`, and `left [NOT] IN (query)`.
    QuantifiedQuery {
        /// The operand before the operator.
        left: Box<Expr>,
        /// The name of the operator, which is `=` for IN.
        operator: Cow<'static, str>,
        /// The rows for which the comparison has to hold.
        quantifier: Quantifier,
        /// The query.
        query: Box<Query>,
    },
    /// `[NOT] LIKE`, `ILIKE`, `SIMILAR TO`.
    PatternMatch {
        /// The operand before the word.
        left: Box<Expr>,
        /// The operator that matches.
        operator: &'static str,
        /// The pattern.
        pattern: Box<Expr>,
        /// The function that makes the operator's pattern of the written one and of the escape.
        translation: Option<&'static str>,
        /// The literal behind `ESCAPE`.
        escape: Option<Box<Expr>>,
    },
    /// `IS [NOT] NULL`.
    IsNull {
        /// The operand.
        operand: Box<Expr>,
        /// Whether `NOT` is written.
        negated: bool,
    },
    /// `IS [NOT] TRUE`, `FALSE` and `UNKNOWN`.
    IsTruth {
        /// The operand.
        operand: Box<Expr>,
        /// The value that is asked for; `None` for `UNKNOWN`.
        value: Option<bool>,
        /// Whether `NOT` is written.
        negated: bool,
    },
    /// `IS [NOT] DISTINCT FROM`.
    IsDistinct {
        /// The operand before the words.
        left: Box<Expr>,
        /// The operand behind the words.
        right: Box<Expr>,
        /// Whether `NOT` is written.
        negated: bool,
    },
    /// `[NOT] IN (a, b, ...)`.
    InList {
        /// The operand before the word.
        left: Box<Expr>,
        /// The list.
        list: Vec<Expr>,
        /// Whether `NOT` is written.
        negated: bool,
    },
    /// `[NOT] BETWEEN low AND high`.
    Between {
        /// The operand before the word.
        operand: Box<Expr>,
        /// The lower bound.
        low: Box<Expr>,
        /// The upper bound.
        high: Box<Expr>,
        /// Whether `NOT` is written.
        negated: bool,
    },
    /// `CAST(operand AS type)` and `operand::type`.
    Cast {
        /// The operand.
        operand: Box<Expr>,
        /// The type.
        data_type: TypeName,
    },
    /// `operand COLLATE collation`.
    Collate {
        /// The operand.
        operand: Box<Expr>,
        /// The name of the collation.
        collation: DottedName,
    },
    /// `operand AT TIME ZONE zone`.
    AtTimeZone {
        /// The operand.
        operand: Box<Expr>,
        /// The time zone.
        zone: Box<Expr>,
    },
    /// `CASE`.
    Case {
        /// The operand that each WHEN is compared with.
        operand: Option<Box<Expr>>,
        /// The expressions behind WHEN and THEN.
        branches: Vec<(Expr, Expr)>,
        /// The expression behind ELSE.
        otherwise: Option<Box<Expr>>,
    },
    /// A call of a function, an aggregate or a window function.
    Call(Box<FunctionCall>),
    /// A call that the grammar has words of its own for, as `position(a in b)`.
    SpecialCall {
        /// The name of the function, which a column of its values has too.
        function: &'static str,
        /// The arguments in the function's order.
        arguments: Vec<Expr>,
    },
    /// `extract(field from operand)`.
    Extract {
        /// The field, in lower case.
        field: String,
        /// The operand.
        operand: Box<Expr>,
    },
    /// `[NOT] EXISTS (query)`.
    Exists {
        /// The query.
        query: Box<Query>,
        /// Whether `NOT` is written.
        negated: bool,
    },
    /// A query in parentheses, as one value.
    Subquery(Box<Query>),
    /// `ARRAY(query)`.
    ArrayQuery(Box<Query>),
    /// `ARRAY[a, b, ...]`.
    Array(Vec<Expr>),
    /// `(a, b, ...)` and `ROW(a, b, ...)`.
    Row {
        /// The items, of which `relation.*` stands for several.
        items: Vec<Expr>,
        /// Whether `ROW` is written.
        is_explicit: bool,
    },
    /// `(record).field`.
    Field {
        /// The record.
        record: Box<Expr>,
        /// The name of the field.
        field: Name,
    },
    /// `array[index]`, `array[lower:upper]`.
    Subscripted {
        /// The array.
        array: Box<Expr>,
        /// The subscripts in the brackets; never empty.
        subscripts: Vec<Subscript>,
    },
    /// A form that there is not, by the error that refuses it.
    Refused(Refused),
}

/// An error that refuses a piece of syntax where the binder comes to it. No two are equal.
#[derive(Debug, Clone)]
pub struct Refused(pub SqlError);

impl PartialEq for Refused {
    fn eq(&self, _: &Self) -> bool {
        false
    }
}

/// A clause that the binder can go on with, unless it is refused.
///
/// # Errors
/// The error.
pub(crate) fn refusal(refused: &Option<Refused>) -> Result<()> {
    match refused {
        Some(Refused(error)) => Err(error.clone()),
        None => Ok(()),
    }
}

/// A literal or a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// A number, as it was written.
    Number(String),
    /// A string, in whichever quotes.
    String(String),
    /// `TRUE` or `FALSE`.
    Boolean(bool),
    /// `NULL`.
    Null,
    /// `$1`, as it was written.
    Parameter(String),
    /// A literal of a kind that there is not.
    Refused(Refused),
}

impl Literal {
    /// Returns whether the literal has no type of its own.
    pub fn is_untyped(&self) -> bool {
        matches!(self, Self::String(_) | Self::Null | Self::Parameter(_))
    }
}

/// A word that connects two conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connective {
    /// `AND`.
    And,
    /// `OR`.
    Or,
}

impl Connective {
    /// Returns the word.
    pub fn word(self) -> &'static str {
        match self {
            Self::And => "AND",
            Self::Or => "OR",
        }
    }
}

/// An operator between two operands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    /// The name that PostgreSQL gives the operator, or a word that is none of its operators.
    pub(crate) symbol: Cow<'static, str>,
    pub(crate) is_known: bool,
}

impl Operator {
    /// Returns the operator as it was written.
    pub fn symbol(&self) -> &str {
        &self.symbol
    }

    /// Returns the name that PostgreSQL gives the operator.
    ///
    /// # Errors
    /// 0A000 for an operator of other systems.
    pub fn name(&self) -> Result<&str> {
        match self.is_known {
            true => Ok(&self.symbol),
            false => Err(SqlError::unsupported(format_args!(
                "operator {}",
                self.symbol
            ))),
        }
    }
}

/// The rows of a query for which a comparison has to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantifier {
    /// One at least: `ANY`, `IN`.
    Any,
    /// All.
    All,
    /// None: `NOT IN`.
    None,
}

/// The contents of a pair of brackets behind an array.
#[derive(Debug, Clone, PartialEq)]
pub enum Subscript {
    /// `[index]`.
    Index(Expr),
    /// `[lower:upper]`.
    Slice {
        /// The lower bound.
        lower: Option<Expr>,
        /// The upper bound.
        upper: Option<Expr>,
    },
    /// A form that there is not.
    Refused(Refused),
}

/// A call of a function.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionCall {
    /// The name of the function, with or without a schema.
    pub name: DottedName,
    /// The arguments; `relation.*` among them is the relation's row.
    pub arguments: Vec<Expr>,
    /// Whether `*` is among the arguments.
    pub star: bool,
    /// Whether `DISTINCT` stands before the arguments.
    pub distinct: bool,
    /// The keys of `ORDER BY` behind the arguments.
    pub order: Vec<OrderKey>,
    /// The keys of `WITHIN GROUP`.
    pub within_group: Vec<OrderKey>,
    /// The condition of `FILTER`.
    pub filter: Option<Expr>,
    /// The window behind `OVER`.
    pub over: Option<Over>,
    /// The error for an argument that there is not.
    pub(crate) refused: Option<Refused>,
}

impl FunctionCall {
    /// Passes if all arguments are forms that there are.
    ///
    /// # Errors
    /// 0A000.
    pub fn supported(&self) -> Result<()> {
        refusal(&self.refused)
    }
}

/// The window of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Over {
    /// `OVER name`: a window of the WINDOW clause as it is.
    Named(Name),
    /// `OVER (...)`.
    Specified(Window),
}

/// The parts of a window in its parentheses.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Window {
    /// The window whose partition and order this one takes over.
    pub base: Option<Name>,
    /// The expressions of `PARTITION BY`.
    pub partition: Vec<Expr>,
    /// The keys of `ORDER BY`.
    pub order: Vec<OrderKey>,
    /// The frame.
    pub frame: Option<Frame>,
}

/// A window of the WINDOW clause.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedWindow {
    /// The name of the window.
    pub name: Name,
    /// The window.
    pub window: Window,
}

/// The rows of a partition that a window function looks at.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// The unit of distances.
    pub units: FrameUnits,
    /// The first row.
    pub start: FrameBound,
    /// The last row; the current one if none is given.
    pub end: Option<FrameBound>,
}

/// The unit of distances in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameUnits {
    /// `ROWS`.
    Rows,
    /// `RANGE`.
    Range,
    /// `GROUPS`.
    Groups,
}

/// An end of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    /// `CURRENT ROW`.
    CurrentRow,
    /// `distance PRECEDING`, or `UNBOUNDED` without one.
    Preceding(Option<Box<Expr>>),
    /// `distance FOLLOWING`, or `UNBOUNDED` without one.
    Following(Option<Box<Expr>>),
}
