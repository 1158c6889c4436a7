//! `INSERT ... OVERRIDING {SYSTEM | USER} VALUE`, which the parser does not know: it is taken out of
//! the tokens, and noted in the statement.

use sqlparser::tokenizer::TokenWithSpan;
use types::{Result, SqlError};

use crate::words::is_word;
use crate::{
    change::{Change, Overriding},
    statement::{RowStatement, Statement},
};

impl Overriding {
    /// Takes it out of a statement.
    ///
    /// # Errors
    /// 0A000 if there is more than one.
    pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) -> Result<Option<Self>> {
        let is = |at: usize, tokens: &[TokenWithSpan], word: &str| {
            tokens
                .get(at)
                .is_some_and(|token| is_word(&token.token, word))
        };
        let mut found = None;
        let mut at = 0;
        while at < tokens.len() {
            if is(at, tokens, "overriding") && is(at + 2, tokens, "value") {
                let kind = match (is(at + 1, tokens, "system"), is(at + 1, tokens, "user")) {
                    (true, _) => Self::System,
                    (_, true) => Self::User,
                    _ => return Ok(found),
                };
                if found.replace(kind).is_some() {
                    return Err(SqlError::unsupported("OVERRIDING in several places"));
                }
                tokens.drain(at..at + 3);
            }
            at += 1;
        }
        Ok(found)
    }

    /// Notes it in the statement that it was taken from.
    ///
    /// # Errors
    /// 0A000 if that is no INSERT itself.
    pub(super) fn note(self, statement: &mut Statement) -> Result<()> {
        let Statement::Rows(RowStatement::Change(Change::Insert(insert))) = statement else {
            return Err(SqlError::unsupported("OVERRIDING within a query"));
        };
        insert.overriding = Some(self);
        Ok(())
    }
}
