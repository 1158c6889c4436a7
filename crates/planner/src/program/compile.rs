//! Compilation of expressions to programs.

mod branches;

use functions::{Body, Comparison};
use types::{Result, Scalar, SqlError, SqlState, Type, Value};

use super::{
    Instruction, Kernel, Label, Layout, Operand, Program, RowField, chained::Chained,
    folding::folded, lists::ListSource,
};
use batch::OwnedValue;
use logical::expression::{ColumnId, Expression, Function, Kind};
use syntax::phase;

/// The columns of queries around this one, which are parameters from a number on.
#[derive(Debug, Clone, Default)]
pub struct Outer {
    /// Number of the parameters that the client has given.
    pub parameters: usize,
    /// Columns of outer rows, numbered as parameters behind those of the client. The last place
    /// of a column that is listed twice counts.
    pub columns: Vec<ColumnId>,
    /// Whether programs keep the expressions that they were made from.
    pub(crate) keeps_sources: bool,
}

/// Compiles an expression over rows of a layout.
///
/// # Errors
/// XX000 if a column is missing, which is a fault of the planner; 54001 if the program is too
/// large.
pub fn compile(expression: &Expression, layout: &Layout, outer: &Outer) -> Result<Program> {
    compiled(expression, layout, outer, true)
}

/// Compiles an expression as it is: parts of it that are constant are computed whenever the program runs.
pub(super) fn compile_unfolded(
    expression: &Expression,
    layout: &Layout,
    outer: &Outer,
) -> Result<Program> {
    compiled(expression, layout, outer, false)
}

fn compiled(
    expression: &Expression,
    layout: &Layout,
    outer: &Outer,
    folds: bool,
) -> Result<Program> {
    let mut compiler = Compiler {
        layout,
        outer,
        folds,
        code: Vec::new(),
        registers: 0,
        registers_max: 0,
        previous: None,
        constants: Vec::new(),
        types: Vec::new(),
        rows: Vec::new(),
        merged: Vec::new(),
        lists: Vec::new(),
    };
    let result = compiler.operand(expression)?;
    Ok(Program {
        code: compiler.code,
        result,
        registers: compiler.registers_max,
        constants: compiler.constants,
        types: compiler.types.into(),
        rows: compiler.rows.into(),
        lists: compiler.lists.into(),
        source: outer.keeps_sources.then(|| Box::new(expression.clone())),
        merged: compiler.merged.into(),
    })
}

struct Compiler<'l> {
    layout: &'l Layout,
    outer: &'l Outer,
    /// Whether parts that are constant are computed now.
    folds: bool,
    code: Vec<Instruction>,
    /// Number of registers that are in use at this place of the code.
    registers: u32,
    /// Greatest number of registers in use.
    registers_max: u32,
    /// Place where the step before has left its value.
    previous: Option<Operand>,
    constants: Vec<OwnedValue>,
    types: Vec<Vec<Type>>,
    rows: Vec<Vec<RowField>>,
    merged: Vec<(Label, u32)>,
    lists: Vec<ListSource>,
}

