//! Interprets bytes as the options and the data of a COPY. For fuzzers, and for a test with random bytes.
//!
//! A client may cut its data anywhere, and rows may be taken in batches of any size: pieces give the rows, and the
//! error, of the whole. Rows that were read are written in the same format, and read again.

use types::{
    Allowance, Context, Memory, NoNames, Scalar, Settings, SqlError, SqlState, Type, TypeModifier,
    Value,
};

use crate::{Column, Decoder, Encoder, Format, Options, options::Columns};
use batch::Rows;
use catalog::{Object, Table, system};
use syntax::copy::{Argument, CopyOption};

/// Delimiters, quotes, and other characters that mean something in the formats.
const SPECIAL: [&str; 8] = [",", "\t", "|", "\"", "'", "\\", ";", "x"];

/// Texts that stand for NULL.
const NULLS: [&str; 4] = ["\\N", "", "null", "0"];

/// Bytes at the beginning of an input that choose the columns and options, and the size of pieces.
const CHOICES: usize = 8;

const COLUMNS: [(&str, Scalar); 4] = [
    ("number", Scalar::Int4),
    ("label", Scalar::Text),
    ("flag", Scalar::Bool),
    ("day", Scalar::Date),
];

/// Result of reading data.
#[derive(Debug, Default, PartialEq, Eq)]
struct Read {
    /// Rows as texts.
    rows: Vec<Vec<u8>>,
    /// The place of each row, as an error over it tells.
    places: Vec<Option<String>>,
    /// The error that ended the rows.
    error: Option<String>,
}

/// Carries out the checks that `data` encodes. Returns how many rows were written and read again.
///
/// # Panics
/// Panics if pieces of the data are read otherwise than the whole, or rows otherwise than they were written.
pub fn run(data: &[u8]) -> usize {
    let Some((choices, bytes)) = data.split_first_chunk::<CHOICES>() else {
        return 0;
    };
    let Ok(copy) = Copy::chosen(choices) else {
        return 0;
    };
    let encoder = Encoder::new(None, copy.columns(), copy.writing.clone());
    let mut encoder = encoder.expect("options name columns that are there");
    let (mut written, mut is_defined) = (Vec::new(), true);
    encoder.begin(&mut written);
    let whole = copy.read(bytes, bytes.len(), 2, |rows| {
        for row in rows.iter() {
            is_defined &= copy.is_read_as_written(row);
            let row = with_context(|context| encoder.row(row, context, &mut written));
            row.expect("a row that was read is written");
        }
    });
    encoder.end(&mut written);
    let pieces = 1 + usize::from(choices[5]) % 16;
    let cut = copy.read(bytes, pieces, usize::MAX, |_| {});
    assert_eq!(cut, whole, "in pieces of {pieces} bytes");
    if !is_defined {
        return 0;
    }
    let again = copy.read(&written, written.len(), usize::MAX, |_| {});
    assert_eq!(again.error, None, "{}", String::from_utf8_lossy(&written));
    assert_eq!(
        again.rows,
        whole.rows,
        "{}",
        String::from_utf8_lossy(&written)
    );
    again.rows.len()
}

/// Columns, and the options with which their rows are read and written.
struct Copy {
    /// Positions in [`COLUMNS`].
    columns: Vec<usize>,
    reading: Options,
    writing: Options,
}

impl Copy {
    fn chosen(choices: &[u8; CHOICES]) -> Result<Copy, SqlError> {
        let columns = chosen_columns(choices[4]);
        Ok(Copy {
            reading: options(choices, &columns, true)?,
            writing: options(choices, &columns, false)?,
            columns,
        })
    }

    fn columns(&self) -> Vec<Column> {
        let columns = self.columns.iter().map(|column| {
            let (name, scalar) = COLUMNS[*column];
            Column {
                name: name.into(),
                ty: Type::Scalar(scalar),
                modifier: TypeModifier::NONE,
            }
        });
        columns.collect()
    }

    /// Reads data in pieces, and hands the rows over in batches of `batch_rows`.
    fn read(
        &self,
        data: &[u8],
        piece: usize,
        batch_rows: usize,
        mut hand_over: impl FnMut(&Rows),
    ) -> Read {
        let memory = Memory::new(&Allowance::unlimited(), usize::MAX);
        let decoder = Decoder::new(table(), self.columns(), self.reading.clone(), &memory);
        let mut decoder = decoder.expect("options name columns that are there");
        let mut read = Read::default();
        let mut batch = Rows::new(self.columns.len());
        let mut put = |decoder: &Decoder, batch: &mut Rows| {
            hand_over(batch);
            read.rows.extend(batch.iter().map(|row| self.row_text(row)));
            let places = (0..batch.len()).map(|at| {
                let error = decoder.explained(at, SqlError::new(SqlState::CHECK_VIOLATION, ""));
                error.context_text().map(str::to_owned)
            });
            read.places.extend(places);
            batch.clear();
        };
        let all = with_context(|context| {
            let mut take = |decoder: &mut Decoder| {
                while decoder.next(context, &mut batch)? {
                    if batch.len() >= batch_rows {
                        put(decoder, &mut batch);
                    }
                }
                Ok::<_, SqlError>(())
            };
            for piece in data.chunks(piece.max(1)) {
                decoder.push(piece)?;
                take(&mut decoder)?;
            }
            decoder.end();
            take(&mut decoder)
        });
        put(&decoder, &mut batch);
        read.error = all.err().map(|error| format!("{error:?}"));
        read
    }

