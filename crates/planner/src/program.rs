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
//! | parts that are constant | `folding.rs`, `sessionless.rs` |
//! | execution for a row | `run.rs` |
//! | execution for a batch of columns; loops over these | `columnar.rs`; `kernel.rs` |
//! | lists that are searched by hash | `lists.rs` |

mod chained;
mod columnar;
mod compile;
mod folding;
mod kernel;
mod layout;
mod lists;
mod run;
mod sessionless;

use functions::{Comparison, ScalarFunction};
use types::{Scalar, Type};

use self::lists::ListSource;
use batch::OwnedValue;
use logical::expression::Expression;

pub(crate) use self::folding::folded;
use self::kernel::Kernel;
pub use self::{
    columnar::{Computed, Values},
    compile::{Outer, comparison, compile},
    layout::Layout,
    lists::Lists,
    run::{Evaluator, agrees},
    sessionless::Sessionless,
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
    types: Box<[Vec<Type>]>,
    /// Fields of the rows that the program makes.
    rows: Box<[Vec<RowField>]>,
    /// Arrays that are searched by hash.
    lists: Box<[ListSource]>,
    /// Expression that the program was made from, for EXPLAIN.
    source: Option<Box<Expression>>,
    /// Registers that several paths through the code write, each from where on they do: a batch of rows that take
    /// different paths has its values there together.
    merged: Box<[(Label, u32)]>,
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
            types: Box::default(),
            rows: Box::default(),
            lists: Box::default(),
            source: None,
            merged: Box::default(),
        }
    }

    /// Calls `visit` with the columns of the row that the program reads, each as often as it does.
    pub fn columns(&self, visit: &mut impl FnMut(usize)) {
        let mut read = |operand| {
            if let Operand::Column(at) = operand {
                visit(at as usize);
            }
        };
        let instructions = self.code.iter();
        instructions.for_each(|instruction| instruction.operands(&mut read));
        read(self.result);
    }

    /// Returns the column whose value the program gives as it is.
    pub fn as_column(&self) -> Option<usize> {
        match self.result {
            Operand::Column(at) if self.code.is_empty() => Some(at as usize),
            _ => None,
        }
    }

    /// Returns whether the program has the same result wherever a part of its statement is carried out, if the part
    /// knows the statement's settings, catalog, times and parameters.
    pub fn is_shareable(&self) -> bool {
        let mut instructions = self.code.iter();
        instructions.all(|instruction| instruction.is_shareable())
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
        /// Whether equal arguments have equal results within a statement.
        is_stable: bool,
        /// Whether a part of the statement on another worker can make the call
        /// ([`is_the_same_anywhere`](functions::Function::is_the_same_anywhere)).
        is_shareable: bool,
        first: u32,
        count: u32,
        types: Option<u32>,
        to: u32,
    },
    /// A call of a strict function of two operands, which stand side by side in registers only
    /// while it runs.
    Call2 {
        function: ScalarFunction,
        /// Whether equal operands have equal results within a statement.
        is_stable: bool,
        /// Whether a part of the statement on another worker can make the call.
        is_shareable: bool,
        /// Loop that does the same over columns, if there is one.
        kernel: Option<Kernel>,
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
    /// A comparison with any or all elements of an array that is the same for all rows.
    Listed {
        function: ScalarFunction,
        left: Operand,
        /// Number of the array among the program's lists.
        list: u32,
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

impl Instruction {
    /// Returns the register that the instruction writes; jumps write none, and are said to write the first.
    pub(super) fn to(self) -> u32 {
        match self {
            Self::Load { to, .. }
            | Self::Call { to, .. }
            | Self::Call2 { to, .. }
            | Self::Convert { to, .. }
            | Self::Fit { to, .. }
            | Self::CompareIntegers { to, .. }
            | Self::CompareTexts { to, .. }
            | Self::AndThen { to, .. }
            | Self::OrElse { to, .. }
            | Self::Not { to, .. }
            | Self::IsNull { to, .. }
            | Self::Is { to, .. }
            | Self::Distinct { to, .. }
            | Self::Extreme { to, .. }
            | Self::Quantified { to, .. }
            | Self::Listed { to, .. }
            | Self::Array { to, .. }
            | Self::Row { to, .. }
            | Self::Field { to, .. }
            | Self::Element { to, .. }
            | Self::Slice { to, .. } => to,
            Self::Jump(_) | Self::JumpUnlessTrue { .. } | Self::JumpUnlessNull { .. } => 0,
        }
    }

    /// Returns whether the instruction has equal results for equal operands within a statement.
    pub(super) fn is_stable(self) -> bool {
        match self {
            Self::Call { is_stable, .. } | Self::Call2 { is_stable, .. } => is_stable,
            _ => true,
        }
    }

    /// Returns whether a part of the statement on another worker can carry the instruction out.
    fn is_shareable(self) -> bool {
        match self {
            Self::Call { is_shareable, .. } | Self::Call2 { is_shareable, .. } => is_shareable,
            _ => true,
        }
    }

    /// Calls `visit` with each place that the instruction reads.
    pub(super) fn operands(self, visit: &mut impl FnMut(Operand)) {
        let range = |first: u32, count: u32| (first..first + count).map(Operand::Register);
        match self {
            Self::Load { from: one, .. }
            | Self::Convert { operand: one, .. }
            | Self::Fit { operand: one, .. }
            | Self::Not { operand: one, .. }
            | Self::IsNull { operand: one, .. }
            | Self::Is { operand: one, .. }
            | Self::JumpUnlessTrue { condition: one, .. }
            | Self::JumpUnlessNull { operand: one, .. }
            | Self::AndThen { part: one, .. }
            | Self::OrElse { part: one, .. }
            | Self::Listed { left: one, .. }
            | Self::Field { record: one, .. } => visit(one),
            Self::Call2 { left, right, .. }
            | Self::CompareIntegers { left, right, .. }
            | Self::CompareTexts { left, right, .. }
            | Self::Distinct { left, right, .. }
            | Self::Quantified {
                left, array: right, ..
            } => {
                visit(left);
                visit(right);
            }
            Self::Extreme { operand, to, .. } => {
                visit(operand);
                visit(Operand::Register(to));
            }
            Self::Call { first, count, .. }
            | Self::Array { first, count, .. }
            | Self::Row { first, count, .. } => range(first, count).for_each(visit),
            Self::Element {
                array,
                first,
                count,
                ..
            }
            | Self::Slice {
                array,
                first,
                count,
                ..
            } => {
                visit(array);
                range(first, count).for_each(visit);
            }
            Self::Jump(_) => {}
        }
    }
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
            Self::Listed { .. } => "listed",
            Self::Array { .. } => "array",
            Self::Row { .. } => "row",
            Self::Field { .. } => "field",
            Self::Element { .. } => "element",
            Self::Slice { .. } => "slice",
        };
        formatter.write_str(name)
    }
}
