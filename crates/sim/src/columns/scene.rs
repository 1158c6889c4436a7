//! State shared by the threads of a run, and the threads that change the
//! column.

use std::sync::{Mutex, MutexGuard, PoisonError};

use column::{Column, ColumnError, Progress};

use super::{
    ColumnParameters, ColumnReport, PlantedInColumn,
    kinds::Kind,
    model::{Model, borrowed},
    turns::Turns,
};
use crate::dice::Dice;

/// A column, its model, and the choice of its values.
pub(super) struct Scene<V: Kind> {
    pub(super) column: Column<V>,
    model: Mutex<Model<V>>,
    pub(super) turns: Turns,
    pub(super) parameters: ColumnParameters,
    /// Bound of the numbers of stored values; some sought values have greater
    /// ones.
    spread: usize,
    /// Chance of NULL, per mille.
    nulls: u32,
}

/// More rows than an append looks up at a time.
const LARGE_BATCH: usize = 1100;

impl<V: Kind> Scene<V> {
    pub(super) fn new(
        parameters: ColumnParameters,
        turns: Turns,
        dice: &mut Dice,
    ) -> Result<Scene<V>, ColumnError> {
        Ok(Scene {
            column: Column::new()?,
            model: Mutex::new(Model::new()),
            turns,
            parameters,
            spread: [1, 4, 25, 300, 100_000][dice.below(5)],
            nulls: [0, 100, 900][dice.below(3)],
        })
    }

    /// Locks the model. The guard must not be held at a point.
    pub(super) fn model(&self) -> MutexGuard<'_, Model<V>> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws values of rows, or values to look for, which may be absent.
    pub(super) fn values(&self, count: usize, are_sought: bool, dice: &mut Dice) -> Vec<Option<V>> {
        let spread = match are_sought {
            true => self.spread + self.spread / 4 + 2,
            false => self.spread,
        };
        (0..count)
            .map(|_| (!dice.chance(self.nulls)).then(|| V::numbered(dice.below(spread))))
            .collect()
    }

    /// Returns whether `bug` is planted, and strikes now.
    pub(super) fn is_planted(&self, bug: PlantedInColumn, dice: &mut Dice) -> bool {
        self.parameters.planted == Some(bug) && dice.chance(200)
    }

    /// Appends rows, singly and in batches.
    pub(super) fn append(&self, me: usize, dice: &mut Dice) -> Result<ColumnReport, String> {
        let mut report = ColumnReport::default();
        for _ in 0..dice.between(1, self.parameters.operations_max) {
            let count = match dice.weighted(&[30, 60, 2, 8]) {
                0 => 1,
                1 => dice.between(1, self.parameters.batch_max),
                2 => LARGE_BATCH,
                _ => 0,
            };
            let values = self.values(count, false, dice);
            let is_lost = self.is_planted(PlantedInColumn::LoseAppend, dice);
            let appended = match borrowed(&values)[..] {
                _ if is_lost => Ok(()),
                [value] if dice.chance(800) => self.column.append(value),
                ref values => self.column.append_all(values),
            };
            appended.map_err(|error| format!("an append failed: {error}"))?;
            self.model().append(values);
            report.appends += 1;
            report.rows += count as u64;
            self.turns.pass(me, false);
        }
        Ok(report)
    }

    /// Merges, in steps; some merges are dropped on the way.
    pub(super) fn merge(&self, me: usize, dice: &mut Dice) -> Result<ColumnReport, String> {
        let mut report = ColumnReport::default();
        for _ in 0..dice.between(1, self.parameters.operations_max) {
            self.turns.pass(me, false);
            let begun = self.column.begin_merge();
            let begun = begun.map_err(|error| format!("a merge did not begin: {error}"))?;
            self.model().begin_merge(begun.is_some())?;
            let Some(mut merge) = begun else {
                report.refused += 1;
                continue;
            };
            let budget = [1, 20, 200, 100_000][dice.below(4)];
            let dropped_per_mille = [0, 0, 100][dice.below(3)];
            let mut steps_left = self.model().merge_steps_max();
            loop {
                if dice.chance(dropped_per_mille) {
                    drop(merge);
                    self.model().abandon_merge();
                    report.abandoned += 1;
                    break;
                }
                report.steps += 1;
                let step = merge.step(dice.between(0, budget));
                if step.map_err(|error| format!("a step failed: {error}"))? == Progress::Finished {
                    if !self.is_planted(PlantedInColumn::HiddenMerge, dice) {
                        self.model().finish_merge();
                    }
                    report.merges += 1;
                    break;
                }
                steps_left -= 1;
                if steps_left == 0 {
                    return Err(format!("a merge does not end: {merge:?}"));
                }
                self.turns.pass(me, false);
            }
        }
        Ok(report)
    }
}
