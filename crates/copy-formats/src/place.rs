//! The places of rows in the data, as PostgreSQL shows them in CONTEXT.

use types::{SqlError, SqlState};

/// Bytes of a line or value that a message shows.
const SHOWN_BYTES_MAX: usize = 100;

/// The lines that the rows of a batch came from, as much of them as would be shown.
#[derive(Default)]
pub(super) struct Places {
    text: Vec<u8>,
    /// Number of each line, the end of its text, and whether the text was cut.
    lines: Vec<(u64, usize, bool)>,
}

impl Places {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.lines.clear();
    }

    /// Notes that a row has been read; binary rows have no text.
    pub(super) fn note(&mut self, number: u64, line: &[u8]) {
        let shown = &line[..line.len().min(SHOWN_BYTES_MAX)];
        self.text.extend_from_slice(shown);
        self.lines
            .push((number, self.text.len(), shown.len() < line.len()));
    }

    /// Returns an error of the row that was noted at `at`, with its place.
    ///
    /// PostgreSQL's messages have the line's text only if the error was found before the row was
    /// put in, as with a value that must not be there; a duplicate is found later.
    pub(super) fn explained(
        &self,
        at: usize,
        table: &str,
        has_text: bool,
        error: SqlError,
    ) -> SqlError {
        let Some(&(number, end, is_cut)) = self.lines.get(at) else {
            return error;
        };
        let is_late = matches!(
            error.state(),
            SqlState::UNIQUE_VIOLATION
                | SqlState::SERIALIZATION_FAILURE
                | SqlState::DEADLOCK_DETECTED
        );
        // References are checked when all rows are there.
        if error.state() == SqlState::FOREIGN_KEY_VIOLATION {
            return error;
        }
        if is_late || !has_text {
            return error.context(format!("COPY {table}, line {number}"));
        }
        let start = at.checked_sub(1).map_or(0, |before| self.lines[before].1);
        let text = shown(&self.text[start..end], is_cut);
        error.context(format!("COPY {table}, line {number}: \"{text}\""))
    }
}

/// Returns the beginning of a line or value, or all of it.
pub(super) fn shortened(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(SHOWN_BYTES_MAX)];
    shown(cut, cut.len() < bytes.len())
}

/// Returns bytes as text, without the rest of a character that was cut.
fn shown(bytes: &[u8], is_cut: bool) -> String {
    if !is_cut {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let whole = match std::str::from_utf8(bytes) {
        Ok(text) => text.len(),
        Err(error) => error.valid_up_to(),
    };
    format!("{}...", String::from_utf8_lossy(&bytes[..whole]))
}