impl Compiler<'_> {
    /// Returns the place where the value of an expression is, once the code that was emitted up to
    /// here has run.
    fn operand(&mut self, expression: &Expression) -> Result<Operand> {
        match &expression.kind {
            Kind::Constant(value) => self.constant((**value).clone()),
            Kind::Parameter(number) => Ok(Operand::Parameter(narrow(*number as usize)?)),
            Kind::Column(id) => self.column(*id),
            Kind::Previous => self.previous.ok_or_else(|| {
                let message = "a step without one before it";
                SqlError::new(SqlState::INTERNAL_ERROR, message)
            }),
            _ => {
                if let Some(constant) = self.folded(expression)? {
                    return Ok(constant);
                }
                let to = self.register(1)?;
                self.compute_into(expression, to)?;
                Ok(Operand::Register(to))
            }
        }
    }

    /// Returns the constant that an expression with operands is; `None` if it is none.
    fn folded(&mut self, expression: &Expression) -> Result<Option<Operand>> {
        let value = self.folds.then(|| folded(expression)).flatten();
        value.map(|value| self.constant(value)).transpose()
    }

    fn column(&self, id: ColumnId) -> Result<Operand> {
        if let Some(at) = self.layout.position(id) {
            return Ok(Operand::Column(narrow(at)?));
        }
        match self.outer.columns.iter().rposition(|other| *other == id) {
            Some(at) => Ok(Operand::Parameter(narrow(self.outer.parameters + at)?)),
            None => Err(SqlError::new(
                SqlState::INTERNAL_ERROR,
                format!("column {} is not there", id.0),
            )),
        }
    }

    fn constant(&mut self, value: OwnedValue) -> Result<Operand> {
        self.constants.push(value);
        Ok(Operand::Constant(narrow(self.constants.len() - 1)?))
    }

    fn register(&mut self, count: usize) -> Result<u32> {
        let first = self.registers;
        self.registers = narrow(first as usize + count)?;
        self.registers_max = self.registers_max.max(self.registers);
        Ok(first)
    }

    /// Computes expressions into consecutive registers.
    fn registers<'e>(
        &mut self,
        expressions: impl ExactSizeIterator<Item = &'e Expression>,
    ) -> Result<(u32, u32)> {
        let count = expressions.len();
        let first = self.register(count)?;
        for (at, expression) in (first..).zip(expressions) {
            self.compute_into(expression, at)?;
        }
        Ok((first, narrow(count)?))
    }

    fn here(&self) -> Label {
        Label::try_from(self.code.len()).unwrap_or(Label::MAX)
    }

    fn emit(&mut self, instruction: Instruction) -> usize {
        self.code.push(instruction);
        self.code.len() - 1
    }

    /// Computes an expression into a register; other registers that it needs are free again
    /// afterwards.
    fn compute_into(&mut self, expression: &Expression, to: u32) -> Result<()> {
        phase::pause();
        let registers = self.registers;
        self.emit_into(expression, to)?;
        self.registers = registers;
        Ok(())
    }

    fn emit_into(&mut self, expression: &Expression, to: u32) -> Result<()> {
        if let Some(from) = self.folded(expression)? {
            self.emit(Instruction::Load { from, to });
            return Ok(());
        }
        match &expression.kind {
            Kind::Steps(steps) => self.steps(steps, to)?,
            Kind::Constant(_) | Kind::Parameter(_) | Kind::Column(_) | Kind::Previous => {
                let from = self.operand(expression)?;
                self.emit(Instruction::Load { from, to });
            }
            Kind::Call {
                function,
                arguments,
            } => self.call(*function, arguments, to)?,
            Kind::Convert {
                operand,
                conversion,
            } => {
                let operand = self.operand(operand)?;
                self.emit(Instruction::Convert {
                    operand,
                    cast: conversion.0,
                    to,
                });
            }
            Kind::Fit {
                operand,
                modifier,
                coercion,
            } => {
                let operand = self.operand(operand)?;
                let (modifier, coercion) = (*modifier, *coercion);
                self.emit(Instruction::Fit {
                    operand,
                    ty: expression.ty,
                    modifier,
                    coercion,
                    to,
                });
            }
            Kind::And(parts) => self.connected(parts, true, to)?,
            Kind::Or(parts) => self.connected(parts, false, to)?,
            Kind::Not(operand) => {
                let operand = self.operand(operand)?;
                self.emit(Instruction::Not { operand, to });
            }
            Kind::IsNull { operand, negated } => {
                let operand = self.operand(operand)?;
                self.emit(Instruction::IsNull {
                    operand,
                    negated: *negated,
                    to,
                });
            }
            Kind::Is {
                operand,
                value,
                negated,
            } => {
                let operand = self.operand(operand)?;
                self.emit(Instruction::Is {
                    operand,
                    value: *value,
                    negated: *negated,
                    to,
                });
            }
            Kind::Distinct {
                equals,
                left,
                right,
                negated,
            } => {
                let function = scalar(*equals)?;
                let (left, right) = (self.operand(left)?, self.operand(right)?);
                self.emit(Instruction::Distinct {
                    function,
                    left,
                    right,
                    negated: *negated,
                    to,
                });
            }
            Kind::Case {
                branches,
                otherwise,
            } => self.case(branches, otherwise, to)?,
            Kind::Coalesce(items) => self.coalesce(items, to)?,
            Kind::Extreme { greatest, items } => {
                let null = self.constant(OwnedValue::new(Value::Null))?;
                self.merge(to);
                self.emit(Instruction::Load { from: null, to });
                let registers = self.registers;
                for item in items {
                    let operand = self.operand(item)?;
                    self.emit(Instruction::Extreme {
                        greatest: *greatest,
                        operand,
                        to,
                    });
                    self.registers = registers;
                }
            }
            Kind::Quantified {
                left,
                operator,
                array,
                all,
            } => {
                let function = scalar(*operator)?;
                if let Some(list) = ListSource::of(left, *operator, array, *all, self.outer)? {
                    self.lists.push(list);
                    let list = narrow(self.lists.len() - 1)?;
                    let left = self.operand(left)?;
                    self.emit(Instruction::Listed {
                        function,
                        left,
                        list,
                        all: *all,
                        to,
                    });
                    return Ok(());
                }
                let (left, array) = (self.operand(left)?, self.operand(array)?);
                self.emit(Instruction::Quantified {
                    function,
                    left,
                    array,
                    all: *all,
                    to,
                });
            }
            Kind::Array(items) => {
                let element = expression.ty.element().unwrap_or(Scalar::Text);
                let (first, count) = self.registers(items.iter())?;
                self.emit(Instruction::Array {
                    element,
                    first,
                    count,
                    to,
                });
            }
            Kind::Row { items, names } => {
                let fields = items.iter().enumerate().map(|(position, item)| RowField {
                    name: match names.get(position) {
                        Some(name) => name.clone(),
                        None => format!("f{}", position + 1).into(),
                    },
                    ty: item.ty,
                });
                self.rows.push(fields.collect());
                let row = narrow(self.rows.len() - 1)?;
                let (first, count) = self.registers(items.iter())?;
                self.emit(Instruction::Row {
                    row,
                    first,
                    count,
                    to,
                });
            }
            Kind::Field { record, position } => {
                let (record, position) = (self.operand(record)?, narrow(*position)?);
                self.emit(Instruction::Field {
                    record,
                    position,
                    to,
                });
            }
            Kind::Element { array, indexes } => {
                let array = self.operand(array)?;
                let (first, count) = self.registers(indexes.iter())?;
                self.emit(Instruction::Element {
                    array,
                    first,
                    count,
                    to,
                });
            }
            Kind::Slice { array, bounds } => self.slice(array, bounds, to)?,
        }
        Ok(())
    }

    fn call(&mut self, function: Function, arguments: &[Expression], to: u32) -> Result<()> {
        if let Some(chain) = Chained::of(function, arguments)
            && chain.operands.len() > 2
        {
            return self.chain(&chain, to);
        }
        let body = scalar(function)?;
        if let ([left, right], true, false) = (arguments, function.0.strict, function.0.typed) {
            let kind = function
                .0
                .comparison
                .and_then(|comparison| Some((comparison, compared(left.ty, right.ty)?)));
            let (left_type, right_type) = (left.ty, right.ty);
            let (left, right) = (self.operand(left)?, self.operand(right)?);
            self.emit(match kind {
                Some((comparison, Compared::Integers)) => Instruction::CompareIntegers {
                    comparison,
                    left,
                    right,
                    to,
                },
                Some((comparison, Compared::Texts)) => Instruction::CompareTexts {
                    comparison,
                    left,
                    right,
                    to,
                },
                None => Instruction::Call2 {
                    function: body,
                    is_stable: !function.is_volatile(),
                    is_shareable: function.0.is_the_same_anywhere(),
                    kernel: Kernel::of(function.0, left_type, right_type),
                    left,
                    right,
                    to,
                },
            });
            return Ok(());
        }
        let types = if function.0.typed {
            self.types
                .push(arguments.iter().map(|argument| argument.ty).collect());
            Some(narrow(self.types.len() - 1)?)
        } else {
            None
        };
        let (first, count) = self.registers(arguments.iter())?;
        self.emit(Instruction::Call {
            function: body,
            strict: function.0.strict,
            is_stable: !function.is_volatile(),
            is_shareable: function.0.is_the_same_anywhere(),
            first,
            count,
            types,
            to,
        });
        Ok(())
    }

    /// Compiles a chain to one call with all of its operands.
    fn chain(&mut self, chain: &Chained<'_>, to: u32) -> Result<()> {
        let types = chain.operands.iter().map(|operand| operand.ty);
        self.types.push(types.collect());
        let types = narrow(self.types.len() - 1)?;
        let (first, count) = self.registers(chain.operands.iter().copied())?;
        self.emit(Instruction::Call {
            function: chain.chain.body(),
            strict: chain.strict,
            // The links of chains are functions of their operands alone.
            is_stable: true,
            is_shareable: true,
            first,
            count,
            types: Some(types),
            to,
        });
        Ok(())
    }

    /// Computes each step into one of two registers in turn, where the next one reads it. Steps
    /// that are parts of one chain are computed together.
    fn steps(&mut self, steps: &[Expression], to: u32) -> Result<()> {
        let outer = self.previous;
        let first = self.register(2)?;
        let mut targets = [first, first + 1].into_iter().cycle();
        let mut chain: Option<Chained<'_>> = None;
        for (at, step) in steps.iter().enumerate() {
            let chained = Chained::of_step(step);
            chain = match (chain.take(), chained) {
                (Some(before), Some(link)) => Some(before.followed_by(link)),
                (None, link) => link,
                (Some(_), None) => None,
            };
            let next = steps.get(at + 1).and_then(Chained::of_step);
            if let (Some(chain), Some(next)) = (&chain, &next)
                && next.goes_on(chain)
            {
                continue;
            }
            let target = match at + 1 == steps.len() {
                true => to,
                false => targets.next().unwrap_or(first),
            };
            let registers = self.registers;
            match chain.take() {
                Some(chain) => self.chain(&chain, target)?,
                None => self.compute_into(step, target)?,
            }
            self.registers = registers;
            self.previous = Some(Operand::Register(target));
        }
        self.previous = outer;
        Ok(())
    }

    fn slice(
        &mut self,
        array: &Expression,
        bounds: &[(Option<Expression>, Option<Expression>)],
        to: u32,
    ) -> Result<()> {
        let array = self.operand(array)?;
        let null = self.constant(OwnedValue::new(Value::Null))?;
        let first = self.register(bounds.len() * 2)?;
        let mut absent = 0;
        let all = bounds.iter().flat_map(|(lower, upper)| [lower, upper]);
        for (at, bound) in all.enumerate() {
            let register = first + narrow(at)?;
            match bound {
                Some(bound) => self.compute_into(bound, register)?,
                None => {
                    absent |= 1 << at;
                    self.emit(Instruction::Load {
                        from: null,
                        to: register,
                    });
                }
            }
        }
        self.emit(Instruction::Slice {
            array,
            first,
            count: narrow(bounds.len() * 2)?,
            absent,
            to,
        });
        Ok(())
    }
}

