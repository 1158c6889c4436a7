//! The functions of advisory locks: their names, told apart.

use super::Strength;

/// How long a lock is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Span {
    /// Until it is given back, or the session ends.
    Session,
    /// Until the transaction ends.
    Transaction,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Function(pub(super) Asked);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// `pg_advisory_lock`, `pg_try_advisory_lock`, and with `xact` and `_shared`.
    Lock {
        strength: Strength,
        span: Span,
        waits: bool,
    },
    /// `pg_advisory_unlock`
    Unlock(Strength),
    /// `pg_advisory_unlock_all`
    UnlockAll,
}

impl Function {
    /// The function of a name.
    pub(crate) fn named(name: &str) -> Option<Function> {
        let (name, waits) = match name.strip_prefix("pg_try_") {
            Some(rest) => (rest, false),
            None => (name.strip_prefix("pg_")?, true),
        };
        let (name, strength) = match name.strip_suffix("_shared") {
            Some(rest) => (rest, Strength::Shared),
            None => (name, Strength::Exclusive),
        };
        let lock = |span| Asked::Lock {
            strength,
            span,
            waits,
        };
        let asked = match name {
            "advisory_lock" => lock(Span::Session),
            "advisory_xact_lock" => lock(Span::Transaction),
            "advisory_unlock" if waits => Asked::Unlock(strength),
            "advisory_unlock_all" if waits => Asked::UnlockAll,
            _ => return None,
        };
        Some(Function(asked))
    }
}
