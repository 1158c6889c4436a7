//! From text to statements, with PostgreSQL's errors and positions.
//!
//! Statements are this crate's own types ([`statement`]), down to the [`query`]s and [`expression`]s in
//! them. The library that parses them, `sqlparser`, is behind this crate: its trees are taken apart as soon
//! as it has made them (`convert.rs`).
//!
//! A text is cut into tokens once. They are divided at semicolons, so that each statement has its
//! own text and errors point into the whole, and from them [`fingerprint`] makes what a
//! plan can be found again by. All of it, and the binding and planning behind it, happens in phases on
//! stacks of their own ([`phase`]).
//!
//! The crate knows what statements look like. It never knows a catalog: whether a name stands for
//! anything is its readers' question.

pub mod change;
pub mod command;
pub mod constraints;
mod convert;
pub mod copy;
pub mod depth;
mod dialect;
pub mod expression;
pub mod fingerprint;
mod forms;
mod identity;
mod insert_source;
pub mod kept_text;
mod lock_order;
pub mod lock_strength;
pub mod maintenance;
pub mod name;
mod overriding;
pub mod phase;
pub mod position;
pub mod query;
mod refusal;
mod reindex;
mod reserved;
pub mod statement;
pub mod table_like;
mod taken_out;
mod tree;
mod words;

use std::{ops::Range, rc::Rc};

use sqlparser::{
    ast::{self, DollarQuotedString},
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::{Token, TokenWithSpan, Tokenizer},
};
use types::{Result, SqlError, SqlState};

use self::{
    change::Overriding,
    command::Command,
    constraints::SetConstraints,
    dialect::Postgres,
    position::Lines,
    refusal::{Misplaced, not_parsed, unexpected, unfinished},
    statement::{RowKind, definition},
    taken_out::TakenOut,
};
pub use self::{
    statement::{Expression, Statement},
    tree::{SHALLOW_TOKENS, Tree},
};
use crate::{
    phase::DEPTH_MAX,
    words::{is_keyword, is_word},
};

/// A text of no more bytes is cut into tokens at once; it takes less than a slice of a phase.
pub const SHORT_BYTES: usize = 4096;

/// A statement as the client sent it, not yet parsed.
pub struct Source<'t> {
    /// The lines of the whole text, which its statements share: each of them asks for places.
    lines: Rc<Lines<'t>>,
    /// The place of the statement, without the semicolon.
    bytes: Range<usize>,
    tokens: Vec<TokenWithSpan>,
}

/// Cuts a text into statements. Empty ones are left out.
///
/// # Errors
/// 42601 if something cannot be a token, as a string that does not end.
pub fn split(text: &str) -> Result<Vec<Source<'_>>> {
    let mut sources = statements(text)?;
    sources.iter_mut().for_each(Source::arrange);
    Ok(sources)
}

/// Returns the one statement of a text that the catalog keeps. The parser has written it, in forms
/// that it knows.
///
/// # Errors
/// 42601 if it cannot be cut into tokens; XX000 if it is not one statement.
pub fn kept(text: &str) -> Result<Source<'_>> {
    let mut sources = statements(text)?;
    match (sources.pop(), sources.pop()) {
        (Some(source), None) => Ok(source),
        _ => Err(SqlError::new(
            SqlState::INTERNAL_ERROR,
            "a text of the catalog is not one statement",
        )),
    }
}

/// Returns the statements of a text, in the forms that they were written in.
fn statements(text: &str) -> Result<Vec<Source<'_>>> {
    let lines = Rc::new(Lines::new(text));
    let tokens = tokens(text, &lines)?;
    refuse_junk(&tokens, &lines)?;
    let mut statements = Vec::new();
    let mut current = Vec::new();
    for token in tokens {
        phase::pause();
        match token.token {
            Token::SemiColon => statements.extend(source(&lines, std::mem::take(&mut current))),
            Token::EOF => {}
            _ => current.push(token),
        }
    }
    statements.extend(source(&lines, current));
    Ok(statements)
}

/// # Errors
/// 42601 for a number or a parameter that goes over into a word.
fn refuse_junk(tokens: &[TokenWithSpan], lines: &Lines<'_>) -> Result<()> {
    let mut before: Option<&TokenWithSpan> = None;
    for token in tokens {
        let what = match (before.map(|before| &before.token), &token.token) {
            (Some(Token::Number(..)), Token::Word(word)) if word.quote_style.is_none() => {
                "numeric literal"
            }
            (Some(Token::Placeholder(_)), Token::Word(word)) if word.quote_style.is_none() => {
                "parameter"
            }
            _ => "",
        };
        if let Some(number) = before
            && !what.is_empty()
            && number.span.end == token.span.start
        {
            let bytes = lines.byte(number.span.start)..lines.byte(token.span.end);
            let shown = lines.text(bytes);
            let message = format!("trailing junk after {what} at or near \"{shown}\"");
            let position = lines.position(number.span.start);
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message).at(position));
        }
        before = Some(token);
    }
    Ok(())
}

