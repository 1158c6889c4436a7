//! Running programs for a batch of rows by columns.
//!
//! The code is that of a row (`run.rs`). Each instruction is carried out for all rows that have got to it, before the
//! next one: the *active* rows. A jump sets rows aside, which wait where it ends and are active again from there on.
//! All jumps go forward, and each row therefore takes the path that it would take by itself: branches of CASE, and
//! parts of a conjunction that another part has decided, are computed for the rows that need them alone.
//!
//! Registers hold columns. A register that several paths write ([`Program::merged`]) keeps the values of rows that have
//! gone another way; all others are written as a whole, and what they say of rows that are not active means nothing.
//!
//! # Errors and bounds
//! No error comes from here. Where one would, there is no result, and the caller runs the program for one row after
//! the other, from which errors come in the rows' order. Programs whose functions have effects, or another result
//! each time, are left to the caller from the beginning: no function is called twice for a row.
//!
//! Others have their turn between instructions, and between the rows of one that has no loop. Values that are made for
//! the batch take [`BATCH_BYTES`] at most, or are left to the caller; so is a program with more than [`REGISTERS_MAX`]
//! registers, each of which may hold a column of values. A row waits in one place at most.

mod classes;

use batch::{BATCH_BYTES, Data, Vector, View};
use types::Value;

use super::{Evaluator, Instruction, Kernel, Label, Operand, Program};

/// The values that a program has for the rows of a batch.
#[derive(Debug)]
pub enum Computed<'a> {
    /// Column of the batch.
    Column(&'a Vector<'a>),
    /// Computed values: at positions that do not count, they mean nothing.
    Made(Vector<'a>),
    /// One value for all rows.
    Constant(Value<'a>),
}

impl<'a> Computed<'a> {
    /// Returns the values to be read.
    #[inline(always)]
    pub fn values(&self) -> Values<'_, 'a> {
        match self {
            Self::Column(vector) => Values::Vector(vector),
            Self::Made(vector) => Values::Vector(vector),
            Self::Constant(value) => Values::Constant(*value),
        }
    }
}

/// Values of an expression for the rows of a batch, to be read.
#[derive(Debug, Clone, Copy)]
pub enum Values<'v, 'a> {
    /// Values side by side.
    Vector(&'v Vector<'a>),
    /// One value for all rows.
    Constant(Value<'a>),
}

impl<'a> Values<'_, 'a> {
    /// Returns the value at a position.
    #[inline(always)]
    pub fn at(&self, at: usize) -> Value<'a> {
        match self {
            Self::Vector(vector) => vector.value(at),
            Self::Constant(value) => *value,
        }
    }
}

/// The rows that an instruction is carried out for.
#[derive(Debug, Clone)]
pub(super) enum Active {
    /// All positions of the batch.
    All,
    /// These, in ascending order.
    These(Vec<u32>),
}

impl Active {
    /// Calls `visit` with each active position of those that a loop over these fills.
    #[inline(always)]
    pub(super) fn each_of(&self, len: usize, mut visit: impl FnMut(usize)) {
        match self {
            Self::All => (0..len).for_each(visit),
            Self::These(positions) => positions.iter().for_each(|at| visit(*at as usize)),
        }
    }
}

/// Most registers of a program that is run over columns: they are the bits of a word.
const REGISTERS_MAX: u32 = u64::BITS;

/// Rows for which a loop over columns counts as the work on one, as a power of two.
const LOOP_SHIFT: u32 = 4;

