//! Cursors: DECLARE, FETCH, MOVE and CLOSE.
//!
//! A cursor computes all its rows when it is declared and keeps them. So it sees what there was
//! then, as in PostgreSQL; but an error in a row is told by DECLARE, and FOR UPDATE locks all rows
//! at once. They are not the portals of the protocol, which have names of their own here.

use types::{Result, SqlError, SqlState};

use super::{Field, ResultRow, Session, Sink, Tag};
use crate::{
    parse::{
        Source,
        command::{Declared, Direction, Scroll},
    },
    rows::Rows,
};

/// A query's rows, and which of them is the current one.
pub(super) struct Cursor {
    name: String,
    fields: Vec<Field>,
    rows: Rows,
    /// 0 before the first row, then the number of the current one, then one more.
    at: usize,
    scroll: Scroll,
    /// It outlives its transaction.
    pub(super) is_held: bool,
    /// The transaction that declared it has committed.
    pub(super) is_committed: bool,
    /// How many savepoints were open when it was declared.
    pub(super) depth: usize,
}

fn missing(name: &str) -> SqlError {
    let message = format!("cursor \"{name}\" does not exist");
    SqlError::new(SqlState::INVALID_CURSOR_NAME, message)
}

impl Cursor {
    /// Goes there, and gives the numbers of the rows on the way, from 1: first, last; `None` if
    /// there are none. The first is greater when it goes backwards.
    ///
    /// # Errors
    /// 55000 if it would go backwards and must not.
    fn go(&mut self, direction: Direction) -> Result<Option<(usize, usize)>> {
        let (before, count) = (self.at, self.rows.len());
        let end = count + 1;
        let clamped = |position: i64| {
            let position = usize::try_from(position).unwrap_or(0);
            position.min(end)
        };
        let signed = |position: usize| i64::try_from(position).unwrap_or(i64::MAX);
        let is_row = |at: usize| (1..=count).contains(&at).then_some((at, at));
        let forward = |rows: i64| match rows {
            0 => (before, is_row(before)),
            rows if rows > 0 => {
                let at = clamped(signed(before).saturating_add(rows));
                let last = at.min(count);
                (at, (last > before).then_some((before + 1, last)))
            }
            rows => {
                let at = clamped(signed(before).saturating_add(rows));
                let last = at.max(1);
                (at, (last < before).then(|| (before - 1, last)))
            }
        };
        let (at, rows) = match direction {
            Direction::Forward(rows) => forward(rows),
            Direction::Backward(rows) => forward(-rows),
            Direction::Absolute(number) => {
                let at = match number {
                    number if number < 0 => clamped(signed(end).saturating_add(number)),
                    number => clamped(number),
                };
                (at, is_row(at))
            }
            Direction::Relative(by) => {
                let at = clamped(signed(before).saturating_add(by));
                (at, is_row(at))
            }
        };
        let goes_back = match direction {
            // The last row is known when the end was seen.
            Direction::Absolute(number) => number < 0 || at < before,
            // The current row is given once more.
            Direction::Forward(0) | Direction::Backward(0) | Direction::Relative(0) => {
                rows.is_some()
            }
            _ => at < before,
        };
        if goes_back && self.scroll == Scroll::No {
            return Err(SqlError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "cursor can only scan forward",
            )
            .hint("Declare it with SCROLL option to enable backward scan."));
        }
        self.at = at;
        Ok(rows)
    }
}

/// The numbers from one to another, in either direction.
fn numbers(range: Option<(usize, usize)>) -> impl Iterator<Item = usize> {
    let (first, last) = range.unwrap_or((1, 0));
    let is_back = last < first && range.is_some();
    let forward = (!is_back).then_some(first..=last);
    let back = is_back.then_some((last..=first).rev());
    forward
        .into_iter()
        .flatten()
        .chain(back.into_iter().flatten())
}

