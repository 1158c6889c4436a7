//! Reading of cold records: concurrent readers of a record share one read.
//!
//! The first reader carries out the read, and the others wait for it; if the first one is
//! cancelled, another one takes its place. The readers keep the record that was read; this module
//! does not. Mostly one of them has the record promoted.

use std::{
    collections::hash_map::Entry,
    future::poll_fn,
    io,
    ops::{Deref, Range},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll, Waker},
};

use ::io::{Buffer, Full, Pass, Priority};
use interleave::{Nested, Wait, noting};
use rustc_hash::FxHashMap;

use super::{
    ColdTier,
    address::{ColdAddress, Extent},
    files::locate,
    format::{ColdRecord, Unread},
};
use crate::{
    error::{Abort, Error},
    log::format::Flaw,
    reading::Reading,
    session::Session,
    timestamp::Timestamp,
};

const SHARDS: usize = 64;

/// Maximum bytes between two records that are read needlessly rather than in two transfers.
const GAP_BYTES_MAX: u64 = 16 << 10;

/// A record that was read from its file.
pub(crate) struct Fetched {
    pub(crate) address: ColdAddress,
    pub(crate) begin: Timestamp,
    pub(super) successor: Timestamp,
    /// Buffer with the record, and perhaps with others.
    buffer: Arc<Buffer>,
    stored: Range<usize>,
}

impl Fetched {
    /// Returns the record at an address among those that [`Session::fetch_all`] has read, which are in the order of
    /// their places.
    pub(crate) fn find(list: &[Fetched], address: ColdAddress) -> Option<&Fetched> {
        let place = |one: &Fetched| one.address.position();
        let at = list.binary_search_by_key(&address.position(), place);
        Some(&list[at.ok()?])
    }

    /// Returns the stored bytes: with a TTL, the expiry first.
    pub(crate) fn stored(&self) -> &[u8] {
        &self.buffer[self.stored.clone()]
    }

    /// Decodes the record at `address` from `buffer`, at offset `at`.
    fn decode(address: ColdAddress, buffer: &Arc<Buffer>, at: usize) -> Result<Fetched, Unread> {
        let bytes = buffer.get(at..).unwrap_or_default();
        let record = ColdRecord::decode(bytes, address.position())?;
        Ok(Fetched::of(&record, address, buffer, at))
    }

    /// Returns the record that was decoded from `buffer`.
    pub(super) fn of(
        record: &ColdRecord<'_>,
        address: ColdAddress,
        buffer: &Arc<Buffer>,
        at: usize,
    ) -> Fetched {
        let end = at + record.bytes();
        Fetched {
            address,
            begin: record.begin,
            successor: record.successor,
            stored: end - record.stored.len()..end,
            buffer: buffer.clone(),
        }
    }
}

type Outcome = Result<Arc<Fetched>, Error>;

/// A fetched record, lent for a while: its buffer serves the session's next read afterwards, if no
/// other reader has the record.
pub(crate) struct Lent<'s> {
    session: &'s Session,
    /// `None` while it is being dropped.
    fetched: Option<Arc<Fetched>>,
}

impl Deref for Lent<'_> {
    type Target = Fetched;

    fn deref(&self) -> &Fetched {
        self.fetched
            .as_ref()
            .expect("it is there until it is dropped")
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let fetched = self.fetched.take().and_then(Arc::into_inner);
        if let Some(buffer) = fetched.and_then(|fetched| Arc::into_inner(fetched.buffer)) {
            self.session.read_buffers.give_back(buffer);
        }
    }
}

/// The reads that are under way.
pub(super) struct Reads([Mutex<FxHashMap<ColdAddress, Arc<Read>>>; SHARDS]);

impl Default for Reads {
    fn default() -> Reads {
        Reads(std::array::from_fn(|_| Mutex::default()))
    }
}

/// A read that is under way.
#[derive(Default)]
struct Read(Mutex<ReadState>);

#[derive(Default)]
struct ReadState {
    progress: Progress,
    waiting: Vec<Waker>,
}

#[derive(Default)]
enum Progress {
    #[default]
    UnderWay,
    GivenUp,
    Done(Outcome),
}

impl Reads {
    fn shard(&self, address: ColdAddress) -> MutexGuard<'_, FxHashMap<ColdAddress, Arc<Read>>> {
        // Shards follow pages: neighbouring records are read together, but by few readers at a
        // time.
        let shard = (address.position() >> 12) as usize % SHARDS;
        self.0[shard].lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Returns the read of a record, and the duty to carry it out if no other reader has it.
    fn enter(&self, address: ColdAddress) -> (Arc<Read>, Option<Duty<'_>>) {
        match self.shard(address).entry(address) {
            Entry::Occupied(read) => (read.get().clone(), None),
            Entry::Vacant(place) => {
                let read = place.insert(Arc::default()).clone();
                let duty = Duty {
                    reads: self,
                    address,
                    read: read.clone(),
                };
                (read, Some(duty))
            }
        }
    }
}

