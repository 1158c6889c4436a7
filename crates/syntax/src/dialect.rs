//! PostgreSQL's dialect of the parser, with a hold on how long it may take.
//!
//! The parser tries one reading of a construct, and where that fails another one, without memory of
//! the first. Two tries of an argument make `f(f(f(x)))` double in time for each level. So
//!
//! - the reading `f(expression => value)`, which is not PostgreSQL's, is left out: a name is one
//!   identifier, and that is seen at once;
//! - each operand that is begun is counted, however often it was read before. A text may begin
//!   `OPERANDS_FACTOR` for each of its tokens; beyond that it is refused as too complex. A text
//!   without an error needs fewer than two.
//!
//! `docs/decisions/2026-11-25-phases-on-their-own-stacks.md` tells the parser's maintainers more.

use std::{any::TypeId, cell::Cell};

use sqlparser::{
    ast::{DataType, Expr, TrimWhereField, TypedString},
    dialect::{Dialect, PostgreSqlDialect, Precedence},
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::{Token, TokenWithSpan},
};

use crate::{
    phase,
    words::{is_keyword, keyword},
};

/// Operands that a text may begin for each of its tokens.
const OPERANDS_FACTOR: usize = 16;

/// Operands that every text may begin besides.
const OPERANDS_FREE: usize = 4096;

/// PostgreSQL's dialect, for one text.
#[derive(Debug)]
pub(crate) struct Postgres {
    /// Operands that may still be begun.
    operands: Cell<usize>,
    /// How far the operand behind `IS DISTINCT FROM` is.
    compared: Cell<Compared>,
}

/// The parser takes all that follows `IS DISTINCT FROM` for its operand, also `AND`, which binds less
/// tightly. The operand is read here, as long as it is, and then the parser is told once that
/// nothing follows.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Compared {
    /// There is none at hand.
    #[default]
    None,
    /// It begins with the next operand that the parser asks for.
    Begins,
    /// It was read.
    Ended,
}

const BASE: PostgreSqlDialect = PostgreSqlDialect {};

impl Postgres {
    /// For a text of so many tokens.
    pub(crate) fn new(tokens: usize) -> Self {
        let operands = tokens * OPERANDS_FACTOR + OPERANDS_FREE;
        Self {
            operands: Cell::new(operands),
            compared: Cell::default(),
        }
    }
}

/// Whether `IS DISTINCT FROM` or `IS NOT DISTINCT FROM` follows.
fn is_distinct_from(parser: &Parser<'_>) -> bool {
    if keyword(parser.peek_token_ref()) != Keyword::IS {
        return false;
    }
    let words = parser.peek_tokens_ref::<4>().map(keyword);
    matches!(
        words,
        [_, Keyword::DISTINCT, Keyword::FROM, _]
            | [_, Keyword::NOT, Keyword::DISTINCT, Keyword::FROM]
    )
}

/// Whether a test begins here that binds as tightly as `IS DISTINCT FROM`.
fn is_test(token: &TokenWithSpan) -> bool {
    is_keyword(token, &[Keyword::IS, Keyword::NOTNULL])
}

/// Returns how tightly an operator of patterns in signs binds, which the parser takes for a comparison.
fn pattern_precedence(parser: &Parser<'_>) -> Option<Precedence> {
    let [operator, next] = parser.peek_tokens_ref::<2>();
    match operator.token {
        // The parser reads an array behind a quantifier as the operator's operand: `||` binds more tightly than LIKE.
        Token::DoubleTilde
        | Token::DoubleTildeAsterisk
        | Token::ExclamationMarkDoubleTilde
        | Token::ExclamationMarkDoubleTildeAsterisk
        | Token::Tilde
        | Token::TildeAsterisk
        | Token::ExclamationMarkTilde
        | Token::ExclamationMarkTildeAsterisk => {
            match is_keyword(next, &[Keyword::ANY, Keyword::ALL, Keyword::SOME]) {
                true => Some(Precedence::Like),
                false => Some(Precedence::PgOther),
            }
        }
        _ => None,
    }
}

/// `interval(3) '1.2345'`: the parser takes the parentheses for the interval.
fn rounded_interval(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    if keyword(parser.peek_token_ref()) != Keyword::INTERVAL {
        return None;
    }
    let [_, open, number, close, text] = parser.peek_tokens();
    let digits = match (open, number, close, text) {
        (
            Token::LParen,
            Token::Number(digits, false),
            Token::RParen,
            Token::SingleQuotedString(_),
        ) => digits.parse().ok()?,
        _ => return None,
    };
    (0..4).for_each(|_| parser.advance_token());
    let data_type = DataType::Interval {
        fields: None,
        precision: Some(digits),
    };
    Some(parser.parse_value().map(|value| {
        Expr::TypedString(TypedString {
            data_type,
            value,
            uses_odbc_syntax: false,
        })
    }))
}

