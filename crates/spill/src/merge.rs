//! Sorted runs, and their merge, in several passes if there is no memory to read all of them at once.

use std::{cmp::Ordering, collections::VecDeque, rc::Rc};

use batch::Rows;
use engine::Session;
use interleave::Turn;
use types::{Charge, Memory, Result, Value};

use crate::{
    file::{Run, SpillFile},
    reader::RunReader,
    writer::RunWriter,
};

/// Pieces' worth of memory for the rows of a run that were read: they take more room than on the device, of which they
/// take a part of a piece.
const PIECES_OF_ROWS: usize = 2;

/// Copies of a large row: put together from pieces, and decoded, in an arena that has twice the room.
const COPIES_OF_ROW: usize = 3;

/// Fewest runs that can be merged.
const RUNS_MIN: usize = 2;

/// Most runs that are merged at once: each has a buffer that the device fills by itself.
const RUNS_MAX: usize = 256;

/// The runs of a sort, each of them in order.
#[derive(Debug)]
pub struct SortedRuns {
    file: Rc<SpillFile>,
    memory: Rc<Memory>,
    runs: VecDeque<Run>,
    /// Writer of the next run; made when it is needed.
    writer: Option<RunWriter>,
    /// Number of values in each row.
    width: usize,
}

impl SortedRuns {
    /// Makes an empty list in a new file of `session`, in pieces of `piece_bytes`, charged to `memory`, of which
    /// `charge` is a part that the first writer takes over. Rows have `width` values each.
    ///
    /// # Errors
    /// 53200 if the statement may not hold a writer's memory; 53100 or 58030 if the device fails.
    pub fn new(
        session: &Rc<Session>,
        piece_bytes: usize,
        memory: &Rc<Memory>,
        charge: Charge,
        width: usize,
    ) -> Result<Self> {
        let file = SpillFile::new(session, piece_bytes)?;
        Ok(Self {
            writer: Some(RunWriter::new(&file, memory, charge)?),
            memory: memory.clone(),
            file,
            runs: VecDeque::new(),
            width,
        })
    }

    /// Returns the most bytes that the runs have had on the device.
    pub fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    /// Returns the number of runs.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Returns whether there are no runs.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the writer of the next run, which [`SortedRuns::end_run`] ends.
    ///
    /// # Errors
    /// 53200 if the statement may not hold its memory.
    pub fn writer(&mut self) -> Result<&mut RunWriter> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => RunWriter::new(&self.file, &self.memory, Charge::default())?,
        };
        Ok(self.writer.insert(writer))
    }

    /// Ends the run that was written.
    ///
    /// # Errors
    /// Errors of [`SortedRuns::writer`] and [`RunWriter::finish`].
    ///
    /// # Suspension
    /// Device waits.
    ///
    /// # Cancellation
    /// Dropping the future loses the run: the list can only be dropped.
    pub async fn end_run(&mut self) -> Result<()> {
        let run = self.writer()?.finish().await?;
        self.runs.push_back(run);
        Ok(())
    }

    /// Begins the merge of all runs in the order of `compare`, with around `memory_bytes` of memory, as work of `turn`.
    /// Runs that do not fit into that are merged to larger ones before, of which no more than `limit` rows are kept:
    /// in passes over all runs, so that equal rows stay in the order of their runs.
    ///
    /// # Errors
    /// 53200 if the statement may not hold the memory of two runs; errors of the device.
    ///
    /// # Suspension
    /// Device waits; turns of other tasks.
    ///
    /// # Cancellation
    /// Dropping the future loses rows: the list can only be dropped.
    pub async fn merge(
        &mut self,
        memory_bytes: usize,
        limit: usize,
        compare: &impl Fn(&[Value<'_>], &[Value<'_>]) -> Ordering,
        turn: &Turn,
    ) -> Result<Merge> {
        let most = memory_bytes / self.bytes_of_run();
        let mut most = most.clamp(RUNS_MIN, RUNS_MAX);
        // Runs that this pass has not come to yet. Those that it has merged lie behind them in the list, and come
        // before them in the order of equal rows.
        let mut left = self.runs.len();
        loop {
            let beyond = self.runs.len().saturating_sub(most);
            if beyond == 0 || left < RUNS_MIN {
                self.runs.rotate_left(left);
                left = self.runs.len();
            }
            // The last merge has as many as it can.
            let several = match beyond {
                0 => left,
                _ => left.min(most).min(beyond + 1),
            };
            let mut merge = self.begin(several, compare, turn).await?;
            if self.runs.is_empty() {
                self.writer = None;
                return Ok(merge);
            }
            let begun = merge.heads.len();
            left -= begun;
            if begun < several {
                most = begun;
            }
            let mut given = 0;
            while given < limit
                && let Some(row) = merge.first()
            {
                self.writer()?.push(row.iter().copied(), turn).await?;
                merge.advance(compare, turn).await?;
                given += 1;
            }
            drop(merge);
            self.end_run().await?;
        }
    }

    /// Returns the bytes of memory for each run of a merge: its reader's, and for rows that were read.
    fn bytes_of_run(&self) -> usize {
        RunReader::memory_bytes(self.file.piece_bytes()) + self.bytes_of_rows()
    }

    /// Returns the bytes of memory for the rows that were read of a run, a large one included.
    fn bytes_of_rows(&self) -> usize {
        PIECES_OF_ROWS * self.file.piece_bytes() + COPIES_OF_ROW * self.file.large_row_bytes()
    }

    /// Begins the merge of the first `several` runs, or of fewer if there is no memory for so many.
    async fn begin(
        &mut self,
        several: usize,
        compare: &impl Fn(&[Value<'_>], &[Value<'_>]) -> Ordering,
        turn: &Turn,
    ) -> Result<Merge> {
        let mut merge = Merge {
            heads: Vec::with_capacity(several),
            heap: Vec::with_capacity(several),
            memory: self.memory.clone(),
        };
        for begun in 0..several {
            let has_room = self.memory.ask(self.bytes_of_run());
            match has_room {
                Err(_) if begun >= RUNS_MIN => break,
                has_room => has_room?,
            }
            let Some(run) = self.runs.pop_front() else {
                break;
            };
            let mut room = Charge::default();
            let rows_bytes = self.bytes_of_rows();
            room.set(&self.memory, rows_bytes)?;
            merge.heads.push(Head {
                reader: RunReader::new(run, &self.memory).await?,
                rows: Rows::new(self.width),
                taken: 0,
                room,
                rows_bytes,
            });
        }
        // All of them have begun to read before the first is waited for.
        for number in 0..merge.heads.len() {
            if merge.fill(number, turn).await? {
                merge.heap.push(number as u32);
            }
        }
        for place in (0..merge.heap.len()).rev() {
            merge.sift(place, compare);
        }
        Ok(merge)
    }
}

