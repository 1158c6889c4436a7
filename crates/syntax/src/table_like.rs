//! `CREATE TABLE (..., LIKE table INCLUDING ..., ...)`.
//!
//! The parser knows LIKE as all that there is in the parentheses, and hardly an option. LIKE is
//! therefore taken out of the tokens, and the rest is a definition that the parser knows.

use std::ops::Range;

use sqlparser::{
    ast::Statement as Tree,
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::{Token, TokenWithSpan},
};
use types::Result;

use super::{
    DEPTH_MAX, Source,
    dialect::Postgres,
    name::DottedName,
    parse_tokens,
    refusal::not_parsed,
    statement::{CreateTable, Statement},
    taken_out::TakenOut,
};
use crate::{
    phase,
    words::{keyword, keyword_at},
};

/// A relation whose columns a new table has too.
#[derive(Debug, Clone)]
pub struct TableLike {
    /// The name of the table or view to copy from, with or without a schema.
    pub name: DottedName,
    /// The number of columns that are written out before these.
    pub before: usize,
    /// The properties that are copied beside the columns.
    pub included: Included,
}

/// The properties that are copied beside names, types and NOT NULL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Included {
    /// Comments on the copied columns, checks and indexes.
    pub comments: bool,
    /// Checks.
    pub constraints: bool,
    /// Default expressions of columns.
    pub defaults: bool,
    /// Generation expressions of stored generated columns.
    pub generated: bool,
    /// Identities of columns, with new sequences.
    pub identity: bool,
    /// Primary key and unique constraints too.
    pub indexes: bool,
}

/// Returns whether a token stands before an element of the list in parentheses.
fn opens(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::LParen | Token::Comma)
}

/// Returns the elements between the first parentheses.
fn elements(tokens: &[TokenWithSpan]) -> Vec<Range<usize>> {
    let is_open = |token: &TokenWithSpan| token.token == Token::LParen;
    let Some(open) = tokens.iter().position(is_open) else {
        return Vec::new();
    };
    let (mut depth, mut begin) = (0_usize, open + 1);
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate().skip(open + 1) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => {
                found.push(begin..at);
                return found;
            }
            Token::RParen => depth -= 1,
            Token::Comma if depth == 0 => {
                found.push(begin..at);
                begin = at + 1;
            }
            _ => {}
        }
    }
    found
}

impl Source<'_> {
    /// Reads the definition of a table that is to be like another, if the statement is one.
    ///
    /// # Errors
    /// 42601.
    pub(super) fn table_like(&self) -> Result<Option<Statement>> {
        let mut words = self.tokens.iter().take(4);
        let creates = keyword_at(&self.tokens, 0) == Keyword::CREATE
            && words.any(|token| keyword(token) == Keyword::TABLE);
        let begins = |pair: &[TokenWithSpan]| opens(&pair[0]) && keyword(&pair[1]) == Keyword::LIKE;
        if !creates || !self.tokens.windows(2).any(begins) {
            return Ok(None);
        }
        let tokens = &self.tokens;
        let elements = elements(tokens);
        let (Some(first), Some(last)) = (elements.first(), elements.last()) else {
            return Ok(None);
        };
        let mut likes = Vec::new();
        let mut columns = 0;
        // The definition without them, which has a comma between any two elements that stay.
        let mut others = tokens[..first.start].to_vec();
        let mut is_first = true;
        for element in &elements {
            phase::pause();
            match keyword_at(tokens, element.start) {
                Keyword::LIKE => {
                    likes.push(self.like(&tokens[element.start..=element.end], columns)?);
                    continue;
                }
                Keyword::CONSTRAINT
                | Keyword::PRIMARY
                | Keyword::UNIQUE
                | Keyword::CHECK
                | Keyword::FOREIGN
                | Keyword::EXCLUDE => {}
                _ => columns += 1,
            }
            let begin = element.start - usize::from(!is_first);
            others.extend_from_slice(&tokens[begin..element.end]);
            is_first = false;
        }
        others.extend_from_slice(&tokens[last.end..]);
        let taken_out = TakenOut::take(&mut others);
        match parse_tokens(&self.lines, others)? {
            Tree::CreateTable(create) => {
                let create = CreateTable::of(create, likes);
                let create = create.map_err(|misplaced| misplaced.told(self))?;
                let mut statement = Statement::CreateTable(Box::new(create));
                taken_out.refuse(&mut statement, &self.lines)?;
                Ok(Some(statement))
            }
            _ => Err(self.not_expected()),
        }
    }

    fn like(&self, tokens: &[TokenWithSpan], before: usize) -> Result<TableLike> {
        let dialect = Postgres::new(tokens.len());
        let mut parser = Parser::new(&dialect)
            .with_recursion_limit(DEPTH_MAX)
            .with_tokens_with_locations(tokens.to_vec());
        let read = TableLike::parse(&mut parser, before);
        read.map_err(|error| not_parsed(&self.lines, error, &parser))
    }
}

impl TableLike {
    fn parse(
        parser: &mut Parser<'_>,
        before: usize,
    ) -> std::result::Result<TableLike, ParserError> {
        parser.expect_keyword_is(Keyword::LIKE)?;
        let name = DottedName::parse(parser)?;
        let mut included = Included::default();
        // The element ends where the next begins, or the list does.
        while !matches!(parser.peek_token_ref().token, Token::Comma | Token::RParen) {
            let includes = parser.parse_keyword(Keyword::INCLUDING);
            if !includes {
                parser.expect_keyword_is(Keyword::EXCLUDING)?;
            }
            let option = parser.next_token();
            if !included.set(&option.token.to_string().to_lowercase(), includes) {
                return parser.expected("an option of LIKE", option);
            }
        }
        Ok(TableLike {
            name,
            before,
            included,
        })
    }
}

impl Included {
    /// Includes something, or excludes it; false if there is nothing of the name.
    fn set(&mut self, option: &str, includes: bool) -> bool {
        match option {
            "all" => {
                *self = Included {
                    comments: includes,
                    constraints: includes,
                    defaults: includes,
                    generated: includes,
                    identity: includes,
                    indexes: includes,
                }
            }
            "comments" => self.comments = includes,
            "constraints" => self.constraints = includes,
            "defaults" => self.defaults = includes,
            "generated" => self.generated = includes,
            "identity" => self.identity = includes,
            "indexes" => self.indexes = includes,
            // These say how another engine stores the table.
            "compression" | "statistics" | "storage" => {}
            _ => return false,
        }
        true
    }
}
