//! `SELECT ... FROM ... WHERE ... GROUP BY ... HAVING ...`, in the order in which it is computed.

use std::{collections::BTreeSet, sync::Arc};

use types::{Result, SqlError, SqlState, Type, TypeModifier};

use super::{
    Binder,
    clause::{Aggregates, Clause},
    group::AboveGroups,
    scalar::place,
    scope::{Part, Scope, SourceColumn},
};
use crate::{
    expression::{ColumnId, Expression, Kind},
    relation::{Applied, FunctionCall, Output, Relation, SortKey, WindowCall},
};
use syntax::{
    expression::{Expr, ExprKind, Literal, NamedWindow, Refused},
    name::{DottedName, QualifiedName},
    query::{Distinct, OrderKey, Select, SelectItem},
};

/// One item of a select list.
pub(super) struct Item {
    pub(super) name: String,
    pub(super) value: Expression,
    /// The place in the list as it was written that it comes from.
    pub(super) place: usize,
}

/// A select list and what its expressions need, before it is put together.
#[derive(Default)]
pub(super) struct List {
    pub(super) items: Vec<Item>,
    pub(super) aggregates: Aggregates,
    pub(super) windows: Vec<WindowCall>,
    pub(super) sets: Vec<FunctionCall>,
    /// Of the select list, HAVING and ORDER BY.
    pub(super) subqueries: Vec<Applied>,
}

impl List {
    /// Whether its expressions are made of the rows below them alone.
    pub(super) fn needs_nothing(&self) -> bool {
        self.aggregates.is_empty()
            && self.windows.is_empty()
            && self.sets.is_empty()
            && self.subqueries.is_empty()
    }
}