/// A merge of sorted runs. Equal rows come in the order of their runs.
#[derive(Debug)]
pub struct Merge {
    heads: Vec<Head>,
    /// Numbers of the heads that have rows, as a heap: each is before those at twice its place and behind.
    heap: Vec<u32>,
    memory: Rc<Memory>,
}

/// A run of a merge, and the rows of it that were read.
#[derive(Debug)]
struct Head {
    reader: RunReader,
    rows: Rows,
    /// Number of the rows that were given.
    taken: usize,
    /// Charge for the part of `rows_bytes` that the rows do not take, so that no other container takes it.
    room: Charge,
    rows_bytes: usize,
}

impl Head {
    fn row(&self) -> &[Value<'_>] {
        self.rows.row(self.taken)
    }
}

impl Merge {
    /// Returns the first of the rows that are left; `None` if there are none.
    pub fn first(&self) -> Option<&[Value<'_>]> {
        let number = *self.heap.first()?;
        Some(self.heads[number as usize].row())
    }

    /// Leaves the first row behind, as work of `turn`.
    ///
    /// # Errors
    /// 53200 if the statement may not hold the rows that are read; errors of the device.
    ///
    /// # Suspension
    /// Device waits; turns of other tasks.
    ///
    /// # Cancellation
    /// Dropping the future loses rows: the merge can only be dropped.
    pub async fn advance(
        &mut self,
        compare: &impl Fn(&[Value<'_>], &[Value<'_>]) -> Ordering,
        turn: &Turn,
    ) -> Result<()> {
        let Some(number) = self.heap.first().map(|number| *number as usize) else {
            return Ok(());
        };
        let head = &mut self.heads[number];
        head.taken += 1;
        if head.taken == head.rows.len() && !self.fill(number, turn).await? {
            self.heap.swap_remove(0);
        }
        self.sift(0, compare);
        turn.pause(1).await;
        Ok(())
    }

    /// Reads the next rows of a run; returns whether there are any.
    async fn fill(&mut self, number: usize, turn: &Turn) -> Result<bool> {
        let head = &mut self.heads[number];
        head.rows.clear();
        head.taken = 0;
        let more = head.reader.read(&mut head.rows, turn).await?;
        head.room.lower(0);
        if more {
            head.rows.settle(&self.memory)?;
            let room = head.rows_bytes.saturating_sub(head.rows.bytes());
            head.room.set(&self.memory, room)?;
        } else {
            head.rows = Rows::new(head.rows.width());
        }
        Ok(more)
    }

    /// Moves the head at a place of the heap behind those that are before it.
    fn sift(
        &mut self,
        mut place: usize,
        compare: &impl Fn(&[Value<'_>], &[Value<'_>]) -> Ordering,
    ) {
        let is_before = |one: u32, other: u32| {
            let rows = [one, other].map(|number| self.heads[number as usize].row());
            compare(rows[0], rows[1]).then(one.cmp(&other)).is_lt()
        };
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let Some(child) = self.heap.get(left) else {
                return;
            };
            let smaller = match self.heap.get(right) {
                Some(other) if is_before(*other, *child) => right,
                _ => left,
            };
            if is_before(self.heap[place], self.heap[smaller]) {
                return;
            }
            self.heap.swap(place, smaller);
            place = smaller;
        }
    }
}
