//! Text in rows.

use std::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// At most `N` bytes of text without zeros, which fill the rest: texts sort as their bytes.
#[derive(Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(transparent)]
pub(in crate::tpcc) struct Text<const N: usize>(pub(in crate::tpcc) [u8; N]);

impl<const N: usize> Text<N> {
    /// Returns the parts one after another, as far as there is room.
    pub(in crate::tpcc) fn of(parts: &[&[u8]]) -> Self {
        let mut text = Self::default();
        let mut rest = &mut text.0[..];
        for part in parts {
            let length = part.len().min(rest.len());
            rest[..length].copy_from_slice(&part[..length]);
            rest = &mut rest[length..];
        }
        text
    }

    /// Returns the text without the zeros that fill it up.
    pub(in crate::tpcc) fn as_bytes(&self) -> &[u8] {
        let length = self.0.iter().position(|&byte| byte == 0).unwrap_or(N);
        &self.0[..length]
    }

    /// Returns whether `part` occurs in the text.
    #[inline]
    pub(in crate::tpcc) fn contains<const M: usize>(&self, part: &[u8; M]) -> bool {
        self.0.windows(M).any(|window| window == part)
    }

    /// Puts `text` before the text. The end for which no room is left is lost.
    pub(in crate::tpcc) fn prepend(&mut self, text: &[u8]) {
        let length = text.len().min(N);
        self.0.copy_within(..N - length, length);
        self.0[..length].copy_from_slice(&text[..length]);
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_put_together_as_far_as_there_is_room() {
        let text: Text<8> = Text::of(&[b"warp", b"-", b"weft"]);
        assert_eq!(text.as_bytes(), b"warp-wef");
        assert!(text.contains(b"p-w") && !text.contains(b"weft"));
        assert_eq!(Text::<8>::of(&[b"warp"]).as_bytes(), b"warp");
    }

    #[test]
    fn what_is_prepended_pushes_the_end_out() {
        let mut text: Text<8> = Text::of(&[b"warp"]);
        text.prepend(b"ab");
        assert_eq!(text.as_bytes(), b"abwarp");
        text.prepend(b"123");
        assert_eq!(text.as_bytes(), b"123abwar");
        text.prepend(b"much too long");
        assert_eq!(text.as_bytes(), b"much too");
    }
}
