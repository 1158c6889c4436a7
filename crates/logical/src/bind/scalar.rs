//! Expressions: operators become functions, literals get their types. Names are in `column_name.rs`.

use types::{Result, Scalar, SqlError, SqlState, Type, TypeModifier};

use super::{Binder, clause::Clause, scope::Scope};
use crate::{
    collation,
    expression::{Expression, Kind},
};
use batch::OwnedValue;
use syntax::{
    expression::{Connective, Expr, ExprKind, Refused},
    name::DottedName,
    position::OperatorForm,
};

/// Items of a row, as in PostgreSQL.
pub(super) const ROW_ITEMS_MAX: usize = 1664;

/// `boolean`
pub(super) const BOOL: Type = Type::Scalar(Scalar::Bool);
/// `integer`
pub(super) const INT4: Type = Type::Scalar(Scalar::Int4);
/// `text`
pub(super) const TEXT: Type = Type::Scalar(Scalar::Text);

impl Binder<'_> {
    /// Binds an expression, of which `scalar` has seen that it is not too deep.
    pub(super) fn operation(
        &mut self,
        expr: &Expr,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        match &expr.kind {
            ExprKind::Name(name) => self.identifier(name, scope),
            ExprKind::QualifiedName(name) => self.compound(name, scope),
            ExprKind::RelationStar(relation) => self.relation_star(relation, scope),
            ExprKind::Literal(literal) => self.literal(literal, self.position(expr)),
            ExprKind::TypedLiteral { data_type, literal } => {
                self.typed_literal(data_type, literal, self.position(expr))
            }
            ExprKind::Interval {
                value,
                fields,
                precision,
            } => self.interval(value, fields.as_deref(), *precision, scope, clause),
            ExprKind::Connected {
                connective,
                left,
                right,
            } => self.connected(*connective, left, right, scope, clause),
            ExprKind::Not(operand) => {
                let name = std::mem::replace(&mut clause.name, "NOT");
                let operand = self.condition(operand, scope, clause);
                clause.name = name;
                Ok(Expression::new(Kind::Not(Box::new(operand?)), BOOL))
            }
            ExprKind::Operator {
                operator,
                left,
                right,
            } => {
                let position = self.operator_position(left, right, OperatorForm::Signs);
                if let Some(rows) =
                    self.row_comparison(left, operator, right, position, scope, clause)?
                {
                    return Ok(rows);
                }
                let name = operator.name().map_err(|error| place(error, position))?;
                let left = self.scalar(left, scope, clause)?;
                let right = self.scalar(right, scope, clause)?;
                self.operator(name, Some(left), right, position)
            }
            ExprKind::Prefix { operator, operand } => {
                let position = self.prefix_position(operator, operand);
                let operand = self.scalar(operand, scope, clause)?;
                self.operator(operator, None, operand, position)
            }
            ExprKind::Quantified {
                left,
                operator,
                array,
                is_all,
            } => {
                // LIKE and ILIKE are words, and no signs come before them.
                let signs = self
                    .lines
                    .between(left.span, array.span, OperatorForm::Signs);
                let position =
                    signs.or_else(|| self.operator_position(left, array, OperatorForm::Words));
                let name = operator.name().map_err(|error| place(error, position))?;
                let left = self.scalar(left, scope, clause)?;
                let array = self.scalar(array, scope, clause)?;
                if let Some(found) =
                    self.any_of_array_subquery(&left, name, &array, *is_all, position, clause)?
                {
                    return Ok(found);
                }
                self.quantified_array(left, name, array, *is_all, position)
            }
            ExprKind::QuantifiedQuery {
                left,
                operator,
                quantifier,
                query,
            } => self.quantified_subquery(left, operator, query, *quantifier, scope, clause),
            ExprKind::PatternMatch {
                left,
                operator,
                pattern,
                translation,
                escape,
            } => {
                let escape = escape.as_deref();
                self.pattern_match(left, operator, pattern, *translation, escape, scope, clause)
            }
            ExprKind::IsNull { operand, negated } => self.is_null(operand, *negated, scope, clause),
            ExprKind::IsTruth {
                operand,
                value,
                negated,
            } => self.is(operand, *value, *negated, scope, clause),
            ExprKind::IsDistinct {
                left,
                right,
                negated,
            } => self.distinct(left, right, *negated, scope, clause),
            ExprKind::InList {
                left,
                list,
                negated,
            } => self.in_list(left, list, *negated, scope, clause),
            ExprKind::Between {
                operand,
                low,
                high,
                negated,
            } => self.between(operand, low, high, *negated, scope, clause),
            ExprKind::Cast { operand, data_type } => {
                let (ty, modifier) = self.data_type(data_type)?;
                let operand = self.scalar_for(operand, ty, true, scope, clause)?;
                self.cast(operand, ty, modifier, self.position(expr))
            }
            ExprKind::Collate { operand, collation } => {
                let operand = self.scalar(operand, scope, clause)?;
                collation::check(collation, operand.ty, self.catalog)
                    .map_err(|error| self.error_at(expr, error))?;
                Ok(operand)
            }
            ExprKind::AtTimeZone { operand, zone } => {
                let arguments =
                    [zone, operand].map(|argument| self.scalar(argument, scope, clause));
                let arguments = arguments.into_iter().collect::<Result<_>>()?;
                self.call("timezone", arguments, self.position(expr))
            }
            ExprKind::Case {
                operand,
                branches,
                otherwise,
            } => self.case(
                operand.as_deref(),
                branches,
                otherwise.as_deref(),
                scope,
                clause,
            ),
            ExprKind::Call(call) => self.function(call, scope, clause),
            ExprKind::SpecialCall {
                function,
                arguments,
            } => {
                let arguments = arguments.iter();
                let arguments = arguments.map(|argument| self.scalar(argument, scope, clause));
                let arguments = arguments.collect::<Result<_>>()?;
                self.call(function, arguments, self.position(expr))
            }
            ExprKind::Extract { field, operand } => {
                let field = Expression::constant(OwnedValue::text(field), TEXT);
                let operand = self.scalar(operand, scope, clause)?;
                self.call("extract", vec![field, operand], self.position(expr))
            }
            ExprKind::Exists { query, negated } => self.exists(query, *negated, scope, clause),
            ExprKind::Subquery(query) => self.scalar_subquery(query, scope, clause),
            ExprKind::ArrayQuery(query) => self.array_subquery(query, scope, clause),
            ExprKind::Array(items) => self.array(items, None, scope, clause),
            ExprKind::Row { items, .. } => self.row(items, scope, clause),
            ExprKind::Field { record, field } => self.field(record, field, scope, clause),
            ExprKind::Subscripted { array, subscripts } => {
                self.subscripted(array, subscripts, scope, clause)
            }
            ExprKind::Refused(Refused(error)) => Err(self.error_at(expr, error.clone())),
        }
    }

    /// `relation.*` as one value.
    fn relation_star(&mut self, relation: &DottedName, scope: &Scope<'_>) -> Result<Expression> {
        let qualified = self.qualified_relation(relation)?;
        match scope.source(qualified.schema.as_deref(), &qualified.name)? {
            Some(source) => {
                let source = source.clone();
                Ok(self.whole_row(&source))
            }
            None => Err(self.missing_relation(relation)),
        }
    }

    /// Binds an expression that must not be left without a type: text, if nothing tells.
    pub(super) fn typed(
        &mut self,
        expr: &Expr,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let bound = self.scalar(expr, scope, clause)?;
        self.known(bound)
    }

    /// Binds a condition.
    pub(super) fn condition(
        &mut self,
        expr: &Expr,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let bound = self.scalar(expr, scope, clause)?;
        if bound.ty != BOOL && bound.ty != Type::Unknown {
            let message = format!(
                "argument of {} must be type boolean, not type {}",
                clause.name,
                self.type_name(bound.ty)
            );
            return Err(self.error_at(expr, SqlError::new(SqlState::DATATYPE_MISMATCH, message)));
        }
        if bound.ty == BOOL {
            return Ok(bound);
        }
        self.coerce(bound, BOOL, TypeModifier::NONE, self.position(expr))
    }

    /// Binds an expression that is about to become `ty`: a literal or an empty array constructor takes that type. Each
    /// item of another constructor is cast if the whole `is_cast`.
    pub(super) fn scalar_for(
        &mut self,
        expr: &Expr,
        ty: Type,
        is_cast: bool,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        if let Some(found) = self.take_found(expr) {
            return Ok(found);
        }
        match (&expr.kind, ty) {
            (ExprKind::Array(items), Type::Array(_)) if items.is_empty() => {
                Ok(Expression::new(Kind::Array(Vec::new()), ty))
            }
            (ExprKind::Array(items), Type::Array(element)) if is_cast => {
                self.array(items, Some(element), scope, clause)
            }
            _ => self.scalar(expr, scope, clause),
        }
    }

    fn connected(
        &mut self,
        connective: Connective,
        left: &Expr,
        right: &Expr,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let name = std::mem::replace(&mut clause.name, connective.word());
        let parts = self
            .condition(left, scope, clause)
            .and_then(|left| Ok([left, self.condition(right, scope, clause)?]));
        clause.name = name;
        Ok(connect(connective, parts?))
    }

    fn row(
        &mut self,
        items: &[Expr],
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let mut values = Vec::with_capacity(items.len().min(ROW_ITEMS_MAX));
        for item in items {
            match &item.kind {
                ExprKind::RelationStar(relation) => {
                    let columns = self.columns_of(relation, scope)?;
                    values.extend(columns.map(|column| column.value.clone()));
                }
                _ => values.push(self.typed(item, scope, clause)?),
            }
            if values.len() > ROW_ITEMS_MAX {
                let message = format!("ROW expressions can have at most {ROW_ITEMS_MAX} entries");
                return Err(SqlError::new(SqlState::TOO_MANY_COLUMNS, message));
            }
        }
        Ok(Expression::row(values))
    }
}

/// An error with a position, if there is one to give.
pub(super) fn place(error: SqlError, position: Option<u32>) -> SqlError {
    match position {
        Some(position) => error.at(position),
        None => error,
    }
}

/// The conjunction or disjunction, flat.
pub(super) fn connect(connective: Connective, parts: [Expression; 2]) -> Expression {
    let is_and = connective == Connective::And;
    let flat = |part: Expression| match part.kind {
        Kind::And(inner) if is_and => inner,
        Kind::Or(inner) if !is_and => inner,
        kind => vec![Expression { kind, ..part }],
    };
    // The left side keeps its memory: a long chain is put together link by link.
    let [left, right] = parts;
    let mut items = flat(left);
    items.extend(flat(right));
    Expression::new(
        if is_and {
            Kind::And(items)
        } else {
            Kind::Or(items)
        },
        BOOL,
    )
}
