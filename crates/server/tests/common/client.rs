//! A tiny client: writes and reads with pgwire's messages, which differ from the code by which
//! the server reads requests and writes rows. Each message received becomes one line.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use bytes::{Buf, Bytes, BytesMut};
use pgwire::messages::{
    DecodeContext, PgWireBackendMessage as Answer, PgWireFrontendMessage as Message,
    ProtocolVersion, copy, data::DataRow, extendedquery as extended, response::ErrorResponse,
    simplequery::Query, startup,
};

/// Long enough for a loaded machine, short enough for a hung test.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    stream: TcpStream,
    received: BytesMut,
    context: DecodeContext,
    /// Numbers for cancelling, from the server.
    pub(crate) key: (i32, i32),
}

impl Client {
    /// Connects without sending a message.
    pub(crate) fn dial(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut context = DecodeContext::new(ProtocolVersion::PROTOCOL3_0);
        context.awaiting_frontend_ssl = false;
        context.awaiting_frontend_startup = false;
        Client {
            stream,
            received: BytesMut::new(),
            context,
            key: (0, 0),
        }
    }

    /// Returns a connected client that may send queries.
    pub(crate) fn connect(address: SocketAddr) -> Client {
        let mut client = Client::dial(address);
        client.start(&[("user", "weft")]);
        let answers = client.until_ready();
        assert_eq!(answers.last().unwrap(), "ready I", "{answers:?}");
        client
    }

    pub(crate) fn start(&mut self, parameters: &[(&str, &str)]) {
        let mut message = startup::Startup::new();
        let parameters = parameters
            .iter()
            .map(|&(name, value)| (name.into(), value.into()));
        message.parameters = parameters.collect();
        self.send(&[Message::Startup(message)]);
    }

