//! Interprets bytes as the options and the data of a COPY. For fuzzers, and for a test with random bytes.
//!
//! A client may cut its data anywhere: pieces give the rows, and the error, of the whole. Rows that were read are
//! written in the same format, and read again.

use types::{Allowance, Context, Memory, NoNames, Scalar, Settings, SqlError, Type, TypeModifier};

use crate::{Column, Decoder, Encoder, Format, Options};
use batch::Rows;
use catalog::{Object, Table, system};
use syntax::copy::{Argument, CopyOption};

/// Delimiters, quotes, and other characters that mean something in the formats.
const SPECIAL: [&str; 8] = [",", "\t", "|", "\"", "'", "\\", ";", "x"];

/// Texts that stand for NULL.
const NULLS: [&str; 4] = ["\\N", "", "null", "0"];

/// Bytes at the beginning of an input that choose the options, and the size of pieces.
const CHOICES: usize = 6;

const COLUMNS: [(&str, Scalar); 4] = [
    ("number", Scalar::Int4),
    ("label", Scalar::Text),
    ("flag", Scalar::Bool),
    ("day", Scalar::Date),
];

/// Rows as texts, or the error that ended them.
type Read = (Vec<Vec<u8>>, Option<String>);

/// Carries out the checks that `data` encodes. Returns how many rows were written and read again.
///
/// # Panics
/// Panics if pieces of the data are read otherwise than the whole, or rows otherwise than they were written.
pub fn run(data: &[u8]) -> usize {
    let Some((choices, bytes)) = data.split_first_chunk::<CHOICES>() else {
        return 0;
    };
    let (reading, writing) = (options(choices, true), options(choices, false));
    let (Ok(reading), Ok(writing)) = (reading, writing) else {
        return 0;
    };
    let columns = 1 + usize::from(choices[4]) % COLUMNS.len();
    let mut rows = Rows::new(columns);
    let whole = read(bytes, bytes.len().max(1), columns, &reading, &mut rows);
    let pieces = 1 + usize::from(choices[5]) % 16;
    let mut again = Rows::new(columns);
    let cut = read(bytes, pieces, columns, &reading, &mut again);
    assert_eq!(cut, whole, "in pieces of {pieces} bytes");
    if reading.format == Format::Text && *reading.null != *NULLS[0] {
        // Values without a backslash that look as NULL does are written as NULL is, as in PostgreSQL.
        return 0;
    }
    let written = written(&rows, columns, &writing);
    again.clear();
    let (read_again, error) = read(
        &written,
        written.len().max(1),
        columns,
        &reading,
        &mut again,
    );
    assert_eq!(error, None, "{}", String::from_utf8_lossy(&written));
    assert_eq!(read_again, whole.0, "{}", String::from_utf8_lossy(&written));
    rows.len()
}

/// Chooses options: those of reading name what writing does not know.
fn options(choices: &[u8; CHOICES], is_from: bool) -> Result<Options, SqlError> {
    let [format, null, delimiter, quotes, ..] = choices.map(usize::from);
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
    Options::of(&options, is_from)
}

fn columns(count: usize) -> Vec<Column> {
    let columns = COLUMNS[..count].iter().map(|(name, scalar)| Column {
        name: (*name).into(),
        ty: Type::Scalar(*scalar),
        modifier: TypeModifier::NONE,
    });
    columns.collect()
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

/// Reads data in pieces, and adds the rows to `rows`.
fn read(data: &[u8], piece: usize, width: usize, options: &Options, rows: &mut Rows) -> Read {
    let memory = Memory::new(&Allowance::unlimited(), usize::MAX);
    let decoder = Decoder::new(table(), columns(width), options.clone(), &memory);
    let mut decoder = decoder.expect("no option names a column");
    let read = with_context(|context| {
        let mut take = |decoder: &mut Decoder| {
            while decoder.next(context, rows)? {}
            Ok::<_, SqlError>(())
        };
        for piece in data.chunks(piece) {
            decoder.push(piece)?;
            take(&mut decoder)?;
        }
        decoder.end();
        take(&mut decoder)
    });
    let error = read.err().map(|error| format!("{error:?}"));
    (texts(rows, width), error)
}

/// Returns the rows' values, each with its length before it.
fn texts(rows: &Rows, width: usize) -> Vec<Vec<u8>> {
    let text = |at: usize| {
        let mut out = Vec::new();
        for (value, (_, scalar)) in rows.row(at).iter().zip(&COLUMNS[..width]) {
            let mut text = Vec::new();
            if !value.is_null() {
                let written = with_context(|context| {
                    types::text::write(*value, Type::Scalar(*scalar), context, &mut text)
                });
                written.expect("a value that was read has a text");
            }
            let length = if value.is_null() {
                usize::MAX
            } else {
                text.len()
            };
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(&text);
        }
        out
    };
    (0..rows.len()).map(text).collect()
}

fn written(rows: &Rows, width: usize, options: &Options) -> Vec<u8> {
    let encoder = Encoder::new(None, columns(width), options.clone());
    let mut encoder = encoder.expect("no option names a column");
    let mut out = Vec::new();
    encoder.begin(&mut out);
    for at in 0..rows.len() {
        let written = with_context(|context| encoder.row(rows.row(at), context, &mut out));
        written.expect("a row that was read is written");
    }
    encoder.end(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::{CHOICES, COLUMNS, SPECIAL, run};
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
            _ if random.bool() => format!("{quote}a{delimiter}{quote}"),
            _ if escape == quote => format!("{quote}a{delimiter}\n{quote}{quote}{quote}"),
            _ => format!("{quote}{escape}{escape}a{delimiter}\r\n{escape}{quote}{quote}"),
        }
    }

    fn text_rows(columns: usize, random: &mut Rng, input: &mut Vec<u8>) {
        let choices = input.clone();
        let delimiter = SPECIAL[usize::from(choices[2]) % SPECIAL.len()];
        for _ in 0..random.usize(..5) {
            for (at, values) in VALUES[..columns].iter().enumerate() {
                if at > 0 {
                    input.extend_from_slice(delimiter.as_bytes());
                }
                match at == 1 && random.bool() {
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

    fn binary_rows(columns: usize, random: &mut Rng, input: &mut Vec<u8>) {
        input.extend_from_slice(SIGNATURE);
        input.extend_from_slice(&[0; 8]);
        for _ in 0..random.usize(..4) {
            input.extend_from_slice(&[0, columns as u8]);
            for bytes in &[4, random.u8(..3), 1, 4][..columns] {
                input.extend_from_slice(&[0, 0, 0, *bytes]);
                input.extend((0..*bytes).map(|_| random.u8(..2)));
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
            let columns = 1 + usize::from(input[4]) % COLUMNS.len();
            match input[0] % 3 {
                2 => binary_rows(columns, &mut random, &mut input),
                _ => text_rows(columns, &mut random, &mut input),
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
