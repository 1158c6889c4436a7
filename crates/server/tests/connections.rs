//! Beginnings and ends of connections: introductions, passwords, limits, cancelling, stopping,
//! panics.

#![allow(dead_code, reason = "the common files are shared by several tests")]

#[path = "common/backend.rs"]
mod backend;
#[path = "common/client.rs"]
mod client;

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use client::*;
use hmac::{Hmac, Mac};
use pgwire::messages::{
    PgWireBackendMessage as Answer, PgWireFrontendMessage as Message, SslNegotiationMetaMessage,
    cancel::CancelRequest,
    startup::{
        Authentication, PasswordMessageFamily, SASLInitialResponse, SASLResponse, SecretKey,
        SslRequest,
    },
};
use server::Config;
use sha2::{Digest, Sha256};

const PATIENCE: Duration = Duration::from_secs(30);

fn start(config: Config) -> (backend::Running, SocketAddr) {
    let running = backend::start(2, config, &[]);
    let address = running.server.addresses()[0];
    (running, address)
}

#[test]
fn an_introduction() {
    let (_running, address) = start(Config::default());
    let mut client = Client::dial(address);
    client.start(&[("user", "weft"), ("database", "weft")]);
    assert_eq!(
        client.until_ready(),
        [
            "authenticated",
            "set server_version=15.0",
            "set server_encoding=UTF8",
            "set client_encoding=UTF8",
            "set DateStyle=ISO, MDY",
            "set integer_datetimes=on",
            "set standard_conforming_strings=on",
            "key",
            "ready I"
        ]
    );
    assert!(client.key.0 > 0);
}

#[test]
fn settings_are_given_by_themselves_or_as_a_command_line() {
    let (_running, address) = start(Config::default());
    let options = ("options", "-c application_name=a --application-name=b");
    for (parameters, name) in [
        (&[("user", "weft"), options][..], "b"),
        (&[("user", "weft"), options, ("application_name", "c")], "c"),
    ] {
        let mut client = Client::dial(address);
        client.start(parameters);
        let answers = client.until_ready();
        assert!(answers.contains(&format!("set application_name={name}")));
    }
    let mut client = Client::dial(address);
    client.start(&[("user", "weft"), ("options", "-d 3")]);
    assert_eq!(
        client.until_ready(),
        [
            "FATAL 42601 invalid command-line argument for server process: -d",
            "gone"
        ]
    );
}

#[test]
fn encryption_is_declined_and_the_client_goes_on() {
    let (_running, address) = start(Config::default());
    let mut client = Client::dial(address);
    let request = SslNegotiationMetaMessage::PostgresSsl(SslRequest::new());
    client.send(&[Message::SslNegotiation(request)]);
    assert_eq!(client.byte(), b'N');
    client.start(&[("user", "weft")]);
    assert_eq!(client.until_ready().last().unwrap(), "ready I");
}

#[test]
fn newer_clients_hear_what_is_spoken() {
    let (_running, address) = start(Config::default());
    let mut client = Client::dial(address);
    client.send_bytes(b"\0\0\0\x1c\0\x03\0\x02user\0weft\0_pq_.a\0b\0\0");
    assert_eq!(client.next(), "speaks 196608 not [\"_pq_.a\"]");
    assert_eq!(client.until_ready().last().unwrap(), "ready I");
}

#[test]
fn a_client_that_says_something_else_is_told() {
    let (_running, address) = start(Config::default());
    for (bytes, answer) in [
        (
            &b"\0\0\0\x0d\0\x02\0\0user\0"[..],
            "FATAL 0A000 unsupported frontend protocol 2.0: server supports 3.0 to 3.0",
        ),
        (
            b"\0\0\0\x09\0\x03\0\0\0",
            "FATAL 28000 no PostgreSQL user name specified in startup packet",
        ),
        (
            b"GET / HTTP/1.1\r\n\r\n",
            "FATAL 08P01 invalid message length",
        ),
        (
            b"\0\0\0\x04",
            "FATAL 08P01 invalid startup packet layout: expected terminator as last byte",
        ),
    ] {
        let mut client = Client::dial(address);
        client.send_bytes(bytes);
        assert_eq!(client.until_ready(), [answer, "gone"]);
    }
    let mut client = Client::dial(address);
    client.start(&[("user", "weft"), ("database", "nowhere")]);
    assert_eq!(
        client.until_ready(),
        ["FATAL 3D000 database \"nowhere\" does not exist", "gone"]
    );
}

#[test]
fn messages_that_there_are_not_end_the_connection() {
    let (_running, address) = start(Config {
        message_bytes_max: 1 << 16,
        ..Config::default()
    });
    for (bytes, answer) in [
        (
            &b"z\0\0\0\x04"[..],
            "FATAL 08P01 invalid frontend message type 122",
        ),
        (b"Q\0\0\0\x03", "FATAL 08P01 invalid message length"),
        (b"Q\x7f\xff\xff\xff", "FATAL 08P01 invalid message length"),
        (b"S\0\x00\x7f\xff", "FATAL 08P01 invalid message length"),
    ] {
        let mut client = Client::connect(address);
        client.send_bytes(bytes);
        assert_eq!(client.until_ready(), [answer, "gone"]);
    }
    let mut client = Client::connect(address);
    client.send(&[Message::Terminate(
        pgwire::messages::terminate::Terminate::new(),
    )]);
    assert_eq!(client.next(), "gone");
}

