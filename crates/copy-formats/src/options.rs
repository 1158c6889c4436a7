//! The options of a COPY, with their defaults.

use types::{Encoding, Result, SqlError, SqlState};

use super::Column;
use catalog::Table;
use syntax::copy::{Argument, CopyOption};

/// The form in which rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Lines, with backslashes before special characters.
    Text,
    /// Lines, with quotes around values that need them.
    Csv,
    /// PostgreSQL's binary format.
    Binary,
}

/// The treatment of a line of names before the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Header {
    Absent,
    Present,
    /// The line is there, and its names have to be those of the columns.
    Match,
}

/// All options. Except for the format, they are for text and CSV only.
#[derive(Debug, Clone)]
pub struct Options {
    pub(crate) format: Format,
    pub(crate) header: Header,
    pub(crate) delimiter: u8,
    /// Text that stands for NULL.
    pub(crate) null: Box<str>,
    /// Quote of CSV. This option and those below are for CSV only.
    pub(crate) quote: u8,
    pub(crate) escape: u8,
    pub(crate) force_quote: Columns,
    pub(crate) force_not_null: Columns,
    pub(crate) force_null: Columns,
}

/// Some of the columns that are copied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Columns {
    #[default]
    Absent,
    All,
    Named(Vec<String>),
}

/// Options as they were given, each once.
#[derive(Default)]
struct Given<'o> {
    format: Option<Format>,
    header: Option<Header>,
    freeze: bool,
    delimiter: Option<&'o str>,
    null: Option<&'o str>,
    quote: Option<&'o str>,
    escape: Option<&'o str>,
    encoding: bool,
    force_quote: Columns,
    force_not_null: Columns,
    force_null: Columns,
}

impl Options {
    /// Reads the options of a COPY, from a client or to it, and completes them by their defaults.
    ///
    /// # Errors
    /// 42601, 22023 and 0A000, as in PostgreSQL.
    pub fn of(options: &[CopyOption], is_from: bool) -> Result<Options> {
        let mut given = Given::default();
        for option in options {
            given.take(option, is_from)?;
        }
        given.completed(is_from)
    }

    /// Returns, for each copied column of a table, whether the NULL marker is ignored, and whether
    /// it is recognised in quotes.
    ///
    /// # Errors
    /// 42703 for columns that do not exist, 42P10 for those that are not copied.
    pub(super) fn forced(&self, table: &Table, columns: &[Column]) -> Result<Vec<(bool, bool)>> {
        let table = Some(table);
        let not_null = self
            .force_not_null
            .among(table, columns, "FORCE_NOT_NULL")?;
        let null = self.force_null.among(table, columns, "FORCE_NULL")?;
        Ok(not_null.into_iter().zip(null).collect())
    }
}

impl Columns {
    fn is_given(&self) -> bool {
        *self != Columns::Absent
    }

    /// Returns, for each copied column of a table or of a query's result, whether the option names
    /// it.
    pub(super) fn among(
        &self,
        table: Option<&Table>,
        columns: &[Column],
        option: &str,
    ) -> Result<Vec<bool>> {
        let Columns::Named(names) = self else {
            return Ok(vec![*self == Columns::All; columns.len()]);
        };
        let is_there = |name: &&String| columns.iter().any(|column| *column.name == ***name);
        if let Some(name) = names.iter().find(|name| !is_there(name)) {
            return Err(match table {
                Some(table) if table.column(name).is_some() => SqlError::new(
                    SqlState::INVALID_COLUMN_REFERENCE,
                    format!("{option} column \"{name}\" not referenced by COPY"),
                ),
                Some(Table { name: of, .. }) => SqlError::new(
                    SqlState::UNDEFINED_COLUMN,
                    format!("column \"{name}\" of relation \"{of}\" does not exist"),
                ),
                None => SqlError::new(
                    SqlState::UNDEFINED_COLUMN,
                    format!("column \"{name}\" does not exist"),
                ),
            });
        }
        let is_named = |column: &Column| names.iter().any(|name| *column.name == **name);
        Ok(columns.iter().map(is_named).collect())
    }
}

