//! The messages that each state of a connection accepts, without any input or output.
//!
//! ```text
//!  Greeting ──► Authenticating ──► Ready ◄──────────┐
//!                                  │  ▲ │           │ Sync
//!                       COPY begins▼  │ │ error ──► Skipping
//!                               Copying ┘ (of an extended query)
//! ```
//! Every state may end in [`Phase::Closed`]. Main type: [`Conversation`], which takes messages
//! from its input as the state allows them: messages to be skipped are skipped here.

use types::{Result, SqlError, SqlState};

use super::{
    input::{Input, Taken},
    packet::{PACKET_BYTES_MAX, Packet},
    request::{Request, copy_failure, longest},
};

/// Longest answer to a challenge.
const PASSWORD_BYTES_MAX: usize = 65_535;

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The client has yet to ask for something.
    Greeting,
    /// The client has yet to authenticate.
    Authenticating,
    /// Requests are executed.
    Ready,
    /// A request has failed; nothing is executed up to the next Sync.
    Skipping,
    /// A statement receives the client's data.
    Copying,
    /// No message is read any more.
    Closed,
}

/// Consequence of a message that was not understood.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The client is told, and the conversation goes on.
    Error(SqlError),
    /// The client is told, and the connection ends.
    Fatal(SqlError),
}

/// A message that was not understood.
#[derive(Debug)]
pub(crate) struct Misunderstood {
    pub(crate) fault: Fault,
    /// Whether the message belongs to the extended protocol, so that the rest of the pipeline
    /// is skipped.
    pub(crate) extended: bool,
}

impl Misunderstood {
    fn fatal(error: SqlError) -> Misunderstood {
        Misunderstood {
            fault: Fault::Fatal(error),
            extended: false,
        }
    }
}

/// The messages of a client, one by one.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) input: Input,
    phase: Phase,
    message_bytes_max: usize,
}

impl Conversation {
    pub(crate) fn new(message_bytes_max: usize) -> Conversation {
        Conversation {
            input: Input::default(),
            phase: Phase::Greeting,
            message_bytes_max,
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) fn enter(&mut self, phase: Phase) {
        // A closed connection stays closed.
        if self.phase != Phase::Closed {
            self.phase = phase;
        }
    }

    /// Returns the first message, or the one after encryption was refused; `None` if it has not
    /// arrived yet.
    ///
    /// # Errors
    /// Fails with an error that the client is to be told before the connection ends.
    pub(crate) fn packet(&mut self) -> Result<Option<Packet>> {
        debug_assert_eq!(self.phase, Phase::Greeting);
        match self.input.untagged(PACKET_BYTES_MAX)? {
            Some(taken) => Packet::read(self.input.frame(taken)).map(Some),
            None => Ok(None),
        }
    }

    /// Returns an answer to a challenge; `None` if it has not arrived yet.
    ///
    /// # Errors
    /// Fails with an error that the client is to be told before the connection ends.
    pub(crate) fn answer(&mut self) -> Result<Option<&[u8]>> {
        debug_assert_eq!(self.phase, Phase::Authenticating);
        let taken = self.input.tagged(|tag| match tag {
            b'p' => Ok(PASSWORD_BYTES_MAX),
            _ => Err(SqlError::new(
                SqlState::PROTOCOL_VIOLATION,
                format!("expected SASL response, got message type {tag}"),
            )),
        })?;
        Ok(taken.map(|taken| self.input.frame(taken).body))
    }

    /// Returns the next request to execute; `None` if it has not arrived yet.
    ///
    /// # Errors
    /// Fails if a message is invalid.
    pub(crate) fn request(&mut self) -> std::result::Result<Option<Request<'_>>, Misunderstood> {
        let limit = self.message_bytes_max;
        let taken = loop {
            match self.input.tagged(|tag| longest(tag, limit)) {
                Ok(Some(taken)) if self.phase.passes_over(taken.tag) => {}
                Ok(Some(taken)) => break taken,
                Ok(None) => return Ok(None),
                Err(error) => {
                    self.phase = Phase::Closed;
                    return Err(Misunderstood::fatal(error));
                }
            }
        };
        let tag = taken.tag;
        let request = match taken.refused.clone() {
            Some(error) => Err(error),
            None => Request::read(self.input.frame(taken)).map(Some),
        };
        request.map_err(|error| Misunderstood {
            fault: Fault::Error(error),
            extended: matches!(tag, b'P' | b'B' | b'D' | b'E' | b'C' | b'H'),
        })
    }

    /// Returns the next message while a statement receives data; `None` if it has not arrived
    /// yet.
    ///
    /// # Errors
    /// Fails if a message is not allowed there; the COPY has failed then.
    pub(crate) fn copied(&mut self) -> Result<Option<Copied>> {
        debug_assert_eq!(self.phase, Phase::Copying);
        let limit = self.message_bytes_max;
        loop {
            let taken = match self.input.tagged(|tag| longest(tag, limit)) {
                Ok(Some(taken)) => taken,
                Ok(None) => return Ok(None),
                Err(error) => {
                    self.phase = Phase::Closed;
                    return Err(error);
                }
            };
            if let Some(error) = taken.refused {
                return Err(error);
            }
            return match taken.tag {
                b'd' => Ok(Some(Copied::Data(taken))),
                b'c' => Ok(Some(Copied::Done)),
                b'f' => {
                    let reason = copy_failure(self.input.frame(taken))?;
                    Ok(Some(Copied::Failed(reason.to_owned())))
                }
                // A client that has not noticed yet that the command is a COPY may send these.
                b'H' | b'S' => continue,
                tag => {
                    if tag == b'X' {
                        self.phase = Phase::Closed;
                    }
                    Err(SqlError::new(
                        SqlState::PROTOCOL_VIOLATION,
                        format!("unexpected message type 0x{tag:02X} during COPY from stdin"),
                    ))
                }
            };
        }
    }
}

/// Messages while a statement receives the client's data.
#[derive(Debug)]
pub(crate) enum Copied {
    /// A part of the data: [`Input::frame`] has it.
    Data(Taken),
    Done,
    /// The client aborts the COPY, with a reason.
    Failed(String),
}

impl Phase {
    /// Returns whether a message does not belong to this state, and is discarded silently. A
    /// Sync ends skipping.
    fn passes_over(&mut self, tag: u8) -> bool {
        match self {
            Phase::Skipping => match tag {
                b'S' => {
                    *self = Phase::Ready;
                    false
                }
                b'X' => false,
                _ => true,
            },
            // A client that has not noticed yet that a COPY has failed may send these.
            Phase::Ready => matches!(tag, b'd' | b'c' | b'f'),
            Phase::Greeting | Phase::Authenticating | Phase::Copying | Phase::Closed => true,
        }
    }
}

#[cfg(test)]
mod tests;
