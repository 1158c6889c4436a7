//! Expressions: names become columns, operators become functions, literals get their types.

use sqlparser::{
    ast::{self, BinaryOperator, Expr, UnaryOperator},
    tokenizer::Span,
};
use types::{Result, Scalar, SqlError, SqlState, Type, TypeModifier, Value};

use super::{Binder, clause::Clause, scope::Scope};
use crate::{
    collation,
    expression::{Expression, Kind},
};
use batch::OwnedValue;
use syntax::name::{self, DottedName};

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
        match expr {
            Expr::Nested(inner) => self.scalar(inner, scope, clause),
            Expr::Identifier(ident) => self.identifier(ident, scope, clause),
            Expr::CompoundIdentifier(parts) => self.compound(parts, scope),
            Expr::Value(value) => self.literal(value),
            Expr::TypedString(typed) => self.typed_string(typed),
            Expr::Interval(interval) => self.interval(interval, scope, clause),
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right, scope, clause),
            Expr::UnaryOp { op, expr: operand } => self.unary(op, operand, expr, scope, clause),
            Expr::Cast {
                expr: operand,
                data_type,
                ..
            } => {
                let (ty, modifier) = self.data_type(data_type)?;
                let operand = self.scalar_for(operand, ty, true, scope, clause)?;
                self.cast(operand, ty, modifier, self.position(expr))
            }
            Expr::IsNull(operand) => self.is_null(operand, false, scope, clause),
            Expr::IsNotNull(operand) => self.is_null(operand, true, scope, clause),
            Expr::IsTrue(operand) => self.is(operand, Some(true), false, scope, clause),
            Expr::IsNotTrue(operand) => self.is(operand, Some(true), true, scope, clause),
            Expr::IsFalse(operand) => self.is(operand, Some(false), false, scope, clause),
            Expr::IsNotFalse(operand) => self.is(operand, Some(false), true, scope, clause),
            Expr::IsUnknown(operand) => self.is(operand, None, false, scope, clause),
            Expr::IsNotUnknown(operand) => self.is(operand, None, true, scope, clause),
            Expr::IsDistinctFrom(left, right) => self.distinct(left, right, false, scope, clause),
            Expr::IsNotDistinctFrom(left, right) => self.distinct(left, right, true, scope, clause),
            Expr::InList {
                expr: left,
                list,
                negated,
            } => self.in_list(left, list, *negated, scope, clause),
            Expr::InSubquery {
                expr: left,
                subquery,
                negated,
            } => self.quantified_subquery(
                left,
                "=",
                subquery,
                Quantifier::in_(*negated),
                scope,
                clause,
            ),
            Expr::Between {
                expr: operand,
                negated,
                low,
                high,
            } => self.between(operand, low, high, *negated, scope, clause),
            Expr::Like {
                negated,
                any: false,
                expr: left,
                pattern,
                escape_char,
            } => {
                let operator = if *negated { "!~~" } else { "~~" };
                self.like(operator, left, pattern, escape_char.as_ref(), scope, clause)
            }
            Expr::ILike {
                negated,
                any: false,
                expr: left,
                pattern,
                escape_char,
            } => {
                let operator = if *negated { "!~~*" } else { "~~*" };
                self.like(operator, left, pattern, escape_char.as_ref(), scope, clause)
            }
            Expr::Like {
                negated,
                any: true,
                expr: left,
                pattern,
                escape_char: None,
            } => {
                let operator = match negated {
                    true => BinaryOperator::PGNotLikeMatch,
                    false => BinaryOperator::PGLikeMatch,
                };
                self.quantified(left, &operator, pattern, false, scope, clause)
            }
            Expr::ILike {
                negated,
                any: true,
                expr: left,
                pattern,
                escape_char: None,
            } => {
                let operator = match negated {
                    true => BinaryOperator::PGNotILikeMatch,
                    false => BinaryOperator::PGILikeMatch,
                };
                self.quantified(left, &operator, pattern, false, scope, clause)
            }
            Expr::SimilarTo {
                negated,
                expr: left,
                pattern,
                escape_char,
            } => self.similar(left, pattern, escape_char.as_ref(), *negated, scope, clause),
            Expr::AnyOp {
                left,
                compare_op,
                right,
                ..
            } => self.quantified(left, compare_op, right, false, scope, clause),
            Expr::AllOp {
                left,
                compare_op,
                right,
            } => self.quantified(left, compare_op, right, true, scope, clause),
            Expr::Case {
                operand,
                conditions,
                else_result,
                ..
            } => self.case(
                operand.as_deref(),
                conditions,
                else_result.as_deref(),
                scope,
                clause,
            ),
            Expr::Function(function) => self.function(function, scope, clause),
            Expr::Exists { subquery, negated } => self.exists(subquery, *negated, scope, clause),
            Expr::Subquery(query) => self.scalar_subquery(query, scope, clause),
            Expr::Tuple(items) => self.row(items, scope, clause),
            Expr::Array(array) => self.array(&array.elem, None, scope, clause),
            Expr::CompoundFieldAccess { root, access_chain } => {
                self.access(root, access_chain, scope, clause)
            }
            Expr::Extract {
                field,
                expr: operand,
                ..
            } => {
                let field =
                    Expression::constant(OwnedValue::text(&field.to_string().to_lowercase()), TEXT);
                let operand = self.scalar(operand, scope, clause)?;
                self.call("extract", vec![field, operand], self.position(expr))
            }
            Expr::Ceil { expr: operand, .. } => {
                self.call_of("ceil", &[operand], expr, scope, clause)
            }
            Expr::Floor { expr: operand, .. } => {
                self.call_of("floor", &[operand], expr, scope, clause)
            }
            Expr::Position {
                expr: needle,
                r#in: hay,
            } => self.call_of("position", &[hay, needle], expr, scope, clause),
            Expr::Substring {
                expr: operand,
                substring_from,
                substring_for,
                ..
            } => self.substring(
                operand,
                substring_from.as_deref(),
                substring_for.as_deref(),
                expr,
                scope,
                clause,
            ),
            Expr::Trim {
                trim_where,
                trim_what,
                expr: operand,
                trim_characters,
            } => {
                let name = match trim_where {
                    Some(ast::TrimWhereField::Leading) => "ltrim",
                    Some(ast::TrimWhereField::Trailing) => "rtrim",
                    _ => "btrim",
                };
                let others = trim_characters.iter().flatten().chain(trim_what.as_deref());
                let arguments: Vec<_> = std::iter::once(&**operand).chain(others).collect();
                self.call_of(name, &arguments, expr, scope, clause)
            }
            Expr::Overlay {
                expr: operand,
                overlay_what,
                overlay_from,
                overlay_for,
            } => {
                let mut arguments = vec![&**operand, &**overlay_what, &**overlay_from];
                arguments.extend(overlay_for.as_deref());
                self.call_of("overlay", &arguments, expr, scope, clause)
            }
            Expr::AtTimeZone {
                timestamp,
                time_zone,
            } => self.call_of("timezone", &[time_zone, timestamp], expr, scope, clause),
            Expr::QualifiedWildcard(name, _) => {
                let qualified = name::qualified(name, self.database())?;
                match scope.source(qualified.schema.as_deref(), &qualified.name)? {
                    Some(source) => {
                        let source = source.clone();
                        Ok(self.whole_row(&source))
                    }
                    None => Err(missing_relation(&qualified.name)),
                }
            }
            Expr::Collate {
                expr: operand,
                collation,
            } => {
                let operand = self.scalar(operand, scope, clause)?;
                collation::check(&DottedName::of(collation), operand.ty, self.catalog)
                    .map_err(|error| self.error_at(expr, error))?;
                Ok(operand)
            }
            _ => Err(self.error_at(
                expr,
                SqlError::unsupported(format_args!("expression {expr}")),
            )),
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

    /// Binds what is about to become `ty`: a literal or an empty array constructor takes that type. Of one with items, each is
    /// cast if the whole `is_cast`.
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
        match (expr, ty) {
            (Expr::Nested(inner), _) => self.scalar_for(inner, ty, is_cast, scope, clause),
            (Expr::Array(array), Type::Array(_)) if array.elem.is_empty() => {
                Ok(Expression::new(Kind::Array(Vec::new()), ty))
            }
            (Expr::Array(array), Type::Array(element)) if is_cast => {
                self.array(&array.elem, Some(element), scope, clause)
            }
            _ => self.scalar(expr, scope, clause),
        }
    }

    fn unary(
        &mut self,
        op: &UnaryOperator,
        operand: &Expr,
        whole: &Expr,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        if let UnaryOperator::Not = op {
            let name = std::mem::replace(&mut clause.name, "NOT");
            let operand = self.condition(operand, scope, clause);
            clause.name = name;
            return Ok(Expression::new(Kind::Not(Box::new(operand?)), BOOL));
        }
        // The smallest integers have no positive counterpart.
        if let (UnaryOperator::Minus, Expr::Value(value)) = (op, operand)
            && let ast::Value::Number(digits, _) = &value.value
        {
            return super::literal::number(&format!("-{digits}"))
                .map_err(|error| self.error_at(whole, error));
        }
        let name = match op {
            UnaryOperator::Plus => "+",
            UnaryOperator::Minus => "-",
            UnaryOperator::BitwiseNot => "~",
            UnaryOperator::PGAbs => "@",
            UnaryOperator::PGSquareRoot => "|/",
            UnaryOperator::PGCubeRoot => "||/",
            _ => {
                return Err(
                    self.error_at(whole, SqlError::unsupported(format_args!("operator {op}")))
                );
            }
        };
        let operand = self.scalar(operand, scope, clause)?;
        self.operator(name, None, operand, self.position(whole))
    }

    fn binary(
        &mut self,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        match op {
            BinaryOperator::And | BinaryOperator::Or => {
                let name = std::mem::replace(
                    &mut clause.name,
                    if *op == BinaryOperator::And {
                        "AND"
                    } else {
                        "OR"
                    },
                );
                let parts = self
                    .condition(left, scope, clause)
                    .and_then(|left| Ok([left, self.condition(right, scope, clause)?]));
                clause.name = name;
                return Ok(connect(op, parts?));
            }
            _ => {}
        }
        let position = self.operator_position(left, right);
        if let Some(rows) = self.row_comparison(left, op, right, scope, clause)? {
            return Ok(rows);
        }
        let name = operator_name(op).ok_or_else(|| {
            place(
                SqlError::unsupported(format_args!("operator {op}")),
                position,
            )
        })?;
        let left = self.scalar(left, scope, clause)?;
        let right = self.scalar(right, scope, clause)?;
        self.operator(&name, Some(left), right, position)
    }

    fn row(
        &mut self,
        items: &[Expr],
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        if items.len() > ROW_ITEMS_MAX {
            let message = format!("ROW expressions can have at most {ROW_ITEMS_MAX} entries");
            return Err(SqlError::new(SqlState::TOO_MANY_COLUMNS, message));
        }
        let items = items
            .iter()
            .map(|item| self.typed(item, scope, clause))
            .collect::<Result<_>>()?;
        Ok(Expression::row(items))
    }

    fn substring(
        &mut self,
        operand: &Expr,
        from: Option<&Expr>,
        length: Option<&Expr>,
        whole: &Expr,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let mut arguments = vec![self.scalar(operand, scope, clause)?];
        arguments.push(match from {
            Some(from) => self.scalar(from, scope, clause)?,
            None => Expression::constant(OwnedValue::new(Value::Int4(1)), INT4),
        });
        if let Some(length) = length {
            arguments.push(self.scalar(length, scope, clause)?);
        }
        self.call("substring", arguments, self.position(whole))
    }

    fn call_of(
        &mut self,
        name: &str,
        arguments: &[&Expr],
        whole: &Expr,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let arguments = arguments
            .iter()
            .map(|argument| self.scalar(argument, scope, clause))
            .collect::<Result<_>>()?;
        self.call(name, arguments, self.position(whole))
    }

    /// The character where a piece of syntax begins.
    pub(super) fn at(&self, span: Span) -> Option<u32> {
        self.lines.of(span)
    }
}

