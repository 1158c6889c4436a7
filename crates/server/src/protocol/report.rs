//! Errors and notices as fields that clients understand.

use std::borrow::Cow;

use types::SqlError;

/// Severity of an error or notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The connection ends.
    Fatal,
    /// The statement has failed.
    Error,
    /// The statement was executed, but perhaps not as intended.
    Warning,
    /// A note about the statement.
    Notice,
    /// Information that was asked for.
    Info,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Severity::Fatal => "FATAL",
            Severity::Error => "ERROR",
            Severity::Warning => "WARNING",
            Severity::Notice => "NOTICE",
            Severity::Info => "INFO",
        }
    }

    /// Returns an error's fields, by their letters.
    pub(crate) fn fields(self, error: &SqlError) -> Vec<(u8, String)> {
        let mut fields = begin(self, error.state().code(), error.message());
        let optional = [
            (b'D', error.detail_text().map(str::to_owned)),
            (b'H', error.hint_text().map(str::to_owned)),
            (b'W', error.context_text().map(str::to_owned)),
            (b'P', error.position().map(|position| position.to_string())),
            (b't', error.table_name().map(str::to_owned)),
            (b'c', error.column_name().map(str::to_owned)),
            (b'n', error.constraint_name().map(str::to_owned)),
        ];
        let given = optional
            .into_iter()
            .filter_map(|(letter, text)| Some((letter, text?)));
        fields.extend(given.map(|(letter, text)| (letter, without_zeros(text))));
        fields
    }
}

fn begin(severity: Severity, code: &str, message: &str) -> Vec<(u8, String)> {
    vec![
        (b'S', severity.name().to_owned()),
        (b'V', severity.name().to_owned()),
        (b'C', code.to_owned()),
        (b'M', without_zeros(message.to_owned())),
    ]
}

/// Removes zeros: a zero would end the field, and put the rest where fields are
/// expected.
fn without_zeros(text: String) -> String {
    if text.contains('\0') {
        return text.replace('\0', "");
    }
    text
}

/// A message for the client beside its results.
#[derive(Debug, Clone)]
pub struct Notice {
    /// [`Severity::Warning`] or less.
    pub severity: Severity,
    /// A SQLSTATE: `00000`, or `01000` for warnings, if there is no better one.
    pub code: Cow<'static, str>,
    /// The message.
    pub message: Cow<'static, str>,
    /// Details of the message.
    pub detail: Option<String>,
    /// Advice to the user.
    pub hint: Option<Cow<'static, str>>,
}

impl Notice {
    /// Returns a notice with the usual code.
    pub fn new(severity: Severity, message: impl Into<Cow<'static, str>>) -> Notice {
        let code = match severity {
            Severity::Warning => "01000",
            _ => "00000",
        };
        Notice {
            severity,
            code: code.into(),
            message: message.into(),
            detail: None,
            hint: None,
        }
    }

    pub(crate) fn fields(&self) -> Vec<(u8, String)> {
        let mut fields = begin(self.severity, &self.code, &self.message);
        fields.extend(self.detail.clone().map(|text| (b'D', without_zeros(text))));
        let hint = self.hint.clone().map(Cow::into_owned);
        fields.extend(hint.map(|text| (b'H', without_zeros(text))));
        fields
    }
}
