//! The kept form of a password: enough to check a proof, not enough to make one.

use std::{fmt, str::FromStr};

use base64::{Engine, prelude::BASE64_STANDARD};
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use types::Result;

use super::random;

/// Bytes of a key.
pub(super) const KEY_BYTES: usize = 32;

/// Values of PostgreSQL.
const SALT_BYTES: usize = 16;
const ITERATIONS: u32 = 4096;

/// Verifier of a password, in PostgreSQL's form:
/// `SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>`.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    pub(super) iterations: u32,
    pub(super) salt: Vec<u8>,
    pub(super) stored_key: [u8; KEY_BYTES],
    pub(super) server_key: [u8; KEY_BYTES],
}

/// The error for a text that is no [`Verifier`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidVerifier;

impl fmt::Display for InvalidVerifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("this is not what is kept of a password with SCRAM-SHA-256")
    }
}

impl std::error::Error for InvalidVerifier {}

impl Verifier {
    /// Makes the verifier of a password, with a new salt. Takes some milliseconds, by
    /// intention.
    ///
    /// # Errors
    /// Fails if the system gives no random numbers.
    pub fn of(password: &str) -> Result<Verifier> {
        let mut salt = vec![0; SALT_BYTES];
        random(&mut salt)?;
        Ok(Verifier::derive(password, salt, ITERATIONS))
    }

    /// Returns a verifier for which every proof is wrong. A client cannot tell, since one
    /// user is given the same salt each time.
    pub(crate) fn nobody(server_secret: &[u8], user: &str) -> Verifier {
        let salt = keyed_hash(server_secret, user.as_bytes());
        let key = keyed_hash(server_secret, &salt);
        Verifier {
            iterations: ITERATIONS,
            salt: salt[..SALT_BYTES].to_vec(),
            stored_key: key,
            server_key: key,
        }
    }

    pub(super) fn derive(password: &str, salt: Vec<u8>, iterations: u32) -> Verifier {
        // As in PostgreSQL: a password without a normal form is taken as it is.
        let normal = stringprep::saslprep(password);
        let password = normal.as_deref().unwrap_or(password);
        let mut salted = [0; KEY_BYTES];
        pbkdf2::pbkdf2_hmac::<Sha256>(password.as_bytes(), &salt, iterations, &mut salted);
        Verifier {
            iterations,
            salt,
            stored_key: hash(&keyed_hash(&salted, b"Client Key")),
            server_key: keyed_hash(&salted, b"Server Key"),
        }
    }
}

impl fmt::Display for Verifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "SCRAM-SHA-256${}:{}${}:{}",
            self.iterations,
            BASE64_STANDARD.encode(&self.salt),
            BASE64_STANDARD.encode(self.stored_key),
            BASE64_STANDARD.encode(self.server_key)
        )
    }
}

/// Shows no keys.
impl fmt::Debug for Verifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Verifier").finish_non_exhaustive()
    }
}

impl FromStr for Verifier {
    type Err = InvalidVerifier;

    fn from_str(text: &str) -> std::result::Result<Verifier, InvalidVerifier> {
        let parse = || {
            let (iterations, rest) = text.strip_prefix("SCRAM-SHA-256$")?.split_once(':')?;
            let (salt, keys) = rest.split_once('$')?;
            let (stored_key, server_key) = keys.split_once(':')?;
            let key = |text| BASE64_STANDARD.decode(text).ok()?.try_into().ok();
            Some(Verifier {
                iterations: iterations.parse().ok().filter(|&count| count > 0)?,
                salt: BASE64_STANDARD.decode(salt).ok()?,
                stored_key: key(stored_key)?,
                server_key: key(server_key)?,
            })
        };
        parse().ok_or(InvalidVerifier)
    }
}

pub(super) fn hash(bytes: &[u8]) -> [u8; KEY_BYTES] {
    Sha256::digest(bytes).into()
}

pub(super) fn keyed_hash(key: &[u8], bytes: &[u8]) -> [u8; KEY_BYTES] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("keys of any length are keys");
    mac.update(bytes);
    mac.finalize().into_bytes().into()
}