    /// Returns the text of the value of a column.
    fn text(&self, column: usize, value: Value<'_>) -> Vec<u8> {
        let (_, scalar) = COLUMNS[self.columns[column]];
        let mut text = Vec::new();
        let written = with_context(|context| {
            types::text::write(value, Type::Scalar(scalar), context, &mut text)
        });
        written.expect("a value that was read has a text");
        text
    }

    /// Returns a row's values, each with its length before it.
    fn row_text(&self, row: &[Value<'_>]) -> Vec<u8> {
        let mut out = Vec::new();
        for (at, value) in row.iter().enumerate() {
            let (length, text) = match value.is_null() {
                true => (usize::MAX, Vec::new()),
                false => {
                    let text = self.text(at, *value);
                    (text.len(), text)
                }
            };
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(&text);
        }
        out
    }

    /// Returns whether a row is read as it was written. PostgreSQL reads the other ones as another row, too.
    ///
    /// # Panics
    /// Panics if FORCE_NOT_NULL of a column did not keep NULL out of it, or FORCE_NULL the text that stands for NULL.
    fn is_read_as_written(&self, row: &[Value<'_>]) -> bool {
        let reading = &self.reading;
        let forced = reading.forced(table(), &self.columns());
        let forced = forced.expect("options name columns that are there");
        let is_kept = |(at, value): (usize, &Value<'_>)| {
            let (never_null, null_in_quotes) = forced[at];
            if value.is_null() {
                assert!(null_in_quotes || !never_null, "NULL in column {at}");
                return !never_null;
            }
            let text = self.text(at, *value);
            let looks_null = text == reading.null.as_bytes();
            if looks_null && matches!(value, Value::Text(_)) {
                assert!(never_null || !null_in_quotes, "no NULL in column {at}");
            }
            match reading.format {
                // No backslash tells a value that looks as NULL does from NULL.
                Format::Text => !looks_null,
                // A quote that is a backslash makes an end marker of the beginning of a value.
                Format::Csv => {
                    let is_marker = text.starts_with(b".\n") || text.starts_with(b".\r");
                    let is_end = at == 0 && reading.quote == b'\\' && is_marker;
                    !(is_end || looks_null && null_in_quotes)
                }
                Format::Binary => true,
            }
        };
        row.iter().enumerate().all(is_kept)
    }
}

/// Returns the positions of one to four columns, of which each may be the first.
fn chosen_columns(choice: u8) -> Vec<usize> {
    let choice = usize::from(choice);
    let (count, first) = (1 + choice % COLUMNS.len(), choice / COLUMNS.len());
    let step = if choice < 128 { 1 } else { COLUMNS.len() - 1 };
    let columns = (0..count).map(|at| (first + at * step) % COLUMNS.len());
    columns.collect()
}

/// Chooses options: those of reading name what writing does not know.
fn options(choices: &[u8; CHOICES], columns: &[usize], is_from: bool) -> Result<Options, SqlError> {
    let [format, null, delimiter, quotes, _, _, forced, quoted] = choices.map(usize::from);
    let word = |name: &str, word: &str| CopyOption {
        name: name.to_owned(),
        value: Argument::Word(word.to_owned()),
        position: None,
    };
    let mut options = vec![word("format", ["text", "csv", "binary"][format % 3])];
    if format % 3 < 2 {
        options.push(word("null", NULLS[null % NULLS.len()]));
        options.push(word("delimiter", SPECIAL[delimiter % SPECIAL.len()]));
        let header = match (delimiter / SPECIAL.len()) % 4 {
            0 => "on",
            1 if is_from => "match",
            1 => "on",
            _ => "off",
        };
        options.push(word("header", header));
    }
    if format % 3 == 1 {
        options.push(word("quote", SPECIAL[quotes % SPECIAL.len()]));
        let escape = quotes / SPECIAL.len();
        options.push(word("escape", SPECIAL[escape % SPECIAL.len()]));
    }
    let mut options = Options::of(&options, is_from)?;
    if options.format == Format::Csv {
        // Each bit is for a column.
        let named = |bits: usize| {
            let named = columns.iter().filter(|column| bits >> **column & 1 == 1);
            Columns::Named(named.map(|column| COLUMNS[*column].0.to_owned()).collect())
        };
        options.force_not_null = named(forced);
        options.force_null = named(forced >> COLUMNS.len());
        options.force_quote = named(quoted);
    }
    Ok(options)
}

/// Returns any table: columns are given beside it.
pub(crate) fn table() -> &'static Table {
    let tables = system::all_relations().filter_map(|relation| match &relation.object {
        Object::Table(table) => Some(&**table),
        _ => None,
    });
    tables.last().expect("the system has tables")
}

fn with_context<T>(work: impl FnOnce(&Context<'_>) -> T) -> T {
    let settings = Settings::default();
    work(&Context {
        settings: &settings,
        names: &NoNames,
        now: 0,
    })
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::{CHOICES, COLUMNS, NULLS, SPECIAL, chosen_columns, run};
    use crate::SIGNATURE;

    /// Values of each column.
    const VALUES: [&[&str]; 4] = [
        &["1", "-7", "0", "2147483647", "\\N"],
        &[
            "a",
            "",
            "null",
            "x,y",
            "\"quoted\"",
            "two\\\nlines",
            "\\.",
            "\u{e9}t\u{e9}",
            "0",
            " ",
        ],
        &["t", "f", "\\N"],
        &["2024-02-29", "infinity", "\\N"],
    ];

    /// Pieces that damage rows.
    const DAMAGE: [&str; 12] = [
        "\n", "\r\n", "\"", "'", "\\", "\\.", "\\N", "\t", ",", "\\x4", "\r", "number",
    ];

    /// Returns a text that needs quotes in CSV and a backslash in the other format, as it is written there.
    fn special(choices: &[u8], delimiter: &str, random: &mut Rng) -> String {
        let quotes = usize::from(choices[3]);
        let quote = SPECIAL[quotes % SPECIAL.len()];
        let escape = SPECIAL[quotes / SPECIAL.len() % SPECIAL.len()];
        match choices[0] % 3 {
            0 => format!("a\\v\\{delimiter}\\t\\b\\f{}", random.u8(..)),
            _ if random.u8(..) < 40 => format!("{quote}\\.{quote}"),
            _ if random.u8(..) < 40 => {
                let null = NULLS[usize::from(choices[1]) % NULLS.len()];
                format!("{quote}{null}{quote}")
            }
            _ if random.bool() => format!("{quote}a{delimiter}{quote}"),
            _ if escape == quote => format!("{quote}a{delimiter}\n{quote}{quote}{quote}"),
            _ => format!("{quote}{escape}{escape}a{delimiter}\r\n{escape}{quote}{quote}"),
        }
    }

    fn text_rows(columns: &[usize], random: &mut Rng, input: &mut Vec<u8>) {
        let choices = input.clone();
        let delimiter = SPECIAL[usize::from(choices[2]) % SPECIAL.len()];
        for _ in 0..random.usize(..5) {
            for (at, column) in columns.iter().enumerate() {
                let values = VALUES[*column];
                if at > 0 {
                    input.extend_from_slice(delimiter.as_bytes());
                }
                match COLUMNS[*column].0 == "label" && random.bool() {
                    true => input.extend(special(&choices, delimiter, random).bytes()),
                    false => input.extend(values[random.usize(..values.len())].bytes()),
                }
                if random.u8(..) < 6 {
                    input.extend(DAMAGE[random.usize(..DAMAGE.len())].bytes());
                }
            }
            input.push(b'\n');
        }
    }

    fn binary_rows(columns: &[usize], random: &mut Rng, input: &mut Vec<u8>) {
        input.extend_from_slice(SIGNATURE);
        input.extend_from_slice(&[0; 8]);
        for _ in 0..random.usize(..4) {
            input.extend_from_slice(&[0, columns.len() as u8]);
            for column in columns {
                let bytes = [4, random.u8(..3), 1, 4][*column];
                input.extend_from_slice(&[0, 0, 0, bytes]);
                input.extend((0..bytes).map(|_| random.u8(..2)));
            }
        }
        if random.bool() {
            input.extend_from_slice(&[0xff; 2]);
        }
        if random.u8(..) < 40 {
            input.extend((0..random.usize(..4)).map(|_| random.u8(..)));
        }
    }

    #[test]
    fn random_data_finds_nothing() {
        let mut rows = [0; 3];
        for seed in 0..20_000 {
            let mut random = Rng::with_seed(seed);
            let mut input: Vec<u8> = (0..CHOICES).map(|_| random.u8(..)).collect();
            let columns = chosen_columns(input[4]);
            match input[0] % 3 {
                2 => binary_rows(&columns, &mut random, &mut input),
                _ => text_rows(&columns, &mut random, &mut input),
            }
            let checked = std::panic::catch_unwind(|| run(&input));
            let Ok(checked) = checked else {
                panic!("seed {seed}: {input:?}");
            };
            rows[usize::from(input[0] % 3)] += checked;
        }
        assert!(
            rows.iter().all(|rows| *rows > 500),
            "text, CSV, binary: {rows:?}"
        );
    }
}
