//! The known settings, and the values that each may have.
//!
//! The names are PostgreSQL's. A setting that is accepted has its effect, or is one of
//! [`Meaning::Harmless`]: hints about speed, logs and features that are not there, on which no
//! answer depends. A setting that would change answers, and is not implemented, accepts only the
//! values under which nothing changes ([`Meaning::Only`]).

use types::{Result, SqlError, SqlState};

/// The ways in which a setting is supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The setting has its effect.
    Effective,
    /// The setting is kept and shown, and no answer depends on it.
    Harmless,
    /// The setting accepts only these values, as they are shown, which describe what is done anyway.
    Only(&'static [&'static str]),
    /// The setting can only be shown.
    Fixed,
    /// The setting can only be shown; in PostgreSQL it can be changed when the server is started.
    AtStart,
}

/// The types of settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Bool,
    /// Integer: least, greatest, unit.
    Integer(i64, i64, Unit),
    /// Real number: least, greatest, unit.
    Real(f64, f64, Unit),
    /// One of these words.
    Enum(&'static [&'static str]),
    Text,
}

/// The units of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    None,
    Milliseconds,
    Kilobytes,
    /// Blocks of 8 kB.
    Blocks,
}

/// A setting.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Definition {
    /// Name as it is shown; it is found in any case.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) meaning: Meaning,
    /// Default, as it is shown.
    pub(crate) default: &'static str,
    pub(crate) description: &'static str,
}

const fn setting(
    name: &'static str,
    kind: Kind,
    meaning: Meaning,
    default: &'static str,
    description: &'static str,
) -> Definition {
    Definition {
        name,
        kind,
        meaning,
        default,
        description,
    }
}

use Kind::{Bool, Enum, Integer, Real, Text};
use Meaning::{AtStart, Effective, Fixed, Harmless, Only};

const MOST: i64 = i32::MAX as i64;
const MILLISECONDS: Kind = Integer(0, MOST, Unit::Milliseconds);
const COST: Kind = Real(0.0, f64::MAX, Unit::None);
const ON: Meaning = Only(&["on"]);
const LEVELS: Kind = Enum(&[
    "serializable",
    "repeatable read",
    "read committed",
    "read uncommitted",
]);
const SEVERITIES: Kind = Enum(&[
    "debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error",
]);
const LOGGED: Kind = Enum(&[
    "debug5", "debug4", "debug3", "debug2", "debug1", "info", "notice", "warning", "error", "log",
    "fatal", "panic",
]);
const COMMITS: Kind = Enum(&["local", "remote_write", "remote_apply", "on", "off"]);

