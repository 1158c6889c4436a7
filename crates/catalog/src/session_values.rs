//! The values that a session has got from sequences: `currval` and `lastval`.

use std::{cell::RefCell, collections::HashMap};

use types::{Result, SqlError, SqlState};

use super::{ObjectId, Sequence};

/// The values of one session: see the module text.
#[derive(Debug, Default)]
pub struct SessionValues {
    values: RefCell<HashMap<ObjectId, i64>>,
    last: RefCell<Option<ObjectId>>,
}

impl SessionValues {
    /// Notes a value that `nextval` has given, or that `setval` has set as given.
    pub fn note(&self, sequence: &Sequence, value: i64, is_next: bool) {
        self.values.borrow_mut().insert(sequence.id, value);
        if is_next {
            *self.last.borrow_mut() = Some(sequence.id);
        }
    }

    /// Forgets all values.
    pub fn clear(&self) {
        self.values.borrow_mut().clear();
        self.last.take();
    }

    /// Returns the value that this session has got last from a sequence.
    ///
    /// # Errors
    /// 55000 if there is none.
    pub fn current(&self, sequence: &Sequence) -> Result<i64> {
        let value = self.values.borrow().get(&sequence.id).copied();
        value.ok_or_else(|| {
            let name = &sequence.name;
            let message =
                format!("currval of sequence \"{name}\" is not yet defined in this session");
            SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        })
    }

    /// Returns the value that this session has got last from any sequence that still exists.
    ///
    /// # Errors
    /// 55000 if there is none.
    pub fn last(&self, exists: impl Fn(ObjectId) -> bool) -> Result<i64> {
        let last = self.last.borrow().filter(|id| exists(*id));
        let value = last.and_then(|id| self.values.borrow().get(&id).copied());
        value.ok_or_else(|| {
            SqlError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "lastval is not yet defined in this session",
            )
        })
    }
}
