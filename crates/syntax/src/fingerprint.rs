//! Statements that differ only in their literals have one plan, and how statements are compared for
//! that.
//!
//! A client that does not prepare sends `... WHERE id = 17`, then `... WHERE id = 18`. In the
//! *normalised fingerprint* of a statement a number or a string is its kind alone; the literals
//! become parameters. In the *exact fingerprint* they are there.
//! The binder refuses a parameter where it needs the literal itself, as in `ORDER BY 1`; such
//! statements are planned with all that they say.
//!
//! **Unambiguous by construction.** Statements are compared token by token, as the parser gets
//! them: kind, text, quotes. No text is put together from them, so no quoting can be undone: two
//! statements with equal [`Fingerprint`] are one statement to the parser, but for literals that
//! were taken out.

use std::{
    borrow::Cow,
    hash::{Hash, Hasher},
};

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::Source;

/// The kind of a literal that is taken out of a fingerprint. Numbers of different types have
/// different fingerprints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LiteralKind {
    /// Decimal digits whose value fits `integer`.
    Integer,
    /// Decimal digits whose value fits `bigint` and not `integer`.
    Bigint,
    /// Any other number.
    Numeric,
    /// Between quotes; its type is found where it is used.
    Text,
}

/// A literal that was taken out of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Literal<'t> {
    /// The kind of the literal.
    pub kind: LiteralKind,
    /// Its digits, or the text between its quotes.
    pub text: Cow<'t, str>,
}

impl<'t> Literal<'t> {
    fn of(token: &'t Token) -> Option<Self> {
        let (kind, text) = match token {
            Token::Number(digits, false) if digits.parse::<i32>().is_ok() => {
                (LiteralKind::Integer, digits)
            }
            Token::Number(digits, false) if is_smallest_behind_sign(digits) => return None,
            Token::Number(digits, false) if digits.parse::<i64>().is_ok() => {
                (LiteralKind::Bigint, digits)
            }
            Token::Number(digits, false) => (LiteralKind::Numeric, digits),
            Token::SingleQuotedString(text) => (LiteralKind::Text, text),
            _ => return None,
        };
        Some(Self {
            kind,
            text: Cow::Borrowed(text),
        })
    }

    /// Copies the text of the literal, for keeping it longer than the statement.
    pub fn into_owned(self) -> Literal<'static> {
        Literal {
            kind: self.kind,
            text: Cow::Owned(self.text.into_owned()),
        }
    }
}

/// Returns whether a minus before a number would make it the smallest `integer` or `bigint`: the type of such a number
/// depends on its sign, of which a parameter in its place would know nothing.
fn is_smallest_behind_sign(digits: &str) -> bool {
    [i32::MIN.unsigned_abs().into(), i64::MIN.unsigned_abs()]
        .map(Ok)
        .contains(&digits.parse::<u64>())
}

/// The part of a statement's literals that counts in its fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FingerprintKind {
    /// Their kinds.
    Normalised,
    /// All.
    Exact,
}

impl FingerprintKind {
    fn piece(self, token: &Token) -> Piece<&Token> {
        match self {
            FingerprintKind::Normalised => match Literal::of(token) {
                Some(literal) => Piece::Literal(literal.kind),
                None => Piece::Token(token),
            },
            FingerprintKind::Exact => Piece::Token(token),
        }
    }
}

/// A token of a statement, or what a normalised fingerprint keeps of a literal.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Piece<T> {
    Token(T),
    Literal(LiteralKind),
}

impl PartialEq<Piece<&Token>> for Piece<Token> {
    fn eq(&self, other: &Piece<&Token>) -> bool {
        match (self, other) {
            (Piece::Token(own), Piece::Token(other)) => own == *other,
            (Piece::Literal(own), Piece::Literal(other)) => own == other,
            _ => false,
        }
    }
}

