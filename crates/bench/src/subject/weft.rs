//! Weft under measurement: a database for each kind that is compared.

use std::ops::Range;

use super::store::Store;
use super::{RawRun, Run, Subject};
use crate::databases;
use crate::databases::Kind;
use crate::limits::Region;
use crate::plan::Plan;
use crate::variant::Variant;
use commands::Result;
use commands::progress::Step;

pub(super) struct WeftSubject {
    /// Stores, at least one.
    stores: Vec<(Kind, Store)>,
}

impl WeftSubject {
    pub(super) fn open(plan: &Plan, options: &weft::Options) -> Result<Self> {
        let open = |options| Store::open(plan, options);
        let stores = databases::for_each(&plan.comparison.databases(), options, open)?;
        Ok(Self { stores })
    }

    fn store(&self, variant: Variant) -> Result<&Store> {
        databases::of(&self.stores, variant)
    }
}

impl Subject for WeftSubject {
    fn load(&mut self, step: &Step) -> Result<()> {
        self.stores
            .iter()
            .try_for_each(|(_, store)| store.load(step))
    }

    fn index(&mut self, step: &Step) -> Result<()> {
        self.stores
            .iter_mut()
            .try_for_each(|(_, store)| store.index(step))
    }

    fn check(&mut self, run: &Run) -> Result<bool> {
        self.store(run.variant)?.check()
    }

    fn run(&mut self, run: &Run) -> Result<RawRun> {
        self.store(run.variant)?.run(run)
    }

    fn restore(&mut self, added: Range<u64>) -> Result<()> {
        self.stores
            .iter()
            .try_for_each(|(_, store)| store.restore(added.clone()))
    }

    fn memory(&self) -> Option<Region<'_>> {
        self.stores.first()?.1.memory()
    }
}
