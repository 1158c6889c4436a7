//! Building an index while writers run.
//!
//! 1. The index is added to the table's list, as *building*: writers maintain it.
//! 2. The builder waits until every transaction has ended that may go by an earlier list.
//! 3. The builder goes through the table in strides. At the beginning of each, writers begin to
//!    maintain the index there (`reach.rs`). Then small system transactions follow: each takes a
//!    snapshot, reads some records and claims their entries. If such a transaction meets a
//!    conflict, it is aborted and tried again at a new snapshot.
//!    The build of an index that the catalog has already is divided over all workers instead
//!    (`division.rs`).
//! 4. A transaction records the index in the catalog. Its commit makes the index *ready*, for
//!    snapshots from there on. Earlier snapshots cannot use the index: the entries of records that
//!    were there already have the builder's timestamps. After a crash before this commit there is
//!    no index; after it no transaction writes the table without the index. An index that the
//!    catalog has already is attached in the same way, without another record.
//!
//! # Step 2
//! A writer takes its name (status `Active`), then loads the list, in one stretch
//! under a pin.
//!
//! ```text
//!   writer                           builder
//!   pin                              publishes the new list
//!   status = Active                  stamp (fence)
//!   loads the list                   waits until no pin of the stamp's time is left
//!   unpin                            reads all statuses
//! ```
//! The builder first waits for the same condition as a thread that frees the old list would
//! (`memory::epoch`): all writers that have loaded the old list have unpinned, and the builder sees
//! their work before that; all writers that pin later load the new list. A writer that goes by the
//! old list is therefore `Active` when the builder looks, or has ended (`loom_tests.rs`).
//!
//! # Step 3
//! Let a builder's transaction read record `r` with index key `k` at its snapshot `s`, and a writer
//! `W` change or delete `r`, committing at `w > s`. `W` maintains the index, by step 2 and because
//! `r` was within reach when `W` wrote it, and erases the entry of `k`, *even if there is none*:
//! `W` leaves a tombstone. The builder meets `W`'s version at its claim, or `W` meets the
//! builder's: one of them is uncommitted or too new for the other's snapshot. The builder then
//! aborts (it has scanned, so its snapshot cannot move: `transaction/refresh.rs`); `W` aborts, or
//! goes on at a snapshot that has the builder's entry, and erases that. The tombstone is not
//! collected while `s` is open. No claim by an outdated record therefore takes effect
//! (`tests/index_build.rs`, `loom_tests.rs`).
//!
//! A claim that meets another record's entry has found two records with the same key at one
//! snapshot, so the index cannot be unique. Records that have expired do not count: the builder
//! deletes the expired records that it meets, and those whose entries it meets.

mod batch;
mod claim;
mod division;
mod outcome;