impl Binder<'_> {
    /// A query block, ordered.
    pub(super) fn select(
        &mut self,
        select: &Select,
        order: &[OrderKey],
        outer: &Scope<'_>,
    ) -> Result<(Relation, Vec<Output>)> {
        select.supported()?;
        if select.distinct.is_some() && select.items.is_empty() {
            let message = "SELECT DISTINCT must have at least one column";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        self.refuse_second_windows(&select.windows)?;
        let wanted = std::mem::take(&mut self.wanted);
        let mut scope = Scope::within(outer.parent);
        let mut relation = self.from(&select.from, &mut scope)?;
        if let Some(condition) = &select.condition {
            let mut clause = Clause::plain("WHERE");
            scope.part.set(Part::Where);
            let predicate = self.condition(condition, &scope, &mut clause)?;
            relation = filter(applied(relation, clause.subqueries), predicate);
        }
        scope.part.set(Part::List);
        let mut list = self.list(&select.items, &select.windows, &scope)?;
        let groups = self.groups(select, &mut list, &scope)?;
        let having = match &select.having {
            Some(having) => {
                let mut clause = Clause::plain("HAVING");
                clause.aggregates = Some(&mut list.aggregates);
                let having = self.condition(having, &scope, &mut clause)?;
                let subqueries = clause.subqueries;
                list.subqueries.extend(subqueries);
                Some(having)
            }
            None => None,
        };
        let mut on = self.distinct_on(select.distinct.as_ref(), &mut list, &scope)?;
        let mut keys = self.sort_keys(order, &mut list, &select.windows, &scope)?;
        self.known_items(&mut list.items, &wanted)?;
        list.aggregates.extend(scope.aggregates.take());
        if scope.reads_itself && !list.aggregates.calls.is_empty() {
            let message =
                "aggregate functions are not allowed in a recursive query's recursive term";
            return Err(SqlError::new(SqlState::INVALID_RECURSION, message));
        }

        let mut having = having;
        if !groups.is_plain() || !list.aggregates.is_empty() || having.is_some() {
            let clauses = AboveGroups {
                having: &mut having,
                order: &mut keys,
                on: on.as_mut(),
            };
            relation = self.grouped(relation, groups, &mut list, clauses, &scope)?;
        }
        let is_stable = |key: &SortKey| key.expression.is_stable();
        let is_sorted_first = select.distinct.is_none()
            && list.windows.is_empty()
            && list.sets.is_empty()
            // A volatile item that is a key has one value, above and below.
            && keys.iter().all(is_stable);
        let own = keys.iter().map(|key| &key.expression).chain(&having);
        let late = match is_sorted_first && !keys.is_empty() {
            true => late_calls(&mut list.subqueries, own),
            false => Vec::new(),
        };
        relation = applied(relation, std::mem::take(&mut list.subqueries));
        if let Some(having) = having {
            relation = filter(relation, having);
        }
        if !late.is_empty() {
            relation = applied(sorted(relation, std::mem::take(&mut keys)), late);
        }
        if !list.windows.is_empty() {
            let calls = std::mem::take(&mut list.windows);
            relation = Relation::Window {
                input: Box::new(relation),
                calls,
            };
        }
        let mut distinct = select.distinct.as_ref();
        // With an order that does not depend on them, functions that return sets are called for
        // the rows that DISTINCT ON leaves.
        if let Some(on) = on.take_if(|on| !keys.is_empty() && !made_by_sets(&list, on, &keys)) {
            relation = distinct_on_sorted(relation, on, std::mem::take(&mut keys))?;
            distinct = None;
        }
        relation = expanded(relation, std::mem::take(&mut list.sets));
        let (columns, outputs) = self.outputs(list.items, &scope);
        relation = Relation::Compute {
            input: Box::new(relation),
            columns,
        };
        self.finish(relation, outputs, distinct, on, keys)
    }

    /// Binds a select list; stars are written out.
    fn list(
        &mut self,
        written: &[SelectItem],
        windows: &Arc<[NamedWindow]>,
        scope: &Scope<'_>,
    ) -> Result<List> {
        let mut list = List::default();
        for (place, item) in written.iter().enumerate() {
            let whole = |column: &SourceColumn| Item {
                name: column.name.clone(),
                value: column.value.clone(),
                place,
            };
            match item {
                SelectItem::Value { value, alias } => {
                    let bound = self.item(value, &mut list, windows, scope)?;
                    list.items.push(Item {
                        name: self.item_name(value, alias.as_ref()),
                        value: bound,
                        place,
                    });
                }
                SelectItem::Star => {
                    if scope.sources.is_empty() {
                        let message = "SELECT * with no tables specified is not valid";
                        return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
                    }
                    self.note_all(scope.all_columns());
                    list.items.extend(scope.all_columns().map(whole));
                }
                SelectItem::RelationStar(relation) => {
                    list.items
                        .extend(self.columns_of(relation, scope)?.map(whole));
                }
                SelectItem::Refused(Refused(error)) => return Err(error.clone()),
            }
        }
        Ok(list)
    }

    /// Binds an expression of a select list or of its ORDER BY.
    pub(super) fn item(
        &mut self,
        expr: &Expr,
        list: &mut List,
        windows: &Arc<[NamedWindow]>,
        scope: &Scope<'_>,
    ) -> Result<Expression> {
        let outer = std::mem::replace(&mut self.named_windows, Arc::clone(windows));
        let mut clause = Clause {
            name: "SELECT",
            subqueries: Vec::new(),
            aggregates: Some(&mut list.aggregates),
            windows: Some(&mut list.windows),
            sets: Some(&mut list.sets),
        };
        let bound = self.scalar(expr, scope, &mut clause);
        let subqueries = clause.subqueries;
        list.subqueries.extend(subqueries);
        self.named_windows = outer;
        bound
    }

    /// The columns that `relation.*` stands for.
    pub(super) fn columns_of<'s>(
        &mut self,
        relation: &DottedName,
        scope: &'s Scope<'_>,
    ) -> Result<impl Iterator<Item = &'s SourceColumn> + use<'s>> {
        let qualified = self.qualified_relation(relation)?;
        match scope.source(qualified.schema.as_deref(), &qualified.name)? {
            Some(source) => {
                self.note_all(source.named_columns());
                Ok(source.named_columns())
            }
            None => Err(self.missing_relation(relation)),
        }
    }

    /// Returns the name of a relation, of which the schema may be left out.
    pub(super) fn qualified_relation(&self, relation: &DottedName) -> Result<QualifiedName> {
        let qualified = relation.qualified(self.database());
        qualified.map_err(|error| place(error, self.at(relation.span())))
    }

    /// 42P01: `relation.*` of a relation that FROM has not.
    pub(super) fn missing_relation(&self, relation: &DottedName) -> SqlError {
        let name = relation.parts().last().map_or("", |name| name.as_str());
        let message = format!("missing FROM-clause entry for table \"{name}\"");
        let error = SqlError::new(SqlState::UNDEFINED_TABLE, message);
        place(error, self.at(relation.span()))
    }

    /// Literals of a select list are of the type that is wanted there; those that nothing gives a
    /// type are text.
    fn known_items(&mut self, items: &mut [Item], wanted: &[Type]) -> Result<()> {
        for (at, item) in items.iter_mut().enumerate() {
            let value = std::mem::replace(&mut item.value, Expression::null(Type::Unknown));
            item.value = match (value.ty, wanted.get(at)) {
                (Type::Unknown, Some(ty)) => self.coerce(value, *ty, TypeModifier::NONE, None)?,
                _ => self.known(value)?,
            };
        }
        Ok(())
    }

    fn distinct_on(
        &mut self,
        distinct: Option<&Distinct>,
        list: &mut List,
        scope: &Scope<'_>,
    ) -> Result<Option<Vec<Expression>>> {
        let Some(Distinct::On(expressions)) = distinct else {
            return Ok(None);
        };
        let on = expressions
            .iter()
            .map(|expr| self.item_or_output(expr, list, &Arc::default(), scope, "DISTINCT ON"));
        on.collect::<Result<_>>().map(Some)
    }

    /// A column for each item: the one that it is, or a new one.
    pub(super) fn outputs(
        &mut self,
        items: Vec<Item>,
        scope: &Scope<'_>,
    ) -> (Vec<(ColumnId, Expression)>, Vec<Output>) {
        let mut columns = Vec::new();
        let mut outputs = Vec::with_capacity(items.len());
        for Item { name, value, .. } in items {
            let (ty, modifier) = (value.ty, value.modifier);
            let source = match value.kind {
                Kind::Column(id) => Some(id),
                _ => None,
            };
            let origin = source.and_then(|id| scope.origin(id));
            let origin = origin.and_then(|(table, attribute)| {
                Some((table.id.0, u16::try_from(attribute + 1).ok()?))
            });
            let column = self.new_column();
            self.note_record(column, &value);
            columns.push((column, value));
            outputs.push(Output {
                name,
                column,
                ty,
                modifier,
                origin,
            });
        }
        (columns, outputs)
    }

    /// Distinct rows, in order.
    fn finish(
        &mut self,
        mut relation: Relation,
        outputs: Vec<Output>,
        distinct: Option<&Distinct>,
        on: Option<Vec<Expression>>,
        keys: Vec<SortKey>,
    ) -> Result<(Relation, Vec<Output>)> {
        let shown: Vec<Expression> = outputs
            .iter()
            .map(|output| Expression::column(output.column, output.ty, output.modifier))
            .collect();
        // A value that differs each time that it is computed is computed once for a row, for DISTINCT ON and the order.
        if let (Some(on), Relation::Compute { columns, .. }) = (&on, &mut relation) {
            for volatile in on.iter().filter(|value| !value.is_stable()) {
                if !columns.iter().any(|(_, item)| item == volatile) {
                    columns.push((self.new_column(), volatile.clone()));
                }
            }
        }
        // Sort keys that are items of the list are their columns.
        let keys: Vec<SortKey> = match &relation {
            Relation::Compute { columns, .. } => keys
                .into_iter()
                .map(|key| SortKey {
                    expression: item_column(key.expression, columns),
                    ..key
                })
                .collect(),
            _ => keys,
        };
        match (distinct, on) {
            (Some(Distinct::Rows), _) => {
                if keys
                    .iter()
                    .any(|key| !shown.iter().any(|shown| shown.kind == key.expression.kind))
                {
                    return Err(SqlError::new(
                        SqlState::INVALID_COLUMN_REFERENCE,
                        "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
                    ));
                }
                relation = Relation::Distinct {
                    input: Box::new(relation),
                    on: shown,
                };
                relation = sorted(relation, keys);
            }
            (_, Some(on)) => {
                let on: Vec<Expression> = match &relation {
                    Relation::Compute { columns, .. } => on
                        .into_iter()
                        .map(|expression| item_column(expression, columns))
                        .collect(),
                    _ => on,
                };
                relation = distinct_on_sorted(relation, on, keys)?;
            }
            _ => relation = sorted(relation, keys),
        }
        Ok((relation, outputs))
    }

    /// An expression that may also be the name or the position of an output.
    pub(super) fn item_or_output(
        &mut self,
        expr: &Expr,
        list: &mut List,
        windows: &Arc<[NamedWindow]>,
        scope: &Scope<'_>,
        clause: &str,
    ) -> Result<Expression> {
        if let Some(at) = self.output_position(expr, list.items.len(), clause)? {
            return Ok(list.items[at].value.clone());
        }
        if let ExprKind::Name(name) = &expr.kind {
            let folded = name.as_str();
            let mut named = list.items.iter().filter(|item| item.name == folded);
            if let Some(item) = named.next() {
                if named.any(|other| other.value != item.value) {
                    let message = format!("{clause} \"{folded}\" is ambiguous");
                    return Err(place(
                        SqlError::new(SqlState::AMBIGUOUS_COLUMN, message),
                        self.at(name.span()),
                    ));
                }
                return Ok(item.value.clone());
            }
        }
        let value = self.item(expr, list, windows, scope)?;
        self.known(value)
    }

    /// `ORDER BY 2`: the position of an output, from 0.
    pub(super) fn output_position(
        &mut self,
        expr: &Expr,
        outputs: usize,
        clause: &str,
    ) -> Result<Option<usize>> {
        // A minus before a number is part of it; before what stands for a literal, it is not.
        let mut operand = expr;
        while let ExprKind::Prefix {
            operator: "-",
            operand: inner,
        } = &operand.kind
        {
            operand = inner;
        }
        let number = match &operand.kind {
            ExprKind::Literal(Literal::Parameter(name)) => {
                self.needs_literal_parameter(name)?;
                return Ok(None);
            }
            ExprKind::Literal(Literal::Number(digits)) => digits.parse::<i32>().ok(),
            ExprKind::Literal(_) if std::ptr::eq(operand, expr) => None,
            _ => return Ok(None),
        };
        let (state, message) = match number {
            Some(at) => match usize::try_from(at) {
                Ok(at) if (1..=outputs).contains(&at) => return Ok(Some(at - 1)),
                _ => (
                    SqlState::INVALID_COLUMN_REFERENCE,
                    format!("{clause} position {at} is not in select list"),
                ),
            },
            None => (
                SqlState::SYNTAX_ERROR,
                format!("non-integer constant in {clause}"),
            ),
        };
        Err(self.error_at(expr, SqlError::new(state, message)))
    }
}

