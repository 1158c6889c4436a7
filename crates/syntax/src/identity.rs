//! `GENERATED ... AS IDENTITY (options)`: the parser wants the options in one order, PostgreSQL takes
//! them in any.

use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use crate::words::keyword;

/// Puts the options of identity columns in the order in which the parser reads them.
pub(super) fn arrange(tokens: &mut [TokenWithSpan]) {
    let mut at = 0;
    while at + 1 < tokens.len() {
        if keyword(&tokens[at]) == Keyword::IDENTITY && tokens[at + 1].token == Token::LParen {
            let options = &mut tokens[at + 2..];
            let end = options
                .iter()
                .position(|token| token.token == Token::RParen);
            arrange_options(&mut options[..end.unwrap_or_default()]);
        }
        at += 1;
    }
}

fn arrange_options(tokens: &mut [TokenWithSpan]) {
    let mut options: Vec<(u8, Vec<TokenWithSpan>)> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let is_negated = keyword(&tokens[at]) == Keyword::NO;
        let name = tokens.get(at + usize::from(is_negated)).map(keyword);
        let rank = match name {
            Some(Keyword::INCREMENT) => 0,
            Some(Keyword::MINVALUE) => 1,
            Some(Keyword::MAXVALUE) => 2,
            Some(Keyword::START) => 3,
            Some(Keyword::CACHE) => 4,
            Some(Keyword::CYCLE) => 5,
            _ => u8::MAX,
        };
        match options.last_mut() {
            // What is no option's name belongs to the one before.
            Some((_, option)) if rank == u8::MAX => option.push(tokens[at].clone()),
            _ => options.push((rank, vec![tokens[at].clone()])),
        }
        at += 1;
        if is_negated && rank != u8::MAX {
            if let (Some((_, option)), Some(token)) = (options.last_mut(), tokens.get(at)) {
                option.push(token.clone());
            }
            at += 1;
        }
    }
    options.sort_by_key(|(rank, _)| *rank);
    let arranged = options.into_iter().flat_map(|(_, option)| option);
    tokens
        .iter_mut()
        .zip(arranged)
        .for_each(|(place, token)| *place = token);
}
