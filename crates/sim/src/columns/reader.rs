//! Threads that keep snapshots, and query them again after merges.

use column::{InPredicate, Snapshot};
use interleave::Execution;

use super::{
    ColumnReport, PlantedInColumn,
    kinds::Kind,
    model::{Moment, borrowed, key},
    scene::Scene,
};
use crate::dice::Dice;

/// A snapshot, and when it was taken.
struct Kept<V: Kind> {
    snapshot: Snapshot<V>,
    taken: Moment,
}

impl<V: Kind> Scene<V> {
    /// Takes snapshots and queries them.
    pub(super) fn read(&self, me: usize, dice: &mut Dice) -> Result<ColumnReport, String> {
        let mut report = ColumnReport::default();
        let mut kept: Vec<Kept<V>> = Vec::new();
        let mut predicate = draw_predicate(dice);
        for _ in 0..dice.between(1, self.parameters.operations_max) {
            self.turns.pass(me, false);
            match dice.weighted(&[30, 4, 3, 60]) {
                _ if kept.is_empty() => kept.push(self.snapshot(dice, None, &mut report)?),
                0 if kept.len() < self.parameters.kept_max => {
                    kept.push(self.snapshot(dice, kept.last(), &mut report)?);
                }
                0 | 1 => drop(kept.swap_remove(dice.below(kept.len()))),
                2 => {
                    // Formatting looks at all parts, under its latches.
                    let text = format!("{:?}", self.column);
                    if !text.contains("active_rows") {
                        return Err(format!("a column says of itself: {text}"));
                    }
                }
                _ => {
                    let Kept { snapshot, taken } = &kept[dice.below(kept.len())];
                    if dice.chance(300) {
                        predicate = draw_predicate(dice);
                    }
                    self.ask(snapshot, &mut predicate, dice, &mut report)?;
                    let merges = self.model().merges_since(*taken);
                    report.outlived += u64::from(merges > 0);
                }
            }
        }
        Ok(report)
    }

    fn snapshot(
        &self,
        dice: &mut Dice,
        last: Option<&Kept<V>>,
        report: &mut ColumnReport,
    ) -> Result<Kept<V>, String> {
        let before = self.model().moment();
        let snapshot = match last {
            Some(last) if self.is_planted(PlantedInColumn::OldSnapshot, dice) => {
                last.snapshot.clone()
            }
            _ => self.column.snapshot(),
        };
        let model = self.model();
        model.is_snapshot(before, &snapshot)?;
        report.snapshots += 1;
        Ok(Kept {
            taken: model.moment(),
            snapshot,
        })
    }

    /// Compares a snapshot's answers with the model's.
    pub(super) fn ask(
        &self,
        snapshot: &Snapshot<V>,
        predicate: &mut InPredicate,
        dice: &mut Dice,
        report: &mut ColumnReport,
    ) -> Result<(), String> {
        report.questions += 1;
        match dice.weighted(&[3, 1, 1, 6]) {
            0 => {
                for _ in 0..dice.between(1, 20) {
                    if !snapshot.is_empty() {
                        self.ask_row(snapshot, dice.below(snapshot.rows() as usize) as u64)?;
                    }
                }
            }
            1 => {
                for row in 0..snapshot.rows() {
                    self.ask_row(snapshot, row)?;
                }
            }
            2 => {
                let mut rows = Vec::new();
                let answered = snapshot.null_rows(&mut rows);
                answered.map_err(|error| format!("NULLs were not found: {error}"))?;
                let expected = self.model().rows_where(snapshot.rows(), Option::is_none);
                compare("NULL", &rows, &expected)?;
            }
            _ => {
                let count = [0, 1, dice.between(1, 40), dice.between(200, 400)][dice.below(4)];
                let list = self.values(count, true, dice);
                let mut rows = Vec::new();
                let answered = predicate.rows_in(snapshot, &borrowed(&list), &mut rows);
                answered.map_err(|error| format!("a list was not looked up: {error}"))?;
                let expected = self.model().rows_in(snapshot.rows(), &list);
                report.found += rows.len() as u64;
                compare("in a list", &rows, &expected)?;
            }
        }
        Ok(())
    }

    fn ask_row(&self, snapshot: &Snapshot<V>, row: u64) -> Result<(), String> {
        let value = snapshot.value(row);
        let model = self.model();
        let expected = &model.rows[row as usize];
        match value.as_ref().map(key) == expected.as_ref().map(key) {
            true => Ok(()),
            false => Err(format!("row {row} is {value:?} in place of {expected:?}")),
        }
    }
}

/// Draws a predicate with a fixed way of lookup, or one that chooses.
fn draw_predicate(dice: &mut Dice) -> InPredicate {
    match dice.below(3) {
        0 => InPredicate::auto(),
        _ => {
            let in_flight = [0, 1, 7, 16, 64][dice.below(5)];
            InPredicate::fixed(Execution::in_flight(in_flight), dice.chance(500))
        }
    }
}

fn compare(what: &str, rows: &[u64], expected: &[u64]) -> Result<(), String> {
    if rows == expected {
        return Ok(());
    }
    let of_both = rows.iter().zip(expected);
    let same = of_both.take_while(|(one, other)| one == other).count();
    Err(format!(
        "{} rows that are {what}, in place of {}; after {same} that agree comes {:?}, and not {:?}",
        rows.len(),
        expected.len(),
        rows.get(same),
        expected.get(same)
    ))
}
