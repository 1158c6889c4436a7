//! What a session holds of advisory locks, and until when.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    sync::Arc,
    time::Duration,
};

use types::{Result, SqlError, SqlState, Value};

use super::{
    AdvisoryLocks, Function, Key, Owner, Strength,
    function::{Asked, Span},
};
use crate::execute::VOID;

/// A session's advisory locks. What it holds ends with it.
pub(crate) struct SessionLocks {
    locks: Arc<AdvisoryLocks>,
    owner: Owner,
    /// How long one is waited for.
    limit: Cell<Option<Duration>>,
    /// How often each is held until it is given back.
    session: RefCell<HashMap<(Key, Strength), u32>>,
    /// What is held until the transaction ends, in the order in which it was taken.
    transaction: RefCell<Vec<(Key, Strength)>>,
    /// Locks that were given back and not held.
    not_held: RefCell<Vec<Strength>>,
}

impl SessionLocks {
    pub(crate) fn new(locks: &Arc<AdvisoryLocks>) -> Self {
        Self {
            owner: locks.new_owner(),
            locks: locks.clone(),
            limit: Cell::default(),
            session: RefCell::default(),
            transaction: RefCell::default(),
            not_held: RefCell::default(),
        }
    }

    /// How long a lock is waited for from now on.
    pub(crate) fn set_limit(&self, limit: Option<Duration>) {
        self.limit.set(limit);
    }

    /// Carries out a call of one of the functions.
    ///
    /// # Errors
    /// 40P01, 55P03.
    pub(crate) async fn call(
        &self,
        function: Function,
        arguments: &[Value<'_>],
    ) -> Result<Value<'static>> {
        match function.0 {
            Asked::Lock {
                strength,
                span,
                waits,
            } => {
                let key = key(arguments)?;
                if waits {
                    let limit = self.limit.get();
                    self.locks.take(self.owner, key, strength, limit).await?;
                } else if !self.locks.try_take(self.owner, key, strength) {
                    return Ok(Value::Bool(false));
                }
                match span {
                    Span::Transaction => self.transaction.borrow_mut().push((key, strength)),
                    Span::Session => {
                        *self
                            .session
                            .borrow_mut()
                            .entry((key, strength))
                            .or_default() += 1;
                    }
                }
                Ok(if waits { VOID } else { Value::Bool(true) })
            }
            Asked::Unlock(strength) => {
                let was_held = self.unlock(key(arguments)?, strength);
                if !was_held {
                    self.not_held.borrow_mut().push(strength);
                }
                Ok(Value::Bool(was_held))
            }
            Asked::UnlockAll => {
                self.unlock_all();
                Ok(VOID)
            }
        }
    }

    /// Gives back a lock that is held beyond the transaction; whether it was.
    fn unlock(&self, key: Key, strength: Strength) -> bool {
        let mut session = self.session.borrow_mut();
        let Some(count) = session.get_mut(&(key, strength)) else {
            return false;
        };
        *count -= 1;
        if *count == 0 {
            session.remove(&(key, strength));
        }
        self.locks.give_back(self.owner, key, strength);
        true
    }

    /// Gives back all that is held beyond the transaction.
    pub(crate) fn unlock_all(&self) {
        for ((key, strength), count) in self.session.take() {
            (0..count).for_each(|_| self.locks.give_back(self.owner, key, strength));
        }
    }

    /// How much is held until the transaction ends.
    pub(crate) fn mark(&self) -> usize {
        self.transaction.borrow().len()
    }

    /// Gives back what was taken until the end of the transaction since a mark: 0 is its beginning.
    pub(crate) fn return_to(&self, mark: usize) {
        let mut held = self.transaction.borrow_mut();
        while held.len() > mark
            && let Some((key, strength)) = held.pop()
        {
            self.locks.give_back(self.owner, key, strength);
        }
    }

    /// What is to be said of locks that were given back and not held.
    pub(crate) fn take_warnings(&self) -> Vec<String> {
        let of = |strength| match strength {
            Strength::Shared => "ShareLock",
            Strength::Exclusive => "ExclusiveLock",
        };
        let not_held = self.not_held.take().into_iter();
        not_held
            .map(|strength| format!("you don't own a lock of type {}", of(strength)))
            .collect()
    }
}

impl Drop for SessionLocks {
    fn drop(&mut self) {
        self.return_to(0);
        self.unlock_all();
    }
}

fn key(arguments: &[Value<'_>]) -> Result<Key> {
    match arguments {
        [Value::Int8(one)] => Ok(Key::One(*one)),
        [Value::Int4(first), Value::Int4(second)] => Ok(Key::Two(*first, *second)),
        _ => Err(SqlError::new(
            SqlState::INTERNAL_ERROR,
            "an advisory lock without a key",
        )),
    }
}
