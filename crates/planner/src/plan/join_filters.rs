//! Scans that leave rows out by the keys of a join above them.
//!
//! A join by hash that drops rows of its probe side without a match knows, once it has its table, which keys have one.
//! Where a key of the probe side is a column of a scan below it, the scan can leave other rows out before it decodes
//! them: sideways information passing (Beeri and Ramakrishnan, "On the Power of Magic", PODS 1987) by semijoin filters.
//! Whether a filter leaves out enough to be worth its time is found out when it is used, not here.
//!
//! Between the join and the scan are operators that treat rows with different keys apart: a row that is left out below
//! them would have made rows with its key alone, which the join drops. Such operators are filters, projections, joins
//! through the side whose rows they test or keep, and groups by the key. A join by hash whose key it is passes the
//! filter to its other side, too: rows with other keys match none that are left.
//!
//! # Rows that are kept
//! A side that an operator keeps when it is begun again has been read under the filter of its first time. The keys of
//! a join whose own build side may be another then are not passed to such a side.

use std::sync::Arc;

use logical::relation::JoinKind;
use types::row::is_integer;

use super::{HashJoin, Plan};
use crate::program::Program;

/// Most filters of a statement.
const FILTERS_MAX: usize = 64;

impl Plan {
    /// Has scans below joins by hash filter by these, `made` being the number of filters that there are.
    pub(super) fn filter_by_joins(&mut self, made: &mut usize) {
        if let Plan::HashJoin(join) = self {
            join.filter_probe(made);
        }
        self.for_each_input_mut(&mut |input| input.filter_by_joins(made));
    }

    /// Has scans filter the rows of this plan by a filter for its column `at`, and returns whether any does; `is_fixed`
    /// says that the filter is the same whenever the plan is begun.
    fn filter_column(&mut self, at: usize, filter: usize, is_fixed: bool) -> bool {
        match self {
            Plan::Explained(explained) => explained.input.filter_column(at, filter, is_fixed),
            Plan::Scan(scan) => match scan.columns.get(at) {
                Some(attribute) if !scan.access.is_point() => {
                    scan.key_filters.push((*attribute, filter));
                    true
                }
                _ => false,
            },
            Plan::Filter { input, .. } => input.filter_column(at, filter, is_fixed),
            Plan::Project { input, values } => {
                match values.get(at).and_then(|value| value.as_column()) {
                    Some(below) => input.filter_column(below, filter, is_fixed),
                    None => false,
                }
            }
            Plan::Aggregate(aggregate) => {
                let is_of_all_sets = aggregate.sets.iter().all(|set| set.contains(&at));
                let key = aggregate.keys.get(at).and_then(|key| key.as_column());
                match (key, Arc::get_mut(aggregate)) {
                    (Some(below), Some(aggregate)) if is_of_all_sets => {
                        aggregate.input.filter_column(below, filter, is_fixed)
                    }
                    _ => false,
                }
            }
            Plan::HashJoin(join) => join.filter_column(at, filter, is_fixed),
            Plan::IndexJoin(join) => match (join.kind, join.projection.left.get(at)) {
                (JoinKind::Right | JoinKind::Full, _) | (_, None) => false,
                (_, Some(below)) => join.outer.filter_column(*below, filter, is_fixed),
            },
            Plan::NestedLoopJoin(join) => {
                let keeps_inner = matches!(join.kind, JoinKind::Right | JoinKind::Full);
                !keeps_inner
                    && at < join.outer_width
                    && join.outer.filter_column(at, filter, is_fixed)
            }
            _ => false,
        }
    }
}

impl HashJoin {
    /// Has scans of the probe side filter by the join's keys, if rows without a match make no difference.
    fn filter_probe(&mut self, made: &mut usize) {
        if !self.needs_match() {
            return;
        }
        for key in 0..self.probe_keys.len() {
            let column = self.probe_keys[key].as_column();
            let column = column.filter(|_| is_integer(self.key_types[key]));
            if let Some(at) = column
                && *made < FILTERS_MAX
                && self.probe.filter_column(at, *made, self.is_fixed)
            {
                self.filters.push((key, *made));
                *made += 1;
            }
        }
    }

    /// Has scans below the join filter its column `at`: see [`Plan::filter_column`].
    fn filter_column(&mut self, at: usize, filter: usize, is_fixed: bool) -> bool {
        let of_probe = self.projection.left.get(at).copied();
        let of_build = at.checked_sub(self.projection.left.len());
        let of_build = of_build.and_then(|at| self.projection.right.get(at).copied());
        // Rows without a match have NULLs in columns of the other side, and come through that one's rows.
        let is_of_left = of_probe.is_some() != self.is_turned;
        let can_be_filtered = match self.kind {
            JoinKind::Inner => true,
            JoinKind::Left | JoinKind::Semi | JoinKind::Anti => is_of_left,
            JoinKind::Right | JoinKind::Full => false,
        };
        if !can_be_filtered {
            return false;
        }
        let (probe, build) = match (of_probe, of_build) {
            (Some(_), _) => {
                let build = equal_column(of_probe, &self.probe_keys, &self.build_keys);
                (of_probe, build)
            }
            (None, _) => {
                let probe = equal_column(of_build, &self.build_keys, &self.probe_keys);
                (probe, of_build)
            }
        };
        let pass = |side: &mut Plan, at: Option<usize>| {
            at.is_some_and(|at| side.filter_column(at, filter, is_fixed))
        };
        let filters_probe = pass(&mut self.probe, probe);
        let is_read_again = is_fixed || !self.is_fixed;
        let filters_build = pass(&mut self.build, build.filter(|_| is_read_again));
        filters_probe || filters_build
    }
}

/// Returns the other side's column that a join says is equal to a column, as keys of both sides.
fn equal_column(column: Option<usize>, own: &[Program], other: &[Program]) -> Option<usize> {
    let mut pairs = own.iter().zip(other);
    let (_, other) = pairs.find(|(own, _)| column.is_some() && own.as_column() == column)?;
    other.as_column()
}
