//! Installing a new version in front of a chain, and the transaction's note of it.

use interleave::{Point, Policy};

use super::{
    super::{
        Statement, Transaction,
        conflict::{Seized, Standing, let_others_go},
        row::Trace,
        visibility::Sight,
    },
    Content, Intent, Written,
};
use crate::{
    error::Error,
    indirection::{Rid, Slot},
    locks::{Place, Strength},
    secondary::{derived::is_derived, entry::Entry},
    session::{KeptKey, Saved, Step, Write, WriteKind},
    table::Table,
    version::{HEADER_BYTES, Version},
};

/// Waits while the transaction that made the head ends.
const OWNER_ENDS: Point = Point::new("engine: ending owner");

impl<'t> Statement<'t> {
    /// Puts a new version in front of the chain in `slot`, if `intent` allows it. The slot must
    /// have been touched.
    #[inline(always)]
    pub(super) async fn write_record<P: Policy, C: Content>(
        &self,
        table: &Table,
        rid: Rid,
        slot: &'t Slot,
        key: &[u8],
        content: C,
        intent: Intent,
    ) -> Result<Written<'t>, Error> {
        let transaction = self.transaction;
        // A row with a snapshot was visible at the snapshot of the transaction that found it, which
        // may be newer than this transaction's: such a row never counts as absent.
        let absent = matches!(intent, Intent::Change | Intent::Row(None));
        let bytes = if C::READS_OLD {
            table.prefetch_bytes()
        } else {
            HEADER_BYTES
        };
        loop {
            let standing = self.examine::<P>(table, slot, key, bytes, absent).await?;
            let (head, sight) = match standing {
                Standing::Free(head, sight) => (head, sight),
                Standing::Cold => return Ok(Written::Cold(slot)),
                Standing::Unseen => return Ok(Written::Refused),
                Standing::Gone => {
                    return Ok(match intent {
                        Intent::Change | Intent::Row(_) | Intent::Expire => Written::Refused,
                        _ => Written::Dying,
                    });
                }
                Standing::Owned(head, owner) => {
                    let weakest = content.weakest();
                    match self.seize_to_write(slot, head, Some(owner), weakest)? {
                        Seized::Blocked(waiting) => return Ok(Written::Blocked(waiting)),
                        _ => let_others_go::<P>(OWNER_ENDS, slot).await,
                    }
                    continue;
                }
            };
            if let Intent::Row(since) = intent {
                match transaction.trace(slot, head, sight, since)? {
                    Trace::Here => {}
                    Trace::Already => return Ok(Written::Already),
                    Trace::Absent => return Ok(Written::Absent),
                    Trace::Moved(place) => return Ok(Written::Moved(place)),
                }
            }
            let refusal = match intent {
                Intent::Insert if !transaction.is_absent(table, head) => Some(Written::Refused),
                Intent::Change | Intent::Row(_) if transaction.is_absent(table, head) => {
                    Some(Written::Refused)
                }
                Intent::Expire if !transaction.has_lapsed(table, head) => Some(Written::Refused),
                Intent::Claim(rid) => transaction.refuse_claim(table, head, rid),
                Intent::Erase(rid) if is_anothers(table, head, rid) => Some(Written::Refused),
                _ => None,
            };
            if let Some(refusal) = refusal {
                // Under read committed the head may be newer than the snapshot.
                if let Some(timestamp) = transaction.committed_at(head) {
                    transaction.saw(timestamp);
                }
                transaction.note(slot, Some(head));
                return Ok(refusal);
            }
            if sight == Sight::Own {
                let Some(at) = transaction.place_of_write(slot, head) else {
                    return Ok(Written::Sought);
                };
                let rewritten = content.with(head.payload(), |new, strength| {
                    self.rewrite(table, (at, slot, head), key, new, strength)
                });
                match rewritten? {
                    None => return Ok(Written::Left),
                    Some(true) => return Ok(Written::Done),
                    Some(false) => {}
                }
                // Other transactions hold locks on the key, which the earlier write has kept.
                let own = Some(transaction.id());
                match self.seize_to_write(slot, head, own, Strength::Update)? {
                    Seized::Blocked(waiting) => return Ok(Written::Blocked(waiting)),
                    Seized::Held if !transaction.has_locked_record(slot, Strength::Update) => {
                        // The lock table knows a lock that the list of locks does not; no case of
                        // this is known. The next attempt asks the list.
                        debug_assert!(false, "a lock that is on no list");
                        transaction.note_lock(Place::of(slot), Strength::Update, false);
                    }
                    _ => {}
                }
                continue;
            }
            let is_locked = slot.is_marked();
            let locks = transaction.context.locks.borrow().len();
            let weakest = content.weakest();
            if is_locked {
                match self.seize_to_write(slot, head, None, weakest)? {
                    Seized::Held => {}
                    Seized::Blocked(waiting) => return Ok(Written::Blocked(waiting)),
                    _ => continue,
                }
            }
            let memory = &transaction.session.memory;
            let id = transaction.id();
            let version = content.with(head.payload(), |new, strength| {
                Ok(Version::create(memory, id, new, Some(head), strength)?)
            })?;
            let Some(version) = version else {
                transaction.note(slot, Some(head));
                return Ok(Written::Left);
            };
            if is_locked && version.strength() > weakest {
                // A writer that waits for the end of a key share first gives up the weaker lock,
                // so the share's holder can write beside the wait.
                transaction.release_locks(locks);
                let seized = self.seize_to_write(slot, head, None, version.strength());
                if !matches!(seized, Ok(Seized::Held)) {
                    // SAFETY: the version was never published.
                    unsafe { version.free(memory, version.block_bytes()) };
                }
                match seized? {
                    Seized::Held => {}
                    Seized::Blocked(waiting) => return Ok(Written::Blocked(waiting)),
                    _ => continue,
                }
            }
            let replaced = if is_locked {
                slot.replace_own(head, version);
                true
            } else {
                slot.replace(head, version)
            };
            if replaced {
                table.chunks.supersede(rid, memory);
                let old = (head, head.block_bytes() as u32);
                // Commit needs the key of a deletion, undo that of a tombstone, the log all keys.
                let logs = transaction.session.lane().is_some() && !is_derived(table.number());
                let key = (logs || content.is_deletion() || head.is_tombstone()).then_some(key);
                self.remember(
                    WriteKind::Version,
                    table,
                    rid,
                    slot,
                    version,
                    Some(old),
                    key,
                );
                return Ok(Written::Done);
            }
            // SAFETY: the version was never published.
            unsafe { version.free(memory, version.block_bytes()) };
            if slot.is_frozen() {
                let_others_go::<P>(Point::new("engine: record that becomes cold"), slot).await;
            }
        }
    }
}

