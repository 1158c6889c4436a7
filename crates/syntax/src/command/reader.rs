//! The tokens of a statement, taken one after the other.

use sqlparser::{
    parser::Parser,
    tokenizer::{Token, TokenWithSpan},
};
use types::{Result, SqlError};

use super::super::{DEPTH_MAX, Source, depth, dialect::Postgres, string, unexpected};
use crate::words::is_word;
use crate::{
    name,
    refusal::Refusal,
    reserved::{self, NameKind},
};

/// The tokens of a statement, and how far they were taken.
pub(super) struct Reader<'s, 't> {
    source: &'s Source<'t>,
    at: usize,
}

impl<'s, 't> Reader<'s, 't> {
    pub(super) fn new(source: &'s Source<'t>) -> Self {
        Reader { source, at: 0 }
    }

    pub(super) fn token(&self) -> Option<&'s Token> {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> Option<&'s Token> {
        let token = self.source.tokens.get(self.at + by);
        token.map(|token| &token.token)
    }

    /// Whether these words come next.
    pub(super) fn sees(&self, words: &[&str]) -> bool {
        words
            .iter()
            .enumerate()
            .all(|(by, word)| self.ahead(by).is_some_and(|token| is_word(token, word)))
    }

    /// Takes these words, if they come next.
    pub(super) fn eat(&mut self, words: &[&str]) -> bool {
        let sees = self.sees(words);
        if sees {
            self.at += words.len();
        }
        sees
    }

    /// Gives the last token back.
    pub(super) fn back(&mut self) {
        self.at = self.at.saturating_sub(1);
    }

    /// Takes these words.
    ///
    /// # Errors
    /// 42601 if something else comes.
    pub(super) fn expect(&mut self, words: &[&str]) -> Result<()> {
        for word in words {
            if !self.eat(&[word]) {
                return Err(self.unexpected());
            }
        }
        Ok(())
    }

    /// Takes this token, if it comes next.
    pub(super) fn eat_token(&mut self, token: &Token) -> bool {
        let sees = self.token() == Some(token);
        self.at += usize::from(sees);
        sees
    }

    /// A name of a statement, a cursor, a savepoint or a setting, folded unless it is quoted.
    pub(super) fn name(&mut self) -> Result<String> {
        self.name_of(NameKind::Object)
    }

    /// A name of a kind, folded unless it is quoted.
    pub(super) fn name_of(&mut self, kind: NameKind) -> Result<String> {
        match reserved::name(self.token(), kind) {
            Some(word) => {
                let name = name::fold(word.to_ident(sqlparser::tokenizer::Span::empty()));
                self.at += 1;
                Ok(name)
            }
            None => Err(self.unexpected()),
        }
    }

    /// A string between quotes, if one comes next.
    pub(super) fn string(&mut self) -> Option<String> {
        let text = string(self.token()?)?.to_owned();
        self.at += 1;
        Some(text)
    }

    /// A number as it was written, with its sign, if one comes next.
    pub(super) fn number(&mut self) -> Option<String> {
        let (sign, by) = match self.token()? {
            Token::Minus => ("-", 1),
            Token::Plus => ("", 1),
            _ => ("", 0),
        };
        let Some(Token::Number(digits, false)) = self.ahead(by) else {
            return None;
        };
        let number = format!("{sign}{digits}");
        self.at += by + 1;
        Some(number)
    }

    /// Returns the result of the parser from here.
    pub(super) fn parsed<T, E: Into<Refusal>>(
        &mut self,
        read: impl FnOnce(&mut Parser<'_>) -> std::result::Result<T, E>,
    ) -> Result<T> {
        let rest = self.source.tokens.get(self.at..).unwrap_or_default();
        depth::check(rest)?;
        let dialect = Postgres::new(rest.len());
        let mut parser = Parser::new(&dialect)
            .with_recursion_limit(DEPTH_MAX)
            .with_tokens_with_locations(rest.to_vec());
        match read(&mut parser) {
            Ok(read) => {
                self.at += parser.index();
                Ok(read)
            }
            Err(error) => Err(error.into().told(self.source, &parser)),
        }
    }

    /// How many tokens were taken.
    pub(super) fn taken(&self) -> usize {
        self.at
    }

    /// Returns the number of tokens that were not taken.
    pub(super) fn left(&self) -> usize {
        self.source.tokens.len().saturating_sub(self.at)
    }

    /// # Errors
    /// 42601 unless all was taken.
    pub(super) fn end(&self) -> Result<()> {
        match self.token() {
            None => Ok(()),
            Some(_) => Err(self.unexpected()),
        }
    }

    /// Returns the error for a next word that may not come.
    pub(super) fn unexpected(&self) -> SqlError {
        let end = TokenWithSpan::wrap(Token::EOF);
        let token = self.source.tokens.get(self.at).unwrap_or(&end);
        unexpected(&self.source.lines, token)
    }

    /// Where the statement begins, from 1.
    pub(super) fn first_position(&self) -> Option<u32> {
        let first = self.source.tokens.first()?;
        self.source.lines.of(first.span)
    }
}
