//! Bytes of clients, for fuzzers and for tests with random bytes.
//!
//! [`connection`] is a whole connection over a stream in memory, with a session that knows a few
//! statements. For any bytes: nothing panics; the answers do not depend on how the bytes were
//! cut; every answer is a message that pgwire can read; and an error of the extended protocol is
//! followed by nothing but the end of its pipeline.
//!
//! Random bytes would not get past the first length. The input is therefore either taken as it
//! is, or composes messages, of which it then may change bytes.

mod session;

use std::{
    collections::BTreeMap,
    future::Future,
    io,
    net::{IpAddr, Ipv4Addr},
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use self::session::Few;
use crate::{
    Config,
    connection::{Shared, serve},
    control::{Connections, Role},
    statistics::Counters,
    wire::{Stream, Wire},
};
use bytes::BytesMut;
use pgwire::messages::{
    DecodeContext, PgWireBackendMessage, PgWireFrontendMessage as Sent, ProtocolVersion, copy,
    extendedquery as extended, response::ErrorResponse, simplequery::Query,
    startup::Startup as PgStartup, terminate::Terminate,
};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Small, so that rows have to wait.
const OUTPUT_BYTES_MAX: usize = 200;

/// Serves a client that sends the messages described by `data`.
///
/// # Panics
/// Panics if an answer breaks a rule of the module's text.
pub fn connection(data: &[u8]) {
    let stream = compose(data);
    let whole = answers(&stream, usize::MAX, HERE);
    for step in [1, 3, 16] {
        assert_eq!(
            whole,
            answers(&stream, step, HERE),
            "in pieces of {step} bytes"
        );
    }
    check(&whole);
}

/// Returns the bytes to send: the input itself, or messages that it chooses.
fn compose(data: &[u8]) -> Vec<u8> {
    let Some((&first, data)) = data.split_first() else {
        return Vec::new();
    };
    if first.is_multiple_of(8) {
        return data.to_vec();
    }
    let mut stream = BytesMut::new();
    let mut startup = PgStartup::new();
    startup.parameters = BTreeMap::from([("user".to_owned(), "weft".to_owned())]);
    encode(&mut stream, &Sent::Startup(startup));
    for choice in data.chunks(3) {
        let (kind, what) = (choice[0], choice.get(1).copied().unwrap_or(0));
        let begin = stream.len();
        if kind % 12 == 11 {
            // A whole statement, which other choices seldom produce.
            for kind in [1, 3, 5] {
                encode(&mut stream, &message(kind, what & 0x7f));
            }
        } else {
            encode(&mut stream, &message(kind, what));
        }
        // One message in 32 has a byte changed.
        if let Some(&change) = choice.get(2)
            && change.is_multiple_of(32)
        {
            let at =
                begin + (usize::from(change / 32) + usize::from(what)) % (stream.len() - begin);
            stream[at] ^= what | 1;
        }
    }
    stream.to_vec()
}

fn encode(stream: &mut BytesMut, message: &Sent) {
    message.encode(stream).expect("these messages are short");
}

fn message(kind: u8, what: u8) -> Sent {
    const TEXTS: [&str; 8] = ["", "one", "many", "many", "begin", "commit", "copy", "half"];
    let text = TEXTS[usize::from(what % 8)].to_owned();
    let name = ((what / 8).is_multiple_of(4)).then(|| "a".to_owned());
    let target = b"SSSPPPPx"[usize::from(what % 8)];
    match kind % 12 {
        0 => Sent::Query(Query::new(text)),
        1 | 2 => Sent::Parse(extended::Parse::new(
            name,
            text,
            vec![25; usize::from(what / 64)],
        )),
        3 | 4 => Sent::Bind(extended::Bind::new(
            name.clone(),
            name,
            vec![0; usize::from(what / 128)],
            vec![None; usize::from(what / 64 % 2)],
            vec![1; usize::from(what / 32 % 2)],
        )),
        5 | 6 => Sent::Execute(extended::Execute::new(name, i32::from(what / 32))),
        7 => Sent::Describe(extended::Describe::new(target, name)),
        8 => Sent::Close(extended::Close::new(target, name)),
        9 => match what % 5 {
            0 => Sent::CopyDone(copy::CopyDone::new()),
            1 => Sent::CopyFail(copy::CopyFail::new(text)),
            2 => Sent::Flush(extended::Flush::new()),
            3 => Sent::Terminate(Terminate::new()),
            _ => Sent::CopyData(copy::CopyData::new(text.into())),
        },
        _ => Sent::Sync(extended::Sync::new()),
    }
}

/// Returns the answers to `sent` if it comes in pieces of `step` bytes.
fn answers(sent: &[u8], step: usize, peer: IpAddr) -> Vec<u8> {
    let connections: Arc<Connections> = Arc::default();
    let entered = connections
        .enter(Role::Client)
        .expect("there are random numbers");
    let shared = Shared {
        backend: Arc::new(Few),
        config: Config::default(),
        connections,
        secret: [7; 32],
    };
    let received: Received = Arc::default();
    let script = Script {
        unsent: sent.to_vec(),
        step,
        received: received.clone(),
    };
    let wire = Wire::new(
        Box::new(script),
        entered.control.clone(),
        Arc::new(Counters::default()),
        1 << 16,
        OUTPUT_BYTES_MAX,
    );
    let served = pin!(serve(&shared, (), wire, peer, false));
    let ended = served.poll(&mut Context::from_waker(Waker::noop()));
    assert!(
        ended.is_ready(),
        "it waits although its client is always ready"
    );
    let received = received.lock().expect("no thread panics with it");
    without_key(&received)
}

/// Blanks out the numbers for cancelling, which differ each time.
fn without_key(answers: &[u8]) -> Vec<u8> {
    const KEY: &[u8] = b"K\0\0\0\x0c";
    let mut answers = answers.to_vec();
    if let Some(at) = answers.windows(KEY.len()).position(|window| window == KEY) {
        let numbers = at + KEY.len()..(at + KEY.len() + 8).min(answers.len());
        answers[numbers].fill(0);
    }
    answers
}

fn check(answers: &[u8]) {
    // Answers to requests for encryption are no messages.
    let refusals = answers.iter().take_while(|&&byte| byte == b'N').count();
    let mut rest = BytesMut::from(&answers[refusals..]);
    let mut context = DecodeContext::new(ProtocolVersion::PROTOCOL3_0);
    (
        context.awaiting_frontend_ssl,
        context.awaiting_frontend_startup,
    ) = (false, false);
    // Errors since the last ReadyForQuery. The Sync that ends skipping may be malformed itself.
    let mut errors = 0;
    while !rest.is_empty() {
        let message = PgWireBackendMessage::decode(&mut rest, &context);
        let message = message
            .expect("an answer is a message")
            .expect("a whole one");
        match message {
            PgWireBackendMessage::ErrorResponse(ErrorResponse { fields, .. }) => {
                let fatal = fields.iter().any(|(_, text)| text == "FATAL");
                errors += 1;
                assert!(errors <= 2 || fatal, "many errors of one pipeline");
                assert!(fields.iter().all(|(_, text)| text != "XX000"), "{fields:?}");
                assert!(!fatal || rest.is_empty(), "something after the end");
            }
            PgWireBackendMessage::ReadyForQuery(_) => errors = 0,
            other => assert!(errors == 0, "after an error: {other:?}"),
        }
    }
}

type Received = Arc<std::sync::Mutex<Vec<u8>>>;

/// A client that sends its bytes in pieces, and receives everything, in other pieces.
#[derive(Debug)]
struct Script {
    unsent: Vec<u8>,
    step: usize,
    received: Received,
}

impl Stream for Script {
    fn poll_read(&mut self, _: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        let count = self.step.min(room.len()).min(self.unsent.len());
        for (place, byte) in room.iter_mut().zip(self.unsent.drain(..count)) {
            *place = byte;
        }
        Poll::Ready(Ok(count))
    }

    fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let count = bytes.len().min(self.step.saturating_mul(5));
        let mut received = self.received.lock().expect("no thread panics with it");
        received.extend_from_slice(&bytes[..count]);
        Poll::Ready(Ok(count))
    }
}

#[cfg(test)]
mod tests;
