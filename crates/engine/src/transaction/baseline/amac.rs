//! Point reads as hand-written state machines (asynchronous memory access
//! chaining): the index's, followed by slot, version and older versions.

use index::baseline::{AmacGet, Step};
use interleave::{Policy, Prefetching};
use memory::Pin;

use crate::{
    error::Error,
    indirection::{Head, Rid, Slot},
    table::Table,
    timestamp::Timestamp,
    transaction::{Transaction, visibility::Sight},
    version::{HEADER_BYTES, Version},
};

/// Next step of a read.
enum Stage<'t, 'k> {
    Index(AmacGet<'t, 'k>),
    Slot(&'t Slot),
    Version(Version),
    Done,
}

struct Read<'t, 'k> {
    stage: Stage<'t, 'k>,
}

impl<'t, 'k> Read<'t, 'k> {
    fn new(table: &'t Table, pin: &Pin<'_>, key: &'k [u8]) -> Read<'t, 'k> {
        Read {
            stage: Stage::Index(AmacGet::new(&table.index, pin, key)),
        }
    }

    /// Runs up to the next prefetch; true at the end.
    #[inline(always)]
    fn step(
        &mut self,
        transaction: &Transaction,
        table: &'t Table,
        snapshot: Timestamp,
        read: impl FnOnce(&[u8]),
    ) -> bool {
        let next = match &mut self.stage {
            Stage::Index(lookup) => match lookup.step() {
                Step::Pending => return false,
                Step::Done(None) => Stage::Done,
                Step::Done(Some(rid)) => {
                    let slot = table.records.slot(Rid(rid));
                    Prefetching::prefetch(slot, size_of::<Slot>());
                    Stage::Slot(slot)
                }
            },
            Stage::Slot(slot) => match slot.head() {
                Head::Version(version) => {
                    Prefetching::prefetch(version.address(), table.prefetch_bytes());
                    Stage::Version(version)
                }
                Head::Cold(_) | Head::Unused | Head::Dead => Stage::Done,
            },
            Stage::Version(version) => match transaction.sight(*version, snapshot) {
                Sight::Own | Sight::Visible => {
                    let stored = version.payload();
                    let worth = stored.and_then(|stored| transaction.worth(table, stored));
                    if let Some(worth) = worth {
                        read(worth.value);
                    }
                    Stage::Done
                }
                Sight::Newer | Sight::Uncommitted => match version.next() {
                    Some(older) => {
                        Prefetching::prefetch(older.address(), HEADER_BYTES);
                        Stage::Version(older)
                    }
                    None => Stage::Done,
                },
            },
            Stage::Done => return true,
        };
        let done = matches!(next, Stage::Done);
        self.stage = next;
        done
    }
}

impl Transaction {
    /// Reads `keys` as a group of state machines, all in flight at once. `read` is given the
    /// position and the value of each key that is found.
    ///
    /// # Errors
    /// Fails as [`Transaction::get`] does.
    pub fn multi_get_amac<K: AsRef<[u8]>>(
        &self,
        table: &Table,
        keys: &[K],
        mut read: impl FnMut(usize, &[u8]),
    ) -> Result<(), Error> {
        let _statement = self.statement(table)?;
        // The reads are not noted.
        self.context.dependencies.settle();
        let pin = self.session.memory.pin();
        let snapshot = self.context.snapshot();
        let mut group: Vec<Read<'_, '_>> = keys
            .iter()
            .map(|key| Read::new(table, &pin, key.as_ref()))
            .collect();
        let mut live = group.len();
        while live > 0 {
            for (index, lookup) in group.iter_mut().enumerate() {
                if !matches!(lookup.stage, Stage::Done)
                    && lookup.step(self, table, snapshot, |value| read(index, value))
                {
                    live -= 1;
                }
            }
        }
        let reads = &self.context.reads;
        reads.set(reads.get() + keys.len() as u64);
        Ok(())
    }
}
