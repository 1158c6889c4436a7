//! The blocks of one log file, in sequence, and how they end.

use io::BLOCK_BYTES;

use crate::{
    log::format::{Block, BlockHeader, Flaw},
    recovery::scan::{LogFile, block_of, is_ours, later_block},
};

/// Iterator over the blocks of a log file that have consecutive numbers, as recovery finds them
/// (`recovery/scan.rs`), each with its offset.
pub(crate) struct Blocks<'b> {
    bytes: &'b [u8],
    file: &'b LogFile,
    offset: usize,
    /// Number after that of the last block.
    next: Option<u64>,
    flaw: Flaw,
}

/// Content of the file after its last block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Nothing, or the remains of an earlier use of the file.
    Clean,
    /// A block that was not written completely, or that was the last and was changed since: the two
    /// cannot be told apart.
    Torn(Flaw),
    /// A block that was written completely, since later blocks were, or a block of another format.
    Destroyed(Flaw),
}

impl<'b> Blocks<'b> {
    pub(crate) fn new(bytes: &'b [u8], file: &'b LogFile) -> Blocks<'b> {
        Blocks {
            bytes,
            file,
            offset: BLOCK_BYTES,
            next: None,
            flaw: Flaw::Absent,
        }
    }

    /// Returns the offset where the next block is or should be.
    pub(crate) fn offset(&self) -> u64 {
        self.offset as u64
    }

    /// Returns how the blocks end, once there are no more; `next` is the number of the lane's next
    /// block, if the file had none.
    pub(crate) fn ending(&self, next: u64) -> Ending {
        let next = self.next.unwrap_or(next);
        let unknown = matches!(self.flaw, Flaw::Version(_) | Flaw::Nonsense);
        let is_later = later_block(self.bytes, self.offset, self.file, next);
        if is_later || unknown && is_ours(self.bytes, self.offset, self.file) {
            return Ending::Destroyed(self.flaw);
        }
        let rest = self.bytes.get(self.offset..).unwrap_or_default();
        let of_file = (self.file.header.incarnation, self.file.header.lane, next);
        let is_next =
            |header: &BlockHeader| (header.incarnation, header.lane, header.number) == of_file;
        match BlockHeader::decode(rest) {
            Ok((header, _)) if is_next(&header) => Ending::Torn(self.flaw),
            _ => Ending::Clean,
        }
    }
}

impl<'b> Iterator for Blocks<'b> {
    type Item = (u64, Block<'b>);

    fn next(&mut self) -> Option<(u64, Block<'b>)> {
        let block = match block_of(self.bytes, self.offset, self.file) {
            Ok(block) => block,
            Err(flaw) => {
                self.flaw = flaw;
                return None;
            }
        };
        let number = block.header.number;
        if self.next.is_some_and(|next| next != number) {
            self.flaw = Flaw::Absent;
            return None;
        }
        self.next = Some(number.saturating_add(1));
        let offset = self.offset;
        self.offset += block.file_bytes();
        Some((offset as u64, block))
    }
}
