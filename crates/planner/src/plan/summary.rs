//! Groups, windows, order, and the first of equal rows.

use std::{collections::BTreeSet, sync::Arc};

use batch::BATCH_ROWS;
use types::Result;

use super::{
    AggregateCall, Bound, IncrementalSort, Plan, SortKey, Window, WindowOrder,
    estimate::constant,
    implied::is_same,
    lower::{Lowering, Node, with},
    ordering::{Given, Ordering},
};
use crate::program::Layout;
use logical::{
    expression::{ColumnId, Expression},
    relation::{self, FrameBound, Relation},
};

impl Lowering {
    pub(super) fn aggregate(&mut self, aggregate: relation::Aggregate) -> Result<Node> {
        if let Some((relation, _)) = self.extremes_by_index(&aggregate) {
            let columns = aggregate.calls.iter().map(|call| call.column);
            return self.lower(relation, &columns.collect());
        }
        let arguments = aggregate.calls.iter().flat_map(|call| {
            call.arguments
                .iter()
                .chain(call.order.iter().map(|key| &key.expression))
                .chain(&call.filter)
        });
        let keys = aggregate.keys.iter().map(|(_, key)| key);
        let input = self.lower_whole(
            (*aggregate.input).clone(),
            &with(&BTreeSet::new(), keys.chain(arguments)),
        )?;
        let mut calls = Vec::with_capacity(aggregate.calls.len());
        for call in &aggregate.calls {
            calls.push(AggregateCall {
                function: call.function,
                arguments: self.programs(&call.arguments, &input.layout)?,
                argument_types: call.arguments.iter().map(|argument| argument.ty).collect(),
                distinct: call.distinct,
                order: self.sort_keys(&call.order, &input.layout)?,
                filter: call
                    .filter
                    .as_ref()
                    .map(|filter| self.program(filter, &input.layout))
                    .transpose()?,
            });
        }
        let keys = self.programs(aggregate.keys.iter().map(|(_, key)| key), &input.layout)?;
        let layout = Layout::new(
            aggregate
                .keys
                .iter()
                .map(|(id, _)| *id)
                .chain(aggregate.set_number)
                .chain(aggregate.calls.iter().map(|call| call.column)),
        );
        let plan = Plan::Aggregate(Arc::new(super::Aggregate {
            input: Box::new(input.plan),
            keys,
            key_types: aggregate.keys.iter().map(|(_, key)| key.ty).collect(),
            sets: aggregate.sets,
            with_set_number: aggregate.set_number.is_some(),
            calls,
        }));
        Ok(Node { plan, layout })
    }

    pub(super) fn window(
        &mut self,
        input: Relation,
        calls: &[relation::WindowCall],
        needed: &BTreeSet<ColumnId>,
    ) -> Result<Node> {
        let mut wanted = needed.clone();
        for call in calls {
            call.clone()
                .for_each_expression_mut(&mut |expression| wanted.extend(expression.columns()));
        }
        let node = self.lower(input, &wanted)?;
        let mut windows = Vec::with_capacity(calls.len());
        let (mut known, mut orders) = (Vec::new(), Vec::new());
        for call in calls {
            let own = (&call.window.partition, &call.window.order);
            let order = known.iter().position(|other| *other == own);
            let order = match order {
                Some(order) => order,
                None => {
                    known.push(own);
                    orders.push(self.window_order(&call.window, &node.layout)?);
                    orders.len() - 1
                }
            };
            windows.push(Window {
                function: call.function,
                arguments: self.programs(&call.arguments, &node.layout)?,
                argument_types: call.arguments.iter().map(|argument| argument.ty).collect(),
                filter: call
                    .filter
                    .as_ref()
                    .map(|filter| self.program(filter, &node.layout))
                    .transpose()?,
                order,
                units: call.window.frame.units,
                start: self.bound(&call.window.frame.start, &node.layout)?,
                end: self.bound(&call.window.frame.end, &node.layout)?,
            });
        }
        let mut layout = node.layout;
        calls.iter().for_each(|call| layout.push(call.column));
        Ok(Node {
            plan: Plan::Window {
                input: Box::new(node.plan),
                orders,
                windows,
            },
            layout,
        })
    }

    fn window_order(&self, window: &relation::Window, layout: &Layout) -> Result<WindowOrder> {
        let in_any_order = |value: &Expression| relation::SortKey {
            expression: value.clone(),
            descending: false,
            nulls_first: false,
        };
        let mut keys: Vec<_> = window.partition.iter().map(in_any_order).collect();
        keys.extend_from_slice(&window.order);
        Ok(WindowOrder {
            keys: self.sort_keys(&keys, layout)?,
            partition: window.partition.len(),
        })
    }

    /// Lowers a bound of a frame, whose distance may be a subquery's column.
    pub(super) fn bound(&self, bound: &FrameBound, layout: &Layout) -> Result<Bound> {
        let program = |distance| self.program(distance, layout);
        Ok(match bound {
            FrameBound::UnboundedPreceding => Bound::UnboundedPreceding,
            FrameBound::Preceding(distance) => Bound::Preceding(program(distance)?),
            FrameBound::CurrentRow => Bound::CurrentRow,
            FrameBound::Following(distance) => Bound::Following(program(distance)?),
            FrameBound::UnboundedFollowing => Bound::UnboundedFollowing,
        })
    }

