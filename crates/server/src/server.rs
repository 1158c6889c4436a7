//! A server: starts to listen, counts, stops.

use std::{
    fmt, io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use crate::{
    config::Config,
    connection::Shared,
    control::{Connections, Role},
    listener::listen,
    reactor::{Reactor, Watched},
    scram::random,
    session::Backend,
    statistics::Statistics,
};

/// A server for clients of a backend, on the workers of a database. Dropping it tells its
/// connections to end and does not wait for that; see [`Server::stop`].
pub struct Server<B> {
    shared: Arc<Shared<B>>,
    reactors: Arc<[Arc<Reactor>]>,
    addresses: Vec<SocketAddr>,
}

impl<B: Backend> Server<B> {
    /// Serves the clients that connect to `listeners`. `reactors` has a reactor for each
    /// worker of the backend, in the order of their numbers, which the worker looks after.
    ///
    /// # Errors
    /// `InvalidInput` if [`Config::validate`] refuses the configuration, or there are no
    /// workers; the system's error if it refuses.
    pub fn start(
        backend: Arc<B>,
        reactors: Vec<Arc<Reactor>>,
        listeners: Vec<TcpListener>,
        config: Config,
    ) -> io::Result<Server<B>> {
        let invalid = |message: String| io::Error::new(io::ErrorKind::InvalidInput, message);
        config.validate().map_err(invalid)?;
        let Some(first) = reactors.first().cloned() else {
            return Err(invalid("a server needs at least one worker".to_owned()));
        };
        let mut secret = [0; 32];
        random(&mut secret).map_err(io::Error::other)?;
        let mut server = Server {
            shared: Arc::new(Shared {
                backend,
                config,
                connections: Arc::default(),
                secret,
            }),
            reactors: reactors.into(),
            addresses: Vec::new(),
        };
        for listener in listeners {
            listener.set_nonblocking(true)?;
            server.addresses.push(listener.local_addr()?);
            let listener = mio::net::TcpListener::from_std(listener);
            let watched = Watched::new(listener, first.clone())?;
            let shared = server.shared.clone();
            let entered = shared
                .connections
                .enter(Role::Listener)
                .map_err(io::Error::other)?;
            let reactors = server.reactors.clone();
            server.shared.backend.spawn(
                0,
                Box::new(move |_| Box::pin(listen(shared, reactors, watched, entered))),
            );
        }
        Ok(server)
    }
}

impl<B> Server<B> {
    /// Returns the addresses that the server listens on.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns the counters since the start.
    pub fn statistics(&self) -> Statistics {
        let mut statistics = Statistics {
            connections_open: self.connections().open() as u64,
            ..Statistics::default()
        };
        for reactor in &*self.reactors {
            statistics.add(reactor.counters());
        }
        statistics
    }

    /// Accepts no further connections, and ends the open ones: at once if a connection waits
    /// for its client, otherwise after its statement, which is told to give up. Clients are
    /// told with 57P01. Blocks the calling thread, which must not be a worker's, until all
    /// have ended, or `at_most` has passed.
    ///
    /// Returns how many have not ended.
    pub fn stop(&self, at_most: Duration) -> usize {
        self.connections().stop();
        self.connections().wait(at_most)
    }

    fn connections(&self) -> &Connections {
        &self.shared.connections
    }
}

impl<B> Drop for Server<B> {
    fn drop(&mut self) {
        self.connections().stop();
    }
}

impl<B> fmt::Debug for Server<B> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Server")
            .field("addresses", &self.addresses)
            .field("statistics", &self.statistics())
            .finish_non_exhaustive()
    }
}
