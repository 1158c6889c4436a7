//! Errors of commands, in two kinds: the request was wrong, or carrying it out failed.

/// The error of every fallible operation in this crate. Each text is one
/// sentence that says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request cannot be carried out as written; asking again unchanged
    /// fails again.
    #[error("{0}")]
    Input(String),
    /// The request was fine, carrying it out failed.
    #[error("{0}")]
    Run(String),
}

impl Error {
    /// Returns an error in the request.
    pub fn input(text: impl Into<String>) -> Self {
        Self::Input(text.into())
    }

    /// Returns an error of carrying a request out.
    pub fn run(text: impl Into<String>) -> Self {
        Self::Run(text.into())
    }
}

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;
