//! Rows on the device: those that an operator puts by when it may keep no more of them in memory.
//!
//! A [`Run`] is a list of rows that is written once and read once, or several times ([`RunReader::again`]). A
//! [`RunWriter`] fills one buffer while another is written; a [`RunReader`] looks at the rows of one buffer while the
//! next is read. All runs of an operator lie in one temporary file, a [`SpillFile`], in pieces of equal size. Sorted
//! runs are merged by a [`Merge`]; rows with equal keys come into the same run by [`Partitions`]. A [`Budget`] says
//! from when on an operator puts rows by.
//!
//! | part | file |
//! | --- | --- |
//! | the file, its pieces, its errors | `file.rs` |
//! | writing rows; reading them | `writer.rs`; `reader.rs` |
//! | sorted runs, and their merge; the part of a sort on the device | `merge.rs`; `external.rs` |
//! | partitions by hash; rows that have no room in a table | `partitions.rs`; `put_by.rs` |
//! | rows that several readers read | `kept.rs` |
//! | memory and time of an execution | `budget.rs` |
//! | what operators have put by, and hold before | `spilled.rs` |
//!
//! The crate knows rows and values. It never knows tables, plans, or whether the rows are sorted, grouped or joined.
//!
//! # Form
//! A row is the number of its bytes, in 32 bits, and its values ([`types::tagged`]). Rows follow each other without
//! gaps, across the ends of pieces. The last piece of a run ends with zeros up to a whole block. There are no
//! checksums: the content is worth nothing to another process, and damaged bytes are an error or other values.
//!
//! # Invariants
//! - *One owner*: each piece of a file is free, or belongs to one writer, run or reader. A piece becomes free when its
//!   content was read, or when its run is dropped, all of whose writes have ended. Pieces of a run that is read several
//!   times stay with the run, which its readers share. Pieces of a writer that is dropped amid a run are not used
//!   again, since a write may be under way. A read that is under way for a dropped reader is nobody's: new content of
//!   its piece may get into a buffer that nobody looks at.
//! - *Gone with its owner*: the file goes when its last run, writer and reader are dropped, however an execution ends.
//!
//! # Bounds
//! A writer and a reader have two buffers of a piece each, and the bytes of one row. All of this is charged to the
//! statement's memory. The numbers of a run's pieces are not: they take 8 bytes for a piece.

mod budget;
mod external;
mod file;
mod kept;
mod merge;
mod partitions;
mod put_by;
mod reader;
mod spilled;
mod writer;

pub use self::{
    budget::Budget,
    external::External,
    file::{Run, SpillFile},
    kept::{KeptReader, KeptRows, give},
    merge::{Merge, SortedRuns},
    partitions::{LEVELS_MAX, PartitionedFile, Partitions},
    put_by::PutBy,
    reader::RunReader,
    spilled::Spilled,
    writer::RunWriter,
};