impl<'o> Given<'o> {
    fn take(&mut self, option: &'o CopyOption, is_from: bool) -> Result<()> {
        let name = option.name.as_str();
        match name {
            "format" => {
                let format = match text(option)? {
                    "text" => Format::Text,
                    "csv" => Format::Csv,
                    "binary" => Format::Binary,
                    other => {
                        let message = format!("COPY format \"{other}\" not recognized");
                        return Err(at(option, invalid(message)));
                    }
                };
                once(&mut self.format, option, format)
            }
            "header" => once(&mut self.header, option, header(option, is_from)?),
            "freeze" => {
                if std::mem::replace(&mut self.freeze, true) {
                    return Err(redundant(option));
                }
                // Rows are not frozen: nothing would have to be done later.
                boolean(option).map(drop)
            }
            "delimiter" => once(&mut self.delimiter, option, text(option)?),
            "null" => once(&mut self.null, option, text(option)?),
            "quote" => once(&mut self.quote, option, text(option)?),
            "escape" => once(&mut self.escape, option, text(option)?),
            "encoding" => {
                if std::mem::replace(&mut self.encoding, true) {
                    return Err(redundant(option));
                }
                let encoding = text(option)?;
                match Encoding::named(encoding) {
                    Some(Encoding::Utf8) => Ok(()),
                    Some(Encoding::Other) => Err(SqlError::unsupported(format_args!(
                        "COPY in encoding \"{encoding}\""
                    ))),
                    None => {
                        let message =
                            "argument to option \"encoding\" must be a valid encoding name";
                        Err(at(option, invalid(message)))
                    }
                }
            }
            "force_quote" => columns(&mut self.force_quote, option, true),
            "force_not_null" => columns(&mut self.force_not_null, option, false),
            "force_null" => columns(&mut self.force_null, option, false),
            _ => Err(at(
                option,
                syntax(format!("option \"{name}\" not recognized")),
            )),
        }
    }

    fn completed(self, is_from: bool) -> Result<Options> {
        let format = self.format.unwrap_or(Format::Text);
        let (is_csv, is_binary) = (format == Format::Csv, format == Format::Binary);
        if is_binary && self.delimiter.is_some() {
            return Err(syntax("cannot specify DELIMITER in BINARY mode"));
        }
        if is_binary && self.null.is_some() {
            return Err(syntax("cannot specify NULL in BINARY mode"));
        }
        let null = self.null.unwrap_or(if is_csv { "" } else { "\\N" });
        let delimiter = self.delimiter.unwrap_or(if is_csv { "," } else { "\t" });
        let [delimiter] = *delimiter.as_bytes() else {
            return Err(unsupported(
                "COPY delimiter must be a single one-byte character",
            ));
        };
        if matches!(delimiter, b'\n' | b'\r') {
            return Err(invalid(
                "COPY delimiter cannot be newline or carriage return",
            ));
        }
        if null.contains(['\n', '\r']) {
            return Err(invalid(
                "COPY null representation cannot use newline or carriage return",
            ));
        }
        let is_ambiguous = matches!(delimiter, b'\\' | b'.' | b'a'..=b'z' | b'0'..=b'9');
        if !is_csv && is_ambiguous {
            let shown = char::from(delimiter);
            return Err(invalid(format!("COPY delimiter cannot be \"{shown}\"")));
        }
        let header = self.header.unwrap_or(Header::Absent);
        if is_binary && header != Header::Absent {
            return Err(unsupported("cannot specify HEADER in BINARY mode"));
        }
        let quote = single("quote", self.quote, is_csv, b'"')?;
        if is_csv && delimiter == quote {
            return Err(invalid("COPY delimiter and quote must be different"));
        }
        let escape = single("escape", self.escape, is_csv, quote)?;
        for (columns, name, direction) in [
            (&self.force_quote, "quote", false),
            (&self.force_not_null, "not null", true),
            (&self.force_null, "null", true),
        ] {
            if columns.is_given() && !is_csv {
                return Err(unsupported(format!(
                    "COPY force {name} available only in CSV mode"
                )));
            }
            if columns.is_given() && direction != is_from {
                let direction = if direction { "FROM" } else { "TO" };
                return Err(unsupported(format!(
                    "COPY force {name} only available using COPY {direction}"
                )));
            }
        }
        if null.as_bytes().contains(&delimiter) {
            return Err(unsupported(
                "COPY delimiter must not appear in the NULL specification",
            ));
        }
        if is_csv && null.as_bytes().contains(&quote) {
            return Err(unsupported(
                "CSV quote character must not appear in the NULL specification",
            ));
        }
        Ok(Options {
            format,
            header,
            delimiter,
            null: null.into(),
            quote,
            escape,
            force_quote: self.force_quote,
            force_not_null: self.force_not_null,
            force_null: self.force_null,
        })
    }
}

