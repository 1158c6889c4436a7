//! Accepts connections and spreads them over the workers.
//!
//! The listener is a task of the first worker, which is told to end as connections are. A refusal
//! by the system (no descriptors, no memory) leads to another attempt a little later: a server
//! that cannot serve one more client must still serve those that it has.

use std::{
    future::poll_fn,
    io,
    net::SocketAddr,
    pin::pin,
    sync::{Arc, atomic::Ordering},
    task::Poll,
    time::Duration,
};

use interleave::{Wait, label, note_wait};
use mio::net::{TcpListener, TcpStream};
use socket2::SockRef;

use crate::{
    connection::{Shared, serve},
    control::{Entered, Role},
    reactor::{Reactor, Watched},
    session::Backend,
    socket::Socket,
    wire::Wire,
};

/// Pause in accepting after the system refused.
const PAUSE: Duration = Duration::from_millis(100);

/// Maximum clients beyond the limit that are served in order to be told so. Further ones are not
/// told.
const REFUSALS_MAX: usize = 64;

/// Accepts connections until it is told to end.
pub(crate) async fn listen<B: Backend>(
    shared: Arc<Shared<B>>,
    reactors: Arc<[Arc<Reactor>]>,
    mut listener: Watched<TcpListener>,
    entered: Entered,
) {
    while let Some(accepted) = accept(&mut listener, &entered).await {
        match accepted {
            Ok((stream, peer)) => admit(&shared, &reactors, stream, peer),
            Err(error) if concerns_one_client(&error) => {}
            Err(_) => pause(&entered).await,
        }
    }
}

/// Waits for the next client. Returns `None` if there are to be no more.
async fn accept(
    listener: &mut Watched<TcpListener>,
    entered: &Entered,
) -> Option<io::Result<(TcpStream, SocketAddr)>> {
    poll_fn(|context| {
        if entered.control.poll_stopping(context).is_ready() {
            return Poll::Ready(None);
        }
        let mut accepted = None;
        let polled = listener.poll_read(context, 1, |listener| {
            accepted = Some(listener.accept()?);
            Ok(1)
        });
        if polled.is_pending() {
            note_wait(Wait::Request);
        }
        polled.map(|done| match (done, accepted) {
            (Ok(_), Some(accepted)) => Some(Ok(accepted)),
            (Ok(_), None) => Some(Err(io::ErrorKind::ConnectionAborted.into())),
            (Err(error), _) => Some(Err(error)),
        })
    })
    .await
}

async fn pause(entered: &Entered) {
    let mut pause = pin!(interleave::sleep(PAUSE));
    poll_fn(|context| match entered.control.poll_stopping(context) {
        Poll::Ready(_) => Poll::Ready(()),
        Poll::Pending => pause.as_mut().poll(context),
    })
    .await;
}

/// Returns whether an error concerns only the client that wanted to connect, and not this
/// machine.
fn concerns_one_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
            | io::ErrorKind::PermissionDenied
    )
}

/// Hands a client to the worker that has the fewest.
fn admit<B: Backend>(
    shared: &Arc<Shared<B>>,
    reactors: &Arc<[Arc<Reactor>]>,
    stream: TcpStream,
    peer: SocketAddr,
) {
    let (worker, reactor) = reactors
        .iter()
        .enumerate()
        .min_by_key(|(_, reactor)| reactor.clients().load(Ordering::Relaxed))
        .expect("a server has workers");
    let open = shared.connections.open();
    let refused = open >= shared.config.connections_max;
    if open >= shared.config.connections_max + REFUSALS_MAX {
        return;
    }
    // Answers are whole when they are sent: there is nothing to wait for.
    let _ = stream.set_nodelay(true);
    // A client that vanishes without a word is noticed some day, and its transaction ended.
    let _ = SockRef::from(&stream).set_keepalive(true);
    let Ok(entered) = shared.connections.enter(Role::Client) else {
        return;
    };
    let place = Place::take(reactor);
    let shared = shared.clone();
    let backend = shared.backend.clone();
    backend.spawn(
        worker,
        Box::new(move |context| {
            Box::pin(async move {
                let reactor = &place.0;
                let counters = reactor.counters().clone();
                counters.connections.add(1);
                counters.refused.add(u64::from(refused));
                let Ok(watched) = Watched::new(stream, reactor.clone()) else {
                    return;
                };
                watched.mourn_by(entered.control.clone());
                label(
                    "client",
                    u64::from(entered.control.process().unsigned_abs()),
                );
                let config = &shared.config;
                let wire = Wire::new(
                    Box::new(Socket(watched)),
                    entered.control.clone(),
                    counters,
                    config.message_bytes_max,
                    config.output_bytes_max,
                );
                serve(&shared, context, wire, peer.ip(), refused).await;
            })
        }),
    );
}

/// A client's place among those of a worker.
struct Place(Arc<Reactor>);

impl Place {
    fn take(reactor: &Arc<Reactor>) -> Place {
        reactor.clients().fetch_add(1, Ordering::Relaxed);
        Place(reactor.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.clients().fetch_sub(1, Ordering::Relaxed);
    }
}
