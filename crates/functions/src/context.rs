//! The context of a function beside its arguments: memory, settings, the session.
//!
//! The evaluator of expressions makes a [`Context`] once for a batch; it is cheap to copy. Values of rows do
//! not belong in it.

use patterns::Patterns;
use types::{Names, NoNames, Result, Scratch, Settings, Sink, SqlError, SqlState, Type, Value};

use crate::objects::{NoObjects, Objects};

/// Values of fewer bytes are made without asking: the arena's growth is charged after each row.
const SMALL_BYTES: usize = 8 << 10;

/// The context of a function beside its arguments.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Memory for new values.
    pub scratch: &'a Scratch,
    /// Settings for writing and reading values: the time zone, the order of dates.
    pub settings: &'a Settings,
    /// Session of the statement.
    pub environment: &'a dyn Environment,
    /// Patterns that were compiled before.
    pub patterns: &'a Patterns,
    /// Types of the arguments, for functions that are [typed](crate::Function#structfield.typed); others do
    /// not use them.
    pub argument_types: &'a [Type],
}

impl<'a> Context<'a> {
    /// Asks for the memory of a value of `bytes` bytes that is about to be made. Used for values that are
    /// larger than their arguments.
    ///
    /// # Errors
    /// 54000 beyond the limit of any value, 53200 beyond the statement's limit.
    pub(crate) fn make_room(&self, bytes: usize) -> Result<()> {
        if bytes < SMALL_BYTES {
            return Ok(());
        }
        crate::string::check_length(bytes)?;
        self.scratch.ask(bytes)
    }

    /// Copies a text to the statement's memory.
    pub(crate) fn text(&self, text: &str) -> &'a str {
        self.scratch.alloc_str(text)
    }

    /// Returns the context that the text of values depends on.
    pub fn types(&self) -> types::Context<'a> {
        types::Context {
            settings: self.settings,
            names: self.environment.names(),
            now: self.environment.transaction_time(),
        }
    }

    /// Appends the text of a value that is not NULL.
    pub(crate) fn write(&self, value: Value<'_>, ty: Type, out: &mut impl Sink) -> Result<()> {
        types::text::write(value, ty, &self.types(), out)
    }

    /// Returns the appended bytes as text.
    pub(crate) fn finish_text(&self, bytes: bumpalo::collections::Vec<'a, u8>) -> Result<&'a str> {
        std::str::from_utf8(bytes.into_bump_slice())
            .map_err(|_| SqlError::new(SqlState::INTERNAL_ERROR, "text is not UTF-8"))
    }

    /// Returns the text of a value that is not NULL.
    pub(crate) fn text_of(&self, value: Value<'_>, ty: Type) -> Result<&'a str> {
        let mut out = bumpalo::collections::Vec::new_in(self.scratch);
        self.write(value, ty, &mut out)?;
        self.finish_text(out)
    }

    /// Returns the type of an argument of a typed function; `Unknown` if it was not given.
    pub(crate) fn argument_type(&self, position: usize) -> Type {
        self.argument_types
            .get(position)
            .copied()
            .unwrap_or(Type::Unknown)
    }
}

/// A session as functions see it. Times are microseconds since 2000-01-01 in UTC.
pub trait Environment {
    /// Returns the names of user-defined objects: enums and relations.
    fn names(&self) -> &dyn Names {
        &NoNames
    }

    /// Returns the catalog that the statement sees.
    fn objects(&self) -> &dyn Objects {
        &NoObjects
    }

    /// Returns when the transaction began.
    fn transaction_time(&self) -> i64;

    /// Returns when the statement began.
    fn statement_time(&self) -> i64;

    /// Returns when the server began.
    fn start_time(&self) -> i64 {
        self.transaction_time()
    }

    /// Returns the time now.
    fn clock_time(&self) -> i64;

    /// Returns random bits for `random()`, of the session's own sequence.
    fn random(&self) -> u64;

    /// Restarts the session's random sequence, for `setseed()`.
    fn seed(&self, seed: f64);

    /// Returns the user whose rights count.
    fn current_user(&self) -> &str;

    /// Returns the user who connected.
    fn session_user(&self) -> &str {
        self.current_user()
    }

    /// Returns the name of the database.
    fn database(&self) -> &str;

    /// Returns the first schema of the search path that exists.
    fn schema(&self) -> Option<&str>;

    /// Returns the schemas of the search path that exist, in order; with `implicit`, also those that are
    /// searched without being in it.
    fn schemas(&self, implicit: bool) -> Vec<&str> {
        let implicit = implicit.then_some("pg_catalog");
        implicit.into_iter().chain(self.schema()).collect()
    }

    /// Returns the result of `version()`.
    fn version(&self) -> &str;

    /// Returns the value of a setting, as `SHOW` displays it; `None` if there is no such setting.
    fn setting(&self, _name: &str) -> Option<String> {
        None
    }

    /// Calls `visit` with the name and the value of each setting, in the order of names.
    fn each_setting(&self, _visit: &mut dyn FnMut(&str, &str)) {}

    /// Sets a setting, until the end of the transaction or of the session.
    ///
    /// # Errors
    ///
    /// 42704 if there is none, 22023 if it cannot have the value.
    fn set_setting(&self, name: &str, _value: &str, _until_end_of_transaction: bool) -> Result<()> {
        Err(SqlError::unsupported(format!("setting \"{name}\"")))
    }

    /// Returns the last value that the session took from a sequence, by the sequence's number.
    ///
    /// # Errors
    ///
    /// 55000 if there is none; 42P01 and 42809 if the number belongs to no sequence.
    fn current_value(&self, sequence: u32) -> Result<i64> {
        let message = format!("could not open relation with OID {sequence}");
        Err(SqlError::new(SqlState::UNDEFINED_TABLE, message))
    }

    /// Returns the last value that the session took from any sequence.
    ///
    /// # Errors
    ///
    /// 55000 if there is none.
    fn last_value(&self) -> Result<i64> {
        Err(SqlError::new(
            SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
            "lastval is not yet defined in this session",
        ))
    }

    /// Returns the number of the session, for `pg_backend_pid()`.
    fn process_id(&self) -> i32;
}
