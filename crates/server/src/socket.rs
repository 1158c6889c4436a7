//! A TCP connection as a stream of its client's bytes.

use std::{
    io::{self, Read, Write},
    task::{Context, Poll},
};

use mio::net::TcpStream;

use crate::{reactor::Watched, wire::Stream};

/// The stream: see the module's text.
#[derive(Debug)]
pub(crate) struct Socket(pub(crate) Watched<TcpStream>);

impl Stream for Socket {
    fn poll_read(&mut self, context: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        let wanted = room.len();
        self.0
            .poll_read(context, wanted, |stream| stream.read(room))
    }

    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0
            .poll_write(context, bytes.len(), |stream| stream.write(bytes))
    }
}
