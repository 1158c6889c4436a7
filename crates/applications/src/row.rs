//! Rows of fixed length: structs whose bytes are stored in a table.
//!
//! A row is a struct of little-endian numbers and byte arrays without padding (crate
//! `zerocopy`). It is encoded by lending its bytes, and read in place
//! ([`Transaction::get_with`](weft::Transaction::get_with)) by looking at the stored bytes
//! as the struct: neither copies.

/// Makes rows the values of tables, under names of their own that must never change.
macro_rules! row_values {
    ($($row:ty = $name:literal;)*) => {$(
        impl weft::Value for $row {
            type Encoded<'v> = &'v [u8];

            fn type_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            #[inline]
            fn encode(&self) -> &[u8] {
                zerocopy::IntoBytes::as_bytes(self)
            }

            #[inline]
            fn decode(bytes: &[u8]) -> Result<Self, weft::DecodeError> {
                <Self as weft::BorrowValue>::borrow(bytes).copied()
            }
        }

        impl weft::BorrowValue for $row {
            type Borrowed = Self;

            #[inline]
            fn borrow(bytes: &[u8]) -> Result<&Self, weft::DecodeError> {
                // The types are unaligned, and every pattern of bits is valid: only the length can
                // be wrong.
                zerocopy::FromBytes::ref_from_bytes(bytes).map_err(|_| {
                    weft::DecodeError::new(format_args!(
                        "{} bytes are not a row of type {}",
                        bytes.len(),
                        $name
                    ))
                })
            }
        }
    )*};
}

pub(crate) use row_values;

#[cfg(test)]
mod tests {
    use weft::{BorrowValue, Value};
    use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

    #[derive(
        Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
    )]
    #[repr(C)]
    struct Pair {
        number: zerocopy::little_endian::U32,
        letter: u8,
    }

    row_values! {
        Pair = "bench.test.pair";
    }

    #[test]
    fn rows_are_lent_and_seen_in_place() {
        let pair = Pair {
            number: 0x0102_0304.into(),
            letter: b'x',
        };
        let bytes = [4, 3, 2, 1, b'x'];
        assert_eq!(pair.encode(), bytes);
        assert_eq!(Pair::decode(&bytes).unwrap(), pair);
        let seen = Pair::borrow(&bytes).unwrap();
        assert!(std::ptr::eq(
            std::ptr::from_ref(seen).cast(),
            bytes.as_ptr()
        ));
    }

    #[test]
    fn bytes_of_another_length_are_no_row() {
        let error = Pair::borrow(&[1, 2, 3]).unwrap_err().to_string();
        assert!(error.contains("bench.test.pair"), "{error}");
        assert!(Pair::decode(&[0; 6]).is_err());
    }
}