/// Takes out the calls of functions that wait, or take what is not given back, and what is computed from their answers,
/// unless one of these expressions is: as PostgreSQL's volatile items, they are for the rows in their order, and for
/// no more than LIMIT leaves.
fn late_calls<'e>(
    all: &mut Vec<Applied>,
    mut used: impl Iterator<Item = &'e Expression>,
) -> Vec<Applied> {
    let mut made: BTreeSet<ColumnId> = BTreeSet::new();
    let is_late = |applied: &Applied| {
        let is_late =
            matches!(applied, Applied::Call(_)) || !applied.outer_columns().is_disjoint(&made);
        if is_late {
            made.insert(applied.column());
        }
        is_late
    };
    let late: Vec<bool> = all.iter().map(is_late).collect();
    if used.any(|expression| expression.columns().iter().any(|id| made.contains(id))) {
        return Vec::new();
    }
    let (mut taken, mut kept) = (Vec::new(), Vec::new());
    for (applied, is_late) in std::mem::take(all).into_iter().zip(late) {
        match is_late {
            true => taken.push(applied),
            false => kept.push(applied),
        }
    }
    *all = kept;
    taken
}

/// Whether the select list calls no function that returns a set, or DISTINCT ON or the order depends
/// on the rows of one.
fn made_by_sets(list: &List, on: &[Expression], keys: &[SortKey]) -> bool {
    let made: Vec<ColumnId> = list
        .sets
        .iter()
        .flat_map(|call| call.columns.iter().copied())
        .collect();
    let mut used = on.iter().chain(keys.iter().map(|key| &key.expression));
    made.is_empty()
        || used.any(|expression| {
            let columns = expression.columns();
            made.iter().any(|column| columns.contains(column))
        })
}

