//! The coroutine of one connection, from its first byte to its last.
//!
//! The coroutine is a task of one worker for all of its life: a statement is executed on the
//! thread that has read it. While it waits for its client it is parked, and costs its memory.

mod handshake;
mod options;
mod requests;

use std::{net::IpAddr, sync::Arc, time::Duration};

use types::{SqlError, SqlState};

use self::{handshake::shake_hands, requests::Requests};
use crate::{
    config::Config,
    contain::contain,
    control::Connections,
    protocol::Severity,
    session::Backend,
    wire::{Ended, Wire},
    within::within,
};

/// Time given to a client to receive the reason why its connection ends.
const FAREWELL: Duration = Duration::from_secs(1);

/// State shared by all connections of a server.
#[derive(Debug)]
pub(crate) struct Shared<B> {
    pub(crate) backend: Arc<B>,
    pub(crate) config: Config,
    pub(crate) connections: Arc<Connections>,
    /// Key for the salts of users that do not exist.
    pub(crate) secret: [u8; 32],
}

/// Serves one client. `refused`: the connection exceeds the limit.
pub(crate) async fn serve<B: Backend>(
    shared: &Shared<B>,
    context: B::Context,
    mut wire: Wire,
    peer: IpAddr,
    refused: bool,
) {
    let conversation = async {
        let limit = shared.config.authentication_timeout;
        let greeted = within(
            limit,
            shake_hands(shared, context, &mut wire, peer, refused),
        );
        let session = greeted.await.unwrap_or(Err(Ended::Lost))?;
        let mut requests = Requests::new(session, &mut wire);
        let ended = requests.run().await;
        requests.end().await;
        ended
    };
    let ended = match contain(conversation).await {
        Ok(Ok(never)) => match never {},
        Ok(Err(ended)) => ended,
        Err(_) => {
            wire.counters.panics.add(1);
            Ended::Fatal(
                SqlError::new(
                    SqlState::INTERNAL_ERROR,
                    "the server failed to carry this out",
                )
                .hint("This is a defect of the server; its log has more."),
            )
        }
    };
    if let Ended::Fatal(error) = ended {
        wire.output.error(Severity::Fatal, &error);
    }
    // The connection ends whether the message arrives or not.
    let _ = within(FAREWELL, wire.send()).await;
}
