//! Weak table locks, without a write to shared memory.
//!
//! Every statement locks the tables that it uses weakly ([`TableLockMode::is_weak`]), and weak
//! locks never exclude each other. Therefore each context has a few *entries*, on lines that only
//! its worker writes, and each table has a *gate*, which all transactions only read. A transaction
//! that wants a stronger lock closes the gate and *transfers* the entries of that table to the lock
//! table, in the names of their transactions; from then on all locks of the table are there, until
//! no transaction has or wants any and the gate opens (`tables.rs`).
//!
//! # A gate and an entry
//! ```text
//!   owner                               strong (under the latch of the lock table)
//!   entry = table, modes  (SeqCst)      gate = closed        (SeqCst)
//!   gate open?            (SeqCst)      entry of this table? (SeqCst) → transferred
//! ```
//! Store before load on both sides, all sequentially consistent: if the owner sees the gate open,
//! the strong transaction sees the entry. If the owner sees the gate closed, it takes the entry
//! back, unless the entry was transferred meanwhile: then the owner has the lock all the same, in
//! the lock table.
//!
//! # The owner of an entry
//! The owner's name is stored before the first entry of a transaction (which is a Release), and is
//! another's only after all entries are gone. An entry that was transferred is removed by its owner
//! alone, which goes through the latch for that, because the lock is in the lock table. The name
//! read after the transfer, under the latch, is therefore that of the transaction whose entry it
//! was, and not of a later user of the context. `loom_tests.rs` checks both.

use super::mode::TableLockModes;
use crate::{
    sync::{AtomicBool, AtomicU64, Ordering, fence},
    timestamp::TransactionId,
};

/// Maximum tables of which a transaction can have weak locks here; further ones are in the lock
/// table.
const ENTRIES: usize = if cfg!(loom) { 1 } else { 15 };

/// Bit of an entry whose lock was transferred to the lock table.
const TRANSFERRED: u64 = 1 << 63;

/// Stands for the guarantee of SeqCst about the accesses around it: the model checker knows it of
/// fences only.
#[inline(always)]
fn model_seq_cst() {
    #[cfg(loom)]
    fence(Ordering::SeqCst);
    #[cfg(not(loom))]
    let _ = fence;
}

/// Gate of a table: whether its weak locks have to go by the lock table.
#[derive(Debug)]
pub(crate) struct Gate {
    /// Name of the gate: the number of the table's first storage.
    number: u32,
    is_closed: AtomicBool,
}

impl Gate {
    pub(crate) fn new(number: u32) -> Gate {
        Gate {
            number,
            is_closed: AtomicBool::new(false),
        }
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Whether a transaction has or wants a lock that is not weak.
    #[inline(always)]
    pub(crate) fn is_closed(&self) -> bool {
        // SeqCst: module text.
        self.is_closed.load(Ordering::SeqCst)
    }

    /// Closes the gate. To be called under the latch of the lock table.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        model_seq_cst();
    }

    /// Opens the gate. To be called under the latch of the lock table, when it has no lock of this
    /// table.
    pub(super) fn open(&self) {
        self.is_closed.store(false, Ordering::SeqCst);
    }
}

/// Weak locks of a context.
pub(crate) struct WeakLocks {
    owner: AtomicU64,
    entries: [AtomicU64; ENTRIES],
}

impl Default for WeakLocks {
    fn default() -> WeakLocks {
        WeakLocks {
            owner: AtomicU64::new(0),
            entries: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

/// Outcome of an attempt to take a weak lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The lock is held.
    Held,
    /// The lock table has to be asked.
    AskTheTable,
}

fn entry_of(number: u32, modes: TableLockModes) -> u64 {
    u64::from(number) | u64::from(modes.bits()) << 32
}

fn number_of(entry: u64) -> u32 {
    entry as u32
}

fn modes_of(entry: u64) -> TableLockModes {
    TableLockModes::from_bits((entry >> 32) as u8)
}

impl WeakLocks {
    fn find(&self, number: u32) -> Option<&AtomicU64> {
        // Relaxed: only transfers by other threads change the owner's entries, and a
        // compare-and-swap meets those.
        let mut entries = self.entries.iter();
        entries.find(|entry| {
            let entry = entry.load(Ordering::Relaxed);
            entry != 0 && number_of(entry) == number
        })
    }

    /// Whether another table's lock would find an entry.
    pub(crate) fn has_room(&self) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|entry| entry.load(Ordering::Relaxed) == 0)
    }

