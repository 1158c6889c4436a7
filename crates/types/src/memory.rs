//! Memory of statements: each statement's use is counted, and taken from a limit that all share.
//!
//! | part | owner | counts |
//! | --- | --- | --- |
//! | [`MemorySource`] | the database | pieces that connections have taken from the shared limit |
//! | [`Allowance`] | a connection | use of its statements and cursors, in pieces of up to [`PIECE_BYTES_MAX`] |
//! | [`Memory`] | a statement | its use, up to its share; its peak |
//! | [`Charge`] | a container | the container's use, given back when it is dropped |
//!
//! A statement that holds less than its connection's free bytes touches nothing that threads share. Containers are
//! measured when they have grown: after a row or a batch, by [`Charge::set`]. The memory of a single value that may
//! be large is asked for before the value is made ([`Memory::ask`]), so memory that is in use and not counted yet is
//! bounded by one batch's use.

use std::{cell::Cell, fmt, rc::Rc, sync::Arc};

use crate::{Result, SqlError, SqlState};

/// Smallest piece that a connection takes from the shared limit, exact enough for many connections with little. A
/// piece is a quarter of the connection's use, within the two bounds.
pub const PIECE_BYTES_MIN: usize = 16 << 10;

/// Largest piece that a connection takes from the shared limit; the shared counter is touched rarely.
pub const PIECE_BYTES_MAX: usize = 256 << 10;

fn piece_bytes(used: usize) -> usize {
    (used / 4).clamp(PIECE_BYTES_MIN, PIECE_BYTES_MAX)
}

/// A limit on memory that connections share.
pub trait MemorySource: Send + Sync {
    /// Sets `bytes` aside that a connection has in any case.
    fn admit(&self, bytes: usize);

    /// Sets `bytes` more aside for a connection that has `held` already. Returns false, and sets nothing aside, if
    /// the limit does not leave them to it.
    fn take(&self, bytes: usize, held: usize) -> bool;

    /// Takes back `bytes` that were set aside.
    fn give_back(&self, bytes: usize);

    /// Returns the most bytes that a connection which has `held` already would be given now.
    fn left(&self, held: usize) -> usize;

    /// Returns the reason why `bytes` more were refused, as the detail of an error.
    fn why_refused(&self, bytes: usize) -> String;

    /// Returns whether a connection that has `held` already may be refused more soon, while room for it is being made:
    /// a wait may help.
    fn is_making_room(&self, _held: usize) -> bool {
        false
    }

    /// Tells the source that a connection has waited for long while room was being made, and that there was none.
    fn waited_in_vain(&self) {}
}

/// Memory that a connection has taken from the shared limit. Dropping it gives all of it back.
pub struct Allowance {
    source: Option<Arc<dyn MemorySource>>,
    /// Bytes that the connection has in any case.
    free_bytes: usize,
    /// Bytes in use by its statements.
    used: Cell<usize>,
    /// Bytes that it may use without asking: the free ones, and those taken from the source.
    covered: Cell<usize>,
    /// Whether the source was making room when bytes were taken from it last. False while none are taken.
    is_scarce: Cell<bool>,
}

impl Allowance {
    /// Returns an allowance of `free_bytes`, and of what `source` gives beyond them.
    pub fn new(source: Arc<dyn MemorySource>, free_bytes: usize) -> Rc<Allowance> {
        source.admit(free_bytes);
        Rc::new(Allowance {
            source: Some(source),
            free_bytes,
            used: Cell::new(0),
            covered: Cell::new(free_bytes),
            is_scarce: Cell::new(false),
        })
    }

    /// Returns an allowance without a limit.
    pub fn unlimited() -> Rc<Allowance> {
        Rc::new(Allowance {
            source: None,
            free_bytes: usize::MAX,
            used: Cell::new(0),
            covered: Cell::new(usize::MAX),
            is_scarce: Cell::new(false),
        })
    }

    /// Returns the shared limit from which the connection takes its memory, if there is one.
    pub fn source(&self) -> Option<&Arc<dyn MemorySource>> {
        self.source.as_ref()
    }

    /// Returns the bytes in use.
    pub fn used(&self) -> usize {
        self.used.get()
    }

    /// Returns the bytes taken from the source.
    pub fn taken(&self) -> usize {
        self.covered.get() - self.free_bytes
    }

    /// Returns the bytes that its statements can use beside those in use, as of now.
    pub fn left(&self) -> usize {
        let source = self.source.as_ref();
        let left = source.map_or(usize::MAX, |source| source.left(self.taken()));
        left.saturating_add(self.covered.get() - self.used.get())
    }

    /// Returns whether the source was making room when bytes were taken from it last.
    #[inline]
    pub fn is_scarce(&self) -> bool {
        self.is_scarce.get()
    }