/// Returns the tokens of a text.
///
/// # Errors
/// 42601 if something cannot be a token.
fn tokens(text: &str, lines: &Lines<'_>) -> Result<Vec<TokenWithSpan>> {
    let mut tokens = Vec::new();
    Tokenizer::new(&Postgres::new(0), text)
        .tokenize_with_location_into_buf_with_mapper(&mut tokens, |token| {
            phase::pause();
            token
        })
        .map_err(|error| unfinished(&error, lines))?;
    Ok(tokens)
}

fn source<'t>(lines: &Rc<Lines<'t>>, mut tokens: Vec<TokenWithSpan>) -> Option<Source<'t>> {
    tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
    let (first, last) = (tokens.first()?, tokens.last()?);
    let bytes = lines.byte(first.span.start)..lines.byte(last.span.end);
    Some(Source {
        lines: Rc::clone(lines),
        bytes,
        tokens,
    })
}

impl<'t> Source<'t> {
    /// Writes what the parser does not know in forms that it does.
    fn arrange(&mut self) {
        if self.tokens.iter().any(|token| forms::is_form(&token.token)) {
            forms::arrange(&mut self.tokens);
        }
    }

    /// Returns the statement alone.
    pub fn text(&self) -> &'t str {
        self.lines.text(self.bytes.clone())
    }

    /// Returns the lines of the text that the statement stands in, which positions of errors are counted in.
    pub fn lines(&self) -> &Lines<'t> {
        &self.lines
    }

    /// Returns whether the statement begins as statements do that read or change rows.
    pub fn may_have_plan(&self) -> bool {
        let words = [
            "select", "insert", "update", "delete", "merge", "with", "values", "table",
        ];
        match self.tokens.first().map(|token| &token.token) {
            Some(Token::LParen) => true,
            _ => words.iter().any(|word| self.begins_with(word)),
        }
    }

    /// Returns whether a word is the first of the statement.
    fn begins_with(&self, word: &str) -> bool {
        let first = self.tokens.first();
        first.is_some_and(|token| is_word(&token.token, word))
    }

    /// Returns the part of the statement that begins with a token and goes to the end; positions stay
    /// those of the whole.
    ///
    /// # Errors
    /// 42601 if there is nothing.
    pub fn part(&self, begins: usize) -> Result<Source<'t>> {
        let end = TokenWithSpan::wrap(Token::EOF);
        let tokens = self.tokens.get(begins..).unwrap_or_default().to_vec();
        let mut part = source(&self.lines, tokens).ok_or_else(|| unexpected(&self.lines, &end))?;
        // The last token may be one that was put in for others, or moved.
        part.bytes.end = self.bytes.end;
        part.arrange();
        Ok(part)
    }

    /// Returns the error for a statement that should not begin as it does.
    pub fn not_expected(&self) -> SqlError {
        let end = TokenWithSpan::wrap(Token::EOF);
        unexpected(&self.lines, self.tokens.first().unwrap_or(&end))
    }

    /// Returns the tokens of the statement, without whitespace, comments and the semicolon;
    /// [`split`] has rewritten forms that the parser does not know.
    pub fn tokens(&self) -> &[TokenWithSpan] {
        &self.tokens
    }

    /// Reads the statement within a PREPARE or a DECLARE, if the command is one: it reads or changes rows, so that
    /// statements do not nest any deeper.
    ///
    /// # Errors
    /// 42601 for a statement that the command does not take; those of [`Source::statement`].
    fn check_within(&self, command: &Command) -> Result<()> {
        let Some(begins) = command.begins() else {
            return Ok(());
        };
        let within = self.part(begins)?;
        if !within.may_have_plan() {
            return Err(within.not_expected());
        }
        let statement = Tree::new(within.other_statement()?, within.tokens.len());
        match (command, &*statement) {
            (Command::Declare(_), Statement::Rows(rows)) if rows.kind() != RowKind::Select => {
                Err(within.not_expected())
            }
            _ => Ok(()),
        }
    }

    /// Reads the statement in phases of its own. Statements about the session are mostly short: they
    /// take no phase unless they are long, or have a statement within them.
    ///
    /// # Errors
    /// Those of [`Source::statement`].
    pub async fn read(&self) -> Result<Tree<Statement>> {
        let length = self.tokens.len();
        let command = || {
            Ok(self
                .session_statement()?
                .map(|read| Tree::new(read, length)))
        };
        let has_another = self.begins_with("prepare") || self.begins_with("declare");
        match phase::run_if(length > SHALLOW_TOKENS || has_another, command).await? {
            Some(command) => Ok(command),
            None => phase::run(|| Ok(Tree::new(self.other_statement()?, length))).await,
        }
    }

    /// Reads the statement, within a phase.
    ///
    /// # Errors
    /// 42601 with the position of what was not expected, 54001 if it is nested too deeply; 0A000
    /// and other errors for clauses that no statement carries to where it is carried out.
    pub fn statement(&self) -> Result<Tree<Statement>> {
        let statement = match self.session_statement()? {
            Some(command) => command,
            None => self.other_statement()?,
        };
        Ok(Tree::new(statement, self.tokens.len()))
    }

    /// Reads the statement with parameters in the place of its literals, within a phase.
    ///
    /// # Errors
    /// Those of [`Source::statement`].
    pub fn shape(&self) -> Result<Tree<Statement>> {
        let tokens = self.without_literals();
        let length = tokens.len();
        Ok(Tree::new(self.parsed(tokens)?, length))
    }

    fn session_statement(&self) -> Result<Option<Statement>> {
        match self.may_have_plan() {
            true => Ok(None),
            false => {
                let command = self.command()?;
                command
                    .iter()
                    .try_for_each(|command| self.check_within(command))?;
                Ok(command.map(Statement::Session))
            }
        }
    }

    /// Reads a statement that is none about the session.
    fn other_statement(&self) -> Result<Statement> {
        if let Some(set) = SetConstraints::read(self)? {
            return Ok(Statement::SetConstraints(set));
        }
        if self.begins_with("copy") {
            return copy::parse(self).map(Statement::Copy);
        }
        if let Some(definition) = self.definition()? {
            return Ok(definition);
        }
        if maintenance::is_maintenance(self) {
            return maintenance::maintenance(self).map(Statement::Maintenance);
        }
        if self.has_words(&["reindex"]) {
            return reindex::reindex(self).map(Statement::Refused);
        }
        let mut tokens = self.tokens.clone();
        let concurrently = self.is_concurrent_drop();
        if concurrently {
            tokens.remove(2);
        }
        let mut statement = self.parsed(tokens)?;
        if let Statement::Drop(dropped) = &mut statement {
            dropped.concurrently = concurrently;
        }
        Ok(statement)
    }

    /// Has the parser read the statement, of which these are the tokens.
    fn parsed(&self, mut tokens: Vec<TokenWithSpan>) -> Result<Statement> {
        let overriding = Overriding::take(&mut tokens)?;
        let taken_out = TakenOut::take(&mut tokens);
        let tree = parse_tokens(&self.lines, tokens)?;
        let statement = Statement::of(tree);
        let mut statement = statement.map_err(|misplaced: Misplaced| misplaced.told(self))?;
        if let Some(overriding) = overriding {
            overriding.note(&mut statement)?;
        }
        taken_out.refuse(&mut statement, &self.lines)?;
        Ok(statement)
    }

    /// Reads a definition that the parser does not know whole, if the statement is one.
    fn definition(&self) -> Result<Option<Statement>> {
        if let Some(definition) = self.table_like()? {
            return Ok(Some(definition));
        }
        if !definition::is_definition(&self.tokens) {
            return Ok(None);
        }
        let mut tokens = self.tokens.clone();
        let taken_out = TakenOut::take(&mut tokens);
        if is_kept(&tokens) {
            requote(&mut tokens);
        }
        depth::check(&tokens)?;
        let dialect = Postgres::new(tokens.len());
        let mut parser = Parser::new(&dialect)
            .with_recursion_limit(DEPTH_MAX)
            .with_tokens_with_locations(tokens);
        match definition::parse(&mut parser) {
            Ok(Some(_)) if parser.peek_token_ref().token != Token::EOF => {
                Err(unexpected(&self.lines, parser.peek_token_ref()))
            }
            Ok(mut found) => {
                if let Some(statement) = &mut found {
                    taken_out.refuse(statement, &self.lines)?;
                }
                Ok(found)
            }
            Err(refusal) => Err(refusal.told(self, &parser)),
        }
    }

    /// Returns whether the statement is `DROP INDEX CONCURRENTLY`, which the parser does not know.
    fn is_concurrent_drop(&self) -> bool {
        self.has_words(&["drop", "index", "concurrently"])
    }

    fn has_words(&self, words: &[&str]) -> bool {
        let is = |(token, known): (&TokenWithSpan, &&str)| is_word(&token.token, known);
        self.tokens.len() >= words.len() && self.tokens.iter().zip(words).all(is)
    }
}

