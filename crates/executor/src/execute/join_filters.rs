//! Filters of joins: the keys of a build side, by which scans of the other side leave rows out that find no match.
//!
//! The planner says which scan below a join can do so (`planner/plan/join_filters.rs`), by a number of the filter. The
//! join makes the filter when it has its table, which is before it reads the other side for the first time, and unmakes
//! it before it reads another build side. A scan that finds no filter, or one that is not useful, reads all rows: the
//! join looks for matches in any case. Helpers have the filters of the division's owner, which it has made before.

use std::{cell::RefCell, sync::Arc};

use types::{Charge, Result, granted, row::integer_of};

use super::ExecutionContext;
use batch::{FixedRows, KeyFilter};

/// Rows whose keys are looked at between two pauses.
const ROWS_AT_ONCE: usize = 1024;

/// The filters of an execution, by number: as many at most as the planner gives numbers.
#[derive(Default)]
pub(super) struct JoinFilters(RefCell<JoinFilterList>);

/// Filters by number.
pub(super) type JoinFilterList = Vec<Option<Arc<KeyFilter>>>;

impl JoinFilters {
    /// Sets or unmakes a filter.
    pub(super) fn set(&self, number: usize, filter: Option<Arc<KeyFilter>>) {
        let mut all = self.0.borrow_mut();
        if all.len() <= number {
            all.resize(number + 1, None);
        }
        all[number] = filter;
    }

    /// Returns a filter, if there is one and it is useful.
    pub(super) fn useful(&self, number: usize) -> Option<Arc<KeyFilter>> {
        let all = self.0.borrow();
        let filter = all.get(number)?.as_ref()?;
        filter.is_useful().then(|| filter.clone())
    }

    /// Returns all filters, for another worker.
    pub(super) fn all(&self) -> JoinFilterList {
        self.0.borrow().clone()
    }

    /// Has the filters of another worker in place of its own.
    pub(super) fn adopt(&self, all: &JoinFilterList) {
        self.0.replace(all.clone());
    }
}

/// Makes a filter of the keys at a place of rows, and adds its memory to `charge`. `None` if the keys are too many, or
/// there is no memory for it.
///
/// # Suspension
/// Suspends where the task's turn is over.
pub(super) async fn filter_of(
    rows: &FixedRows,
    place: usize,
    context: &ExecutionContext<'_>,
    charge: &mut Charge,
) -> Result<Option<Arc<KeyFilter>>> {
    let key = |at: usize| integer_of(rows.row(at)[place]);
    let (mut keys, mut bounds) = (0, (i64::MAX, i64::MIN));
    for first in (0..rows.len()).step_by(ROWS_AT_ONCE) {
        let end = rows.len().min(first + ROWS_AT_ONCE);
        for key in (first..end).filter_map(key) {
            keys += 1;
            bounds = (bounds.0.min(key), bounds.1.max(key));
        }
        context.pause((end - first) / 8).await;
    }
    // A side without keys has a filter that lets nothing pass.
    let (least, greatest) = if keys == 0 { (0, 0) } else { bounds };
    let Some(mut filter) = KeyFilter::new(keys, least, greatest) else {
        return Ok(None);
    };
    let mut own = Charge::default();
    if granted(own.set(context.memory(), filter.bytes()))?.is_none() {
        return Ok(None);
    }
    charge.absorb(own);
    for first in (0..rows.len()).step_by(ROWS_AT_ONCE) {
        let end = rows.len().min(first + ROWS_AT_ONCE);
        (first..end)
            .filter_map(key)
            .for_each(|key| filter.insert(key));
        context.pause((end - first) / 8).await;
    }
    Ok(Some(Arc::new(filter)))
}