use std::{
    fmt,
    ops::{Bound, ControlFlow},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use interleave::{Grouped, Policy, Prefetching, together};
use memory::Stamp;

use self::division::{Division, Next, Piece, Taken, piece_records};
pub use self::outcome::{BuildError, BuildProgress, BuildStep};
pub(super) use self::{batch::Batch, claim::claim_all};
use crate::{
    catalog::NAME_BYTES_MAX,
    cold::{Patience, RoomOwner},
    error::Error,
    log::Durability,
    secondary::{Extractor, Index, IndexCore, IndexOptions, IndexState, pace::Pace, reach::Extent},
    session::Session,
    table::Table,
    timestamp::TransactionId,
    transaction::{Isolation, Transaction},
};

/// Number of records per system transaction, some ten microseconds' work; fewer after conflicts.
const BATCH_RECORDS: usize = 64;
/// Number of batches per stride.
const STRIDE_BATCHES: usize = 4;
/// Bytes of keys and payloads after which a batch ends.
const BATCH_BYTES: usize = 256 << 10;
/// Shortest wait of the builder for other transactions; `WAIT_MAX` is the longest.
const WAIT_MIN: Duration = Duration::from_micros(50);
const WAIT_MAX: Duration = Duration::from_millis(10);

enum Stage {
    /// The builder waits until no writer can be about to use the list before.
    Grace(Stamp),
    /// The builder waits until the open transactions have ended.
    Open {
        after: Option<Vec<u8>>,
        open: Vec<TransactionId>,
    },
    /// Records up to this key are done; the next are to be read.
    Reads(Option<Vec<u8>>),
    /// Records were read, and their entries are to be claimed.
    Claims(Box<Claims>),
    /// The build is divided; the table is cut up to the key `cut`.
    Divided {
        division: Arc<Division>,
        cut: Option<Vec<u8>>,
        /// Piece that the builder itself has.
        own: Option<Box<Taken>>,
    },
    /// All records are done.
    Record,
}

struct Claims {
    /// Key up to which records are done.
    after: Option<Vec<u8>>,
    transaction: Transaction,
    batch: Batch,
}

/// Index that is being built. Dropping it gives the index up.
pub struct IndexBuild {
    session: Rc<Session>,
    index: Index,
    /// Description that is kept with the index in the catalog.
    description: Vec<u8>,
    stage: Stage,
    /// Reach to the end of the stride.
    reach: Extent,
    batch_records: usize,
    batch_records_max: usize,
    progress: BuildProgress,
}

impl Session {
    /// Begins to build an index of `table`: from now on writers maintain it. The index is ready,
    /// and recorded in the catalog, when [`IndexBuild::run`] has ended. An index that the catalog
    /// has already is attached.
    ///
    /// # Errors
    /// [`BuildError::Exists`], [`BuildError::Different`]; [`BuildError::Engine`].
    pub fn begin_index(
        self: &Rc<Self>,
        table: &Arc<Table>,
        name: &str,
        options: IndexOptions,
        extract: Extractor,
    ) -> Result<IndexBuild, BuildError> {
        self.begin_index_described(table, name, &[], options, extract)
    }

    /// Begins to build an index like [`Session::begin_index`], with a `description` that the
    /// catalog keeps for the embedding.
    ///
    /// # Errors
    /// Fails as [`Session::begin_index`] does.
    pub fn begin_index_described(
        self: &Rc<Self>,
        table: &Arc<Table>,
        name: &str,
        description: &[u8],
        options: IndexOptions,
        extract: Extractor,
    ) -> Result<IndexBuild, BuildError> {
        if !table.is_in(&self.database.arena) {
            return Err(Error::ForeignTable.into());
        }
        let mut missing = table.indexes.missing().iter();
        let number = match missing.find(|missing| *missing.name == *name) {
            Some(missing)
                if missing.unique != options.unique || *missing.description != *description =>
            {
                return Err(BuildError::Different);
            }
            Some(missing) => missing.number,
            // A transaction that takes the name from now on is met when the index is recorded.
            None if self.database.catalog.is_taken(name) => return Err(BuildError::Exists),
            None if name.len() > NAME_BYTES_MAX => {
                return Err(Error::NameTooLong { bytes: name.len() }.into());
            }
            None => self.database.catalog.take_number()?,
        };
        let entries = self
            .database
            .derived
            .create(&self.memory, name, table.time_to_live())?;
        let core = IndexCore::new(Arc::from(name), number, options, extract, entries);
        let core = Arc::new(core);
        if !table.indexes.add(&core) {
            return Err(BuildError::Exists);
        }
        let base = table.clone();
        let reach = core.reach.extent();
        Ok(IndexBuild {
            session: self.clone(),
            index: Index { base, core },
            description: description.to_vec(),
            stage: Stage::Grace(self.memory.stamp()),
            reach,
            batch_records: BATCH_RECORDS,
            batch_records_max: BATCH_RECORDS,
            progress: BuildProgress::default(),
        })
    }
}

impl IndexBuild {
    /// Returns the index, which cannot be read yet.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Sets the maximum `records` of one system transaction: at least one.
    #[must_use]
    pub fn in_batches_of(mut self, records: usize) -> IndexBuild {
        self.batch_records_max = records.max(1);
        self.batch_records = self.batch_records_max;
        self
    }

    /// Returns the progress of the build.
    pub fn progress(&self) -> BuildProgress {
        let mut progress = self.progress;
        if let Stage::Divided { division, .. } = &self.stage {
            progress.records_done += division.records_done();
            progress.conflicts += division.conflicts();
        }
        progress.records_estimate = self.index.base.records.taken();
        progress
    }

    /// Builds the index to the end, beside the other work of this worker. `progress` is called
    /// between batches.
    ///
    /// # Errors
    /// [`BuildError`]: the index is dropped.
    ///
    /// # Suspension
    /// Memory and event waits. Waits for the end of all transactions that are open now and write: a
    /// transaction must not wait for the build.
    ///
    /// # Cancellation
    /// Drops the index.
    pub async fn run(
        mut self,
        mut progress: impl FnMut(BuildProgress),
    ) -> Result<Index, BuildError> {
        let mut pace = Pace::new(&self.session);
        let mut wait = WAIT_MIN;
        let owner = RoomOwner::default();
        let mut patience = Patience::default();
        loop {
            let step = match self.step::<Grouped>().await {
                // A group cannot wait for room; its batch was taken back.
                Err(BuildError::Engine(Error::MemoryExhausted)) => {
                    self.session.wait_for_room(&owner, &mut patience).await?;
                    pace.begin();
                    continue;
                }
                step => step?,
            };
            if step == BuildStep::Advanced {
                patience = Patience::default();
            }
            match step {
                BuildStep::Ready => return Ok(self.index.clone()),
                // A snapshot is open, which must not make other tasks wait.
                BuildStep::Advanced if matches!(self.stage, Stage::Claims(_)) => {}
                BuildStep::Advanced => {
                    wait = WAIT_MIN;
                    progress(self.progress());
                    pace.rest().await;
                }
                BuildStep::Waits | BuildStep::Conflict => {
                    interleave::sleep(wait).await;
                    wait = (wait * 2).min(WAIT_MAX);
                    pace.begin();
                }
            }
        }
    }

    /// Does a small part of the build: for callers that schedule the build themselves.
    ///
    /// # Errors
    /// [`BuildError`] if the build cannot go on. After [`Error::MemoryExhausted`] another step can
    /// follow once there is more room.
    ///
    /// # Suspension
    /// Memory waits.
    ///
    /// # Cancellation
    /// The work of the step is taken back; another step can follow.
    pub async fn step<P: Policy>(&mut self) -> Result<BuildStep, BuildError> {
        match self.index.state() {
            IndexState::Building => {}
            IndexState::Ready => return Ok(BuildStep::Ready),
            IndexState::Dropped => return Err(BuildError::Dropped),
        }
        let database = &self.session.database;
        if self.session.is_to_end() {
            return Err(database.why_closed().into());
        }
        match &mut self.stage {
            Stage::Grace(stamp) => {
                if self.session.memory.is_past(*stamp) {
                    let (after, open) = (None, database.statuses.open());
                    self.stage = Stage::Open { after, open };
                }
                Ok(BuildStep::Waits)
            }
            Stage::Open { after, open } => {
                open.retain(|&id| database.statuses.is_open(id));
                if !open.is_empty() {
                    return Ok(BuildStep::Waits);
                }
                let after = after.take();
                self.stage = match after.is_none() && self.can_be_divided() {
                    true => self.divide(),
                    false => Stage::Reads(after),
                };
                Ok(BuildStep::Advanced)
            }
            Stage::Reads(after) => match &self.reach {
                Extent::UpTo(last) if last == after => self.extend::<P>().await,
                _ => self.read::<P>().await,
            },
            Stage::Divided { .. } => self.do_part::<P>().await,
            Stage::Record => self.record::<P>().await,
            Stage::Claims(_) => match self.claim::<P>().await {
                Err(BuildError::Engine(Error::Abort(_))) => {
                    self.progress.conflicts += 1;
                    // The smaller the batch, the less often a writer is in its way.
                    self.batch_records = (self.batch_records / 4).max(1);
                    Ok(BuildStep::Conflict)
                }
                claimed => claimed,
            },
        }
    }

    /// Whether several workers can build the index: see `division.rs`.
    fn can_be_divided(&self) -> bool {
        let Index { base, core } = &self.index;
        let mut missing = base.indexes.missing().iter();
        let attaches = missing.any(|missing| missing.number == core.catalog_number);
        // A single piece is not worth the trouble.
        let is_large = base.records.taken() > piece_records(self.batch_records_max) as u64;
        let has_helpers = self.session.database.helpers.get().is_some();
        attaches && base.time_to_live().is_none() && is_large && has_helpers
    }

    /// Begins to build on all workers.
    fn divide(&self) -> Stage {
        // No writer is left that could handle a record instead.
        self.index.core.reach.extend(Extent::All);
        let division = Division::new(&self.index, self.batch_records_max);
        // There are enough pieces for all workers.
        self.session.ask_for_help(division.clone(), usize::MAX);
        Stage::Divided {
            division,
            cut: None,
            own: None,
        }
    }

    /// Cuts the next piece of a divided build, or does a batch of one.
    async fn do_part<P: Policy>(&mut self) -> Result<BuildStep, BuildError> {
        let Stage::Divided { division, cut, own } = &mut self.stage else {
            unreachable!("the stage was looked at before");
        };
        if own.is_none() {
            match division.next() {
                Next::Cut => {
                    let records = piece_records(self.batch_records_max);
                    let up_to = key_behind::<P>(&self.session, &self.index, cut, records).await?;
                    let after = std::mem::replace(cut, up_to.clone());
                    division.add(Piece { after, up_to });
                    return Ok(BuildStep::Advanced);
                }
                Next::Piece(taken) => *own = Some(taken),
                Next::Wait => return Ok(BuildStep::Waits),
                Next::Done => {
                    division.let_go_of_snapshot();
                    self.progress = self.progress();
                    self.stage = Stage::Record;
                    return Ok(BuildStep::Advanced);
                }
            }
        }
        let Some(taken) = own else {
            return Ok(BuildStep::Advanced);
        };
        match taken.advance::<P>(&self.session).await {
            Ok(is_done) => {
                if is_done {
                    *own = None;
                }
                Ok(BuildStep::Advanced)
            }
            Err(BuildError::Engine(Error::Abort(_))) => Ok(BuildStep::Conflict),
            Err(error) => Err(error),
        }
    }

    /// Begins the next stride.
    async fn extend<P: Policy>(&mut self) -> Result<BuildStep, BuildError> {
        let Stage::Reads(after) = &self.stage else {
            unreachable!("the stage was looked at before");
        };
        let transaction = self.session.begin(Isolation::Snapshot)?;
        let Index { base, core } = &self.index;
        let from = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let survey = async {
            let range = (from, Bound::Unbounded);
            let records = self.batch_records_max * STRIDE_BATCHES;
            let last = transaction.key_at::<P>(base, range, records).await?;
            let reach = last.map_or(Extent::All, |last| Extent::UpTo(Some(last)));
            core.reach.extend(reach.clone());
            let range = (from, reach.end());
            let open = transaction.writers_in::<P>(base, range).await?;
            Ok::<_, Error>((reach, open))
        };
        let mut surveyed = None;
        together::<P, _>([survey], |result| surveyed = Some(result)).await;
        transaction.release();
        let (reach, open) = surveyed.expect("`together` ends when all have ended")?;
        let after = after.clone();
        self.stage = Stage::Open { after, open };
        self.reach = reach;
        Ok(BuildStep::Advanced)
    }

    /// Reads the next records of the stride at a snapshot of their own, or finds that there are no
    /// more.
    async fn read<P: Policy>(&mut self) -> Result<BuildStep, BuildError> {
        let Stage::Reads(after) = &self.stage else {
            unreachable!("the stage was looked at before");
        };
        let transaction = self.session.begin(Isolation::Snapshot)?;
        transaction.set_durability(Durability::None);
        transaction.read_stored();
        let mut batch = Batch::default();
        let after = after.as_deref();
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let range = (from, self.reach.end());
        read_batch::<P>(
            &transaction,
            &self.index,
            range,
            self.batch_records,
            &mut batch,
        )
        .await?;
        if batch.records == 0 {
            transaction.release();
            self.stage = match &self.reach {
                Extent::UpTo(last) => Stage::Reads(last.clone()),
                Extent::All => Stage::Record,
            };
            return Ok(BuildStep::Advanced);
        }
        self.stage = Stage::Claims(Box::new(Claims {
            after: after.map(<[u8]>::to_vec),
            transaction,
            batch,
        }));
        Ok(BuildStep::Advanced)
    }

    /// Adds the entries of the records that were read.
    async fn claim<P: Policy>(&mut self) -> Result<BuildStep, BuildError> {
        let Stage::Claims(claims) = std::mem::replace(&mut self.stage, Stage::Reads(None)) else {
            unreachable!("the stage was looked at before");
        };
        let Claims {
            after,
            transaction,
            batch,
        } = *claims;
        // On any end before the last line the records are read again.
        self.stage = Stage::Reads(after);
        let base = &self.index.base;
        // Not as a group: a record that has expired may be on the device.
        for key in &batch.expired {
            transaction.expire::<Prefetching>(base, key).await?;
        }
        claim_all::<P>(&transaction, &self.index, &batch.entries).await?;
        transaction.commit().await?;
        self.progress.records_done += batch.records as u64;
        self.batch_records = (self.batch_records * 2).min(self.batch_records_max);
        self.stage = Stage::Reads(Some(batch.last_key));
        Ok(BuildStep::Advanced)
    }
}

/// Reads the next of the records in `range` that `transaction` sees into `batch`: at most `records`,
/// and not many bytes.
async fn read_batch<P: Policy>(
    transaction: &Transaction,
    index: &Index,
    range: (Bound<&[u8]>, Bound<&[u8]>),
    records: usize,
    batch: &mut Batch,
) -> Result<(), Error> {
    let base = &index.base;
    let visit = |key: &[u8], rid, stored: &[u8]| {
        match transaction.is_expired(base, stored) {
            true => batch.add_expired(key),
            false => batch.add(index, key, rid, stored),
        }
        match batch.records < records && batch.entries.bytes() < BATCH_BYTES {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    };
    let scanned = transaction.scan_records_apart::<P>(base, range, visit);
    scanned.await.map(drop)
}

/// Returns the key `records` keys behind `after`. `None`: there are fewer.
async fn key_behind<P: Policy>(
    session: &Rc<Session>,
    index: &Index,
    after: &Option<Vec<u8>>,
    records: usize,
) -> Result<Option<Vec<u8>>, Error> {
    let transaction = session.begin(Isolation::Snapshot)?;
    let from = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let range = (from, Bound::Unbounded);
    let key = transaction.key_at::<P>(&index.base, range, records);
    let mut found = Ok(None);
    together::<P, _>([key], |key| found = key).await;
    transaction.release();
    found
}

impl IndexBuild {
    /// Records the index, which makes it ready, unless another transaction is about to change the
    /// table or its indexes.
    async fn record<P: Policy>(&self) -> Result<BuildStep, BuildError> {
        let transaction = self.session.begin(Isolation::Snapshot)?;
        let record = transaction.record_index::<P>(&self.index, &self.description);
        let mut recorded = Ok(());
        together::<P, _>([record], |result| recorded = result).await;
        let committed = match recorded {
            Ok(()) => transaction.commit().await.map(drop),
            failed => failed,
        };
        match committed {
            Ok(()) => Ok(BuildStep::Ready),
            Err(Error::Abort(_)) => Ok(BuildStep::Conflict),
            Err(Error::TableExists) => Err(BuildError::Exists),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for IndexBuild {
    fn drop(&mut self) {
        // In this order: helpers make no snapshot for an index that was given up.
        self.session.database.give_up_index(&self.index);
        if let Stage::Divided { division, .. } = &self.stage {
            division.let_go_of_snapshot();
        }
    }
}

impl fmt::Debug for IndexBuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexBuild")
            .field("index", &self.index)
            .field("progress", &self.progress())
            .finish_non_exhaustive()
    }
}
