//! Passwords as the catalog keeps them.

use server::Verifier;
use types::{Result, SqlError};

/// Returns the verifier that the catalog keeps in place of `password`, in PostgreSQL's form. A
/// `password` that has this form already is returned as it is.
///
/// # Errors
/// 0A000 for a password that was hashed with MD5; errors of making a verifier.
pub fn verifier_of(password: &str) -> Result<String> {
    if password.parse::<Verifier>().is_ok() {
        return Ok(password.to_owned());
    }
    let is_digest =
        |digits: &str| digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if password.strip_prefix("md5").is_some_and(is_digest) {
        return Err(SqlError::unsupported("a password that was hashed with MD5"));
    }
    Verifier::of(password).map(|verifier| verifier.to_string())
}