impl Program {
    /// Returns the values for the rows of `columns` that count; `None` if the program has to be run for one row after
    /// the other (see the module text).
    ///
    /// # Suspension
    /// Between instructions, when the turn is over. Dropping the future is harmless.
    pub async fn compute_columns<'a>(
        &'a self,
        evaluator: &mut Evaluator<'a>,
        columns: View<'a>,
    ) -> Option<Computed<'a>> {
        let is_stable = self.code.iter().all(|instruction| instruction.is_stable());
        if self.registers > REGISTERS_MAX || !is_stable {
            return None;
        }
        let merged = self.merged.iter().map(|(_, register)| 1 << register);
        let mut run = Run {
            program: self,
            merged: merged.fold(0, std::ops::BitOr::bitor),
            merged_from: 0,
            evaluator,
            columns,
            active: match columns.selection() {
                Some(positions) => Active::These(positions.to_vec()),
                None => Active::All,
            },
            registers: Vec::new(),
            waiting: Vec::new(),
        };
        run.registers
            .resize_with(self.registers as usize, || Register::Empty);
        run.step_through().await?;
        match self.result {
            Operand::Register(at) => Some(match run.registers.swap_remove(at as usize) {
                Register::Empty => Computed::Constant(Value::Null),
                Register::Written(values) => values,
            }),
            Operand::Column(at) => Some(Computed::Column(columns.vector(at as usize))),
            other => match run.read(other) {
                Values::Constant(value) => Some(Computed::Constant(value)),
                Values::Vector(_) => None,
            },
        }
    }

    /// Returns the positions of the rows of `columns` that count for which the result is true; `None` as
    /// [`Program::compute_columns`].
    ///
    /// # Suspension
    /// As [`Program::compute_columns`].
    pub async fn select_columns<'a>(
        &'a self,
        evaluator: &mut Evaluator<'a>,
        columns: View<'a>,
    ) -> Option<Vec<u32>> {
        let computed = self.compute_columns(evaluator, columns).await?;
        let values = computed.values();
        if let Values::Vector(vector) = values
            && let (Data::Bools(bools), None) = (vector.data(), vector.null_marks())
        {
            let positions = columns.positions().filter(|at| bools[*at]);
            return Some(positions.map(|at| at as u32).collect());
        }
        let is_true = |at: &usize| matches!(values.at(*at), Value::Bool(true));
        let positions = columns.positions().filter(is_true);
        Some(positions.map(|at| at as u32).collect())
    }
}

/// The values of a register.
enum Register<'a> {
    Empty,
    Written(Computed<'a>),
}

struct Run<'r, 'a> {
    program: &'a Program,
    /// Bits of the registers that several paths write.
    merged: u64,
    /// Number of the program's places from which on they do that have been passed.
    merged_from: usize,
    evaluator: &'r mut Evaluator<'a>,
    columns: View<'a>,
    active: Active,
    registers: Vec<Register<'a>>,
    /// Rows that wait, in one list for each place where they go on.
    waiting: Vec<(Label, Vec<u32>)>,
}

