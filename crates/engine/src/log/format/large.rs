//! The block of one large transaction, put together piece by piece before its timestamp is known.

use std::collections::VecDeque;

use io::Buffer;

use super::{
    BLOCK_HEADER_BYTES, BlockHeader, CHECKED_FROM, Claim, TRANSACTION_HEADER_BYTES,
    transaction_head, vector_entry, write_head,
};
use crate::timestamp::Timestamp;

/// Size of a piece in bytes: no transfer, allocation or release of memory is larger.
const PIECE_BYTES: usize = 1 << 20;

/// Bytes that are put in before they enter the checksum.
const HASHED_AT_ONCE: usize = 64 << 10;

/// Block of one large transaction; see the module's doc.
pub(crate) struct LargeBlock {
    /// Pieces of the block; all but the last are full.
    pieces: VecDeque<Buffer>,
    /// Checksum of the writes, except for the last `unhashed` bytes in the last piece.
    hasher: crc32fast::Hasher,
    unhashed: usize,
    /// Bytes of the writes.
    bytes: usize,
    writes: u32,
}

impl LargeBlock {
    /// Makes a block without a write.
    pub(crate) fn new() -> LargeBlock {
        let mut first = Buffer::with_capacity(PIECE_BYTES);
        first.set_len(BLOCK_HEADER_BYTES + TRANSACTION_HEADER_BYTES);
        LargeBlock {
            pieces: VecDeque::from([first]),
            hasher: crc32fast::Hasher::new(),
            unhashed: 0,
            bytes: 0,
            writes: 0,
        }
    }

    /// Returns the bytes of memory that a block takes with `bytes` put in.
    pub(crate) fn capacity_for(bytes: usize) -> usize {
        let head = BLOCK_HEADER_BYTES + TRANSACTION_HEADER_BYTES;
        (head + bytes).next_multiple_of(PIECE_BYTES)
    }

    /// Returns the number of bytes put in.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Puts a write in; without a value it is a deletion.
    pub(crate) fn write(&mut self, table: u32, key: &[u8], value: Option<&[u8]>) {
        for part in [
            &write_head(table, key, value),
            key,
            value.unwrap_or_default(),
        ] {
            self.put(part, true);
            self.bytes += part.len();
        }
        self.writes += 1;
    }

    fn put(&mut self, mut bytes: &[u8], is_payload: bool) {
        while !bytes.is_empty() {
            let mut last = self.pieces.back_mut().expect("there is a first piece");
            if last.len() == PIECE_BYTES {
                self.hash();
                self.pieces.push_back(Buffer::with_capacity(PIECE_BYTES));
                last = self.pieces.back_mut().expect("just put in");
            }
            let (now, later) = bytes.split_at(bytes.len().min(PIECE_BYTES - last.len()));
            last.extend_from_slice(now);
            bytes = later;
            if is_payload {
                self.unhashed += now.len();
                if self.unhashed >= HASHED_AT_ONCE {
                    self.hash();
                }
            }
        }
    }

    fn hash(&mut self) {
        let last = self.pieces.back().expect("there is a first piece");
        self.hasher.update(&last[last.len() - self.unhashed..]);
        self.unhashed = 0;
    }

    /// Seals the block, and returns its pieces: in the file they come one after the other.
    pub(crate) fn seal(
        mut self,
        timestamp: Timestamp,
        header: BlockHeader,
        claims: &[Claim],
    ) -> VecDeque<Buffer> {
        self.hash();
        let head = transaction_head(timestamp, self.bytes, self.writes);
        let vector: Vec<u8> = claims.iter().flat_map(vector_entry).collect();
        self.put(&vector, false);
        let header = BlockHeader {
            payload_bytes: (TRANSACTION_HEADER_BYTES + self.bytes) as u32,
            lanes: claims.len() as u16,
            ..header
        };
        let first = &mut self.pieces[0];
        header.encode_into(&mut first[..BLOCK_HEADER_BYTES]);
        first[BLOCK_HEADER_BYTES..][..TRANSACTION_HEADER_BYTES].copy_from_slice(&head);
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&first[CHECKED_FROM..BLOCK_HEADER_BYTES]);
        hasher.update(&head);
        hasher.combine(&self.hasher);
        hasher.update(&vector);
        first[8..12].copy_from_slice(&hasher.finalize().to_le_bytes());
        if let Some(last) = self.pieces.back_mut() {
            last.pad();
        }
        self.pieces
    }

    /// Returns the bytes of the block in the file, with so many claims.
    pub(crate) fn file_bytes(&self, claims: usize) -> usize {
        let header = BlockHeader {
            payload_bytes: (TRANSACTION_HEADER_BYTES + self.bytes) as u32,
            lanes: claims as u16,
            ..BlockHeader::default()
        };
        header.file_bytes()
    }
}
