//! Division of a build over the workers of the database: for an index that is attached after an
//! opening, whose table cannot be written meanwhile.
//!
//! The builder cuts the table's keys into *pieces* and hands the division to the database's workers
//! ([`Session::ask_for_help`]). Each worker takes one piece after the other, reads records at
//! the snapshot that all of them share, and claims their entries in transactions of its own. The
//! builder cuts a few pieces ahead and takes pieces like the others. It goes on to record the index
//! when all pieces are done.
//!
//! # Why the entries are right
//! A builder that runs beside writers reads and claims in one transaction, whose snapshot tells it of
//! writers in between (`build.rs`, step 3). Here the reads are older than the claims, and right
//! because no record changes at all: from the opening on, the list of the table names the index as
//! missing, by which every write is refused (`list.rs`), until the commit that makes the index ready
//! (or drops it, which ends the build: the builder looks at the list when it has its own place
//! there). Recovery has made all versions that there are. The only writes that are not refused delete
//! records that have expired: the build of a table with a time to live is not divided. Records move
//! in memory and to the device and back, and keep their RIDs.
//!
//! All snapshots of the division therefore see the same records. It renews the shared snapshot now
//! and then, and lets go of it before a wait for room and in the end, since helpers may hear of the
//! end late: a build takes minutes, in which old versions of other tables are to be collected.
//!
//! # Helpers decide nothing
//! A helper that cannot go on, for whatever reason (a duplicate, room that it has waited for in vain, a
//! panic of the extractor, the end of its worker), gives the rest of its piece back and ends. The
//! builder takes that rest, and meets the reason itself if there still is one. A helper that waits for
//! room, or tries again after an abort, keeps its piece meanwhile, and the builder waits for the piece
//! in the end: for as long as the helper's patience lasts (`cold/room.rs`), and as long as the helper's
//! worker does other work. Errors of a divided build are therefore those of one that is not divided,
//! except that of several duplicates another one may be met first.
//!
//! # The end of the builder
//! A builder may end first: its task is dropped or panics, its index is dropped, its session winds up
//! as all do before the database is closed. Helpers look for that before each attempt
//! ([`Division::is_over`]), after a wait for room as after an abort, and end. The builder gives the
//! index up before it drops the shared snapshot, and no helper makes another one from then on: both
//! look under the latch of the work. A handle on the division that is kept for long, by an embedder or
//! in the inbox of a worker that has no time,
//! therefore holds no horizon.
//!
//! A helper's task that is dropped at any suspension point drops its transactions, which undo what is
//! not committed, and its piece, which goes back. A batch that was committed just before is claimed
//! again: a claim that meets the record's own entry is done.
//!
//! # Bounds
//! The builder cuts at most [`PIECES_AHEAD`] pieces that no worker has taken. Each of them has two keys. A
//! worker has one piece, one batch and two transactions at a time.

