//! SCRAM-SHA-256 (RFC 5802, RFC 7677): a client proves that it knows a password without sending
//! it, to a server that does not know it either.
//!
//! There is no channel binding, since there is no TLS to bind to. pgwire has the exchange too,
//! but only together with its server (see docs/decisions/2026-11-24-protocol.md).
//!
//! ```text
//!  client                              server
//!  n,,n=,r=<nonce>              ──►
//!                               ◄──    r=<nonce><nonce>,s=<salt>,i=<iterations>
//!  c=biws,r=<nonces>,p=<proof>  ──►
//!                               ◄──    v=<signature>
//! ```

mod verifier;

use base64::{Engine, prelude::BASE64_STANDARD};
use subtle::ConstantTimeEq;
use types::{Result, SqlError, SqlState};

pub use self::verifier::{InvalidVerifier, Verifier};
use self::verifier::{KEY_BYTES, hash, keyed_hash};
use crate::protocol::Body;

/// Name of the one mechanism that is offered.
pub(crate) const MECHANISM: &str = "SCRAM-SHA-256";

/// Random bytes of the server's half of the nonce, as in PostgreSQL.
const NONCE_BYTES: usize = 18;

/// The proof of one client, between its first and its last message.
#[derive(Debug)]
pub(crate) struct Exchange {
    verifier: Verifier,
    /// The client's statement about channel binding, `n,,` or `y,,`, to be repeated.
    header: &'static str,
    nonces: String,
    /// The first two messages, joined as in the proof.
    messages: String,
}

impl Exchange {
    /// Reads the client's first message (the body of a SASLInitialResponse), and returns the
    /// exchange and the answer.
    ///
    /// # Errors
    /// Fails if `body` is no such message.
    pub(crate) fn begin(verifier: Verifier, body: &[u8]) -> Result<(Exchange, String)> {
        let mut nonce = [0; NONCE_BYTES];
        random(&mut nonce)?;
        Exchange::begin_with(verifier, body, &BASE64_STANDARD.encode(nonce))
    }

    fn begin_with(verifier: Verifier, body: &[u8], nonce: &str) -> Result<(Exchange, String)> {
        let mut body = Body::new(body);
        if body.string()? != MECHANISM {
            return Err(violation(
                "client selected an invalid SASL authentication mechanism",
            ));
        }
        // A client may hold its first message back until it is asked for it; none does.
        let length = usize::try_from(body.int4()?).map_err(|_| malformed())?;
        let message = text(body.take(length)?)?;
        body.end()?;
        let (header, bare) = match message.split_at_checked(3) {
            Some(("n,,", bare)) => ("n,,", bare),
            Some(("y,,", bare)) => ("y,,", bare),
            Some((other, _)) if other.starts_with('p') => {
                return Err(violation(
                    "client requires channel binding, which needs an encrypted connection",
                ));
            }
            _ => return Err(malformed()),
        };
        let mut attributes = bare.split(',');
        // The user was named when the connection began; the name here is ignored.
        attribute(attributes.next(), "n=")?;
        let client_nonce = attribute(attributes.next(), "r=")?;
        if client_nonce.is_empty() || !client_nonce.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(malformed());
        }
        let nonces = format!("{client_nonce}{nonce}");
        let answer = format!(
            "r={nonces},s={},i={}",
            BASE64_STANDARD.encode(&verifier.salt),
            verifier.iterations
        );
        let exchange = Exchange {
            messages: format!("{bare},{answer}"),
            verifier,
            header,
            nonces,
        };
        Ok((exchange, answer))
    }

    /// Reads the client's last message. Returns the answer if the message proves that the
    /// client knows the password, `None` otherwise.
    ///
    /// # Errors
    /// Fails if `body` is no such message.
    pub(crate) fn finish(self, body: &[u8]) -> Result<Option<String>> {
        let message = text(body)?;
        let (without_proof, proof) = message.rsplit_once(",p=").ok_or_else(malformed)?;
        let mut attributes = without_proof.split(',');
        let binding = attribute(attributes.next(), "c=")?;
        if binding != BASE64_STANDARD.encode(self.header) {
            return Err(violation(
                "unexpected SCRAM channel-binding attribute in client-final-message",
            ));
        }
        if attribute(attributes.next(), "r=")? != self.nonces {
            return Err(violation("invalid SCRAM response: nonce does not match"));
        }
        let proof = BASE64_STANDARD.decode(proof).map_err(|_| malformed())?;
        let proof: [u8; KEY_BYTES] = proof.try_into().map_err(|_| malformed())?;
        let signed = format!("{},{without_proof}", self.messages);
        let signature = keyed_hash(&self.verifier.stored_key, signed.as_bytes());
        let client_key: Vec<u8> = proof.iter().zip(signature).map(|(a, b)| a ^ b).collect();
        let stored_key = hash(&client_key);
        if !bool::from(stored_key.ct_eq(&self.verifier.stored_key)) {
            return Ok(None);
        }
        let signature = keyed_hash(&self.verifier.server_key, signed.as_bytes());
        Ok(Some(format!("v={}", BASE64_STANDARD.encode(signature))))
    }
}

fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| malformed())
}

fn attribute<'a>(attribute: Option<&'a str>, name: &str) -> Result<&'a str> {
    attribute
        .and_then(|attribute| attribute.strip_prefix(name))
        .ok_or_else(malformed)
}

fn malformed() -> SqlError {
    violation("malformed SCRAM message")
}

fn violation(message: &'static str) -> SqlError {
    SqlError::new(SqlState::PROTOCOL_VIOLATION, message)
}

/// Fills `bytes` with unpredictable bytes.
///
/// # Errors
/// Fails if the system has none.
pub(crate) fn random(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|_| {
        SqlError::new(
            SqlState::INTERNAL_ERROR,
            "the system gave no random numbers",
        )
    })
}

#[cfg(test)]
mod tests;