/// All settings, in the order of their names in lower case.
#[rustfmt::skip]
pub(crate) const DEFINITIONS: &[Definition] = &[
    setting("application_name", Text, Effective, "", "Sets the application name that others are shown."),
    setting("array_nulls", Bool, ON, "on", "Reads NULL in the text of arrays as such."),
    setting("backslash_quote", Enum(&["safe_encoding", "on", "off"]), Harmless, "safe_encoding", "Sets whether \"\\'\" is allowed in string literals."),
    setting("block_size", Integer(8192, 8192, Unit::None), Fixed, "8192", "Shows the size of a disk block."),
    setting("bytea_output", Enum(&["escape", "hex"]), Only(&["hex"]), "hex", "Sets how bytea is written as text."),
    setting("check_function_bodies", Bool, Harmless, "on", "Checks the bodies of functions when they are created."),
    setting("client_encoding", Text, Effective, "UTF8", "Sets the encoding of the client's text."),
    setting("client_min_messages", SEVERITIES, Effective, "notice", "Sets which messages are sent beside results."),
    setting("constraint_exclusion", Enum(&["partition", "on", "off"]), Harmless, "partition", "Lets the planner use constraints."),
    setting("cpu_index_tuple_cost", COST, Harmless, "0.005", "Sets a cost of PostgreSQL's planner."),
    setting("cpu_operator_cost", COST, Harmless, "0.0025", "Sets a cost of PostgreSQL's planner."),
    setting("cpu_tuple_cost", COST, Harmless, "0.01", "Sets a cost of PostgreSQL's planner."),
    setting("cursor_tuple_fraction", Real(0.0, 1.0, Unit::None), Harmless, "0.1", "Sets which part of a cursor's rows is expected to be asked for."),
    setting("data_checksums", Bool, Fixed, "on", "Shows whether what is stored has checksums."),
    setting("DateStyle", Text, Effective, "ISO, MDY", "Sets how dates are written, and the order of their parts where it is not told."),
    setting("deadlock_timeout", Integer(1, MOST, Unit::Milliseconds), Harmless, "1s", "Sets when a wait is looked at for deadlocks: here at once."),
    setting("default_statistics_target", Integer(1, 10_000, Unit::None), Harmless, "100", "Sets how much is known about the values of columns."),
    setting("default_table_access_method", Text, Only(&["heap"]), "heap", "Sets how new tables are stored."),
    setting("default_tablespace", Text, Only(&[""]), "", "Sets where new tables are stored."),
    setting("default_text_search_config", Text, Harmless, "pg_catalog.simple", "Sets the configuration of text search."),
    setting("default_toast_compression", Enum(&["pglz", "lz4"]), Harmless, "pglz", "Sets how long values are compressed."),
    setting("default_transaction_deferrable", Bool, Only(&["off"]), "off", "Sets whether new transactions are deferrable."),
    setting("default_transaction_isolation", LEVELS, Effective, "read committed", "Sets the isolation level of new transactions."),
    setting("default_transaction_read_only", Bool, Effective, "off", "Sets whether new transactions only read."),
    setting("default_with_oids", Bool, Only(&["off"]), "off", "Gives new tables a column of object identifiers."),
    setting("effective_cache_size", Integer(1, MOST, Unit::Blocks), Harmless, "4GB", "Sets how much the planner takes to be cached."),
    setting("effective_io_concurrency", Integer(0, 1000, Unit::None), Effective, "64", "Sets how many blocks of columns a scan reads from the device ahead."),
    setting("enable_async_append", Bool, ON, "on", "Allows a kind of plan."),
    setting("enable_bitmapscan", Bool, ON, "on", "Allows a kind of plan."),
    setting("enable_hashagg", Bool, ON, "on", "Allows a kind of plan."),
    setting("enable_hashjoin", Bool, ON, "on", "Allows a kind of plan."),
    setting("enable_indexonlyscan", Bool, ON, "on", "Allows a kind of plan."),
    setting("enable_indexscan", Bool, ON, "on", "Allows a kind of plan."),
    setting("enable_material", Bool, ON, "on", "Allows a kind of plan."),
    setting("enable_memoize", Bool, ON, "on", "Allows a kind of plan."),
    setting("enable_mergejoin", Bool, ON, "on", "Allows a kind of plan."),
    setting("enable_nestloop", Bool, ON, "on", "Allows a kind of plan."),
    setting("enable_seqscan", Bool, ON, "on", "Allows a kind of plan."),
    setting("enable_sort", Bool, ON, "on", "Allows a kind of plan."),
    setting("escape_string_warning", Bool, Harmless, "on", "Warns about backslashes in string literals."),
    setting("extra_float_digits", Integer(-15, 3, Unit::None), Only(&["1", "2", "3"]), "1", "Sets how many digits of floating-point numbers are written."),
    setting("force_parallel_mode", Enum(&["off", "on", "regress"]), Harmless, "off", "Forces statements into several processes."),
    setting("from_collapse_limit", Integer(1, MOST, Unit::None), Harmless, "8", "Sets how many relations are joined in any order."),
    setting("geqo", Bool, Harmless, "on", "Searches plans by a genetic algorithm."),
    setting("gin_pending_list_limit", Integer(64, MOST, Unit::Kilobytes), Harmless, "4MB", "Sets the size of a list of GIN indexes."),
    setting("hash_mem_multiplier", Real(1.0, 1000.0, Unit::None), Harmless, "2", "Sets how much more memory hash tables may take."),
    setting("idle_in_transaction_session_timeout", MILLISECONDS, Effective, "0", "Sets how long a client may be idle within a transaction."),
    setting("idle_session_timeout", MILLISECONDS, Effective, "0", "Sets how long a client may be idle between transactions."),
    setting("in_hot_standby", Bool, Fixed, "off", "Shows whether the server follows another one."),
    setting("integer_datetimes", Bool, Fixed, "on", "Shows whether dates and times are integers."),
    setting("IntervalStyle", Enum(&["postgres", "postgres_verbose", "sql_standard", "iso_8601"]), Only(&["postgres"]), "postgres", "Sets how intervals are written."),
    setting("is_superuser", Bool, Fixed, "on", "Shows whether the current user is a superuser."),
    setting("jit", Bool, Harmless, "on", "Allows compilation to machine code."),
    setting("join_collapse_limit", Integer(1, MOST, Unit::None), Harmless, "8", "Sets how many relations are joined in any order."),
    setting("lc_collate", Text, Fixed, "C", "Shows the order of text."),
    setting("lc_ctype", Text, Fixed, "C", "Shows the classes of characters."),
    setting("lc_messages", Text, Only(&["C", "", "en_US.UTF-8", "C.UTF-8", "POSIX"]), "C", "Sets the language of messages."),
    setting("lc_monetary", Text, Harmless, "C", "Sets how amounts of money are written."),
    setting("lc_numeric", Text, Harmless, "C", "Sets how numbers are written by to_char."),
    setting("lc_time", Text, Harmless, "C", "Sets how dates are written by to_char."),
    setting("lock_timeout", MILLISECONDS, Effective, "0", "Sets how long a statement waits for a lock."),
    setting("log_duration", Bool, Harmless, "off", "Logs how long statements take."),
    setting("log_lock_waits", Bool, Harmless, "off", "Logs long waits for locks."),
    setting("log_min_duration_statement", Integer(-1, MOST, Unit::Milliseconds), Harmless, "-1", "Logs statements that take so long."),
    setting("log_min_error_statement", LOGGED, Harmless, "error", "Logs statements with errors of this severity."),
    setting("log_min_messages", LOGGED, Harmless, "warning", "Logs messages of this severity."),
    setting("log_statement", Enum(&["none", "ddl", "mod", "all"]), Harmless, "none", "Logs statements of a kind."),
    setting("maintenance_work_mem", Integer(1024, MOST, Unit::Kilobytes), Harmless, "64MB", "Sets the memory of maintenance."),
    setting("max_connections", Integer(1, 262_143, Unit::None), AtStart, "100", "Shows how many clients there may be."),
    setting("max_function_args", Integer(100, 100, Unit::None), Fixed, "100", "Shows how many arguments a function may have."),
    setting("max_identifier_length", Integer(63, 63, Unit::None), Fixed, "63", "Shows how many bytes a name may have."),
    setting("max_index_keys", Integer(32, 32, Unit::None), Fixed, "32", "Shows how many columns an index may have."),
    setting("max_parallel_maintenance_workers", Integer(0, 1024, Unit::None), Harmless, "2", "Sets how many processes maintain a table."),
    setting("max_parallel_workers", Integer(0, 1024, Unit::None), Harmless, "8", "Sets how many processes run statements."),
    setting("max_parallel_workers_per_gather", Integer(0, 1024, Unit::None), Effective, "1024", "Sets how many other workers may help with a statement, of those that there are."),
    setting("max_prepared_transactions", Integer(0, 262_143, Unit::None), AtStart, "0", "Shows how many transactions may be prepared for a second phase."),
    setting("password_encryption", Enum(&["md5", "scram-sha-256"]), Only(&["scram-sha-256"]), "scram-sha-256", "Sets how passwords are kept."),
    setting("plan_cache_mode", Enum(&["auto", "force_generic_plan", "force_custom_plan"]), Harmless, "auto", "Sets whether plans depend on parameters."),
    setting("quote_all_identifiers", Bool, Harmless, "off", "Quotes all names in pieces of SQL that are generated."),
    setting("random_page_cost", COST, Harmless, "4", "Sets a cost of PostgreSQL's planner."),
    setting("role", Text, Effective, "none", "Sets the current role."),
    setting("row_security", Bool, Harmless, "on", "Applies the policies of tables, of which there are none."),
    setting("search_path", Text, Effective, "\"$user\", public", "Sets where names without a schema are looked for."),
    setting("seq_page_cost", COST, Harmless, "1", "Sets a cost of PostgreSQL's planner."),
    setting("server_encoding", Text, Fixed, "UTF8", "Shows the encoding of the database."),
    setting("server_version", Text, Fixed, "15.0", "Shows which version of PostgreSQL this is like."),
    setting("server_version_num", Integer(150_000, 150_000, Unit::None), Fixed, "150000", "Shows which version of PostgreSQL this is like, as a number."),
    setting("session_authorization", Text, Effective, "", "Sets the user of the session."),
    setting("session_replication_role", Enum(&["origin", "replica", "local"]), Only(&["origin", "local"]), "origin", "Sets whether triggers and foreign keys act."),
    setting("shared_buffers", Integer(16, MOST / 2, Unit::Blocks), AtStart, "128MB", "Shows the memory of PostgreSQL's cache."),
    setting("ssl", Bool, Fixed, "off", "Shows whether connections can be encrypted."),
    setting("standard_conforming_strings", Bool, ON, "on", "Takes backslashes in '...' literally."),
    setting("statement_timeout", MILLISECONDS, Effective, "0", "Sets how long a statement may take."),
    setting("synchronize_seqscans", Bool, Harmless, "on", "Lets scans of a table begin where others are."),
    setting("synchronous_commit", COMMITS, Effective, "on", "Sets whether a commit waits until it is on the device."),
    setting("temp_buffers", Integer(100, MOST / 2, Unit::Blocks), Harmless, "8MB", "Sets the memory of temporary tables."),
    setting("TimeZone", Text, Effective, "UTC", "Sets the time zone of times that are written and read."),
    setting("track_activities", Bool, Harmless, "on", "Collects what sessions do."),
    setting("track_counts", Bool, Harmless, "on", "Collects statistics."),
    setting("track_io_timing", Bool, Harmless, "off", "Collects how long the device takes."),
    setting("transaction_deferrable", Bool, Only(&["off"]), "off", "Sets whether the transaction is deferrable."),
    setting("transaction_isolation", LEVELS, Effective, "read committed", "Sets the isolation level of the transaction."),
    setting("transaction_read_only", Bool, Effective, "off", "Sets whether the transaction only reads."),
    setting("transform_null_equals", Bool, Only(&["off"]), "off", "Takes \"x = NULL\" as \"x IS NULL\"."),
    setting("vacuum_cost_delay", Real(0.0, 100.0, Unit::Milliseconds), Harmless, "0", "Sets how long VACUUM rests."),
    setting("wal_level", Enum(&["minimal", "replica", "logical"]), AtStart, "replica", "Shows how much is written to the log."),
    setting("weft.block_memory", Text, AtStart, "", "Shows how many bytes of the blocks of columns that scans read are in memory, and how many there are."),
    setting("weft.interleaving", Bool, Effective, "on", "Overlaps the cache misses of the keys that a join looks up; off shows what that is worth."),
    setting("weft.longest_slice", Text, Effective, "", "Shows for how long a statement has held this connection's worker, at most, and which; setting it forgets that."),
    setting("weft.memory", Integer(0, MOST, Unit::Kilobytes), AtStart, "0", "Shows the memory of records and statements together (weft serve --memory)."),
    setting("weft.statement_memory", Integer(0, MOST, Unit::Kilobytes), Effective, "0", "Sets what a statement may hold; 0 stands for a quarter of weft.memory, which is the most."),
    setting("work_mem", Integer(64, MOST, Unit::Kilobytes), Effective, "4MB", "Sets the memory of a sort or a hash table beyond which it uses the device; if nothing sets it, what the statement may hold decides."),
    setting("xmlbinary", Enum(&["base64", "hex"]), Harmless, "base64", "Sets how bytes are written in XML."),
    setting("xmloption", Enum(&["content", "document"]), Harmless, "content", "Sets what XML is taken for."),
];

