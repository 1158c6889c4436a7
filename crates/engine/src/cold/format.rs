//! The format of a cold file. All numbers are little-endian.
//!
//! A file is a sequence of *blocks*, each a multiple of 4096 bytes: a header, then records at
//! multiples of 16 bytes. A record is read alone and has a checksum of its own, which covers its
//! place as well: a record read from a wrong place is detected.
//!
//! ```text
//! block header   magic "WFTK" | version u16 | - u16 | checksum u32 | used u32
//! (64 bytes)     database u64 | position u64 | records u32 | zeros
//! record         checksum u32 | key length u16 | - u16 | value length u32 | table u32
//!                begin u64 | successor u64 | key | value | zeros to a multiple of 16
//! ```
//! A block's `used` counts its header and records; its checksum is the CRC-32 of the header from
//! `used` on. A record's checksum covers its position (u64) and the bytes from the checksum to the
//! value's end. Positions count from the start of all cold files.

use io::Buffer;

use super::address::{ColdAddress, POSITION_UNIT};
use crate::{
    bytes::{Reader, TooShort},
    log::format::Flaw,
    timestamp::Timestamp,
};

const MAGIC: [u8; 4] = *b"WFTK";
const VERSION: u16 = 1;
pub(crate) const BLOCK_HEADER_BYTES: usize = 64;
const BLOCK_CHECKED_FROM: usize = 12;
pub(crate) const RECORD_HEADER_BYTES: usize = 32;
const RECORD_CHECKED_FROM: usize = 4;

/// A record in the form of a cold file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ColdRecord<'b> {
    pub(crate) table: u32,
    /// Commit timestamp of the version.
    pub(crate) begin: Timestamp,
    /// Earliest successor of the transaction that made the version, that transaction included
    /// ([`crate::version::Version::successor_of_maker`]).
    pub(crate) successor: Timestamp,
    pub(crate) key: &'b [u8],
    /// Stored bytes: with a TTL, the expiry first.
    pub(crate) stored: &'b [u8],
}

impl<'b> ColdRecord<'b> {
    /// Returns the size of the record in bytes, without the zeros behind it.
    pub(crate) fn bytes(&self) -> usize {
        RECORD_HEADER_BYTES + self.key.len() + self.stored.len()
    }

    /// Appends the record to a block, and returns its beginning there. The record is complete once
    /// its block has a place ([`place`]).
    pub(crate) fn append(&self, buffer: &mut Buffer) -> usize {
        let start = buffer.len();
        let mut head = [0; RECORD_HEADER_BYTES];
        head[4..6].copy_from_slice(&(self.key.len() as u16).to_le_bytes());
        head[8..12].copy_from_slice(&(self.stored.len() as u32).to_le_bytes());
        head[12..16].copy_from_slice(&self.table.to_le_bytes());
        head[16..24].copy_from_slice(&self.begin.0.to_le_bytes());
        head[24..32].copy_from_slice(&self.successor.0.to_le_bytes());
        buffer.extend_from_slice(&head);
        buffer.extend_from_slice(self.key);
        buffer.extend_from_slice(self.stored);
        let end = buffer.len().next_multiple_of(POSITION_UNIT as usize);
        let zeros = [0; POSITION_UNIT as usize];
        buffer.extend_from_slice(&zeros[..end - buffer.len()]);
        start
    }

    /// Returns the record at the start of `bytes`, which were read from `position`. If `bytes` are
    /// too few, the error has the number that the record takes.
    pub(crate) fn decode(bytes: &'b [u8], position: u64) -> Result<ColdRecord<'b>, Unread> {
        let mut reader = Reader(bytes);
        let expected = reader.u32()?;
        let key_bytes = usize::from(reader.u16()?);
        reader.u16()?;
        let stored_bytes = reader.u32()? as usize;
        let (table, begin) = (reader.u32()?, Timestamp(reader.u64()?));
        let successor = Timestamp(reader.u64()?);
        if stored_bytes > crate::VALUE_BYTES_MAX {
            return Err(Unread::Flawed(Flaw::Nonsense));
        }
        let whole = RECORD_HEADER_BYTES + key_bytes + stored_bytes;
        let Some(record) = bytes.get(..whole) else {
            return Err(Unread::Longer(whole));
        };
        if checksum(position, &record[RECORD_CHECKED_FROM..]) != expected {
            return Err(Unread::Flawed(Flaw::Checksum));
        }
        if !begin.is_possible() || successor > begin {
            return Err(Unread::Flawed(Flaw::Nonsense));
        }
        Ok(ColdRecord {
            table,
            begin,
            successor,
            key: reader.take(key_bytes)?,
            stored: reader.take(stored_bytes)?,
        })
    }
}

/// Finishes a record of `bytes` bytes, which begins at `start` in a block that will be at `block`,
/// and returns its address. `None` if the place is beyond the range of addresses.
pub(crate) fn place(
    buffer: &mut [u8],
    start: usize,
    bytes: usize,
    block: u64,
) -> Option<ColdAddress> {
    let position = block + start as u64;
    let record = &mut buffer[start..start + bytes];
    let checksum = checksum(position, &record[RECORD_CHECKED_FROM..]);
    record[..RECORD_CHECKED_FROM].copy_from_slice(&checksum.to_le_bytes());
    ColdAddress::new(position, bytes)
}

fn checksum(position: u64, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&position.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

/// Reason why there is no record in some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// The record takes so many bytes, if its head is right.
    Longer(usize),
    Flawed(Flaw),
}

impl From<TooShort> for Unread {
    fn from(_: TooShort) -> Unread {
        Unread::Flawed(Flaw::Absent)
    }
}

/// Fields of a block's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    pub(crate) database: u64,
    pub(crate) position: u64,
    pub(crate) records: u32,
}

