//! Cursors: DECLARE, FETCH, MOVE and CLOSE.
//!
//! A cursor is a query that stays open, as a portal of the protocol is (`suspended.rs`), and sees
//! the rows that existed when it was declared. It computes as many rows as it is asked for, and
//! keeps them, since it may be asked to go back. A cursor that outlives its transaction computes
//! the others when that commits. Cursors and the portals of the protocol have names apart from each
//! other.

use std::{collections::BTreeMap, pin::pin, rc::Rc};

use types::{Charge, Result, SqlError, SqlState};

use super::{
    CommandTag, Field, Session, Sink,
    copy::no_parameters,
    interrupt::{Limits, interruptible},
    suspended::{Kept, Suspended, cannot_be_run},
};
use batch::Rows;
use syntax::{
    Source,
    command::{Declared, Direction, Scroll},
};

/// A query's rows, and the position among them.
struct Cursor {
    fields: Vec<Field>,
    /// Rows that were computed up to now.
    rows: Rows,
    /// Position: 0 before the first row, then the number of the current one, then one more.
    at: usize,
    scroll: Scroll,
    /// Whether the cursor outlives its transaction.
    is_held: bool,
    /// Query, until the transaction that declared the cursor has committed.
    query: Option<Rc<Suspended>>,
    /// Whether there are no rows but those that were computed.
    is_complete: bool,
    /// Whether a FETCH has failed: the position, and the rows before it, may be anything.
    has_failed: bool,
    /// Charge for its name, columns, plan and operators; its rows have their own.
    charge: Charge,
}

/// The cursors of a session, by name. Each is charged, which bounds their number.
#[derive(Default)]
pub(super) struct Cursors(BTreeMap<String, Cursor>);

impl Cursors {
    fn get(&self, name: &str) -> Result<&Cursor> {
        self.0.get(name).ok_or_else(|| missing(name))
    }

    /// Takes a cursor out, to use it or to close it.
    ///
    /// # Errors
    /// 34000 if there is none with the name.
    fn take(&mut self, name: &str) -> Result<(String, Cursor)> {
        self.0.remove_entry(name).ok_or_else(|| missing(name))
    }

    /// Closes all cursors.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Closes the cursors that were declared under more than `depth` savepoints. The positions of others stay.
    pub(super) fn return_to(&mut self, depth: usize) {
        self.0.retain(|_, cursor| cursor.depth() <= depth);
    }

    /// Returns whether there is a cursor that outlives the transaction.
    pub(super) fn any_held(&self) -> bool {
        self.0.values().any(Cursor::can_be_held)
    }

    /// Closes the cursors that do not outlive the transaction, which has committed.
    pub(super) fn commit(&mut self) {
        // One that has failed outlives its own transaction no more than in PostgreSQL.
        self.0
            .retain(|_, cursor| cursor.is_committed() || cursor.can_be_held());
        self.0
            .iter_mut()
            .for_each(|(name, cursor)| cursor.commit(name));
    }

    /// Closes the cursors that the transaction has declared, which is rolled back.
    pub(super) fn roll_back(&mut self) {
        self.0.retain(|_, cursor| cursor.is_committed());
    }
}

/// Approximate bytes of a cursor's operators.
const OPERATORS_BYTES: usize = 2048;

fn missing(name: &str) -> SqlError {
    let message = format!("cursor \"{name}\" does not exist");
    SqlError::new(SqlState::INVALID_CURSOR_NAME, message)
}

impl Cursor {
    /// Returns whether the cursor can outlive the transaction that declared it.
    fn can_be_held(&self) -> bool {
        self.is_held && !self.has_failed
    }

    /// Gives the cursor up: it can only be closed.
    fn give_up(&mut self) {
        self.has_failed = true;
        self.rows = Rows::default();
        if let Some(query) = &self.query {
            query.give_up();
        }
    }

    /// Returns whether the transaction that declared the cursor has committed.
    fn is_committed(&self) -> bool {
        self.query.is_none()
    }

    /// Returns the number of savepoints that were open at the declaration: a return to an earlier
    /// one removes the cursor.
    fn depth(&self) -> usize {
        self.query.as_ref().map_or(0, |query| query.depth())
    }

    /// Notes that the transaction has committed, and that all rows have been computed.
    fn commit(&mut self, name: &str) {
        self.query = None;
        self.charge.lower(self.own_bytes(name));
    }

    /// Returns the bytes of the cursor, which has this name, without its query.
    fn own_bytes(&self, name: &str) -> usize {
        size_of::<Self>() + name.len() + size_of_val(&*self.fields)
    }

    /// Returns how many rows have to be computed before the cursor can go in a direction.
    fn needed(&self, direction: Direction) -> usize {
        let ahead = |rows: i64| {
            let rows = usize::try_from(rows).unwrap_or(0);
            self.at.saturating_add(rows)
        };
        match direction {
            Direction::Forward(i64::MAX) => usize::MAX,
            Direction::Forward(rows) | Direction::Relative(rows) => ahead(rows),
            Direction::Backward(rows) => ahead(-rows),
            Direction::Absolute(number) => usize::try_from(number).unwrap_or(usize::MAX),
        }
    }

