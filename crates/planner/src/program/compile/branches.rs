//! Expressions whose parts are computed for some rows alone: conjunctions, disjunctions, CASE, COALESCE.
//!
//! All jumps go forward. A register that several paths write is noted for programs that run over columns
//! (`columnar.rs`).

use types::{Result, Value};

use super::{super::Instruction, Compiler, Label, Operand};
use batch::OwnedValue;
use logical::expression::Expression;

impl Compiler<'_> {
    /// Notes that several paths from here on write a register.
    pub(super) fn merge(&mut self, to: u32) {
        self.merged.push((self.here(), to));
    }

    /// Makes the jumps that were emitted at `jumps` end here.
    fn land(&mut self, jumps: &[usize]) {
        let here = self.here();
        for &at in jumps {
            match &mut self.code[at] {
                Instruction::Jump(target)
                | Instruction::JumpUnlessTrue { target, .. }
                | Instruction::JumpUnlessNull { target, .. }
                | Instruction::AndThen { target, .. }
                | Instruction::OrElse { target, .. } => *target = here,
                other => unreachable!("{other:?} is no jump"),
            }
        }
    }

    pub(super) fn connected(&mut self, parts: &[Expression], all: bool, to: u32) -> Result<()> {
        let neutral = self.constant(OwnedValue::new(Value::Bool(all)))?;
        self.merge(to);
        // The parts may use the register's neighbours, never itself.
        self.emit(Instruction::Load { from: neutral, to });
        let mut jumps = Vec::with_capacity(parts.len());
        let registers = self.registers;
        for part in parts {
            let part = self.operand(part)?;
            self.registers = registers;
            let target = Label::MAX;
            jumps.push(self.emit(if all {
                Instruction::AndThen { part, to, target }
            } else {
                Instruction::OrElse { part, to, target }
            }));
        }
        self.land(&jumps);
        Ok(())
    }

    pub(super) fn case(
        &mut self,
        branches: &[(Expression, Expression)],
        otherwise: &Expression,
        to: u32,
    ) -> Result<()> {
        let mut ends = Vec::with_capacity(branches.len());
        self.merge(to);
        let registers = self.registers;
        for (condition, result) in branches {
            let condition = self.operand(condition)?;
            self.registers = registers;
            let skip = self.emit(Instruction::JumpUnlessTrue {
                condition,
                target: Label::MAX,
            });
            self.compute_into(result, to)?;
            ends.push(self.emit(Instruction::Jump(Label::MAX)));
            self.land(&[skip]);
        }
        self.compute_into(otherwise, to)?;
        self.land(&ends);
        Ok(())
    }

    pub(super) fn coalesce(&mut self, items: &[Expression], to: u32) -> Result<()> {
        let mut ends = Vec::with_capacity(items.len());
        self.merge(to);
        for item in items {
            self.compute_into(item, to)?;
            ends.push(self.emit(Instruction::JumpUnlessNull {
                operand: Operand::Register(to),
                target: Label::MAX,
            }));
        }
        self.land(&ends);
        Ok(())
    }
}
