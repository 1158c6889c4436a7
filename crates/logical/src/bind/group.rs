//! GROUP BY: what rows are grouped by, and that everything above the groups is made of them.

use std::collections::HashSet;

use functions::CastContext;
use types::{Result, Scalar, SqlError, SqlState, Type, TypeModifier};

use super::{
    Binder,
    clause::Clause,
    scope::Scope,
    select::{List, applied, expanded},
};
use crate::{
    expression::{ColumnId, Expression, Kind},
    relation::{Aggregate, Applied, FunctionCall, Relation, SortKey},
};
use catalog::ObjectId;
use syntax::{
    expression::{Expr, ExprKind},
    query::{GroupingElement, Select, SelectItem},
};

/// Grouping sets beyond this many are refused, as PostgreSQL does.
const SETS_MAX: usize = 4096;

/// A key of groups.
#[derive(Debug, PartialEq)]
struct GroupKey {
    expression: Expression,
    /// The item of the select list that it is. With several grouping sets, items with equal
    /// expressions are keys of their own, because one may be NULL where another is not.
    item: Option<usize>,
}

/// The contents of a GROUP BY clause.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// Each once.
    keys: Vec<GroupKey>,
    /// Their columns above the groups.
    columns: Vec<ColumnId>,
    /// Positions among them.
    sets: Vec<Vec<usize>>,
}

impl Groups {
    /// Whether there is no such clause.
    pub(super) fn is_plain(&self) -> bool {
        self.sets.is_empty()
    }

    fn key(&mut self, wanted: GroupKey) -> usize {
        match self.keys.iter().position(|key| *key == wanted) {
            Some(at) => at,
            None => {
                self.keys.push(wanted);
                self.keys.len() - 1
            }
        }
    }
}

impl Binder<'_> {
    /// Binds a GROUP BY clause. Names of outputs stand for them where no column has the name.
    pub(super) fn groups(
        &mut self,
        select: &Select,
        list: &mut List,
        scope: &Scope<'_>,
    ) -> Result<Groups> {
        let mut groups = Groups::default();
        select.supported_grouping()?;
        if select.grouping.is_empty() {
            return Ok(groups);
        }
        let is_set = |element: &GroupingElement| !matches!(element, GroupingElement::Keys(_));
        let mut keys = GroupKeys {
            has_sets: select.grouping.iter().any(is_set),
            binder: self,
            select,
            list,
            scope,
            groups: &mut groups,
        };
        // Several items of a GROUP BY are combined each with each.
        let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
        for element in &select.grouping {
            let alternatives = keys.grouping_sets(element)?;
            let mut combined = Vec::with_capacity(sets.len() * alternatives.len());
            for set in &sets {
                for more in &alternatives {
                    let mut set = set.clone();
                    set.extend(
                        more.iter()
                            .filter(|key| !set.contains(key))
                            .copied()
                            .collect::<Vec<_>>(),
                    );
                    combined.push(set);
                }
            }
            if combined.len() > SETS_MAX {
                let message = format!("too many grouping sets present (maximum {SETS_MAX})");
                return Err(SqlError::new(SqlState::STATEMENT_TOO_COMPLEX, message));
            }
            sets = combined;
        }
        groups.sets = sets;
        groups.columns = groups.keys.iter().map(|_| self.new_column()).collect();
        for (key, id) in groups.keys.iter().zip(&groups.columns) {
            if let Some(at) = key.item {
                let GroupKey { expression, .. } = key;
                list.items[at].value = Expression::column(*id, expression.ty, expression.modifier);
            }
        }
        Ok(groups)
    }
}

/// The keys of a GROUP BY clause while they are bound.
struct GroupKeys<'k, 'b, 's> {
    binder: &'k mut Binder<'b>,
    select: &'k Select,
    list: &'k mut List,
    scope: &'k Scope<'s>,
    groups: &'k mut Groups,
    /// There may be several grouping sets.
    has_sets: bool,
}

