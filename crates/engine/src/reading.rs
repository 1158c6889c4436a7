//! A read of a file through the session's gate, begun again where the device stops short.

use std::{io, rc::Rc, sync::Arc};

use ::io::{Buffer, File, Pass, Port, Priority, Transfer};

use crate::session::Session;

/// Maximum attempts at a transfer that the device cuts short.
const ATTEMPTS: u32 = 8;

/// A read that is under way.
#[derive(Debug)]
pub(crate) struct Reading {
    port: Rc<Port>,
    file: Arc<dyn File>,
    offset: u64,
    /// Bytes that were asked for.
    bytes: usize,
    transfer: Transfer,
}

impl Session {
    /// Begins to read from `offset` of a file until `buffer` is full. Length and offset are multiples of
    /// [`::io::BLOCK_BYTES`].
    ///
    /// # Errors
    /// `Unsupported` for a database in memory.
    pub(crate) fn begin_reading(
        &self,
        pass: Pass,
        file: &Arc<dyn File>,
        offset: u64,
        buffer: Buffer,
    ) -> io::Result<Reading> {
        let port = self.port().ok_or(io::ErrorKind::Unsupported)?.clone();
        let bytes = buffer.len();
        let transfer = port.begin_through(pass, file, offset, buffer);
        Ok(Reading {
            port,
            file: file.clone(),
            offset,
            bytes,
            transfer,
        })
    }
}

impl Reading {
    /// Waits for the buffer: it is shorter than asked for at the end of a file, or if the device stops short again and
    /// again.
    ///
    /// # Errors
    /// The device's error.
    ///
    /// # Suspension
    /// A device wait.
    pub(crate) async fn end(self, session: &Session, priority: Priority) -> io::Result<Buffer> {
        let mut transfer = self.transfer;
        let mut before = None;
        for attempt in 1.. {
            let (mut buffer, result) = transfer.await;
            let read = result?;
            let is_end = before.replace(read) == Some(read) || attempt == ATTEMPTS;
            if read == self.bytes || is_end {
                buffer.set_len(read);
                return Ok(buffer);
            }
            let pass = session.pass_again(priority).await;
            transfer = self
                .port
                .begin_through(pass, &self.file, self.offset, buffer);
        }
        unreachable!("there is a last attempt")
    }
}