/// Runs the client's side of SCRAM-SHA-256, up to the server's last message.
fn log_in(address: SocketAddr, user: &str, password: &str) -> Vec<String> {
    let mut client = Client::dial(address);
    client.start(&[("user", user)]);
    match client.message() {
        Some(Answer::Authentication(Authentication::SASL(methods))) => {
            assert_eq!(methods, ["SCRAM-SHA-256"]);
        }
        other => panic!("{other:?}"),
    }
    let bare = "n=,r=fyko+d2lbbFgONRv9qkxdawL";
    let first = SASLInitialResponse::new(
        "SCRAM-SHA-256".to_owned(),
        Some(Bytes::from(format!("n,,{bare}"))),
    );
    let family = PasswordMessageFamily::SASLInitialResponse(first);
    client.send(&[Message::PasswordMessageFamily(family)]);
    let challenge = match client.message() {
        Some(Answer::Authentication(Authentication::SASLContinue(challenge))) => {
            String::from_utf8(challenge.to_vec()).unwrap()
        }
        other => panic!("{other:?}"),
    };
    let part = |name: &str| {
        let mut parts = challenge.split(',');
        parts.find_map(|part| part.strip_prefix(name)).unwrap()
    };
    let salt = BASE64_STANDARD.decode(part("s=")).unwrap();
    let mut salted = [0; 32];
    let rounds = part("i=").parse().unwrap();
    pbkdf2::pbkdf2_hmac::<Sha256>(password.as_bytes(), &salt, rounds, &mut salted);
    let keyed = |key: &[u8], text: &str| {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
        mac.update(text.as_bytes());
        mac.finalize().into_bytes()
    };
    let key = keyed(&salted, "Client Key");
    let without_proof = format!("c=biws,r={}", part("r="));
    let signed = format!("{bare},{challenge},{without_proof}");
    let signature = keyed(&Sha256::digest(key), &signed);
    let proof: Vec<u8> = key.iter().zip(signature).map(|(a, b)| a ^ b).collect();
    let last = format!("{without_proof},p={}", BASE64_STANDARD.encode(proof));
    let family = PasswordMessageFamily::SASLResponse(SASLResponse::new(Bytes::from(last)));
    client.send(&[Message::PasswordMessageFamily(family)]);
    let server_signature = keyed(&keyed(&salted, "Server Key"), &signed);
    match client.message() {
        Some(Answer::Authentication(Authentication::SASLFinal(signature))) => {
            let expected = format!("v={}", BASE64_STANDARD.encode(server_signature));
            assert_eq!(signature, expected.as_bytes());
            client.until_ready()
        }
        Some(Answer::ErrorResponse(error)) => {
            let message = error.fields.iter().find(|(letter, _)| *letter == b'M');
            vec![message.unwrap().1.clone(), client.next()]
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_user_with_a_password_must_know_it() {
    let running = backend::start(1, Config::default(), &[("penelope", "loom")]);
    let address = running.server.addresses()[0];
    let answers = log_in(address, "penelope", "loom");
    assert_eq!(answers.first().unwrap(), "authenticated");
    assert_eq!(answers.last().unwrap(), "ready I");
    assert_eq!(
        log_in(address, "penelope", "wool"),
        [
            "password authentication failed for user \"penelope\"",
            "gone"
        ]
    );
    // Other users need none, on this machine.
    Client::connect(address);
}

#[test]
fn one_client_too_many_is_told_so() {
    let (running, address) = start(Config {
        connections_max: 2,
        ..Config::default()
    });
    let first = Client::connect(address);
    let mut second = Client::connect(address);
    let mut third = Client::dial(address);
    third.start(&[("user", "weft")]);
    assert_eq!(
        third.until_ready(),
        ["FATAL 53300 sorry, too many clients already", "gone"]
    );
    drop(first);
    // The server notices after an unknown time.
    let begin = Instant::now();
    loop {
        let mut fourth = Client::dial(address);
        fourth.start(&[("user", "weft")]);
        if fourth.until_ready().last().unwrap() == "ready I" {
            break;
        }
        assert!(begin.elapsed() < PATIENCE);
    }
    assert_eq!(second.query("select 1").len(), 4);
    let statistics = running.server.statistics();
    assert!(statistics.refused >= 1);
    assert!(statistics.connections >= 4);
    assert!(statistics.requests >= 1 && statistics.bytes_sent > statistics.bytes_received);
}

#[test]
fn a_client_that_names_no_user_is_let_go() {
    let (_running, address) = start(Config {
        authentication_timeout: Duration::from_millis(50),
        ..Config::default()
    });
    assert_eq!(Client::dial(address).next(), "gone");
}

const CANCELLED: &str = "ERROR 57014 canceling statement due to user request";

fn cancel(address: SocketAddr, (process, secret): (i32, i32)) {
    let mut client = Client::dial(address);
    let request = CancelRequest::new(process, SecretKey::I32(secret));
    client.send(&[Message::CancelRequest(request)]);
    assert_eq!(client.next(), "gone");
}

#[test]
fn a_statement_is_cancelled_by_its_key() {
    let (_running, address) = start(Config::default());
    let mut client = Client::connect(address);
    // No statement is running: the cancel has no effect, now or later.
    cancel(address, client.key);
    assert_eq!(client.query("select 1").len(), 4);
    client.send(&[query("copyin")]);
    assert_eq!(client.next(), "wants data 0 [0]");
    let (process, secret) = client.key;
    cancel(address, (process, secret.wrapping_add(1)));
    cancel(address, (process + 1000, secret));
    client.send(&[copy_data("a\n"), copy_done()]);
    assert_eq!(client.until_ready(), ["COPY 1", "ready I"]);
    client.send(&[query("copyin")]);
    client.next();
    cancel(address, client.key);
    assert_eq!(client.until_ready(), [CANCELLED, "ready I"]);
    assert_eq!(client.query("select 1").len(), 4);
}

#[test]
fn a_statement_that_waits_is_woken_to_be_cancelled() {
    let (_running, address) = start(Config::default());
    let mut client = Client::connect(address);
    let key = client.key;
    let answered = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // A cancel that comes before the statement has begun is not meant for it.
        scope.spawn(|| {
            while !answered.load(Ordering::Relaxed) {
                cancel(address, key);
            }
        });
        let answers = client.query("wait");
        answered.store(true, Ordering::Relaxed);
        assert_eq!(answers, [CANCELLED, "ready I"]);
    });
}

#[test]
fn a_client_that_does_not_read_can_be_cancelled_too() {
    let (_running, address) = start(Config::default());
    let mut client = Client::connect(address);
    client.send(&[query("rows 2000000000")]);
    for _ in 0..1000 {
        client.next();
    }
    cancel(address, client.key);
    let last = loop {
        let answer = client.next();
        if !answer.starts_with("row") {
            break answer;
        }
    };
    assert_eq!(last, CANCELLED);
}

/// A statement whose client does not read waits; its worker does not.
#[test]
fn a_client_that_does_not_read_keeps_no_other_waiting() {
    let running = backend::start(1, Config::default(), &[]);
    let address = running.server.addresses()[0];
    let mut slow = Client::connect(address);
    slow.send(&[query("rows 2000000000")]);
    let mut other = Client::connect(address);
    for _ in 0..100 {
        assert_eq!(other.query("select 1").len(), 4);
    }
}

const FATAL: &str = "FATAL 57P01 terminating connection due to administrator command";

#[test]
fn stopping_ends_everybody() {
    let (running, address) = start(Config::default());
    let mut idle = Client::connect(address);
    let mut busy = Client::connect(address);
    let mut copying = Client::connect(address);
    copying.send(&[query("copyin")]);
    assert_eq!(copying.next(), "wants data 0 [0]");
    busy.send(&[query("rows 2000000000")]);
    assert_eq!(busy.next(), "columns ?column?:23:0");
    std::thread::scope(|scope| {
        let stopped = scope.spawn(|| running.server.stop(PATIENCE));
        for client in [&mut copying, &mut busy] {
            let answers = client.until_ready();
            assert_eq!(answers[answers.len() - 2..], [FATAL, "gone"]);
        }
        assert_eq!(idle.until_ready(), [FATAL, "gone"]);
        assert_eq!(stopped.join().unwrap(), 0);
    });
    assert!(std::net::TcpStream::connect(address).is_err());
    assert_eq!(running.server.statistics().connections_open, 0);
}

#[test]
fn a_panic_ends_its_connection_and_no_other() {
    let running = backend::start(1, Config::default(), &[]);
    let address = running.server.addresses()[0];
    let mut other = Client::connect(address);
    let mut client = Client::connect(address);
    let answers = client.query("panic");
    assert_eq!(answers[0], "columns ?column?:23:0");
    assert!(answers[1].starts_with("FATAL XX000"), "{answers:?}");
    assert_eq!(answers[2], "gone");
    assert_eq!(other.query("select 1").len(), 4);
    assert_eq!(running.server.statistics().panics, 1);
}

#[test]
fn many_clients_at_once() {
    let (running, address) = start(Config::default());
    let threads: Vec<_> = (0..16)
        .map(|number| {
            std::thread::spawn(move || {
                let mut client = Client::connect(address);
                for turn in 0..200 {
                    let wanted = number * 1000 + turn;
                    let answers = client.query(&format!("select {wanted}; sleep 1"));
                    assert_eq!(answers[1], format!("row {wanted}"));
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let statistics = running.server.statistics();
    assert_eq!(statistics.requests, 16 * 200);
    assert_eq!(statistics.connections, 16);
}