    /// Asks the source whether it is making room, and returns what it says.
    pub fn is_still_scarce(&self) -> bool {
        self.is_scarce_for(self.taken())
    }

    /// Asks the source whether it is making room for someone who holds `bytes`, or wants as many.
    fn is_scarce_for(&self, bytes: usize) -> bool {
        let source = self.source.as_ref();
        let is_scarce = source.is_some_and(|source| source.is_making_room(bytes));
        self.is_scarce.set(is_scarce);
        is_scarce
    }

    /// Uses `bytes` more; returns whether they were available.
    #[inline]
    fn grow(&self, bytes: usize) -> bool {
        let used = self.used.get().saturating_add(bytes);
        if used > self.covered.get() && !self.cover(used) {
            return false;
        }
        self.used.set(used);
        true
    }

    /// Takes the missing bytes from the source: a whole number of pieces, or as many as are needed.
    #[cold]
    fn cover(&self, used: usize) -> bool {
        let Some(source) = &self.source else {
            return false;
        };
        let covered = self.covered.get();
        let needed = used - covered;
        let held = covered - self.free_bytes;
        let piece = piece_bytes(used);
        let pieces = needed.div_ceil(piece).saturating_mul(piece);
        let amounts = [pieces, needed].into_iter();
        let taken = { amounts }.find(|bytes| source.take(*bytes, held));
        self.covered.set(covered + taken.unwrap_or(0));
        // A connection that is refused its first bytes, too, finds room when it comes again.
        self.is_scarce_for(self.taken() + if taken.is_none() { needed } else { 0 });
        taken.is_some()
    }

    #[inline]
    fn shrink(&self, bytes: usize) {
        let used = self.used.get().saturating_sub(bytes);
        self.used.set(used);
        if self.covered.get() > self.free_bytes {
            self.uncover(used);
        }
    }

    /// Gives back bytes that are not needed any more. Two pieces are kept while more than the free bytes are in use,
    /// so that a use that grows and shrinks does not take and give one piece again and again.
    #[cold]
    fn uncover(&self, used: usize) {
        let covered = self.covered.get();
        let least = match used <= self.free_bytes {
            true => self.free_bytes,
            false => used + 2 * piece_bytes(used),
        };
        if covered > least
            && let Some(source) = &self.source
        {
            source.give_back(covered - least);
            self.covered.set(least);
            if least == self.free_bytes {
                self.is_scarce.set(false);
            }
        }
    }
}

impl Drop for Allowance {
    fn drop(&mut self) {
        if let Some(source) = &self.source {
            source.give_back(self.covered.get());
        }
    }
}

/// Memory that a statement holds. Shared by its containers; not between threads.
pub struct Memory {
    allowance: Rc<Allowance>,
    /// Maximum bytes that it may hold.
    share: usize,
    /// Bytes of the share that parts of the statement hold on other workers.
    lent: Cell<usize>,
    used: Cell<usize>,
    peak: Cell<usize>,
}

impl Memory {
    /// Returns the memory of a statement that may hold up to `share` bytes of the allowance.
    pub fn new(allowance: &Rc<Allowance>, share: usize) -> Rc<Memory> {
        Rc::new(Memory {
            allowance: allowance.clone(),
            share,
            lent: Cell::new(0),
            used: Cell::new(0),
            peak: Cell::new(0),
        })
    }

    /// Returns the allowance that the statement's memory is taken from.
    pub fn allowance(&self) -> &Rc<Allowance> {
        &self.allowance
    }

    /// Returns the most bytes that the statement may hold.
    pub fn share(&self) -> usize {
        self.share
    }

    /// Sets the bytes of the share that parts of the statement hold on other workers, by allowances of their own: this
    /// memory does not grow into them.
    pub fn lend(&self, bytes: usize) {
        self.lent.set(bytes);
    }

    /// Returns the bytes held.
    pub fn used(&self) -> usize {
        self.used.get()
    }

    /// Returns the most bytes held at once.
    pub fn peak(&self) -> usize {
        self.peak.get()
    }

    /// Asks for `bytes` that are about to be used, without holding them.
    ///
    /// # Errors
    /// 53200 if they are not available.
    #[inline]
    pub fn ask(&self, bytes: usize) -> Result<()> {
        self.grow(bytes)?;
        self.give_back(bytes);
        Ok(())
    }

    #[inline]
    fn grow(&self, bytes: usize) -> Result<()> {
        let used = self.used.get().saturating_add(bytes);
        if used.saturating_add(self.lent.get()) > self.share {
            return Err(self.beyond_share(bytes));
        }
        if !self.allowance.grow(bytes) {
            return Err(self.beyond_limit(bytes));
        }
        self.used.set(used);
        if used > self.peak.get() {
            self.peak.set(used);
        }
        Ok(())
    }