/// Turns `buffer`, which holds room for the header and then records, into a block.
pub(crate) fn seal(buffer: &mut Buffer, header: BlockHeader) {
    let used = buffer.len() as u32;
    let head = &mut buffer[..BLOCK_HEADER_BYTES];
    head.fill(0);
    head[..4].copy_from_slice(&MAGIC);
    head[4..6].copy_from_slice(&VERSION.to_le_bytes());
    head[12..16].copy_from_slice(&used.to_le_bytes());
    head[16..24].copy_from_slice(&header.database.to_le_bytes());
    head[24..32].copy_from_slice(&header.position.to_le_bytes());
    head[32..36].copy_from_slice(&header.records.to_le_bytes());
    let checksum = crc32fast::hash(&head[BLOCK_CHECKED_FROM..]);
    head[8..12].copy_from_slice(&checksum.to_le_bytes());
    buffer.pad();
}

/// Returns the header at the start of a block, and how many bytes of the block are used.
pub(super) fn decode_header(bytes: &[u8]) -> Result<(BlockHeader, usize), Flaw> {
    let head = bytes.get(..BLOCK_HEADER_BYTES).ok_or(Flaw::Absent)?;
    let mut reader = Reader(head);
    if reader.take(4)? != MAGIC {
        return Err(Flaw::Absent);
    }
    let version = reader.u16()?;
    if version != VERSION {
        return Err(Flaw::Version(version));
    }
    reader.u16()?;
    if reader.u32()? != crc32fast::hash(&head[BLOCK_CHECKED_FROM..]) {
        return Err(Flaw::Checksum);
    }
    let used = reader.u32()? as usize;
    let header = BlockHeader {
        database: reader.u64()?,
        position: reader.u64()?,
        records: reader.u32()?,
    };
    Ok((header, used))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn record<'b>(key: &'b [u8], stored: &'b [u8]) -> ColdRecord<'b> {
        ColdRecord {
            table: 7,
            begin: Timestamp(1000),
            successor: Timestamp(990),
            key,
            stored,
        }
    }

    fn block(position: u64, records: &[ColdRecord<'_>]) -> (Buffer, Vec<ColdAddress>) {
        let mut buffer = Buffer::with_capacity(BLOCK_HEADER_BYTES);
        buffer.set_len(BLOCK_HEADER_BYTES);
        let starts: Vec<_> = records.iter().map(|r| r.append(&mut buffer)).collect();
        let placed = starts.iter().zip(records);
        let placed = placed.map(|(&start, r)| place(&mut buffer, start, r.bytes(), position));
        let addresses = placed.map(Option::unwrap).collect();
        let header = BlockHeader {
            database: 5,
            position,
            records: records.len() as u32,
        };
        seal(&mut buffer, header);
        assert_eq!(decode_header(&buffer).unwrap().0, header);
        (buffer, addresses)
    }

    #[test]
    fn each_record_is_found_by_its_address_alone() {
        let long = vec![9; 10_000];
        let records = [
            record(b"a", b"one"),
            record(b"", b""),
            record(b"long", &long),
            record(b"z", b"end"),
        ];
        let (buffer, addresses) = block(81_920, &records);
        for (record, address) in records.iter().zip(addresses) {
            let extent = address.extent();
            let from = (extent.from - 81_920) as usize;
            let read = &buffer[from..from + extent.bytes.min(buffer.len() - from)];
            let found = ColdRecord::decode(&read[extent.at..], address.position());
            assert_eq!(found.as_ref(), Ok(record));
        }
    }

    #[test]
    fn every_flipped_byte_and_every_other_place_is_noticed() {
        let (mut buffer, addresses) = block(0, &[record(b"key", b"value")]);
        let at = addresses[0].position() as usize;
        let whole = RECORD_HEADER_BYTES + 8;
        for byte in at..at + whole {
            buffer[byte] ^= 1;
            let found = ColdRecord::decode(&buffer[at..], at as u64);
            assert!(found.is_err(), "{byte}");
            buffer[byte] ^= 1;
        }
        assert!(ColdRecord::decode(&buffer[at..], at as u64).is_ok());
        assert!(ColdRecord::decode(&buffer[at..], 4096 + at as u64).is_err());
        for byte in 0..BLOCK_HEADER_BYTES {
            // Bytes that are not used do not matter, except for the header's own zeros.
            buffer[byte] ^= 1;
            assert!(
                decode_header(&buffer).is_err() || byte == 6 || byte == 7,
                "{byte}"
            );
            buffer[byte] ^= 1;
        }
    }

    #[test]
    fn a_record_that_was_cut_off_says_how_long_it_is() {
        let long = vec![1; 5000];
        let (buffer, addresses) = block(0, &[record(b"k", &long)]);
        let at = addresses[0].position() as usize;
        let cut = ColdRecord::decode(&buffer[at..at + 4000], at as u64);
        assert_eq!(cut, Err(Unread::Longer(RECORD_HEADER_BYTES + 5001)));
        let none = ColdRecord::decode(&buffer[at..at + 20], at as u64);
        assert_eq!(none, Err(Unread::Flawed(Flaw::Absent)));
    }
}
