//! Chains of operators: the parser's tree of a chain is as deep as the chain is long, on its left side.

use std::{borrow::Cow, ops::ControlFlow};

use sqlparser::ast::{self, BinaryOperator, CastKind};

use super::{Conversion, unsupported};
use crate::{
    expression::{Connective, Expr, ExprKind, Operator, Quantifier},
    phase,
    statement::TypeName,
};

/// An operator with what stands behind it.
enum Link {
    Connected(Connective, Box<ast::Expr>),
    Operator(BinaryOperator, Box<ast::Expr>),
    Quantified(Operator, Box<ast::Expr>, bool),
    InQuery(Box<ast::Query>, bool),
    Pattern(Pattern),
    IsNull(bool),
    IsTruth(Option<bool>, bool),
    IsDistinct(Box<ast::Expr>, bool),
    InList(Vec<ast::Expr>, bool),
    Between(Box<ast::Expr>, Box<ast::Expr>, bool),
    Cast(ast::DataType),
    Collate(ast::ObjectName),
    AtTimeZone(Box<ast::Expr>),
    /// An operator of another system, by its name.
    Refused(&'static str),
}

/// The operands behind LIKE and its relatives.
struct Pattern {
    operator: &'static str,
    pattern: Box<ast::Expr>,
    translation: Option<&'static str>,
    escape: Option<ast::ValueWithSpan>,
}

impl Conversion {
    /// Converts an expression.
    pub(super) fn expr(&mut self, tree: ast::Expr) -> Expr {
        let outer = std::mem::take(&mut self.span);
        // At most as many as a text may have (`phase::CHAIN_MAX`).
        let mut links = Vec::new();
        let mut tree = tree;
        let operand = loop {
            phase::pause();
            match last_link(tree, &mut links) {
                ControlFlow::Continue(left) => tree = left,
                ControlFlow::Break(operand) => break operand,
            }
        };
        let kind = self.operand(operand);
        let mut converted = Expr {
            kind,
            span: self.span,
        };
        for link in links.into_iter().rev() {
            phase::pause();
            let kind = self.link(Box::new(converted), link);
            converted = Expr {
                kind,
                span: self.span,
            };
        }
        self.span = self.span.union(outer);
        converted
    }

