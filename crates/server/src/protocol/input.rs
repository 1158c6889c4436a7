//! Bytes from the client, cut into messages.
//!
//! The meaning of messages is not known here. A message is a tag, a length that counts itself, and a
//! body; before a connection has started there is no tag.
//!
//! # Bounds
//! The buffer grows with the bytes that have arrived, never with an announced length: a client pays for
//! memory by sending. Once it is empty it gives back the memory that a long message made it take. Beyond
//! [`KEPT_BYTES_MAX`] it is charged to the session. A message that the session may not hold is discarded
//! as it arrives, and is taken as a refused one.

use std::{ops::Range, rc::Rc};

use types::{Charge, Memory, Result, SqlError, SqlState};

/// Least room for the next bytes, which an empty buffer keeps.
const ROOM_BYTES_MIN: usize = 8 * 1024;
/// Most memory that an empty buffer keeps, and the room made for a client that sends much.
const KEPT_BYTES_MAX: usize = 64 * 1024;

/// Number of copies of a long message in memory: as it arrived, and as the text or the values made of it
/// before it goes.
const COPIES: usize = 2;

/// Bytes of a length.
const LENGTH_BYTES: usize = 4;

/// One message: its tag (0 before the connection has started), and its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub(crate) tag: u8,
    pub(crate) body: &'a [u8],
}

/// A message that was taken: it can be read until [`Input::room`] is called.
#[derive(Debug, Clone)]
pub(crate) struct Taken {
    pub(crate) tag: u8,
    body: Range<usize>,
    /// The error of a message without a body, which the session could not hold.
    pub(crate) refused: Option<SqlError>,
}

/// Bytes that have arrived and were not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Input {
    /// Initialised throughout; `start..end` has arrived.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Whether all the room was taken last time: there may be more bytes.
    filled: bool,
    /// Bytes of a refused message that have not arrived yet.
    passed_over: usize,
    /// Memory of the session, once there is one.
    memory: Option<Rc<Memory>>,
    charge: Charge,
}

impl Input {
    /// Charges long messages to a session from now on.
    pub(crate) fn charge_to(&mut self, memory: Rc<Memory>) {
        self.memory = Some(memory);
    }

