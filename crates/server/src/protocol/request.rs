//! Requests of connected clients: the messages, borrowed from the input.
//!
//! pgwire has these messages too, but its decoding copies all of them, replaces text that is
//! not UTF-8, reads on into the next message if a body is too short, and panics if nothing
//! follows.

use types::{Result, SqlError, SqlState};

use super::{
    body::Body,
    format::{Format, FormatList},
    input::Frame,
};

/// Longest body of messages that carry no data of the client.
const SHORT_BYTES_MAX: usize = 10_000;

/// Longest name of a statement or a portal: a connection keeps many names, and messages that close or describe them are
/// short.
const NAME_BYTES_MAX: usize = 1000;

/// Returns the longest body of a message, by its tag.
///
/// # Errors
/// Fails for an unknown tag: the client is out of step, or no client of this protocol.
pub(crate) fn longest(tag: u8, message_bytes_max: usize) -> Result<usize> {
    match tag {
        b'Q' | b'P' | b'B' | b'd' => Ok(message_bytes_max),
        b'F' | b'f' => Ok(message_bytes_max),
        b'D' | b'E' | b'C' | b'H' | b'S' | b'X' | b'c' => {
            Ok(SHORT_BYTES_MAX.min(message_bytes_max))
        }
        _ => Err(SqlError::new(
            SqlState::PROTOCOL_VIOLATION,
            format!("invalid frontend message type {tag}"),
        )),
    }
}

/// A message of a connected client.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Request<'a> {
    /// Runs these statements.
    Query(&'a str),
    Parse(Parse<'a>),
    Bind(Bind<'a>),
    Describe(Target, &'a str),
    /// Runs the portal, for at most this many rows (0: all).
    Execute(&'a str, u32),
    Close(Target, &'a str),
    /// Sends all pending output.
    Flush,
    Sync,
    Terminate,
}

/// Prepares a statement under a name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parse<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
    pub(crate) types: ParameterTypes<'a>,
}

/// Types that a client gives to parameters, by object identifier.
#[derive(Debug, Clone, Copy)]
pub struct ParameterTypes<'a>(&'a [u8]);

impl ParameterTypes<'_> {
    /// Returns the types, from the first parameter on; `None` where the client leaves the
    /// type open. The statement may have more parameters.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<u32>> {
        self.0.chunks_exact(4).map(|bytes| {
            let oid = u32::from_be_bytes(bytes.try_into().expect("four bytes"));
            (oid != 0).then_some(oid)
        })
    }
}

/// Makes a portal of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bind<'a> {
    pub(crate) portal: &'a str,
    pub(crate) statement: &'a str,
    pub(crate) parameters: Parameters<'a>,
    pub(crate) results: FormatList<'a>,
}

/// Values of parameters, as the client wrote them.
#[derive(Debug, Clone, Copy)]
pub struct Parameters<'a> {
    formats: FormatList<'a>,
    count: usize,
    values: Body<'a>,
}

impl<'a> Parameters<'a> {
    fn read(body: &mut Body<'a>) -> Result<Parameters<'a>> {
        let formats = FormatList::read(body)?;
        let count = body.count()?;
        let values = *body;
        for _ in 0..count {
            value(body)?;
        }
        if !formats.fits(count) {
            return Err(SqlError::new(
                SqlState::PROTOCOL_VIOLATION,
                format!(
                    "bind message has {} parameter formats but {count} parameters",
                    formats.len()
                ),
            ));
        }
        Ok(Parameters {
            formats,
            count,
            values,
        })
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns their forms and bytes, from the first on; `None` is NULL.
    pub fn iter(&self) -> impl Iterator<Item = (Format, Option<&'a [u8]>)> + use<'a> {
        let Parameters {
            formats,
            count,
            mut values,
        } = *self;
        (0..count).map(move |index| {
            let bytes = value(&mut values).expect("looked at when it was read");
            (formats.get(index), bytes)
        })
    }
}

/// Reads a value, or NULL.
fn value<'a>(body: &mut Body<'a>) -> Result<Option<&'a [u8]>> {
    match body.int4()? {
        -1 => Ok(None),
        length => {
            let length = usize::try_from(length).map_err(|_| {
                SqlError::new(
                    SqlState::PROTOCOL_VIOLATION,
                    "insufficient data left in message",
                )
            })?;
            body.take(length).map(Some)
        }
    }
}

/// Kinds of objects that Describe and Close name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Statement,
    Portal,
}

impl<'a> Request<'a> {
    /// Reads a request.
    ///
    /// # Errors
    /// Fails if the body does not match its tag, or has text that is not UTF-8; 42622 if the name of a statement
    /// or a portal has more than [`NAME_BYTES_MAX`] bytes: there is none to be found, and an error would repeat it.
    pub(crate) fn read(frame: Frame<'a>) -> Result<Request<'a>> {
        let mut body = Body::new(frame.body);
        let request = match frame.tag {
            b'Q' => Request::Query(body.string()?),
            b'P' => Request::Parse(Parse {
                name: name(&mut body)?,
                text: body.string()?,
                types: {
                    let count = body.count()?;
                    ParameterTypes(body.take(4 * count)?)
                },
            }),
            b'B' => Request::Bind(Bind {
                portal: name(&mut body)?,
                statement: name(&mut body)?,
                parameters: Parameters::read(&mut body)?,
                results: FormatList::read(&mut body)?,
            }),
            b'D' => Request::Describe(target(&mut body, "DESCRIBE")?, name(&mut body)?),
            b'C' => Request::Close(target(&mut body, "CLOSE")?, name(&mut body)?),
            b'E' => Request::Execute(
                name(&mut body)?,
                // As in PostgreSQL: a limit that is not positive is none.
                u32::try_from(body.int4()?).unwrap_or(0),
            ),
            b'H' => Request::Flush,
            b'S' => Request::Sync,
            // A Terminate counts whatever its body holds.
            b'X' => return Ok(Request::Terminate),
            b'F' => return Err(SqlError::unsupported("the function call protocol")),
            tag => unreachable!("a message {tag} was neither refused nor passed over"),
        };
        body.end()?;
        Ok(request)
    }
}

/// Reads the reason why a client aborts a COPY.
///
/// # Errors
/// Fails if the body does not match its tag, or has text that is not UTF-8.
pub(crate) fn copy_failure(frame: Frame<'_>) -> Result<&str> {
    let mut body = Body::new(frame.body);
    let reason = body.string()?;
    body.end()?;
    Ok(reason)
}

fn target(body: &mut Body<'_>, message: &str) -> Result<Target> {
    match body.byte()? {
        b'S' => Ok(Target::Statement),
        b'P' => Ok(Target::Portal),
        other => Err(SqlError::new(
            SqlState::PROTOCOL_VIOLATION,
            format!("invalid {message} message subtype {other}"),
        )),
    }
}

/// Reads the name of a statement or a portal.
///
/// # Errors
/// 42622 if it is too long; those of a string.
fn name<'a>(body: &mut Body<'a>) -> Result<&'a str> {
    let name = body.string()?;
    match name.len() {
        0..=NAME_BYTES_MAX => Ok(name),
        _ => {
            let message = "the name of a statement or a portal is too long";
            let detail = format!("It may have {NAME_BYTES_MAX} bytes.");
            Err(SqlError::new(SqlState::NAME_TOO_LONG, message).detail(detail))
        }
    }
}

#[cfg(test)]
mod tests;
