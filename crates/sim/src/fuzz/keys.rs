//! Encodings of keys (crate `weft`): for every type, encodings sort as values
//! do, can be read back, are unique for their value, and no encoding that is
//! used inside tuples is a prefix of another.

use std::{cmp::Ordering, fmt::Debug};

use index::fuzz::Choices;
use weft::{AsKey, Key, KeyBuffer};

/// Encodes, compares and decodes keys that `data` describes.
///
/// # Panics
/// Panics if an encoding breaks a rule.
pub fn key_encoding(data: &[u8]) {
    let mut source = Choices::new(data);
    while !source.is_empty() {
        match source.byte() % 16 {
            0 => check::<u8>(&mut source),
            1 => check::<u32>(&mut source),
            2 => check::<u128>(&mut source),
            3 => check::<i8>(&mut source),
            4 => check::<i64>(&mut source),
            5 => check::<f32>(&mut source),
            6 => check::<f64>(&mut source),
            7 => check::<bool>(&mut source),
            8 => check::<char>(&mut source),
            9 => check::<String>(&mut source),
            10 => check::<Vec<u8>>(&mut source),
            11 => check::<[u8; 3]>(&mut source),
            12 => check::<Option<i32>>(&mut source),
            13 => check::<(u16, String)>(&mut source),
            14 => check::<(String, Vec<u8>, i64)>(&mut source),
            _ => check::<(Option<Vec<u8>>, (String, bool), Option<f64>)>(&mut source),
        }
    }
}

/// A value that bytes describe, and the order that its encoding must keep.
trait Draw: Sized {
    fn draw(source: &mut Choices<'_>) -> Self;
    fn order(&self, other: &Self) -> Ordering;
}

fn check<K: Key + Draw + Debug>(source: &mut Choices<'_>) {
    let (a, b) = (K::draw(source), K::draw(source));
    let (a_bytes, b_bytes) = (whole(&a), whole(&b));
    assert_eq!(
        a_bytes.cmp(&b_bytes),
        a.order(&b),
        "order of {a:?} and {b:?}"
    );
    let back = K::decode_key(&a_bytes).unwrap_or_else(|error| panic!("{a:?}: {error}"));
    assert_eq!(back.order(&a), Ordering::Equal, "{a:?} became {back:?}");
    let (a_part, b_part) = (part(&a), part(&b));
    assert!(
        a_part == b_part || !b_part.starts_with(&a_part) && !a_part.starts_with(&b_part),
        "the part of {a:?} or {b:?} begins the other"
    );
    assert_eq!(a_part.cmp(&b_part), a.order(&b), "parts of {a:?} and {b:?}");
    let mut rest = a_part.as_slice();
    let back = K::decode_part(&mut rest).unwrap_or_else(|error| panic!("{a:?}: {error}"));
    assert!(rest.is_empty() && back.order(&a) == Ordering::Equal);
    check_bytes::<K>(source);
}

/// Checks that any bytes are refused, or are the encoding of the value decoded
/// from them.
fn check_bytes<K: Key + Debug>(source: &mut Choices<'_>) {
    let bytes = <Vec<u8>>::draw(source);
    if let Ok(key) = K::decode_key(&bytes) {
        assert_eq!(whole(&key), bytes, "a second encoding of {key:?}");
    }
    let mut rest = bytes.as_slice();
    if let Ok(key) = K::decode_part(&mut rest) {
        let read = &bytes[..bytes.len() - rest.len()];
        assert_eq!(part(&key), read, "a second part of {key:?}");
    }
}

fn whole<K: Key>(key: &K) -> Vec<u8> {
    key.encode_key().as_ref().to_vec()
}

fn part<K: Key>(key: &K) -> Vec<u8> {
    let mut buffer = KeyBuffer::default();
    AsKey::<K>::encode_part(key, &mut buffer);
    AsRef::<[u8]>::as_ref(&buffer).to_vec()
}

macro_rules! numbers {
    ($($type:ty, $order:path;)*) => {$(
        impl Draw for $type {
            fn draw(source: &mut Choices<'_>) -> $type {
                <$type>::from_le_bytes(std::array::from_fn(|_| source.byte()))
            }

            fn order(&self, other: &$type) -> Ordering {
                $order(self, other)
            }
        }
    )*};
}

numbers! {
    u8, Ord::cmp;
    u16, Ord::cmp;
    u32, Ord::cmp;
    u128, Ord::cmp;
    i8, Ord::cmp;
    i32, Ord::cmp;
    i64, Ord::cmp;
    f32, f32::total_cmp;
    f64, f64::total_cmp;
}

macro_rules! ordered {
    ($($type:ty, |$source:ident| $draw:expr;)*) => {$(
        impl Draw for $type {
            fn draw($source: &mut Choices<'_>) -> $type {
                $draw
            }

            fn order(&self, other: &$type) -> Ordering {
                self.cmp(other)
            }
        }
    )*};
}

ordered! {
    bool, |source| source.byte() & 1 == 1;
    char, |source| char::from_u32(u32::draw(source) % 0x11_0000).unwrap_or('\0');
    [u8; 3], |source| std::array::from_fn(|_| source.byte());
    Vec<u8>, |source| (0..source.below(12)).map(|_| few(source)).collect();
    String, |source| (0..source.below(6)).map(|_| {
        if source.byte() & 1 == 0 { '\0' } else { char::draw(source) }
    }).collect();
}

/// Draws a byte, often one that encodings treat in a special way.
fn few(source: &mut Choices<'_>) -> u8 {
    match source.byte() {
        0..=79 => 0,
        80..=119 => 1,
        120..=159 => 255,
        _ => source.byte(),
    }
}

impl<K: Draw> Draw for Option<K> {
    fn draw(source: &mut Choices<'_>) -> Option<K> {
        (source.byte() & 3 != 0).then(|| K::draw(source))
    }