    pub(super) fn sort_keys(
        &self,
        keys: &[relation::SortKey],
        layout: &Layout,
    ) -> Result<Vec<SortKey>> {
        let key = |key: &relation::SortKey| {
            Ok(SortKey {
                value: self.program(&key.expression, layout)?,
                ty: key.expression.ty,
                descending: key.descending,
                nulls_first: key.nulls_first,
            })
        };
        keys.iter().map(key).collect()
    }

    pub(super) fn sort(
        &mut self,
        input: Relation,
        keys: &[relation::SortKey],
        limit: Option<&Expression>,
        needed: &BTreeSet<ColumnId>,
    ) -> Result<Node> {
        // A sort of some rows at a time reads as many at first as a batch has, unless fewer are enough.
        let wanted_rows = limit.map(|limit| {
            let batch = BATCH_ROWS as f64;
            constant(limit).map_or(batch, |limit| limit.clamp(1.0, batch))
        });
        let limit = limit
            .map(|limit| self.program(limit, &Layout::default()))
            .transpose()?;
        let ordering = Ordering::of(&input);
        let wanted = with(needed, keys.iter().map(|key| &key.expression));
        self.in_order = ordering
            .as_ref()
            .and_then(|ordering| ordering.path_to_first(keys, wanted_rows?, &self.estimator));
        let lowered = match ordering {
            Some(_) => self.lower(input, &wanted),
            None => self.lower_whole(input, &wanted),
        };
        self.in_order = None;
        let mut node = lowered?;
        let given = match ordering {
            Some(ordering) => ordering.given(&mut node, keys, wanted_rows, self)?,
            None => Given::default(),
        };
        if given.keys == keys.len() {
            return Ok(node);
        }
        let input = Box::new(node.plan);
        let keys = self.sort_keys(keys, &node.layout)?;
        let plan = match given.keys {
            0 => Plan::Sort { input, keys, limit },
            presorted => Plan::IncrementalSort(IncrementalSort {
                input,
                keys,
                presorted,
                limit,
                groups: given.groups,
            }),
        };
        Ok(Node {
            plan,
            layout: node.layout,
        })
    }

    pub(super) fn limit(
        &mut self,
        input: Relation,
        limit: Option<&Expression>,
        offset: Option<&Expression>,
        with_ties: Option<&[relation::SortKey]>,
        needed: &BTreeSet<ColumnId>,
    ) -> Result<Node> {
        let empty = Layout::default();
        let program = |lowering: &Self, count: Option<&Expression>| {
            count
                .map(|count| lowering.program(count, &empty))
                .transpose()
        };
        let count = program(self, limit)?;
        let skip = program(self, offset)?;
        let ties = with_ties
            .unwrap_or_default()
            .iter()
            .map(|key| &key.expression);
        let wanted = with(needed, ties);
        self.limits += 1;
        let estimate = self.estimate(&input);
        let node = match input {
            // Only as many rows as the limit says have to be kept in order.
            Relation::Sort { input, keys } if skip.is_none() && with_ties.is_none() => {
                let node = self.sort(*input, &keys, limit, &wanted)?;
                self.explained(node, estimate)
            }
            input => self.lower(input, &wanted)?,
        };
        self.limits -= 1;
        let with_ties = with_ties
            .map(|keys| self.sort_keys(keys, &node.layout))
            .transpose()?;
        let plan = Plan::Limit {
            input: Box::new(node.plan),
            limit: count,
            offset: skip,
            with_ties,
        };
        Ok(Node {
            plan,
            layout: node.layout,
        })
    }

    /// Lowers a relation that gives the first of several rows that are equal in `on`.
    pub(super) fn distinct(
        &mut self,
        mut input: Relation,
        on: &[Expression],
        needed: &BTreeSet<ColumnId>,
    ) -> Result<Node> {
        let is_grouped = group_equal_rows(&mut input, on);
        let node = self.lower(input, &with(needed, on))?;
        let plan = Plan::Distinct {
            input: Box::new(node.plan),
            on: self.programs(on, &node.layout)?,
            types: on.iter().map(|expression| expression.ty).collect(),
            is_grouped,
        };
        Ok(Node {
            plan,
            layout: node.layout,
        })
    }
}

/// Returns whether rows that are equal in `on` come one after the other: the relation is a sort that begins with values
/// of `on` alone. Values that are missing are added behind its keys if all of these are among `on`.
fn group_equal_rows(relation: &mut Relation, on: &[Expression]) -> bool {
    let Relation::Sort { keys, .. } = relation else {
        return false;
    };
    let is_of = |key: &relation::SortKey| on.iter().any(|value| is_same(&key.expression, value));
    let leading = keys.iter().take_while(|key| is_of(key)).count();
    let is_key = |value: &Expression| {
        let mut leading = keys[..leading].iter();
        leading.any(|key| is_same(&key.expression, value))
    };
    let missing: Vec<_> = { on.iter() }
        .filter(|value| !is_key(value))
        .cloned()
        .collect();
    // A value that differs each time that it is computed has no order.
    let is_grouped =
        (missing.is_empty() || leading == keys.len()) && on.iter().all(Expression::is_stable);
    if is_grouped {
        keys.extend(missing.into_iter().map(|expression| relation::SortKey {
            expression,
            descending: false,
            nulls_first: false,
        }));
    }
    is_grouped
}
