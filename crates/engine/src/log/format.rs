//! The format of a log file. All numbers are little-endian.
//!
//! A *segment* is a file of a fixed size; its first 4096 bytes are its header, the
//! rest is a sequence of *blocks*, each a multiple of 4096 bytes:
//!
//! ```text
//! segment header   magic "WFTS" | version u16 | - u16 | checksum u32 | - u32
//! (48 bytes)       database u64 | incarnation u64 | lane u32 | - u32 | ordinal u64
//!
//! block header     magic "WFTB" | version u16 | lanes u16 | checksum u32 | payload u32
//! (64 bytes)       incarnation u64 | lane u32 | transactions u32 | number u64
//!                  first u64 | as_of u64 | newest u64
//! payload          transactions
//! vector           lanes × (lane u32 | - u32 | needed u64 | durable u64)
//! padding          zeros up to the next multiple of 4096
//!
//! transaction      timestamp u64 | bytes of the writes u32 | writes u32 | writes
//! write            table u32 | key length u16 | kind u8 | - u8 | value length u32
//! (12 bytes)       key | value
//! ```
//!
//! A checksum is the CRC-32 of the bytes that follow it: of a segment header up to byte 48, of a
//! block up to the padding. `frontier.rs` explains the numbers of a block. The readers here trust
//! no byte: for any content of a file, the result is a block or the reason why there is none.

mod large;

use std::{fmt, ops::Range};

use io::BLOCK_BYTES;

pub(crate) use self::large::LargeBlock;
use crate::{
    bytes::{Reader, TooShort},
    timestamp::Timestamp,
};

/// Version that is written to every segment and block. Files with another version are refused.
pub(crate) const VERSION: u16 = 1;

const SEGMENT_MAGIC: [u8; 4] = *b"WFTS";
const BLOCK_MAGIC: [u8; 4] = *b"WFTB";
pub(crate) const SEGMENT_HEADER_BYTES: usize = 48;
pub(crate) const BLOCK_HEADER_BYTES: usize = 64;
const VECTOR_ENTRY_BYTES: usize = 24;
const TRANSACTION_HEADER_BYTES: usize = 16;
const WRITE_HEADER_BYTES: usize = 12;
/// Start of the checksummed part of a header.
const CHECKED_FROM: usize = 12;

/// Returns the bytes that one write takes in the log.
pub(crate) const fn write_bytes(key: usize, value: usize) -> usize {
    WRITE_HEADER_BYTES + key + value
}

/// Returns the bytes that a transaction takes besides its writes.
pub(crate) const fn transaction_bytes() -> usize {
    TRANSACTION_HEADER_BYTES
}

/// Reason why some bytes are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// No header begins here.
    Absent,
    /// Another version of this program wrote the bytes.
    Version(u16),
    /// The bytes were changed after they were written, or never written completely.
    Checksum,
    /// The bytes contradict themselves although the checksum is right.
    Nonsense,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::Absent => f.write_str("nothing was written here"),
            Flaw::Version(version) => write!(f, "format version {version} is unknown"),
            Flaw::Checksum => f.write_str("the checksum is wrong"),
            Flaw::Nonsense => f.write_str("the contents contradict themselves"),
        }
    }
}

impl From<TooShort> for Flaw {
    fn from(_: TooShort) -> Flaw {
        Flaw::Nonsense
    }
}

/// Identity of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) database: u64,
    pub(crate) incarnation: u64,
    pub(crate) lane: u32,
    /// Number of the segment among those of a lane within an incarnation, from 0.
    pub(crate) ordinal: u64,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> [u8; SEGMENT_HEADER_BYTES] {
        let mut bytes = [0; SEGMENT_HEADER_BYTES];
        bytes[..4].copy_from_slice(&SEGMENT_MAGIC);
        bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.database.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.incarnation.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.lane.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.ordinal.to_le_bytes());
        let checksum = crc32fast::hash(&bytes[CHECKED_FROM..]);
        bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<SegmentHeader, Flaw> {
        let bytes = bytes.get(..SEGMENT_HEADER_BYTES).ok_or(Flaw::Absent)?;
        let mut reader = Reader(bytes);
        if reader.take(4)? != SEGMENT_MAGIC {
            return Err(Flaw::Absent);
        }
        let version = reader.u16()?;
        reader.u16()?;
        let checksum = reader.u32()?;
        if checksum != crc32fast::hash(&bytes[CHECKED_FROM..]) {
            return Err(Flaw::Checksum);
        }
        if version != VERSION {
            return Err(Flaw::Version(version));
        }
        reader.u32()?;
        let (database, incarnation) = (reader.u64()?, reader.u64()?);
        let lane = reader.u32()?;
        reader.u32()?;
        let ordinal = reader.u64()?;
        Ok(SegmentHeader {
            database,
            incarnation,
            lane,
            ordinal,
        })
    }
}

