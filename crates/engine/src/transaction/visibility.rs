//! Visibility: the version of a record that a transaction sees.

use interleave::{Point, Policy};

use super::Transaction;
use crate::{
    cold::ColdAddress,
    indirection::{Head, Slot},
    status::Outcome,
    table::Table,
    timestamp::{Begin, Timestamp},
    version::{HEADER_BYTES, Version},
};

/// Visibility of a version to a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// Made by the transaction itself.
    Own,
    /// Committed, and part of the snapshot.
    Visible,
    /// Committed after the snapshot (or never valid).
    Newer,
    /// Made by a transaction that has not committed.
    Uncommitted,
}

/// Result of looking at one version of a chain.
#[derive(Clone, Copy, Debug)]
pub(super) enum Look {
    /// The version is visible, or none is.
    Over(Option<Version>),
    /// The given version has to be looked at next.
    Further(Version),
    /// The visible version is cold, at the given address.
    Cold(ColdAddress),
}

impl Transaction {
    /// Returns the sight of a version committed at `timestamp`, looked at from `snapshot`.
    #[inline(always)]
    fn sight_committed(&self, timestamp: Timestamp, snapshot: Timestamp) -> Sight {
        if timestamp > snapshot {
            return Sight::Newer;
        }
        self.saw(timestamp);
        Sight::Visible
    }

    /// Returns the sight of `version`, looked at from `snapshot`.
    #[inline(always)]
    pub(super) fn sight(&self, version: Version, snapshot: Timestamp) -> Sight {
        match version.begin() {
            Begin::Committed(timestamp) => self.sight_committed(timestamp, snapshot),
            Begin::InProgress(maker) if self.context.id.get() == Some(maker) => Sight::Own,
            Begin::InProgress(_) => self.sight_in_progress(version, snapshot),
        }
    }

    #[cold]
    fn sight_in_progress(&self, version: Version, snapshot: Timestamp) -> Sight {
        loop {
            let maker = match version.begin() {
                Begin::Committed(timestamp) => return self.sight_committed(timestamp, snapshot),
                Begin::InProgress(maker) => maker,
            };
            let status = self.session.database.statuses.of(maker);
            match status.outcome(maker, snapshot) {
                Outcome::Active if self.is_beside(maker) => return Sight::Own,
                Outcome::Active | Outcome::Later => return Sight::Uncommitted,
                Outcome::Aborted => return Sight::Newer,
                Outcome::Committed { at, .. } => return self.sight_committed(at, snapshot),
                // The version is stamped by now: `status.rs`.
                Outcome::Ended => {}
            }
        }
    }

    /// Returns the commit timestamp of `version`, if it was committed, from its stamp or from the
    /// status of its maker.
    #[inline(always)]
    pub(super) fn committed_at(&self, version: Version) -> Option<Timestamp> {
        match version.begin() {
            Begin::Committed(Timestamp(Begin::NEVER)) => None,
            Begin::Committed(timestamp) => Some(timestamp),
            Begin::InProgress(_) => self.committed_unstamped_at(version),
        }
    }

    #[cold]
    fn committed_unstamped_at(&self, version: Version) -> Option<Timestamp> {
        loop {
            let maker = match version.begin() {
                Begin::Committed(Timestamp(Begin::NEVER)) => return None,
                Begin::Committed(timestamp) => return Some(timestamp),
                Begin::InProgress(maker) => maker,
            };
            let status = self.session.database.statuses.of(maker);
            match status.outcome(maker, Timestamp(u64::MAX)) {
                Outcome::Committed { at, .. } => return Some(at),
                Outcome::Active | Outcome::Later | Outcome::Aborted => return None,
                // The version is stamped by now: `status.rs`.
                Outcome::Ended => {}
            }
        }
    }

    /// Returns the commit timestamp of `version`, which is known to be committed and not the
    /// transaction's own; never, if the version is taken out of its chain meanwhile.
    #[inline(always)]
    pub(super) fn commit_of(&self, version: Version) -> Timestamp {
        match version.begin() {
            Begin::Committed(timestamp) => timestamp,
            Begin::InProgress(_) => {
                let at = self.committed_unstamped_at(version);
                at.unwrap_or(Timestamp(Begin::NEVER))
            }
        }
    }

    /// Whether a `version` that the transaction sees says that there is no record: it is a
    /// tombstone, or has expired.
    #[inline(always)]
    pub(super) fn is_absent(&self, table: &Table, version: Version) -> bool {
        let stored = version.payload();
        stored.is_none_or(|stored| self.is_expired(table, stored))
    }

    /// Looks for the version of a chain that this transaction sees, tombstones included, at
    /// `version`, which must have been touched. Mostly the newest version is the visible one;
    /// otherwise there is something to wait for.
    #[inline(always)]
    pub(super) fn look(&self, slot: &Slot, version: Version, snapshot: Timestamp) -> Look {
        match self.sight(version, snapshot) {
            Sight::Own if self.context.command.is_open() => self.look_before_command(slot, version),
            Sight::Own | Sight::Visible => Look::Over(Some(version)),
            // The version was taken back, perhaps because a sibling under the same `join` has
            // replaced it by another version of this transaction.
            Sight::Newer if version.was_taken_back() => match slot.head() {
                Head::Version(head) => Look::Further(head),
                // The version below it is cold by now.
                Head::Cold(address) => Look::Cold(address),
                Head::Unused | Head::Dead => Look::Over(None),
            },
            Sight::Newer | Sight::Uncommitted => match version.next() {
                Some(older) => Look::Further(older),
                None => Look::Over(None),
            },
        }
    }

    /// Continues a `look` that is not over, at versions that have not been touched yet. `Err` if
    /// the visible version is cold.
    ///
    /// # Suspension
    /// Before each version. The chain stays as it is from the visible version's predecessors on,
    /// because the snapshot is open.
    pub(super) async fn look_further<P: Policy>(
        &self,
        slot: &Slot,
        mut look: Look,
        snapshot: Timestamp,
    ) -> Result<Option<Version>, ColdAddress> {
        loop {
            let version = match look {
                Look::Over(found) => return Ok(found),
                Look::Cold(address) => return Err(address),
                Look::Further(version) => version,
            };
            P::touch(
                Point::new("engine: older version"),
                version.address(),
                HEADER_BYTES,
            )
            .await;
            look = self.look(slot, version, snapshot);
        }
    }
}
