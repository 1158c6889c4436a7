//! Expressions, but for their operators.

use sqlparser::{
    ast::{self, AccessExpr, CastKind, CeilFloorKind, DateTimeField, UnaryOperator, Value},
    keywords::Keyword,
};
use types::{SqlError, SqlState};

use super::{Conversion, one, unsupported};
use crate::{
    expression::{Expr, ExprKind, Literal, Refused, Subscript},
    name::DottedName,
    refusal::Misplaced,
    statement::TypeName,
};

impl Conversion {
    /// Converts an expression that no operator is put behind.
    pub(super) fn operand(&mut self, tree: ast::Expr) -> ExprKind {
        match tree {
            ast::Expr::Identifier(ident) => ExprKind::Name(self.name(ident)),
            ast::Expr::CompoundIdentifier(parts) => {
                ExprKind::QualifiedName(DottedName::from(self.names(parts)))
            }
            ast::Expr::QualifiedWildcard(name, token) => {
                self.see(token.0.span);
                ExprKind::RelationStar(self.dotted_name(name))
            }
            ast::Expr::Value(value) => ExprKind::Literal(self.literal(value)),
            ast::Expr::TypedString(typed) => ExprKind::TypedLiteral {
                data_type: TypeName::of(&typed.data_type),
                literal: self.literal(typed.value),
            },
            ast::Expr::Interval(interval) => self.interval(interval),
            ast::Expr::UnaryOp { op, expr } => self.prefix(op, *expr),
            ast::Expr::Case {
                case_token,
                end_token,
                operand,
                conditions,
                else_result,
            } => {
                self.see(case_token.0.span);
                self.see(end_token.0.span);
                let operand = self.optional_boxed(operand);
                let branches = conditions.into_iter();
                let branches =
                    branches.map(|when| (self.expr(when.condition), self.expr(when.result)));
                ExprKind::Case {
                    operand,
                    branches: branches.collect(),
                    otherwise: self.optional_boxed(else_result),
                }
            }
            ast::Expr::Function(function) => self.function(function),
            ast::Expr::Exists { subquery, negated } => ExprKind::Exists {
                query: Box::new(self.query(*subquery)),
                negated,
            },
            ast::Expr::Subquery(query) => ExprKind::Subquery(Box::new(self.query(*query))),
            ast::Expr::Array(array) => ExprKind::Array(self.exprs(array.elem)),
            ast::Expr::Tuple(items) => ExprKind::Row {
                items: self.exprs(items),
                is_explicit: false,
            },
            ast::Expr::CompoundFieldAccess { root, access_chain } => {
                self.access(*root, access_chain)
            }
            // A chain's conversion leaves these alone around the word DEFAULT.
            ast::Expr::Nested(_) => {
                let message = "DEFAULT is not allowed in this context";
                ExprKind::Refused(Refused(SqlError::new(SqlState::SYNTAX_ERROR, message)))
            }
            other => self.special(other),
        }
    }

    /// Converts a call that the grammar has words of its own for.
    fn special(&mut self, tree: ast::Expr) -> ExprKind {
        let (function, arguments) = match tree {
            ast::Expr::Extract { field, expr, .. } => {
                return ExprKind::Extract {
                    field: field.to_string().to_lowercase(),
                    operand: self.boxed(expr),
                };
            }
            ast::Expr::Ceil { expr, field } => ("ceil", self.rounded(*expr, field)),
            ast::Expr::Floor { expr, field } => ("floor", self.rounded(*expr, field)),
            ast::Expr::Position { expr, r#in } => ("position", vec![*r#in, *expr]),
            ast::Expr::Substring {
                expr,
                substring_from,
                substring_for,
                shorthand,
                ..
            } => {
                let name = if shorthand { "substr" } else { "substring" };
                let from = substring_from.map_or_else(one, |from| *from);
                let length = substring_for.map(|length| *length);
                (name, [*expr, from].into_iter().chain(length).collect())
            }
            ast::Expr::Trim {
                trim_where,
                trim_what,
                expr,
                trim_characters,
            } => {
                let name = match trim_where {
                    Some(ast::TrimWhereField::Leading) => "ltrim",
                    Some(ast::TrimWhereField::Trailing) => "rtrim",
                    _ => "btrim",
                };
                let others = trim_characters.into_iter().flatten();
                let others = others.chain(trim_what.map(|what| *what));
                (name, std::iter::once(*expr).chain(others).collect())
            }
            ast::Expr::Overlay {
                expr,
                overlay_what,
                overlay_from,
                overlay_for,
            } => {
                let arguments = [*expr, *overlay_what, *overlay_from];
                let length = overlay_for.map(|length| *length);
                ("overlay", arguments.into_iter().chain(length).collect())
            }
            other => return ExprKind::Refused(self.foreign(other)),
        };
        ExprKind::SpecialCall {
            function,
            arguments: self.exprs(arguments),
        }
    }

    /// Returns the arguments of `ceil` or `floor`. PostgreSQL has no function with a second one, and no unit.
    fn rounded(&mut self, value: ast::Expr, field: CeilFloorKind) -> Vec<ast::Expr> {
        match field {
            CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) => vec![value],
            CeilFloorKind::DateTimeField(_) => {
                self.misplace(Misplaced::Keyword(Keyword::TO));
                vec![value]
            }
            CeilFloorKind::Scale(digits) => vec![value, ast::Expr::Value(digits)],
        }
    }