/// Claim of a block about one lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) lane: u32,
    /// Number of the lane's first transactions among which are all its commits up to `as_of`.
    pub(crate) needed: u64,
    /// Number of the lane's first transactions that were on disk when the block was sealed.
    pub(crate) durable: u64,
}

impl Claim {
    /// Returns the claims of a vector.
    pub(crate) fn decode_all(vector: &[u8]) -> impl Iterator<Item = Claim> + use<'_> {
        vector
            .chunks_exact(VECTOR_ENTRY_BYTES)
            .map(|entry| {
                let mut reader = Reader(entry);
                let lane = reader.u32()?;
                reader.u32()?;
                Ok::<_, TooShort>(Claim {
                    lane,
                    needed: reader.u64()?,
                    durable: reader.u64()?,
                })
            })
            .map_while(Result::ok)
    }
}

/// Header of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    pub(crate) incarnation: u64,
    pub(crate) lane: u32,
    /// Number of the block among those of a lane within an incarnation, from 0.
    pub(crate) number: u64,
    /// Number of the lane's transactions before this block.
    pub(crate) first: u64,
    pub(crate) transactions: u32,
    pub(crate) payload_bytes: u32,
    /// Reading of the clock when the block was sealed.
    pub(crate) as_of: Timestamp,
    /// Largest timestamp of the block's transactions; zero without any.
    pub(crate) newest: Timestamp,
    /// Number of entries of the vector.
    pub(crate) lanes: u16,
}

impl BlockHeader {
    /// Returns the bytes of the block up to the padding.
    pub(crate) fn bytes(&self) -> usize {
        self.vector().end
    }

    /// Returns the bytes of the block in the file.
    pub(crate) fn file_bytes(&self) -> usize {
        self.bytes().next_multiple_of(BLOCK_BYTES)
    }

    /// Returns the range of the vector in the block.
    pub(crate) fn vector(&self) -> Range<usize> {
        let start = BLOCK_HEADER_BYTES + self.payload_bytes as usize;
        start..start + usize::from(self.lanes) * VECTOR_ENTRY_BYTES
    }

    /// Checks that the timestamps of the header are possible ones.
    pub(crate) fn check(&self) -> Result<(), Flaw> {
        if self.as_of.is_possible() && self.newest.is_possible() {
            Ok(())
        } else {
            Err(Flaw::Nonsense)
        }
    }

    /// Reads a header; the checksum is that of the block, see [`Block::decode`].
    pub(crate) fn decode(bytes: &[u8]) -> Result<(BlockHeader, u32), Flaw> {
        let mut reader = Reader(bytes.get(..BLOCK_HEADER_BYTES).ok_or(Flaw::Absent)?);
        if reader.take(4)? != BLOCK_MAGIC {
            return Err(Flaw::Absent);
        }
        let version = reader.u16()?;
        if version != VERSION {
            return Err(Flaw::Version(version));
        }
        let lanes = reader.u16()?;
        let checksum = reader.u32()?;
        let payload_bytes = reader.u32()?;
        let incarnation = reader.u64()?;
        let lane = reader.u32()?;
        let transactions = reader.u32()?;
        let header = BlockHeader {
            incarnation,
            lane,
            number: reader.u64()?,
            first: reader.u64()?,
            transactions,
            payload_bytes,
            as_of: Timestamp(reader.u64()?),
            newest: Timestamp(reader.u64()?),
            lanes,
        };
        Ok((header, checksum))
    }

    fn encode_into(&self, bytes: &mut [u8]) {
        bytes[..4].copy_from_slice(&BLOCK_MAGIC);
        bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
        bytes[6..8].copy_from_slice(&self.lanes.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.payload_bytes.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.incarnation.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.lane.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.transactions.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.number.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.first.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.as_of.0.to_le_bytes());
        bytes[56..64].copy_from_slice(&self.newest.0.to_le_bytes());
    }
}

