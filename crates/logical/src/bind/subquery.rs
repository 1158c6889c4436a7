//! Queries within expressions: each becomes a column that is applied to the rows around it.

use types::{Result, SqlError, SqlState, Type};

use super::{
    Binder,
    clause::Clause,
    scalar::{BOOL, ROW_ITEMS_MAX, connect, place},
    scope::Scope,
};
use crate::{
    expression::{ColumnId, Expression, Kind},
    relation::{Applied, Output, Relation, Subquery, SubqueryKind},
};
use syntax::{
    expression::{Connective, Expr, ExprKind, Operator, Quantifier},
    position::OperatorForm,
    query::Query,
};

impl Binder<'_> {
    pub(super) fn exists(
        &mut self,
        query: &Query,
        negated: bool,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let (relation, _) = self.query(query, &Scope::within(Some(scope)))?;
        let found = self.apply(SubqueryKind::Exists, relation, BOOL, clause);
        Ok(if negated { not(found) } else { found })
    }

    pub(super) fn scalar_subquery(
        &mut self,
        query: &Query,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let (relation, outputs) = self.query(query, &Scope::within(Some(scope)))?;
        let output = single(&outputs)?;
        let mut value = self.apply(
            SubqueryKind::Scalar(output.column),
            relation,
            output.ty,
            clause,
        );
        value.modifier = output.modifier;
        Ok(value)
    }

    /// A subquery whose one output is a row.
    pub(super) fn row_subquery(
        &mut self,
        column: ColumnId,
        relation: Relation,
        clause: &mut Clause<'_>,
    ) -> Expression {
        self.apply(SubqueryKind::Scalar(column), relation, Type::Record, clause)
    }

    /// `ARRAY(SELECT ...)`
    pub(super) fn array_subquery(
        &mut self,
        query: &Query,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let (relation, outputs) = self.query(query, &Scope::within(Some(scope)))?;
        let output = single(&outputs)?;
        let Type::Scalar(element) = output.ty else {
            return Err(SqlError::unsupported(format_args!(
                "an array of {}",
                self.type_name(output.ty)
            )));
        };
        let kind = SubqueryKind::Array {
            column: output.column,
            element,
        };
        let mut array = self.apply(kind, relation, Type::Array(element), clause);
        array.modifier = output.modifier;
        Ok(array)
    }

    /// `left operator ANY (query)`, `ALL (query)`, `[NOT] IN (query)`.
    pub(super) fn quantified_subquery(
        &mut self,
        left: &Expr,
        operator: &str,
        query: &Query,
        quantifier: Quantifier,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let position = self.position(left);
        let left = match row_items(left) {
            Some(items) => items
                .iter()
                .map(|item| self.scalar(item, scope, clause))
                .collect::<Result<_>>()?,
            None => vec![self.scalar(left, scope, clause)?],
        };
        let (relation, outputs) = self.query(query, &Scope::within(Some(scope)))?;
        if outputs.len() != left.len() {
            let message = if outputs.len() > left.len() {
                "subquery has too many columns"
            } else {
                "subquery has too few columns"
            };
            return Err(place(
                SqlError::new(SqlState::SYNTAX_ERROR, message),
                position,
            ));
        }
        // `ALL` holds unless the opposite holds for any.
        let (test, is_test_negated, negated) = match quantifier {
            Quantifier::Any => (operator, false, false),
            Quantifier::None => ("=", false, true),
            Quantifier::All => match negator(operator) {
                Some(opposite) => (opposite, false, true),
                None => (operator, true, true),
            },
        };
        if left.len() > 1 && test != "=" {
            return Err(place(
                SqlError::unsupported("a comparison of rows with ANY or ALL"),
                position,
            ));
        }
        let mut tests = Vec::with_capacity(left.len());
        for (left, output) in left.into_iter().zip(&outputs) {
            let right = Expression::column(output.column, output.ty, output.modifier);
            let test = self.operator(test, Some(left), right, position)?;
            tests.push(if is_test_negated { not(test) } else { test });
        }
        let found = self.apply(SubqueryKind::Any(tests), relation, BOOL, clause);
        Ok(if negated { not(found) } else { found })
    }

    /// Binds `left = ANY (ARRAY(SELECT ...))` and `left <> ALL (ARRAY(SELECT ...))` as comparisons with the query's
    /// rows, which need no array and can be answered by hash; `None` for other comparisons, and for other arrays than
    /// that of the last subquery.
    pub(super) fn any_of_array_subquery(
        &mut self,
        left: &Expression,
        operator: &str,
        array: &Expression,
        all: bool,
        position: Option<u32>,
        clause: &mut Clause<'_>,
    ) -> Result<Option<Expression>> {
        let is_equality = match all {
            true => negator(operator) == Some("="),
            false => operator == "=",
        };
        let Some(Applied::Query(subquery)) = clause.subqueries.last() else {
            return Ok(None);
        };
        let SubqueryKind::Array { column, element } = subquery.kind else {
            return Ok(None);
        };
        // The comparison with rows would compute the left side for each of them.
        if !is_equality || array.kind != Kind::Column(subquery.column) || !left.is_stable() {
            return Ok(None);
        }
        let right = Expression::column(column, Type::Scalar(element), array.modifier);
        let test = self.operator("=", Some(left.clone()), right, position)?;
        let Some(Applied::Query(subquery)) = clause.subqueries.pop() else {
            return Ok(None);
        };
        let kind = SubqueryKind::Any(vec![test]);
        let found = self.apply(kind, subquery.relation, BOOL, clause);
        Ok(Some(if all { not(found) } else { found }))
    }

    /// Has a subquery computed for the rows of the clause; its column.
    fn apply(
        &mut self,
        kind: SubqueryKind,
        relation: Relation,
        ty: Type,
        clause: &mut Clause<'_>,
    ) -> Expression {
        let column = self.new_column();
        clause.subqueries.push(Applied::Query(Subquery {
            column,
            kind,
            relation,
        }));
        Expression::new(Kind::Column(column), ty)
    }

    /// `left IN (a, b, ...)`
    pub(super) fn in_list(
        &mut self,
        left: &Expr,
        list: &[Expr],
        negated: bool,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let position = match list.first() {
            Some(first) => self.operator_position(left, first, OperatorForm::Words),
            None => self.position(left),
        };
        if row_items(left).is_some() {
            let equal = list.iter().map(|item| {
                match self.row_comparison(left, &Operator::EQUAL, item, position, scope, clause)? {
                    Some(equal) => Ok(equal),
                    None => {
                        let row = self.scalar(left, scope, clause)?;
                        let item = self.scalar(item, scope, clause)?;
                        self.operator("=", Some(row), item, position)
                    }
                }
            });
            let found = any(equal.collect::<Result<_>>()?);
            return Ok(if negated { not(found) } else { found });
        }
        let left = self.scalar(left, scope, clause)?;
        let mut items = Vec::with_capacity(list.len() + 1);
        for item in list {
            items.push(self.scalar(item, scope, clause)?);
        }
        // Constants of one type make an array, which is searched as one.
        let mut together: Vec<_> = std::iter::once(left.clone())
            .chain(items.iter().cloned())
            .collect();
        let is_fixed =
            |item: &Expression| matches!(item.kind, Kind::Constant(_) | Kind::Parameter(_));
        if items.len() > 1
            && items.iter().all(is_fixed)
            && let Ok(Type::Scalar(element)) = self.unify(&mut together, "IN", None)
        {
            let values = together.split_off(1);
            let array = Expression::new(Kind::Array(values), Type::Array(element));
            let found = self.quantified_array(left, "=", array, false, position)?;
            return Ok(if negated { not(found) } else { found });
        }
        let found = self.shared(left, |binder, left| {
            let equal = items
                .into_iter()
                .map(|item| binder.operator("=", Some(left.clone()), item, position));
            Ok(any(equal.collect::<Result<_>>()?))
        })?;
        Ok(if negated { not(found) } else { found })
    }

    /// A comparison of rows that are written out, column by column, so that a NULL in one of them
    /// makes it NULL; `None` if it is one of values, which may be rows.
    pub(super) fn row_comparison(
        &mut self,
        left: &Expr,
        operator: &Operator,
        right: &Expr,
        position: Option<u32>,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Option<Expression>> {
        let (left_items, right_items) = (row_items(left), row_items(right));
        if left_items.is_none() && right_items.is_none() {
            return Ok(None);
        }
        let (left, right) = match (left_items, right_items) {
            (Some(left), Some(right)) => (left, right),
            (Some(_), None) if let ExprKind::Subquery(query) = &right.kind => {
                return self
                    .row_and_subquery(left, operator, query, position, scope, clause)
                    .map(Some);
            }
            _ => return Ok(None),
        };
        if left.len() > ROW_ITEMS_MAX {
            let message = format!("ROW expressions can have at most {ROW_ITEMS_MAX} entries");
            return Err(SqlError::new(SqlState::TOO_MANY_COLUMNS, message));
        }
        if left.len() != right.len() {
            let message = "unequal number of entries in row expressions";
            return Err(place(
                SqlError::new(SqlState::SYNTAX_ERROR, message),
                position,
            ));
        }
        let mut sides = Vec::with_capacity(left.len());
        for (left, right) in left.iter().zip(right) {
            sides.push((
                self.scalar(left, scope, clause)?,
                self.scalar(right, scope, clause)?,
            ));
        }
        self.compare_rows(sides, operator, position).map(Some)
    }

    /// `(a, b) = (SELECT x, y ...)`
    fn row_and_subquery(
        &mut self,
        left: &Expr,
        operator: &Operator,
        query: &Query,
        position: Option<u32>,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        if operator.symbol() != "=" {
            return Err(place(
                SqlError::unsupported("a comparison of a row with a subquery"),
                position,
            ));
        }
        self.quantified_subquery(left, "=", query, Quantifier::Any, scope, clause)
    }

    fn compare_rows(
        &mut self,
        sides: Vec<(Expression, Expression)>,
        operator: &Operator,
        position: Option<u32>,
    ) -> Result<Expression> {
        let strict = match operator.symbol() {
            "=" => {
                let equal = sides
                    .into_iter()
                    .map(|(left, right)| self.operator("=", Some(left), right, position));
                return Ok(Expression::all(equal.collect::<Result<_>>()?));
            }
            "<>" => {
                let differ = sides
                    .into_iter()
                    .map(|(left, right)| self.operator("<>", Some(left), right, position));
                return Ok(any(differ.collect::<Result<_>>()?));
            }
            "<" | "<=" => "<",
            ">" | ">=" => ">",
            symbol => {
                return Err(place(
                    SqlError::unsupported(format_args!("operator {symbol} over rows")),
                    position,
                ));
            }
        };
        // a < x OR (a = x AND (b < y OR ...)), from the last column to the first. The first columns
        // bound it by themselves, which an index may be of use for: a <= x.
        let bound = match sides.as_slice() {
            [(left, right), _, ..] => {
                let operator = if strict == "<" { "<=" } else { ">=" };
                Some(self.operator(operator, Some(left.clone()), right.clone(), position)?)
            }
            _ => None,
        };
        let mut result: Option<Expression> = None;
        for (left, right) in sides.into_iter().rev() {
            let operator = match &result {
                None => operator.symbol(),
                Some(_) => strict,
            };
            let before = self.operator(operator, Some(left.clone()), right.clone(), position)?;
            result = Some(match result {
                None => before,
                Some(later) => {
                    let equal = self.operator("=", Some(left), right, position)?;
                    connect(
                        Connective::Or,
                        [before, connect(Connective::And, [equal, later])],
                    )
                }
            });
        }
        let result = match (bound, result) {
            (Some(bound), Some(result)) => Some(connect(Connective::And, [bound, result])),
            (_, result) => result,
        };
        result.ok_or_else(|| {
            SqlError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cannot compare rows of zero length",
            )
        })
    }
}

