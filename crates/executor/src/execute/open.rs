//! Conversion of plans to running operators.

use std::{collections::HashMap, rc::Rc, sync::Arc};

use types::{Result, SqlError, SqlState};

use super::{
    Input, Operator,
    aggregate::AggregateOperator,
    apply::ApplyOperator,
    change::{DeleteOperator, LockRowsOperator, UpdateOperator},
    change_row::RecheckInput,
    copy_source::CopySourceOperator,
    distinct::Distinct,
    functions::{FunctionScanOperator, ProjectSetOperator},
    hash_join::HashJoinOperator,
    incremental_sort::IncrementalSort,
    index_join::IndexJoinOperator,
    insert::InsertOperator,
    join_hash_table::JoinHashTable,
    limit::LimitOperator,
    measure::Measured,
    merge::MergeOperator,
    nested_loop_join::NestedLoopJoinOperator,
    node::OperatorNode,
    scan::ScanOperator,
    set_operation::{Append, SetOperation},
    shared::{CteScanOperator, Definition, Producer, Recursion, Source, With, WorkTable},
    simple::{FilterOperator, ProjectionOperator, ValuesScanOperator},
    sort::SortOperator,
    system::SystemScanOperator,
    waiting_calls::WaitingCallsOperator,
    window::WindowOperator,
};
use batch::SpareRows;
use planner::plan::{CommonTable, CommonTableBody, Plan, RecheckQuery};

/// Returns the running side of a plan.
///
/// # Errors
/// XX000 for a plan that no operator can run.
pub(super) fn open<'p>(plan: &'p Plan, spare: &Rc<SpareRows>) -> Result<OperatorNode<'p>> {
    Opening::new(spare, &[]).open(plan)
}

/// Returns the running side of a plan that another worker's operator reads, to be read here: a part of a division. The
/// tables of its joins are those that the other worker has built ([`Operator::share`]).
///
/// # Errors
/// Errors of [`open`].
pub(super) fn part<'p>(
    plan: &'p Plan,
    spare: &Rc<SpareRows>,
    tables: &[Arc<JoinHashTable>],
) -> Result<Input<'p>> {
    Opening::new(spare, tables).input(plan)
}

/// Knowledge of the plan around the part that is opened.
struct Opening<'p, 's> {
    /// Memory for batches.
    spare: &'s Rc<SpareRows>,
    /// Sources of WITH clauses, by number.
    sources: HashMap<usize, Source<'p>>,
    /// Whether the part may be read more than once.
    repeats: bool,
    /// Tables of the joins that come next, if these have been built.
    tables: std::slice::Iter<'s, Arc<JoinHashTable>>,
}

impl<'p, 's> Opening<'p, 's> {
    fn new(spare: &'s Rc<SpareRows>, tables: &'s [Arc<JoinHashTable>]) -> Self {
        Self {
            spare,
            sources: HashMap::new(),
            repeats: false,
            tables: tables.iter(),
        }
    }

