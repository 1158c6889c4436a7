//! After a run: all garbage goes, memory and counters agree with the history,
//! and an emptied table takes as much as a new one.

use engine::Error;

use super::Simulation;
use crate::{
    check::version_bytes,
    failure::Reason,
    history::{Outcome, Record},
    workload,
};

/// Maximum rounds of housekeeping of all workers within which all garbage must
/// be gone.
const ROUNDS_MAX: u32 = 500;

impl Simulation {
    pub(super) fn aftermath(&mut self, records: &[Record]) -> Result<(), Reason> {
        self.compare_panics()?;
        self.collect_all()?;
        if self.world.parameters.indexes > 0 {
            // Builders count as well, and entries take memory.
            return self.empty_indexed();
        }
        self.compare_counters(records)?;
        if self.world.parameters.planted == Some(crate::Planted::HiddenRecord) {
            let session = self.berths[0].session();
            crate::plant::hidden_record(&self.world, &session);
        }
        self.compare_memory(version_bytes(records))?;
        let reserved = self.world.database.memory().reserved_bytes;
        if self.world.database.directory().is_none() && reserved != 0 {
            let story = format!("{reserved} bytes are left in the lock table");
            return Err(Reason::Memory(story));
        }
        self.empty()
    }

    /// Compares the panics of all tasks, of those without a handle as well, with the injected ones.
    pub(crate) fn compare_panics(&mut self) -> Result<(), Reason> {
        let panicked: u64 = self.berths.iter_mut().map(|berth| berth.panicked()).sum();
        let panicked = panicked + self.panicked_before;
        // Fewer are possible: a task may be cancelled between a panic of its
        // leaf and the turn in which its root gets that panic.
        let injected = self.injector.panics() - self.injected_before;
        if panicked > injected {
            let story = format!("{panicked} tasks panicked, {injected} panics were injected");
            return Err(Reason::Panicked(story));
        }
        Ok(())
    }

    /// Does housekeeping until nothing is left to do.
    pub(super) fn collect_all(&mut self) -> Result<(), Reason> {
        for _ in 0..ROUNDS_MAX {
            for berth in &mut self.berths {
                berth.housekeep();
            }
            let clean = self
                .berths
                .iter_mut()
                .filter_map(|berth| berth.is_clean().then_some(()));
            if clean.count() == self.berths.len() {
                return Ok(());
            }
        }
        let database = &self.world.database;
        let (now, horizon) = (database.now().0, database.horizon().0);
        Err(Reason::Garbage(format!(
            "after {ROUNDS_MAX} rounds of housekeeping, at {now}, with the horizon at {horizon}"
        )))
    }

    fn compare_counters(&self, records: &[Record]) -> Result<(), Reason> {
        let stats = self.world.database.stats();
        let count = |wanted: fn(&Record) -> bool| records.iter().filter(|r| wanted(r)).count();
        let commits = count(|record| matches!(record.outcome, Outcome::Committed(_)));
        let aborts = count(|record| record.outcome == Outcome::Aborted);
        let rollbacks = records.len() - commits - aborts;
        let told = (
            stats.commits - self.world.commits_before,
            stats.aborts(),
            stats.rollbacks,
        );
        let known = (commits as u64, aborts as u64, rollbacks as u64);
        let planted = self.world.parameters.planted.is_some();
        if told == known || planted {
            return Ok(());
        }
        Err(Reason::Counters(format!(
            "commits, aborts, rollbacks: the engine counts {told:?}, the history {known:?}"
        )))
    }

    fn compare_memory(&self, expected: u64) -> Result<(), Reason> {
        let live = self.world.version_bytes();
        if live == expected {
            return Ok(());
        }
        Err(Reason::Memory(format!(
            "{live} bytes of versions are live, surviving records need {expected}"
        )))
    }

    /// Deletes all records, after which the indexes are empty.
    fn empty_indexed(&mut self) -> Result<(), Reason> {
        let session = self.berths[0].session();
        let cleared = workload::clear(&self.world, &session);
        drop(session);
        cleared.map_err(|error| Reason::Setup(format!("emptying failed: {error}")))?;
        self.collect_all()?;
        self.check_indexes()?;
        self.end_expiring()
    }

    /// Deletes all records, of which nothing may be left.
    fn empty(&mut self) -> Result<(), Reason> {
        let session = self.berths[0].session();
        let cleared = workload::clear(&self.world, &session);
        drop(session);
        match cleared {
            Ok(true) => {}
            Ok(false) if self.world.parameters.memory_is_scarce() => return Ok(()),
            Ok(false) => return Err(Reason::Memory(Error::MemoryExhausted.to_string())),
            Err(error) => return Err(Reason::Setup(format!("emptying failed: {error}"))),
        }
        self.collect_all()?;
        self.compare_memory(0)?;
        let index_bytes = self.world.database.memory().index_bytes;
        if index_bytes != self.world.index_bytes_empty {
            return Err(Reason::Memory(format!(
                "the index of the emptied table takes {index_bytes} bytes, a new one {}",
                self.world.index_bytes_empty
            )));
        }
        Ok(())
    }
}