/// Returns whether an expression is not among those that were seen; it is from now on.
fn is_new(value: &Expression, seen: &mut Vec<Expression>) -> bool {
    let is_new = !seen.contains(value);
    seen.extend(is_new.then(|| value.clone()));
    is_new
}

/// The first row, in an order, of those that agree in some expressions. Expressions and keys that come again decide
/// nothing, and do not count.
fn distinct_on_sorted(
    relation: Relation,
    mut on: Vec<Expression>,
    mut keys: Vec<SortKey>,
) -> Result<Relation> {
    let mut seen = Vec::new();
    on.retain(|value| is_new(value, &mut seen));
    seen.clear();
    keys.retain(|key| is_new(&key.expression, &mut seen));
    let mut leading = keys.iter().take(on.len());
    if leading.any(|key| !on.contains(&key.expression)) {
        return Err(SqlError::new(
            SqlState::INVALID_COLUMN_REFERENCE,
            "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
        ));
    }
    Ok(Relation::Distinct {
        input: Box::new(sorted(relation, keys)),
        on,
    })
}

/// The column of an item, for an expression that is one.
fn item_column(expression: Expression, columns: &[(ColumnId, Expression)]) -> Expression {
    match columns.iter().find(|(_, item)| *item == expression) {
        Some(&(id, _)) => Expression::column(id, expression.ty, expression.modifier),
        None => expression,
    }
}

