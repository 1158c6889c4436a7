//! `weft log`: the log for people.

use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use clap::ValueEnum;
use engine::OpenError;
use engine::inspect::{self, DumpEntry, DumpSelection};
use serde_json::{Value, json};

use crate::directory;

const EXAMPLES: &str = "\
What becomes of a transaction when the database is opened:
  durable        it is replayed
  in-checkpoint  the checkpoint has it already
  cut-off        it is newer than what all workers have completely, and does not count
  unknown        the database would not open; weft check tells why

Examples:
  weft log dump /var/lib/weft | less
  weft log dump /var/lib/weft --from 12000 --to 12100
  weft log dump /var/lib/weft --format json | jq 'select(.kind == \"write\")'";

/// Most characters that are shown of a key or value in the form for people.
const SHOWN_MAX: usize = 64;

/// Looks at the log of a data directory.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Dump(Dump),
}

/// Prints blocks, transactions and writes of the log, in the order of its files.
///
/// Needs a database that is not open anywhere; changes nothing. Behind damage in a file the dump
/// goes on with the next file. Keys and values are in the encoded form, as text where they are text
/// and in hexadecimal elsewhere. Files that a checkpoint has made superfluous are included until
/// they are used again.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Dump {
    /// The data directory.
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Only the log of this worker.
    #[arg(long, value_name = "N")]
    lane: Option<u32>,

    /// Only blocks that were logged after the database was opened for the N-th time.
    #[arg(long, value_name = "N")]
    incarnation: Option<u64>,

    /// Only transactions of this timestamp and later ones.
    #[arg(long, value_name = "TS", default_value_t = 0)]
    from: u64,

    /// Only transactions of this timestamp and earlier ones.
    #[arg(long, value_name = "TS", default_value_t = u64::MAX, hide_default_value = true)]
    to: u64,

    /// Form of the output: text for people, with long values shortened; json for programs, an
    /// object a line, with keys and values in full.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Reason for which the dump ended early.
enum Stop {
    Refused(OpenError),
    Output(std::io::Error),
}

impl From<OpenError> for Stop {
    fn from(error: OpenError) -> Stop {
        Stop::Refused(error)
    }
}

impl Command {
    pub(crate) fn run(self) -> commands::Result<()> {
        match self {
            Command::Dump(dump) => dump.run(),
        }
    }
}

impl Dump {
    fn run(self) -> commands::Result<()> {
        let directory = directory::existing(&self.directory)?;
        let selection = DumpSelection {
            lane: self.lane,
            incarnation: self.incarnation,
            timestamps: self.from..=self.to,
        };
        let mut output = BufWriter::new(std::io::stdout().lock());
        let mut damages = 0;
        let dumped = inspect::dump(&directory, &selection, &mut |entry| {
            damages += u64::from(matches!(entry, DumpEntry::Damage { .. }));
            let line = match self.format {
                Format::Text => as_text(&entry),
                Format::Json => as_json(&entry).to_string(),
            };
            writeln!(output, "{line}").map_err(Stop::Output)
        });
        match dumped.and_then(|()| output.flush().map_err(Stop::Output)) {
            Ok(()) if damages == 0 => Ok(()),
            Ok(()) => Err(commands::Error::run(format!(
                "the log has {damages} places that cannot be read; weft check has advice"
            ))),
            // A reader that closes the pipe early, as `head` does, is no error.
            Err(Stop::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            Err(Stop::Output(error)) => Err(commands::Error::run(format!(
                "cannot write to standard output: {error}"
            ))),
            Err(Stop::Refused(error)) => Err(directory::refused(&self.directory, &error)),
        }
    }
}

fn as_text(entry: &DumpEntry<'_>) -> String {
    match *entry {
        DumpEntry::File {
            name,
            incarnation,
            lane,
            ordinal,
            ..
        } => format!("{name}: incarnation {incarnation}, lane {lane}, file {ordinal}"),
        DumpEntry::Block {
            offset,
            bytes,
            number,
            transactions,
            as_of,
            ..
        } => format!(
            "  block {number} at byte {offset}: {transactions} transactions, {bytes} bytes, \
             clock {}",
            as_of.0
        ),
        DumpEntry::Transaction {
            timestamp,
            writes,
            fate,
            ..
        } => format!(
            "    timestamp {}: {writes} writes, {}",
            timestamp.0,
            fate.name()
        ),
        DumpEntry::Write {
            table,
            table_name,
            key,
            value,
            expires,
            ..
        } => {
            let until = expires.map(|expires| format!(", expires at {}", expires.0));
            let until = until.unwrap_or_default();
            let table = table_name.map_or_else(|| format!("table {table}"), str::to_owned);
            match value {
                Some(value) => {
                    format!("      put {table} {} = {}{until}", shown(key), shown(value))
                }
                None => format!("      delete {table} {}", shown(key)),
            }
        }
        DumpEntry::Table { event, .. } => format!("      {event}"),
        DumpEntry::Damage {
            name, offset, what, ..
        } => format!("damage: {name} at byte {offset}: {what}"),
        _ => "  something that this program does not know".to_owned(),
    }
}

/// Returns `bytes` as text if they are text, in hexadecimal otherwise; shortened.
fn shown(bytes: &[u8]) -> String {
    let text = std::str::from_utf8(bytes).ok();
    let text = text.filter(|text| !text.is_empty() && !text.chars().any(char::is_control));
    let whole = match text {
        Some(text) => format!("{text:?}"),
        None => format!("0x{}", hexadecimal(&bytes[..bytes.len().min(SHOWN_MAX)])),
    };
    if whole.chars().count() <= SHOWN_MAX && bytes.len() <= SHOWN_MAX {
        return whole;
    }
    let short: String = whole.chars().take(SHOWN_MAX).collect();
    format!("{short}... ({} bytes)", bytes.len())
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn as_json(entry: &DumpEntry<'_>) -> Value {
    match *entry {
        DumpEntry::File {
            name,
            incarnation,
            lane,
            ordinal,
            ..
        } => json!({
            "kind": "file", "name": name, "incarnation": incarnation, "lane": lane,
            "ordinal": ordinal,
        }),
        DumpEntry::Block {
            offset,
            bytes,
            number,
            transactions,
            as_of,
            ..
        } => json!({
            "kind": "block", "number": number, "offset": offset, "bytes": bytes,
            "transactions": transactions, "clock": as_of.0,
        }),
        DumpEntry::Transaction {
            timestamp,
            writes,
            fate,
            ..
        } => json!({
            "kind": "transaction", "timestamp": timestamp.0, "writes": writes,
            "fate": fate.name(),
        }),
        DumpEntry::Write {
            table,
            table_name,
            key,
            value,
            expires,
            ..
        } => json!({
            "kind": "write", "table": table, "table_name": table_name,
            "key": hexadecimal(key), "value": value.map(hexadecimal),
            "deleted": value.is_none(), "expires": expires.map(|expires| expires.0),
        }),
        DumpEntry::Table { event, .. } => json!({
            "kind": "table", "table": event.table.storage, "table_name": &*event.table.name,
            "number": event.table.number, "what": event.to_string(),
        }),
        DumpEntry::Damage {
            name, offset, what, ..
        } => json!({ "kind": "damage", "name": name, "offset": offset, "what": what }),
        _ => json!({ "kind": "unknown" }),
    }
}