impl GroupKeys<'_, '_, '_> {
    fn grouping_sets(&mut self, element: &GroupingElement) -> Result<Vec<Vec<usize>>> {
        match element {
            GroupingElement::Keys(keys) => Ok(vec![self.group_keys(keys)?]),
            GroupingElement::Sets(sets) => {
                let mut alternatives = Vec::new();
                for set in sets {
                    alternatives.extend(self.grouping_sets(set)?);
                }
                Ok(alternatives)
            }
            GroupingElement::Rollup(parts) => {
                let parts = self.group_parts(parts)?;
                Ok((0..=parts.len())
                    .rev()
                    .map(|end| parts[..end].concat())
                    .collect())
            }
            GroupingElement::Cube(parts) => {
                let parts = self.group_parts(parts)?;
                if parts.len() > 12 {
                    return Err(SqlError::new(
                        SqlState::TOO_MANY_COLUMNS,
                        "CUBE is limited to 12 elements",
                    ));
                }
                let all = 1_usize << parts.len();
                Ok((0..all)
                    .rev()
                    .map(|bits| {
                        let kept = parts
                            .iter()
                            .enumerate()
                            .filter(|(at, _)| bits >> (parts.len() - 1 - at) & 1 == 1);
                        kept.flat_map(|(_, part)| part.iter().copied()).collect()
                    })
                    .collect())
            }
        }
    }

    fn group_parts(&mut self, parts: &[Vec<Expr>]) -> Result<Vec<Vec<usize>>> {
        parts.iter().map(|part| self.group_keys(part)).collect()
    }

    fn group_keys(&mut self, expressions: &[Expr]) -> Result<Vec<usize>> {
        let mut keys = Vec::with_capacity(expressions.len());
        for expr in expressions {
            let key = self.group_key(expr)?;
            self.list.refuse_in_key(&key.expression)?;
            keys.push(self.groups.key(key));
        }
        Ok(keys)
    }

    fn group_key(&mut self, expr: &Expr) -> Result<GroupKey> {
        let outputs = self.list.items.len();
        if let Some(at) = self.binder.output_position(expr, outputs, "GROUP BY")? {
            return self.item(at);
        }
        // Columns go before outputs here, other than in ORDER BY.
        if let ExprKind::Name(name) = &expr.kind {
            let named = |item: &super::select::Item| item.name == name.as_str();
            if self.scope.column(name.as_str())?.is_none()
                && let Some(at) = self.list.items.iter().position(named)
            {
                return self.item(at);
            }
        }
        // A subquery that stands in the select list as well is computed once, for both.
        if !self.list.subqueries.is_empty()
            && let Some(at) = self.written(expr)
        {
            return self.item(at);
        }
        let mut clause = Clause::plain("GROUP BY");
        clause.sets = Some(&mut self.list.sets);
        let expression = self.binder.typed(expr, self.scope, &mut clause)?;
        let subqueries = clause.subqueries;
        self.list.subqueries.extend(subqueries);
        // Where the same expression stands above the groups, it is the key.
        self.binder.needs_literal(&expression)?;
        let (_, sets, _) = self.list.used_by(std::slice::from_ref(&expression));
        for at in sets {
            let mut arguments = self.list.sets[at].arguments.iter();
            arguments.try_for_each(|argument| self.binder.needs_literal(argument))?;
        }
        let mut items = self.list.items.iter();
        let item = match self.has_sets {
            true => items.position(|item| item.value == expression),
            false => None,
        };
        Ok(GroupKey { expression, item })
    }

    /// The key that an item of the select list is.
    fn item(&mut self, at: usize) -> Result<GroupKey> {
        let expression = self.binder.known(self.list.items[at].value.clone())?;
        let item = self.has_sets.then_some(at);
        Ok(GroupKey { expression, item })
    }

    /// The item of the select list that has a subquery and is written as this expression is.
    fn written(&self, expr: &Expr) -> Option<usize> {
        let has_subquery = |item: &super::select::Item| {
            let columns = item.value.columns();
            let mut subqueries = self.list.subqueries.iter();
            subqueries.any(|applied| columns.contains(&applied.column()))
        };
        let is_it = |item: &super::select::Item| match &self.select.items[item.place] {
            SelectItem::Value { value, .. } => value == expr && has_subquery(item),
            _ => false,
        };
        self.list.items.iter().position(is_it)
    }
}

