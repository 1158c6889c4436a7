//! Installing: a record as it was at some time, unless something newer is known.
//!
//! Any number of workers do so at once, in any order. A new key's RID holds its version
//! before the index names it, and of two workers with the same new key the index
//! accepts one. A known record's version is replaced by compare-and-exchange, only by
//! a newer one, and begun again if it was not the one that was compared; so versions
//! only become newer. The address of a cold record gives way to any version
//! (`checkpoint.rs`). Nothing is removed meanwhile: the horizon stands still, and nothing is
//! durable, until [`crate::Recovery::finish`].

use index::Inserted;
use interleave::{Point, Policy, leaf};

use crate::{
    cold::ColdAddress,
    error::Error,
    indirection::{Head, Rid},
    session::Session,
    table::Table,
    timestamp::{Begin, Timestamp},
    version::{HEADER_BYTES, Version},
};

impl Session {
    /// Installs what a record was at `timestamp`, unless something newer is known.
    ///
    /// # Suspension
    /// Memory waits.
    pub(super) async fn install<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        value: Option<&[u8]>,
        timestamp: Timestamp,
    ) -> Result<(), Error> {
        leaf!(P, self.install_body(table, key, value, timestamp))
    }

    async fn install_body<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        value: Option<&[u8]>,
        timestamp: Timestamp,
    ) -> Result<(), Error> {
        let pin = self.memory.pin();
        let version = Version::restore(&self.memory, timestamp, value)?;
        let rid = match self.rids.borrow_mut().take(table, &self.memory) {
            Ok(rid) => rid,
            Err(exhausted) => {
                // SAFETY: never published.
                unsafe { version.free(&self.memory, version.block_bytes()) };
                return Err(exhausted.into());
            }
        };
        let slot = table.records.slot(rid);
        slot.publish_first(version);
        let inserted = table
            .index
            .insert::<P>(&self.memory, &pin, key, rid.0)
            .await;
        let rid = match inserted {
            Ok(Inserted::New) => rid,
            Ok(Inserted::Present(present)) => {
                slot.clear();
                self.rids.borrow_mut().put_back(table.number(), rid);
                let rid = Rid(present);
                let slot = table.records.slot(rid);
                P::touch(Point::new("engine: slot"), slot, size_of_val(slot)).await;
                loop {
                    let head = match slot.head() {
                        Head::Version(head) => head,
                        Head::Cold(address) if slot.thaw(address, version) => break,
                        Head::Cold(_) => continue,
                        // Nothing is removed while records are being installed.
                        Head::Unused | Head::Dead => {
                            unreachable!("a record is removed during recovery")
                        }
                    };
                    P::touch(Point::new("engine: version"), head.address(), HEADER_BYTES).await;
                    if slot.head() != Head::Version(head) {
                        continue;
                    }
                    if matches!(head.begin(), Begin::Committed(known) if known >= timestamp) {
                        // SAFETY: not published any more, and by nobody found.
                        unsafe { version.free(&self.memory, version.block_bytes()) };
                        return Ok(());
                    }
                    if slot.replace(head, version) {
                        // SAFETY: unlinked just now.
                        unsafe { head.retire(&self.memory) };
                        break;
                    }
                }
                rid
            }
            Err(_) => {
                slot.clear();
                self.rids.borrow_mut().put_back(table.number(), rid);
                // SAFETY: no index names the RID, so nobody has seen the version.
                unsafe { version.free(&self.memory, version.block_bytes()) };
                return Err(Error::MemoryExhausted);
            }
        };
        table.note_version_bytes(version.block_bytes());
        if value.is_none() {
            // Collected once the horizon gets there, like any deletion.
            self.garbage
                .borrow_mut()
                .deleted(timestamp, table.number(), rid, version, key);
        }
        Ok(())
    }

    /// Installs the address of a cold record, unless a version of it is known.
    ///
    /// # Suspension
    /// Memory waits.
    pub(super) async fn install_cold<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        address: ColdAddress,
    ) -> Result<(), Error> {
        leaf!(P, self.install_cold_body(table, key, address))
    }

    async fn install_cold_body<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        address: ColdAddress,
    ) -> Result<(), Error> {
        let pin = self.memory.pin();
        let rid = self.rids.borrow_mut().take(table, &self.memory)?;
        let slot = table.records.slot(rid);
        slot.chill(address);
        let inserted = table.index.insert::<P>(&self.memory, &pin, key, rid.0);
        let inserted = inserted.await;
        if !matches!(inserted, Ok(Inserted::New)) {
            slot.clear();
            self.rids.borrow_mut().put_back(table.number(), rid);
        }
        inserted.map(drop).map_err(|_| Error::MemoryExhausted)
    }
}