impl Transaction {
    /// Whether `version` is that of a record which has expired.
    fn has_lapsed(&self, table: &Table, version: Version) -> bool {
        let stored = version.payload();
        stored.is_some_and(|stored| self.is_expired(table, stored))
    }

    /// Returns the reason why an entry cannot belong to the record `rid`, if it cannot.
    #[inline(always)]
    fn refuse_claim<'t>(&self, entries: &Table, head: Version, rid: Rid) -> Option<Written<'t>> {
        let stored = head.payload()?;
        let payload = entries.split(stored).1;
        if Entry::rid(payload) == rid {
            return None;
        }
        if self.is_expired(entries, stored) {
            return Some(Written::Lapsed(Entry::decode(payload).primary_key.into()));
        }
        Some(Written::Refused)
    }
}

impl Statement<'_> {
    #[allow(clippy::too_many_arguments)] // The fields of one `Write`.
    #[inline]
    pub(super) fn remember(
        &self,
        kind: WriteKind,
        table: &Table,
        rid: Rid,
        slot: *const Slot,
        version: Version,
        old: Option<(Version, u32)>,
        key: Option<&[u8]>,
    ) {
        let context = &self.transaction.context;
        if context.will_grow(key.map_or(0, <[u8]>::len)) {
            self.transaction.session.account.charge(context);
        }
        context.add_version(version);
        let key = key.map_or_else(KeptKey::default, |key| context.keep_key(key));
        let table = table.number();
        context.command.wrote(slot, None);
        if !is_derived(table) {
            context.note_written(table);
            if version.is_tombstone() {
                self.transaction.note_of_places(|moves| moves.deleted(slot));
            }
        }
        let mut writes = context.writes.borrow_mut();
        if self.journals {
            let (write, before) = (writes.len(), None);
            context.journal.borrow_mut().push(Step { write, before });
        }
        writes.push(Write {
            kind,
            slot,
            version,
            old,
            table,
            rid,
            key,
            savepoint: context.savepoints.borrow().newest(),
        });
    }

    /// Changes a record that this transaction has written before, at the place `at` in the list of
    /// writes, in `slot`, whose head is the version `own`. Returns false if the record has to be
    /// locked more strongly first. Keeps `own` if a savepoint was made since, or for the journal.
    fn rewrite(
        &self,
        table: &Table,
        (at, slot, own): (usize, &Slot, Version),
        key: &[u8],
        value: Option<&[u8]>,
        strength: Strength,
    ) -> Result<bool, Error> {
        let transaction = self.transaction;
        let context = &transaction.context;
        let mut writes = context.writes.borrow_mut();
        let write = &mut writes[at];
        let mut savepoints = context.savepoints.borrow_mut();
        let is_saved = write.savepoint < savepoints.newest();
        let is_stronger = strength > own.strength();
        let was_tombstone = own.is_tombstone();
        let is_replaced = is_saved || self.journals || is_stronger;
        // SAFETY: an own, uncommitted version; reads hand slices out only within calls.
        if is_replaced || !unsafe { own.overwrite(value) } {
            let memory = &transaction.session.memory;
            let strength = strength.max(own.strength());
            let version = Version::create(memory, transaction.id(), value, own.next(), strength)?;
            if !is_stronger || transaction.has_locked_record(slot, strength) {
                slot.replace_own(own, version);
            } else if !slot.replace(own, version) {
                // SAFETY: the version was never published.
                unsafe { version.free(memory, version.block_bytes()) };
                return Ok(false);
            }
            table.chunks.supersede(write.rid, memory);
            context.add_version(version);
            let saved = Saved {
                write: at,
                version: own,
                key: write.key,
                savepoint: write.savepoint,
            };
            if self.journals {
                let (write, before) = (at, Some(saved));
                context.journal.borrow_mut().push(Step { write, before });
            } else if is_saved {
                savepoints.save(saved);
            } else {
                transaction.discard(own);
            }
            write.savepoint = savepoints.newest();
            write.version = version;
        }
        if value.is_none() && write.kind == WriteKind::Version && write.key == KeptKey::default() {
            write.key = context.keep_key(key);
        }
        if is_saved {
            context.command.wrote(slot, Some(own));
        }
        if was_tombstone != value.is_none() && !is_derived(write.table) {
            let is_over_older = write.kind == WriteKind::Version;
            drop((writes, savepoints));
            transaction.note_of_places(|moves| match value {
                None => moves.deleted(slot),
                // A record that was absent before has no followers.
                Some(_) if is_over_older => moves.replaced(slot),
                Some(_) => {}
            });
        }
        Ok(true)
    }
}

impl Transaction {
    /// Finds the write of an own record, as
    /// [`WritePlaces::find`](crate::session::WritePlaces::find) does.
    #[inline]
    fn place_of_write(&self, slot: &Slot, own: Version) -> Option<usize> {
        let context = &self.context;
        let found = {
            let writes = context.writes.borrow();
            let slot = std::ptr::from_ref(slot).addr();
            context.places.borrow_mut().find(&writes, own, slot)
        };
        if found.is_none() {
            self.session.account.charge(context);
        }
        found
    }
}

/// Whether an entry belongs to another record than `rid`.
#[inline(always)]
fn is_anothers(entries: &Table, head: Version, rid: Rid) -> bool {
    let stored = head.payload();
    stored.is_some_and(|stored| Entry::rid(entries.split(stored).1) != rid)
}