    fn link(&mut self, left: Box<Expr>, link: Link) -> ExprKind {
        match link {
            Link::Connected(connective, right) => ExprKind::Connected {
                connective,
                left,
                right: self.boxed(right),
            },
            Link::Operator(operator, right) => ExprKind::Operator {
                operator: Operator::of(operator),
                left,
                right: self.boxed(right),
            },
            Link::Quantified(operator, right, is_all) => {
                let right = self.expr(*right);
                quantified(left, operator, right, is_all)
            }
            Link::InQuery(query, negated) => ExprKind::QuantifiedQuery {
                left,
                operator: Cow::Borrowed("="),
                quantifier: match negated {
                    true => Quantifier::None,
                    false => Quantifier::Any,
                },
                query: Box::new(self.query(*query)),
            },
            Link::Pattern(Pattern {
                operator,
                pattern,
                translation,
                escape,
            }) => ExprKind::PatternMatch {
                left,
                operator,
                pattern: self.boxed(pattern),
                translation,
                escape: escape.map(|escape| Box::new(self.expr(ast::Expr::Value(escape)))),
            },
            Link::IsNull(negated) => ExprKind::IsNull {
                operand: left,
                negated,
            },
            Link::IsTruth(value, negated) => ExprKind::IsTruth {
                operand: left,
                value,
                negated,
            },
            Link::IsDistinct(right, negated) => ExprKind::IsDistinct {
                left,
                right: self.boxed(right),
                negated,
            },
            Link::InList(list, negated) => ExprKind::InList {
                left,
                list: self.exprs(list),
                negated,
            },
            Link::Between(low, high, negated) => ExprKind::Between {
                operand: left,
                low: self.boxed(low),
                high: self.boxed(high),
                negated,
            },
            Link::Cast(data_type) => ExprKind::Cast {
                operand: left,
                data_type: TypeName::of(&data_type),
            },
            Link::Collate(collation) => ExprKind::Collate {
                operand: left,
                collation: self.dotted_name(collation),
            },
            Link::AtTimeZone(zone) => ExprKind::AtTimeZone {
                operand: left,
                zone: self.boxed(zone),
            },
            Link::Refused(name) => ExprKind::Refused(unsupported(name)),
        }
    }
}

/// Takes the last operator off a chain and goes on with what it was put behind; breaks where there is none.
fn last_link(tree: ast::Expr, links: &mut Vec<Link>) -> ControlFlow<ast::Expr, ast::Expr> {
    let (left, link) = match tree {
        // Parentheses leave no trace, but the word DEFAULT does not stand in them.
        tree @ ast::Expr::Nested(_) if holds_default(&tree) => return ControlFlow::Break(tree),
        ast::Expr::Nested(inner) => return ControlFlow::Continue(*inner),
        ast::Expr::BinaryOp { left, op, right } => {
            let link = match op {
                BinaryOperator::And => Link::Connected(Connective::And, right),
                BinaryOperator::Or => Link::Connected(Connective::Or, right),
                other => Link::Operator(other, right),
            };
            (left, link)
        }
        ast::Expr::AnyOp {
            left,
            compare_op,
            right,
            ..
        } => (
            left,
            Link::Quantified(Operator::of(compare_op), right, false),
        ),
        ast::Expr::AllOp {
            left,
            compare_op,
            right,
        } => (
            left,
            Link::Quantified(Operator::of(compare_op), right, true),
        ),
        ast::Expr::IsNull(left) => (left, Link::IsNull(false)),
        ast::Expr::IsNotNull(left) => (left, Link::IsNull(true)),
        ast::Expr::IsTrue(left) => (left, Link::IsTruth(Some(true), false)),
        ast::Expr::IsNotTrue(left) => (left, Link::IsTruth(Some(true), true)),
        ast::Expr::IsFalse(left) => (left, Link::IsTruth(Some(false), false)),
        ast::Expr::IsNotFalse(left) => (left, Link::IsTruth(Some(false), true)),
        ast::Expr::IsUnknown(left) => (left, Link::IsTruth(None, false)),
        ast::Expr::IsNotUnknown(left) => (left, Link::IsTruth(None, true)),
        ast::Expr::IsDistinctFrom(left, right) => (left, Link::IsDistinct(right, false)),
        ast::Expr::IsNotDistinctFrom(left, right) => (left, Link::IsDistinct(right, true)),
        ast::Expr::InList {
            expr,
            list,
            negated,
        } => (expr, Link::InList(list, negated)),
        ast::Expr::InSubquery {
            expr,
            subquery,
            negated,
        } => (expr, Link::InQuery(subquery, negated)),
        ast::Expr::Between {
            expr,
            negated,
            low,
            high,
        } => (expr, Link::Between(low, high, negated)),
        ast::Expr::Cast {
            kind: CastKind::Cast | CastKind::DoubleColon,
            expr,
            data_type,
            array: false,
            format: None,
        } => (expr, Link::Cast(data_type)),
        ast::Expr::Collate { expr, collation } => (expr, Link::Collate(collation)),
        ast::Expr::AtTimeZone {
            timestamp,
            time_zone,
        } => (timestamp, Link::AtTimeZone(time_zone)),
        ast::Expr::RLike { expr, .. } => (expr, Link::Refused("RLIKE")),
        ast::Expr::IsNormalized { expr, .. } => (expr, Link::Refused("IS NORMALIZED")),
        ast::Expr::InUnnest { expr, .. } => (expr, Link::Refused("IN UNNEST")),
        ast::Expr::MemberOf(member) => (member.value, Link::Refused("MEMBER OF")),
        ast::Expr::JsonAccess { value, .. } => (value, Link::Refused("a path of JSON")),
        ast::Expr::OuterJoin(expr) => (expr, Link::Refused("(+)")),
        other => match pattern(other) {
            ControlFlow::Continue((left, link)) => (left, link),
            ControlFlow::Break(operand) => return ControlFlow::Break(operand),
        },
    };
    links.push(link);
    ControlFlow::Continue(*left)
}

/// Takes LIKE or one of its relatives off an expression.
fn pattern(tree: ast::Expr) -> ControlFlow<ast::Expr, (Box<ast::Expr>, Link)> {
    let names = match tree {
        ast::Expr::ILike { .. } => ["~~*", "!~~*"],
        _ => ["~~", "!~~"],
    };
    let (left, operator, pattern, translation, escape) = match tree {
        // A quantifier stands behind signs alone (`forms/pattern.rs`).
        ast::Expr::Like {
            negated,
            expr,
            pattern,
            escape_char,
            ..
        }
        | ast::Expr::ILike {
            negated,
            expr,
            pattern,
            escape_char,
            ..
        } => {
            let operator = names[usize::from(negated)];
            let translation = escape_char.is_some().then_some("like_escape");
            (expr, operator, pattern, translation, escape_char)
        }
        ast::Expr::SimilarTo {
            negated,
            expr,
            pattern,
            escape_char,
        } => {
            let operator = if negated { "!~" } else { "~" };
            let translation = Some("similar_to_escape");
            (expr, operator, pattern, translation, escape_char)
        }
        other => return ControlFlow::Break(other),
    };
    let link = Link::Pattern(Pattern {
        operator,
        pattern,
        translation,
        escape,
    });
    ControlFlow::Continue((left, link))
}

fn quantified(left: Box<Expr>, operator: Operator, right: Expr, is_all: bool) -> ExprKind {
    match right.kind {
        ExprKind::Subquery(query) if operator.is_known => ExprKind::QuantifiedQuery {
            left,
            operator: operator.symbol,
            quantifier: match is_all {
                true => Quantifier::All,
                false => Quantifier::Any,
            },
            query,
        },
        kind => ExprKind::Quantified {
            left,
            operator,
            array: Box::new(Expr { kind, ..right }),
            is_all,
        },
    }
}

impl Operator {
    /// `=`.
    pub const EQUAL: Self = Self::known("=");

    const fn known(symbol: &'static str) -> Self {
        Self {
            symbol: Cow::Borrowed(symbol),
            is_known: true,
        }
    }

    fn of(op: BinaryOperator) -> Self {
        let symbol = match op {
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
            // The schema before an operator's name is passed over.
            BinaryOperator::PGCustomBinaryOperator(mut parts) => {
                return Self {
                    symbol: Cow::Owned(parts.pop().unwrap_or_default()),
                    is_known: true,
                };
            }
            BinaryOperator::Custom(name) => {
                return Self {
                    symbol: Cow::Owned(name),
                    is_known: true,
                };
            }
            other => {
                return Self {
                    symbol: Cow::Owned(other.to_string()),
                    is_known: false,
                };
            }
        };
        Self::known(symbol)
    }
}

/// Returns whether parentheses hold the word DEFAULT alone, which the parser takes for a name.
fn holds_default(tree: &ast::Expr) -> bool {
    let ast::Expr::Nested(inner) = tree else {
        return false;
    };
    let ast::Expr::Identifier(name) = &**inner else {
        return false;
    };
    name.quote_style.is_none() && name.value.eq_ignore_ascii_case("default")
}