/// Operands of the keys of a select list's groups beside the rows of its sources.
struct Beneath {
    subqueries: Vec<Applied>,
    sets: Vec<FunctionCall>,
}

impl List {
    /// Takes out what keys are computed from, subqueries and functions that return sets.
    fn beneath(&mut self, keys: &[Expression]) -> Beneath {
        let (subqueries, sets, _) = self.used_by(keys);
        Beneath {
            subqueries: taken(&mut self.subqueries, &subqueries),
            sets: taken(&mut self.sets, &sets),
        }
    }

    /// The positions of the subqueries and of the functions that expressions are computed from, and
    /// all columns that these are.
    fn used_by(
        &self,
        expressions: &[Expression],
    ) -> (HashSet<usize>, HashSet<usize>, Vec<ColumnId>) {
        let (mut subqueries, mut sets) = (HashSet::new(), HashSet::new());
        let mut columns: Vec<ColumnId> = expressions.iter().flat_map(Expression::columns).collect();
        let mut next = 0;
        while let Some(id) = columns.get(next).copied() {
            next += 1;
            let is_of = |applied: &Applied| applied.column() == id;
            if let Some(at) = self.subqueries.iter().position(is_of)
                && subqueries.insert(at)
            {
                columns.extend(self.subqueries[at].outer_columns());
            }
            let is_of = |call: &FunctionCall| call.columns.contains(&id);
            if let Some(at) = self.sets.iter().position(is_of)
                && sets.insert(at)
            {
                let arguments = &self.sets[at].arguments;
                columns.extend(arguments.iter().flat_map(Expression::columns));
            }
        }
        (subqueries, sets, columns)
    }

    /// Rows are grouped before windows and aggregates are computed.
    fn refuse_in_key(&self, key: &Expression) -> Result<()> {
        let (_, _, columns) = self.used_by(std::slice::from_ref(key));
        if self
            .windows
            .iter()
            .any(|call| columns.contains(&call.column))
        {
            let message = "window functions are not allowed in GROUP BY";
            return Err(SqlError::new(SqlState::WINDOWING_ERROR, message));
        }
        let calls = self.aggregates.calls.iter().map(|call| call.column);
        let grouping = self.aggregates.grouping.iter().map(|(column, _)| *column);
        if calls
            .chain(grouping)
            .any(|column| columns.contains(&column))
        {
            let message = "aggregate functions are not allowed in GROUP BY";
            return Err(SqlError::new(SqlState::GROUPING_ERROR, message));
        }
        Ok(())
    }
}

/// Takes the items at some positions out of a list.
fn taken<T>(all: &mut Vec<T>, positions: &HashSet<usize>) -> Vec<T> {
    let items = std::mem::take(all).into_iter().enumerate();
    let (out, kept): (Vec<_>, Vec<_>) = items.partition(|(at, _)| positions.contains(at));
    all.extend(kept.into_iter().map(|(_, item)| item));
    out.into_iter().map(|(_, item)| item).collect()
}

/// Clauses that are computed from groups, beside the select list.
pub(super) struct AboveGroups<'c> {
    pub(super) having: &'c mut Option<Expression>,
    pub(super) order: &'c mut [SortKey],
    /// `DISTINCT ON`.
    pub(super) on: Option<&'c mut Vec<Expression>>,
}

