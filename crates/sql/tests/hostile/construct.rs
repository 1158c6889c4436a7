//! A construct of SQL that a client may repeat as often as it likes.

/// A construct to be repeated: see the module text.
pub(crate) struct Construct {
    pub(crate) name: &'static str,
    /// Statement with a number of repetitions.
    pub(crate) text: Box<dyn Fn(usize) -> String>,
    /// Repetitions up to which there is an answer; beyond, an error may come instead.
    pub(crate) answers_up_to: usize,
    /// Errors that may come instead, by SQLSTATE.
    pub(crate) errors: &'static [&'static str],
}

/// Makes a construct with an answer, whatever the repetitions.
pub(crate) fn answers(name: &'static str, text: impl Fn(usize) -> String + 'static) -> Construct {
    Construct {
        name,
        text: Box::new(text),
        answers_up_to: usize::MAX,
        errors: &[],
    }
}

/// Makes a construct with an answer up to a number of repetitions, and one of these errors at
/// worst.
pub(crate) fn bounded(
    name: &'static str,
    answers_up_to: usize,
    errors: &'static [&'static str],
    text: impl Fn(usize) -> String + 'static,
) -> Construct {
    Construct {
        name,
        text: Box::new(text),
        answers_up_to,
        errors,
    }
}

/// Returns `part part part`, with `between` between any two.
pub(crate) fn joined(part: &str, between: &str, times: usize) -> String {
    vec![part; times.max(1)].join(between)
}

/// Returns `open open inner close close`.
pub(crate) fn nested(open: &str, inner: &str, close: &str, times: usize) -> String {
    format!("{}{inner}{}", open.repeat(times), close.repeat(times))
}