    fn open(&mut self, plan: &'p Plan) -> Result<OperatorNode<'p>> {
        Ok(OperatorNode::Other(match plan {
            Plan::Scan(scan) => return Ok(OperatorNode::Scan(ScanOperator::new(scan))),
            Plan::Rows(rows) => made(|| Ok(ValuesScanOperator::new(rows)))?,
            Plan::Explained(explained) => made(|| {
                Ok(Measured::new(
                    explained.number,
                    self.open(&explained.input)?,
                ))
            })?,
            Plan::CopySource { .. } => made(|| Ok(CopySourceOperator))?,
            Plan::System { relation, columns } => {
                made(|| Ok(SystemScanOperator::new(*relation, columns)))?
            }
            Plan::Functions {
                calls,
                ordinality,
                is_fixed,
            } => made(|| Ok(FunctionScanOperator::new(calls, *ordinality, *is_fixed)))?,
            Plan::CteScan { number, columns } => {
                made(|| Ok(CteScanOperator::new(self.source(*number)?, columns)))?
            }
            Plan::Filter { input, predicate } => {
                made(|| Ok(FilterOperator::new(self.input(input)?, predicate)))?
            }
            Plan::Project { input, values } => {
                made(|| Ok(ProjectionOperator::new(self.input(input)?, values)))?
            }
            Plan::ProjectSet { input, calls } => {
                made(|| Ok(ProjectSetOperator::new(self.input(input)?, calls)))?
            }
            Plan::HashJoin(join) => made(|| {
                Ok(match self.tables.next() {
                    Some(table) => {
                        HashJoinOperator::over(join, self.input(&join.probe)?, table.clone())
                    }
                    None => HashJoinOperator::new(
                        join,
                        self.input(&join.probe)?,
                        self.input(&join.build)?,
                    ),
                })
            })?,
            Plan::IndexJoin(join) => {
                made(|| Ok(IndexJoinOperator::new(join, self.input(&join.outer)?)))?
            }
            Plan::NestedLoopJoin(join) => made(|| {
                Ok(NestedLoopJoinOperator::new(
                    join,
                    self.input(&join.outer)?,
                    self.repeated(&join.inner)?,
                ))
            })?,
            Plan::Apply(apply) => made(|| {
                Ok(ApplyOperator::new(
                    apply,
                    self.input(&apply.input)?,
                    self.repeated(&apply.query)?,
                ))
            })?,
            Plan::Calls(calls) => {
                made(|| Ok(WaitingCallsOperator::new(calls, self.input(&calls.input)?)))?
            }
            Plan::Aggregate(aggregate) => {
                made(|| AggregateOperator::new(aggregate, self.input(&aggregate.input)?))?
            }
            Plan::Distinct {
                input,
                on,
                types,
                is_grouped,
            } => made(|| Ok(Distinct::new(self.input(input)?, on, types, *is_grouped)))?,
            Plan::Sort { input, keys, limit } => {
                made(|| Ok(SortOperator::new(self.input(input)?, keys, limit.as_ref())))?
            }
            Plan::IncrementalSort(sort) => made(|| {
                Ok(IncrementalSort::new(
                    self.input(&sort.input)?,
                    &sort.keys,
                    sort.presorted,
                    sort.limit.as_ref(),
                ))
            })?,
            Plan::Limit {
                input,
                limit,
                offset,
                with_ties,
            } => made(|| {
                Ok(LimitOperator::new(
                    self.input(input)?,
                    limit.as_ref(),
                    offset.as_ref(),
                    with_ties.as_deref(),
                ))
            })?,
            Plan::Union { left, right } => {
                made(|| Ok(Append::new(self.open(left)?, self.open(right)?)))?
            }
            Plan::Set {
                kind,
                all,
                left,
                right,
                types,
            } => made(|| {
                Ok(SetOperation::new(
                    *kind,
                    *all,
                    self.input(left)?,
                    self.input(right)?,
                    types,
                ))
            })?,
            Plan::With { definitions, body } => {
                let mut opened = Vec::with_capacity(definitions.len());
                for shared in definitions {
                    let definition = Rc::new(self.definition(shared)?);
                    let source = Source::Definition(definition.clone());
                    self.sources.insert(shared.number, source);
                    opened.push(definition);
                }
                made(|| Ok(With::new(opened, self.open(body)?)))?
            }
            Plan::Window {
                input,
                orders,
                windows,
            } => made(|| Ok(WindowOperator::new(self.input(input)?, orders, windows)))?,
            Plan::LockRows {
                input,
                locks,
                recheck_query,
            } => {
                let recheck_query = self.recheck_query(recheck_query.as_deref())?;
                made(|| {
                    Ok(LockRowsOperator::new(
                        self.input(input)?,
                        locks,
                        recheck_query,
                    ))
                })?
            }
            Plan::Insert(insert) => {
                made(|| Ok(InsertOperator::new(insert, self.input(&insert.input)?)))?
            }
            Plan::Update(update) => {
                let recheck_query = self.recheck_query(update.target.recheck_query.as_deref())?;
                made(|| {
                    Ok(UpdateOperator::new(
                        update,
                        self.input(&update.input)?,
                        recheck_query,
                    ))
                })?
            }
            Plan::Delete(delete) => {
                let recheck_query = self.recheck_query(delete.target.recheck_query.as_deref())?;
                made(|| {
                    Ok(DeleteOperator::new(
                        delete,
                        self.input(&delete.input)?,
                        recheck_query,
                    ))
                })?
            }
            Plan::Merge(merge) => {
                made(|| Ok(MergeOperator::new(merge, self.input(&merge.input)?)))?
            }
        }))
    }

    fn input(&mut self, plan: &'p Plan) -> Result<Input<'p>> {
        Ok(Input::new(self.open(plan)?, width(plan), self.spare))
    }

    /// Opens a part that is read more than once.
    fn repeated(&mut self, plan: &'p Plan) -> Result<Input<'p>> {
        let repeats = std::mem::replace(&mut self.repeats, true);
        let input = self.input(plan);
        self.repeats = repeats;
        input
    }

    /// Opens the query that finds rows again.
    fn recheck_query(
        &mut self,
        query: Option<&'p RecheckQuery>,
    ) -> Result<Option<RecheckInput<'p>>> {
        let Some(plan) = query else {
            return Ok(None);
        };
        let query = self.repeated(&plan.plan)?;
        Ok(Some(RecheckInput::new(plan, query)))
    }

    /// Returns the source that a reference to a shared relation reads.
    fn source(&self, number: usize) -> Result<Source<'p>> {
        let source = self.sources.get(&number).cloned().ok_or_else(|| {
            SqlError::new(SqlState::INTERNAL_ERROR, "a WITH query that nobody defines")
        })?;
        if let Source::Definition(definition) = &source {
            definition.add_reader(self.repeats);
        }
        Ok(source)
    }

    fn definition(&mut self, shared: &'p CommonTable) -> Result<Definition<'p>> {
        let producer = match &shared.body {
            CommonTableBody::Query(query) => Producer::Query(Box::new(self.input(query)?)),
            CommonTableBody::Recursive {
                initial,
                step,
                distinct,
            } => {
                let initial = self.input(initial)?;
                let work_table = Rc::new(WorkTable::default());
                let source = Source::WorkTable(work_table.clone());
                self.sources.insert(shared.number, source);
                let step = self.repeated(step)?;
                let distinct = distinct.as_deref();
                let recursion = Recursion::new(initial, step, work_table, distinct);
                Producer::Recursive(Box::new(recursion))
            }
        };
        Ok(Definition::new(producer, shared.width, shared.writes))
    }
}

/// Makes an operator on a frame of its own. Operators that are upon each other are opened upon each other, and a frame
/// that has room for all kinds of them is ten times as large in a build without optimisation.
#[inline(never)]
fn made<'p, O: Operator + 'p>(make: impl FnOnce() -> Result<O>) -> Result<Box<dyn Operator + 'p>> {
    Ok(Box::new(make()?))
}

/// Returns the number of values in each row of a plan.
pub(super) fn width(plan: &Plan) -> usize {
    let columns =
        |calls: &[planner::plan::Call]| calls.iter().map(|call| call.columns).sum::<usize>();
    let filters = |kind| {
        matches!(
            kind,
            logical::relation::JoinKind::Semi | logical::relation::JoinKind::Anti
        )
    };
    match plan {
        Plan::Rows(rows) => rows.first().map_or(0, Vec::len),
        Plan::CopySource { width } => *width,
        Plan::Scan(scan) => scan.columns.len() + usize::from(scan.with_key),
        Plan::System { columns, .. } => columns.len(),
        Plan::Functions {
            calls, ordinality, ..
        } => columns(calls) + usize::from(*ordinality),
        Plan::CteScan { columns, .. } => columns.len(),
        Plan::Explained(explained) => width(&explained.input),
        Plan::Filter { input, .. }
        | Plan::Distinct { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Limit { input, .. }
        | Plan::LockRows { input, .. } => width(input),
        Plan::IncrementalSort(sort) => width(&sort.input),
        Plan::Project { values, .. } => values.len(),
        Plan::ProjectSet { input, calls } => width(input) + columns(calls),
        Plan::Window { input, windows, .. } => width(input) + windows.len(),
        Plan::HashJoin(join) => join.projection.width(),
        Plan::IndexJoin(join) => join.projection.width(),
        Plan::NestedLoopJoin(join) if filters(join.kind) => join.outer_width,
        Plan::NestedLoopJoin(join) => join.outer_width + join.inner_width,
        Plan::Apply(apply) => width(&apply.input) + 1,
        Plan::Calls(calls) => width(&calls.input) + calls.calls.len(),
        Plan::Aggregate(aggregate) => {
            aggregate.keys.len() + usize::from(aggregate.with_set_number) + aggregate.calls.len()
        }
        Plan::Union { left, .. } | Plan::Set { left, .. } => width(left),
        Plan::With { body, .. } => width(body),
        Plan::Insert(insert) => width(&insert.input) + insert.values.len(),
        Plan::Update(update) => width(&update.input) + update.target.table.columns.len(),
        Plan::Delete(delete) => width(&delete.input),
        Plan::Merge(_) => 0,
    }
}
