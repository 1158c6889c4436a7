//! Running programs.

use std::cmp::Ordering;

use functions::{Comparison, Context, ScalarFunction};
use interleave::Turn;
use types::{
    Field, Record, Result, Value,
    array::{DIMENSIONS_MAX, too_many_dimensions},
};

use super::{
    Instruction, Operand, Program,
    lists::{Lists, quantified},
};

/// The state in which programs run: one evaluator for a batch of rows, whose arena is not reset
/// meanwhile.
pub struct Evaluator<'a> {
    /// Arena, settings and session that functions use.
    pub context: Context<'a>,
    /// Values of the parameters: the client's, then those of outer rows.
    pub parameters: &'a [Value<'a>],
    pub(super) registers: Vec<Value<'a>>,
    /// Turn in which the programs count their work.
    pub(super) turn: Option<&'a Turn>,
    /// Lists of the execution.
    pub(super) lists: Option<&'a Lists>,
}

impl<'a> Evaluator<'a> {
    /// Makes an evaluator that runs programs in `context` with the values of `parameters`, counts
    /// nothing in a turn, and keeps no lists.
    pub fn new(context: Context<'a>, parameters: &'a [Value<'a>]) -> Self {
        Self {
            context,
            parameters,
            registers: Vec::new(),
            turn: None,
            lists: None,
        }
    }

    /// Returns the evaluator with `turn`, in which its programs count their work on large values.
    pub fn in_turn(self, turn: &'a Turn) -> Self {
        Self {
            turn: Some(turn),
            ..self
        }
    }

    /// Returns the evaluator with the lists of its execution: the parameters of the client are the same for all
    /// evaluators that share them.
    pub fn with_lists(self, lists: &'a Lists) -> Self {
        Self {
            lists: Some(lists),
            ..self
        }
    }

    /// Counts the work on a value, if it is large, in the turn's units, which are rows of small
    /// values.
    #[inline(always)]
    pub(super) fn weigh(&self, value: Value<'_>) {
        if value.borrows()
            && let Some(turn) = self.turn
        {
            let bytes = value.borrowed_bytes();
            if bytes >= WEIGHED_BYTES {
                turn.owe(work_of(value, bytes));
            }
        }
    }

    /// Makes room for the registers of a program.
    #[inline]
    pub(super) fn make_room(&mut self, program: &Program) {
        if self.registers.len() < program.registers as usize {
            self.registers
                .resize(program.registers as usize, Value::Null);
        }
    }

    /// Returns the evaluator with the memory of registers that another one has used.
    pub fn with_registers(self, registers: Vec<Value<'a>>) -> Self {
        Self { registers, ..self }
    }

    /// Returns the memory of the evaluator's registers.
    pub fn into_registers(self) -> Vec<Value<'a>> {
        self.registers
    }
}