    /// Goes in a direction, and returns the numbers of the first and the last row on the way, from
    /// 1; `None` if there are none. The first is greater when the cursor goes backwards.
    ///
    /// # Errors
    /// 55000 if the cursor would go backwards and must not.
    ///
    /// All rows that are needed have been computed, or there are no more.
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

/// Iterates over the numbers from one to another, in either direction.
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
        let cursor = self.cursors.get(name).ok()?;
        Some(&cursor.fields)
    }

    /// Carries out DECLARE.
    pub(super) async fn declare(&mut self, declared: &Declared, query: &Source<'_>) -> Result<()> {
        let name = &declared.name;
        if !declared.is_held {
            self.transaction.needs_block("DECLARE CURSOR")?;
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
        let prepared = self.prepare_source(query, None).await?;
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
        let given = Rc::new(no_parameters());
        let Some((cached_plan, parameters)) = self.open(&prepared, &given).await? else {
            let message = "DECLARE CURSOR must not contain data-modifying statements in WITH";
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        };
        let query = self.suspend(name, &cached_plan, parameters)?;
        let fields = prepared.fields().unwrap_or_default().to_vec();
        let mut cursor = Cursor {
            rows: Rows::new(fields.len()),
            fields,
            query: Some(query),
            is_complete: false,
            has_failed: false,
            at: 0,
            scroll: declared.scroll,
            is_held: declared.is_held,
            charge: Charge::default(),
        };
        let bytes = cursor.own_bytes(name) + prepared.bytes() + OPERATORS_BYTES;
        cursor.charge.set(self.memory.kept(), bytes)?;
        // From here on, the cursor sees the present rows.
        self.compute(&mut cursor, 0).await?;
        self.cursors.0.insert(name.clone(), cursor);
        Ok(())
    }

    /// Computes rows of a cursor until there are `needed`, or no more.
    async fn compute(&mut self, cursor: &mut Cursor, needed: usize) -> Result<()> {
        let Some(query) = &cursor.query else {
            return Ok(());
        };
        let missing = match needed {
            usize::MAX => None,
            needed => Some(needed.saturating_sub(cursor.rows.len())),
        };
        if cursor.is_complete {
            return Ok(());
        }
        let mut kept = Kept(&mut cursor.rows, query.memory().clone());
        let end = self.resume(query, missing, &mut kept).await?;
        cursor.is_complete = end.is_some();
        Ok(())
    }

    /// Computes the remaining rows of the cursors that outlive the transaction.
    pub(super) async fn complete_held_cursors(&mut self) -> Result<()> {
        let mut cursors = std::mem::take(&mut self.cursors);
        let mut limits = self.limits();
        let mut outcome = Ok(());
        for cursor in cursors.0.values_mut().filter(|cursor| cursor.can_be_held()) {
            outcome = interruptible(&mut limits, pin!(self.compute(cursor, usize::MAX))).await;
            if outcome.is_err() {
                break;
            }
        }
        // Cursors of earlier transactions stay, however this one ends.
        self.cursors = cursors;
        outcome
    }

    /// Carries out FETCH, or MOVE.
    pub(super) async fn fetch(
        &mut self,
        name: &str,
        direction: Direction,
        is_move: bool,
        limits: &mut Limits,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let known = self.cursors.get(name)?;
        if known.has_failed {
            return Err(cannot_be_run(name));
        }
        if !is_move {
            sink.expects(&known.fields)?;
        }
        let (name, mut cursor) = self.cursors.take(name)?;
        let fetching = self.fetch_from(&mut cursor, direction, is_move, sink);
        let fetched = interruptible(limits, pin!(fetching)).await;
        if fetched.is_err() {
            cursor.give_up();
        }
        self.cursors.0.insert(name, cursor);
        sink.complete(CommandTag::Rows(
            if is_move { "MOVE" } else { "FETCH" },
            fetched?,
        ))
    }

    /// Returns the number of rows on the way.
    async fn fetch_from(
        &mut self,
        cursor: &mut Cursor,
        direction: Direction,
        is_move: bool,
        sink: &mut impl Sink,
    ) -> Result<u64> {
        self.compute(cursor, cursor.needed(direction)).await?;
        let range = cursor.go(direction)?;
        if !is_move {
            sink.fields(&cursor.fields)?;
            let sent = numbers(range).map(|number| number - 1);
            self.send_kept(&cursor.rows, sent, &cursor.fields, sink)
                .await?;
        }
        Ok(range.map_or(0, |(first, last)| first.abs_diff(last) as u64 + 1))
    }

    /// Carries out CLOSE.
    pub(super) fn close(&mut self, name: &str) -> Result<()> {
        self.cursors.take(name).map(drop)
    }
}