/// A statement as it is compared with others: its tokens, with or without its literals.
#[derive(Debug, Clone, Copy)]
pub struct Fingerprint<'t> {
    tokens: &'t [TokenWithSpan],
    kind: FingerprintKind,
}

impl<'t> Fingerprint<'t> {
    /// Views the tokens of `source` as a fingerprint, with literals treated according to
    /// `kind`.
    pub fn of(source: &'t Source<'_>, kind: FingerprintKind) -> Self {
        Self {
            tokens: source.tokens(),
            kind,
        }
    }

    fn pieces(self) -> impl Iterator<Item = Piece<&'t Token>> {
        self.tokens
            .iter()
            .map(move |token| self.kind.piece(&token.token))
    }

    /// Copies it, for a map to keep.
    pub fn to_owned_fingerprint(self) -> OwnedFingerprint {
        let pieces = self.pieces().map(|piece| match piece {
            Piece::Token(token) => Piece::Token(token.clone()),
            Piece::Literal(kind) => Piece::Literal(kind),
        });
        OwnedFingerprint {
            pieces: pieces.collect(),
            kind: self.kind,
        }
    }
}

impl Hash for Fingerprint<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
        self.pieces().for_each(|piece| piece.hash(state));
    }
}

/// A [`Fingerprint`] that owns its tokens.
#[derive(Debug, PartialEq, Eq)]
pub struct OwnedFingerprint {
    pieces: Box<[Piece<Token>]>,
    kind: FingerprintKind,
}

impl OwnedFingerprint {
    /// Returns the bytes that they take, those of names and literals included.
    pub fn bytes(&self) -> usize {
        let text = |piece: &Piece<Token>| match piece {
            Piece::Token(Token::Word(word)) => word.value.len(),
            Piece::Token(
                Token::Number(text, _)
                | Token::SingleQuotedString(text)
                | Token::EscapedStringLiteral(text)
                | Token::UnicodeStringLiteral(text)
                | Token::NationalStringLiteral(text)
                | Token::HexStringLiteral(text)
                | Token::SingleQuotedByteStringLiteral(text),
            ) => text.len(),
            Piece::Token(Token::DollarQuotedString(quoted)) => quoted.value.len(),
            _ => 0,
        };
        size_of_val(&*self.pieces) + self.pieces.iter().map(text).sum::<usize>()
    }
}

impl PartialEq<Fingerprint<'_>> for OwnedFingerprint {
    fn eq(&self, other: &Fingerprint<'_>) -> bool {
        self.kind == other.kind
            && self.pieces.len() == other.tokens.len()
            && (self.pieces.iter().zip(other.pieces())).all(|(own, other)| *own == other)
    }
}

impl Source<'_> {
    /// Returns whether its plan may be found by its normalised fingerprint: it has no parameters of
    /// its own.
    pub fn can_be_normalised(&self) -> bool {
        let words = ["select", "insert", "update", "delete", "with"];
        words.iter().any(|word| self.begins_with(word)) && !self.has_parameters()
    }

    /// Returns whether the statement refers to parameters, as in `$1`.
    pub fn has_parameters(&self) -> bool {
        let mut tokens = self.tokens().iter();
        tokens.any(|token| matches!(token.token, Token::Placeholder(_)))
    }

    /// Returns its literals, in the order of the parameters that stand for them in its normalised
    /// fingerprint.
    pub fn literals(&self) -> Vec<Literal<'_>> {
        let tokens = self.tokens().iter();
        tokens
            .filter_map(|token| Literal::of(&token.token))
            .collect()
    }

    /// Its tokens with a parameter in the place of each literal, from `$1` on.
    pub fn without_literals(&self) -> Vec<TokenWithSpan> {
        let mut count = 0;
        let tokens = self.tokens().iter();
        tokens
            .map(|token| match Literal::of(&token.token) {
                None => token.clone(),
                Some(_) => {
                    count += 1;
                    TokenWithSpan {
                        token: Token::Placeholder(format!("${count}")),
                        span: token.span,
                    }
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