pub(super) fn sorted(relation: Relation, keys: Vec<SortKey>) -> Relation {
    if keys.is_empty() {
        relation
    } else {
        Relation::Sort {
            input: Box::new(relation),
            keys,
        }
    }
}

/// Rows for which a predicate is true.
pub(super) fn filter(relation: Relation, predicate: Expression) -> Relation {
    Relation::Filter {
        input: Box::new(relation),
        predicate,
    }
}

/// Rows with the columns of some subqueries, and of functions that wait.
pub(super) fn applied(relation: Relation, all: Vec<Applied>) -> Relation {
    all.into_iter()
        .fold(relation, |input, applied| match (input, applied) {
            (input, Applied::Query(subquery)) => Relation::Apply {
                input: Box::new(input),
                subquery: Box::new(subquery),
            },
            // Of one row after the other, all calls are made together.
            (Relation::Calls { input, mut calls }, Applied::Call(call)) => {
                calls.push(call);
                Relation::Calls { input, calls }
            }
            (input, Applied::Call(call)) => Relation::Calls {
                input: Box::new(input),
                calls: vec![call],
            },
        })
}

/// Rows with the columns of functions that return sets. Those whose arguments are rows of others come
/// after these; all others go side by side.
pub(super) fn expanded(mut relation: Relation, mut calls: Vec<FunctionCall>) -> Relation {
    while !calls.is_empty() {
        let open: Vec<ColumnId> = calls.iter().flat_map(|call| call.columns.clone()).collect();
        let waits = |call: &FunctionCall| {
            let mut columns = call.arguments.iter().flat_map(Expression::columns);
            columns.any(|id| open.contains(&id))
        };
        let (later, now) = calls.into_iter().partition(waits);
        relation = Relation::Expand {
            input: Box::new(relation),
            calls: now,
        };
        calls = later;
    }
    relation
}
