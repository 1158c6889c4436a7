//! Words of a text that stand without quotes: keywords of the parser's, and words that it does not know.

use sqlparser::{
    keywords::Keyword,
    parser::Parser,
    tokenizer::{Token, TokenWithSpan},
};

/// Returns the keyword that a token is; the tokenizer finds none in a word with quotes.
pub(crate) fn keyword(token: &TokenWithSpan) -> Keyword {
    match &token.token {
        Token::Word(word) => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

/// Returns the keyword at a place, which may be behind the last token.
pub(crate) fn keyword_at(tokens: &[TokenWithSpan], at: usize) -> Keyword {
    tokens.get(at).map_or(Keyword::NoKeyword, keyword)
}

/// Returns whether a token is one of `keywords`.
pub(crate) fn is_keyword(token: &TokenWithSpan, keywords: &[Keyword]) -> bool {
    keywords.contains(&keyword(token))
}

/// Returns whether a token is `word` in any case, and without quotes.
pub(crate) fn is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(found)
        if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
}

/// Passes over `word`; returns whether it was there.
pub(crate) fn take_word(parser: &mut Parser<'_>, word: &str) -> bool {
    let is_there = is_word(&parser.peek_token_ref().token, word);
    if is_there {
        parser.advance_token();
    }
    is_there
}