impl Program {
    /// Returns whether the result is true; NULL is not.
    ///
    /// # Errors
    /// Errors of the functions.
    #[inline]
    pub fn holds<'a>(&'a self, evaluator: &mut Evaluator<'a>, row: &[Value<'a>]) -> Result<bool> {
        Ok(matches!(self.run(evaluator, row)?, Value::Bool(true)))
    }

    /// Returns the result for a row. The values that were made for it are charged to the statement.
    ///
    /// # Errors
    /// Errors of the functions; 53200 if the statement may not hold the result.
    #[inline(always)]
    pub fn run<'a>(
        &'a self,
        evaluator: &mut Evaluator<'a>,
        row: &[Value<'a>],
    ) -> Result<Value<'a>> {
        // Columns and constants are so frequent that a call would be most of the work.
        match self.code.is_empty() {
            true => Ok(self.read(self.result, evaluator, row)),
            false => self.compute(evaluator, row),
        }
    }

    fn compute<'a>(
        &'a self,
        evaluator: &mut Evaluator<'a>,
        row: &[Value<'a>],
    ) -> Result<Value<'a>> {
        match self.code[..] {
            // Most programs have one step: its result is not put into a register first. Values that
            // were made for it are charged with the next one, or with its batch.
            [
                Instruction::Call2 {
                    function,
                    left,
                    right,
                    to,
                    ..
                },
            ] if self.result == Operand::Register(to) => {
                evaluator.context.scratch.settle()?;
                let value = self.call2(function, left, right, evaluator, row)?;
                evaluator.weigh(value);
                return Ok(value);
            }
            _ => {
                self.step_through(evaluator, row)?;
                evaluator.context.scratch.settle()?;
            }
        }
        Ok(self.read(self.result, evaluator, row))
    }

    /// Runs a call of a strict function of two operands.
    #[inline(always)]
    fn call2<'a>(
        &'a self,
        function: ScalarFunction,
        left: Operand,
        right: Operand,
        evaluator: &Evaluator<'a>,
        row: &[Value<'a>],
    ) -> Result<Value<'a>> {
        let arguments = [
            self.read(left, evaluator, row),
            self.read(right, evaluator, row),
        ];
        if arguments.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        arguments.iter().for_each(|value| evaluator.weigh(*value));
        function(&evaluator.context, &arguments)
    }

    #[inline(always)]
    pub(super) fn read<'a>(
        &'a self,
        operand: Operand,
        evaluator: &Evaluator<'a>,
        row: &[Value<'a>],
    ) -> Value<'a> {
        match operand {
            Operand::Register(at) => evaluator.registers[at as usize],
            Operand::Column(at) => row[at as usize],
            Operand::Parameter(at) => evaluator.parameters[at as usize],
            Operand::Constant(at) => self.constants[at as usize].value(),
        }
    }

    fn step_through<'a>(&'a self, evaluator: &mut Evaluator<'a>, row: &[Value<'a>]) -> Result<()> {
        evaluator.make_room(self);
        let mut at = 0;
        while let Some(&instruction) = self.code.get(at) {
            at += 1;
            let (to, value) = match instruction {
                Instruction::Jump(target) => {
                    at = target as usize;
                    continue;
                }
                Instruction::JumpUnlessTrue { condition, target } => {
                    if !matches!(self.read(condition, evaluator, row), Value::Bool(true)) {
                        at = target as usize;
                    }
                    continue;
                }
                Instruction::JumpUnlessNull { operand, target } => {
                    if !self.read(operand, evaluator, row).is_null() {
                        at = target as usize;
                    }
                    continue;
                }
                Instruction::AndThen { part, to, target } => {
                    match self.read(part, evaluator, row) {
                        Value::Bool(true) => continue,
                        Value::Bool(false) => {
                            at = target as usize;
                            (to, Value::Bool(false))
                        }
                        _ => (to, Value::Null),
                    }
                }
                Instruction::OrElse { part, to, target } => match self.read(part, evaluator, row) {
                    Value::Bool(false) => continue,
                    Value::Bool(true) => {
                        at = target as usize;
                        (to, Value::Bool(true))
                    }
                    _ => (to, Value::Null),
                },
                other => (other.to(), self.step(other, evaluator, row)?),
            };
            self.store(to, value, evaluator)?;
        }
        Ok(())
    }

    /// Puts the result of an instruction into its register.
    #[inline(always)]
    pub(super) fn store<'a>(
        &'a self,
        to: u32,
        value: Value<'a>,
        evaluator: &mut Evaluator<'a>,
    ) -> Result<()> {
        // A program may make many values that are larger than their operands: each is charged
        // before the next is made.
        if value.borrows() {
            evaluator.context.scratch.settle()?;
            evaluator.weigh(value);
        }
        evaluator.registers[to as usize] = value;
        Ok(())
    }

    /// Returns the result of an instruction that is no jump.
    #[inline(always)]
    pub(super) fn step<'a>(
        &'a self,
        instruction: Instruction,
        evaluator: &mut Evaluator<'a>,
        row: &[Value<'a>],
    ) -> Result<Value<'a>> {
        Ok(match instruction {
            Instruction::Load { from, .. } => self.read(from, evaluator, row),
            Instruction::Call {
                function,
                strict,
                first,
                count,
                types,
                ..
            } => {
                let range = first as usize..first as usize + count as usize;
                let arguments = &evaluator.registers[range];
                if count > 2 {
                    room_for(evaluator, arguments)?;
                }
                if strict && arguments.iter().any(Value::is_null) {
                    Value::Null
                } else {
                    let mut context = evaluator.context;
                    if let Some(types) = types {
                        context.argument_types = &self.types[types as usize];
                    }
                    arguments.iter().for_each(|value| evaluator.weigh(*value));
                    function(&context, arguments)?
                }
            }
            Instruction::Call2 {
                function,
                left,
                right,
                ..
            } => self.call2(function, left, right, evaluator, row)?,
            Instruction::Convert { operand, cast, .. } => {
                let value = self.read(operand, evaluator, row);
                evaluator.weigh(value);
                cast.apply(&evaluator.context, value)?
            }
            Instruction::Fit {
                operand,
                ty,
                modifier,
                coercion,
                ..
            } => {
                let value = self.read(operand, evaluator, row);
                modifier.apply(value, ty, coercion, evaluator.context.scratch)?
            }
            Instruction::CompareIntegers {
                comparison,
                left,
                right,
                ..
            } => {
                let sides = (
                    integer(self.read(left, evaluator, row)),
                    integer(self.read(right, evaluator, row)),
                );
                match sides {
                    (Some(left), Some(right)) => Value::Bool(agrees(comparison, left.cmp(&right))),
                    _ => Value::Null,
                }
            }
            Instruction::CompareTexts {
                comparison,
                left,
                right,
                ..
            } => {
                match (
                    self.read(left, evaluator, row),
                    self.read(right, evaluator, row),
                ) {
                    (Value::Text(left), Value::Text(right)) => {
                        Value::Bool(agrees(comparison, left.as_bytes().cmp(right.as_bytes())))
                    }
                    _ => Value::Null,
                }
            }
            Instruction::Not { operand, .. } => match self.read(operand, evaluator, row) {
                Value::Bool(value) => Value::Bool(!value),
                _ => Value::Null,
            },
            Instruction::IsNull {
                operand, negated, ..
            } => Value::Bool(is_null(self.read(operand, evaluator, row), negated)),
            Instruction::Is {
                operand,
                value,
                negated,
                ..
            } => {
                let is = matches!(self.read(operand, evaluator, row), Value::Bool(found) if found == value);
                Value::Bool(is != negated)
            }
            Instruction::Distinct {
                function,
                left,
                right,
                negated,
                ..
            } => {
                let (left, right) = (
                    self.read(left, evaluator, row),
                    self.read(right, evaluator, row),
                );
                let distinct = match (left.is_null(), right.is_null()) {
                    (true, true) => false,
                    (false, false) => !matches!(
                        function(&evaluator.context, &[left, right])?,
                        Value::Bool(true)
                    ),
                    _ => true,
                };
                Value::Bool(distinct != negated)
            }
            Instruction::Extreme {
                greatest,
                operand,
                to,
            } => {
                let best = evaluator.registers[to as usize];
                let value = self.read(operand, evaluator, row);
                let better = match (best.is_null(), value.is_null()) {
                    (_, true) => false,
                    (true, false) => true,
                    (false, false) => {
                        let order = types::compare::compare(value, best);
                        order
                            == if greatest {
                                Ordering::Greater
                            } else {
                                Ordering::Less
                            }
                    }
                };
                if better { value } else { best }
            }
            Instruction::Quantified {
                function,
                left,
                array,
                all,
                ..
            } => {
                let (left, array) = (
                    self.read(left, evaluator, row),
                    self.read(array, evaluator, row),
                );
                evaluator.weigh(array);
                quantified(evaluator, function, left, array, all)?
            }
            Instruction::Listed {
                function,
                left,
                list,
                all,
                ..
            } => {
                let left = self.read(left, evaluator, row);
                let list = &self.lists[list as usize];
                list.answer(function, left, all, evaluator, row)?
            }
            Instruction::Array {
                element,
                first,
                count,
                ..
            } => {
                let range = first as usize..first as usize + count as usize;
                let items = &evaluator.registers[range];
                Value::Array(types::Array::of(element, items, evaluator.context.scratch)?)
            }
            Instruction::Row {
                row, first, count, ..
            } => {
                let range = first as usize..first as usize + count as usize;
                let fields = self.rows[row as usize].iter().map(|field| Field {
                    name: &field.name,
                    ty: field.ty,
                });
                room_for(evaluator, &evaluator.registers[range.clone()])?;
                let scratch = evaluator.context.scratch;
                let record = Record {
                    fields: scratch.alloc_slice_fill_iter(fields),
                    values: scratch.alloc_slice_copy(&evaluator.registers[range]),
                };
                Value::Record(scratch.alloc(record))
            }
            Instruction::Field {
                record, position, ..
            } => {
                let record = self.read(record, evaluator, row);
                let value = match record {
                    Value::Record(record) => record.values.get(position as usize).copied(),
                    _ => None,
                };
                value.unwrap_or(Value::Null)
            }
            Instruction::Element {
                array,
                first,
                count,
                ..
            } => {
                let array = self.read(array, evaluator, row);
                let range = first as usize..first as usize + count as usize;
                element(array, &evaluator.registers[range])?
            }
            Instruction::Slice {
                array,
                first,
                count,
                absent,
                ..
            } => {
                let array = self.read(array, evaluator, row);
                let range = first as usize..first as usize + count as usize;
                slice(evaluator, array, range, absent)?
            }
            Instruction::Jump(_)
            | Instruction::JumpUnlessTrue { .. }
            | Instruction::JumpUnlessNull { .. }
            | Instruction::AndThen { .. }
            | Instruction::OrElse { .. } => Value::Null,
        })
    }
}

