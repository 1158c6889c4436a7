//! Conversion of relations to operators.

use std::{
    cell::Cell,
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use types::{Result, SqlError, SqlState, Type, row::RowLayout};

use super::{
    Call, Plan, PlanDependencies, access::By, apply::is_called_once, cost::WORTH_LITERALS,
    digits::KnownDigits, effects::is_command, estimate::Estimator, explained::ColumnTypes,
};
use crate::program::{Layout, Outer, Program, compile};
use catalog::Table;
use logical::{
    expression::{ColumnId, Expression, Kind},
    relation::{self, Relation, SharedId},
};
use syntax::phase;

/// A statement's plan, and the positions of the outputs in its rows.
#[derive(Debug)]
pub struct PlannedStatement {
    /// Plan of the whole statement.
    pub plan: Arc<Plan>,
    /// Position in the plan's rows of each output column, in order.
    pub outputs: Vec<usize>,
    /// Whether another plan may be better if parameters that stand for literals are known: an index is partial, or
    /// over an expression, with constants in it; several joins were put in order by guesses; or the statement takes
    /// long.
    pub literals_matter: bool,
    /// Table sizes and statistics by which the plan was chosen.
    pub dependencies: PlanDependencies,
    /// Whether the statement's reads must not see its own writes: see `engine::Command`.
    pub is_command: bool,
    /// Columns that the plan has and the statement gives no name, with what they are; only for EXPLAIN.
    pub names: Vec<(ColumnId, Expression)>,
}

/// Plans a statement.
///
/// # Errors
/// XX000 for a fault of Weft, 54001 for a statement that is too large.
pub fn plan(
    relation: Relation,
    outputs: &[ColumnId],
    parameters: usize,
) -> Result<PlannedStatement> {
    planned_statement(relation, outputs, parameters, false)
}

/// Plans a statement for EXPLAIN: the programs of the plan keep the expressions that they were made
/// from, and the operators keep their estimates.
///
/// # Errors
/// Errors of [`plan`].
pub fn plan_to_explain(
    relation: Relation,
    outputs: &[ColumnId],
    parameters: usize,
) -> Result<PlannedStatement> {
    planned_statement(relation, outputs, parameters, true)
}

fn planned_statement(
    relation: Relation,
    outputs: &[ColumnId],
    parameters: usize,
    to_explain: bool,
) -> Result<PlannedStatement> {
    let relation = super::predicate_pushdown::pushed(relation, outputs);
    let estimator = Estimator::new(&relation);
    let mut relation = super::join_order::ordered(relation, &estimator);
    let order_is_guessed = estimator.order_is_guessed();
    let mut lowering = Lowering {
        estimator,
        digits: KnownDigits::of(&mut relation),
        outer: Outer {
            parameters,
            columns: Vec::new(),
            keeps_sources: to_explain,
        },
        shared: HashMap::new(),
        rereads: 0,
        limits: 0,
        literals_matter: Cell::new(order_is_guessed),
        dependencies: PlanDependencies::default(),
        lists: 0,
        grouped: 0,
        new_columns: 0,
        names: Vec::new(),
        in_order: None,
        column_types: to_explain.then(|| ColumnTypes::of(&relation)),
    };
    let is_command = is_command(&relation);
    let needed: BTreeSet<ColumnId> = outputs.iter().copied().collect();
    let mut node = lowering.lower(relation, &needed)?;
    node.plan.filter_by_joins(&mut 0);
    if to_explain {
        node.plan.explain(&mut 1);
    }
    let outputs = outputs
        .iter()
        .map(|id| node.at(*id))
        .collect::<Result<_>>()?;
    Ok(PlannedStatement {
        plan: Arc::new(node.plan),
        outputs,
        literals_matter: lowering.literals_matter.get(),
        dependencies: lowering.dependencies,
        is_command,
        names: lowering.names,
    })
}

/// An operator and the layout of its columns.
pub(super) struct Node {
    pub(super) plan: Plan,
    pub(super) layout: Layout,
}

impl Node {
    pub(super) fn at(&self, id: ColumnId) -> Result<usize> {
        let missing = || {
            SqlError::new(
                SqlState::INTERNAL_ERROR,
                format!("column {} is not there", id.0),
            )
        };
        self.layout.position(id).ok_or_else(missing)
    }
}

pub(super) struct Lowering {
    pub(super) estimator: Estimator,
    pub(super) digits: KnownDigits,
    pub(super) outer: Outer,
    /// Number of each shared relation in the execution, and its columns in order.
    pub(super) shared: HashMap<SharedId, (usize, Vec<ColumnId>)>,
    /// Number of levels around the lowered part that begin it again, for each row or for each step of a
    /// recursion.
    pub(super) rereads: usize,
    /// Number of limits above the lowered part which may end it before it has given all its rows.
    pub(super) limits: usize,
    /// Value of [`PlannedStatement::literals_matter`].
    pub(super) literals_matter: Cell<bool>,
    /// Sizes of tables that the plan depends on.
    pub(super) dependencies: PlanDependencies,
    /// Number of lists of keys that were made relations, whose columns need numbers.
    pub(super) lists: u32,
    /// Number of subqueries that groups answer.
    pub(super) grouped: usize,
    /// Number of other columns that the plan has and the statement does not.
    pub(super) new_columns: u32,
    /// Value of [`PlannedStatement::names`].
    pub(super) names: Vec<(ColumnId, Expression)>,
    /// Scan that is lowered for its first rows in an order, and the key that gives the order.
    pub(super) in_order: Option<(relation::ScanId, By)>,
    /// Types of computed columns, for a plan that is to be explained.
    pub(super) column_types: Option<ColumnTypes>,
}

impl Lowering {
    pub(super) fn program(&self, expression: &Expression, layout: &Layout) -> Result<Program> {
        compile(expression, layout, &self.outer)
    }

    pub(super) fn programs<'e>(
        &self,
        expressions: impl IntoIterator<Item = &'e Expression>,
        layout: &Layout,
    ) -> Result<Vec<Program>> {
        expressions
            .into_iter()
            .map(|expression| self.program(expression, layout))
            .collect()
    }

    /// Compiles all conditions to one program; returns `None` if there are none.
    pub(super) fn conjunction(
        &self,
        conditions: Vec<Expression>,
        layout: &Layout,
    ) -> Result<Option<Program>> {
        if conditions.is_empty() {
            return Ok(None);
        }
        self.program(&Expression::all(conditions), layout).map(Some)
    }

    /// Lowers a relation; of its columns those in `needed` are wanted.
    pub(super) fn lower(
        &mut self,
        relation: Relation,
        needed: &BTreeSet<ColumnId>,
    ) -> Result<Node> {
        phase::pause();
        let estimate = self.estimate(&relation);
        let node = self.operator(relation, needed)?;
        Ok(self.explained(node, estimate))
    }

    fn operator(&mut self, relation: Relation, needed: &BTreeSet<ColumnId>) -> Result<Node> {
        match relation {
            Relation::Rows { columns, rows } => {
                let empty = Layout::default();
                let rows = rows
                    .iter()
                    .map(|row| self.programs(row, &empty))
                    .collect::<Result<_>>()?;
                Ok(Node {
                    plan: Plan::Rows(rows),
                    layout: Layout::new(columns),
                })
            }
            Relation::CopySource { columns } => Ok(Node {
                plan: Plan::CopySource {
                    width: columns.len(),
                },
                layout: Layout::new(columns),
            }),
            Relation::Scan(scan) => self.scan(scan, Vec::new(), needed),
            Relation::System(scan) => {
                let mut columns = scan.columns;
                columns.retain(|(id, _)| needed.contains(id));
                Ok(Node {
                    layout: Layout::new(columns.iter().map(|(id, _)| *id)),
                    plan: Plan::System {
                        relation: scan.relation,
                        columns: columns.into_iter().map(|(_, at)| at).collect(),
                    },
                })
            }
            Relation::Functions { calls, ordinality } => {
                let columns = calls
                    .iter()
                    .flat_map(|call| call.columns.iter().copied())
                    .chain(ordinality);
                let layout = Layout::new(columns);
                let is_fixed = is_called_once(&calls);
                let calls = self.calls(&calls, &Layout::default())?;
                Ok(Node {
                    plan: Plan::Functions {
                        calls,
                        ordinality: ordinality.is_some(),
                        is_fixed,
                    },
                    layout,
                })
            }
            Relation::Shared { number, columns } => self.shared(number, &columns),
            Relation::Filter { input, predicate } => match *input {
                Relation::Scan(scan) => self.scan(scan, predicate.into_conjuncts(), needed),
                input => {
                    let node = self.lower(input, &with(needed, [&predicate]))?;
                    let predicate = self.program(&predicate, &node.layout)?;
                    let plan = Plan::Filter {
                        input: Box::new(node.plan),
                        predicate,
                    };
                    Ok(Node {
                        plan,
                        layout: node.layout,
                    })
                }
            },
            Relation::Compute { input, columns } => self.compute(*input, columns, needed),
            Relation::Expand { input, calls } => {
                let arguments = calls.iter().flat_map(|call| &call.arguments);
                let node = self.lower(*input, &with(needed, arguments))?;
                let bound = self.calls(&calls, &node.layout)?;
                let mut layout = node.layout;
                calls
                    .iter()
                    .flat_map(|call| &call.columns)
                    .for_each(|id| layout.push(*id));
                Ok(Node {
                    plan: Plan::ProjectSet {
                        input: Box::new(node.plan),
                        calls: bound,
                    },
                    layout,
                })
            }
            Relation::Join(join) => self.join(join, needed),
            Relation::Apply { input, subquery } => self.apply(*input, *subquery, needed),
            Relation::Calls { input, calls } => self.waiting(*input, &calls, needed),
            Relation::Aggregate(aggregate) => self.aggregate(aggregate),
            Relation::Window { input, calls } => self.window(*input, &calls, needed),
            Relation::Distinct { input, on } => self.distinct(*input, &on, needed),
            Relation::Sort { input, keys } => self.sort(*input, &keys, None, needed),
            Relation::Limit {
                input,
                limit,
                offset,
                with_ties,
            } => self.limit(
                *input,
                limit.as_ref(),
                offset.as_ref(),
                with_ties.as_deref(),
                needed,
            ),
            Relation::Set(set) => self.set(set),
            Relation::With { definitions, body } => self.with_shared(definitions, *body, needed),
            Relation::Lock { input, locks } => self.lock(*input, &locks, needed),
            Relation::Insert(insert) => self.insert(*insert),
            Relation::Change(change) => self.change(*change, needed),
            Relation::Merge(merge) => self.merge(*merge),
        }
    }

    fn scan(
        &mut self,
        scan: relation::Scan,
        conditions: Vec<Expression>,
        needed: &BTreeSet<ColumnId>,
    ) -> Result<Node> {
        if self.in_order.is_none()
            && let Some(node) = self.looked_up(&scan, &conditions, needed)?
        {
            return Ok(node);
        }
        // No values come from rows of others, and no condition is left over.
        let nothing = Layout::default();
        let ((scan, _), layout) = self.restricted(scan, conditions, needed, &nothing)?;
        Ok(Node {
            plan: Plan::Scan(scan),
            layout,
        })
    }

    /// Lowers computed columns. A column that is another one under a new name costs nothing.
    fn compute(
        &mut self,
        input: Relation,
        columns: Vec<(ColumnId, Expression)>,
        needed: &BTreeSet<ColumnId>,
    ) -> Result<Node> {
        let wanted: Vec<_> = columns
            .into_iter()
            .filter(|(id, _)| needed.contains(id))
            .collect();
        let made: BTreeSet<ColumnId> = wanted.iter().map(|(id, _)| *id).collect();
        let below: BTreeSet<ColumnId> = needed.difference(&made).copied().collect();
        let node = self.lower(input, &with(&below, wanted.iter().map(|(_, value)| value)))?;
        let Node { plan, mut layout } = node;
        let is_alias = |(_, value): &(ColumnId, Expression)| matches!(value.kind, Kind::Column(id) if layout.position(id).is_some());
        if wanted.iter().all(is_alias) {
            for (id, value) in &wanted {
                if let Kind::Column(source) = value.kind
                    && let Some(at) = layout.position(source)
                {
                    layout.alias(*id, at);
                }
            }
            return Ok(Node { plan, layout });
        }
        let kept: Vec<ColumnId> = below
            .iter()
            .copied()
            .filter(|id| layout.position(*id).is_some())
            .collect();
        let mut values = Vec::with_capacity(kept.len() + wanted.len());
        for id in &kept {
            values.push(self.program(
                &Expression::column(*id, Type::Unknown, types::TypeModifier::NONE),
                &layout,
            )?);
        }
        for (_, value) in &wanted {
            values.push(self.program(value, &layout)?);
        }
        let layout = Layout::new(kept.into_iter().chain(wanted.iter().map(|(id, _)| *id)));
        Ok(Node {
            plan: Plan::Project {
                input: Box::new(plan),
                values,
            },
            layout,
        })
    }

    pub(super) fn calls(
        &self,
        calls: &[relation::FunctionCall],
        layout: &Layout,
    ) -> Result<Vec<Call>> {
        let call = |call: &relation::FunctionCall| {
            Ok(Call {
                function: call.function,
                arguments: self.programs(&call.arguments, layout)?,
                argument_types: call.arguments.iter().map(|argument| argument.ty).collect(),
                columns: call.columns.len(),
            })
        };
        calls.iter().map(call).collect()
    }

    /// Lowers a relation that refers to these columns of the rows around it.
    pub(super) fn lower_within(
        &mut self,
        relation: Relation,
        refers: &[ColumnId],
        needed: &BTreeSet<ColumnId>,
    ) -> Result<Node> {
        let depth = self.outer.columns.len();
        self.outer.columns.extend(refers);
        let rereads = usize::from(!refers.is_empty());
        self.rereads += rereads;
        let node = self.lower(relation, needed);
        self.rereads -= rereads;
        self.outer.columns.truncate(depth);
        node
    }

    /// Notes the cost of an operator of which all rows are read: a limit may want few of the rows that are estimated.
    pub(super) fn weigh_literals(&self, cost: f64) {
        if self.limits == 0 && cost >= WORTH_LITERALS {
            self.literals_matter.set(true);
        }
    }

    /// Lowers a relation whose rows are all read, whatever limits are above.
    pub(super) fn lower_whole(
        &mut self,
        relation: Relation,
        needed: &BTreeSet<ColumnId>,
    ) -> Result<Node> {
        let limits = std::mem::take(&mut self.limits);
        let node = self.lower(relation, needed);
        self.limits = limits;
        node
    }

    fn waiting(
        &mut self,
        input: Relation,
        calls: &[relation::WaitingCall],
        needed: &BTreeSet<ColumnId>,
    ) -> Result<Node> {
        let arguments = calls.iter().flat_map(|call| &call.arguments);
        let node = self.lower(input, &with(needed, arguments))?;
        let mut layout = node.layout;
        let mut lowered = Vec::with_capacity(calls.len());
        for call in calls {
            let is_fixed = |argument: &Expression| argument.columns().is_empty();
            lowered.push(super::WaitingCall {
                function: call.function,
                arguments: self.programs(&call.arguments, &layout)?,
                is_fixed: call.arguments.first().is_none_or(is_fixed),
            });
            layout.push(call.column);
        }
        let plan = Plan::Calls(super::WaitingCalls {
            input: Box::new(node.plan),
            calls: lowered,
            one_by_one: self.limits > 0,
        });
        Ok(Node { plan, layout })
    }

    fn set(&mut self, set: relation::SetOperation) -> Result<Node> {
        let side = |lowering: &mut Self, relation: Relation, columns: Vec<ColumnId>| {
            let needed = columns.iter().copied().collect();
            let node = lowering.lower(relation, &needed)?;
            let positions = columns
                .iter()
                .map(|id| node.at(*id))
                .collect::<Result<Vec<_>>>()?;
            Ok::<_, SqlError>(arranged(node, &positions))
        };
        let left_columns = set.columns.iter().map(|(_, left, _)| *left).collect();
        let right_columns = set.columns.iter().map(|(_, _, right)| *right).collect();
        let left = Box::new(side(self, *set.left, left_columns)?);
        let right = Box::new(side(self, *set.right, right_columns)?);
        let layout = Layout::new(set.columns.iter().map(|(id, _, _)| *id));
        let plan = match set.kind {
            relation::SetKind::Union => {
                let union = Plan::Union { left, right };
                if set.all {
                    union
                } else {
                    let on = (0..set.types.len()).map(Program::column).collect();
                    Plan::Distinct {
                        input: Box::new(union),
                        on,
                        types: set.types,
                        is_grouped: false,
                    }
                }
            }
            kind => Plan::Set {
                kind,
                all: set.all,
                left,
                right,
                types: set.types,
            },
        };
        Ok(Node { plan, layout })
    }
}

/// Returns columns, and those of some expressions.
pub(super) fn with<'e>(
    needed: &BTreeSet<ColumnId>,
    expressions: impl IntoIterator<Item = &'e Expression>,
) -> BTreeSet<ColumnId> {
    let mut all = needed.clone();
    expressions
        .into_iter()
        .for_each(|expression| all.extend(expression.columns()));
    all
}

/// Returns the layout in which the rows of a table are stored.
pub fn row_layout(table: &Table) -> Result<Arc<RowLayout>> {
    let types: Vec<Type> = table.columns.iter().map(|column| column.ty).collect();
    RowLayout::new(&types).map(Arc::new)
}

/// Returns a plan whose rows have only the columns at `positions`, in this order.
pub(super) fn arranged(node: Node, positions: &[usize]) -> Plan {
    if node.layout.width() == positions.len()
        && positions
            .iter()
            .enumerate()
            .all(|(at, position)| at == *position)
    {
        return node.plan;
    }
    let values = positions.iter().map(|at| Program::column(*at)).collect();
    Plan::Project {
        input: Box::new(node.plan),
        values,
    }
}
