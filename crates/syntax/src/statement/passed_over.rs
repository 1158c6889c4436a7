//! Actions of ALTER TABLE that say how another engine stores the table, and of those that there are not: read to their
//! ends, since an error of grammar in them is one of the text.

use sqlparser::{keywords::Keyword, parser::Parser, tokenizer::Token};
use types::{Result, SqlError, SqlState};

use super::{
    alter_table::{ColumnChange, TableAction},
    definition::{Parsed, unexpected},
    storage_parameter::{self, Owner},
};
use crate::{
    name::{DottedName, Name},
    words::take_word,
};

/// Reads an action, if it is one of these.
pub(super) fn action(parser: &mut Parser<'_>) -> Parsed<Option<TableAction>> {
    let found = if parser.parse_keywords(&[Keyword::CLUSTER, Keyword::ON]) {
        TableAction::Cluster(Name::parse(parser)?)
    } else if parser.parse_keyword(Keyword::RESET) {
        TableAction::Storage(storage_parameter::parse_reset(parser)?)
    } else if parser.parse_keyword(Keyword::SET) {
        set(parser)?
    } else if parser.parse_keyword(Keyword::REPLICA) {
        replica_identity(parser)?;
        TableAction::Unsupported("REPLICA IDENTITY")
    } else if parser.parse_keyword(Keyword::ENABLE) {
        enable(parser)?;
        TableAction::Unsupported("triggers, rules and row security")
    } else if parser.parse_keyword(Keyword::DISABLE) {
        switch(parser, true)?;
        TableAction::Unsupported("triggers, rules and row security")
    } else if parser.parse_keyword(Keyword::FORCE)
        || parser.parse_keywords(&[Keyword::NO, Keyword::FORCE])
    {
        parser.expect_keywords(&[Keyword::ROW, Keyword::LEVEL, Keyword::SECURITY])?;
        TableAction::Unsupported("triggers, rules and row security")
    } else if take_word(parser, "inherit")
        || parser.parse_keywords(&[Keyword::NO, Keyword::INHERIT])
    {
        DottedName::parse(parser)?;
        TableAction::Unsupported("INHERIT")
    } else if take_word(parser, "attach") {
        parser.expect_keyword_is(Keyword::PARTITION)?;
        DottedName::parse(parser)?;
        if !parser.parse_keyword(Keyword::DEFAULT) {
            parser.expect_keywords(&[Keyword::FOR, Keyword::VALUES])?;
            rest(parser);
        }
        TableAction::Unsupported("partitioning")
    } else if take_word(parser, "detach") {
        parser.expect_keyword_is(Keyword::PARTITION)?;
        DottedName::parse(parser)?;
        let _ = parser.parse_keyword(Keyword::CONCURRENTLY) || take_word(parser, "finalize");
        TableAction::Unsupported("partitioning")
    } else {
        return Ok(None);
    };
    Ok(Some(found))
}

/// Reads on behind SET.
fn set(parser: &mut Parser<'_>) -> Parsed<TableAction> {
    if parser.peek_token_ref().token == Token::LParen {
        let accepted = storage_parameter::parse_set(parser, Owner::Table)?;
        return Ok(TableAction::Storage(accepted));
    }
    if take_word(parser, "unlogged") {
        return Ok(TableAction::Unsupported("SET UNLOGGED"));
    }
    if parser.parse_keywords(&[Keyword::ACCESS, Keyword::METHOD]) {
        Name::parse(parser)?;
        return Ok(TableAction::Unsupported("SET ACCESS METHOD"));
    }
    if parser.parse_keyword(Keyword::WITHOUT) {
        if !parser.parse_keyword(Keyword::CLUSTER) && !take_word(parser, "oids") {
            return unexpected(parser, "CLUSTER or OIDS");
        }
    } else if parser.parse_keyword(Keyword::TABLESPACE) {
        Name::parse(parser)?;
    } else if !take_word(parser, "logged") {
        return unexpected(parser, "an action of ALTER TABLE");
    }
    Ok(TableAction::Storage(Ok(())))
}