#[inline]
fn integer(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Int4(value) => Some(value.into()),
        Value::Int8(value) => Some(value),
        Value::Int2(value) => Some(value.into()),
        _ => None,
    }
}

/// Returns whether an order of two values is the one that a comparison asks for.
#[inline]
pub fn agrees(comparison: Comparison, order: Ordering) -> bool {
    match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }
}

/// Bytes of several values below which they are put into one value without asking for its memory.
const ASKED_BYTES: usize = 64 << 10;

/// Bytes of a value below which the work on it is not counted in a turn.
const WEIGHED_BYTES: usize = 1024;

/// Returns the units of a turn that reading or making a value of `bytes` bytes takes, roughly: most
/// work is proportional to them, work on numerics to their square.
fn work_of(value: Value<'_>, bytes: usize) -> usize {
    match value {
        Value::Numeric(_) => (bytes / 64).saturating_mul(bytes / 64),
        _ => bytes / 64,
    }
}

/// Asks for the memory of a value that contains all of these: a large one may be among them many
/// times, and a call's result may therefore be far larger than the values that it is made from.
fn room_for(evaluator: &Evaluator<'_>, values: &[Value<'_>]) -> Result<()> {
    let bytes = values.iter().map(Value::borrowed_bytes).sum();
    match bytes < ASKED_BYTES {
        true => Ok(()),
        false => evaluator.context.scratch.ask(bytes),
    }
}

