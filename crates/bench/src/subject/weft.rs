//! Weft under measurement: a database for each certifier that is compared.

use std::ops::Range;

use super::store::Store;
use super::{RawRun, Run, Subject};
use crate::limits::Region;
use crate::measure::Certifier;
use crate::plan::Plan;
use crate::progress::Step;
use crate::{Result, databases};

pub(super) struct WeftSubject {
    /// At least one.
    stores: Vec<(Certifier, Store)>,
}

impl WeftSubject {
    pub(super) fn open(plan: &Plan, options: &weft::Options) -> Result<Self> {
        let open = |options| Store::open(plan, options);
        let stores = databases::for_each(&plan.comparison.certifiers, options, open)?;
        Ok(Self { stores })
    }

    fn store(&self, certifier: Option<Certifier>) -> Result<&Store> {
        databases::of(&self.stores, certifier)
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
        self.store(run.variant.certifier)?.check()
    }

    fn run(&mut self, run: &Run) -> Result<RawRun> {
        self.store(run.variant.certifier)?.run(run)
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