/// `TRIM(LEADING x, y)`: the parser forgets the side where a comma follows.
fn sided_trim(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    if keyword(parser.peek_token_ref()) != Keyword::TRIM {
        return None;
    }
    let [_, open, side] = parser.peek_tokens_ref::<3>();
    let side = match keyword(side) {
        Keyword::LEADING => TrimWhereField::Leading,
        Keyword::TRAILING => TrimWhereField::Trailing,
        Keyword::BOTH => TrimWhereField::Both,
        _ => return None,
    };
    if open.token != Token::LParen {
        return None;
    }
    (0..3).for_each(|_| parser.advance_token());
    Some(rest_of_trim(parser, side))
}

/// Reads the rest of a TRIM behind its side.
fn rest_of_trim(parser: &mut Parser<'_>, side: TrimWhereField) -> Result<Expr, ParserError> {
    let mut expr = parser.parse_expr()?;
    let mut trim_what = None;
    if parser.parse_keyword(Keyword::FROM) {
        trim_what = Some(Box::new(expr));
        expr = parser.parse_expr()?;
    }
    let trim_characters = match parser.consume_token(&Token::Comma) {
        true => Some(parser.parse_comma_separated(Parser::parse_expr)?),
        false => None,
    };
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::Trim {
        expr: Box::new(expr),
        trim_where: Some(side),
        trim_what,
        trim_characters,
    })
}

/// Asks the base.
macro_rules! as_base {
    ($($name:ident),* $(,)?) => {
        $(fn $name(&self) -> bool {
            BASE.$name()
        })*
    };
}

impl Dialect for Postgres {
    /// Where the parser asks which dialect it has, it is PostgreSQL's.
    fn dialect(&self) -> TypeId {
        BASE.dialect()
    }

    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        phase::pause();
        if self.compared.get() == Compared::Begins {
            self.compared.set(Compared::None);
            let operand = parser.parse_subexpr(self.prec_value(Precedence::Is));
            if operand.is_ok() {
                self.compared.set(Compared::Ended);
            }
            return Some(operand);
        }
        match self.operands.get().checked_sub(1) {
            Some(left) => {
                self.operands.set(left);
                rounded_interval(parser).or_else(|| sided_trim(parser))
            }
            None => Some(Err(ParserError::RecursionLimitExceeded)),
        }
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        _: &Expr,
        _: u8,
    ) -> Option<Result<Expr, ParserError>> {
        if is_distinct_from(parser) {
            self.compared.set(Compared::Begins);
        }
        None
    }

    /// A word behind an item is its name only if it cannot begin what may follow the list.
    fn is_column_alias(&self, keyword: &Keyword, parser: &mut Parser<'_>) -> bool {
        *keyword != Keyword::FOR && BASE.is_column_alias(keyword, parser)
    }

    fn supports_named_fn_args_with_expr_name(&self) -> bool {
        false
    }

    as_base!(
        supports_unicode_string_literal,
        supports_filter_during_aggregation,
        supports_group_by_expr,
        allow_extract_custom,
        allow_extract_single_quotes,
        supports_create_index_with_clause,
        supports_explain_with_utility_options,
        supports_listen_notify,
        supports_factorial_operator,
        supports_bitwise_shift_operators,
        supports_comment_on,
        supports_load_extension,
        supports_named_fn_args_with_colon_operator,
        supports_empty_projections,
        supports_nested_comments,
        supports_string_escape_constant,
        supports_numeric_literal_underscores,
        supports_array_typedef_with_brackets,
        supports_geometric_types,
        supports_set_names,
        supports_alter_column_type_using,
        supports_notnull_operator,
        supports_interval_options,
        supports_insert_table_alias,
        supports_create_table_like_parenthesized,
        supports_select_wildcard_with_alias,
        supports_comma_separated_trim,
        supports_xml_expressions,
        supports_comment_optimizer_hint,
    );

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        BASE.identifier_quote_style(identifier)
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        BASE.is_delimited_identifier_start(ch)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        BASE.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        BASE.is_identifier_part(ch)
    }

    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        BASE.is_reserved_for_identifier(keyword)
    }

    fn is_custom_operator_part(&self, ch: char) -> bool {
        BASE.is_custom_operator_part(ch)
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        match self.compared.take() {
            // `a IS DISTINCT FROM b IS NULL` has two readings, and PostgreSQL takes neither.
            Compared::Ended if is_test(parser.peek_token_ref()) => {
                Some(parser.expected("the end of a comparison", parser.peek_token()))
            }
            Compared::Ended => Some(Ok(self.prec_unknown())),
            compared => {
                self.compared.set(compared);
                match pattern_precedence(parser) {
                    Some(precedence) => Some(Ok(self.prec_value(precedence))),
                    None => BASE.get_next_precedence(parser),
                }
            }
        }
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        BASE.prec_value(precedence)
    }
}
