//! Patterns of `LIKE` that consist of plain text and `%`, for comparing many texts with one pattern.

use memchr::memmem::Finder;

/// Most parts between two `%`: each takes some hundred bytes and some time, whether a text is compared with it or not.
const PARTS_MAX: usize = 16;

/// A pattern whose plain parts are looked for one after the other. The first place of each part leaves the most text to
/// the parts behind it, so that no other place need be tried.
pub struct LiteralPattern<'p> {
    /// Text that a text begins with.
    first: &'p [u8],
    /// Parts between two `%`, in order; none is empty.
    between: Vec<Finder<'p>>,
    /// Text that a text ends with; `None` where no `%` is: a text is the first part then.
    last: Option<&'p [u8]>,
}

impl<'p> LiteralPattern<'p> {
    /// Returns a pattern in this form; `None` if it has other special characters than `%`, or too many parts.
    pub fn of(pattern: &'p str) -> Option<Self> {
        if pattern.contains(['_', '\\']) {
            return None;
        }
        let mut parts = pattern.split('%').map(str::as_bytes);
        let first = parts.next().unwrap_or_default();
        let last = parts.next_back();
        let between: Vec<_> = parts
            .filter(|part| !part.is_empty())
            .take(PARTS_MAX + 1)
            .map(Finder::new)
            .collect();
        (between.len() <= PARTS_MAX).then_some(Self {
            first,
            between,
            last,
        })
    }

    /// Returns whether a text is like the pattern.
    pub fn matches(&self, text: &str) -> bool {
        let text = text.as_bytes();
        let Some(last) = self.last else {
            return text == self.first;
        };
        let Some(text) = text.strip_prefix(self.first) else {
            return false;
        };
        let Some(mut text) = text.strip_suffix(last) else {
            return false;
        };
        self.between.iter().all(|part| match part.find(text) {
            Some(at) => {
                text = &text[at + part.needle().len()..];
                true
            }
            None => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::like;

    /// All short patterns and texts of few characters: answers are those of the general matching.
    #[test]
    fn literal_patterns_match_as_others() {
        fn all(characters: &[char], most: usize) -> Vec<String> {
            let mut all = vec![String::new()];
            let mut begin = 0;
            for _ in 0..most {
                let end = all.len();
                for at in begin..end {
                    for character in characters {
                        all.push(format!("{}{character}", all[at]));
                    }
                }
                begin = end;
            }
            all
        }
        let (patterns, texts) = (all(&['a', 'ä', '%'], 5), all(&['a', 'ä'], 6));
        let mut matched = 0;
        for pattern in &patterns {
            let literal = LiteralPattern::of(pattern).unwrap();
            for text in &texts {
                assert_eq!(
                    literal.matches(text),
                    like(text, pattern).unwrap(),
                    "{text} {pattern}"
                );
                matched += usize::from(literal.matches(text));
            }
        }
        assert!(matched > 1000);
        assert!(LiteralPattern::of(&"%a".repeat(PARTS_MAX)).is_some());
        assert!(LiteralPattern::of(&"%a".repeat(1_000_000)).is_none());
        for pattern in ["a_", "\\%", "%\\"] {
            assert!(LiteralPattern::of(pattern).is_none());
        }
    }
}