impl Binder<'_> {
    /// Groups the rows, and has everything above computed from keys and aggregates alone.
    pub(super) fn grouped(
        &mut self,
        relation: Relation,
        groups: Groups,
        list: &mut List,
        clauses: AboveGroups<'_>,
        scope: &Scope<'_>,
    ) -> Result<Relation> {
        let AboveGroups { having, order, on } = clauses;
        let relation = applied(relation, std::mem::take(&mut list.aggregates.subqueries));
        let expressions = groups.keys.into_iter().map(|key| key.expression);
        let expressions: Vec<Expression> = expressions.collect();
        let beneath = list.beneath(&expressions);
        let made = beneath.subqueries.iter().map(Applied::column);
        let made: Vec<ColumnId> = made
            .chain(beneath.sets.iter().flat_map(|call| call.columns.clone()))
            .collect();
        let relation = expanded(applied(relation, beneath.subqueries), beneath.sets);
        let keys: Vec<(ColumnId, Expression)> =
            groups.columns.into_iter().zip(expressions).collect();
        let sets = if groups.sets.is_empty() {
            vec![(0..keys.len()).collect()]
        } else {
            groups.sets
        };
        let mut above = Above {
            given: list
                .aggregates
                .calls
                .iter()
                .map(|call| call.column)
                .collect(),
            local: scope
                .sources
                .iter()
                .flat_map(|source| &source.columns)
                .flat_map(|c| c.value.columns())
                .chain(made)
                .collect(),
            keys,
            single: sets.len() == 1,
            added: Vec::new(),
            failed: None,
        };
        above.given.extend(above.keys.iter().map(|(id, _)| *id));
        above
            .given
            .extend(list.windows.iter().map(|call| call.column));
        above
            .given
            .extend(list.subqueries.iter().map(Applied::column));
        above.given.extend(
            list.sets
                .iter()
                .flat_map(|call| call.columns.iter().copied()),
        );

        let set_number = (!list.aggregates.grouping.is_empty()).then(|| self.new_column());
        let grouping = std::mem::take(&mut list.aggregates.grouping);
        above
            .given
            .extend(grouping.iter().map(|(column, _)| *column));

        let items = list.items.iter_mut().map(|item| &mut item.value);
        let keys = order.iter_mut().map(|key| &mut key.expression);
        let on = on.into_iter().flatten();
        for expression in items.chain(having.as_mut()).chain(keys).chain(on) {
            above.rewrite(expression, self, scope);
        }
        for call in &mut list.windows {
            call.for_each_expression_mut(&mut |expression| above.rewrite(expression, self, scope));
        }
        for call in &mut list.sets {
            call.arguments
                .iter_mut()
                .for_each(|argument| above.rewrite(argument, self, scope));
        }
        for subquery in &mut list.subqueries {
            subquery
                .for_each_expression_mut(&mut |expression| above.rewrite(expression, self, scope));
        }
        if let Some(error) = above.failed {
            return Err(error);
        }
        let mut keys = above.keys;
        let mut sets = sets;
        for added in above.added {
            sets.iter_mut().for_each(|set| set.push(keys.len()));
            keys.push(added);
        }
        let computed = grouping
            .into_iter()
            .map(|(column, asked)| Ok((column, grouping_bits(&asked, &keys, &sets, set_number)?)))
            .collect::<Result<Vec<_>>>()?;
        let calls = std::mem::take(&mut list.aggregates.calls);
        let grouped = Relation::Aggregate(Aggregate {
            input: Box::new(relation),
            keys,
            sets,
            set_number,
            calls,
        });
        Ok(if computed.is_empty() {
            grouped
        } else {
            Relation::Compute {
                input: Box::new(grouped),
                columns: computed,
            }
        })
    }
}

/// The columns that expressions above the groups may be made of.
struct Above {
    /// Columns that are there besides the keys.
    given: HashSet<ColumnId>,
    /// Columns of the query's own sources; others are an outer query's.
    local: HashSet<ColumnId>,
    keys: Vec<(ColumnId, Expression)>,
    /// There is but one grouping set.
    single: bool,
    /// Columns that depend on the keys, because these have a table's primary key.
    added: Vec<(ColumnId, Expression)>,
    failed: Option<SqlError>,
}

impl Above {
    fn rewrite(&mut self, expression: &mut Expression, binder: &mut Binder<'_>, scope: &Scope<'_>) {
        expression.replace(&mut |part| {
            let mut all = self.keys.iter().chain(&self.added);
            if let Some((id, _)) = all.find(|(_, key)| is_key_or_relabelled(key, part, scope)) {
                return Some(Expression::column(*id, part.ty, part.modifier));
            }
            let Kind::Column(id) = part.kind else {
                return None;
            };
            if self.given.contains(&id) || !self.local.contains(&id) {
                return None;
            }
            if self.single
                && let Some(key) = self.determined(id, scope)
            {
                binder.note_grouped_by(key);
                let column = binder.new_column();
                self.added.push((column, part.clone()));
                return Some(Expression::column(column, part.ty, part.modifier));
            }
            self.failed.get_or_insert_with(|| ungrouped(id, scope));
            None
        });
    }

