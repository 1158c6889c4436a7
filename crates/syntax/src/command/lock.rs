//! LOCK TABLE.

use engine::TableLockMode;
use sqlparser::tokenizer::Token;
use types::Result;

use super::{Command, Reader};
use crate::name::DottedName;

const MODES: &[(&[&str], TableLockMode)] = &[
    (&["access", "share"], TableLockMode::AccessShare),
    (&["row", "share"], TableLockMode::RowShare),
    (&["row", "exclusive"], TableLockMode::RowExclusive),
    (
        &["share", "update", "exclusive"],
        TableLockMode::ShareUpdateExclusive,
    ),
    (
        &["share", "row", "exclusive"],
        TableLockMode::ShareRowExclusive,
    ),
    (&["share"], TableLockMode::Share),
    (&["exclusive"], TableLockMode::Exclusive),
    (&["access", "exclusive"], TableLockMode::AccessExclusive),
];

pub(super) fn read(reader: &mut Reader<'_, '_>) -> Result<Option<Command>> {
    if !reader.eat(&["lock"]) {
        return Ok(None);
    }
    reader.eat(&["table"]);
    let mut tables = vec![table(reader)?];
    while reader.eat_token(&Token::Comma) {
        tables.push(table(reader)?);
    }
    let mode = match reader.eat(&["in"]) {
        true => mode(reader)?,
        false => TableLockMode::AccessExclusive,
    };
    let waits = !reader.eat(&["nowait"]);
    reader.end()?;
    Ok(Some(Command::Lock {
        tables,
        mode,
        waits,
    }))
}

fn table(reader: &mut Reader<'_, '_>) -> Result<DottedName> {
    reader.eat(&["only"]);
    let name = reader.parsed(DottedName::parse)?;
    reader.eat_token(&Token::Mul);
    Ok(name)
}

fn mode(reader: &mut Reader<'_, '_>) -> Result<TableLockMode> {
    for (words, mode) in MODES {
        if reader.eat(words) {
            reader.expect(&["mode"])?;
            return Ok(*mode);
        }
    }
    Err(reader.unexpected())
}
