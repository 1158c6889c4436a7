//! Tuples of keys, ordered by their first part, then by their second, and so on.

use std::borrow::Cow;

use super::{AsKey, Key, KeyBuffer};
use crate::error::DecodeError;

/// Implements tuples of every length; the last part stands apart because it needs no delimiter when
/// it is at the end of the key.
macro_rules! tuples {
    ($(($($part:ident $form:ident $index:tt,)* | $last:ident $last_form:ident $last_index:tt);)*) => {$(
        impl<$($part: Key, $form: AsKey<$part>,)* $last: Key, $last_form: AsKey<$last>>
            AsKey<($($part,)* $last,)> for ($($form,)* $last_form,)
        {
            type Encoded<'k> = KeyBuffer where Self: 'k;

            #[inline]
            fn encode_key(&self) -> KeyBuffer {
                let mut key = KeyBuffer::new();
                self.encode_last(&mut key);
                key
            }

            #[inline]
            fn encode_part(&self, key: &mut KeyBuffer) {
                $(self.$index.encode_part(key);)*
                self.$last_index.encode_part(key);
            }

            #[inline]
            fn encode_last(&self, key: &mut KeyBuffer) {
                $(self.$index.encode_part(key);)*
                self.$last_index.encode_last(key);
            }
        }

        impl<$($part: Key,)* $last: Key> Key for ($($part,)* $last,) {
            fn type_name() -> Cow<'static, str> {
                let parts: &[Cow<'static, str>] = &[$($part::type_name(),)* $last::type_name()];
                format!("({})", parts.join(", ")).into()
            }

            fn is_prefix_free() -> bool {
                // The other parts are prefix-free as parts.
                $last::is_prefix_free()
            }

            #[allow(unused_mut)] // Tuples of one part take nothing from the front.
            fn decode_key(mut bytes: &[u8]) -> Result<Self, DecodeError> {
                Ok(($($part::decode_part(&mut bytes)?,)* $last::decode_key(bytes)?,))
            }

            fn decode_part(bytes: &mut &[u8]) -> Result<Self, DecodeError> {
                Ok(($($part::decode_part(bytes)?,)* $last::decode_part(bytes)?,))
            }
        }
    )*};
}

tuples! {
    (| A P 0);
    (A P 0, | B Q 1);
    (A P 0, B Q 1, | C R 2);
    (A P 0, B Q 1, C R 2, | D S 3);
    (A P 0, B Q 1, C R 2, D S 3, | E T 4);
    (A P 0, B Q 1, C R 2, D S 3, E T 4, | F U 5);
}