impl<'a> Run<'_, 'a> {
    async fn step_through(&mut self) -> Option<()> {
        let mut at: Label = 0;
        loop {
            self.wake(at);
            if let Active::These(positions) = &self.active
                && positions.is_empty()
            {
                match self.waiting.iter().map(|(label, _)| *label).min() {
                    Some(next) => at = next,
                    None => return Some(()),
                }
                continue;
            }
            self.begin_merged(at);
            let Some(&instruction) = self.program.code.get(at as usize) else {
                return Some(());
            };
            self.carry_out(instruction).await?;
            if let Some(turn) = self.evaluator.turn {
                turn.pause(self.columns.len() >> LOOP_SHIFT).await;
            }
            at += 1;
        }
    }

    /// Forgets what the registers held which several paths write from a place on, if all rows are there.
    fn begin_merged(&mut self, at: Label) {
        while let Some((from, register)) = self.program.merged.get(self.merged_from)
            && *from <= at
        {
            if *from == at && self.waiting.is_empty() {
                self.registers[*register as usize] = Register::Empty;
            }
            self.merged_from += 1;
        }
    }

    /// Lets the rows that wait at a place go on.
    fn wake(&mut self, at: Label) {
        if self.waiting.iter().all(|(label, _)| *label != at) {
            return;
        }
        let mut marks = vec![false; self.columns.len()];
        self.active
            .each_of(marks.len(), |position| marks[position] = true);
        self.waiting.retain(|(label, positions)| {
            let stays = *label != at;
            if !stays {
                for position in positions {
                    marks[*position as usize] = true;
                }
            }
            stays
        });
        self.active = match marks.contains(&false) {
            false => Active::All,
            true => {
                let marked = (0..).zip(marks).filter(|(_, mark)| *mark);
                Active::These(marked.map(|(at, _)| at).collect())
            }
        };
    }

    /// Carries out an instruction for the active rows.
    async fn carry_out(&mut self, instruction: Instruction) -> Option<()> {
        match instruction {
            Instruction::Jump(target) => {
                let parted = self.parted(|_| true);
                self.set_aside(target, parted);
            }
            Instruction::JumpUnlessTrue { condition, target } => {
                let condition = self.read(condition);
                let is_true = |at| matches!(condition.at(at), Value::Bool(true));
                let parted = self.parted(|at| !is_true(at));
                self.set_aside(target, parted);
            }
            Instruction::JumpUnlessNull { operand, target } => {
                let operand = self.read(operand);
                let parted = self.parted(|at| !operand.at(at).is_null());
                self.set_aside(target, parted);
            }
            Instruction::AndThen { part, to, target } => self.connect(part, to, target, false),
            Instruction::OrElse { part, to, target } => self.connect(part, to, target, true),
            Instruction::Load { from, to } => {
                let values = match self.read(from) {
                    Values::Vector(vector) => Computed::Made(vector.clone()),
                    Values::Constant(value) => Computed::Constant(value),
                };
                self.write(to, values);
            }
            other => {
                let values = match self.by_classes(other).await {
                    Some(values) => values?,
                    None => match self.by_kernel(other) {
                        Some(vector) => Computed::Made(vector),
                        None => self.row_by_row(other).await?,
                    },
                };
                self.write(other.to(), values);
            }
        }
        Some(())
    }

    /// Returns the values of an operand.
    fn read(&self, operand: Operand) -> Values<'_, 'a> {
        match operand {
            Operand::Column(at) => Values::Vector(self.columns.vector(at as usize)),
            Operand::Parameter(at) => Values::Constant(self.evaluator.parameters[at as usize]),
            Operand::Constant(at) => Values::Constant(self.program.constants[at as usize].value()),
            Operand::Register(at) => match &self.registers[at as usize] {
                Register::Empty => {
                    debug_assert!(false, "a register that is read was written");
                    Values::Constant(Value::Null)
                }
                Register::Written(computed) => computed.values(),
            },
        }
    }

    /// Returns the active rows for which `is` holds, which is asked of each in order.
    #[inline(always)]
    fn active_where(&self, mut is: impl FnMut(usize) -> bool) -> Vec<u32> {
        let mut found = Vec::new();
        self.active.each_of(self.columns.len(), |at| {
            if is(at) {
                found.push(at as u32);
            }
        });
        found
    }

    /// Returns the active rows for which `is` holds, and the others, both in order. The loop has no branches, which
    /// processors could not foresee.
    #[inline(always)]
    fn parted(&self, is: impl Fn(usize) -> bool) -> (Vec<u32>, Vec<u32>) {
        let most = match &self.active {
            Active::All => self.columns.len(),
            Active::These(positions) => positions.len(),
        };
        let (mut with, mut without) = (vec![0; most], vec![0; most]);
        let (mut found, mut others) = (0, 0);
        self.active.each_of(self.columns.len(), |at| {
            let is = is(at);
            with[found] = at as u32;
            without[others] = at as u32;
            found += usize::from(is);
            others += usize::from(!is);
        });
        with.truncate(found);
        without.truncate(others);
        (with, without)
    }

    /// Lets some of the active rows wait at `target`, and the others be active.
    fn set_aside(&mut self, target: Label, (leaving, staying): (Vec<u32>, Vec<u32>)) {
        if leaving.is_empty() {
            return;
        }
        self.active = Active::These(staying);
        match self.waiting.iter_mut().find(|(label, _)| *label == target) {
            Some((_, waiting)) => waiting.extend(leaving),
            None => self.waiting.push((target, leaving)),
        }
    }

    /// Carries out a part of a conjunction, which is `decided` by false, or of a disjunction, decided by true: NULL is
    /// remembered.
    fn connect(&mut self, part: Operand, to: u32, target: Label, decided: bool) {
        let part = self.read(part);
        let bools = match part {
            Values::Vector(vector) if vector.null_marks().is_none() => match vector.data() {
                Data::Bools(bools) => Some(bools),
                _ => None,
            },
            _ => None,
        };
        let (parted, unknown) = match bools {
            Some(bools) => (self.parted(|at| bools[at] == decided), Vec::new()),
            None => {
                let is_decided = |at| matches!(part.at(at), Value::Bool(is) if is == decided);
                let unknown = self.active_where(|at| part.at(at).is_null());
                (self.parted(is_decided), unknown)
            }
        };
        self.write_at(to, &unknown, Values::Constant(Value::Null));
        self.write_at(to, &parted.0, Values::Constant(Value::Bool(decided)));
        self.set_aside(target, parted);
    }

    /// Puts values into a register for the active rows.
    fn write(&mut self, to: u32, values: Computed<'a>) {
        let is_merged = self.merged >> to & 1 == 1;
        let register = &self.registers[to as usize];
        if !is_merged || self.waiting.is_empty() || matches!(register, Register::Empty) {
            self.registers[to as usize] = Register::Written(values);
            return;
        }
        let positions = self.active_where(|_| true);
        self.write_at(to, &positions, values.values());
    }

    /// Puts values into a register for some rows; others keep theirs.
    fn write_at(&mut self, to: u32, positions: &[u32], values: Values<'_, 'a>) {
        if positions.is_empty() {
            return;
        }
        let len = self.columns.len();
        let register = &mut self.registers[to as usize];
        let mut vector = match std::mem::replace(register, Register::Empty) {
            Register::Written(Computed::Made(vector)) => vector,
            Register::Written(Computed::Column(vector)) => vector.clone(),
            Register::Written(Computed::Constant(value)) => {
                let mut vector = Vector::default();
                (0..len).for_each(|_| vector.push(value));
                vector
            }
            Register::Empty => Vector::nulls(len),
        };
        match values {
            Values::Constant(value) => vector.set_all(positions, value),
            Values::Vector(values) => {
                for at in positions {
                    vector.set(*at as usize, values.value(*at as usize));
                }
            }
        }
        *register = Register::Written(Computed::Made(vector));
    }

    /// Carries out an instruction by a loop over columns, if there is one.
    fn by_kernel(&self, instruction: Instruction) -> Option<Vector<'a>> {
        let (kernel, left, right) = match instruction {
            Instruction::Call2 {
                kernel: Some(kernel),
                left,
                right,
                ..
            } => (kernel, left, right),
            Instruction::CompareIntegers {
                comparison,
                left,
                right,
                ..
            }
            | Instruction::CompareTexts {
                comparison,
                left,
                right,
                ..
            } => (Kernel::Compare(comparison), left, right),
            _ => return None,
        };
        let (left, right) = (self.read(left), self.read(right));
        kernel.run(left, right, &self.active, self.columns.len())
    }

    /// Carries out an instruction for one active row after the other, or once if its operands are the same for all.
    async fn row_by_row(&mut self, instruction: Instruction) -> Option<Computed<'a>> {
        let len = self.columns.len();
        let mut operands = Vec::new();
        instruction.operands(&mut |operand| operands.push(operand));
        self.evaluator.make_room(self.program);
        let mut row = vec![Value::Null; self.columns.width()];
        let is_constant = |operand: &Operand| matches!(self.read(*operand), Values::Constant(_));
        if operands.iter().all(is_constant) {
            let value = self.compute(instruction, &operands, 0, &mut row)?;
            return Some(Computed::Constant(value));
        }
        let mut vector = Vector::default();
        let positions = match &self.active {
            Active::All => (0..len as u32).collect(),
            Active::These(positions) => {
                vector = Vector::nulls(len);
                positions.clone()
            }
        };
        let bytes_max = self.evaluator.context.scratch.allocated_bytes() + BATCH_BYTES;
        for at in positions {
            let at = at as usize;
            let value = self.compute(instruction, &operands, at, &mut row)?;
            match &self.active {
                Active::All => vector.push(value),
                Active::These(_) => vector.set(at, value),
            }
            if self.evaluator.context.scratch.allocated_bytes() > bytes_max {
                return None;
            }
            if let Some(turn) = self.evaluator.turn {
                turn.pause(1).await;
            }
        }
        Some(Computed::Made(vector))
    }

    /// Returns the result of an instruction for one row; `None` if it fails.
    #[inline(always)]
    fn compute(
        &mut self,
        instruction: Instruction,
        operands: &[Operand],
        at: usize,
        row: &mut [Value<'a>],
    ) -> Option<Value<'a>> {
        for operand in operands {
            match *operand {
                Operand::Register(from) => {
                    self.evaluator.registers[from as usize] = self.read(*operand).at(at);
                }
                Operand::Column(from) => row[from as usize] = self.read(*operand).at(at),
                Operand::Parameter(_) | Operand::Constant(_) => {}
            }
        }
        let value = self.program.step(instruction, self.evaluator, row).ok()?;
        let stored = self.program.store(instruction.to(), value, self.evaluator);
        stored.ok().map(|()| value)
    }
}
