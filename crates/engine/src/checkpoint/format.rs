//! The format of a checkpoint file. All numbers are little-endian.
//!
//! A *part* is a file with the records of a range of a table, in the order of their
//! keys: a sequence of *chunks*, each a multiple of 4096 bytes and with a snapshot of
//! its own.
//!
//! ```text
//! chunk header  magic "WFTC" | version u16 | - u16 | checksum u32 | payload u32
//! (64 bytes)    database u64 | part u64 | chunk u32 | table u32
//!               records u32 | last u32 | snapshot u64 | - u64
//! payload       records × (key length u16 | kind u16 | value length u32 | key | value)
//! padding       zeros up to the next multiple of 4096
//! ```
//! The checksum is the CRC-32 of the bytes from there up to the padding. `last` is 1 in the last
//! chunk of a part. A record of kind 1 is cold: its value is its place in the cold files, the bits
//! of a [`ColdAddress`] (u64). Version 1 had no records of that kind.

use io::{BLOCK_BYTES, Buffer};

use crate::{
    bytes::{Reader, TooShort},
    cold::ColdAddress,
    log::format::Flaw,
    timestamp::Timestamp,
};

const MAGIC: [u8; 4] = *b"WFTC";
const VERSION: u16 = 2;
pub(crate) const CHUNK_HEADER_BYTES: usize = 64;
const RECORD_HEADER_BYTES: usize = 8;
const CHECKED_FROM: usize = 12;
const KIND_COLD: u16 = 1;

/// Header of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChunkHeader {
    pub(crate) database: u64,
    /// Number of the chunk's file.
    pub(crate) part: u64,
    /// Number of the chunk in its part, from 0.
    pub(crate) chunk: u32,
    pub(crate) table: u32,
    pub(crate) records: u32,
    pub(crate) is_last: bool,
    /// Snapshot of the chunk's records.
    pub(crate) snapshot: Timestamp,
}

/// Content of a record in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content<'b> {
    Value(&'b [u8]),
    /// The value is in a cold file, at this address.
    Cold(ColdAddress),
}

impl<'b> Content<'b> {
    /// Returns the value, if the chunk has it.
    pub(crate) fn value(self) -> Option<&'b [u8]> {
        match self {
            Content::Value(value) => Some(value),
            Content::Cold(_) => None,
        }
    }
}

/// Appends a record to a chunk.
pub(crate) fn append(buffer: &mut Buffer, key: &[u8], content: Content<'_>) {
    let address;
    let (kind, value) = match content {
        Content::Value(value) => (0, value),
        Content::Cold(cold) => {
            address = cold.bits().to_le_bytes();
            (KIND_COLD, &address[..])
        }
    };
    let mut head = [0; RECORD_HEADER_BYTES];
    head[..2].copy_from_slice(&(key.len() as u16).to_le_bytes());
    head[2..4].copy_from_slice(&kind.to_le_bytes());
    head[4..].copy_from_slice(&(value.len() as u32).to_le_bytes());
    buffer.extend_from_slice(&head);
    buffer.extend_from_slice(key);
    buffer.extend_from_slice(value);
}

/// Turns `buffer`, which holds room for the header and then records, into a chunk.
pub(crate) fn seal(buffer: &mut Buffer, header: ChunkHeader) {
    let payload = (buffer.len() - CHUNK_HEADER_BYTES) as u32;
    let head = &mut buffer[..CHUNK_HEADER_BYTES];
    head.fill(0);
    head[..4].copy_from_slice(&MAGIC);
    head[4..6].copy_from_slice(&VERSION.to_le_bytes());
    head[12..16].copy_from_slice(&payload.to_le_bytes());
    head[16..24].copy_from_slice(&header.database.to_le_bytes());
    head[24..32].copy_from_slice(&header.part.to_le_bytes());
    head[32..36].copy_from_slice(&header.chunk.to_le_bytes());
    head[36..40].copy_from_slice(&header.table.to_le_bytes());
    head[40..44].copy_from_slice(&header.records.to_le_bytes());
    head[44..48].copy_from_slice(&u32::from(header.is_last).to_le_bytes());
    head[48..56].copy_from_slice(&header.snapshot.0.to_le_bytes());
    let checksum = crc32fast::hash(&buffer[CHECKED_FROM..]);
    buffer[8..12].copy_from_slice(&checksum.to_le_bytes());
    buffer.pad();
}

/// A chunk whose checksum is right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk<'b> {
    pub(crate) header: ChunkHeader,
    payload: &'b [u8],
}

