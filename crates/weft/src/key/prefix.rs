//! Ranges of all keys with the same beginning.

use std::ops::Bound;

use super::{AsKey, Key, KeyBuffer, KeyRange};

/// All keys that begin with the same parts, or with the same bytes or text, as a
/// range for scans: `Prefix((7_u64,))` in a table with keys `(u64, String)`,
/// `Prefix("we")` in one with keys `String`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix<Q>(pub Q);

/// A type of beginnings of keys of type `K`: tuples of a tuple's first parts, and text or bytes if
/// that is the whole key.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a prefix of keys of type `{K}`")]
pub trait KeyPrefix<K> {
    /// Appends the encoding that all these keys begin with, and no others do.
    fn encode_prefix(&self, key: &mut KeyBuffer);
}

impl<K: Key, Q: KeyPrefix<K>> KeyRange<K> for Prefix<Q> {
    fn encoded_bounds(&self) -> (Bound<KeyBuffer>, Bound<KeyBuffer>) {
        let mut lower = KeyBuffer::new();
        self.0.encode_prefix(&mut lower);
        let upper = successor(lower.as_ref()).map_or(Bound::Unbounded, Bound::Excluded);
        (Bound::Included(lower), upper)
    }
}

/// Returns the least bytes that sort after everything that begins with `prefix`; `None` if nothing
/// does.
fn successor(prefix: &[u8]) -> Option<KeyBuffer> {
    let last = prefix.iter().rposition(|&byte| byte != u8::MAX)?;
    let mut bytes = KeyBuffer::from(&prefix[..last]);
    bytes.push(prefix[last] + 1);
    Some(bytes)
}

macro_rules! beginnings {
    ($($type:ty as $key:ty;)*) => {$(
        impl KeyPrefix<$key> for $type {
            fn encode_prefix(&self, key: &mut KeyBuffer) {
                key.extend(AsKey::<$key>::encode_key(self).as_ref());
            }
        }
    )*};
}

beginnings! {
    &str as String;
    String as String;
    &[u8] as Vec<u8>;
    Vec<u8> as Vec<u8>;
}

/// Implements the prefixes of tuples: the first parts, then at least one more.
macro_rules! parts {
    ($(($($part:ident $form:ident $index:tt),*) of ($($rest:ident),*);)*) => {$(
        impl<$($part: Key, $form: AsKey<$part>,)* $($rest: Key),*>
            KeyPrefix<($($part,)* $($rest,)*)> for ($($form,)*)
        {
            fn encode_prefix(&self, key: &mut KeyBuffer) {
                $(self.$index.encode_part(key);)*
            }
        }
    )*};
}

parts! {
    (A P 0) of (B);
    (A P 0) of (B, C);
    (A P 0) of (B, C, D);
    (A P 0) of (B, C, D, E);
    (A P 0) of (B, C, D, E, F);
    (A P 0, B Q 1) of (C);
    (A P 0, B Q 1) of (C, D);
    (A P 0, B Q 1) of (C, D, E);
    (A P 0, B Q 1) of (C, D, E, F);
    (A P 0, B Q 1, C R 2) of (D);
    (A P 0, B Q 1, C R 2) of (D, E);
    (A P 0, B Q 1, C R 2) of (D, E, F);
    (A P 0, B Q 1, C R 2, D S 3) of (E);
    (A P 0, B Q 1, C R 2, D S 3) of (E, F);
    (A P 0, B Q 1, C R 2, D S 3, E T 4) of (F);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_successor_follows_all_that_begins_alike() {
        let next = |bytes: &[u8]| successor(bytes).map(|key| key.as_ref().to_vec());
        assert_eq!(next(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(next(&[1, 255, 255]), Some(vec![2]));
        assert_eq!(next(&[255, 255]), None);
        assert_eq!(next(&[]), None);
    }
}
