//! Errors of SQL, as clients see them: SQLSTATE, message, detail, hint, context, position.

use std::{borrow::Cow, fmt};

/// Result of fallible functions in the SQL crates.
pub type Result<T> = std::result::Result<T, SqlError>;

/// An error of one pointer's width: errors are rare, and results that may be one should stay
/// small.
#[derive(Debug, Clone)]
pub struct SqlError(Box<Fields>);

#[derive(Debug, Clone)]
struct Fields {
    state: SqlState,
    message: Cow<'static, str>,
    detail: Option<String>,
    hint: Option<Cow<'static, str>>,
    context: Option<String>,
    position: Option<u32>,
    table: Option<Box<str>>,
    column: Option<Box<str>>,
    constraint: Option<Box<str>>,
}

impl SqlError {
    /// Returns an error with its message: lower case, without a full stop, as PostgreSQL
    /// writes them.
    #[cold]
    pub fn new(state: SqlState, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Fields {
            state,
            message: message.into(),
            detail: None,
            hint: None,
            context: None,
            position: None,
            table: None,
            column: None,
            constraint: None,
        }))
    }

    /// Returns the error for a feature of PostgreSQL that Weft lacks, which it names.
    #[cold]
    pub fn unsupported(what: impl fmt::Display) -> Self {
        Self::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("{what} is not supported"),
        )
    }

    /// Adds the exact fault, a sentence.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// Adds advice to the user, a sentence.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds the operation in progress, such as the line of a COPY; the innermost stays.
    #[must_use]
    pub fn context(mut self, context: impl Into<String>) -> Self {
        self.0.context.get_or_insert_with(|| context.into());
        self
    }

    /// Adds the position in the statement, in characters from 1; the innermost position
    /// stays.
    #[must_use]
    pub fn at(mut self, position: u32) -> Self {
        self.0.position.get_or_insert(position);
        self
    }

    /// Names the table that the error concerns.
    #[must_use]
    pub fn table(mut self, table: &str) -> Self {
        self.0.table = Some(table.into());
        self
    }

    /// Names the column that the error concerns.
    #[must_use]
    pub fn column(mut self, column: &str) -> Self {
        self.0.column = Some(column.into());
        self
    }

    /// Names the constraint that the error concerns.
    #[must_use]
    pub fn constraint(mut self, constraint: &str) -> Self {
        self.0.constraint = Some(constraint.into());
        self
    }

    /// Returns the five characters by which programs tell errors apart.
    pub fn state(&self) -> SqlState {
        self.0.state
    }

    /// Returns the message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the detail, if any.
    pub fn detail_text(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// Returns the hint, if any.
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Returns the operation in progress, if that is not plain from the statement.
    pub fn context_text(&self) -> Option<&str> {
        self.0.context.as_deref()
    }

    /// Returns the position in the statement, in characters from 1.
    pub fn position(&self) -> Option<u32> {
        self.0.position
    }

    /// Returns the table that the error concerns.
    pub fn table_name(&self) -> Option<&str> {
        self.0.table.as_deref()
    }

    /// Returns the column that the error concerns.
    pub fn column_name(&self) -> Option<&str> {
        self.0.column.as_deref()
    }

    /// Returns the constraint that the error concerns.
    pub fn constraint_name(&self) -> Option<&str> {
        self.0.constraint.as_deref()
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} (SQLSTATE {})",
            self.message(),
            self.state().code()
        )
    }
}

impl std::error::Error for SqlError {}

/// A SQLSTATE: PostgreSQL 15, appendix A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// Returns the five characters.
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.0).expect("SQLSTATEs are ASCII")
    }
}

macro_rules! states {
    ($($name:ident $code:literal)*) => {
        impl SqlState {
            $(#[doc = concat!("`", $code, "`")]
            pub const $name: Self = Self(five($code));)*
        }
    };
}

const fn five(code: &str) -> [u8; 5] {
    let bytes = code.as_bytes();
    assert!(bytes.len() == 5);
    [bytes[0], bytes[1], bytes[2], bytes[3], bytes[4]]
}