impl<'b> Chunk<'b> {
    /// Returns the chunk at the start of `bytes`.
    pub(crate) fn decode(bytes: &'b [u8]) -> Result<Chunk<'b>, Flaw> {
        let mut reader = Reader(bytes.get(..CHUNK_HEADER_BYTES).ok_or(Flaw::Absent)?);
        if reader.take(4)? != MAGIC {
            return Err(Flaw::Absent);
        }
        let version = reader.u16()?;
        if !(1..=VERSION).contains(&version) {
            return Err(Flaw::Version(version));
        }
        reader.u16()?;
        let checksum = reader.u32()?;
        let payload_bytes = reader.u32()? as usize;
        let whole = bytes
            .get(..CHUNK_HEADER_BYTES + payload_bytes)
            .ok_or(Flaw::Checksum)?;
        if checksum != crc32fast::hash(&whole[CHECKED_FROM..]) {
            return Err(Flaw::Checksum);
        }
        let header = ChunkHeader {
            database: reader.u64()?,
            part: reader.u64()?,
            chunk: reader.u32()?,
            table: reader.u32()?,
            records: reader.u32()?,
            is_last: reader.u32()? == 1,
            snapshot: Timestamp(reader.u64()?),
        };
        if !header.snapshot.is_possible() {
            return Err(Flaw::Nonsense);
        }
        Ok(Chunk {
            header,
            payload: &whole[CHUNK_HEADER_BYTES..],
        })
    }

    /// Returns the bytes of the chunk in the file.
    pub(crate) fn file_bytes(&self) -> usize {
        (CHUNK_HEADER_BYTES + self.payload.len()).next_multiple_of(BLOCK_BYTES)
    }

    /// Returns the records: keys and contents.
    pub(crate) fn records(
        &self,
    ) -> impl Iterator<Item = Result<(&'b [u8], Content<'b>), Flaw>> + use<'b> {
        let mut reader = Reader(self.payload);
        std::iter::from_fn(move || {
            if reader.is_empty() {
                return None;
            }
            let record = read_record(&mut reader).map_err(|TooShort| Flaw::Nonsense);
            if record.is_err() {
                reader = Reader(&[]);
            }
            Some(record)
        })
    }
}

fn read_record<'b>(reader: &mut Reader<'b>) -> Result<(&'b [u8], Content<'b>), TooShort> {
    let key_bytes = reader.u16()?;
    let kind = reader.u16()?;
    let value_bytes = reader.u32()?;
    if usize::from(key_bytes) > crate::KEY_BYTES_MAX
        || value_bytes as usize > crate::VALUE_BYTES_MAX
    {
        return Err(TooShort);
    }
    let key = reader.take(key_bytes.into())?;
    let value = reader.take(value_bytes as usize)?;
    let content = match (kind, value.try_into()) {
        (KIND_COLD, Ok(bits)) => {
            let bits = u64::from_le_bytes(bits);
            Content::Cold(ColdAddress::checked(bits).ok_or(TooShort)?)
        }
        (0, _) => Content::Value(value),
        _ => return Err(TooShort),
    };
    Ok((key, content))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_reads_as_it_was_written_and_every_changed_bit_is_noticed() {
        let mut buffer = Buffer::zeroed(CHUNK_HEADER_BYTES);
        append(&mut buffer, b"a", Content::Value(b"1"));
        append(&mut buffer, b"", Content::Value(&[7; 5000]));
        let cold = Content::Cold(ColdAddress::new(8192, 100).unwrap());
        append(&mut buffer, b"c", cold);
        let header = ChunkHeader {
            database: 9,
            part: 8,
            chunk: 7,
            table: 6,
            records: 3,
            is_last: true,
            snapshot: Timestamp(5),
        };
        let bytes = buffer.len();
        seal(&mut buffer, header);
        let chunk = Chunk::decode(&buffer).unwrap();
        assert_eq!((chunk.header, chunk.file_bytes()), (header, buffer.len()));
        let records: Vec<_> = chunk.records().map(Result::unwrap).collect();
        let expected = [
            (&b"a"[..], Content::Value(b"1")),
            (b"", Content::Value(&[7; 5000])),
            (b"c", cold),
        ];
        assert_eq!(records, expected);
        for bit in (0..bytes * 8)
            .step_by(7)
            .filter(|bit| !(6..8).contains(&(bit / 8)))
        {
            buffer[bit / 8] ^= 1 << (bit % 8);
            assert!(Chunk::decode(&buffer).is_err(), "bit {bit}");
            buffer[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn a_snapshot_that_cannot_be_is_refused() {
        for impossible in [(1 << 63) - 1, 1 << 63, u64::MAX] {
            let mut buffer = Buffer::zeroed(CHUNK_HEADER_BYTES);
            let header = ChunkHeader {
                snapshot: Timestamp(impossible),
                ..ChunkHeader::default()
            };
            seal(&mut buffer, header);
            assert_eq!(Chunk::decode(&buffer).err(), Some(Flaw::Nonsense));
        }
    }
}
