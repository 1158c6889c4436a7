//! COPY's syntax, the old one included, whose options become those of the new.
//!
//! The meaning of options, and which go together, is in `sql`.

use sqlparser::{
    keywords::Keyword,
    parser::{IsOptional, Parser, ParserError},
    tokenizer::Token,
};
use types::{Result, SqlError, SqlState};

use super::{
    DEPTH_MAX, Source, depth,
    dialect::Postgres,
    name::{DottedName, Name},
    position::Lines,
    refusal::{Refusal, unexpected},
    statement::RowStatement,
};

/// A COPY as it was written.
#[derive(Debug, Clone)]
pub struct Copy {
    /// The table or query whose rows are copied.
    pub relation: Copied,
    /// Whether rows go into the table, not out of it.
    pub is_from: bool,
    /// The other end of the transfer.
    pub target: Target,
    /// The options in the order in which they were written, repeated and unknown ones included.
    pub options: Vec<CopyOption>,
}

/// The rows that are copied.
#[derive(Debug, Clone)]
pub enum Copied {
    /// A table, or some of its columns.
    Table {
        /// The name of the table, with or without a schema.
        name: DottedName,
        /// Empty: all.
        columns: Vec<Name>,
    },
    /// A statement in parentheses, whose result rows are copied out; `None` for one that neither
    /// reads nor changes rows.
    Query(Option<RowStatement>),
}

/// The other end of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The client itself.
    Client,
    /// A file of the server.
    File,
    /// A program that the server would run.
    Program,
}

/// A name and what stands behind it.
#[derive(Debug, Clone)]
pub struct CopyOption {
    /// In lower case.
    pub name: String,
    /// The value of the option.
    pub value: Argument,
    /// The place of the option, in characters from 1.
    pub position: Option<u32>,
}

/// The value behind the name of an option.
#[derive(Debug, Clone)]
pub enum Argument {
    /// No value: a comma, a closing parenthesis or the next option follows the name.
    Absent,
    /// A word, a string or a number, as it was written.
    Word(String),
    /// A list of columns.
    Columns(Vec<Name>),
    /// `*`, all columns.
    AllColumns,
}

/// Parses a statement that begins with COPY.
///
/// # Errors
/// 42601; 0A000 for WHERE.
pub(crate) fn parse(source: &Source<'_>) -> Result<Copy> {
    depth::check(source.tokens())?;
    let dialect = Postgres::new(source.tokens().len());
    let mut parser = Parser::new(&dialect)
        .with_recursion_limit(DEPTH_MAX)
        .with_tokens_with_locations(source.tokens().to_vec());
    let mut syntax = Syntax {
        parser: &mut parser,
        lines: source.lines(),
    };
    match syntax.copy() {
        Ok(copy) if parser.peek_token_ref().token == Token::EOF => Ok(copy),
        Ok(copy) if parser.peek_keyword(Keyword::WHERE) => {
            let position = source.lines().of(parser.peek_token_ref().span);
            let error = match copy.is_from {
                true => SqlError::unsupported("COPY FROM ... WHERE")
                    .hint("Copy into another table, and insert from there."),
                false => {
                    let message = "WHERE clause not allowed with COPY TO";
                    SqlError::new(SqlState::SYNTAX_ERROR, message)
                }
            };
            Err(position.into_iter().fold(error, SqlError::at))
        }
        Ok(_) => Err(unexpected(source.lines(), parser.peek_token_ref())),
        Err(refusal) => Err(refusal.told(source, &parser)),
    }
}

type Parsed<T> = std::result::Result<T, ParserError>;

struct Syntax<'s, 'p> {
    parser: &'s mut Parser<'p>,
    lines: &'s Lines<'s>,
}

