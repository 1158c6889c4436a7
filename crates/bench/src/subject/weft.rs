//! Weft under measurement: a database for each certifier that is compared.
//!
//! The certifier is a property of a database. Those that are compared have a loaded
//! database each; while one is measured, the workers of the others sleep.

use std::ops::Range;

use super::store::Store;
use super::{RawRun, Run, Subject};
use crate::limits::Region;
use crate::measure::Certifier;
use crate::plan::Plan;
use crate::progress::Step;
use crate::{Error, Result};

pub(super) struct WeftSubject {
    /// At least one.
    stores: Vec<(Certifier, Store)>,
}

impl WeftSubject {
    pub(super) fn open(plan: &Plan, options: &weft::Options) -> Result<Self> {
        let several = plan.certifiers.len() > 1;
        let open = |&certifier: &Certifier| {
            let options = weft::Options {
                certifier: match certifier {
                    Certifier::Ssn => weft::Certifier::Ssn,
                    Certifier::Validation => weft::Certifier::Validation,
                },
                data_dir: options.data_dir.as_ref().map(|directory| match several {
                    true => directory.join(certifier.name()),
                    false => directory.clone(),
                }),
                ..options.clone()
            };
            Ok((certifier, Store::open(plan, options)?))
        };
        let stores = plan.certifiers.iter().map(open).collect::<Result<_>>()?;
        Ok(Self { stores })
    }

    fn store(&self, certifier: Option<Certifier>) -> Result<&Store> {
        let found = self
            .stores
            .iter()
            .find(|(of, _)| certifier.is_none_or(|certifier| certifier == *of));
        found
            .map(|(_, store)| store)
            .ok_or_else(|| Error::run("a certifier is measured that was not planned; report this"))
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
