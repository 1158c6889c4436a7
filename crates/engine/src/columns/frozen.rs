//! Blocks as tables have them.

use crate::timestamp::Timestamp;

/// Records of a chunk of a table's RIDs by columns.
#[derive(Debug)]
pub struct FrozenBlock {
    columns: segment::Block,
    /// Commit of the newest record.
    newest: Timestamp,
}

impl FrozenBlock {
    pub(crate) fn new(columns: segment::Block, newest: Timestamp) -> FrozenBlock {
        FrozenBlock { columns, newest }
    }

    /// Returns the columns, whose fields are as the description of the records has split them
    /// ([`RecordFields`](super::RecordFields)). Positions that are superseded have nothing of meaning.
    pub fn columns(&self) -> &segment::Block {
        &self.columns
    }

    pub(crate) fn newest(&self) -> Timestamp {
        self.newest
    }
}
