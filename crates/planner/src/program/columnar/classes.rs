//! Instructions over a column of few values: carried out once for each class of positions that have the same value.

use batch::{BATCH_BYTES, Data, Vector};
use types::Value;

use super::{Active, Computed, Instruction, Operand, Run, Values};

/// Number that stands for no position.
const NONE: u32 = u32::MAX;

impl<'a> Run<'_, 'a> {
    /// Carries out an instruction whose operands are one column with classes and constants, once for each class among
    /// the active rows. `None` if the operands are others, if there are too few rows for their classes, or if the
    /// column is one that loops go through as fast. `Some(None)` if the instruction fails for a row, or its values take
    /// many bytes.
    pub(super) async fn by_classes(
        &mut self,
        instruction: Instruction,
    ) -> Option<Option<Computed<'a>>> {
        let mut operands = Vec::new();
        instruction.operands(&mut |operand| operands.push(operand));
        let column = self.only_column(&operands)?;
        let len = self.columns.len();
        let (firsts, classes) = {
            let Values::Vector(vector) = self.read(column) else {
                return None;
            };
            let (classes, count) = vector.classes()?;
            let active = match &self.active {
                Active::All => len,
                Active::These(positions) => positions.len(),
            };
            let has_loops = matches!(vector.data(), Data::Integers(..) | Data::Decimals(..));
            if has_loops || active < 2 * count {
                return None;
            }
            let mut firsts = vec![NONE; count];
            self.active.each_of(len, |at| {
                let first = &mut firsts[usize::from(classes[at])];
                *first = (*first).min(at as u32);
            });
            (firsts, classes.to_vec())
        };
        self.evaluator.make_room(self.program);
        let mut row = vec![Value::Null; self.columns.width()];
        let mut values = Vec::with_capacity(firsts.len());
        let bytes_max = self.evaluator.context.scratch.allocated_bytes() + BATCH_BYTES;
        for first in &firsts {
            if *first == NONE {
                values.push(Value::Null);
                continue;
            }
            let value = self.compute(instruction, &operands, *first as usize, &mut row);
            let is_large = self.evaluator.context.scratch.allocated_bytes() > bytes_max;
            match value {
                Some(value) if !is_large => values.push(value),
                _ => return Some(None),
            }
            if let Some(turn) = self.evaluator.turn {
                turn.pause(1).await;
            }
        }
        let mut vector = of_classes(&values, &firsts, &classes);
        vector.classify(classes.into_iter(), firsts.len());
        Some(Some(Computed::Made(vector)))
    }

    /// Returns the only operand that is a column, which may be there several times.
    fn only_column(&self, operands: &[Operand]) -> Option<Operand> {
        let is_column = |operand: &&Operand| matches!(self.read(**operand), Values::Vector(_));
        let mut columns = operands.iter().filter(is_column);
        let column = *columns.next()?;
        columns.all(|other| *other == column).then_some(column)
    }
}

/// Returns the values of positions by their classes. A class without a first position has no value.
fn of_classes<'a>(values: &[Value<'a>], firsts: &[u32], classes: &[u16]) -> Vector<'a> {
    let as_bool = |(value, first): (&Value<'a>, &u32)| match (value, *first) {
        (Value::Bool(value), _) => Some(*value),
        (_, NONE) => Some(false),
        _ => None,
    };
    let bools: Option<Vec<bool>> = values.iter().zip(firsts).map(as_bool).collect();
    let mut vector = Vector::default();
    let classes = classes.iter().map(|class| usize::from(*class));
    match bools {
        Some(bools) => vector.fill_bools(|list| list.extend(classes.map(|class| bools[class]))),
        None => classes.for_each(|class| vector.push(values[class])),
    }
    vector
}
