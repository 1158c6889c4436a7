//! Timestamps, transaction identities, and the word that holds either.
//!
//! A version's `begin` word tells when it became valid:
//!
//! ```text
//!  63 62            51 50             35 34                              0
//! +--+----------------+-----------------+--------------------------------+
//! | 0|                    commit timestamp                               |  committed
//! +--+----------------+-----------------+--------------------------------+
//! | 1| session (12)   | context (16)    | sequence (35)                  |  in progress
//! +--+----------------+-----------------+--------------------------------+
//! ```
//! `Begin::NEVER` (the largest timestamp) marks versions of aborted
//! transactions, so that a reader that still holds one walks on.

/// Point in commit order. Zero is before everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Whether a commit can have the timestamp: a version's `begin` word holds it.
    pub(crate) fn is_possible(self) -> bool {
        self.0 < Begin::NEVER
    }
}

const TAG: u64 = 1 << 63;
const SEQUENCE_BITS: u32 = 35;
const CONTEXT_BITS: u32 = 16;
const SESSION_BITS: u32 = 12;
const _: () = assert!(1 + SESSION_BITS + CONTEXT_BITS + SEQUENCE_BITS == 64);

/// Maximum number of sessions at the same time.
pub(crate) const SESSIONS_MAX: usize = 1 << SESSION_BITS;
/// Maximum number of open transactions in one session.
pub(crate) const CONTEXTS_MAX: usize = 1 << CONTEXT_BITS;
pub(crate) const SEQUENCE_MASK: u64 = (1 << SEQUENCE_BITS) - 1;

/// Identity of a transaction while it is in progress.
///
/// Sequences wrap after 2^35 transactions of one context. A reused identity is harmless: a version
/// carries the identity only until its transaction has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TransactionId(u64);

impl TransactionId {
    pub(crate) fn new(session: u16, context: u16, sequence: u64) -> TransactionId {
        let session = u64::from(session) << (CONTEXT_BITS + SEQUENCE_BITS);
        let context = u64::from(context) << SEQUENCE_BITS;
        TransactionId(TAG | session | context | (sequence & SEQUENCE_MASK))
    }

    pub(crate) fn session(self) -> usize {
        (self.0 >> (CONTEXT_BITS + SEQUENCE_BITS)) as usize & (SESSIONS_MAX - 1)
    }

    pub(crate) fn context(self) -> usize {
        (self.0 >> SEQUENCE_BITS) as usize & (CONTEXTS_MAX - 1)
    }

    pub(crate) fn sequence(self) -> u64 {
        self.0 & SEQUENCE_MASK
    }

    pub(crate) fn word(self) -> u64 {
        self.0
    }

    /// Returns the identity with this [`TransactionId::word`].
    pub(crate) fn from_word(word: u64) -> TransactionId {
        TransactionId(word)
    }
}

/// Decoded `begin` word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    Committed(Timestamp),
    InProgress(TransactionId),
}

impl Begin {
    /// Word of versions that never became valid.
    pub(crate) const NEVER: u64 = TAG - 1;

    #[inline(always)]
    pub(crate) fn decode(word: u64) -> Begin {
        if word & TAG == 0 {
            Begin::Committed(Timestamp(word))
        } else {
            Begin::InProgress(TransactionId(word))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_keep_their_parts_and_differ_from_timestamps() {
        let id = TransactionId::new(4095, 65535, SEQUENCE_MASK + 6);
        assert_eq!(
            (id.session(), id.context(), id.sequence()),
            (4095, 65535, 5)
        );
        assert_eq!(Begin::decode(id.word()), Begin::InProgress(id));
        assert_eq!(
            Begin::decode(Begin::NEVER),
            Begin::Committed(Timestamp(Begin::NEVER))
        );
    }
}
