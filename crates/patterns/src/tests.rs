//! A property that PostgreSQL's answers cannot show: the two halves of a matcher agree.

use super::{Patterns, options::Options};

/// `regex` tells where a match begins, and the automaton where it ends. When the two had
/// different definitions of a word (marks, connectors), a match had no end: XX000.
#[test]
fn both_halves_agree_on_words() {
    let patterns = Patterns::new();
    for text in ["e\u{301}a b", "\u{203f}", "a\u{200d}b", "\u{345}", "ǅ"] {
        for pattern in [
            r"\m(.|..)",
            r"(.|..)\M",
            r"\y(.|..)\y",
            r"(\w|\w\w)\Y",
            "(?i)(Ǆ|ss)",
        ] {
            let compiled = patterns.get(pattern, Options::default()).unwrap();
            let found = compiled.matcher(text).captures(0).unwrap();
            assert_eq!(found.is_some(), compiled.is_match(text).unwrap());
        }
    }
}