    /// Returns the error for an expression of another system, whose place is that of its first part.
    fn foreign(&mut self, tree: ast::Expr) -> Refused {
        let (name, first) = match tree {
            ast::Expr::Convert { expr, .. } => ("CONVERT", Some(*expr)),
            // Other casts are operators (`operator.rs`).
            ast::Expr::Cast { expr, kind, .. } => {
                self.misplace(Misplaced::Keyword(match kind {
                    CastKind::TryCast => Keyword::TRY_CAST,
                    CastKind::SafeCast => Keyword::SAFE_CAST,
                    CastKind::Cast | CastKind::DoubleColon => Keyword::FORMAT,
                }));
                ("a cast of another system", Some(*expr))
            }
            ast::Expr::Prefixed { value, .. } => ("a literal behind a character set", Some(*value)),
            ast::Expr::Prior(expr) => ("PRIOR", Some(*expr)),
            ast::Expr::Named { expr, .. } => ("a name of an expression", Some(*expr)),
            ast::Expr::Struct { values, .. } => ("STRUCT", values.into_iter().next()),
            ast::Expr::Rollup(sets) => ("ROLLUP outside of GROUP BY", first_key(sets)),
            ast::Expr::Cube(sets) => ("CUBE outside of GROUP BY", first_key(sets)),
            ast::Expr::GroupingSets(sets) => ("GROUPING SETS outside of GROUP BY", first_key(sets)),
            ast::Expr::Wildcard(star) => {
                self.see(star.0.span);
                ("* as an expression", None)
            }
            _ => ("this expression", None),
        };
        if let Some(first) = first {
            self.expr(first);
        }
        unsupported(name)
    }

    pub(super) fn literal(&mut self, value: ast::ValueWithSpan) -> Literal {
        self.see(value.span);
        match value.value {
            Value::Number(digits, _) => Literal::Number(digits),
            Value::SingleQuotedString(text)
            | Value::EscapedStringLiteral(text)
            | Value::UnicodeStringLiteral(text)
            | Value::NationalStringLiteral(text) => Literal::String(text),
            Value::DollarQuotedString(text) => Literal::String(text.value),
            Value::Boolean(value) => Literal::Boolean(value),
            Value::Null => Literal::Null,
            Value::Placeholder(name) => Literal::Parameter(name),
            Value::HexStringLiteral(_) | Value::SingleQuotedByteStringLiteral(_) => {
                Literal::Refused(unsupported("a literal of bits"))
            }
            _ => Literal::Refused(unsupported("this literal")),
        }
    }

    fn interval(&mut self, interval: ast::Interval) -> ExprKind {
        let (fields, precision) = match (interval.leading_field, interval.last_field) {
            (None, _) => (None, None),
            // The digits of a second that stands alone are what the parser calls leading.
            (Some(field), None) => (Some(field.to_string()), interval.leading_precision),
            (Some(first), Some(last)) => {
                let fields = format!("{first} to {last}");
                (Some(fields), interval.fractional_seconds_precision)
            }
        };
        ExprKind::Interval {
            value: self.boxed(interval.value),
            fields,
            precision,
        }
    }

