//! Ranges of keys, for scans.

use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use super::{AsKey, Key, KeyBuffer};

/// A range that a scan can go over: all of Rust's ranges of types that implement [`AsKey<K>`].
///
/// The trait is needed because with `RangeBounds` the full range `..` would not tell its type of
/// keys.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a range of keys of type `{K}`")]
pub trait KeyRange<K> {
    /// Returns lower and upper bound, encoded.
    fn encoded_bounds(&self) -> (Bound<KeyBuffer>, Bound<KeyBuffer>);
}

fn encoded<K, Q: AsKey<K> + ?Sized>(key: &Q) -> KeyBuffer {
    KeyBuffer::from(key.encode_key().as_ref())
}

fn encoded_bound<K, Q: AsKey<K>>(bound: &Bound<Q>) -> Bound<KeyBuffer> {
    bound.as_ref().map(encoded)
}

impl<K: Key> KeyRange<K> for RangeFull {
    fn encoded_bounds(&self) -> (Bound<KeyBuffer>, Bound<KeyBuffer>) {
        (Bound::Unbounded, Bound::Unbounded)
    }
}

impl<K: Key, Q: AsKey<K>> KeyRange<K> for (Bound<Q>, Bound<Q>) {
    fn encoded_bounds(&self) -> (Bound<KeyBuffer>, Bound<KeyBuffer>) {
        (encoded_bound(&self.0), encoded_bound(&self.1))
    }
}

macro_rules! ranges {
    ($($range:ident, |$this:ident| $lower:expr, $upper:expr;)*) => {$(
        impl<K: Key, Q: AsKey<K>> KeyRange<K> for $range<Q> {
            fn encoded_bounds(&self) -> (Bound<KeyBuffer>, Bound<KeyBuffer>) {
                let $this = self;
                ($lower, $upper)
            }
        }
    )*};
}

ranges! {
    Range, |range| Bound::Included(encoded(&range.start)), Bound::Excluded(encoded(&range.end));
    RangeFrom, |range| Bound::Included(encoded(&range.start)), Bound::Unbounded;
    RangeTo, |range| Bound::Unbounded, Bound::Excluded(encoded(&range.end));
    RangeInclusive, |range| Bound::Included(encoded(range.start())), Bound::Included(encoded(range.end()));
    RangeToInclusive, |range| Bound::Unbounded, Bound::Included(encoded(&range.end));
}
