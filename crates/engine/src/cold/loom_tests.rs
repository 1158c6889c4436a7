//! Marks of readers, while the versions that they read leave memory and come back (`cold.rs`), and
//! files that are found to be empty (`files.rs`), in all interleavings. A version is reduced to its
//! mark, the slot to the place of the record.

use loom::{sync::Arc, thread};

use crate::{
    status::{Outcome, Status},
    sync::{AtomicU64, Ordering, fence},
    timestamp::{Timestamp, TransactionId},
};

/// Places of the record: the version that was read, that version frozen, the device, the copy that
/// was promoted, and below the version that `U` wrote.
const HOT: u64 = 0;
const FROZEN: u64 = 1;
const COLD: u64 = 2;
const COPY: u64 = 3;
const OVERWRITTEN: u64 = 4;

#[derive(Default)]
struct Record {
    place: AtomicU64,
    mark: AtomicU64,
    mark_of_copy: AtomicU64,
    bound: AtomicU64,
}

fn raise(mark: &AtomicU64, at: u64) -> bool {
    mark.fetch_max(at, Ordering::Relaxed) < at
}

impl Record {
    /// Models `Transaction::mark_records`.
    fn mark(&self, at: u64) -> bool {
        match self.place.load(Ordering::Acquire) {
            HOT => raise(&self.mark, at),
            FROZEN => raise(&self.mark, at) | raise(&self.bound, at),
            COLD => raise(&self.bound, at),
            _ => raise(&self.mark_of_copy, at),
        }
    }

    /// Models `Session::chill`.
    fn demote(&self) {
        self.place.store(FROZEN, Ordering::Release);
        fence(Ordering::SeqCst);
        raise(&self.bound, self.mark.load(Ordering::Relaxed));
        self.place.store(COLD, Ordering::Release);
    }
}

impl Record {
    /// Models `Session::evacuate_head`.
    fn evacuate(&self) {
        self.place.store(FROZEN, Ordering::Release);
        fence(Ordering::SeqCst);
        let mark = self.mark.load(Ordering::Relaxed);
        self.mark_of_copy.store(mark, Ordering::Relaxed);
        self.place.store(COPY, Ordering::Release);
    }

    fn demote_and_promote(&self) {
        self.demote();
        self.place.store(COPY, Ordering::Release);
    }
}

/// `T` has read the record and commits, while the record is demoted, and while `U` has it promoted,
/// overwrites it and commits: either `T` notices `U`, or `U` sees the mark.
#[test]
fn a_writer_over_a_promoted_copy_sees_the_marks_of_the_version() {
    overwrites_after(Record::demote_and_promote);
}

/// `T` has read the record and commits, while its version is moved in memory, and while `U`
/// overwrites it and commits: either `T` notices `U`, or `U` sees the mark.
#[test]
fn a_writer_over_a_moved_copy_sees_the_marks_of_the_version() {
    overwrites_after(Record::evacuate);
}

fn overwrites_after(goes: fn(&Record)) {
    loom::model(move || {
        let clock = Arc::new(AtomicU64::new(10));
        let record = Arc::new(Record::default());
        let status = Arc::new(Status::new());
        let id = TransactionId::new(0, 0, status.begin());
        let others = {
            let (clock, record, status) = (clock.clone(), record.clone(), status.clone());
            thread::spawn(move || {
                goes(&record);
                record.place.store(OVERWRITTEN, Ordering::Release);
                let at = status.take_timestamp(id.sequence(), &clock);
                fence(Ordering::SeqCst);
                let copy = record.mark_of_copy.load(Ordering::Relaxed);
                let eta = copy.max(record.bound.load(Ordering::Relaxed));
                status.commit(id.sequence(), at);
                (at.0, eta)
            })
        };
        let at = clock.fetch_add(1, Ordering::SeqCst) + 1;
        loop {
            let is_news = record.mark(at);
            fence(Ordering::SeqCst);
            if !is_news {
                break;
            }
        }
        let notices = record.place.load(Ordering::Acquire) == OVERWRITTEN
            && !matches!(status.outcome(id, Timestamp(at)), Outcome::Active);
        let (overwritten_at, eta) = others.join().unwrap();
        assert!(
            notices || (eta >= at && overwritten_at > at),
            "{overwritten_at} {eta} {at}"
        );
    });
}

/// Runs `Session::chill` for a version that remembers an address in a file, while that file is
/// closed and slots are looked at: if no slot names a record there, none ever will.
#[test]
fn nothing_becomes_cold_in_a_file_that_was_found_empty() {
    loom::model(|| {
        let (record, closed) = (Arc::new(Record::default()), Arc::new(AtomicU64::new(0)));
        let demotion = {
            let (record, closed) = (record.clone(), closed.clone());
            thread::spawn(move || {
                record.place.store(FROZEN, Ordering::Release);
                fence(Ordering::SeqCst);
                let to = match closed.load(Ordering::Acquire) {
                    0 => COLD,
                    _ => HOT,
                };
                record.place.store(to, Ordering::Release);
            })
        };
        // Models `ColdFile::close`, and `address_in`.
        closed.store(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        while record.place.load(Ordering::Relaxed) == FROZEN {
            thread::yield_now();
        }
        let is_empty = record.place.load(Ordering::Acquire) != COLD;
        demotion.join().unwrap();
        let stays_so = record.place.load(Ordering::Acquire) != COLD;
        assert!(!is_empty || stays_so);
    });
}