enum Compared {
    Integers,
    Texts,
}

/// Returns the comparison instruction for these types, if there is one.
fn compared(left: Type, right: Type) -> Option<Compared> {
    let kind = |ty| match ty {
        Type::Scalar(Scalar::Int2 | Scalar::Int4 | Scalar::Int8) => Some(true),
        Type::Scalar(Scalar::Text | Scalar::Varchar | Scalar::Name) => Some(false),
        _ => None,
    };
    match (kind(left)?, kind(right)?) {
        (true, true) => Some(Compared::Integers),
        (false, false) => Some(Compared::Texts),
        _ => None,
    }
}

fn scalar(function: Function) -> Result<functions::ScalarFunction> {
    match function.0.body {
        Body::Scalar(body) => Ok(body),
        _ => {
            let message = format!(
                "{} was compiled as if it were a plain function",
                function.0.name
            );
            Err(SqlError::new(SqlState::INTERNAL_ERROR, message))
        }
    }
}

fn narrow(number: usize) -> Result<u32> {
    u32::try_from(number).map_err(|_| {
        SqlError::new(
            SqlState::STATEMENT_TOO_COMPLEX,
            "an expression is too large",
        )
        .hint("Use = ANY (array) instead of a long list, or several statements.")
    })
}

/// Returns the comparison that an expression is, and its sides; the planner finds keys in
/// conditions with it.
pub fn comparison(expression: &Expression) -> Option<(Comparison, &Expression, &Expression)> {
    match &expression.kind {
        Kind::Call {
            function,
            arguments,
        } => match (function.0.comparison, arguments.as_slice()) {
            (Some(comparison), [left, right]) => Some((comparison, left, right)),
            _ => None,
        },
        _ => None,
    }
}