states! {
    SUCCESSFUL_COMPLETION "00000"
    WARNING "01000"
    CONNECTION_FAILURE "08006"
    PROTOCOL_VIOLATION "08P01"
    FEATURE_NOT_SUPPORTED "0A000"
    CARDINALITY_VIOLATION "21000"
    DATA_EXCEPTION "22000"
    STRING_DATA_RIGHT_TRUNCATION "22001"
    NUMERIC_VALUE_OUT_OF_RANGE "22003"
    NULL_VALUE_NOT_ALLOWED "22004"
    INVALID_DATETIME_FORMAT "22007"
    DATETIME_FIELD_OVERFLOW "22008"
    SUBSTRING_ERROR "22011"
    DIVISION_BY_ZERO "22012"
    INVALID_TIME_ZONE_DISPLACEMENT_VALUE "22009"
    INVALID_PRECEDING_OR_FOLLOWING_SIZE "22013"
    INTERVAL_FIELD_OVERFLOW "22015"
    INVALID_ESCAPE_CHARACTER "22019"
    CHARACTER_NOT_IN_REPERTOIRE "22021"
    INVALID_PARAMETER_VALUE "22023"
    INVALID_ARGUMENT_FOR_LOGARITHM "2201E"
    INVALID_ARGUMENT_FOR_POWER_FUNCTION "2201F"
    INVALID_ARGUMENT_FOR_WIDTH_BUCKET "2201G"
    INVALID_ARGUMENT_FOR_NTILE "22014"
    INVALID_ARGUMENT_FOR_NTH_VALUE "22016"
    INVALID_REGULAR_EXPRESSION "2201B"
    INVALID_ROW_COUNT_IN_LIMIT "2201W"
    INVALID_ROW_COUNT_IN_OFFSET "2201X"
    INVALID_ESCAPE_SEQUENCE "22025"
    ARRAY_SUBSCRIPT_ERROR "2202E"
    INVALID_TEXT_REPRESENTATION "22P02"
    INVALID_BINARY_REPRESENTATION "22P03"
    BAD_COPY_FILE_FORMAT "22P04"
    UNTRANSLATABLE_CHARACTER "22P05"
    SEQUENCE_GENERATOR_LIMIT_EXCEEDED "2200H"
    INTEGRITY_CONSTRAINT_VIOLATION "23000"
    NOT_NULL_VIOLATION "23502"
    FOREIGN_KEY_VIOLATION "23503"
    UNIQUE_VIOLATION "23505"
    CHECK_VIOLATION "23514"
    INVALID_CURSOR_STATE "24000"
    ACTIVE_SQL_TRANSACTION "25001"
    READ_ONLY_SQL_TRANSACTION "25006"
    NO_ACTIVE_SQL_TRANSACTION "25P01"
    IN_FAILED_SQL_TRANSACTION "25P02"
    IDLE_IN_TRANSACTION_SESSION_TIMEOUT "25P03"
    INVALID_SQL_STATEMENT_NAME "26000"
    INVALID_AUTHORIZATION_SPECIFICATION "28000"
    INVALID_PASSWORD "28P01"
    DEPENDENT_OBJECTS_STILL_EXIST "2BP01"
    INVALID_TRANSACTION_TERMINATION "2D000"
    INVALID_CURSOR_NAME "34000"
    INVALID_SAVEPOINT_SPECIFICATION "3B001"
    INVALID_CATALOG_NAME "3D000"
    INVALID_SCHEMA_NAME "3F000"
    SERIALIZATION_FAILURE "40001"
    STATEMENT_COMPLETION_UNKNOWN "40003"
    DEADLOCK_DETECTED "40P01"
    SYNTAX_ERROR "42601"
    INSUFFICIENT_PRIVILEGE "42501"
    CANNOT_COERCE "42846"
    GROUPING_ERROR "42803"
    WINDOWING_ERROR "42P20"
    INVALID_RECURSION "42P19"
    INVALID_FOREIGN_KEY "42830"
    INVALID_NAME "42602"
    NAME_TOO_LONG "42622"
    RESERVED_NAME "42939"
    DATATYPE_MISMATCH "42804"
    INDETERMINATE_DATATYPE "42P18"
    WRONG_OBJECT_TYPE "42809"
    GENERATED_ALWAYS "428C9"
    UNDEFINED_COLUMN "42703"
    UNDEFINED_FUNCTION "42883"
    UNDEFINED_TABLE "42P01"
    UNDEFINED_PARAMETER "42P02"
    UNDEFINED_OBJECT "42704"
    DUPLICATE_COLUMN "42701"
    DUPLICATE_CURSOR "42P03"
    DUPLICATE_DATABASE "42P04"
    DUPLICATE_FUNCTION "42723"
    DUPLICATE_PREPARED_STATEMENT "42P05"
    DUPLICATE_SCHEMA "42P06"
    DUPLICATE_TABLE "42P07"
    DUPLICATE_ALIAS "42712"
    DUPLICATE_OBJECT "42710"
    AMBIGUOUS_ALIAS "42P09"
    AMBIGUOUS_COLUMN "42702"
    AMBIGUOUS_FUNCTION "42725"
    AMBIGUOUS_PARAMETER "42P08"
    INVALID_COLUMN_REFERENCE "42P10"
    INVALID_COLUMN_DEFINITION "42611"
    INVALID_CURSOR_DEFINITION "42P11"
    INVALID_TABLE_DEFINITION "42P16"
    INVALID_OBJECT_DEFINITION "42P17"
    WITH_CHECK_OPTION_VIOLATION "44000"
    DISK_FULL "53100"
    OUT_OF_MEMORY "53200"
    TOO_MANY_CONNECTIONS "53300"
    PROGRAM_LIMIT_EXCEEDED "54000"
    STATEMENT_TOO_COMPLEX "54001"
    TOO_MANY_COLUMNS "54011"
    OBJECT_NOT_IN_PREREQUISITE_STATE "55000"
    OBJECT_IN_USE "55006"
    CANT_CHANGE_RUNTIME_PARAM "55P02"
    LOCK_NOT_AVAILABLE "55P03"
    UNSAFE_NEW_ENUM_VALUE_USAGE "55P04"
    QUERY_CANCELED "57014"
    ADMIN_SHUTDOWN "57P01"
    IDLE_SESSION_TIMEOUT "57P05"
    CANNOT_CONNECT_NOW "57P03"
    IO_ERROR "58030"
    INTERNAL_ERROR "XX000"
    DATA_CORRUPTED "XX001"
}
