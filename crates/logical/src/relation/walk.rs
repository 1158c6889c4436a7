//! Walks over the parts of relations: their expressions, inputs and columns.

use std::collections::BTreeSet;

use super::{
    Applied, ChangeKind, FrameBound, MergeKind, Relation, Scan, Shared, SharedBody, SortKey,
    Subquery, SubqueryKind, WindowCall,
};
use crate::expression::{ColumnId, Expression, Kind};
use syntax::phase;

impl Relation {
    /// Calls `visit` with each expression of this relation and of all within it.
    pub fn for_each_expression_mut(&mut self, visit: &mut impl FnMut(&mut Expression)) {
        self.for_each_own_expression_mut(visit);
        self.for_each_input_mut(&mut |input| input.for_each_expression_mut(visit));
    }

    /// Calls `visit` with each table that is read.
    pub fn for_each_scan_mut(&mut self, visit: &mut impl FnMut(&mut Scan)) {
        if let Relation::Scan(scan) = self {
            visit(scan);
        }
        self.for_each_input_mut(&mut |input| input.for_each_scan_mut(visit));
    }

    /// Calls `visit` with the direct inputs of this relation, subqueries included.
    pub fn for_each_input_mut<'r>(&'r mut self, visit: &mut impl FnMut(&'r mut Relation)) {
        match self {
            Relation::Rows { .. }
            | Relation::CopySource { .. }
            | Relation::Scan(_)
            | Relation::System(_)
            | Relation::Functions { .. }
            | Relation::Shared { .. } => {}
            Relation::Filter { input, .. }
            | Relation::Compute { input, .. }
            | Relation::Expand { input, .. }
            | Relation::Calls { input, .. }
            | Relation::Window { input, .. }
            | Relation::Distinct { input, .. }
            | Relation::Sort { input, .. }
            | Relation::Limit { input, .. }
            | Relation::Lock { input, .. } => visit(input),
            Relation::Join(join) => {
                visit(&mut join.left);
                visit(&mut join.right);
            }
            Relation::Apply { input, subquery } => {
                visit(input);
                visit(&mut subquery.relation);
            }
            Relation::Aggregate(aggregate) => visit(&mut aggregate.input),
            Relation::Set(set) => {
                visit(&mut set.left);
                visit(&mut set.right);
            }
            Relation::With { definitions, body } => {
                for Shared { body, .. } in definitions {
                    match body {
                        SharedBody::Query(query) => visit(query),
                        SharedBody::Recursive { initial, step, .. } => {
                            visit(initial);
                            visit(step);
                        }
                    }
                }
                visit(body);
            }
            Relation::Insert(insert) => visit(&mut insert.input),
            Relation::Change(change) => visit(&mut change.input),
            Relation::Merge(merge) => visit(&mut merge.input),
        }
    }

    /// Calls `visit` with each expression of this relation alone.
    pub(super) fn for_each_own_expression_mut(&mut self, visit: &mut impl FnMut(&mut Expression)) {
        match self {
            Relation::CopySource { .. }
            | Relation::Scan(_)
            | Relation::System(_)
            | Relation::Shared { .. }
            | Relation::Set(_)
            | Relation::With { .. }
            | Relation::Lock { .. } => {}
            Relation::Rows { rows, .. } => rows.iter_mut().flatten().for_each(visit),
            Relation::Functions { calls, .. } => {
                calls
                    .iter_mut()
                    .flat_map(|call| &mut call.arguments)
                    .for_each(visit);
            }
            Relation::Filter { predicate, .. } => visit(predicate),
            Relation::Compute { columns, .. } => {
                columns.iter_mut().map(|(_, value)| value).for_each(visit)
            }
            Relation::Expand { calls, .. } => {
                calls
                    .iter_mut()
                    .flat_map(|call| &mut call.arguments)
                    .for_each(visit);
            }
            Relation::Calls { calls, .. } => {
                calls
                    .iter_mut()
                    .flat_map(|call| &mut call.arguments)
                    .for_each(visit);
            }
            Relation::Join(join) => join.on.iter_mut().for_each(visit),
            Relation::Apply { subquery, .. } => {
                if let SubqueryKind::Any(tests) = &mut subquery.kind {
                    tests.iter_mut().for_each(visit);
                }
            }
            Relation::Aggregate(aggregate) => {
                aggregate.keys.iter_mut().for_each(|(_, key)| visit(key));
                for call in &mut aggregate.calls {
                    call.arguments.iter_mut().for_each(&mut *visit);
                    keys(&mut call.order, visit);
                    call.filter.iter_mut().for_each(&mut *visit);
                }
            }
            Relation::Window { calls, .. } => calls
                .iter_mut()
                .for_each(|call| call.for_each_expression_mut(visit)),
            Relation::Distinct { on, .. } => on.iter_mut().for_each(visit),
            Relation::Sort { keys: sort, .. } => keys(sort, visit),
            Relation::Limit {
                limit,
                offset,
                with_ties,
                ..
            } => {
                limit.iter_mut().chain(offset).for_each(&mut *visit);
                with_ties.iter_mut().for_each(|sort| keys(sort, visit));
            }
            Relation::Insert(insert) => {
                insert.values.iter_mut().for_each(&mut *visit);
                if let Some(update) = insert
                    .on_conflict
                    .as_mut()
                    .and_then(|conflict| conflict.update.as_mut())
                {
                    update
                        .assignments
                        .iter_mut()
                        .for_each(|(_, value)| visit(value));
                    update.predicate.iter_mut().for_each(&mut *visit);
                }
            }
            Relation::Change(change) => {
                if let ChangeKind::Update { assignments, .. } = &mut change.kind {
                    assignments.iter_mut().for_each(|(_, value)| visit(value));
                }
            }
            Relation::Merge(merge) => {
                for action in &mut merge.actions {
                    action.predicate.iter_mut().for_each(&mut *visit);
                    match &mut action.kind {
                        MergeKind::Insert(values) => values.iter_mut().for_each(&mut *visit),
                        MergeKind::Update(assignments) => {
                            assignments.iter_mut().for_each(|(_, value)| visit(value));
                        }
                        MergeKind::Delete => {}
                    }
                }
            }
        }
    }