impl Read {
    fn state(&self) -> MutexGuard<'_, ReadState> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Polls for the outcome of the read: `None` if the read was given up.
    fn poll(&self, context: &mut Context<'_>) -> Poll<Option<Outcome>> {
        let mut state = self.state();
        match &state.progress {
            Progress::Done(outcome) => Poll::Ready(Some(outcome.clone())),
            Progress::GivenUp => Poll::Ready(None),
            Progress::UnderWay => {
                let waker = context.waker();
                if !state.waiting.iter().any(|known| known.will_wake(waker)) {
                    state.waiting.push(waker.clone());
                }
                Poll::Pending
            }
        }
    }
}

/// The duty to carry out a read. Dropping it ends the read, whatever its outcome.
struct Duty<'t> {
    reads: &'t Reads,
    address: ColdAddress,
    read: Arc<Read>,
}

impl Duty<'_> {
    fn done(self, outcome: Outcome) {
        self.read.state().progress = Progress::Done(outcome);
    }
}

impl Drop for Duty<'_> {
    fn drop(&mut self) {
        self.reads.shard(self.address).remove(&self.address);
        let mut state = self.read.state();
        if matches!(state.progress, Progress::UnderWay) {
            state.progress = Progress::GivenUp;
        }
        let waiting = std::mem::take(&mut state.waiting);
        // Wakers are foreign code, which must not find anything locked.
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl Session {
    /// Returns the cold record at `address`.
    ///
    /// # Errors
    /// [`Error::ColdRecord`]; [`Abort::ReadRefused`].
    ///
    /// # Suspension
    /// A device wait, perhaps for another reader's transfer.
    ///
    /// # Cancellation
    /// Dropping the future is harmless.
    pub(crate) async fn fetch(
        &self,
        tier: &ColdTier,
        address: ColdAddress,
        priority: Priority,
    ) -> Result<Lent<'_>, Error> {
        let fetched = loop {
            let (read, duty) = tier.reads.enter(address);
            if let Some(duty) = duty {
                // A reader that is refused has not read the record: another one may try.
                let pass = self.pass(priority).await?;
                let outcome = self.read_cold(tier, address, pass, priority).await;
                duty.done(outcome.clone());
                break outcome?;
            }
            if let Some(outcome) = poll_fn(|context| read.poll(context)).await {
                break outcome?;
            }
        };
        Ok(Lent {
            session: self,
            fetched: Some(fetched),
        })
    }

    async fn read_cold(
        &self,
        tier: &ColdTier,
        address: ColdAddress,
        pass: Pass,
        priority: Priority,
    ) -> Outcome {
        let fetched = self.read_at(tier, address, pass, priority).await;
        let fetched = fetched.map_err(|error| self.failed(tier, address, error))?;
        self.counters.update(|stats| stats.cold_reads += 1);
        Ok(Arc::new(fetched))
    }

    /// Notes that the record at `address` cannot be read; returns the error for it.
    fn failed(&self, tier: &ColdTier, address: ColdAddress, error: Error) -> Error {
        tier.note_damage(address.position());
        self.counters.update(|stats| stats.cold_reads_failed += 1);
        error
    }

    async fn read_at(
        &self,
        tier: &ColdTier,
        address: ColdAddress,
        pass: Pass,
        priority: Priority,
    ) -> Result<Fetched, Error> {
        let first = address.extent();
        let buffer = self.read_extent(tier, first, pass, priority).await;
        let buffer = buffer.map_err(|_| unreadable(address))?;
        match Fetched::decode(address, &buffer, first.at) {
            Ok(fetched) => Ok(fetched),
            // The record is longer than the address can say.
            Err(Unread::Longer(bytes)) => {
                let whole = address.extent_of(bytes);
                let pass = self.pass_again(priority).await;
                let buffer = self.read_extent(tier, whole, pass, priority).await;
                let buffer = buffer.map_err(|_| unreadable(address))?;
                Fetched::decode(address, &buffer, whole.at).map_err(|why| why.of(address))
            }
            Err(why) => Err(why.of(address)),
        }
    }

    /// Returns the cold records at some addresses, for a caller that goes through many, in the order of their places:
    /// the records are read together, and do not become hot.
    ///
    /// # Errors
    /// [`Error::ColdRecord`]; [`Abort::ReadRefused`], with which the transaction has yet to be
    /// aborted.
    ///
    /// # Suspension
    /// Device waits.
    ///
    /// # Cancellation
    /// Dropping the future is harmless.
    pub(crate) fn fetch_all<'s>(
        &'s self,
        wanted: &'s [ColdAddress],
        priority: Priority,
    ) -> Nested<'s, Result<Vec<Fetched>, Error>> {
        Nested::new(
            async move { noting(Wait::Device, pin!(self.read_all(wanted, priority))).await },
        )
    }

    async fn read_all(
        &self,
        wanted: &[ColdAddress],
        priority: Priority,
    ) -> Result<Vec<Fetched>, Error> {
        let tier = self
            .database
            .cold()
            .expect("a database with cold records has a cold tier");
        let mut wanted = wanted.to_vec();
        wanted.sort_by_key(|address| address.position());
        let mut fetched = Vec::with_capacity(wanted.len());
        let mut runs = Vec::new();
        // All transfers are begun before the first is waited for. Only the first may be refused:
        // many may be more than the gate ever lets in together.
        for run in wanted.chunk_by(|one, next| are_close(*one, *next)) {
            let pass = match runs.is_empty() {
                true => self.pass(priority).await?,
                false => self.pass_again(priority).await,
            };
            let begun = self.begin_to_read(tier, span(run), pass);
            let begun = begun.map_err(|_| self.failed(tier, run[0], unreadable(run[0])));
            runs.push((run, begun?));
        }
        for (run, reading) in runs {
            let buffer = reading.end(self, priority).await;
            let buffer = buffer.map_err(|_| self.failed(tier, run[0], unreadable(run[0])))?;
            let (buffer, from) = (Arc::new(buffer), span(run).from);
            for &address in run {
                let at = (address.position() - from) as usize;
                let one = match Fetched::decode(address, &buffer, at) {
                    Err(Unread::Longer(_)) => {
                        let pass = self.pass_again(priority).await;
                        self.read_at(tier, address, pass, priority).await
                    }
                    one => one.map_err(|why| why.of(address)),
                };
                fetched.push(one.map_err(|error| self.failed(tier, address, error))?);
            }
            self.counters
                .update(|stats| stats.cold_reads += run.len() as u64);
        }
        Ok(fetched)
    }
}

