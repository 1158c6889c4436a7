//! The way of a write to the slot of its record.

use index::{InsertError, Inserted, look_up};
use interleave::{Point, Policy, leaf};

use super::{
    super::{
        Statement, Transaction, conflict::let_others_go, in_turns::give_way, read::INDEX_POINT,
    },
    Content, Intent, Written,
};
use crate::{
    cold::Patience,
    error::Error,
    indirection::Rid,
    locks::{Strength, Waited},
    session::{State, WriteKind},
    table::Table,
    version::Version,
};

/// Way to the slot of a record that is to be written.
pub(in super::super) trait Seek: Copy {
    /// Finds the slot and writes, unless the write is refused or blocked.
    ///
    /// # Suspension
    /// Memory waits.
    async fn attempt<'t, P: Policy>(
        self,
        statement: &Statement<'t>,
        table: &'t Table,
        key: &[u8],
        content: impl Content,
        intent: Intent,
    ) -> Result<Written<'t>, Error>;
}

/// Lookup of the key: a record that the index does not know is absent.
#[derive(Clone, Copy)]
pub(in super::super) struct Existing;

/// Place where a transaction has found the record, if that is the last record it found; otherwise
/// as [`Existing`].
#[derive(Clone, Copy)]
pub(in super::super) struct Found<'f>(pub(in super::super) Option<&'f Transaction>);

/// Lookup of the key that makes the record if the index does not know the key.
#[derive(Clone, Copy)]
pub(in super::super) struct OrNew;

impl<'t> Statement<'t> {
    /// Writes a record; waits for other transactions, if this transaction is to wait, and then
    /// begins again from the key. An own write that has to be found among many is searched between
    /// attempts, so that nothing is pinned while other tasks have a turn.
    ///
    /// # Suspension
    /// Memory waits; an event wait for other transactions; yields while an own write is searched.
    #[inline(always)]
    #[allow(clippy::manual_async_fn, reason = "see `Transaction::write`")]
    pub(in super::super) fn write<P: Policy>(
        &self,
        seek: impl Seek,
        table: &'t Table,
        key: &[u8],
        content: impl Content,
        intent: Intent,
    ) -> impl Future<Output = Result<Written<'t>, Error>> {
        async move {
            let mut handed: Option<Waited> = None;
            let mut patience = Patience::default();
            loop {
                let written = leaf!(P, seek.attempt(self, table, key, content, intent));
                let written = match written {
                    // A task in a group is polled until it is ready.
                    Err(Error::MemoryExhausted) if !P::IS_GROUPED => {
                        self.transaction.wait_for_room(&mut patience).await?;
                        continue;
                    }
                    written => written?,
                };
                match written {
                    Written::Blocked(waiting) => {
                        handed = Some(waiting.await?);
                        continue;
                    }
                    Written::Cold(_) if self.transaction.context.passes_over_cold.get() => {
                        return Ok(Written::Refused);
                    }
                    Written::Cold(slot) => {
                        self.transaction.thaw_to_write(slot).await?;
                        self.transaction.check_open()?;
                        continue;
                    }
                    Written::Sought => {
                        give_way().await;
                        self.transaction.check_open()?;
                        continue;
                    }
                    _ => {}
                }
                // A lock that the write waited for in vain goes to the next transaction.
                if !written.is_done()
                    && let Some(handed) = handed
                {
                    self.transaction.give_up(handed);
                }
                return Ok(written);
            }
        }
    }
}

impl Seek for Existing {
    #[inline(always)]
    async fn attempt<'t, P: Policy>(
        self,
        statement: &Statement<'t>,
        table: &'t Table,
        key: &[u8],
        content: impl Content,
        intent: Intent,
    ) -> Result<Written<'t>, Error> {
        Found(None)
            .attempt::<P>(statement, table, key, content, intent)
            .await
    }
}

