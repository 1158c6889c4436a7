//! GROUP BY: what rows are grouped by, and that everything above the groups is made of them.

use std::collections::HashSet;

use sqlparser::ast::{Expr, GroupByExpr, SelectItem};
use types::{Result, Scalar, SqlError, SqlState, Type, TypeModifier};

use super::{
    Binder,
    scope::Scope,
    select::{Item, List, applied},
};
use crate::{
    expression::{ColumnId, Expression, Kind},
    relation::{Aggregate, Applied, FunctionCall, Relation, SortKey},
};

/// Grouping sets beyond this many are refused, as PostgreSQL does.
const SETS_MAX: usize = 4096;

/// What a GROUP BY clause says.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// Each once.
    keys: Vec<Expression>,
    /// Positions among them.
    sets: Vec<Vec<usize>>,
    /// Subqueries of keys that stand in no select list: they are asked for the rows that are
    /// grouped.
    subqueries: Vec<Applied>,
}

impl Groups {
    /// Whether there is no such clause.
    pub(super) fn is_plain(&self) -> bool {
        self.sets.is_empty()
    }

    fn key(&mut self, expression: Expression) -> usize {
        match self.keys.iter().position(|key| *key == expression) {
            Some(at) => at,
            None => {
                self.keys.push(expression);
                self.keys.len() - 1
            }
        }
    }
}

impl Binder<'_> {
    /// Binds a GROUP BY clause. Names of outputs stand for them where no column has the name.
    pub(super) fn groups(
        &mut self,
        group_by: &GroupByExpr,
        written: &[SelectItem],
        list: &List,
        scope: &Scope<'_>,
    ) -> Result<Groups> {
        let mut groups = Groups::default();
        let items = Items {
            written,
            items: &list.items,
        };
        let GroupByExpr::Expressions(expressions, modifiers) = group_by else {
            return Err(SqlError::unsupported("GROUP BY ALL"));
        };
        if !modifiers.is_empty() {
            return Err(SqlError::unsupported("WITH ROLLUP").hint("Write GROUP BY ROLLUP (...)."));
        }
        if expressions.is_empty() {
            return Ok(groups);
        }
        // Several items of a GROUP BY are combined each with each.
        let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
        for expr in expressions {
            let alternatives = self.grouping_sets(expr, &mut groups, items, scope)?;
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
        Ok(groups)
    }

    fn grouping_sets(
        &mut self,
        expr: &Expr,
        groups: &mut Groups,
        items: Items<'_>,
        scope: &Scope<'_>,
    ) -> Result<Vec<Vec<usize>>> {
        match expr {
            Expr::GroupingSets(sets) => {
                let mut alternatives = Vec::new();
                for set in sets {
                    match set.as_slice() {
                        // Sets may be nested: `GROUPING SETS (ROLLUP (a, b), c)`.
                        [inner @ (Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_))] => {
                            alternatives.extend(self.grouping_sets(inner, groups, items, scope)?);
                        }
                        set => alternatives.push(self.group_keys(set, groups, items, scope)?),
                    }
                }
                Ok(alternatives)
            }
            Expr::Rollup(parts) => {
                let parts = self.group_parts(parts, groups, items, scope)?;
                Ok((0..=parts.len())
                    .rev()
                    .map(|end| parts[..end].concat())
                    .collect())
            }
            Expr::Cube(parts) => {
                let parts = self.group_parts(parts, groups, items, scope)?;
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
            // `GROUP BY (a, b)` is `GROUP BY a, b`.
            Expr::Tuple(items_of) => Ok(vec![self.group_keys(items_of, groups, items, scope)?]),
            _ => Ok(vec![self.group_keys(
                std::slice::from_ref(expr),
                groups,
                items,
                scope,
            )?]),
        }
    }

    fn group_parts(
        &mut self,
        parts: &[Vec<Expr>],
        groups: &mut Groups,
        items: Items<'_>,
        scope: &Scope<'_>,
    ) -> Result<Vec<Vec<usize>>> {
        parts
            .iter()
            .map(|part| self.group_keys(part, groups, items, scope))
            .collect()
    }

    fn group_keys(
        &mut self,
        expressions: &[Expr],
        groups: &mut Groups,
        items: Items<'_>,
        scope: &Scope<'_>,
    ) -> Result<Vec<usize>> {
        let mut keys = Vec::with_capacity(expressions.len());
        for expr in expressions {
            let expression = self.group_key(expr, groups, items, scope)?;
            keys.push(groups.key(expression));
        }
        Ok(keys)
    }

    fn group_key(
        &mut self,
        expr: &Expr,
        groups: &mut Groups,
        Items { written, items }: Items<'_>,
        scope: &Scope<'_>,
    ) -> Result<Expression> {
        if let Some(at) = self.output_position(expr, items.len(), "GROUP BY")? {
            return self.known(items[at].value.clone());
        }
        // Columns go before outputs here, other than in ORDER BY.
        if let Expr::Identifier(ident) = expr {
            let folded = crate::name::fold(ident);
            if scope.column(&folded)?.is_none()
                && let Some(item) = items.iter().find(|item| item.name == folded)
            {
                return self.known(item.value.clone());
            }
        }
        let mut clause = super::clause::Clause::plain("GROUP BY");
        let expression = self.typed(expr, scope, &mut clause)?;
        if !clause.subqueries.is_empty() {
            // A subquery is the same as another one if it is written so.
            let is_it = |item: &&Item| match &written[item.place] {
                SelectItem::UnnamedExpr(other) | SelectItem::ExprWithAlias { expr: other, .. } => {
                    bare(other) == bare(expr)
                }
                _ => false,
            };
            if let Some(item) = items.iter().find(is_it) {
                return self.known(item.value.clone());
            }
            groups.subqueries.append(&mut clause.subqueries);
        }
        // Where the same expression stands above the groups, it is the key.
        self.needs_literal(&expression)?;
        Ok(expression)
    }

    /// Groups the rows, and has everything above computed from keys and aggregates alone.
    pub(super) fn grouped(
        &mut self,
        relation: Relation,
        groups: Groups,
        list: &mut List,
        having: &mut Option<Expression>,
        order: &mut [SortKey],
        on: Option<&mut Vec<Expression>>,
        scope: &Scope<'_>,
    ) -> Result<Relation> {
        let relation = applied(relation, std::mem::take(&mut list.aggregates.subqueries));
        let relation = applied(relation, groups.subqueries);
        let (relation, below) = self.below(relation, &groups.keys, list)?;
        let keys: Vec<(ColumnId, Expression)> = groups
            .keys
            .into_iter()
            .map(|key| (self.new_column(), key))
            .collect();
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
                .chain(below)
                .collect(),
            keys,
            single: sets.len() == 1,
            added: Vec::new(),
            failed: None,
        };
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

impl Binder<'_> {
    /// Has those subqueries, and functions that return sets, of a select list computed for the
    /// rows that are grouped that keys are made of; with their columns.
    ///
    /// # Errors
    /// 42803 and 42P20 for keys that are made of aggregates or of window functions.
    fn below(
        &mut self,
        relation: Relation,
        keys: &[Expression],
        list: &mut List,
    ) -> Result<(Relation, Vec<ColumnId>)> {
        let mut needed: HashSet<ColumnId> = keys.iter().flat_map(Expression::columns).collect();
        if list
            .aggregates
            .calls
            .iter()
            .any(|call| needed.contains(&call.column))
        {
            let message = "aggregate functions are not allowed in GROUP BY";
            return Err(SqlError::new(SqlState::GROUPING_ERROR, message));
        }
        if list
            .windows
            .iter()
            .any(|call| needed.contains(&call.column))
        {
            let message = "window functions are not allowed in GROUP BY";
            return Err(SqlError::new(SqlState::WINDOWING_ERROR, message));
        }
        let mut columns = Vec::new();
        let is_set = |call: &mut FunctionCall| call.columns.iter().any(|id| needed.contains(id));
        let sets: Vec<FunctionCall> = list.sets.extract_if(.., is_set).collect();
        for call in &sets {
            columns.extend_from_slice(&call.columns);
            needed.extend(call.arguments.iter().flat_map(Expression::columns));
        }
        // Each may be made of those before it.
        let mut below = Vec::new();
        for at in (0..list.subqueries.len()).rev() {
            if !needed.contains(&list.subqueries[at].column()) {
                continue;
            }
            let mut applied = list.subqueries.remove(at);
            columns.push(applied.column());
            applied.for_each_expression_mut(&mut |expression| needed.extend(expression.columns()));
            below.push(applied);
        }
        below.reverse();
        let mut relation = applied(relation, below);
        if !sets.is_empty() {
            relation = Relation::Expand {
                input: Box::new(relation),
                calls: sets,
            };
        }
        Ok((relation, columns))
    }
}