    /// Takes a lock of weak `modes`, which include those that `owner` has on the table already.
    #[inline]
    pub(crate) fn take(&self, owner: TransactionId, gate: &Gate, modes: TableLockModes) -> Taken {
        let wanted = entry_of(gate.number, modes);
        let (entry, before) = match self.find(gate.number) {
            Some(entry) => {
                let before = entry.load(Ordering::Relaxed);
                if before & TRANSFERRED != 0 {
                    return Taken::AskTheTable;
                }
                let changed =
                    entry.compare_exchange(before, wanted, Ordering::SeqCst, Ordering::Relaxed);
                // The entry was transferred just now.
                if changed.is_err() {
                    return Taken::AskTheTable;
                }
                (entry, before)
            }
            None => {
                let mut entries = self.entries.iter();
                let Some(entry) = entries.find(|entry| entry.load(Ordering::Relaxed) == 0) else {
                    return Taken::AskTheTable;
                };
                // The entry's Release makes it known.
                self.owner.store(owner.word(), Ordering::Relaxed);
                entry.store(wanted, Ordering::SeqCst);
                (entry, 0)
            }
        };
        model_seq_cst();
        if !gate.is_closed() {
            return Taken::Held;
        }
        let back = entry.compare_exchange(wanted, before, Ordering::SeqCst, Ordering::Relaxed);
        match back {
            Ok(_) => Taken::AskTheTable,
            Err(_) => Taken::Held,
        }
    }

    /// Weakens the lock on a table to the modes `to`, or gives it up. Returns false if the lock is
    /// in the lock table, to be weakened there.
    #[inline]
    pub(crate) fn weaken(&self, number: u32, to: TableLockModes) -> bool {
        let Some(entry) = self.find(number) else {
            return false;
        };
        let before = entry.load(Ordering::Relaxed);
        if before & TRANSFERRED == 0 {
            let after = match to.is_empty() {
                true => 0,
                false => entry_of(number, to),
            };
            // Release: the transaction's work comes before a thread that finds no entry.
            let weakened =
                entry.compare_exchange(before, after, Ordering::AcqRel, Ordering::Relaxed);
            if weakened.is_ok() {
                return true;
            }
        }
        false
    }

    /// Forgets an entry that was transferred, once the lock table has the lock no more.
    pub(crate) fn forget(&self, number: u32) {
        if let Some(entry) = self.find(number) {
            entry.store(0, Ordering::Release);
        }
    }

    /// Transfers the context's lock of the table `number`, if there is one, to the lock table. To
    /// be called under the latch of the lock table, after the gate was closed.
    pub(super) fn transfer(&self, number: u32) -> Option<(TransactionId, TableLockModes)> {
        for entry in &self.entries {
            // SeqCst: module text.
            let mut found = entry.load(Ordering::SeqCst);
            while found != 0 && found & TRANSFERRED == 0 && number_of(found) == number {
                let moved = entry.compare_exchange(
                    found,
                    found | TRANSFERRED,
                    Ordering::SeqCst,
                    Ordering::SeqCst,
                );
                match moved {
                    Ok(_) => {
                        let owner = self.owner.load(Ordering::Relaxed);
                        return Some((TransactionId::from_word(owner), modes_of(found)));
                    }
                    Err(now) => found = now,
                }
            }
        }
        None
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
