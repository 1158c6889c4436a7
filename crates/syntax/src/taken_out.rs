//! Clauses that the parser does not know, and that there are not: they are taken out of the tokens, and refused in the
//! statement that is read without them, where it is carried out.
//!
//! | clause | refused in |
//! | --- | --- |
//! | `ON DELETE SET NULL (a, b)`, `SET DEFAULT (a, b)` | the foreign key |
//! | `WHERE CURRENT OF cursor` | the UPDATE or DELETE |
//! | `WITH [CASCADED \| LOCAL] CHECK OPTION` | the view |

#[cfg(test)]
mod tests;

use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};
use types::{Result, SqlError, SqlState};

use crate::{
    change::Change,
    expression::Refused,
    forms,
    position::{Lines, Span},
    query::{QueryBody, Select},
    statement::{
        ColumnDefinition, ColumnOptionKind, ConstraintKind, RowStatement, Statement, TableAction,
        TableConstraint,
    },
    words::{is_keyword, is_word, keyword_at},
};

/// The places of the clauses that were taken out of a statement.
#[derive(Debug, Default)]
pub(crate) struct TakenOut {
    /// The first of the lists of columns: its foreign key alone refuses the statement.
    column_list: Option<Span>,
    current_of: Option<Span>,
    has_check_option: bool,
}

impl TakenOut {
    /// Takes the clauses out of the tokens of a statement.
    pub(crate) fn take(tokens: &mut Vec<TokenWithSpan>) -> Self {
        let mut taken = Self::default();
        if keyword_at(tokens, 0) == Keyword::CREATE {
            taken.has_check_option = take_check_option(tokens);
        }
        if matches!(keyword_at(tokens, 0), Keyword::CREATE | Keyword::ALTER) {
            taken.column_list = take_column_lists(tokens);
        } else {
            taken.current_of = take_current_of(tokens);
        }
        taken
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
        if let Some(list) = self.column_list {
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
        if self.has_check_option {
            match statement {
                Statement::CreateView(view) => {
                    let error = refuse_check_option(view.query.statement());
                    view.supported = view.supported.clone().and(Err(error));
                }
                _ => return Err(SqlError::unsupported(CHECK_OPTION)),
            }
        }
        Ok(())
    }
}

const CHECK_OPTION: &str = "WITH CHECK OPTION";

/// Returns the error for the option of a view: PostgreSQL's own where the query's clauses say that no view of it can be
/// updated.
fn refuse_check_option(statement: &RowStatement) -> SqlError {
    let may_be_updated = match statement {
        RowStatement::Query(query) => {
            let is_cut = query.with.is_some() || query.limit.is_some() || query.offset.is_some();
            !is_cut && matches!(&query.body, QueryBody::Select(select) if reads_one(select))
        }
        RowStatement::Change(_) => false,
    };
    match may_be_updated {
        true => SqlError::unsupported(CHECK_OPTION),
        false => SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "WITH CHECK OPTION is supported only on automatically updatable views",
        ),
    }
}

/// Returns whether the rows of a query block are single rows of one relation, as far as its clauses say.
fn reads_one(select: &Select) -> bool {
    let is_grouped = !select.grouping.is_empty() || select.having.is_some();
    select.distinct.is_none() && select.from.len() == 1 && !is_grouped
}

/// Returns whether `ON DELETE SET NULL` begins here, or a like action.
fn is_set(tokens: &[TokenWithSpan], at: usize) -> bool {
    keyword_at(tokens, at) == Keyword::ON
        && matches!(
            keyword_at(tokens, at + 1),
            Keyword::DELETE | Keyword::UPDATE
        )
        && keyword_at(tokens, at + 2) == Keyword::SET
        && matches!(keyword_at(tokens, at + 3), Keyword::NULL | Keyword::DEFAULT)
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

/// Takes all lists of columns behind `SET NULL` and `SET DEFAULT` out, in one pass; returns the place of the first.
fn take_column_lists(tokens: &mut Vec<TokenWithSpan>) -> Option<Span> {
    let mut lists = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let begin = at + 4;
        match end_of_names(tokens, begin).filter(|_| is_set(tokens, at)) {
            Some(end) => {
                lists.push(begin..end);
                at = end;
            }
            None => at += 1,
        }
    }
    let first = tokens[lists.first()?.start].span.into();
    let mut lists = lists.into_iter().peekable();
    let mut at = 0;
    tokens.retain(|_| {
        while lists.next_if(|list| list.end <= at).is_some() {}
        let is_kept = !lists.peek().is_some_and(|list| list.contains(&at));
        at += 1;
        is_kept
    });
    Some(first)
}