/// An expression without the parentheses around it.
fn bare(mut expr: &Expr) -> &Expr {
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

/// A select list, as it was written and as it was bound.
#[derive(Clone, Copy)]
struct Items<'l> {
    written: &'l [SelectItem],
    items: &'l [Item],
}

/// What expressions above the groups may be made of.
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
            let all = self.keys.iter().chain(&self.added);
            if let Some((id, _)) = all.into_iter().find(|(_, key)| key == part) {
                return Some(Expression::column(*id, part.ty, part.modifier));
            }
            let Kind::Column(id) = part.kind else {
                return None;
            };
            if self.given.contains(&id) || !self.local.contains(&id) {
                return None;
            }
            if self.single && self.depends(id, scope) {
                let column = binder.new_column();
                self.added.push((column, part.clone()));
                return Some(Expression::column(column, part.ty, part.modifier));
            }
            self.failed.get_or_insert_with(|| ungrouped(id, scope));
            None
        });
    }

    /// Whether the keys have all of the primary key of the column's table.
    fn depends(&self, id: ColumnId, scope: &Scope<'_>) -> bool {
        let Some((table, _)) = scope.origin(id) else {
            return false;
        };
        let source = scope.sources.iter().find(|source| {
            source
                .columns
                .iter()
                .any(|column| column.value.kind == Kind::Column(id))
        });
        let (Some(source), Some(primary)) = (source, table.primary_key_columns()) else {
            return false;
        };
        primary.iter().all(|attribute| {
            source.columns.iter().any(|column| {
                column.attribute == Some(usize::from(*attribute))
                    && self.keys.iter().any(|(_, key)| *key == column.value)
            })
        })
    }
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
