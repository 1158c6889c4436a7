//! Carries out planned operations, in a closure on a worker or call by call.

use isolation::{
    generate::Step,
    history::{Action, Key, Value, Version},
};
use weft::{Error, InteractiveTransaction, Result, Table, Transaction};

use crate::record::Attempts;

/// The table that all records are in.
pub(crate) type Records = Table<u64, Vec<u8>>;

/// First byte of a register, and of a list; the versions follow.
const REGISTER: u8 = 0;
const LIST: u8 = 1;

/// An open transaction.
pub(crate) enum Open<'t> {
    /// A transaction in a closure.
    Inside(&'t Transaction),
    /// A transaction that is driven from outside.
    Outside(&'t InteractiveTransaction),
}

/// A transaction with its table and the record of its attempts.
pub(crate) struct Doing<'t> {
    pub(crate) open: Open<'t>,
    pub(crate) table: &'t Records,
    pub(crate) attempts: &'t Attempts,
    /// Whether the transaction locks the records that it reads in order to change them.
    pub(crate) locks: bool,
}

impl Doing<'_> {
    /// Carries `step` out and records it.
    pub(crate) async fn step(&self, step: Step) -> Result<()> {
        let action = match step {
            Step::Read(key) => Action::Read {
                key,
                found: self.get(key).await?,
            },
            Step::Scan(from, to) => Action::Scan {
                from,
                to,
                found: self.scan(from, to).await?,
            },
            Step::Append(key) => self.append(key).await?,
            Step::Modify(key) => {
                self.read_to_change(key).await?;
                self.overwrite(key).await?
            }
            Step::Overwrite(key) => self.overwrite(key).await?,
            Step::Insert(key) => self.insert(key).await?,
            Step::Update(key) => {
                if !self.read_to_change(key).await? {
                    return Ok(());
                }
                self.update(key).await?
            }
            Step::Delete(key) => Action::Delete {
                key,
                done: match &self.open {
                    Open::Inside(it) => it.delete(self.table, &key).await?,
                    Open::Outside(it) => it.delete(self.table, &key).await?,
                },
            },
        };
        self.attempts.note(action);
        Ok(())
    }

    /// Carries `step` out, and undoes it.
    pub(crate) async fn step_undone(&self, step: Step) -> Result<()> {
        let mark = self.attempts.mark();
        match &self.open {
            Open::Inside(it) => {
                let savepoint = it.savepoint()?;
                self.step(step).await?;
                it.rollback_to(&savepoint)?;
            }
            Open::Outside(it) => {
                let savepoint = it.savepoint().await?;
                self.step(step).await?;
                it.rollback_to(&savepoint).await?;
            }
        }
        self.attempts.undone(mark);
        Ok(())
    }

    /// Reads the record of `key` and records the read; returns whether the record was there.
    async fn read_to_change(&self, key: Key) -> Result<bool> {
        let found = self.get_to_change(key).await?;
        let there = found.is_some();
        self.attempts.note(Action::Read { key, found });
        Ok(there)
    }

    async fn get(&self, key: Key) -> Result<Option<Value>> {
        let found = match &self.open {
            Open::Inside(it) => it.get(self.table, &key).await?,
            Open::Outside(it) => it.get(self.table, &key).await?,
        };
        found.as_deref().map(decode).transpose()
    }

    async fn get_to_change(&self, key: Key) -> Result<Option<Value>> {
        if !self.locks {
            return self.get(key).await;
        }
        let found = match &self.open {
            Open::Inside(it) => it.get_for_update(self.table, &key).await?,
            Open::Outside(it) => it.get_for_update(self.table, &key).await?,
        };
        found.as_deref().map(decode).transpose()
    }

    async fn scan(&self, from: Key, to: Key) -> Result<Vec<(Key, Value)>> {
        let found = match &self.open {
            Open::Inside(it) => it.scan(self.table, from..to).collect().await?,
            Open::Outside(it) => it.scan(self.table, from..to, usize::MAX).await?,
        };
        let found = found.into_iter();
        found
            .map(|(key, value)| Ok((key, decode(&value)?)))
            .collect()
    }

    async fn append(&self, key: Key) -> Result<Action> {
        let onto = match self.get_to_change(key).await? {
            Some(Value::List(list)) => list,
            None => Vec::new(),
            Some(Value::Register(_)) => return Err(Error::application("a list is a register")),
        };
        let element = self.attempts.unique();
        self.put(key, &encode(LIST, &onto, element)).await?;
        Ok(Action::Append {
            key,
            element,
            onto: Some(onto),
        })
    }

    async fn overwrite(&self, key: Key) -> Result<Action> {
        let value = self.attempts.unique();
        self.put(key, &encode(REGISTER, &[], value)).await?;
        Ok(Action::Write { key, value })
    }

    async fn put(&self, key: Key, bytes: &Vec<u8>) -> Result<()> {
        match &self.open {
            Open::Inside(it) => it.upsert(self.table, &key, bytes).await,
            Open::Outside(it) => it.upsert(self.table, &key, bytes).await,
        }
    }

    async fn insert(&self, key: Key) -> Result<Action> {
        let value = self.attempts.unique();
        let bytes = encode(REGISTER, &[], value);
        let inserted = match &self.open {
            Open::Inside(it) => it.insert(self.table, &key, &bytes).await,
            Open::Outside(it) => it.insert(self.table, &key, &bytes).await,
        };
        let done = match inserted {
            Ok(()) => true,
            Err(Error::DuplicateKey) => false,
            Err(error) => return Err(error),
        };
        Ok(Action::Insert { key, value, done })
    }

    async fn update(&self, key: Key) -> Result<Action> {
        let value = self.attempts.unique();
        let bytes = encode(REGISTER, &[], value);
        let done = match &self.open {
            Open::Inside(it) => it.update(self.table, &key, &bytes).await?,
            Open::Outside(it) => it.update(self.table, &key, &bytes).await?,
        };
        Ok(Action::Update { key, value, done })
    }
}

fn encode(kind: u8, before: &[Version], last: Version) -> Vec<u8> {
    let mut bytes = vec![kind];
    for version in before.iter().chain([&last]) {
        bytes.extend(version.to_be_bytes());
    }
    bytes
}

fn decode(bytes: &[u8]) -> Result<Value> {
    let (kind, versions) = bytes.split_first().unwrap_or((&u8::MAX, &[]));
    let (versions, rest) = versions.as_chunks();
    let mut versions = versions.iter().map(|bytes| Version::from_be_bytes(*bytes));
    match (*kind, versions.len(), rest) {
        (REGISTER, 1, []) => Ok(Value::Register(versions.next().unwrap_or_default())),
        (LIST, 1.., []) => Ok(Value::List(versions.collect())),
        _ => Err(Error::application(format!("a record holds {bytes:?}"))),
    }
}