    /// The primary key of the column's table, if the keys have all of it.
    fn determined(&self, id: ColumnId, scope: &Scope<'_>) -> Option<ObjectId> {
        let (table, _) = scope.origin(id)?;
        let source = scope.sources.iter().find(|source| {
            source
                .columns
                .iter()
                .any(|column| column.value.kind == Kind::Column(id))
        });
        let (source, primary) = (source?, table.primary_key.as_ref()?);
        let is_key = |attribute: &u16| {
            source.columns.iter().any(|column| {
                column.attribute == Some(usize::from(*attribute))
                    && self.keys.iter().any(|(_, key)| *key == column.value)
            })
        };
        primary.columns.iter().all(is_key).then_some(primary.id)
    }
}

/// Tells whether a part of an expression above the groups is a key, or a key that is cast to a type of equal values
/// (`varchar` to `text`): such a cast changes the type that the expression is said to have, and nothing else. A key
/// that is such a cast of a column is not the column, as in PostgreSQL.
fn is_key_or_relabelled(key: &Expression, part: &Expression, scope: &Scope<'_>) -> bool {
    let is_free = || {
        functions::cast(key.ty, part.ty, CastContext::Explicit).is_some_and(|cast| cast.is_free())
    };
    let has_own_type = || {
        let mut columns = scope.sources.iter().flat_map(|source| &source.columns);
        !matches!(key.kind, Kind::Column(_)) || columns.any(|column| column.value == *key)
    };
    key == part || (key.kind == part.kind && is_free() && has_own_type())
}

fn ungrouped(id: ColumnId, scope: &Scope<'_>) -> SqlError {
    let named = scope.sources.iter().find_map(|source| {
        let column = source
            .columns
            .iter()
            .find(|column| column.value.kind == Kind::Column(id))?;
        Some(match &source.name {
            Some(name) => format!("{name}.{}", column.name),
            None => column.name.clone(),
        })
    });
    let name = named.unwrap_or_default();
    let message = format!(
        "column \"{name}\" must appear in the GROUP BY clause or be used in an aggregate function"
    );
    SqlError::new(SqlState::GROUPING_ERROR, message)
}

/// `GROUPING(a, b)`: a bit for each that is not among the set's keys, as a CASE over the sets.
fn grouping_bits(
    asked: &[Expression],
    keys: &[(ColumnId, Expression)],
    sets: &[Vec<usize>],
    set_number: Option<ColumnId>,
) -> Result<Expression> {
    let int4 = Type::Scalar(Scalar::Int4);
    let number = set_number.map(|id| Expression::column(id, int4, TypeModifier::NONE));
    let Some(number) = number else {
        return Err(SqlError::new(
            SqlState::INTERNAL_ERROR,
            "GROUPING without a set's number",
        ));
    };
    let mut positions = Vec::with_capacity(asked.len());
    for expression in asked {
        let at = keys.iter().position(|(_, key)| key == expression).ok_or_else(|| {
            SqlError::new(
                SqlState::GROUPING_ERROR,
                "arguments to GROUPING must be grouping expressions of the associated query level",
            )
        })?;
        positions.push(at);
    }
    let bits = |set: &Vec<usize>| {
        positions
            .iter()
            .fold(0_i32, |bits, at| bits << 1 | i32::from(!set.contains(at)))
    };
    let values: Vec<Expression> = sets.iter().map(|set| Expression::int4(bits(set))).collect();
    // Arrays count from 1, sets from 0; the number is what the aggregation gives, from 1.
    let array = Expression::new(Kind::Array(values), Type::Array(Scalar::Int4));
    Ok(Expression::new(
        Kind::Element {
            array: Box::new(array),
            indexes: vec![number],
        },
        int4,
    ))
}