/// The columns of a row that is written out: `(a, b)`, `ROW(a)`. Columns of `relation.*` are not.
fn row_items(expr: &Expr) -> Option<&[Expr]> {
    let is_star = |item: &Expr| matches!(item.kind, ExprKind::RelationStar(_));
    match &expr.kind {
        ExprKind::Row { items, .. } if !items.iter().any(is_star) => Some(items),
        _ => None,
    }
}

fn single(outputs: &[Output]) -> Result<&Output> {
    match outputs {
        [output] => Ok(output),
        _ => Err(SqlError::new(
            SqlState::SYNTAX_ERROR,
            "subquery must return only one column",
        )),
    }
}

pub(super) fn not(expression: Expression) -> Expression {
    Expression::new(Kind::Not(Box::new(expression)), BOOL)
}

fn any(mut parts: Vec<Expression>) -> Expression {
    match parts.len() {
        0 => Expression::bool(false),
        1 => parts.remove(0),
        _ => Expression::new(Kind::Or(parts), BOOL),
    }
}

/// The comparison that is true where this one is false.
fn negator(operator: &str) -> Option<&'static str> {
    Some(match operator {
        "=" => "<>",
        "<>" => "=",
        "<" => ">=",
        "<=" => ">",
        ">" => "<=",
        ">=" => "<",
        "~~" => "!~~",
        "!~~" => "~~",
        "~" => "!~",
        "!~" => "~",
        _ => return None,
    })
}