/// Takes the first `WHERE CURRENT OF cursor` behind UPDATE or DELETE out; another one is left, and no expression.
fn take_current_of(tokens: &mut Vec<TokenWithSpan>) -> Option<Span> {
    let changes = |token: &TokenWithSpan| is_keyword(token, &[Keyword::UPDATE, Keyword::DELETE]);
    let change = tokens.iter().position(changes)?;
    let behind = tokens[change..].windows(4).position(|tokens| {
        is_word(&tokens[0].token, "where")
            && is_word(&tokens[1].token, "current")
            && is_word(&tokens[2].token, "of")
            && matches!(tokens[3].token, Token::Word(_))
    })?;
    let at = change + behind;
    let span = tokens[at + 1].span.into();
    tokens.drain(at..at + 4);
    Some(span)
}

/// Takes `WITH CHECK OPTION` off the end of a view, whose query it cannot be a part of. That of a recursive view is
/// refused elsewhere.
fn take_check_option(tokens: &mut Vec<TokenWithSpan>) -> bool {
    let is_view = created_kind(tokens).is_some_and(|kind| is_keyword(kind, &[Keyword::VIEW]));
    if !is_view || !forms::ends_with_check(tokens) {
        return false;
    }
    let kinds = [Keyword::CASCADED, Keyword::LOCAL];
    let mut begin = tokens.len() - 3;
    if kinds.contains(&keyword_at(tokens, begin)) {
        begin -= 1;
    }
    let is_written = keyword_at(tokens, begin) == Keyword::WITH;
    if is_written {
        tokens.truncate(begin);
    }
    is_written
}

/// Returns the word for what a CREATE statement makes, behind OR REPLACE and TEMPORARY.
pub(crate) fn created_kind(tokens: &[TokenWithSpan]) -> Option<&TokenWithSpan> {
    let before = [
        Keyword::OR,
        Keyword::REPLACE,
        Keyword::TEMP,
        Keyword::TEMPORARY,
    ];
    let (create, rest) = tokens.split_first()?;
    let mut rest = rest
        .iter()
        .filter(|_| is_keyword(create, &[Keyword::CREATE]));
    rest.find(|token| !is_keyword(token, &before))
}

/// Refuses the foreign key that a place is behind: of those that begin before it, the one that begins last.
fn refuse_foreign_key(statement: &mut Statement, place: Span, error: SqlError) -> Result<()> {
    let before = keys(statement).filter_map(|key| {
        let span = key.span().filter(|span| span.is_before(place))?;
        Some((span, key))
    });
    let last = before.reduce(|one, other| match one.0.is_before(other.0) {
        true => other,
        false => one,
    });
    let (_, key) = last.ok_or_else(|| error.clone())?;
    key.refuse(error);
    Ok(())
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

    fn refuse(self, error: SqlError) {
        match self {
            Self::Column(option) => *option = ColumnOptionKind::Refused(error),
            Self::Table(constraint) => *constraint = ConstraintKind::Refused(error),
        }
    }
}

/// Iterates over the constraints of a definition of a table.
fn keys(statement: &mut Statement) -> Box<dyn Iterator<Item = Key<'_>> + '_> {
    match statement {
        Statement::CreateTable(create) => {
            let constraints = create.constraints.iter_mut().map(key_of_table);
            let columns = create.columns.iter_mut();
            Box::new(columns.flat_map(keys_of_column).chain(constraints))
        }
        Statement::AlterTable(alter) => Box::new(alter.actions.iter_mut().flat_map(|action| {
            let (column, constraint) = match action {
                TableAction::AddColumn { definition, .. } => (Some(&mut **definition), None),
                TableAction::AddConstraint { constraint, .. } => (None, Some(&mut **constraint)),
                _ => (None, None),
            };
            let constraint = constraint.map(key_of_table);
            column
                .into_iter()
                .flat_map(keys_of_column)
                .chain(constraint)
        })),
        _ => Box::new(std::iter::empty()),
    }
}

fn keys_of_column(column: &mut ColumnDefinition) -> impl Iterator<Item = Key<'_>> {
    column
        .options
        .iter_mut()
        .map(|option| Key::Column(&mut option.kind))
}

fn key_of_table(constraint: &mut TableConstraint) -> Key<'_> {
    Key::Table(&mut constraint.kind)
}
