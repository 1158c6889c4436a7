//! Clauses that the parser does not know, and that there are not: they are taken out of the tokens, and refused in the
//! statement that is read without them, where it is carried out.
//!
//! | clause | refused in |
//! | --- | --- |
//! | `ON DELETE SET NULL (a, b)`, `SET DEFAULT (a, b)` | the foreign key |
//! | `WHERE CURRENT OF cursor` | the UPDATE or DELETE |
//! | `WITH [CASCADED \| LOCAL] CHECK OPTION` | the view |

use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};
use types::{Result, SqlError, SqlState};

use crate::{
    change::Change,
    expression::Refused,
    forms, is_keyword,
    position::{Lines, Span},
    statement::{
        ColumnDefinition, ColumnOptionKind, ConstraintKind, RowStatement, Statement, TableAction,
        TableConstraint,
    },
};

/// The places of the clauses that were taken out of a statement.
#[derive(Debug, Default)]
pub(crate) struct TakenOut {
    /// Lists of columns, at most one for each foreign key.
    column_lists: Vec<Span>,
    current_of: Option<Span>,
    check_option: Option<Span>,
}

impl TakenOut {
    /// Takes the clauses out of the tokens of a statement.
    pub(crate) fn take(tokens: &mut Vec<TokenWithSpan>) -> Self {
        let mut taken = Self::default();
        if is_keyword_at(tokens, 0, &[Keyword::CREATE]) {
            taken.check_option = take_check_option(tokens);
        }
        if is_keyword_at(tokens, 0, &[Keyword::CREATE, Keyword::ALTER]) {
            taken.take_column_lists(tokens);
        } else {
            taken.current_of = take_current_of(tokens);
        }
        taken
    }

    fn take_column_lists(&mut self, tokens: &mut Vec<TokenWithSpan>) {
        let mut at = 0;
        while at < tokens.len() {
            let begin = at + 4;
            if is_set(tokens, at)
                && let Some(end) = end_of_names(tokens, begin)
            {
                self.column_lists.push(tokens[begin].span.into());
                tokens.drain(begin..end);
            }
            at += 1;
        }
    }

    /// Refuses the clauses in the statement that they were taken out of.
    ///
    /// # Errors
    /// 0A000 where the statement has no place for the error.
    pub(crate) fn refuse(self, statement: &mut Statement, lines: &Lines<'_>) -> Result<()> {
        let at = |error: SqlError, span: Span| match lines.of(span) {
            Some(position) => error.at(position),
            None => error,
        };
        for list in self.column_lists {
            let error = SqlError::unsupported("a list of columns after SET NULL or SET DEFAULT");
            refuse_foreign_key(statement, list, at(error, list))?;
        }
        if let Some(span) = self.current_of {
            let error = at(SqlError::unsupported("WHERE CURRENT OF"), span);
            let refused = match statement {
                Statement::Rows(RowStatement::Change(Change::Update(update))) => {
                    &mut update.refused
                }
                Statement::Rows(RowStatement::Change(Change::Delete(delete))) => {
                    &mut delete.refused
                }
                _ => return Err(error),
            };
            refused.get_or_insert(Refused(error));
        }
        if self.check_option.is_some() {
            let message = "WITH CHECK OPTION is supported only on automatically updatable views";
            let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
            match statement {
                Statement::CreateView(view) => {
                    view.supported = view.supported.clone().and(Err(error));
                }
                _ => return Err(error),
            }
        }
        Ok(())
    }
}

fn is_keyword_at(tokens: &[TokenWithSpan], at: usize, keywords: &[Keyword]) -> bool {
    tokens
        .get(at)
        .is_some_and(|token| is_keyword(token, keywords))
}

/// Returns whether `ON DELETE SET NULL` begins here, or a like action.
fn is_set(tokens: &[TokenWithSpan], at: usize) -> bool {
    is_keyword_at(tokens, at, &[Keyword::ON])
        && is_keyword_at(tokens, at + 1, &[Keyword::DELETE, Keyword::UPDATE])
        && is_keyword_at(tokens, at + 2, &[Keyword::SET])
        && is_keyword_at(tokens, at + 3, &[Keyword::NULL, Keyword::DEFAULT])
}