fn replica_identity(parser: &mut Parser<'_>) -> Parsed<()> {
    parser.expect_keyword_is(Keyword::IDENTITY)?;
    if parser.parse_keywords(&[Keyword::USING, Keyword::INDEX]) {
        return Name::parse(parser).map(drop);
    }
    let is_known = parser.parse_keyword(Keyword::NOTHING)
        || parser.parse_keyword(Keyword::FULL)
        || parser.parse_keyword(Keyword::DEFAULT);
    match is_known {
        true => Ok(()),
        false => unexpected(parser, "NOTHING, FULL, DEFAULT or USING INDEX"),
    }
}

/// Reads on behind ENABLE.
fn enable(parser: &mut Parser<'_>) -> Parsed<()> {
    let is_special =
        parser.parse_keyword(Keyword::ALWAYS) || parser.parse_keyword(Keyword::REPLICA);
    switch(parser, !is_special)
}

/// Reads what is switched on or off: triggers, a rule, or the security of rows. `is_plain` allows for those that are
/// switched together.
fn switch(parser: &mut Parser<'_>, is_plain: bool) -> Parsed<()> {
    if parser.parse_keyword(Keyword::TRIGGER) {
        let is_together =
            is_plain && (parser.parse_keyword(Keyword::ALL) || parser.parse_keyword(Keyword::USER));
        return match is_together {
            true => Ok(()),
            false => Name::parse(parser).map(drop),
        };
    }
    if take_word(parser, "rule") {
        return Name::parse(parser).map(drop);
    }
    if is_plain && parser.parse_keyword(Keyword::ROW) {
        parser.expect_keywords(&[Keyword::LEVEL, Keyword::SECURITY])?;
        return Ok(());
    }
    unexpected(parser, "TRIGGER, RULE or ROW LEVEL SECURITY")
}

/// Reads the attributes behind `ALTER CONSTRAINT name`.
pub(super) fn constraint_attributes(parser: &mut Parser<'_>) -> Parsed<()> {
    let attributes: [&[Keyword]; 6] = [
        &[Keyword::NOT, Keyword::DEFERRABLE],
        &[Keyword::DEFERRABLE],
        &[Keyword::INITIALLY, Keyword::IMMEDIATE],
        &[Keyword::INITIALLY, Keyword::DEFERRED],
        &[Keyword::NOT, Keyword::VALID],
        &[Keyword::NO, Keyword::INHERIT],
    ];
    while attributes.iter().any(|words| parser.parse_keywords(words)) {}
    Ok(())
}

/// Reads a change of a column, if it is one of these.
pub(super) fn column_change(parser: &mut Parser<'_>) -> Parsed<Option<ColumnChange>> {
    if parser.parse_keyword(Keyword::RESET) {
        let accepted = storage_parameter::parse_reset(parser)?;
        return Ok(Some(ColumnChange::Storage(accepted)));
    }
    if !parser.parse_keyword(Keyword::SET) {
        return Ok(None);
    }
    let accepted = if take_word(parser, "statistics") {
        let _ = parser.consume_token(&Token::Minus) || parser.consume_token(&Token::Plus);
        storage_parameter::number(parser)?;
        Ok(())
    } else if take_word(parser, "storage") {
        let kinds = ["plain", "external", "extended", "main"];
        known(&Name::parse(parser)?, &kinds, "storage type")
    } else if take_word(parser, "compression") {
        let methods = ["pglz", "lz4", "default"];
        known(&Name::parse(parser)?, &methods, "compression method")
    } else if parser.peek_token_ref().token == Token::LParen {
        storage_parameter::parse_set(parser, Owner::Column)?
    } else {
        // SET is that of another change.
        parser.prev_token();
        return Ok(None);
    };
    Ok(Some(ColumnChange::Storage(accepted)))
}

/// Accepts a word that is one of those that there are.
fn known(name: &Name, known: &[&str], what: &str) -> Result<()> {
    let name = name.as_str();
    if known.contains(&name.to_lowercase().as_str()) {
        return Ok(());
    }
    let message = format!("invalid {what} \"{name}\"");
    Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message))
}

/// Passes over the rest of an action.
fn rest(parser: &mut Parser<'_>) {
    let mut depth = 0_usize;
    loop {
        match parser.peek_token_ref().token {
            Token::EOF => return,
            Token::Comma if depth == 0 => return,
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        parser.advance_token();
    }
}