impl Seek for Found<'_> {
    #[inline(always)]
    async fn attempt<'t, P: Policy>(
        self,
        statement: &Statement<'t>,
        table: &'t Table,
        key: &[u8],
        content: impl Content,
        intent: Intent,
    ) -> Result<Written<'t>, Error> {
        let pin = statement.transaction.session.memory.pin();
        let mut found = self.0.and_then(|by| by.place_found(table, key));
        loop {
            let is_found = found.is_some();
            let (rid, found_in) = match found.take() {
                Some(rid) => (rid, None),
                None => {
                    let mut lookup = table.index.lookup(&pin, key);
                    let Some(rid) = look_up!(P, INDEX_POINT, lookup) else {
                        statement
                            .transaction
                            .note_absence(table, key, lookup.found_in());
                        return Ok(Written::Refused);
                    };
                    (Rid(rid), lookup.found_in())
                }
            };
            let slot = table.records.slot(rid);
            P::touch(Point::new("engine: slot"), slot, size_of_val(slot)).await;
            let written = statement
                .write_record::<P, _>(table, rid, slot, key, content, intent)
                .await?;
            if matches!(written, Written::Refused) {
                // The index says that no record is under the key; the versions say that a row is
                // gone.
                if is_found {
                    continue;
                }
                statement.transaction.note_absence(table, key, found_in);
            }
            return Ok(written);
        }
    }
}

impl Seek for OrNew {
    #[inline(always)]
    async fn attempt<'t, P: Policy>(
        self,
        statement: &Statement<'t>,
        table: &'t Table,
        key: &[u8],
        content: impl Content,
        intent: Intent,
    ) -> Result<Written<'t>, Error> {
        let transaction = statement.transaction;
        let session = &*transaction.session;
        loop {
            let pin = session.memory.pin();
            let rid = session.rids.borrow_mut().take(table, &session.memory)?;
            let (memory, id) = (&session.memory, transaction.id());
            let version = content.with(None, |new, _| {
                Ok(Version::create(memory, id, new, None, Strength::Update)?)
            });
            let version = match version {
                Ok(Some(version)) => version,
                failed => {
                    session.rids.borrow_mut().put_back(table.number(), rid);
                    return failed.map(|_| Written::Left);
                }
            };
            if !content.is_deletion() {
                table.note_version_bytes(version.block_bytes());
            }
            let slot = table.records.slot(rid);
            slot.publish_first(version);
            let mut record = Unpublished {
                transaction,
                table,
                rid,
                version,
                published: false,
            };
            // The index publishes in its last, unsuspended stretch. If this future is dropped
            // before that, `record` is taken back.
            let tracker = transaction.tracker(table);
            let inserted = table
                .index
                .insert_observed::<P, _>(&session.memory, &pin, key, rid.0, tracker)
                .await;
            match inserted {
                Ok(Inserted::New) => {
                    record.published = true;
                    statement.remember(
                        WriteKind::Record,
                        table,
                        rid,
                        slot,
                        version,
                        None,
                        Some(key),
                    );
                    // A sibling under the same `join` may have aborted the transaction while the
                    // index was being searched.
                    if let Err(over) = transaction.check_open() {
                        // The owner of a doomed transaction undoes this write with the others.
                        if !matches!(transaction.context.state.get(), State::Doomed(_)) {
                            transaction.take_writes_back(0);
                        }
                        return Err(over);
                    }
                    return Ok(Written::Done);
                }
                Ok(Inserted::Present(present)) => {
                    drop(record);
                    let rid = Rid(present);
                    let slot = table.records.slot(rid);
                    P::touch(Point::new("engine: slot"), slot, size_of_val(slot)).await;
                    let written = statement
                        .write_record::<P, _>(table, rid, slot, key, content, intent)
                        .await?;
                    if !matches!(written, Written::Dying) {
                        return Ok(written);
                    }
                }
                Err(InsertError::KeyTooLong) => return Err(Error::KeyTooLong { bytes: key.len() }),
                Err(_) => return Err(Error::MemoryExhausted),
            }
            // Another thread is removing the key: let it finish.
            drop(pin);
            let_others_go::<P>(Point::new("engine: dying record"), slot).await;
        }
    }
}

/// Record on its way into the index; taken back unless it gets there.
struct Unpublished<'t> {
    transaction: &'t Transaction,
    table: &'t Table,
    rid: Rid,
    version: Version,
    published: bool,
}

impl Drop for Unpublished<'_> {
    fn drop(&mut self) {
        if self.published {
            return;
        }
        let session = &self.transaction.session;
        self.table.records.slot(self.rid).clear();
        session
            .rids
            .borrow_mut()
            .put_back(self.table.number(), self.rid);
        // SAFETY: no index names the RID, so no reader has seen the version.
        unsafe {
            self.version
                .free(&session.memory, self.version.block_bytes())
        };
    }
}