impl Syntax<'_, '_> {
    fn copy(&mut self) -> std::result::Result<Copy, Refusal> {
        self.parser.expect_keyword(Keyword::COPY)?;
        let mut options = Vec::new();
        let relation = if self.parser.consume_token(&Token::LParen) {
            let query = self.parser.parse_statement()?;
            self.parser.expect_token(&Token::RParen)?;
            Copied::Query(RowStatement::of(Box::new(query))?.ok())
        } else {
            self.flag("binary", Keyword::BINARY, &mut options);
            let name = DottedName::parse(self.parser)?;
            let columns = self
                .parser
                .parse_parenthesized_column_list(IsOptional::Optional, false)?;
            let columns = columns.iter().map(Name::of).collect();
            Copied::Table { name, columns }
        };
        let is_from = match &relation {
            Copied::Table { .. } if self.parser.parse_keyword(Keyword::FROM) => true,
            _ => {
                self.parser.expect_keyword(Keyword::TO)?;
                false
            }
        };
        let target = if self.parser.parse_keyword(Keyword::STDIN)
            || self.parser.parse_keyword(Keyword::STDOUT)
        {
            Target::Client
        } else if self.parser.parse_keyword(Keyword::PROGRAM) {
            self.parser.parse_literal_string()?;
            Target::Program
        } else {
            self.parser.parse_literal_string()?;
            Target::File
        };
        let _ = self.parser.parse_keyword(Keyword::WITH);
        if self.parser.consume_token(&Token::LParen) {
            loop {
                options.push(self.option()?);
                if !self.parser.consume_token(&Token::Comma) {
                    break;
                }
            }
            self.parser.expect_token(&Token::RParen)?;
        } else {
            while self.old_option(&mut options)? {}
        }
        Ok(Copy {
            relation,
            is_from,
            target,
            options,
        })
    }

    fn position(&self) -> Option<u32> {
        self.lines.of(self.parser.peek_token_ref().span)
    }

    /// Reads `name [value]`.
    fn option(&mut self) -> Parsed<CopyOption> {
        let position = self.position();
        let name = crate::name::fold(self.parser.parse_identifier()?);
        let value = match &self.parser.peek_token_ref().token {
            Token::Comma | Token::RParen => Argument::Absent,
            Token::Mul => {
                self.parser.next_token();
                Argument::AllColumns
            }
            Token::LParen => {
                let columns = self
                    .parser
                    .parse_parenthesized_column_list(IsOptional::Mandatory, false)?;
                Argument::Columns(columns.iter().map(Name::of).collect())
            }
            Token::Number(digits, _) => {
                let digits = digits.clone();
                self.parser.next_token();
                Argument::Word(digits)
            }
            Token::Word(_) => Argument::Word(crate::name::fold(self.parser.parse_identifier()?)),
            _ => Argument::Word(self.parser.parse_literal_string()?),
        };
        Ok(CopyOption {
            name,
            value,
            position,
        })
    }

    /// Reads an option of those before there were brackets; returns whether there was one.
    fn old_option(&mut self, options: &mut Vec<CopyOption>) -> Parsed<bool> {
        for (name, keyword) in [
            ("binary", Keyword::BINARY),
            ("csv", Keyword::CSV),
            ("header", Keyword::HEADER),
            ("freeze", Keyword::FREEZE),
        ] {
            if self.flag(name, keyword, options) {
                return Ok(true);
            }
        }
        let position = self.position();
        for (name, keyword) in [
            ("delimiter", Keyword::DELIMITER),
            ("null", Keyword::NULL),
            ("quote", Keyword::QUOTE),
            ("escape", Keyword::ESCAPE),
            ("encoding", Keyword::ENCODING),
        ] {
            if self.parser.parse_keyword(keyword) {
                let _ = self.parser.parse_keyword(Keyword::AS);
                let value = Argument::Word(self.parser.parse_literal_string()?);
                options.push(CopyOption {
                    name: name.to_owned(),
                    value,
                    position,
                });
                return Ok(true);
            }
        }
        if !self.parser.parse_keyword(Keyword::FORCE) {
            return Ok(false);
        }
        let name = if self.parser.parse_keyword(Keyword::QUOTE) {
            "force_quote"
        } else if self.parser.parse_keyword(Keyword::NOT) {
            self.parser.expect_keyword(Keyword::NULL)?;
            "force_not_null"
        } else {
            self.parser.expect_keyword(Keyword::NULL)?;
            "force_null"
        };
        let value = match name == "force_quote" && self.parser.consume_token(&Token::Mul) {
            true => Argument::AllColumns,
            false => Argument::Columns(self.parser.parse_comma_separated(Name::parse)?),
        };
        options.push(CopyOption {
            name: name.to_owned(),
            value,
            position,
        });
        Ok(true)
    }

    /// Reads a word that says all by itself; `binary` and `csv` are formats.
    fn flag(&mut self, name: &str, keyword: Keyword, options: &mut Vec<CopyOption>) -> bool {
        let position = self.position();
        if !self.parser.parse_keyword(keyword) {
            return false;
        }
        let (name, value) = match name {
            "binary" | "csv" => ("format", Argument::Word(name.to_owned())),
            flag => (flag, Argument::Absent),
        };
        options.push(CopyOption {
            name: name.to_owned(),
            value,
            position,
        });
        true
    }
}