impl Session {
    async fn pass(&self, priority: Priority) -> Result<Pass, Error> {
        let pass = self.gate().enter(priority).await;
        pass.map_err(|Full| Error::Abort(Abort::ReadRefused))
    }

    /// Waits for a pass for a caller that has begun to read, and is not refused any more.
    pub(crate) async fn pass_again(&self, priority: Priority) -> Pass {
        let pass = self.gate().enter_again(priority).await;
        pass.expect("a reader that enters again is not refused")
    }

    pub(super) async fn read_extent(
        &self,
        tier: &ColdTier,
        extent: Extent,
        pass: Pass,
        priority: Priority,
    ) -> io::Result<Arc<Buffer>> {
        let reading = self.begin_to_read(tier, extent, pass)?;
        Ok(Arc::new(reading.end(self, priority).await?))
    }

    fn begin_to_read(&self, tier: &ColdTier, extent: Extent, pass: Pass) -> io::Result<Reading> {
        let (number, offset) = locate(extent.from);
        let file = tier.files.file(number).ok_or(io::ErrorKind::NotFound)?;
        let buffer = self.read_buffers.take(extent.bytes);
        self.begin_reading(pass, &file.file, offset, buffer)
    }
}

impl Unread {
    /// Returns the error that says why there is no record at `address`.
    fn of(self, address: ColdAddress) -> Error {
        match self {
            Unread::Longer(_) | Unread::Flawed(Flaw::Absent) => unreadable(address),
            Unread::Flawed(_) => Error::ColdRecord {
                position: address.position() as usize,
                is_damaged: true,
            },
        }
    }
}

fn unreadable(address: ColdAddress) -> Error {
    Error::ColdRecord {
        position: address.position() as usize,
        is_damaged: false,
    }
}

/// Whether one transfer had better bring both of two records; `one` is before `next`.
fn are_close(one: ColdAddress, next: ColdAddress) -> bool {
    let (one, next) = (one.extent(), next.extent());
    let end = one.from + one.bytes as u64;
    next.from <= end + GAP_BYTES_MAX && locate(one.from).0 == locate(next.from).0
}

/// Returns the range that has all records of a run.
fn span(run: &[ColdAddress]) -> Extent {
    let first = run[0].extent();
    let end = run.iter().map(|address| address.extent());
    let end = end.map(|extent| extent.from + extent.bytes as u64).max();
    Extent {
        bytes: (end.unwrap_or(first.from) - first.from) as usize,
        ..first
    }
}
