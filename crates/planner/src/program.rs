//! Expressions compiled to short programs over registers, which run for each row.
//!
//! A [`Program`] is made once per plan. Its operands are columns of the row, parameters, constants
//! or registers: a comparison of a column with a parameter is one instruction. Comparisons of
//! integers are instructions of their own. There is no allocation but for values that functions
//! make. Machine code would take the place of [`Program::run`].
//!
//! | part | file |
//! | --- | --- |
//! | positions of columns in rows | `layout.rs` |
//! | from expressions to instructions | `compile.rs`, `chained.rs` |
//! | execution of programs | `run.rs` |

mod chained;
mod compile;
mod layout;
mod run;

use functions::{Comparison, ScalarFunction};
use types::{Scalar, Type};

use batch::OwnedValue;
use logical::expression::Expression;

pub use self::{
    compile::{Outer, comparison, compile},
    layout::Layout,
    run::{Evaluator, agrees},
};

/// A compiled expression.
#[derive(Debug, Clone)]
pub struct Program {
    code: Vec<Instruction>,
    /// Place of the result.
    result: Operand,
    registers: u32,
    constants: Vec<OwnedValue>,
    /// Argument types of calls, for functions that look at them.
    types: Vec<Vec<Type>>,
    /// Fields of the rows that the program makes.
    rows: Vec<Vec<RowField>>,
    /// Expression that the program was made from, for EXPLAIN.
    source: Option<Box<Expression>>,
}

impl Program {
    /// Returns the program that gives the value of the column at `at`.
    pub fn column(at: usize) -> Program {
        let at = u32::try_from(at).expect("rows have fewer columns than programs can name");
        Program {
            code: Vec::new(),
            result: Operand::Column(at),
            registers: 0,
            constants: Vec::new(),
            types: Vec::new(),
            rows: Vec::new(),
            source: None,
        }
    }

    /// Returns the column whose value the program gives as it is.
    pub fn as_column(&self) -> Option<usize> {
        match self.result {
            Operand::Column(at) if self.code.is_empty() => Some(at as usize),
            _ => None,
        }
    }

    /// Returns the expression that the program was made from, if the plan is to be explained.
    pub fn source(&self) -> Option<&Expression> {
        self.source.as_deref()
    }
}

/// The name and the type of a field.
#[derive(Debug, Clone)]
pub(super) struct RowField {
    name: Box<str>,
    ty: Type,
}

/// A place that a value is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operand {
    Register(u32),
    Column(u32),
    Parameter(u32),
    Constant(u32),
}

/// A place in the code.
type Label = u32;

/// One step of a program. Its result goes to the register `to`.
#[derive(Clone, Copy)]
pub(super) enum Instruction {
    Load {
        from: Operand,
        to: u32,
    },
    /// A call of a function whose arguments are in consecutive registers.
    Call {
        function: ScalarFunction,
        strict: bool,
        first: u32,
        count: u32,
        types: Option<u32>,
        to: u32,
    },
    /// A call of a strict function of two operands, which stand side by side in registers only
    /// while it runs.
    Call2 {
        function: ScalarFunction,
        left: Operand,
        right: Operand,
        to: u32,
    },
    Convert {
        operand: Operand,
        cast: functions::Cast,
        to: u32,
    },
    Fit {
        operand: Operand,
        ty: Type,
        modifier: types::TypeModifier,
        coercion: types::Coercion,
        to: u32,
    },
    /// A comparison of integers of any width.
    CompareIntegers {
        comparison: Comparison,
        left: Operand,
        right: Operand,
        to: u32,
    },
    /// A comparison of texts without collation, byte by byte.
    CompareTexts {
        comparison: Comparison,
        left: Operand,
        right: Operand,
        to: u32,
    },
    Jump(Label),
    JumpUnlessTrue {
        condition: Operand,
        target: Label,
    },
    JumpUnlessNull {
        operand: Operand,
        target: Label,
    },
    /// A part of a conjunction: false decides, NULL is remembered.
    AndThen {
        part: Operand,
        to: u32,
        target: Label,
    },
    /// A part of a disjunction: true decides, NULL is remembered.
    OrElse {
        part: Operand,
        to: u32,
        target: Label,
    },
    Not {
        operand: Operand,
        to: u32,
    },
    IsNull {
        operand: Operand,
        negated: bool,
        to: u32,
    },
    Is {
        operand: Operand,
        value: bool,
        negated: bool,
        to: u32,
    },
    Distinct {
        function: ScalarFunction,
        left: Operand,
        right: Operand,
        negated: bool,
        to: u32,
    },
    /// The greater or lesser of the value in `to` and the operand; NULLs do not count.
    Extreme {
        greatest: bool,
        operand: Operand,
        to: u32,
    },
    Quantified {
        function: ScalarFunction,
        left: Operand,
        array: Operand,
        all: bool,
        to: u32,
    },
    Array {
        element: Scalar,
        first: u32,
        count: u32,
        to: u32,
    },
    Row {
        /// Number of the row among the program's rows, for the names of its fields.
        row: u32,
        first: u32,
        count: u32,
        to: u32,
    },
    Field {
        record: Operand,
        position: u32,
        to: u32,
    },
    Element {
        array: Operand,
        first: u32,
        count: u32,
        to: u32,
    },
    /// A slice of an array by pairs of bounds; an absent bound is NULL, and its bit in the mask is
    /// set.
    Slice {
        array: Operand,
        first: u32,
        count: u32,
        absent: u32,
        to: u32,
    },
}

impl std::fmt::Debug for Instruction {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self {
            Self::Load { .. } => "load",
            Self::Call { .. } | Self::Call2 { .. } => "call",
            Self::Convert { .. } => "convert",
            Self::Fit { .. } => "fit",
            Self::CompareIntegers { .. } => "compare integers",
            Self::CompareTexts { .. } => "compare texts",
            Self::Jump(_) => "jump",
            Self::JumpUnlessTrue { .. } => "jump unless true",
            Self::JumpUnlessNull { .. } => "jump unless null",
            Self::AndThen { .. } => "and then",
            Self::OrElse { .. } => "or else",
            Self::Not { .. } => "not",
            Self::IsNull { .. } => "is null",
            Self::Is { .. } => "is",
            Self::Distinct { .. } => "distinct",
            Self::Extreme { .. } => "extreme",
            Self::Quantified { .. } => "quantified",
            Self::Array { .. } => "array",
            Self::Row { .. } => "row",
            Self::Field { .. } => "field",
            Self::Element { .. } => "element",
            Self::Slice { .. } => "slice",
        };
        formatter.write_str(name)
    }
}
