//! A server without a database, to measure the way from a socket to a coroutine and back with
//! pgbench: the server knows `SELECT 1` and little else.
//!
//! `select_one [PORT [WORKERS]]`

#[path = "../tests/common/backend.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod backend;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| {
        arguments
            .next()
            .and_then(|text| text.parse().ok())
            .unwrap_or(default)
    };
    let port: u16 = number(5433);
    let workers = number(1);
    let listener = std::net::TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
    let _running = backend::start_at(listener, workers.into(), server::Config::default(), &[]);
    loop {
        std::thread::park();
    }
}
