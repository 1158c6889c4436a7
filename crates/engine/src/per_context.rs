//! Values that each transaction context of each session shares with other threads: made on first
//! use, in chunks that never move.
//!
//! A session number may serve several sessions one after the other; the values stay.

use std::sync::OnceLock;

use crate::timestamp::{CONTEXTS_MAX, SESSIONS_MAX};

const CHUNK: usize = 64;

/// Values of type `T`, one for each context.
pub(crate) struct PerContext<T> {
    sessions: Box<[OnceLock<SessionContexts<T>>]>,
}

/// Values of type `T`, one for each context of one session.
pub(crate) struct SessionContexts<T> {
    chunks: Box<[OnceLock<Box<[T; CHUNK]>>]>,
}

impl<T> PerContext<T> {
    pub(crate) fn new() -> PerContext<T> {
        PerContext {
            sessions: (0..SESSIONS_MAX).map(|_| OnceLock::new()).collect(),
        }
    }

    pub(crate) fn session(&self, number: usize) -> &SessionContexts<T> {
        self.sessions[number].get_or_init(|| SessionContexts {
            chunks: (0..CONTEXTS_MAX / CHUNK).map(|_| OnceLock::new()).collect(),
        })
    }

    /// Visits all values that were made, with the numbers of session and context.
    pub(crate) fn each(&self, mut visit: impl FnMut(u16, u16, &T)) {
        for (session, contexts) in self.sessions.iter().enumerate() {
            let Some(contexts) = contexts.get() else {
                continue;
            };
            for (number, chunk) in contexts.chunks.iter().enumerate() {
                let Some(chunk) = chunk.get() else { continue };
                for (place, one) in chunk.iter().enumerate() {
                    visit(session as u16, (number * CHUNK + place) as u16, one);
                }
            }
        }
    }
}

impl<T: Default> SessionContexts<T> {
    /// Returns the value of a context, made on first use.
    pub(crate) fn get(&self, context: usize) -> &T {
        let chunk = self.chunks[context / CHUNK]
            .get_or_init(|| Box::new(std::array::from_fn(|_| T::default())));
        &chunk[context % CHUNK]
    }
}
