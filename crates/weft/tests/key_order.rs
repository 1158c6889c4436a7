//! Encoded keys sort as the keys do, decode to the original keys, and, inside tuples, never are the
//! beginning of one another.

use std::{cmp::Ordering, fmt::Debug};

use proptest::{collection::vec, prelude::*};
use weft::{AsKey, Key, KeyBuffer};

fn encoded<K: Key>(key: &K) -> Vec<u8> {
    key.encode_key().as_ref().to_vec()
}

fn part<K: Key>(key: &K) -> Vec<u8> {
    let mut buffer = KeyBuffer::new();
    key.encode_part(&mut buffer);
    buffer.as_ref().to_vec()
}

fn check<K: Key + PartialEq + Debug>(a: &K, b: &K, expected: Ordering) {
    assert_eq!(encoded(a).cmp(&encoded(b)), expected, "{a:?} {b:?}");
    assert_eq!(part(a).cmp(&part(b)), expected, "parts of {a:?} {b:?}");
    if expected != Ordering::Equal {
        assert!(!part(a).starts_with(&part(b)), "{a:?} begins with {b:?}");
    }
    assert_eq!(&K::decode_key(&encoded(a)).unwrap(), a);
    let mut bytes = part(a);
    bytes.extend([0, 255, 1]);
    let mut rest = &bytes[..];
    assert_eq!(&K::decode_part(&mut rest).unwrap(), a);
    assert_eq!(rest, [0, 255, 1]);
}

fn check_ord<K: Key + Ord + Debug>(a: K, b: K) {
    check(&a, &b, a.cmp(&b));
    check(&a, &a, Ordering::Equal);
}

/// Returns bytes with many zeros and ends of the range, where escaping matters.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(
        prop_oneof![Just(0), Just(1), Just(254), Just(255), any::<u8>()],
        0..12,
    )
}

/// Returns text with many zero characters.
fn text() -> impl Strategy<Value = String> {
    vec(
        prop_oneof![Just('\0'), Just('\u{1}'), Just('a'), any::<char>()],
        0..8,
    )
    .prop_map(|characters| characters.into_iter().collect())
}

proptest! {
    #[test]
    fn unsigned(a: (u8, u16, u32, u64, u128), b: (u8, u16, u32, u64, u128)) {
        check_ord(a.0, b.0);
        check_ord(a.1, b.1);
        check_ord(a.2, b.2);
        check_ord(a.3, b.3);
        check_ord(a.4, b.4);
    }

    #[test]
    fn signed(a: (i8, i16, i32, i64, i128), b: (i8, i16, i32, i64, i128)) {
        check_ord(a.0, b.0);
        check_ord(a.1, b.1);
        check_ord(a.2, b.2);
        check_ord(a.3, b.3);
        check_ord(a.4, b.4);
    }

    #[test]
    fn floating(a in any::<u64>(), b in any::<u64>()) {
        let (a, b) = (f64::from_bits(a), f64::from_bits(b));
        prop_assert_eq!(encoded(&a).cmp(&encoded(&b)), a.total_cmp(&b));
        prop_assert_eq!(f64::decode_key(&encoded(&a)).unwrap().to_bits(), a.to_bits());
        let (a, b) = (a as f32, b as f32);
        prop_assert_eq!(encoded(&a).cmp(&encoded(&b)), a.total_cmp(&b));
    }

    #[test]
    fn small_types(a: (bool, char, [u8; 5]), b: (bool, char, [u8; 5])) {
        check_ord(a.0, b.0);
        check_ord(a.1, b.1);
        check_ord(a.2, b.2);
    }

    #[test]
    fn bytes_and_text(a in bytes(), b in bytes(), c in text(), d in text()) {
        check_ord(a, b);
        check_ord(c, d);
    }

    #[test]
    fn pairs_of_bytes(a in (bytes(), bytes()), b in (bytes(), bytes())) {
        check_ord(a, b);
    }

    #[test]
    fn mixed_tuples(
        a in (text(), any::<i32>(), bytes(), any::<bool>()),
        b in (text(), any::<i32>(), bytes(), any::<bool>()),
    ) {
        check_ord(a.clone(), b.clone());
        // The keys have the same beginning, so later parts decide.
        check_ord((a.0.clone(), a.1, a.2.clone(), b.3), (a.0, a.1, b.2, a.3));
    }

    #[test]
    fn nested_and_optional(
        a in (proptest::option::of(bytes()), (bytes(), any::<u8>()), proptest::option::of(any::<i64>())),
        b in (proptest::option::of(bytes()), (bytes(), any::<u8>()), proptest::option::of(any::<i64>())),
    ) {
        check_ord(a.0.clone(), b.0.clone());
        check_ord(a, b);
    }

    #[test]
    fn long_tuples(a: (u8, i8, u16, i16, u32, i32), b: (u8, i8, u16, i16, u32, i32)) {
        check_ord(a, b);
        check_ord((a.0,), (b.0,));
        check_ord((a.0, a.1, a.2, a.3, a.4), (b.0, b.1, b.2, b.3, b.4));
    }

    /// For any bytes decoding ends without a panic, and an accepted key encodes to the same bytes.
    #[test]
    fn arbitrary_bytes(bytes in bytes()) {
        type Mixed = (Option<String>, Vec<u8>, u16, Option<(bool, char)>);
        if let Ok(key) = Mixed::decode_key(&bytes) {
            prop_assert_eq!(encoded(&key), bytes);
        }
    }
}

#[test]
fn borrowed_forms_encode_alike() {
    let owned = (7_u64, "a\0b".to_owned(), vec![0_u8, 1]);
    let borrowed = (7_u64, "a\0b", &[0_u8, 1][..]);
    let bytes = AsKey::<(u64, String, Vec<u8>)>::encode_key(&borrowed);
    assert_eq!(encoded(&owned), bytes.as_ref());
}

#[test]
fn truncated_and_trailing_bytes_are_refused() {
    assert!(u32::decode_key(&[1, 2, 3]).is_err());
    assert!(u32::decode_key(&[1, 2, 3, 4, 5]).is_err());
    assert!(bool::decode_key(&[2]).is_err());
    assert!(char::decode_key(&[0, 0, 0xd8, 0]).is_err());
    assert!(String::decode_key(&[0xff]).is_err());
    assert!(<(String, u8)>::decode_key(b"abc").is_err());
    assert!(<(String, u8)>::decode_key(b"abc\0\x07").is_err());
    assert!(Option::<u8>::decode_key(&[0, 1]).is_err());
}