    /// Gives back `bytes` that were held.
    #[inline]
    pub(crate) fn give_back(&self, bytes: usize) {
        self.used.set(self.used.get().saturating_sub(bytes));
        self.allowance.shrink(bytes);
    }

    /// Holds `to` bytes in place of `from`.
    ///
    /// # Errors
    /// 53200 if `to` is greater and the difference is not available; then nothing changes.
    pub(crate) fn resize(&self, from: usize, to: usize) -> Result<()> {
        match to.checked_sub(from) {
            Some(more) => self.grow(more),
            None => {
                self.give_back(from - to);
                Ok(())
            }
        }
    }

    #[cold]
    fn beyond_share(&self, bytes: usize) -> SqlError {
        let detail = format!(
            "The statement holds {}, and asked for {} more; a statement may hold {}.",
            Size(self.used.get() + self.lent.get()),
            Size(bytes),
            Size(self.share)
        );
        out_of_memory(detail).hint(
            "Have the statement keep fewer rows at a time, or raise weft.statement_memory for it; \
             weft.memory is the most that can be set.",
        )
    }

    #[cold]
    fn beyond_limit(&self, bytes: usize) -> SqlError {
        let why = self.allowance.source.as_ref();
        let why = why.map_or_else(String::new, |source| source.why_refused(bytes));
        let detail = format!(
            "The statement holds {}, and asked for {} more. {why}",
            Size(self.used.get()),
            Size(bytes)
        );
        out_of_memory(detail).hint(
            "Run the statement again when others have ended, have it keep fewer rows at a time, or \
             start the server with more --memory.",
        )
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Memory")
            .field("used", &self.used)
            .field("peak", &self.peak)
            .field("share", &self.share)
            .finish_non_exhaustive()
    }
}

fn out_of_memory(detail: String) -> SqlError {
    SqlError::new(SqlState::OUT_OF_MEMORY, "out of memory").detail(detail)
}

/// Share of one container in a statement's memory, given back when this is dropped.
#[derive(Debug, Default)]
pub struct Charge {
    memory: Option<Rc<Memory>>,
    bytes: usize,
}

impl Charge {
    /// Sets the bytes that the container holds now. A container belongs to the statement that it was charged to
    /// first.
    ///
    /// # Errors
    /// 53200 if it has grown by more than is available; the charge stays as it was.
    #[inline]
    pub fn set(&mut self, memory: &Rc<Memory>, bytes: usize) -> Result<()> {
        match bytes == self.bytes {
            true => Ok(()),
            false => self.change(memory, bytes),
        }
    }

    #[cold]
    fn change(&mut self, memory: &Rc<Memory>, bytes: usize) -> Result<()> {
        let memory = self.memory.get_or_insert_with(|| memory.clone());
        memory.resize(self.bytes, bytes)?;
        self.bytes = bytes;
        Ok(())
    }

    /// Makes the charge for `bytes` that are held already.
    pub(crate) fn of(memory: Rc<Memory>, bytes: usize) -> Self {
        Self {
            memory: Some(memory),
            bytes,
        }
    }

    /// Takes over what another charge to the same statement holds.
    pub fn absorb(&mut self, mut other: Charge) {
        let bytes = std::mem::take(&mut other.bytes);
        if let (Some(own), Some(others)) = (&self.memory, &other.memory) {
            debug_assert!(
                bytes == 0 || Rc::ptr_eq(own, others),
                "charges to two statements"
            );
        }
        self.memory = self.memory.take().or_else(|| other.memory.take());
        self.bytes += bytes;
    }

    /// Lowers the bytes that the container holds to `bytes`.
    pub fn lower(&mut self, bytes: usize) {
        if let (Some(memory), Some(less)) = (&self.memory, self.bytes.checked_sub(bytes)) {
            memory.give_back(less);
            self.bytes = bytes;
        }
    }

    /// Returns the bytes of the last charge.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some(memory) = &self.memory {
            memory.give_back(self.bytes);
        }
    }
}

/// Returns what there is memory for, `None` where memory was refused (53200), for a caller that can do with less.
///
/// # Errors
/// All other errors.
pub fn granted<T>(made: Result<T>) -> Result<Option<T>> {
    match made {
        Err(error) if error.state() == SqlState::OUT_OF_MEMORY => Ok(None),
        made => made.map(Some),
    }
}

/// A number of bytes, for display.
pub struct Size(pub usize);

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, usize); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        match UNITS.iter().find(|(_, bytes)| self.0 >= 4 * bytes) {
            Some((unit, bytes)) => write!(formatter, "{} {unit}", self.0.div_ceil(*bytes)),
            None => write!(formatter, "{} bytes", self.0),
        }
    }
}

#[cfg(test)]
mod tests;