/// Turns `buffer`, which holds room for the header and then the payload, into a block: appends the
/// vector, fills in the header, pads.
pub(crate) fn seal(buffer: &mut io::Buffer, header: BlockHeader, claims: &[Claim]) {
    let header = BlockHeader {
        payload_bytes: (buffer.len() - BLOCK_HEADER_BYTES) as u32,
        lanes: claims.len() as u16,
        ..header
    };
    for claim in claims {
        buffer.extend_from_slice(&vector_entry(claim));
    }
    header.encode_into(&mut buffer[..BLOCK_HEADER_BYTES]);
    let checksum = crc32fast::hash(&buffer[CHECKED_FROM..]);
    buffer[8..12].copy_from_slice(&checksum.to_le_bytes());
    buffer.pad();
}

fn vector_entry(claim: &Claim) -> [u8; VECTOR_ENTRY_BYTES] {
    let mut entry = [0; VECTOR_ENTRY_BYTES];
    entry[..4].copy_from_slice(&claim.lane.to_le_bytes());
    entry[8..16].copy_from_slice(&claim.needed.to_le_bytes());
    entry[16..].copy_from_slice(&claim.durable.to_le_bytes());
    entry
}

/// A block whose checksum is right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'b> {
    pub(crate) header: BlockHeader,
    payload: &'b [u8],
    vector: &'b [u8],
}

impl<'b> Block<'b> {
    /// Returns the block at the start of `bytes`.
    pub(crate) fn decode(bytes: &'b [u8]) -> Result<Block<'b>, Flaw> {
        let (header, checksum) = BlockHeader::decode(bytes)?;
        let whole = bytes.get(..header.bytes()).ok_or(Flaw::Checksum)?;
        if checksum != crc32fast::hash(&whole[CHECKED_FROM..]) {
            return Err(Flaw::Checksum);
        }
        header.check()?;
        let vector = header.vector();
        Ok(Block {
            header,
            payload: &whole[BLOCK_HEADER_BYTES..vector.start],
            vector: &whole[vector],
        })
    }

    /// Returns the bytes of the block in the file.
    pub(crate) fn file_bytes(&self) -> usize {
        self.header.file_bytes()
    }

    pub(crate) fn vector(&self) -> impl Iterator<Item = Claim> + use<'b> {
        Claim::decode_all(self.vector)
    }

    pub(crate) fn transactions(&self) -> Transactions<'b> {
        Transactions(Reader(self.payload))
    }
}

impl<'b> Transactions<'b> {
    /// Returns the transactions in a part of a payload that begins with a transaction.
    pub(crate) fn in_payload(part: &'b [u8]) -> Transactions<'b> {
        Transactions(Reader(part))
    }

    /// Returns the part of the payload that has not been read.
    pub(crate) fn rest(&self) -> &'b [u8] {
        self.0.0
    }
}

/// Transactions of a block, in the order in which its lane committed them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transactions<'b>(Reader<'b>);

/// One transaction in the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoggedTransaction<'b> {
    pub(crate) timestamp: Timestamp,
    pub(crate) count: u32,
    writes: Reader<'b>,
}

impl<'b> Iterator for Transactions<'b> {
    type Item = Result<LoggedTransaction<'b>, Flaw>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let mut read = || {
            let timestamp = Timestamp(self.0.u64()?);
            if !timestamp.is_possible() {
                return Err(Flaw::Nonsense);
            }
            let bytes = self.0.u32()? as usize;
            let count = self.0.u32()?;
            Ok(LoggedTransaction {
                timestamp,
                count,
                writes: Reader(self.0.take(bytes)?),
            })
        };
        let transaction: Result<_, Flaw> = read();
        if transaction.is_err() {
            self.0 = Reader(&[]);
        }
        Some(transaction)
    }
}

/// One record's change in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoggedWrite<'b> {
    pub(crate) table: u32,
    pub(crate) key: &'b [u8],
    /// New value of the record; `None` if it was deleted.
    pub(crate) value: Option<&'b [u8]>,
}

const PUT: u8 = 0;
const DELETE: u8 = 1;

