//! A server without a database, to measure the way from a socket to a coroutine and back with
//! pgbench: it knows `SELECT 1` and little else.
//!
//! `select_one PORT [WORKERS] [worker|thread]`

#[path = "../tests/common/backend.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod backend;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let port: u16 = arguments
        .next()
        .and_then(|port| port.parse().ok())
        .unwrap_or(5433);
    let workers = arguments
        .next()
        .and_then(|workers| workers.parse().ok())
        .unwrap_or(1);
    if arguments.next().as_deref() == Some("thread") {
        // SAFETY: no other thread is running yet.
        unsafe { std::env::set_var("REACTOR_THREAD", "1") };
    }
    let listener = std::net::TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
    let _running = backend::start_at(listener, workers, server::Config::default(), &[]);
    loop {
        std::thread::park();
    }
}
