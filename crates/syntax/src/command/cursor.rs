//! DECLARE, FETCH, MOVE and CLOSE.

use sqlparser::tokenizer::Token;
use types::{Result, SqlError, SqlState};

use super::{Command, Reader};

/// Whether a cursor goes backwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scroll {
    /// Nothing was said.
    Unsaid,
    /// `SCROLL`.
    Yes,
    /// `NO SCROLL`: moving backward is an error, 55000.
    No,
}

/// A cursor as it is declared; its query begins with a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// The name of the cursor.
    pub name: String,
    /// Whether `BINARY` asks for rows in binary format.
    pub is_binary: bool,
    /// Whether `INSENSITIVE` is written, which locking clauses in the query exclude.
    pub is_insensitive: bool,
    /// The `SCROLL` or `NO SCROLL` option.
    pub scroll: Scroll,
    /// It outlives its transaction.
    pub is_held: bool,
    /// The index of the query's first token in [`Source::tokens`](crate::Source::tokens).
    pub begins: usize,
}

/// Which rows of a cursor, from where it stands. Numbers may be negative; `i64::MAX` rows are all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// `NEXT` or `FORWARD n`: the next `n` rows; 0 is the current row, a negative `n` goes
    /// backward.
    Forward(i64),
    /// `PRIOR` or `BACKWARD n`: the `n` rows before the current one, last first; a negative `n`
    /// goes forward.
    Backward(i64),
    /// `FIRST`, `LAST` or `ABSOLUTE n`: the row of this number, from 1; a negative `n` counts from
    /// the end, and 0 is the place before the first row.
    Absolute(i64),
    /// `RELATIVE n`: the single row `n` rows after the current one, or before it if `n` is
    /// negative.
    Relative(i64),
}

pub(super) fn read(reader: &mut Reader<'_, '_>) -> Result<Option<Command>> {
    if reader.eat(&["declare"]) {
        return declare(reader).map(|declared| Some(Command::Declare(declared)));
    }
    let command = if reader.eat(&["fetch"]) {
        fetch(reader, false)?
    } else if reader.eat(&["move"]) {
        fetch(reader, true)?
    } else if reader.eat(&["close"]) {
        match reader.eat(&["all"]) {
            true => Command::CloseAll,
            false => Command::Close(reader.name()?),
        }
    } else {
        return Ok(None);
    };
    reader.end().map(|()| Some(command))
}

fn declare(reader: &mut Reader<'_, '_>) -> Result<Declared> {
    let mut declared = Declared {
        name: reader.name()?,
        is_binary: false,
        is_insensitive: false,
        scroll: Scroll::Unsaid,
        is_held: false,
        begins: 0,
    };
    let conflict = |words: &str| {
        let message = format!("cannot specify both {words}");
        SqlError::new(SqlState::INVALID_CURSOR_DEFINITION, message)
    };
    let mut is_asensitive = false;
    while !reader.eat(&["cursor"]) {
        let scroll = if reader.eat(&["binary"]) {
            declared.is_binary = true;
            continue;
        } else if reader.eat(&["insensitive"]) {
            declared.is_insensitive = true;
            continue;
        } else if reader.eat(&["asensitive"]) {
            is_asensitive = true;
            continue;
        } else if reader.eat(&["no", "scroll"]) {
            Scroll::No
        } else if reader.eat(&["scroll"]) {
            Scroll::Yes
        } else {
            return Err(reader.unexpected());
        };
        if declared.scroll != Scroll::Unsaid && declared.scroll != scroll {
            return Err(conflict("SCROLL and NO SCROLL"));
        }
        declared.scroll = scroll;
    }
    if is_asensitive && declared.is_insensitive {
        return Err(conflict("INSENSITIVE and ASENSITIVE"));
    }
    declared.is_held = reader.eat(&["with", "hold"]);
    if !declared.is_held {
        reader.eat(&["without", "hold"]);
    }
    reader.expect(&["for"])?;
    declared.begins = reader.taken();
    Ok(declared)
}

fn fetch(reader: &mut Reader<'_, '_>, is_move: bool) -> Result<Command> {
    let mut direction = Direction::Forward(1);
    if !is_name(reader) {
        direction = self::direction(reader)?;
        if !reader.eat(&["from"]) {
            reader.eat(&["in"]);
        }
    }
    Ok(Command::Fetch {
        name: reader.name()?,
        direction,
        is_move,
    })
}

/// Returns whether the cursor's name comes next, and no direction. A word alone is a name, whatever
/// it means before others, apart from reserved ones.
fn is_name(reader: &Reader<'_, '_>) -> bool {
    let is_reserved = ["all", "from", "in"]
        .iter()
        .any(|word| reader.sees(&[word]));
    reader.left() == 1 && !is_reserved && matches!(reader.token(), Some(Token::Word(_)))
}

fn direction(reader: &mut Reader<'_, '_>) -> Result<Direction> {
    Ok(if reader.eat(&["next"]) {
        Direction::Forward(1)
    } else if reader.eat(&["prior"]) {
        Direction::Backward(1)
    } else if reader.eat(&["first"]) {
        Direction::Absolute(1)
    } else if reader.eat(&["last"]) {
        Direction::Absolute(-1)
    } else if reader.eat(&["absolute"]) {
        Direction::Absolute(count(reader)?.ok_or_else(|| reader.unexpected())?)
    } else if reader.eat(&["relative"]) {
        Direction::Relative(count(reader)?.ok_or_else(|| reader.unexpected())?)
    } else if reader.eat(&["forward"]) {
        Direction::Forward(count_or_all(reader)?.unwrap_or(1))
    } else if reader.eat(&["backward"]) {
        Direction::Backward(count_or_all(reader)?.unwrap_or(1))
    } else {
        Direction::Forward(count_or_all(reader)?.unwrap_or(1))
    })
}

fn count_or_all(reader: &mut Reader<'_, '_>) -> Result<Option<i64>> {
    match reader.eat(&["all"]) {
        true => Ok(Some(i64::MAX)),
        false => count(reader),
    }
}

fn count(reader: &mut Reader<'_, '_>) -> Result<Option<i64>> {
    let Some(digits) = reader.number() else {
        return Ok(None);
    };
    match digits.parse::<i32>() {
        Ok(count) => Ok(Some(count.into())),
        Err(_) => {
            reader.back();
            Err(reader.unexpected())
        }
    }
}
