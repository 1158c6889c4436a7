//! History: log files that recovery does not need any more, kept for change streams.
//!
//! ```text
//! history  oldest u64
//!          cuts   count u32 × (incarnation u64 | up to u64)
//!          files  count u32 × (number u64 | incarnation u64 | lane u32
//!                              | first block u64 | blocks end u64 | newest u64)
//!          events count u32 × (timestamp u64 | count u32 × (key | value))
//!                 key and value as in `catalog/event.rs`, behind their lengths, u32s
//! ```
//! `oldest` is written before the files that it gives up are used again: transactions newer than
//! `oldest` are complete in the files that are there. The events are those up to the checkpoint's
//! begin; later ones are found in the log.

use super::{get_all, put_count};
use crate::{
    bytes::{Reader, put_counted},
    catalog::event::TableEvent,
    log::format::Flaw,
    timestamp::Timestamp,
};

/// Kept history; see the module's doc.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct History {
    /// Timestamp after which all transactions can be read from the log.
    pub(crate) oldest: Timestamp,
    /// Ends of the logs of earlier incarnations that a checkpoint superseded.
    pub(crate) cuts: Vec<(u64, Timestamp)>,
    /// Files that the checkpoint superseded.
    pub(crate) files: Vec<HistoryFile>,
    /// Events of tables, by commits in their order.
    pub(crate) events: Vec<(Timestamp, Vec<TableEvent>)>,
}

/// Log file that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HistoryFile {
    pub(crate) number: u64,
    pub(crate) incarnation: u64,
    pub(crate) lane: u32,
    pub(crate) first_block: u64,
    pub(crate) blocks_end: u64,
    /// Newest of the file's transactions.
    pub(crate) newest: Timestamp,
}

impl History {
    /// Returns a history without files: transactions newer than `oldest` are in the log that
    /// recovery needs.
    pub(crate) fn since(oldest: Timestamp) -> History {
        History {
            oldest,
            ..History::default()
        }
    }

    /// Gives up the history up to `oldest`.
    pub(crate) fn begin_at(&mut self, oldest: Timestamp) {
        self.oldest = self.oldest.max(oldest);
        self.files.retain(|file| file.newest > self.oldest);
        self.events
            .retain(|&(timestamp, _)| timestamp > self.oldest);
    }

    pub(super) fn encode_into(&self, body: &mut Vec<u8>) {
        body.extend_from_slice(&self.oldest.0.to_le_bytes());
        put_count(body, self.cuts.len());
        for (incarnation, up_to) in &self.cuts {
            body.extend_from_slice(&incarnation.to_le_bytes());
            body.extend_from_slice(&up_to.0.to_le_bytes());
        }
        put_count(body, self.files.len());
        for file in &self.files {
            body.extend_from_slice(&file.number.to_le_bytes());
            body.extend_from_slice(&file.incarnation.to_le_bytes());
            body.extend_from_slice(&file.lane.to_le_bytes());
            body.extend_from_slice(&file.first_block.to_le_bytes());
            body.extend_from_slice(&file.blocks_end.to_le_bytes());
            body.extend_from_slice(&file.newest.0.to_le_bytes());
        }
        put_count(body, self.events.len());
        for (timestamp, events) in &self.events {
            body.extend_from_slice(&timestamp.0.to_le_bytes());
            put_count(body, events.len());
            for event in events {
                let (key, value) = event.encode();
                put_counted(body, &key);
                put_counted(body, &value);
            }
        }
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<History, Flaw> {
        Ok(History {
            oldest: Timestamp(reader.u64()?),
            cuts: get_all(reader, |reader| {
                Ok((reader.u64()?, Timestamp(reader.u64()?)))
            })?,
            files: get_all(reader, |reader| {
                Ok(HistoryFile {
                    number: reader.u64()?,
                    incarnation: reader.u64()?,
                    lane: reader.u32()?,
                    first_block: reader.u64()?,
                    blocks_end: reader.u64()?,
                    newest: Timestamp(reader.u64()?),
                })
            })?,
            events: get_all(reader, |reader| {
                let timestamp = Timestamp(reader.u64()?);
                let events = get_all(reader, |reader| {
                    let (key, value) = (reader.counted()?, reader.counted()?);
                    TableEvent::decode(key, Some(value))
                })?;
                Ok((timestamp, events))
            })?,
        })
    }
}