    /// Returns the columns that the relation's rows have.
    pub fn columns(&self) -> Vec<ColumnId> {
        let mut columns = match self {
            Relation::Filter { input, .. }
            | Relation::Distinct { input, .. }
            | Relation::Sort { input, .. }
            | Relation::Limit { input, .. }
            | Relation::Lock { input, .. }
            | Relation::Compute { input, .. }
            | Relation::Expand { input, .. }
            | Relation::Apply { input, .. }
            | Relation::Calls { input, .. }
            | Relation::Window { input, .. } => input.columns(),
            Relation::Join(join) => {
                let mut columns = join.left.columns();
                if !matches!(join.kind, super::JoinKind::Semi | super::JoinKind::Anti) {
                    columns.extend(join.right.columns());
                }
                columns
            }
            Relation::With { body, .. } => body.columns(),
            Relation::Insert(insert) => insert.input.columns(),
            Relation::Change(change) => change.input.columns(),
            _ => Vec::new(),
        };
        columns.extend(self.own_columns());
        columns
    }

    /// Returns the columns that the relation's rows have and those of its inputs have not.
    pub(super) fn own_columns(&self) -> Vec<ColumnId> {
        match self {
            Relation::Rows { columns, .. } | Relation::CopySource { columns } => columns.clone(),
            Relation::Scan(scan) => scan
                .columns
                .iter()
                .map(|(id, _)| *id)
                .chain([scan.key])
                .collect(),
            Relation::System(scan) => scan.columns.iter().map(|(id, _)| *id).collect(),
            Relation::Functions { calls, ordinality } => calls
                .iter()
                .flat_map(|call| call.columns.iter().copied())
                .chain(*ordinality)
                .collect(),
            Relation::Shared { columns, .. } => columns.iter().map(|(id, _)| *id).collect(),
            Relation::Compute { columns, .. } => columns.iter().map(|(id, _)| *id).collect(),
            Relation::Expand { calls, .. } => calls
                .iter()
                .flat_map(|call| call.columns.iter().copied())
                .collect(),
            Relation::Apply { subquery, .. } => vec![subquery.column],
            Relation::Calls { calls, .. } => calls.iter().map(|call| call.column).collect(),
            Relation::Aggregate(aggregate) => {
                let keys = aggregate.keys.iter().map(|(id, _)| *id);
                keys.chain(aggregate.set_number)
                    .chain(aggregate.calls.iter().map(|call| call.column))
                    .collect()
            }
            Relation::Window { calls, .. } => calls.iter().map(|call| call.column).collect(),
            Relation::Set(set) => set.columns.iter().map(|(id, _, _)| *id).collect(),
            Relation::Insert(insert) => insert.new.clone(),
            Relation::Change(change) => match &change.kind {
                ChangeKind::Update { new, .. } => new.clone(),
                ChangeKind::Delete => Vec::new(),
            },
            Relation::Filter { .. }
            | Relation::Join(_)
            | Relation::Distinct { .. }
            | Relation::Sort { .. }
            | Relation::Limit { .. }
            | Relation::With { .. }
            | Relation::Lock { .. }
            | Relation::Merge(_) => Vec::new(),
        }
    }

