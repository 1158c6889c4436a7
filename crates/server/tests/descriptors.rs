//! A server that has no descriptors left serves its clients, and the others later. The test is
//! alone in its file: the limit is that of the process.

#![allow(dead_code, reason = "the common files are shared by several tests")]

#[path = "common/backend.rs"]
mod backend;
#[path = "common/client.rs"]
mod client;

use std::{fs::File, os::fd::AsRawFd};

use client::Client;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use server::Config;

#[test]
fn no_descriptors_are_left() {
    let running = backend::start(1, Config::default(), &[]);
    let address = running.server.addresses()[0];
    let mut first = Client::connect(address);
    // One more can be opened: the client's end of a connection, not the server's.
    let next = File::open("/dev/null").unwrap().as_raw_fd();
    let before = getrlimit(Resource::Nofile);
    let limit = Rlimit {
        current: Some(next as u64 + 1),
        ..before
    };
    setrlimit(Resource::Nofile, limit).unwrap();
    let mut second = Client::dial(address);
    assert!(
        File::open("/dev/null").is_err(),
        "there are descriptors left"
    );
    second.start(&[("user", "weft")]);
    for _ in 0..100 {
        assert_eq!(first.query("select 1; sleep 1").len(), 5);
    }
    assert_eq!(running.server.statistics().connections, 1);
    setrlimit(Resource::Nofile, before).unwrap();
    assert_eq!(second.until_ready().last().unwrap(), "ready I");
    assert_eq!(running.server.statistics().connections, 2);
}
