//! The functions of advisory locks, told apart by their names.

/// Strength of an advisory lock: which other locks on the same key it excludes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strength {
    /// Excludes exclusive locks alone.
    Shared,
    /// Excludes every other lock.
    Exclusive,
}

/// The time for which a lock is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// Until it is given back, or the session ends.
    Session,
    /// Until the transaction ends.
    Transaction,
}

/// A call's request to the advisory locks, read from the function's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdvisoryFunction {
    /// `pg_advisory_lock`, `pg_try_advisory_lock`, and those with `xact` and `_shared`.
    Lock {
        /// Shared for names with `_shared`, exclusive otherwise.
        strength: Strength,
        /// Transaction for names with `xact`, session otherwise.
        span: Span,
        /// `false` for `pg_try_..`, which returns whether the lock was free.
        waits: bool,
    },
    /// `pg_advisory_unlock` and `pg_advisory_unlock_shared`.
    Unlock(Strength),
    /// `pg_advisory_unlock_all`.
    UnlockAll,
}

impl AdvisoryFunction {
    /// Returns the function that `name` names; `None` if it names no function of advisory locks.
    pub fn named(name: &str) -> Option<AdvisoryFunction> {
        let (name, waits) = match name.strip_prefix("pg_try_") {
            Some(rest) => (rest, false),
            None => (name.strip_prefix("pg_")?, true),
        };
        let (name, strength) = match name.strip_suffix("_shared") {
            Some(rest) => (rest, Strength::Shared),
            None => (name, Strength::Exclusive),
        };
        let lock = |span| AdvisoryFunction::Lock {
            strength,
            span,
            waits,
        };
        let function = match name {
            "advisory_lock" => lock(Span::Session),
            "advisory_xact_lock" => lock(Span::Transaction),
            "advisory_unlock" if waits => AdvisoryFunction::Unlock(strength),
            "advisory_unlock_all" if waits => AdvisoryFunction::UnlockAll,
            _ => return None,
        };
        Some(function)
    }
}