/// Returns whether a value is NULL, or is not. A row is NULL if all of its values are, and not NULL
/// if none is.
fn is_null(value: Value<'_>, negated: bool) -> bool {
    match value {
        Value::Record(record) => record.values.iter().all(|item| item.is_null() != negated),
        value => value.is_null() != negated,
    }
}

fn element<'a>(array: Value<'a>, indexes: &[Value<'a>]) -> Result<Value<'a>> {
    let Value::Array(array) = array else {
        return Ok(Value::Null);
    };
    let mut subscripts = [0_i32; DIMENSIONS_MAX];
    if indexes.len() > subscripts.len() {
        return Err(too_many_dimensions(indexes.len()));
    }
    for (subscript, index) in subscripts.iter_mut().zip(indexes) {
        match index {
            Value::Int4(index) => *subscript = *index,
            _ => return Ok(Value::Null),
        }
    }
    Ok(array
        .at(&subscripts[..indexes.len()])?
        .unwrap_or(Value::Null))
}

fn slice<'a>(
    evaluator: &Evaluator<'a>,
    array: Value<'a>,
    bounds: std::ops::Range<usize>,
    absent: u32,
) -> Result<Value<'a>> {
    let Value::Array(array) = array else {
        return Ok(Value::Null);
    };
    let mut pairs = Vec::with_capacity(bounds.len() / 2);
    for (at, pair) in evaluator.registers[bounds].chunks_exact(2).enumerate() {
        let bound = |value: Value<'_>, bit: usize| match value {
            Value::Int4(value) => Some(Some(value)),
            _ if absent >> bit & 1 == 1 => Some(None),
            _ => None,
        };
        match (bound(pair[0], 2 * at), bound(pair[1], 2 * at + 1)) {
            (Some(lower), Some(upper)) => pairs.push((lower, upper)),
            // A bound that is NULL makes the slice NULL.
            _ => return Ok(Value::Null),
        }
    }
    Ok(Value::Array(
        array.slice(&pairs, evaluator.context.scratch)?,
    ))
}