    pub(crate) fn send(&mut self, messages: &[Message]) {
        let mut bytes = BytesMut::new();
        for message in messages {
            message.encode(&mut bytes).unwrap();
        }
        self.send_bytes(&bytes);
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Sends a simple query, and returns the answers.
    pub(crate) fn query(&mut self, text: &str) -> Vec<String> {
        self.send(&[query(text)]);
        self.until_ready()
    }

    /// Sends messages, and returns the answers.
    pub(crate) fn ask(&mut self, messages: &[Message]) -> Vec<String> {
        self.send(messages);
        self.until_ready()
    }

    /// Returns the answers up to ReadyForQuery, or to the end of the connection (`gone`).
    pub(crate) fn until_ready(&mut self) -> Vec<String> {
        let mut answers = Vec::new();
        loop {
            let answer = self.next();
            let last = answer == "gone" || answer.starts_with("ready");
            answers.push(answer);
            if last {
                return answers;
            }
        }
    }

    pub(crate) fn next(&mut self) -> String {
        match self.message() {
            Some(message) => self.line(message),
            None => "gone".to_owned(),
        }
    }

    /// Returns the next message; `None` at the end.
    pub(crate) fn message(&mut self) -> Option<Answer> {
        loop {
            if let Some(answer) = Answer::decode(&mut self.received, &self.context).unwrap() {
                return Some(answer);
            }
            if self.more() == 0 {
                assert!(
                    self.received.is_empty(),
                    "half a message: {:?}",
                    self.received
                );
                return None;
            }
        }
    }

    /// Returns one byte that is no message.
    pub(crate) fn byte(&mut self) -> u8 {
        if self.received.is_empty() {
            self.more();
        }
        self.received.get_u8()
    }

    fn more(&mut self) -> usize {
        let mut part = [0; 16 * 1024];
        match self.stream.read(&mut part) {
            Ok(count) => {
                self.received.extend_from_slice(&part[..count]);
                count
            }
            // The server had not read everything when it closed.
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => 0,
            Err(error) => panic!("{error}"),
        }
    }

    fn line(&mut self, answer: Answer) -> String {
        match answer {
            Answer::Authentication(startup::Authentication::Ok) => "authenticated".into(),
            Answer::Authentication(other) => format!("{other:?}"),
            Answer::ParameterStatus(status) => format!("set {}={}", status.name, status.value),
            Answer::BackendKeyData(data) => {
                self.key = (data.pid, data.secret_key.as_i32().unwrap());
                "key".into()
            }
            Answer::NegotiateProtocolVersion(version) => {
                format!(
                    "speaks {} not {:?}",
                    version.newest_minor_protocol, version.unsupported_options
                )
            }
            Answer::ParseComplete(_) => "parsed".into(),
            Answer::BindComplete(_) => "bound".into(),
            Answer::CloseComplete(_) => "closed".into(),
            Answer::PortalSuspended(_) => "suspended".into(),
            Answer::CommandComplete(complete) => complete.tag,
            Answer::EmptyQueryResponse(_) => "empty".into(),
            Answer::ReadyForQuery(ready) => format!("ready {}", ready.status as u8 as char),
            Answer::ErrorResponse(ErrorResponse { fields, .. }) => report(&fields),
            Answer::NoticeResponse(notice) => report(&notice.fields),
            Answer::ParameterDescription(description) => {
                format!("parameters {:?}", description.types)
            }
            Answer::RowDescription(description) => {
                let fields = description.fields.iter();
                let fields = fields
                    .map(|field| format!("{}:{}:{}", field.name, field.type_id, field.format_code));
                format!("columns {}", fields.collect::<Vec<_>>().join(" "))
            }
            Answer::DataRow(row) => self::row(row),
            Answer::NoData(_) => "no data".into(),
            Answer::CopyData(data) => format!("data {}", data.data.escape_ascii()),
            Answer::CopyDone(_) => "data ends".into(),
            Answer::CopyInResponse(response) => {
                format!(
                    "wants data {} {:?}",
                    response.format, response.column_formats
                )
            }
            Answer::CopyOutResponse(response) => {
                format!(
                    "gives data {} {:?}",
                    response.format, response.column_formats
                )
            }
            other => format!("{other:?}"),
        }
    }
}

fn row(mut row: DataRow) -> String {
    let mut line = "row".to_owned();
    for _ in 0..row.field_count {
        let length = row.data.get_i32();
        line.push(' ');
        match usize::try_from(length) {
            Err(_) => line.push_str("NULL"),
            Ok(length) => {
                let value = row.data.split_to(length);
                line.push_str(&value.escape_ascii().to_string());
            }
        }
    }
    assert!(row.data.is_empty(), "a row has more than its columns");
    line
}

/// Formats an error: `ERROR 42601 message`, then the other fields, by their letters.
fn report(fields: &[(u8, String)]) -> String {
    let get = |letter| {
        let field = fields.iter().find(|&&(found, _)| found == letter);
        &*field.unwrap().1
    };
    assert_eq!(get(b'S'), get(b'V'));
    let mut line = format!("{} {} {}", get(b'S'), get(b'C'), get(b'M'));
    for (letter, text) in fields {
        if !b"SVCM".contains(letter) {
            line.push_str(&format!(" | {} {text}", *letter as char));
        }
    }
    line
}

pub(crate) fn query(text: &str) -> Message {
    Message::Query(Query::new(text.to_owned()))
}

pub(crate) fn parse(name: &str, text: &str) -> Message {
    Message::Parse(extended::Parse::new(
        Some(name.to_owned()),
        text.to_owned(),
        Vec::new(),
    ))
}

/// Returns a Bind message with all columns in text.
pub(crate) fn bind(portal: &str, statement: &str, parameters: &[Option<&'static str>]) -> Message {
    bind_as(portal, statement, parameters, &[])
}

pub(crate) fn bind_as(
    portal: &str,
    statement: &str,
    parameters: &[Option<&'static str>],
    formats: &[i16],
) -> Message {
    let parameters = parameters.iter();
    Message::Bind(extended::Bind::new(
        Some(portal.to_owned()),
        Some(statement.to_owned()),
        Vec::new(),
        parameters
            .map(|parameter| parameter.map(Bytes::from))
            .collect(),
        formats.to_vec(),
    ))
}

pub(crate) fn describe(kind: u8, name: &str) -> Message {
    Message::Describe(extended::Describe::new(kind, Some(name.to_owned())))
}

pub(crate) fn close(kind: u8, name: &str) -> Message {
    Message::Close(extended::Close::new(kind, Some(name.to_owned())))
}

pub(crate) fn execute(portal: &str, rows_max: i32) -> Message {
    Message::Execute(extended::Execute::new(Some(portal.to_owned()), rows_max))
}

pub(crate) fn sync() -> Message {
    Message::Sync(extended::Sync::new())
}

pub(crate) fn flush() -> Message {
    Message::Flush(extended::Flush::new())
}

pub(crate) fn copy_data(bytes: &'static str) -> Message {
    Message::CopyData(copy::CopyData::new(Bytes::from(bytes)))
}

pub(crate) fn copy_done() -> Message {
    Message::CopyDone(copy::CopyDone::new())
}

pub(crate) fn copy_fail(reason: &str) -> Message {
    Message::CopyFail(copy::CopyFail::new(reason.to_owned()))
}
