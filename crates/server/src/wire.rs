//! One connection's bytes: from the stream to the conversation, from the output to the stream.
//!
//! Output is held back until the client waits for it ([`Wire::flushes`]: a Sync, a Flush, a simple
//! query), or there is too much of it: a pipeline is answered with one call of the system. Nothing
//! is read before the output that the client waits for has been sent.

use std::{
    fmt,
    future::poll_fn,
    io,
    sync::Arc,
    task::{Context, Poll, ready},
};

use interleave::{Wait, note_wait, yield_now};
use types::{Result, SqlError};

use crate::{
    control::{Control, lost},
    protocol::{Conversation, Output, Phase},
    statistics::Counters,
};

/// A client's bytes, as they come and go. The polling task is woken when there is reason to poll
/// again.
pub(crate) trait Stream: fmt::Debug {
    /// Reads the available bytes, at least one; 0 at the end.
    fn poll_read(&mut self, context: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>>;

    /// Writes as many bytes as possible.
    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;
}

/// Reasons why nothing comes from the client any more.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The client is gone.
    Lost,
    /// The connection ends with an error that the client is told.
    Fatal(SqlError),
}

/// The wire: see the module's text.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) conversation: Conversation,
    pub(crate) output: Output,
    pub(crate) control: Arc<Control>,
    pub(crate) counters: Arc<Counters>,
    /// Whether the client waits for the output.
    pub(crate) flushes: bool,
    stream: Box<dyn Stream>,
    /// Most output that is held back.
    output_bytes_max: usize,
}

impl Wire {
    pub(crate) fn new(
        stream: Box<dyn Stream>,
        control: Arc<Control>,
        counters: Arc<Counters>,
        message_bytes_max: usize,
        output_bytes_max: usize,
    ) -> Wire {
        Wire {
            conversation: Conversation::new(message_bytes_max),
            output: Output::default(),
            control,
            counters,
            flushes: false,
            stream,
            output_bytes_max,
        }
    }

    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.output.unsent().len() < self.output_bytes_max
    }

    /// Waits for bytes of the next message, after sending the output that the client waits for.
    ///
    /// # Errors
    /// Fails if no bytes will come.
    pub(crate) async fn receive(&mut self) -> std::result::Result<(), Ended> {
        if self.flushes {
            // Answers that are ready at the same time are sent one right after the other: a client
            // that sleeps is woken once for several of them.
            yield_now().await;
        }
        poll_fn(|context| {
            if let Poll::Ready(error) = self.control.poll_stopping(context) {
                return Poll::Ready(Err(Ended::Fatal(error)));
            }
            if self.flushes || !self.has_room() {
                ready!(self.poll_send(context, 0))?;
            }
            let polled = self.poll_receive(context);
            // These bytes begin a request; they do not continue one.
            if polled.is_pending() {
                note_wait(Wait::Request);
            }
            polled
        })
        .await
    }

    /// Waits for bytes while a statement runs.
    ///
    /// # Errors
    /// Fails if no bytes will come, or the statement is to be given up.
    pub(crate) async fn receive_beside_control(&mut self) -> Result<()> {
        poll_fn(|context| {
            if let Poll::Ready(error) = self.control.poll(context) {
                return Poll::Ready(Err(error));
            }
            ready!(self.poll_send(context, 0)).map_err(|_| lost())?;
            self.poll_receive(context).map_err(|_| lost())
        })
        .await
    }

    /// Sends until there is room.
    ///
    /// # Errors
    /// Fails if the client is gone, or the statement is to be given up.
    pub(crate) async fn send_beside_control(&mut self) -> Result<()> {
        // Half of it: the output that follows should not have to wait at once.
        let leave = self.output_bytes_max / 2;
        poll_fn(|context| {
            if let Poll::Ready(error) = self.control.poll(context) {
                return Poll::Ready(Err(error));
            }
            self.poll_send(context, leave).map_err(|_| lost())
        })
        .await
    }

    /// Sends everything.
    ///
    /// # Errors
    /// Fails if the client is gone.
    pub(crate) async fn send(&mut self) -> std::result::Result<(), Ended> {
        poll_fn(|context| self.poll_send(context, 0)).await
    }

    fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        leave: usize,
    ) -> Poll<std::result::Result<(), Ended>> {
        while self.output.unsent().len() > leave {
            let polled = self.stream.poll_write(context, self.output.unsent());
            match ready!(of_client(polled)) {
                Ok(count) if count > 0 => {
                    self.output.sent(count);
                    self.counters.bytes_sent.add(count as u64);
                }
                _ => return Poll::Ready(Err(self.lose())),
            }
        }
        self.flushes = false;
        Poll::Ready(Ok(()))
    }

    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<std::result::Result<(), Ended>> {
        let room = self.conversation.input.room();
        let polled = self.stream.poll_read(context, room);
        Poll::Ready(match ready!(of_client(polled)) {
            Ok(count) if count > 0 => {
                self.conversation.input.arrived(count);
                self.counters.bytes_received.add(count as u64);
                Ok(())
            }
            _ => Err(self.lose()),
        })
    }

    /// Notes that the client is gone: a user of the wire notices at the next message.
    fn lose(&mut self) -> Ended {
        self.conversation.enter(Phase::Closed);
        Ended::Lost
    }
}

/// Notes that the task waits for its client, if `polled` is pending.
fn of_client<T>(polled: Poll<T>) -> Poll<T> {
    if polled.is_pending() {
        note_wait(Wait::Client);
    }
    polled
}