/// Returns the end of the names in parentheses that begin here.
fn end_of_names(tokens: &[TokenWithSpan], begin: usize) -> Option<usize> {
    let token = |at: usize| tokens.get(at).map(|token| &token.token);
    if token(begin) != Some(&Token::LParen) {
        return None;
    }
    let mut at = begin + 1;
    loop {
        match (token(at), token(at + 1)) {
            (Some(Token::Word(_)), Some(Token::Comma)) => at += 2,
            (Some(Token::Word(_)), Some(Token::RParen)) => return Some(at + 2),
            _ => return None,
        }
    }
}

/// Takes the first `WHERE CURRENT OF cursor` out; another one is left, and no expression.
fn take_current_of(tokens: &mut Vec<TokenWithSpan>) -> Option<Span> {
    let is_word = |token: &TokenWithSpan, word: &str| {
        matches!(&token.token, Token::Word(found)
            if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
    };
    let at = tokens.windows(4).position(|tokens| {
        is_word(&tokens[0], "where")
            && is_word(&tokens[1], "current")
            && is_word(&tokens[2], "of")
            && matches!(tokens[3].token, Token::Word(_))
    })?;
    let span = tokens[at + 1].span.into();
    tokens.drain(at..at + 4);
    Some(span)
}

/// Takes `WITH CHECK OPTION` off the end of a view, whose query it cannot be a part of. That of a recursive view is
/// refused elsewhere.
fn take_check_option(tokens: &mut Vec<TokenWithSpan>) -> Option<Span> {
    let is_view = tokens
        .iter()
        .take(4)
        .any(|token| is_keyword(token, &[Keyword::VIEW]));
    let is_recursive = tokens
        .iter()
        .take(4)
        .any(|token| is_keyword(token, &[Keyword::RECURSIVE]));
    if !is_view || is_recursive || !forms::ends_with_check(tokens) {
        return None;
    }
    let kinds = [Keyword::CASCADED, Keyword::LOCAL];
    let mut begin = tokens.len() - 3;
    if is_keyword_at(tokens, begin, &kinds) {
        begin -= 1;
    }
    if !is_keyword_at(tokens, begin, &[Keyword::WITH]) {
        return None;
    }
    let span = tokens[begin].span.into();
    tokens.truncate(begin);
    Some(span)
}

/// Refuses the foreign key that a place is behind, the last one of those that begin before it.
fn refuse_foreign_key(statement: &mut Statement, place: Span, error: SqlError) -> Result<()> {
    let mut found = None;
    let mut look = |key: Key<'_>| {
        if let Some(span) = key.span()
            && span.is_before(place)
        {
            found = Some(span);
        }
    };
    for_each_key(statement, &mut look);
    let mut refuse = |mut key: Key<'_>| {
        if found.is_some() && key.span() == found {
            key.refuse(error.clone());
        }
    };
    for_each_key(statement, &mut refuse);
    match found {
        Some(_) => Ok(()),
        None => Err(error),
    }
}

/// A constraint that may be a foreign key.
enum Key<'s> {
    Column(&'s mut ColumnOptionKind),
    Table(&'s mut ConstraintKind),
}

impl Key<'_> {
    /// Returns the place of the table that the key refers to.
    fn span(&self) -> Option<Span> {
        match self {
            Self::Column(ColumnOptionKind::References(key))
            | Self::Table(ConstraintKind::ForeignKey { key, .. }) => Some(key.table.span()),
            _ => None,
        }
    }

    fn refuse(&mut self, error: SqlError) {
        match self {
            Self::Column(option) => **option = ColumnOptionKind::Refused(error),
            Self::Table(constraint) => **constraint = ConstraintKind::Refused(error),
        }
    }
}

/// Calls `visit` with each constraint of a definition of a table.
fn for_each_key(statement: &mut Statement, visit: &mut impl FnMut(Key<'_>)) {
    let column = |definition: &mut ColumnDefinition, visit: &mut dyn FnMut(Key<'_>)| {
        for option in &mut definition.options {
            visit(Key::Column(&mut option.kind));
        }
    };
    let table = |constraint: &mut TableConstraint, visit: &mut dyn FnMut(Key<'_>)| {
        visit(Key::Table(&mut constraint.kind));
    };
    match statement {
        Statement::CreateTable(create) => {
            for definition in &mut create.columns {
                column(definition, visit);
            }
            for constraint in &mut create.constraints {
                table(constraint, visit);
            }
        }
        Statement::AlterTable(alter) => {
            for action in &mut alter.actions {
                match action {
                    TableAction::AddColumn { definition, .. } => column(definition, visit),
                    TableAction::AddConstraint { constraint, .. } => table(constraint, visit),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}