use std::{
    collections::VecDeque,
    future::Future,
    ops::Bound,
    pin::Pin,
    rc::Rc,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use interleave::{Grouped, Policy, sleep};

use super::{Batch, BuildError, STRIDE_BATCHES, WAIT_MAX, WAIT_MIN, claim_all, read_batch};
use crate::{
    cold::{Patience, RoomOwner},
    error::Error,
    help::DividedWork,
    log::Durability,
    secondary::{Index, IndexState, pace::Pace},
    session::Session,
    transaction::{Isolation, SharedSnapshot},
};

/// Number of strides in a piece.
const PIECE_STRIDES: usize = 4;
/// Maximum pieces that are cut and not taken.
const PIECES_AHEAD: usize = 16;
/// Number of batches, of all workers together, after which the snapshot is renewed: some tens of
/// milliseconds.
const BATCHES_PER_SNAPSHOT: u32 = 1024;

/// Returns the number of records of a piece, for batches of at most `batch_records`.
pub(super) fn piece_records(batch_records: usize) -> usize {
    batch_records * STRIDE_BATCHES * PIECE_STRIDES
}

/// Divided build: see the module text.
pub(super) struct Division {
    index: Index,
    batch_records: usize,
    work: Mutex<Work>,
    /// Number of records whose entries are claimed, and of batches given up. Relaxed: for people.
    records_done: AtomicU64,
    conflicts: AtomicU64,
}

#[derive(Default)]
struct Work {
    /// Pieces that no worker has: those that were cut, and one more for each worker that has given
    /// one back.
    pieces: VecDeque<Piece>,
    /// Whether the whole table was cut.
    is_cut: bool,
    /// Number of pieces that workers have.
    taken: usize,
    /// Snapshot in force, and the number of batches that may still read at it.
    snapshot: Option<(SharedSnapshot, u32)>,
}

/// Keys of records that are to be read: those behind `after`, up to the last key `up_to`. `None`: no
/// bound.
pub(super) struct Piece {
    pub(super) after: Option<Vec<u8>>,
    pub(super) up_to: Option<Vec<u8>>,
}

/// Next thing for the builder to do.
pub(super) enum Next {
    Cut,
    Piece(Box<Taken>),
    /// Other workers have the last pieces.
    Wait,
    Done,
}

/// Piece that a worker has. Dropped, it gives back what is left of it.
pub(super) struct Taken {
    division: Arc<Division>,
    piece: Piece,
    is_done: bool,
    batch: Batch,
    batch_records: usize,
}

impl Division {
    pub(super) fn new(index: &Index, batch_records: usize) -> Arc<Division> {
        Arc::new(Division {
            index: index.clone(),
            batch_records,
            work: Mutex::default(),
            records_done: AtomicU64::new(0),
            conflicts: AtomicU64::new(0),
        })
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Adds the next piece of the table; one without an end is the last.
    pub(super) fn add(&self, piece: Piece) {
        let mut work = self.work();
        work.is_cut = piece.up_to.is_none();
        work.pieces.push_back(piece);
    }

    /// Takes the next piece, if there is one.
    fn take(self: &Arc<Self>, work: &mut Work) -> Option<Taken> {
        let piece = work.pieces.pop_front()?;
        work.taken += 1;
        Some(Taken {
            division: self.clone(),
            piece,
            is_done: false,
            batch: Batch::default(),
            batch_records: self.batch_records,
        })
    }

    /// Returns the builder's next work.
    pub(super) fn next(self: &Arc<Self>) -> Next {
        let mut work = self.work();
        if !work.is_cut && work.pieces.len() < PIECES_AHEAD {
            return Next::Cut;
        }
        match self.take(&mut work) {
            Some(taken) => Next::Piece(Box::new(taken)),
            None if work.taken > 0 => Next::Wait,
            None => Next::Done,
        }
    }

    pub(super) fn records_done(&self) -> u64 {
        self.records_done.load(Ordering::Relaxed)
    }

    pub(super) fn conflicts(&self) -> u64 {
        self.conflicts.load(Ordering::Relaxed)
    }

    /// Whether helpers are to end: the builder has ended, or the helper's session is to end.
    fn is_over(&self, session: &Session) -> bool {
        session.is_to_end() || self.index.state() != IndexState::Building
    }

    /// Returns the snapshot for another batch. `session` makes a new one if need be.
    ///
    /// # Errors
    /// [`BuildError::Dropped`] if the builder has ended; errors of [`Session::begin`].
    fn snapshot(&self, session: &Rc<Session>) -> Result<SharedSnapshot, BuildError> {
        let mut work = self.work();
        // The builder that gives the index up drops the snapshot after it: see the module text.
        if self.index.state() != IndexState::Building {
            return Err(BuildError::Dropped);
        }
        if let Some((snapshot, left)) = &mut work.snapshot
            && *left > 0
        {
            *left -= 1;
            return Ok(snapshot.clone());
        }
        let maker = session.begin(Isolation::Snapshot)?;
        let snapshot = maker.statement_snapshot()?.share()?;
        maker.release();
        work.snapshot = Some((snapshot.clone(), BATCHES_PER_SNAPSHOT));
        Ok(snapshot)
    }

    /// Drops the shared snapshot, which would hold back the horizon. Readers at it keep it until they
    /// end; the next batch makes another one.
    pub(super) fn let_go_of_snapshot(&self) {
        self.work().snapshot = None;
    }
}

impl Taken {
    /// Reads the next records of the piece and claims their entries. Returns whether the piece is
    /// done.
    ///
    /// # Errors
    /// Those of [`super::IndexBuild::step`]; an abort if another worker was in the way. The records
    /// are read again next time.
    ///
    /// # Suspension
    /// Memory waits.
    pub(super) async fn advance<P: Policy>(
        &mut self,
        session: &Rc<Session>,
    ) -> Result<bool, BuildError> {
        let advanced = self.claim_next::<P>(session).await;
        match &advanced {
            Ok(_) => self.batch_records = (self.batch_records * 2).min(self.division.batch_records),
            Err(BuildError::Engine(Error::Abort(_))) => {
                self.division.conflicts.fetch_add(1, Ordering::Relaxed);
                self.batch_records = (self.batch_records / 4).max(1);
            }
            // The snapshot would keep versions in memory that could leave it.
            Err(_) => self.division.let_go_of_snapshot(),
        }
        advanced
    }

    async fn claim_next<P: Policy>(&mut self, session: &Rc<Session>) -> Result<bool, BuildError> {
        let (division, batch) = (&self.division, &mut self.batch);
        let index = &division.index;
        batch.clear();
        let from = self.piece.after.as_deref();
        let from = from.map_or(Bound::Unbounded, Bound::Excluded);
        let to = self.piece.up_to.as_deref();
        let range = (from, to.map_or(Bound::Unbounded, Bound::Included));
        let reader = session.begin_at(&division.snapshot(session)?)?;
        read_batch::<P>(&reader, index, range, self.batch_records, batch).await?;
        reader.release();
        if batch.records == 0 {
            self.is_done = true;
            return Ok(true);
        }
        let writer = session.begin(Isolation::Snapshot)?;
        writer.set_durability(Durability::None);
        claim_all::<P>(&writer, index, &batch.entries).await?;
        writer.commit().await?;
        let records = batch.records as u64;
        division.records_done.fetch_add(records, Ordering::Relaxed);
        self.piece.after = Some(batch.last_key.clone());
        Ok(false)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut work = self.division.work();
        work.taken -= 1;
        if !self.is_done {
            work.pieces.push_front(Piece {
                after: self.piece.after.take(),
                up_to: self.piece.up_to.take(),
            });
        }
    }
}

impl DividedWork for Division {
    /// Takes part in the build on the worker of `session` until there is nothing left to take.
    ///
    /// # Suspension
    /// Memory and event waits, and timers; other tasks of the worker have the greater part of it.
    ///
    /// # Cancellation
    /// The builder does what was left to do here.
    fn take_part(self: Arc<Self>, session: Rc<Session>) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(self.help(session))
    }

    fn is_done(&self) -> bool {
        self.index.state() != IndexState::Building
    }
}

impl Division {
    async fn help(self: Arc<Self>, session: Rc<Session>) {
        let division = self;
        let mut pace = Pace::new(&session);
        let mut wait = WAIT_MIN;
        loop {
            if division.is_over(&session) {
                return;
            }
            let (taken, is_cut) = {
                let mut work = division.work();
                let taken = division.take(&mut work);
                (taken, work.is_cut)
            };
            match taken {
                Some(taken) => {
                    wait = WAIT_MIN;
                    if help_with(taken, &session, &mut pace).await.is_err() {
                        return;
                    }
                }
                None if is_cut => return,
                None => {
                    sleep(wait).await;
                    wait = (wait * 2).min(WAIT_MAX);
                    pace.begin();
                }
            }
        }
    }
}

/// Does a whole piece.
async fn help_with(
    mut taken: Taken,
    session: &Rc<Session>,
    pace: &mut Pace,
) -> Result<(), BuildError> {
    let owner = RoomOwner::default();
    let (mut patience, mut wait) = (Patience::default(), WAIT_MIN);
    loop {
        if taken.division.is_over(session) {
            return Err(BuildError::Dropped);
        }
        match taken.advance::<Grouped>(session).await {
            Ok(true) => return Ok(()),
            Ok(false) => {
                (patience, wait) = (Patience::default(), WAIT_MIN);
                pace.rest().await;
            }
            Err(BuildError::Engine(Error::Abort(_))) => {
                sleep(wait).await;
                wait = (wait * 2).min(WAIT_MAX);
                pace.begin();
            }
            Err(BuildError::Engine(Error::MemoryExhausted)) => {
                session.wait_for_room(&owner, &mut patience).await?;
                pace.begin();
            }
            Err(error) => return Err(error),
        }
    }
}
