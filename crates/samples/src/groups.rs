//! Statistics of groups of columns, from the rows of a sample.
//!
//! Each value of a column gets a code, in which equal values are equal and NULL is a value like others; a value that is
//! too long to be kept gets a code of its own. A combination of values is the sum of numbers that its codes are mixed
//! to, of 64 bits each, so that combinations of any of the columns are found by one pass and one sort: two different
//! ones are taken for one another once in many millions of samples.
//!
//! The findings are PostgreSQL's: numbers of different combinations for each two or more of the columns, functional
//! dependencies, and the most common combinations. Of 8 columns, the most that a statistics object has, there are 247
//! numbers and 1,016 dependencies, each of which takes a sort of the sample.

use interleave::Turn;
use types::{Result, Type, compare::compare_as};

use super::{
    Sample,
    column::{COMMON_MAX, distinct, growing},
};
use batch::sort_by;
use catalog::{
    ColumnDependency, CommonGroup, Distinct, DistinctGroups, GroupStatistics, StatisticsObject,
    StoredType, StoredValue, Table,
};

/// Code of NULL.
const NULL: u32 = 0;

/// Standard deviation, as a part of a combination's share of the rows, with which the share of a common combination is
/// known at least: PostgreSQL's number.
const SHARE_ERROR: f64 = 0.2;

/// The codes of a column's values in the rows of a sample.
struct Coded {
    /// Place of the column among those of the sample.
    place: usize,
    /// Code of each row.
    codes: Vec<u32>,
    /// Number of rows with each code.
    counts: Vec<u32>,
    /// Codes from here on are of values that were not kept.
    unknown: u32,
}

/// A group of columns in the rows of a sample.
struct Group {
    columns: Vec<Coded>,
    rows: usize,
}

impl Sample {
    /// Returns the statistics of a group of columns, of a table that is thought to have `rows` rows; `None` if not all
    /// of its columns were looked at, or no row was.
    pub(super) async fn group(
        &self,
        table: &Table,
        object: &StatisticsObject,
        rows: f64,
        turn: &Turn,
    ) -> Result<Option<GroupStatistics>> {
        let mut group = Group {
            columns: Vec::with_capacity(object.columns.len()),
            rows: self.rows.len(),
        };
        if group.rows == 0 {
            return Ok(None);
        }
        let mut found = GroupStatistics::default();
        for position in object.columns.iter() {
            let ty = table.columns[usize::from(*position)].ty;
            let place = self
                .columns
                .iter()
                .position(|at| *at == usize::from(*position));
            let Some(place) = place.filter(|_| ty.is_ordered()) else {
                return Ok(None);
            };
            found.columns.push((*position, StoredType(ty)));
            group.columns.push(self.coded(place, ty, turn).await);
        }
        let rows = rows.max(group.rows as f64);
        for subset in 1_u32..1 << group.columns.len() {
            if subset.count_ones() < 2 {
                continue;
            }
            let chosen = |at: &usize| subset & (1 << *at) != 0;
            let positions = (0..group.columns.len()).filter(chosen);
            let positions: Vec<u16> = positions.map(|at| object.columns[at]).collect();
            if object.kinds.ndistinct {
                found.distinct.push(DistinctGroups {
                    distinct: group.distinct(subset, rows, turn).await,
                    columns: positions.clone(),
                });
            }
            if object.kinds.dependencies {
                for to in (0..group.columns.len()).filter(chosen) {
                    let degree = group.degree(subset, to, turn).await;
                    let to = object.columns[to];
                    let from = positions.iter().copied().filter(|at| *at != to);
                    if degree > 0.0 {
                        let from = from.collect();
                        found
                            .dependencies
                            .push(ColumnDependency { from, to, degree });
                    }
                }
            }
        }
        if object.kinds.mcv {
            found.common = group.common(self, &found.columns, rows, turn).await?;
        }
        Ok(Some(found))
    }

    /// Gives codes to the values of a column.
    async fn coded(&self, place: usize, ty: Type, turn: &Turn) -> Coded {
        let value = |row: &u32| self.rows.row(*row as usize)[place];
        let mut order: Vec<u32> = Vec::with_capacity(self.rows.len());
        for row in 0..self.rows.len() as u32 {
            turn.pause(1).await;
            if !value(&row).is_null() {
                order.push(row);
            }
        }
        sort_by(&mut order, turn, |one, two| {
            compare_as(ty, value(one), value(two))
        })
        .await;
        let mut coded = Coded {
            place,
            codes: vec![NULL; self.rows.len()],
            counts: vec![0],
            unknown: 0,
        };
        let mut before: Option<u32> = None;
        for row in order {
            turn.pause(1).await;
            let is_same =
                before.is_some_and(|before| compare_as(ty, value(&before), value(&row)).is_eq());
            if !is_same {
                coded.counts.push(0);
            }
            coded.give(row);
            before = Some(row);
        }
        coded.unknown = coded.counts.len() as u32;
        for row in &self.wide[place] {
            coded.counts.push(0);
            coded.give(*row);
        }
        let others: u32 = coded.counts.iter().sum();
        coded.counts[NULL as usize] = (self.rows.len() as u32).saturating_sub(others);
        coded
    }
}