    fn prefix(&mut self, op: UnaryOperator, operand: ast::Expr) -> ExprKind {
        let operand = Box::new(self.expr(operand));
        let operator = match op {
            UnaryOperator::Not => return ExprKind::Not(operand),
            UnaryOperator::Minus => match operand.kind {
                // The smallest integers have no positive counterpart.
                ExprKind::Literal(Literal::Number(digits)) => {
                    return ExprKind::Literal(Literal::Number(negated(digits)));
                }
                _ => "-",
            },
            UnaryOperator::Plus => "+",
            UnaryOperator::BitwiseNot => "~",
            UnaryOperator::PGAbs => "@",
            UnaryOperator::PGSquareRoot => "|/",
            UnaryOperator::PGCubeRoot => "||/",
            other => return ExprKind::Refused(unsupported(format_args!("operator {other}"))),
        };
        ExprKind::Prefix { operator, operand }
    }

    /// Converts what stands behind an expression in brackets and behind dots.
    fn access(&mut self, root: ast::Expr, chain: Vec<AccessExpr>) -> ExprKind {
        let mut chain = chain.into_iter().peekable();
        let is_record = matches!(root, ast::Expr::Nested(_) | ast::Expr::Function(_));
        if is_record && matches!(chain.peek(), Some(AccessExpr::Dot(_))) {
            if chain.len() > 1 {
                return ExprKind::Refused(a_field());
            }
            let record = Box::new(self.expr(root));
            return match chain.next() {
                Some(AccessExpr::Dot(ast::Expr::Identifier(field))) => ExprKind::Field {
                    record,
                    field: self.name(field),
                },
                _ => ExprKind::Refused(unsupported("this field of an expression")),
            };
        }
        let array = Box::new(self.expr(root));
        let mut names = Vec::new();
        // `alias.column[1]` comes as a chain too.
        while let Some(AccessExpr::Dot(field)) =
            chain.next_if(|access| matches!(access, AccessExpr::Dot(_)))
        {
            match field {
                ast::Expr::Identifier(field) => names.push(self.name(field)),
                _ => return ExprKind::Refused(a_field()),
            }
        }
        let array = match (names.is_empty(), *array) {
            (true, array) => array,
            (false, Expr { kind, .. }) => {
                let before = match kind {
                    ExprKind::Name(name) => vec![name],
                    ExprKind::QualifiedName(name) => name.into_parts(),
                    _ => return ExprKind::Refused(a_field()),
                };
                let name = DottedName::from([before, names].concat());
                let kind = ExprKind::QualifiedName(name);
                let span = self.span;
                Expr { kind, span }
            }
        };
        if chain.peek().is_none() {
            return array.kind;
        }
        let subscripts = chain.map(|access| self.subscript(access));
        ExprKind::Subscripted {
            subscripts: subscripts.collect(),
            array: Box::new(array),
        }
    }

    fn subscript(&mut self, access: AccessExpr) -> Subscript {
        match access {
            AccessExpr::Subscript(ast::Subscript::Index { index }) => {
                Subscript::Index(self.expr(index))
            }
            AccessExpr::Subscript(ast::Subscript::Slice {
                lower_bound,
                upper_bound,
                stride: None,
            }) => Subscript::Slice {
                lower: self.optional(lower_bound),
                upper: self.optional(upper_bound),
            },
            AccessExpr::Subscript(ast::Subscript::Slice { .. }) => {
                Subscript::Refused(unsupported("a stride"))
            }
            AccessExpr::Dot(_) => Subscript::Refused(unsupported("a field of an array")),
        }
    }
}

/// Returns the first key of grouping sets.
fn first_key(sets: Vec<Vec<ast::Expr>>) -> Option<ast::Expr> {
    sets.into_iter().flatten().next()
}

fn a_field() -> Refused {
    unsupported("a field of an expression")
}

/// Returns a number with the other sign.
fn negated(digits: String) -> String {
    match digits.strip_prefix('-') {
        Some(digits) => digits.to_owned(),
        None => format!("-{digits}"),
    }
}