/// Returns the parser's tree of the one statement that these tokens are; locations are those of
/// `lines`.
fn parse_tokens(lines: &Lines<'_>, mut tokens: Vec<TokenWithSpan>) -> Result<ast::Statement> {
    depth::check(&tokens)?;
    refuse_checked_recursion(lines, &tokens)?;
    if is_kept(&tokens) {
        requote(&mut tokens);
    }
    lock_strength::mark(&mut tokens);
    lock_order::arrange(&mut tokens);
    identity::arrange(&mut tokens);
    insert_source::arrange(&mut tokens);
    parse_whole(lines, tokens, |parser| parser.parse_statement())
}

/// Returns what the parser reads, which all of these tokens are; locations are those of `lines`.
///
/// # Errors
/// 42601.
fn parse_whole<T>(
    lines: &Lines<'_>,
    tokens: Vec<TokenWithSpan>,
    read: impl FnOnce(&mut Parser<'_>) -> std::result::Result<T, ParserError>,
) -> Result<T> {
    let dialect = Postgres::new(tokens.len());
    let mut parser = Parser::new(&dialect)
        .with_recursion_limit(DEPTH_MAX)
        .with_tokens_with_locations(tokens);
    match read(&mut parser) {
        Ok(read) if parser.peek_token_ref().token == Token::EOF => Ok(read),
        Ok(_) => Err(unexpected(lines, parser.peek_token_ref())),
        Err(error) => Err(not_parsed(lines, error, &parser)),
    }
}

/// Parses an expression, such as a column's default in the catalog.
///
/// # Errors
/// 42601.
pub fn parse_expression(text: &str) -> Result<Expression> {
    let lines = Lines::new(text);
    let tokens = tokens(text, &lines)?;
    depth::check(&tokens)?;
    let tree = parse_whole(&lines, tokens.clone(), |parser| parser.parse_expr())?;
    Expression::of(tree).map_err(|misplaced| misplaced.told_among(&tokens, &lines))
}

/// Returns whether a statement has expressions or queries whose texts the catalog keeps.
fn is_kept(tokens: &[TokenWithSpan]) -> bool {
    let is = |at: usize, keywords: &[Keyword]| {
        matches!(tokens.get(at).map(|token| &token.token), Some(Token::Word(word))
            if keywords.contains(&word.keyword))
    };
    is(0, &[Keyword::CREATE, Keyword::ALTER]) && !is(1, &[Keyword::TYPE])
}

/// Has strings with quotes in them read as dollar-quoted ones, where their text will be kept: the
/// parser's trees do not know whether a quote was doubled, so that what they write of others is
/// not always what was read.
fn requote(tokens: &mut [TokenWithSpan]) {
    for token in tokens {
        let Token::SingleQuotedString(text) = &token.token else {
            continue;
        };
        if !text.contains('\'') {
            continue;
        }
        let mut tags = (0_u32..).map(|number| format!("q{number}"));
        let tag = tags.find(|tag| !text.contains(&format!("${tag}")));
        token.token = Token::DollarQuotedString(DollarQuotedString {
            value: text.clone(),
            tag,
        });
    }
}

/// # Errors
/// 0A000 for `CREATE RECURSIVE VIEW .. WITH CHECK OPTION`, which is left as it was written
/// (`forms.rs`).
fn refuse_checked_recursion(lines: &Lines<'_>, tokens: &[TokenWithSpan]) -> Result<()> {
    let is_recursive = |kind| is_keyword(kind, &[Keyword::RECURSIVE]);
    if !taken_out::created_kind(tokens).is_some_and(is_recursive) || !forms::ends_with_check(tokens)
    {
        return Ok(());
    }
    let with = tokens.iter().rev();
    let with = with
        .take(4)
        .find(|token| is_keyword(token, &[Keyword::WITH]));
    let message = "WITH CHECK OPTION not supported on recursive views";
    let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
    Err(match with.and_then(|with| lines.of(with.span)) {
        Some(position) => error.at(position),
        None => error,
    })
}

/// Returns the text of a string between quotes.
fn string(token: &Token) -> Option<&str> {
    match token {
        Token::SingleQuotedString(text)
        | Token::EscapedStringLiteral(text)
        | Token::UnicodeStringLiteral(text) => Some(text),
        Token::DollarQuotedString(text) => Some(&text.value),
        _ => None,
    }
}
