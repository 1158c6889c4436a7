//! Depth of the application's own coroutines above an access to a record.
//!
//! MosaicDB nests the coroutines of its storage path only (selective nesting, section 4.1), and
//! compares with flat and with fully nested ones (section 6.5). Weft's own path to memory is always
//! flat and its storage path nested; the forms here differ in the levels above them: none, four
//! `async fn` levels, or four levels with a frame on the heap each, as coroutines have in C++.

use std::cell::RefCell;
use std::str::FromStr;

use serde::Serialize;
use weft::{Policy, Transaction};

use crate::counted::Counted;
use crate::values::Verifier;
use commands::{Error, Result};

/// One form of nesting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nesting {
    /// The transaction itself accesses records.
    #[default]
    Flat,
    /// Four levels between transaction and access, in one frame.
    Nested,
    /// Four levels between transaction and access, each in a frame of its own.
    Boxed,
}

impl Nesting {
    /// Every form.
    pub const ALL: [Self; 3] = [Self::Flat, Self::Nested, Self::Boxed];

    /// Returns the name used on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Nested => "nested",
            Self::Boxed => "boxed",
        }
    }

    /// Accesses a record through the levels of this form.
    pub(super) async fn access<P: Policy>(self, access: Access<'_, P>) -> weft::Result<()> {
        match self {
            Self::Flat => access.record().await,
            Self::Nested => nested(access).await,
            Self::Boxed => boxed(access).await,
        }
    }
}

impl FromStr for Nesting {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|form| form.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::input(format!(
                "`{text}` is no form of nesting; give one of {names}"
            ))
        })
    }
}

/// Parameters of an access.
pub(super) struct Access<'a, P: Policy> {
    pub(super) table: &'a Counted,
    pub(super) txn: &'a Transaction<P>,
    pub(super) record: u64,
    pub(super) writes: bool,
    pub(super) verifier: &'a RefCell<Verifier>,
}

impl<P: Policy> Access<'_, P> {
    async fn record(self) -> weft::Result<()> {
        let (record, writes) = (self.record, self.writes);
        let table = self.table;
        table.access(self.txn, record, writes, self.verifier).await
    }
}

/// Runs level 1: a page of work. Each level checks the outcome, as an application would.
async fn nested<P: Policy>(access: Access<'_, P>) -> weft::Result<()> {
    seen(unit(access).await)
}

/// Runs level 2: a unit of work.
async fn unit<P: Policy>(access: Access<'_, P>) -> weft::Result<()> {
    seen(authorised(access).await)
}

/// Runs level 3: the authorisation of an application.
async fn authorised<P: Policy>(access: Access<'_, P>) -> weft::Result<()> {
    seen(logged(access).await)
}

/// Runs level 4: the log of an application.
async fn logged<P: Policy>(access: Access<'_, P>) -> weft::Result<()> {
    seen(access.record().await)
}

/// Runs the four levels, each on the heap.
async fn boxed<P: Policy>(access: Access<'_, P>) -> weft::Result<()> {
    let record = Box::pin(async move { seen(access.record().await) });
    let authorised = Box::pin(async move { seen(record.await) });
    let unit = Box::pin(async move { seen(authorised.await) });
    seen(Box::pin(async move { seen(unit.await) }).await)
}

/// Stands for an application's own handling of errors.
fn seen(outcome: weft::Result<()>) -> weft::Result<()> {
    if outcome.is_err() {
        std::hint::black_box(&outcome);
    }
    outcome
}