impl Session {
    pub(super) fn cursor_fields(&self, name: &str) -> Option<&[Field]> {
        let cursor = self.cursors.iter().find(|cursor| cursor.name == name)?;
        Some(&cursor.fields)
    }

    /// DECLARE.
    pub(super) async fn declare(&mut self, declared: &Declared, query: &Source<'_>) -> Result<()> {
        let name = &declared.name;
        if !declared.is_held {
            self.in_block("DECLARE CURSOR")?;
        }
        if declared.is_binary {
            return Err(SqlError::unsupported("a BINARY cursor"));
        }
        if self.cursor_fields(name).is_some() {
            return Err(SqlError::new(
                SqlState::DUPLICATE_CURSOR,
                format!("cursor \"{name}\" already exists"),
            ));
        }
        if !query.may_have_plan() {
            return Err(query.not_expected());
        }
        let prepared = std::rc::Rc::new(self.prepare_source(query, &[])?);
        if !prepared.is_query() {
            return Err(query.not_expected());
        }
        if prepared.locks_rows() {
            let kinds = [
                (declared.is_held, "DECLARE CURSOR WITH HOLD ... FOR UPDATE"),
                (
                    declared.scroll == Scroll::Yes,
                    "DECLARE SCROLL CURSOR ... FOR UPDATE",
                ),
                (
                    declared.is_insensitive,
                    "DECLARE INSENSITIVE CURSOR ... FOR UPDATE",
                ),
            ];
            if let Some((_, kind)) = kinds.iter().find(|(is, _)| *is) {
                return Err(SqlError::unsupported(kind));
            }
        }
        let fields = prepared.fields().unwrap_or_default().to_vec();
        let mut kept = Kept(Rows::new(fields.len()));
        let mut no_parameters = Rows::new(0);
        no_parameters.push([]);
        self.run_prepared(&prepared, &no_parameters, &mut kept)
            .await?;
        self.cursors.push(Cursor {
            name: name.clone(),
            fields,
            rows: kept.0,
            at: 0,
            scroll: declared.scroll,
            is_held: declared.is_held,
            is_committed: false,
            depth: self.block.depth(),
        });
        Ok(())
    }

    /// FETCH, or MOVE.
    pub(super) async fn fetch(
        &mut self,
        name: &str,
        direction: Direction,
        is_move: bool,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let found = self.cursors.iter().position(|cursor| cursor.name == name);
        let found = found.ok_or_else(|| missing(name))?;
        let range = self.cursors[found].go(direction)?;
        let count = range.map_or(0, |(first, last)| first.abs_diff(last) as u64 + 1);
        if is_move {
            return sink.complete(Tag::Rows("MOVE", count));
        }
        let cursor = &self.cursors[found];
        sink.fields(&cursor.fields)?;
        let catalog = self.changes.catalog();
        for (sent, number) in numbers(range).enumerate() {
            sink.row(&ResultRow {
                fields: &cursor.fields,
                values: cursor.rows.row(number - 1),
                context: self.context(&catalog),
            })?;
            if sent % crate::execute::BATCH_ROWS == 0 {
                sink.drain().await?;
            }
        }
        sink.complete(Tag::Rows("FETCH", count))
    }

    /// CLOSE.
    pub(super) fn close(&mut self, name: &str) -> Result<()> {
        let found = self.cursors.iter().position(|cursor| cursor.name == name);
        self.cursors.remove(found.ok_or_else(|| missing(name))?);
        Ok(())
    }
}

/// Keeps rows for a cursor.
struct Kept(Rows);

impl Sink for Kept {
    fn fields(&mut self, _: &[Field]) -> Result<()> {
        Ok(())
    }

    fn row(&mut self, row: &ResultRow<'_>) -> Result<()> {
        self.0.push(row.values.iter().copied());
        Ok(())
    }

    fn complete(&mut self, _: Tag) -> Result<()> {
        Ok(())
    }
}