impl<'b> LoggedTransaction<'b> {
    pub(crate) fn writes(&self) -> impl Iterator<Item = Result<LoggedWrite<'b>, Flaw>> + use<'b> {
        LoggedWrite::read_all(self.bytes())
    }

    /// Returns the bytes of the transaction's writes.
    pub(crate) fn bytes(&self) -> &'b [u8] {
        self.writes.0
    }
}

impl<'b> LoggedWrite<'b> {
    /// Returns the writes in the bytes of a transaction.
    pub(crate) fn read_all(
        bytes: &'b [u8],
    ) -> impl Iterator<Item = Result<LoggedWrite<'b>, Flaw>> + use<'b> {
        let mut reader = Reader(bytes);
        std::iter::from_fn(move || {
            if reader.is_empty() {
                return None;
            }
            let write = Self::read(&mut reader);
            if write.is_err() {
                reader = Reader(&[]);
            }
            Some(write)
        })
    }

    fn read(reader: &mut Reader<'b>) -> Result<LoggedWrite<'b>, Flaw> {
        let table = reader.u32()?;
        let key_bytes = reader.u16()?;
        let [kind, _] = *reader.take(2)? else {
            return Err(Flaw::Nonsense);
        };
        let value_bytes = reader.u32()?;
        let key = reader.take(key_bytes.into())?;
        let value = reader.take(value_bytes as usize)?;
        let value = match kind {
            PUT => Some(value),
            DELETE if value.is_empty() => None,
            _ => return Err(Flaw::Nonsense),
        };
        if key.len() > crate::KEY_BYTES_MAX || value_bytes as usize > crate::VALUE_BYTES_MAX {
            return Err(Flaw::Nonsense);
        }
        Ok(LoggedWrite { table, key, value })
    }
}

/// Appends one transaction to a payload: its head first, then each write.
pub(crate) struct Appending<'b> {
    buffer: &'b mut io::Buffer,
    timestamp: Timestamp,
    start: usize,
    count: u32,
}

impl<'b> Appending<'b> {
    #[inline]
    pub(crate) fn begin(buffer: &'b mut io::Buffer, timestamp: Timestamp) -> Appending<'b> {
        let start = buffer.len();
        buffer.extend_from_slice(&transaction_head(timestamp, 0, 0));
        Appending {
            buffer,
            timestamp,
            start,
            count: 0,
        }
    }

    #[inline]
    pub(crate) fn write(&mut self, table: u32, key: &[u8], value: Option<&[u8]>) {
        self.buffer
            .extend_from_slice(&write_head(table, key, value));
        self.buffer.extend_from_slice(key);
        self.buffer.extend_from_slice(value.unwrap_or_default());
        self.count += 1;
    }

    #[inline]
    pub(crate) fn end(self) {
        let bytes = self.buffer.len() - self.start - TRANSACTION_HEADER_BYTES;
        self.buffer[self.start..][..TRANSACTION_HEADER_BYTES].copy_from_slice(&transaction_head(
            self.timestamp,
            bytes,
            self.count,
        ));
    }
}

/// Returns the head of a transaction whose writes take `bytes`.
#[inline]
fn transaction_head(
    timestamp: Timestamp,
    bytes: usize,
    writes: u32,
) -> [u8; TRANSACTION_HEADER_BYTES] {
    let mut head = [0; TRANSACTION_HEADER_BYTES];
    head[..8].copy_from_slice(&timestamp.0.to_le_bytes());
    head[8..12].copy_from_slice(&(bytes as u32).to_le_bytes());
    head[12..16].copy_from_slice(&writes.to_le_bytes());
    head
}

/// Returns the head of a write; its key and its value follow.
#[inline]
fn write_head(table: u32, key: &[u8], value: Option<&[u8]>) -> [u8; WRITE_HEADER_BYTES] {
    let mut head = [0; WRITE_HEADER_BYTES];
    head[..4].copy_from_slice(&table.to_le_bytes());
    head[4..6].copy_from_slice(&(key.len() as u16).to_le_bytes());
    head[6] = if value.is_some() { PUT } else { DELETE };
    head[8..].copy_from_slice(&(value.unwrap_or_default().len() as u32).to_le_bytes());
    head
}

#[cfg(all(test, not(loom)))]
mod tests;