/// Definition of custom settings, which any client may invent: their names have a point in them.
pub(crate) const CUSTOM: Definition = setting(
    "",
    Text,
    Effective,
    "",
    "Has a meaning to the client alone.",
);

/// Settings that clients are told when they connect, and when they change.
pub(crate) const REPORTED: &[&str] = &[
    "application_name",
    "client_encoding",
    "DateStyle",
    "default_transaction_read_only",
    "in_hot_standby",
    "integer_datetimes",
    "IntervalStyle",
    "is_superuser",
    "server_encoding",
    "server_version",
    "session_authorization",
    "standard_conforming_strings",
    "TimeZone",
];

impl Definition {
    /// Returns the setting with a name, in any case.
    pub(crate) fn named(name: &str) -> Option<&'static Definition> {
        let lower = name.to_ascii_lowercase();
        let found = DEFINITIONS
            .binary_search_by(|definition| definition.name.to_ascii_lowercase().cmp(&lower));
        match found {
            Ok(at) => Some(&DEFINITIONS[at]),
            Err(_) if is_custom(name) => Some(&CUSTOM),
            Err(_) => None,
        }
    }

    /// Returns the setting with a name.
    ///
    /// # Errors
    /// 42704 if there is none.
    pub(crate) fn expect(name: &str) -> Result<&'static Definition> {
        Definition::named(name).ok_or_else(|| unrecognized(name))
    }

    /// Returns the name by which a setting is kept: its own, or the invented one.
    pub(crate) fn kept_name(&self, name: &str) -> String {
        match self.name {
            "" => name.to_ascii_lowercase(),
            own => own.to_owned(),
        }
    }
}

pub(crate) fn unrecognized(name: &str) -> SqlError {
    let message = format!("unrecognized configuration parameter \"{name}\"");
    SqlError::new(SqlState::UNDEFINED_OBJECT, message)
}

/// Returns whether a name is two words or more with points between them.
fn is_custom(name: &str) -> bool {
    let is_word = |part: &str| {
        let mut characters = part.chars();
        let first = characters.next();
        first.is_some_and(|first| first.is_alphabetic() || first == '_')
            && characters.all(|c| c.is_alphanumeric() || c == '_' || c == '$')
    };
    name.contains('.') && name.split('.').all(is_word)
}