    fn order(&self, other: &Option<K>) -> Ordering {
        match (self, other) {
            (Some(a), Some(b)) => a.order(b),
            _ => self.is_some().cmp(&other.is_some()),
        }
    }
}

impl<A: Draw, B: Draw> Draw for (A, B) {
    fn draw(source: &mut Choices<'_>) -> (A, B) {
        (A::draw(source), B::draw(source))
    }

    fn order(&self, other: &(A, B)) -> Ordering {
        self.0.order(&other.0).then_with(|| self.1.order(&other.1))
    }
}

impl<A: Draw, B: Draw, C: Draw> Draw for (A, B, C) {
    fn draw(source: &mut Choices<'_>) -> (A, B, C) {
        (A::draw(source), B::draw(source), C::draw(source))
    }

    fn order(&self, other: &(A, B, C)) -> Ordering {
        let first = self.0.order(&other.0);
        let second = first.then_with(|| self.1.order(&other.1));
        second.then_with(|| self.2.order(&other.2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A canary: an encoding that the checks must refuse.
    #[derive(Debug)]
    struct LittleEndian(u16);

    impl AsKey<LittleEndian> for LittleEndian {
        type Encoded<'k> = [u8; 2];

        fn encode_key(&self) -> [u8; 2] {
            self.0.to_le_bytes()
        }

        fn encode_part(&self, key: &mut KeyBuffer) {
            key.extend(&self.encode_key());
        }
    }

    impl Key for LittleEndian {
        fn type_name() -> std::borrow::Cow<'static, str> {
            "LittleEndian".into()
        }

        fn decode_key(bytes: &[u8]) -> Result<LittleEndian, weft::DecodeError> {
            u16::decode_key(bytes).map(|it| LittleEndian(it.swap_bytes()))
        }

        fn decode_part(bytes: &mut &[u8]) -> Result<LittleEndian, weft::DecodeError> {
            u16::decode_part(bytes).map(|it| LittleEndian(it.swap_bytes()))
        }
    }

    impl Draw for LittleEndian {
        fn draw(source: &mut Choices<'_>) -> LittleEndian {
            LittleEndian(u16::draw(source))
        }

        fn order(&self, other: &LittleEndian) -> Ordering {
            self.0.cmp(&other.0)
        }
    }

    #[test]
    #[should_panic(expected = "order of LittleEndian(1) and LittleEndian(256)")]
    fn an_encoding_out_of_order_is_found() {
        check::<LittleEndian>(&mut Choices::new(&[1, 0, 0, 1]));
    }
}
