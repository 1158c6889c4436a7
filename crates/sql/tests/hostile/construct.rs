//! A construct of SQL that a client may repeat as often as it likes.

/// See the module text.
pub(crate) struct Construct {
    pub(crate) name: &'static str,
    /// The statement with so many repetitions.
    pub(crate) text: Box<dyn Fn(usize) -> String>,
    /// Up to so many repetitions there is an answer; beyond, an error may come instead.
    pub(crate) answers_up_to: usize,
    /// The errors that may come instead, by SQLSTATE.
    pub(crate) errors: &'static [&'static str],
}

/// An answer, whatever the repetitions.
pub(crate) fn answers(name: &'static str, text: impl Fn(usize) -> String + 'static) -> Construct {
    Construct {
        name,
        text: Box::new(text),
        answers_up_to: usize::MAX,
        errors: &[],
    }
}

/// An answer up to so many repetitions, and one of these errors at worst.
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

/// `part part part`, with `between` between any two.
pub(crate) fn joined(part: &str, between: &str, times: usize) -> String {
    vec![part; times.max(1)].join(between)
}

/// `open open inner close close`
pub(crate) fn nested(open: &str, inner: &str, close: &str, times: usize) -> String {
    format!("{}{inner}{}", open.repeat(times), close.repeat(times))
}
