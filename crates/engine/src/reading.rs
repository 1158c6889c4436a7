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
    /// Waits for the buffer: it is shorter than asked for at the end of a file, which two equal short transfers tell,
    /// or if the device stops short again and again.
    ///
    /// # Errors
    /// The device's error.
    ///
    /// # Suspension
    /// A device wait.
    pub(crate) async fn end(self, session: &Session, priority: Priority) -> io::Result<Buffer> {
        let mut before = None;
        let is_file_over = |read| before.replace(read) == Some(read);
        self.until(is_file_over, session, priority).await
    }

    /// Waits for all bytes that were asked for.
    ///
    /// # Errors
    /// `UnexpectedEof` if the device stops short again and again; otherwise its error.
    ///
    /// # Suspension
    /// A device wait.
    pub(crate) async fn whole(self, session: &Session, priority: Priority) -> io::Result<Buffer> {
        let bytes = self.bytes;
        let buffer = self.until(|_| false, session, priority).await?;
        match buffer.len() == bytes {
            true => Ok(buffer),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Waits for the buffer, and begins again until it is full, `is_over` says that there are no more bytes than were
    /// read, or [`ATTEMPTS`] have ended.
    async fn until(
        self,
        mut is_over: impl FnMut(usize) -> bool,
        session: &Session,
        priority: Priority,
    ) -> io::Result<Buffer> {
        let mut transfer = self.transfer;
        for attempt in 1.. {
            let (mut buffer, result) = transfer.await;
            let read = result?;
            if read == self.bytes || attempt == ATTEMPTS || is_over(read) {
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