fn syntax(message: impl Into<std::borrow::Cow<'static, str>>) -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, message)
}

fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn unsupported(message: impl Into<std::borrow::Cow<'static, str>>) -> SqlError {
    SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

/// Returns an error with the place of an option. PostgreSQL tells it of errors about an option's name, a list of names
/// and the name of a format or an encoding, and of no others.
fn at(option: &CopyOption, error: SqlError) -> SqlError {
    match option.position {
        Some(position) => error.at(position),
        None => error,
    }
}

fn redundant(option: &CopyOption) -> SqlError {
    at(option, syntax("conflicting or redundant options"))
}

fn once<T>(place: &mut Option<T>, option: &CopyOption, value: T) -> Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(redundant(option)),
    }
}

fn text(option: &CopyOption) -> Result<&str> {
    match &option.value {
        Argument::Word(word) => Ok(word),
        Argument::Absent => Err(syntax(format!("{} requires a parameter", option.name))),
        Argument::Columns(_) | Argument::AllColumns => {
            Err(syntax(format!("{} requires a single value", option.name)))
        }
    }
}

/// Returns whether a flag is set.
fn boolean(option: &CopyOption) -> Result<bool> {
    match &option.value {
        Argument::Absent => Ok(true),
        Argument::Word(word) => match word.to_ascii_lowercase().as_str() {
            "true" | "on" | "1" => Ok(true),
            "false" | "off" | "0" => Ok(false),
            _ => Err(syntax(format!("{} requires a Boolean value", option.name))),
        },
        _ => Err(syntax(format!("{} requires a Boolean value", option.name))),
    }
}

fn header(option: &CopyOption, is_from: bool) -> Result<Header> {
    if let Argument::Word(word) = &option.value
        && word.eq_ignore_ascii_case("match")
    {
        return match is_from {
            true => Ok(Header::Match),
            false => Err(unsupported("cannot use \"match\" with HEADER in COPY TO")),
        };
    }
    match boolean(option) {
        Ok(true) => Ok(Header::Present),
        Ok(false) => Ok(Header::Absent),
        Err(_) => Err(syntax(format!(
            "{} requires a Boolean value or \"match\"",
            option.name
        ))),
    }
}

fn columns(place: &mut Columns, option: &CopyOption, may_be_all: bool) -> Result<()> {
    if place.is_given() {
        return Err(redundant(option));
    }
    *place = match &option.value {
        Argument::AllColumns if may_be_all => Columns::All,
        Argument::Columns(names) => {
            Columns::Named(names.iter().map(|name| name.as_str().to_owned()).collect())
        }
        _ => {
            let message = format!(
                "argument to option \"{}\" must be a list of column names",
                option.name
            );
            return Err(at(option, invalid(message)));
        }
    };
    Ok(())
}

/// Returns a special character of CSV.
fn single(name: &str, given: Option<&str>, is_csv: bool, default: u8) -> Result<u8> {
    match given.map(str::as_bytes) {
        None => Ok(default),
        Some(_) if !is_csv => Err(unsupported(format!(
            "COPY {name} available only in CSV mode"
        ))),
        Some([byte]) => Ok(*byte),
        Some(_) => Err(unsupported(format!(
            "COPY {name} must be a single one-byte character"
        ))),
    }
}