/// Which subqueries and arrays satisfy a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantifier {
    Any,
    All,
    /// `NOT IN`: all differ.
    None,
}

impl Quantifier {
    fn in_(negated: bool) -> Self {
        if negated { Self::None } else { Self::Any }
    }
}

/// An error with a position, if there is one to give.
/// 42P01: `relation.*` of a relation that FROM has not.
pub(super) fn missing_relation(name: &str) -> SqlError {
    let message = format!("missing FROM-clause entry for table \"{name}\"");
    SqlError::new(SqlState::UNDEFINED_TABLE, message)
}

pub(super) fn place(error: SqlError, position: Option<u32>) -> SqlError {
    match position {
        Some(position) => error.at(position),
        None => error,
    }
}

/// The conjunction or disjunction, flat.
pub(super) fn connect(op: &BinaryOperator, parts: [Expression; 2]) -> Expression {
    let is_and = *op == BinaryOperator::And;
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

/// Returns the name that PostgreSQL gives an operator.
pub(super) fn operator_name(op: &BinaryOperator) -> Option<String> {
    let name = match op {
        BinaryOperator::Plus => "+",
        BinaryOperator::Minus => "-",
        BinaryOperator::Multiply => "*",
        BinaryOperator::Divide => "/",
        BinaryOperator::Modulo => "%",
        BinaryOperator::StringConcat => "||",
        BinaryOperator::Gt => ">",
        BinaryOperator::Lt => "<",
        BinaryOperator::GtEq => ">=",
        BinaryOperator::LtEq => "<=",
        BinaryOperator::Eq => "=",
        BinaryOperator::NotEq => "<>",
        BinaryOperator::BitwiseOr => "|",
        BinaryOperator::BitwiseAnd => "&",
        BinaryOperator::PGBitwiseXor => "#",
        BinaryOperator::PGBitwiseShiftLeft => "<<",
        BinaryOperator::PGBitwiseShiftRight => ">>",
        BinaryOperator::PGExp => "^",
        BinaryOperator::PGOverlap => "&&",
        BinaryOperator::PGRegexMatch => "~",
        BinaryOperator::PGRegexIMatch => "~*",
        BinaryOperator::PGRegexNotMatch => "!~",
        BinaryOperator::PGRegexNotIMatch => "!~*",
        BinaryOperator::PGLikeMatch => "~~",
        BinaryOperator::PGILikeMatch => "~~*",
        BinaryOperator::PGNotLikeMatch => "!~~",
        BinaryOperator::PGNotILikeMatch => "!~~*",
        BinaryOperator::PGStartsWith => "^@",
        BinaryOperator::Arrow => "->",
        BinaryOperator::LongArrow => "->>",
        BinaryOperator::HashArrow => "#>",
        BinaryOperator::HashLongArrow => "#>>",
        BinaryOperator::AtArrow => "@>",
        BinaryOperator::ArrowAt => "<@",
        BinaryOperator::HashMinus => "#-",
        BinaryOperator::AtQuestion => "@?",
        BinaryOperator::AtAt => "@@",
        BinaryOperator::Question => "?",
        BinaryOperator::QuestionAnd => "?&",
        BinaryOperator::QuestionPipe => "?|",
        BinaryOperator::PGCustomBinaryOperator(parts) => return parts.last().cloned(),
        BinaryOperator::Custom(name) => return Some(name.clone()),
        _ => return None,
    };
    Some(name.to_owned())
}