    /// Returns the columns that are used within the relation, but come from queries around it.
    pub fn outer_columns(&self) -> BTreeSet<ColumnId> {
        let mut used = BTreeSet::new();
        let mut made = BTreeSet::new();
        // The walk changes nothing; there is only a mutable one.
        self.clone().walk(&mut |relation| {
            made.extend(relation.columns());
            match relation {
                Relation::Insert(insert) => {
                    if let Some(update) = insert
                        .on_conflict
                        .as_ref()
                        .and_then(|conflict| conflict.update.as_ref())
                    {
                        made.extend(update.old.iter().chain(&update.excluded));
                    }
                }
                Relation::Apply { subquery, .. } => made.extend(subquery.relation.columns()),
                Relation::Join(join) => made.extend(join.right.columns()),
                _ => {}
            }
            relation.for_each_own_expression_mut(&mut |expression| {
                expression.walk(&mut |part| {
                    if let Kind::Column(id) = part.kind {
                        used.insert(id);
                    }
                });
            });
        });
        used.difference(&made).copied().collect()
    }

    /// Returns whether the relation has the same rows each time that it is read with the same rows
    /// around it: it calls nothing volatile, changes and locks nothing, and reads no shared
    /// relation, which may be one that reads itself. Functions in FROM are called once for the same
    /// rows around them, even volatile ones.
    pub fn gives_the_same_again(mut self) -> bool {
        let mut is_stable = true;
        self.walk(&mut |relation| {
            is_stable &= !matches!(
                relation,
                Relation::Shared { .. }
                    | Relation::CopySource { .. }
                    | Relation::Calls { .. }
                    | Relation::Lock { .. }
                    | Relation::Insert(_)
                    | Relation::Change(_)
                    | Relation::Merge(_)
            );
            if !matches!(relation, Relation::Functions { .. }) {
                relation.for_each_own_expression_mut(&mut |expression| {
                    is_stable &= expression.is_stable();
                });
            }
        });
        is_stable
    }

    /// Calls `visit` with this relation and all within it, outermost first.
    pub fn walk(&mut self, visit: &mut impl FnMut(&mut Relation)) {
        phase::pause();
        visit(self);
        self.for_each_input_mut(&mut |input| input.walk(visit));
    }
}

impl Applied {
    /// Returns the columns of the rows around it that the part is computed from.
    pub fn outer_columns(&self) -> BTreeSet<ColumnId> {
        match self {
            Applied::Query(subquery) => {
                let mut columns = subquery.relation.outer_columns();
                if let SubqueryKind::Any(tests) = &subquery.kind {
                    let own = subquery.relation.columns();
                    let tested = tests.iter().flat_map(Expression::columns);
                    columns.extend(tested.filter(|id| !own.contains(id)));
                }
                columns
            }
            Applied::Call(call) => call
                .arguments
                .iter()
                .flat_map(Expression::columns)
                .collect(),
        }
    }

    /// Returns the column that the part adds.
    pub fn column(&self) -> ColumnId {
        match self {
            Applied::Query(subquery) => subquery.column,
            Applied::Call(call) => call.column,
        }
    }

    /// Calls `visit` with each expression within it.
    pub fn for_each_expression_mut(&mut self, visit: &mut impl FnMut(&mut Expression)) {
        match self {
            Applied::Query(subquery) => subquery.for_each_expression_mut(visit),
            Applied::Call(call) => call.arguments.iter_mut().for_each(visit),
        }
    }
}

impl Subquery {
    /// Calls `visit` with each expression within it.
    pub fn for_each_expression_mut(&mut self, visit: &mut impl FnMut(&mut Expression)) {
        if let SubqueryKind::Any(tests) = &mut self.kind {
            tests.iter_mut().for_each(&mut *visit);
        }
        self.relation.for_each_expression_mut(visit);
    }
}

impl WindowCall {
    /// Calls `visit` with each expression of it.
    pub fn for_each_expression_mut(&mut self, visit: &mut impl FnMut(&mut Expression)) {
        self.arguments.iter_mut().for_each(&mut *visit);
        self.filter.iter_mut().for_each(&mut *visit);
        self.window.partition.iter_mut().for_each(&mut *visit);
        keys(&mut self.window.order, visit);
        for bound in [&mut self.window.frame.start, &mut self.window.frame.end] {
            if let FrameBound::Preceding(distance) | FrameBound::Following(distance) = bound {
                visit(distance);
            }
        }
    }
}

fn keys(keys: &mut [SortKey], visit: &mut impl FnMut(&mut Expression)) {
    keys.iter_mut().for_each(|key| visit(&mut key.expression));
}
