use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
};

use super::*;

/// A client sends its last bytes and ends its sending half before the worker looks: one edge tells both. The read
/// that took the bytes cleared the readiness, and the connection waited for an end that no edge would tell: for ever,
/// with its place, its transaction and its locks.
#[test]
fn an_end_that_comes_with_the_last_bytes_is_read() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (served, _) = listener.accept().unwrap();
    served.set_nonblocking(true).unwrap();
    let reactor = Reactor::new().unwrap();
    let served = mio::net::TcpStream::from_std(served);
    let mut watched = Watched::new(served, reactor.clone()).unwrap();
    let mut room = [0; 100];
    let mut read = |watched: &mut Watched<mio::net::TcpStream>| {
        let context = &mut Context::from_waker(Waker::noop());
        watched.poll_read(context, 100, |socket| socket.read(&mut room))
    };
    assert!(read(&mut watched).is_pending());

    client.write_all(b"last").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let look = |reactor: &Reactor| {
        let polled = &mut lock(&reactor.polled);
        Reactor::ask(polled, Some(Duration::from_secs(10)));
        reactor.take_in_polled(polled);
    };
    while !watched.entry.reading.closed.load(Ordering::Relaxed) {
        look(&reactor);
    }
    assert!(matches!(read(&mut watched), Poll::Ready(Ok(4))));
    assert!(matches!(read(&mut watched), Poll::Ready(Ok(0))));
}
