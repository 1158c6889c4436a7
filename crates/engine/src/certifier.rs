//! State that serializable transactions of different sessions share besides their versions: the
//! certifier, and two announcements per session.
//!
//! - *Range stamps*: for each table (or index), the newest commit of a transaction of this session
//!   that relied on the absence of records there: of keys that it did not find, of records missing
//!   from a range that it scanned. A transaction that inserts a record has no older version where
//!   such readers could have left a mark. (Tables share stamps: [`TableSet`].)
//! - *Read-only snapshot*: the newest snapshot of a transaction that was declared read-only.
//!   Read-only transactions leave no other trace.
//!
//! Both only grow, are written by their session alone, and read by others in the rare case that a
//! transaction has a successor that committed before it (`transaction/certify.rs`). Later sessions
//! take over the numbers of ended ones, so nothing is ever forgotten.

use std::sync::OnceLock;

use crate::{
    horizon::Horizon,
    sync::{AtomicU64, AtomicUsize, Ordering, fence},
    table_set::TableSet,
    timestamp::{SESSIONS_MAX, Timestamp},
};

/// Certification of serializable transactions at their commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Certifier {
    /// The serial safety net: a transaction aborts if one of its successors in any serial order
    /// committed before one of its predecessors (Wang, Johnson, Fekete, Pandis: "Efficiently making
    /// (almost) any concurrency control mechanism serializable", VLDB Journal 26, 2017). Records
    /// that a transaction read may have been changed when it commits.
    #[default]
    Ssn,
    /// Validation: all records that a transaction read must be current when it commits, unless it
    /// wrote nothing (after Silo; paper 004 section 2.1.4).
    Validation,
}

/// Announcements of one session.
#[repr(align(128))]
pub(crate) struct Announcements {
    ranges: [AtomicU64; TableSet::PLACES],
    read_only: AtomicU64,
}

impl Announcements {
    pub(crate) fn new() -> Announcements {
        Announcements {
            ranges: std::array::from_fn(|_| AtomicU64::new(0)),
            read_only: AtomicU64::new(0),
        }
    }

    /// Raises the session's range stamps of these tables.
    ///
    /// The caller's fence comes between this call and its look at the nodes; an inserter's fence
    /// comes between its insertion and [`Board::last_range_reader`].
    pub(crate) fn raise_ranges(&self, tables: TableSet, at: Timestamp) {
        for place in tables.places() {
            let range = &self.ranges[place];
            if range.load(Ordering::Relaxed) < at.0 {
                range.store(at.0, Ordering::Relaxed);
            }
        }
    }

    /// Returns the newest of the session's range stamps of these tables.
    pub(crate) fn newest_range(&self, tables: TableSet) -> Timestamp {
        let stamps = tables
            .places()
            .map(|place| self.ranges[place].load(Ordering::Relaxed));
        Timestamp(stamps.max().unwrap_or_default())
    }

    /// Returns the newest snapshot of a transaction of this session that was declared read-only.
    pub(crate) fn last_read_only(&self) -> Timestamp {
        Timestamp(self.read_only.load(Ordering::Relaxed))
    }

    /// Announces and returns a snapshot of the present, for a transaction that is declared
    /// read-only.
    ///
    /// ```text
    ///   reader                       writer T, with a successor at p <= s
    ///   read_only = s                c = clock.fetch_add(1) + 1
    ///   fence(SeqCst)                fence(SeqCst)
    ///   clock == s ?                 reads read_only
    /// ```
    /// If `s < c`, the reader's second load of the clock comes before the writer's increment, so
    /// the writer sees the announcement, and aborts. Otherwise the snapshot includes `T`.
    #[inline]
    pub(crate) fn read_only_snapshot(&self, horizon: &Horizon) -> Timestamp {
        loop {
            let snapshot = horizon.now();
            if self.read_only.load(Ordering::Relaxed) == snapshot.0 {
                return snapshot;
            }
            self.read_only.store(snapshot.0, Ordering::Relaxed);
            // Pairs with the fence in `Transaction::leave_marks`.
            fence(Ordering::SeqCst);
            if horizon.now() == snapshot {
                return snapshot;
            }
        }
    }
}

/// Announcements of all sessions.
pub(crate) struct Board {
    sessions: Box<[OnceLock<Announcements>]>,
    /// Number of sessions that have announcements: the first of `sessions`.
    count: AtomicUsize,
}

impl Board {
    pub(crate) fn new() -> Board {
        Board {
            sessions: (0..SESSIONS_MAX).map(|_| OnceLock::new()).collect(),
            count: AtomicUsize::new(0),
        }
    }

    /// Makes room for the announcements of a new session.
    pub(crate) fn enter(&self, number: u16) {
        let number = usize::from(number);
        self.sessions[number].get_or_init(Announcements::new);
        // SeqCst: a reader that does not count this session yet comes before its first
        // announcement.
        self.count.fetch_max(number + 1, Ordering::SeqCst);
    }

    /// Returns the announcements of a session that has entered.
    #[inline]
    pub(crate) fn session(&self, number: u16) -> &Announcements {
        self.sessions[usize::from(number)]
            .get()
            .expect("a session enters before anything else")
    }

    fn all(&self) -> impl Iterator<Item = (usize, &Announcements)> {
        let count = self.count.load(Ordering::SeqCst);
        let sessions = self.sessions[..count].iter().enumerate();
        sessions.filter_map(|(number, session)| Some((number, session.get()?)))
    }

    /// Returns the newest commit that relied on an absence in one of these tables. Session `own`
    /// counts with `before`, its newest stamp of these tables at an earlier time.
    pub(crate) fn last_range_reader(
        &self,
        own: u16,
        tables: TableSet,
        before: Timestamp,
    ) -> Timestamp {
        let others = self.all().filter(|&(number, _)| number != own.into());
        let stamps = others.map(|(_, session)| session.newest_range(tables));
        stamps.fold(before, Timestamp::max)
    }

    /// Returns the newest snapshot of a transaction that was declared read-only, in any session.
    pub(crate) fn last_read_only(&self) -> Timestamp {
        let snapshots = self.all().map(|(_, session)| session.last_read_only());
        snapshots.max().unwrap_or_default()
    }
}
