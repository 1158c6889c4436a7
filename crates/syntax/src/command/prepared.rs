//! PREPARE, EXECUTE and DEALLOCATE.

use sqlparser::{parser::Parser, tokenizer::Token};
use types::Result;

use super::{Command, Reader};
use crate::statement::{Execute, TypeName};

pub(super) fn read(reader: &mut Reader<'_, '_>) -> Result<Option<Command>> {
    if reader.eat(&["prepare"]) {
        let name = reader.name()?;
        let mut types = Vec::new();
        if reader.eat_token(&Token::LParen) {
            let written =
                reader.parsed(|parser| parser.parse_comma_separated(Parser::parse_data_type))?;
            types = written.iter().map(TypeName::of).collect();
            if !reader.eat_token(&Token::RParen) {
                return Err(reader.unexpected());
            }
        }
        reader.expect(&["as"])?;
        let begins = reader.taken();
        return Ok(Some(Command::Prepare {
            name,
            types,
            begins,
        }));
    }
    let command = if reader.eat(&["execute"]) {
        Command::Execute(reader.parsed(Execute::parse)?)
    } else if reader.eat(&["deallocate"]) {
        reader.eat(&["prepare"]);
        match reader.eat(&["all"]) {
            true => Command::DeallocateAll,
            false => Command::Deallocate(reader.name()?),
        }
    } else {
        return Ok(None);
    };
    reader.end().map(|()| Some(command))
}
