//! Messages of a client before it is connected: for encryption, to cancel, or to start.
//!
//! These messages have no tag. pgwire reads them; it is given each of them alone, so that it
//! cannot read on into the next message.

use std::collections::BTreeMap;

use bytes::BytesMut;
use pgwire::messages::{
    DecodeContext, Message, ProtocolVersion,
    cancel::CancelRequest,
    startup::{GssEncRequest, SecretKey, SslRequest, Startup},
};
use types::{Result, SqlError, SqlState};

use super::input::Frame;

/// Longest packet, as in PostgreSQL.
pub(crate) const PACKET_BYTES_MAX: usize = 10_000;

/// The first message of a client, or the one after a request for encryption.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Packet {
    /// A request for TLS or GSSAPI, neither of which is supported.
    Encryption,
    Cancel {
        process: i32,
        secret: i32,
    },
    Start(Greeting),
}

/// The introduction of a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Greeting {
    /// The wanted version of the protocol, after the 3.
    pub(crate) minor: u16,
    pub(crate) parameters: BTreeMap<String, String>,
}

impl Greeting {
    /// Returns the requested options of the protocol that are unknown here.
    pub(crate) fn unknown_options(&self) -> Vec<String> {
        let names = self.parameters.keys();
        names
            .filter(|name| name.starts_with("_pq_."))
            .cloned()
            .collect()
    }
}

impl Packet {
    /// Reads a packet.
    ///
    /// # Errors
    /// Fails if the packet is malformed, or its version of the protocol is too old or too new.
    pub(crate) fn read(frame: Frame<'_>) -> Result<Packet> {
        let mut bytes = BytesMut::with_capacity(4 + frame.body.len());
        bytes.extend_from_slice(&(4 + frame.body.len() as u32).to_be_bytes());
        bytes.extend_from_slice(frame.body);
        let context = DecodeContext::new(ProtocolVersion::PROTOCOL3_0);
        if bytes.len() < 8 {
            return Err(invalid());
        }
        if SslRequest::is_ssl_request_packet(&bytes)
            || GssEncRequest::is_gss_enc_request_packet(&bytes)
        {
            return Ok(Packet::Encryption);
        }
        if CancelRequest::is_cancel_request_packet(&bytes) {
            let request = CancelRequest::decode(&mut bytes, &context);
            return match request {
                Ok(Some(CancelRequest {
                    pid,
                    secret_key: SecretKey::I32(secret),
                    ..
                })) => Ok(Packet::Cancel {
                    process: pid,
                    secret,
                }),
                _ => Err(invalid()),
            };
        }
        let major = u16::from_be_bytes([bytes[4], bytes[5]]);
        let minor = u16::from_be_bytes([bytes[6], bytes[7]]);
        if major != Startup::PG_PROTOCOL_LATEST {
            return Err(SqlError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!(
                    "unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0"
                ),
            ));
        }
        match Startup::decode(&mut bytes, &context) {
            Ok(Some(startup)) => Ok(Packet::Start(Greeting {
                minor,
                parameters: startup.parameters,
            })),
            _ => Err(invalid()),
        }
    }
}

fn invalid() -> SqlError {
    SqlError::new(
        SqlState::PROTOCOL_VIOLATION,
        "invalid startup packet layout: expected terminator as last byte",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &[u8]) -> Result<Packet> {
        Packet::read(Frame { tag: 0, body })
    }

    #[test]
    fn a_client_introduces_itself() {
        let packet = read(b"\0\x03\0\x02user\0penelope\0_pq_.wool\0yes\0\0").unwrap();
        let Packet::Start(greeting) = packet else {
            panic!("{packet:?}");
        };
        assert_eq!(greeting.minor, 2);
        assert_eq!(greeting.parameters["user"], "penelope");
        assert_eq!(greeting.unknown_options(), ["_pq_.wool"]);
    }

    #[test]
    fn it_may_want_to_cancel_or_to_encrypt() {
        let cancel = read(b"\x04\xd2\x16\x2e\0\0\0\x07\xff\xff\xff\xfe").unwrap();
        let expected = Packet::Cancel {
            process: 7,
            secret: -2,
        };
        assert_eq!(cancel, expected);
        for code in [80_877_103_i32, 80_877_104] {
            assert_eq!(read(&code.to_be_bytes()).unwrap(), Packet::Encryption);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(
            read(b"\0\x02\0\0user\0a\0\0").unwrap_err().message(),
            "unsupported frontend protocol 2.0: server supports 3.0 to 3.0"
        );
        for body in [&b""[..], b"\0\x03", b"\0\x03\0\0", b"\x04\xd2\x16\x2e\0"] {
            let error = read(body).unwrap_err();
            assert_eq!(error.state(), SqlState::PROTOCOL_VIOLATION, "{body:?}");
        }
    }
}
