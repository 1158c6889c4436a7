//! Patterns that were compiled before.
//!
//! Most statements match many rows against one pattern, so that the last few are kept, by session.

use std::{cell::RefCell, rc::Rc};

use regex::{Regex, RegexBuilder};
use types::{Result, SqlError, SqlState};

use super::translate::{Options, translate};
use crate::Context;

/// How many are kept.
const KEPT: usize = 32;
/// Bytes that a compiled pattern may have.
const BYTES_MAX: usize = 16 << 20;

struct Kept {
    pattern: Box<str>,
    options: Options,
    compiled: Rc<Regex>,
}

/// The patterns that a session has compiled, the last used first. Bounded in number and size.
#[derive(Default)]
pub struct Patterns(RefCell<Vec<Kept>>);

impl Patterns {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn get(&self, pattern: &str, options: Options) -> Result<Rc<Regex>> {
        let mut kept = self.0.borrow_mut();
        let known = kept
            .iter()
            .position(|kept| kept.options == options && *kept.pattern == *pattern);
        if let Some(position) = known {
            // The constant pattern of one expression is first nearly always.
            kept[..=position].rotate_right(1);
            return Ok(Rc::clone(&kept[0].compiled));
        }
        let compiled = Rc::new(build(pattern, options)?);
        kept.truncate(KEPT - 1);
        kept.insert(
            0,
            Kept {
                pattern: pattern.into(),
                options,
                compiled: Rc::clone(&compiled),
            },
        );
        Ok(compiled)
    }
}

impl std::fmt::Debug for Patterns {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Patterns").finish_non_exhaustive()
    }
}

fn build(pattern: &str, options: Options) -> Result<Regex> {
    let translated = translate(pattern, options)?;
    RegexBuilder::new(&translated.text)
        .size_limit(BYTES_MAX)
        .case_insensitive(translated.options.ignore_case)
        .dot_matches_new_line(!translated.options.dot_stops_at_newline)
        .multi_line(translated.options.anchors_at_newline)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => invalid("regular expression is too complex"),
            error => {
                let text = error.to_string();
                let reason = text.rsplit("error: ").next().unwrap_or(&text);
                invalid(reason.trim())
            }
        })
}

/// 2201B, with the reason.
#[cold]
pub(super) fn invalid(reason: &str) -> SqlError {
    SqlError::new(
        SqlState::INVALID_REGULAR_EXPRESSION,
        format!("invalid regular expression: {reason}"),
    )
}

/// A pattern of PostgreSQL's, compiled.
pub(crate) fn compile(context: &Context<'_>, pattern: &str, options: Options) -> Result<Rc<Regex>> {
    context.patterns.get(pattern, options)
}
