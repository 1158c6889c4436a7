//! The advisory locks that a session holds, and until when.

use std::{
    cell::{Cell, RefCell},
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use types::{Result, SqlError, SqlState, Value};

use super::{AdvisoryLocks, Key, Owner};
use logical::relation::{AdvisoryFunction, Span, Strength};

/// The value of functions that return none: their type `void` is shown as an empty text.
pub const VOID: Value<'static> = Value::Text("");

/// Maximum number of locks that a session holds, since they are all given back at once. PostgreSQL
/// has room for fewer, for all sessions, unless it is told otherwise.
const HELD_MAX: usize = 8192;

/// Maximum number of warnings that are kept for the end of a statement.
const WARNINGS_MAX: usize = 1024;

type Lock = (Key, Strength);

/// A session's advisory locks. The locks are given back when the session ends. Each is taken from
/// the database's table once, however often the session asks for it.
pub struct SessionLocks {
    locks: Arc<AdvisoryLocks>,
    owner: Owner,
    /// Longest wait for one lock.
    limit: Cell<Option<Duration>>,
    /// Locks that are held until they are given back, each with its count.
    session: RefCell<HashMap<Lock, u64>>,
    transaction: RefCell<OfTransaction>,
    /// Locks that were given back and not held, the first of them.
    not_held: RefCell<Vec<Strength>>,
}

/// The locks that are held until the transaction ends.
#[derive(Default)]
struct OfTransaction {
    /// Locks in the order in which they were taken.
    order: Vec<Lock>,
    all: HashSet<Lock>,
}

impl SessionLocks {
    /// Makes the state of a session that holds none of `locks`, the database's advisory locks, and
    /// waits for a lock without limit.
    pub fn new(locks: &Arc<AdvisoryLocks>) -> Self {
        Self {
            owner: locks.new_owner(),
            locks: locks.clone(),
            limit: Cell::default(),
            session: RefCell::default(),
            transaction: RefCell::default(),
            not_held: RefCell::default(),
        }
    }

    /// Sets the longest wait for one lock from now on.
    pub fn set_limit(&self, limit: Option<Duration>) {
        self.limit.set(limit);
    }

    /// Carries out a call of one of the advisory lock functions.
    ///
    /// # Errors
    /// 40P01 on a deadlock; 55P03 if the wait is too long; 53200 if the session holds as many locks
    /// as it may.
    pub async fn call(
        &self,
        function: AdvisoryFunction,
        arguments: &[Value<'_>],
    ) -> Result<Value<'static>> {
        match function {
            AdvisoryFunction::Lock {
                strength,
                span,
                waits,
            } => {
                let lock = (key(arguments)?, strength);
                let is_held = match span {
                    Span::Transaction => self.transaction.borrow().all.contains(&lock),
                    Span::Session => self.session.borrow().contains_key(&lock),
                };
                if !is_held {
                    self.expect_room()?;
                    if waits {
                        let limit = self.limit.get();
                        self.locks.take(self.owner, lock.0, strength, limit).await?;
                    } else if !self.locks.try_take(self.owner, lock.0, strength) {
                        return Ok(Value::Bool(false));
                    }
                }
                match span {
                    Span::Transaction if is_held => {}
                    Span::Transaction => {
                        let mut transaction = self.transaction.borrow_mut();
                        transaction.order.push(lock);
                        transaction.all.insert(lock);
                    }
                    Span::Session => *self.session.borrow_mut().entry(lock).or_default() += 1,
                }
                Ok(if waits { VOID } else { Value::Bool(true) })
            }
            AdvisoryFunction::Unlock(strength) => {
                let was_held = self.unlock(key(arguments)?, strength);
                let mut not_held = self.not_held.borrow_mut();
                if !was_held && not_held.len() < WARNINGS_MAX {
                    not_held.push(strength);
                }
                Ok(Value::Bool(was_held))
            }
            AdvisoryFunction::UnlockAll => {
                self.unlock_all();
                Ok(VOID)
            }
        }
    }

    /// Checks that the session may hold one more lock.
    ///
    /// # Errors
    /// 53200 if the session holds as many locks as it may.
    fn expect_room(&self) -> Result<()> {
        let held = self.session.borrow().len() + self.transaction.borrow().order.len();
        if held < HELD_MAX {
            return Ok(());
        }
        let error = SqlError::new(SqlState::OUT_OF_MEMORY, "too many advisory locks");
        Err(error.hint(format!(
            "A session holds at most {HELD_MAX}. Give some back, or lock something that stands for many."
        )))
    }

    /// Gives back a lock that is held beyond the transaction; returns whether it was held.
    fn unlock(&self, key: Key, strength: Strength) -> bool {
        let mut session = self.session.borrow_mut();
        let Some(count) = session.get_mut(&(key, strength)) else {
            return false;
        };
        *count -= 1;
        if *count == 0 {
            session.remove(&(key, strength));
            self.locks.give_back(self.owner, key, strength);
        }
        true
    }

    /// Gives back all locks that are held beyond the transaction.
    pub fn unlock_all(&self) {
        for (key, strength) in self.session.take().into_keys() {
            self.locks.give_back(self.owner, key, strength);
        }
    }

    /// Returns the number of locks that are held until the transaction ends: a mark for
    /// [`SessionLocks::return_to`].
    pub fn mark(&self) -> usize {
        self.transaction.borrow().order.len()
    }

    /// Gives back the locks that were taken until the end of the transaction since `mark`; 0 is its
    /// beginning.
    pub fn return_to(&self, mark: usize) {
        let mut held = self.transaction.borrow_mut();
        while held.order.len() > mark
            && let Some(lock) = held.order.pop()
        {
            held.all.remove(&lock);
            self.locks.give_back(self.owner, lock.0, lock.1);
        }
    }

    /// Returns, and forgets, the warnings about locks that were given back and not held.
    pub fn take_warnings(&self) -> Vec<String> {
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
