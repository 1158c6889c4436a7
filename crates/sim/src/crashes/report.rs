//! Counters of a run of crashes. Sums over runs tell whether every case had its
//! chance.

use std::fmt;

use engine::{Durability, Error};

use crate::{
    check,
    history::{Action, Outcome, Record},
    workload::tables,
};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident $text:literal),* $(,)?) => {
        /// Counters of one run, or sums over several.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct CrashReport { $($(#[$doc])* pub $name: u64),* }

        impl CrashReport {
            /// Adds another run.
            pub fn merge(&mut self, other: &CrashReport) { $(self.$name += other.$name;)* }
        }

        impl fmt::Display for CrashReport {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let counters = [$((self.$name, $text)),*];
                for (index, (count, text)) in counters.into_iter().enumerate() {
                    let comma = if index > 0 { ", " } else { "" };
                    write!(f, "{comma}{count} {text}")?;
                }
                Ok(())
            }
        }
    };
}

counters! {
    /// Images that were recovered and compared.
    crash_points "crash points",
    /// Rounds that ended in a crash, and were gone on after.
    rounds "rounds",
    /// Rounds that ended in order before the power failed.
    closed "closed in order",
    /// Power failures halfway in a change of the disk.
    halfway "power failures halfway in a change",
    /// Recoveries interrupted before they wrote anything.
    interrupted_loads "interrupted loads",
    /// Transactions that committed and were acknowledged.
    acknowledged "acknowledged",
    /// Acknowledged transactions that waited for the device.
    synchronous "synchronous",
    /// Transactions that committed without their client being told.
    in_doubt "in doubt",
    /// Transactions that survived to the end.
    survived "survivors",
    /// Checkpoints.
    checkpoints "checkpoints",
    /// Records that left memory.
    demoted "demoted",
    /// Records that came back.
    promoted "promoted",
    /// Versions that were moved in memory.
    moved "moved in memory",
    /// Regions of memory that became empty.
    emptied "regions emptied",
    /// Records that compaction moved on the device.
    compacted "compacted",
    /// Files of records that had left memory, removed after it.
    cold_files_removed "cold files removed",
    /// Operations that found memory exhausted.
    exhausted "operations without memory",
    /// Recoveries for which memory was too small: the next attempt had more.
    too_large "recoveries without memory",
    /// Blocks of the log.
    blocks "blocks",
    /// Rounds whose database had a failed device at the end.
    poisoned "poisoned",
    /// Recoveries without room for a manifest.
    no_space "without space",
    /// Changes of the catalog by transactions that were acknowledged.
    tables "changes of tables",
    /// Changes of the catalog by transactions that committed without their client
    /// being told.
    tables_in_doubt "changes of tables in doubt",
    /// Indexes made, dropped and renamed by transactions that committed, told or not.
    indexes "changes of indexes",
    /// Indexes that were attached after a crash.
    attached "indexes attached",
    /// Comparisons of an index with its table.
    compared "indexes compared",
    /// Reads at a shared snapshot, compared with what its maker saw.
    snapshots_compared "reads at shared snapshots",
    /// Writes refused because an index was not attached.
    not_attached "writes refused for a missing index",
    /// Writes refused because another record has the key in a unique index.
    duplicates "writes refused as duplicates",
    /// Records that had expired when they were recovered, or been deleted for it.
    expired "expired",
    /// Records that had not expired when they were recovered.
    unexpired "not expired",
    /// Backups made while others wrote, and opened.
    backups "backups",
    /// Times that a follower of the change stream set out.
    followers "followers",
    /// Transactions that followers received.
    followed "followed",
    /// Times that a follower was too late.
    not_kept "too late",
    /// Rotten images that were refused.
    rot_refused "rotten refused",
    /// Rotten images that held everything required.
    rot_harmless "rotten without harm",
    /// Rotten images whose log ended early, as after a torn write.
    rot_torn "rotten like torn",
}

impl CrashReport {
    /// Adds the counts of a history.
    pub(super) fn count(&mut self, records: &[Record]) {
        for record in records {
            let names = record.effects().filter(|(key, _)| check::is_name(key));
            let (indexes, names): (Vec<_>, Vec<_>) =
                names.partition(|(key, _)| key.first() == Some(&tables::INDEXES));
            let (indexes, names) = (indexes.len() as u64, names.len() as u64);
            if record.written_at().is_some() {
                self.indexes += indexes;
            }
            for event in &record.events {
                match event.action {
                    Action::Failed {
                        error: Error::IndexNotAttached { .. },
                        ..
                    } => self.not_attached += 1,
                    Action::Failed {
                        error: Error::DuplicateIndexKey { .. },
                        ..
                    } => self.duplicates += 1,
                    Action::Failed {
                        error: Error::MemoryExhausted,
                        ..
                    } => self.exhausted += 1,
                    _ => {}
                }
            }
            match record.outcome {
                Outcome::Committed(_) => self.tables += names,
                Outcome::InDoubt(_) => self.tables_in_doubt += names,
                _ => {}
            }
            match record.outcome {
                Outcome::Committed(_) => {
                    self.acknowledged += 1;
                    self.synchronous += u64::from(record.durability == Durability::Synchronous);
                }
                Outcome::InDoubt(_) => self.in_doubt += 1,
                _ => {}
            }
        }
    }
}