    /// Returns the room for the next bytes; call [`Input::arrived`] with their number.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.bytes.len() > KEPT_BYTES_MAX {
                (self.bytes, self.filled) = (Vec::new(), false);
                self.charge.lower(0);
            }
        }
        let too_little = self.bytes.len() - self.end < ROOM_BYTES_MIN;
        if too_little || self.filled && self.bytes.len() < KEPT_BYTES_MAX {
            self.make_room();
        }
        &mut self.bytes[self.end..]
    }

    fn make_room(&mut self) {
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.bytes.len() - self.end < ROOM_BYTES_MIN
            || self.filled && self.bytes.len() < KEPT_BYTES_MAX
        {
            let grown = self.grown_to();
            self.filled = false;
            self.bytes.resize(grown, 0);
        }
    }

    /// Returns the length of the buffer once it has grown for its content.
    fn grown_to(&self) -> usize {
        (self.bytes.len() * 2).max(self.end - self.start + ROOM_BYTES_MIN)
    }

    /// Charges the size to which the buffer will grow for the rest of a message.
    ///
    /// # Errors
    /// Fails with 53200 if the session may not hold as much.
    fn ask(&mut self) -> Result<()> {
        let grown = self.grown_to();
        match &self.memory {
            Some(memory) if grown > KEPT_BYTES_MAX => self.charge.set(memory, COPIES * grown),
            _ => Ok(()),
        }
    }

    /// Notes that `count` bytes were put into the room of [`Input::room`].
    pub(crate) fn arrived(&mut self, count: usize) {
        self.end += count;
        self.filled = self.end == self.bytes.len();
        debug_assert!(self.end <= self.bytes.len());
        // Nothing was there before them.
        let passed_over = self.passed_over.min(self.end - self.start);
        self.passed_over -= passed_over;
        self.start += passed_over;
    }

    /// Takes the next message that has a tag, if it is complete; [`Input::frame`] shows it.
    ///
    /// `longest` gives the longest body that a tag may have.
    ///
    /// # Errors
    /// Fails if the tag or the length is invalid: the start of the next message is unknown then.
    pub(crate) fn tagged(
        &mut self,
        longest: impl FnOnce(u8) -> Result<usize>,
    ) -> Result<Option<Taken>> {
        let Some(&tag) = self.bytes[..self.end].get(self.start) else {
            return Ok(None);
        };
        let longest = longest(tag)?;
        if let Some(body) = self.take(1, longest)? {
            let refused = None;
            return Ok(Some(Taken { tag, body, refused }));
        }
        let Some(missing) = self.missing(1) else {
            return Ok(None);
        };
        let Err(refused) = self.ask() else {
            return Ok(None);
        };
        self.passed_over = missing;
        self.start = self.end;
        Ok(Some(Taken {
            tag,
            body: self.end..self.end,
            refused: Some(refused),
        }))
    }

    /// Returns the bytes missing to the message that has begun to arrive, if its length has arrived.
    fn missing(&self, tag_bytes: usize) -> Option<usize> {
        let arrived = &self.bytes[self.start..self.end];
        let length = arrived.get(tag_bytes..tag_bytes + LENGTH_BYTES)?;
        let length = u32::from_be_bytes(length.try_into().ok()?) as usize;
        (tag_bytes + length).checked_sub(arrived.len())
    }

    /// Takes the next message without a tag, if it is complete.
    ///
    /// # Errors
    /// Fails if the length is invalid: the start of the next message is unknown then.
    pub(crate) fn untagged(&mut self, longest: usize) -> Result<Option<Taken>> {
        let body = self.take(0, longest)?;
        let (tag, refused) = (0, None);
        Ok(body.map(|body| Taken { tag, body, refused }))
    }

    /// Returns the message that was taken last.
    pub(crate) fn frame(&self, taken: Taken) -> Frame<'_> {
        Frame {
            tag: taken.tag,
            body: &self.bytes[taken.body],
        }
    }

    fn take(&mut self, tag_bytes: usize, longest: usize) -> Result<Option<Range<usize>>> {
        let arrived = &self.bytes[self.start..self.end];
        let Some(length) = arrived.get(tag_bytes..tag_bytes + LENGTH_BYTES) else {
            return Ok(None);
        };
        let length = i32::from_be_bytes(length.try_into().expect("four bytes"));
        let body_bytes = usize::try_from(length)
            .ok()
            .and_then(|length| length.checked_sub(LENGTH_BYTES))
            .filter(|&body_bytes| body_bytes <= longest)
            .ok_or_else(|| SqlError::new(SqlState::PROTOCOL_VIOLATION, "invalid message length"))?;
        let body = tag_bytes + LENGTH_BYTES;
        if arrived.len() < body + body_bytes {
            return Ok(None);
        }
        let body = self.start + body;
        self.start = body + body_bytes;
        Ok(Some(body..body + body_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(input: &mut Input, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = input.room();
            let count = room.len().min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            input.arrived(count);
            bytes = &bytes[count..];
        }
    }

    fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        let mut message = vec![tag];
        message.extend((body.len() as u32 + 4).to_be_bytes());
        message.extend(body);
        message
    }

    #[test]
    fn messages_come_out_whole_however_their_bytes_arrive() {
        let bodies: Vec<Vec<u8>> = [0, 1, 5, 8000, 8192, 100_000, 3]
            .map(|length| (0..length).map(|i| i as u8).collect())
            .into();
        let stream: Vec<u8> = bodies.iter().flat_map(|body| message(b'x', body)).collect();
        for step in [1, 2, 7, 4096, stream.len()] {
            let mut input = Input::default();
            let mut seen = Vec::new();
            for part in stream.chunks(step) {
                put(&mut input, part);
                while let Some(taken) = input.tagged(|_| Ok(200_000)).unwrap() {
                    let frame = input.frame(taken);
                    assert_eq!(frame.tag, b'x');
                    seen.push(frame.body.to_vec());
                }
            }
            assert!(seen == bodies, "in steps of {step}");
            assert_eq!(input.start, input.end);
        }
    }

    #[test]
    fn lengths_that_cannot_be_are_refused() {
        for length in [-1_i32, 0, 3, 15, i32::MAX] {
            let mut input = Input::default();
            put(&mut input, b"Q");
            put(&mut input, &length.to_be_bytes());
            let error = input.tagged(|_| Ok(10)).unwrap_err();
            assert_eq!(error.state(), SqlState::PROTOCOL_VIOLATION, "{length}");
        }
    }

    #[test]
    fn an_announced_length_takes_no_memory() {
        let mut input = Input::default();
        put(&mut input, b"Q\x3f\xff\xff\xff");
        assert!(input.tagged(|_| Ok(usize::MAX)).unwrap().is_none());
        assert!(input.bytes.len() <= 2 * ROOM_BYTES_MIN);
    }

    #[test]
    fn a_message_that_the_session_cannot_hold_is_passed_over() {
        let allowance = types::Allowance::unlimited();
        let memory = Memory::new(&allowance, 1 << 20);
        let mut input = Input::default();
        input.charge_to(memory.clone());
        let long = message(b'Q', &vec![7; 3 << 20]);
        let mut seen = Vec::new();
        for part in [message(b'P', b"a"), long, message(b'S', b"b")]
            .concat()
            .chunks(1000)
        {
            put(&mut input, part);
            while let Some(taken) = input.tagged(|_| Ok(usize::MAX)).unwrap() {
                let refused = taken.refused.clone();
                let frame = input.frame(taken);
                seen.push((
                    frame.tag,
                    frame.body.to_vec(),
                    refused.map(|error| error.state()),
                ));
            }
            assert!(input.bytes.len() <= 1 << 19);
        }
        let out_of_memory = Some(SqlState::OUT_OF_MEMORY);
        let expected = [
            (b'P', b"a".to_vec(), None),
            (b'Q', Vec::new(), out_of_memory),
            (b'S', b"b".to_vec(), None),
        ];
        assert_eq!(seen, expected);
        input.room();
        assert_eq!(memory.used(), 0);
        assert!(memory.peak() > 1 << 17);
    }

    #[test]
    fn a_long_message_is_not_held_on_to() {
        let mut input = Input::default();
        put(&mut input, &message(b'Q', &vec![0; 1 << 20]));
        assert!(input.tagged(|_| Ok(usize::MAX)).unwrap().is_some());
        input.room();
        assert!(input.bytes.len() <= KEPT_BYTES_MAX);
    }
}