impl Coded {
    /// Gives a row the newest code.
    fn give(&mut self, row: u32) {
        let code = self.counts.len() - 1;
        self.codes[row as usize] = code as u32;
        self.counts[code] += 1;
    }

    /// Returns the number that stands for the value of a row in combinations.
    fn mixed(&self, row: usize) -> u64 {
        // A step of SplitMix64, whose state is the column and the code.
        let state = ((self.place as u64 + 1) << 32) | u64::from(self.codes[row]);
        let mut mixed = state.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl Group {
    /// Returns the combination of the values of a row in the columns of `subset`, a bit for each.
    fn combination(&self, subset: u32, row: usize) -> u64 {
        let columns = self.columns.iter().enumerate();
        let chosen = columns.filter(|(at, _)| subset & (1 << *at) != 0);
        chosen.fold(0, |sum, (_, column)| sum.wrapping_add(column.mixed(row)))
    }

    /// Estimates the number of different combinations of the columns of `subset` in a table of `rows` rows.
    async fn distinct(&self, subset: u32, rows: f64, turn: &Turn) -> Distinct {
        let mut all = Vec::with_capacity(self.rows);
        for row in 0..self.rows {
            turn.pause(1).await;
            all.push(self.combination(subset, row));
        }
        sort_by(&mut all, turn, u64::cmp).await;
        let (mut different, mut single) = (0, 0);
        for run in all.chunk_by(|one, two| one == two) {
            different += 1;
            single += usize::from(run.len() == 1);
        }
        turn.pause(self.rows / 16).await;
        growing(distinct(different, single, self.rows, rows), rows, rows)
    }

    /// Returns the part of the rows in which the other columns of `subset` determine the value of the column `to`:
    /// no two rows agree in these and not in that.
    async fn degree(&self, subset: u32, to: usize, turn: &Turn) -> f64 {
        let mut all = Vec::with_capacity(self.rows);
        for row in 0..self.rows {
            turn.pause(1).await;
            let from = self.combination(subset & !(1 << to), row);
            all.push((from, self.columns[to].codes[row]));
        }
        sort_by(&mut all, turn, Ord::cmp).await;
        let mut determined = 0;
        for run in all.chunk_by(|(one, _), (two, _)| one == two) {
            let is_one = run.first().map(|(_, to)| to) == run.last().map(|(_, to)| to);
            determined += if is_one { run.len() } else { 0 };
        }
        turn.pause(self.rows / 16).await;
        determined as f64 / self.rows as f64
    }

    /// Returns the most common combinations of all columns in a table of `rows` rows.
    async fn common(
        &self,
        sample: &Sample,
        columns: &[(u16, StoredType)],
        rows: f64,
        turn: &Turn,
    ) -> Result<Vec<CommonGroup>> {
        let mut all = Vec::with_capacity(self.rows);
        for row in 0..self.rows {
            turn.pause(1).await;
            all.push((self.combination(u32::MAX, row), row));
        }
        sort_by(&mut all, turn, Ord::cmp).await;
        let least = self.common_count_min(rows);
        // Each run by its number of rows, and its first row.
        let runs = all.chunk_by(|(one, _), (two, _)| one == two);
        let runs = runs.map(|run| (run.len(), run[0].1));
        let mut runs: Vec<(usize, usize)> = runs
            .filter(|(count, _)| *count as f64 >= least)
            .filter(|(_, row)| {
                let mut columns = self.columns.iter();
                columns.all(|column| column.codes[*row] < column.unknown)
            })
            .collect();
        turn.pause(self.rows / 16).await;
        sort_by(&mut runs, turn, |(one, first), (two, second)| {
            two.cmp(one).then(first.cmp(second))
        })
        .await;
        runs.truncate(COMMON_MAX);
        let share = |count: usize| count as f64 / self.rows as f64;
        let mut found = Vec::with_capacity(runs.len());
        for (count, row) in runs {
            turn.pause(columns.len()).await;
            let values = sample.rows.row(row);
            let mut group = CommonGroup {
                values: Vec::with_capacity(columns.len()),
                fraction: share(count),
                independent: 1.0,
            };
            for (column, (_, ty)) in self.columns.iter().zip(columns) {
                let value = values[column.place];
                let stored = (!value.is_null()).then(|| StoredValue::new(ty.0, value));
                group.values.push(stored.transpose()?);
                let alike = column.counts[column.codes[row] as usize];
                group.independent *= share(alike as usize);
            }
            found.push(group);
        }
        Ok(found)
    }

    /// Returns the number of rows of the sample that a common combination has at least, so that its share of the
    /// table's `rows` rows is known well enough; of a table that was looked at as a whole, all shares are.
    fn common_count_min(&self, rows: f64) -> f64 {
        let sampled = self.rows as f64;
        let unseen = rows - sampled;
        let most = unseen + SHARE_ERROR * SHARE_ERROR * sampled * (rows - 1.0);
        match most > 0.0 {
            true => sampled * unseen / most,
            false => 0.0,
        }
    }
}
