use std::fmt::Debug;

use interleave::{Execution, Lookup, look_up_all};

use super::*;

const IN_FLIGHT: [usize; 6] = [0, 1, 2, 7, 16, 64];

fn found<K: Copy, S: Lookup<K, Found = Result<usize, usize>>>(
    structure: &S,
    keys: &[K],
) -> Vec<Result<usize, usize>> {
    let mut all: Option<Vec<_>> = None;
    for in_flight in IN_FLIGHT {
        let mut found = vec![None; keys.len()];
        look_up_all(
            structure,
            keys,
            Execution::in_flight(in_flight),
            |at, one| {
                assert_eq!(found[at].replace(one), None);
            },
        );
        let found = found.into_iter().map(Option::unwrap).collect();
        match &all {
            Some(before) => assert_eq!(*before, found),
            None => all = Some(found),
        }
    }
    all.unwrap()
}

fn expected<T: Ord>(elements: &[T], key: &T) -> Result<usize, usize> {
    let place = elements.partition_point(|element| element < key);
    match elements.get(place) {
        Some(element) if element == key => Ok(place),
        _ => Err(place),
    }
}

/// Arrays and pages above them find what naive evaluation does.
fn check<T: Copy + Ord + Debug>(elements: Vec<T>, keys: &[T]) {
    let array = SortedArray::from_unsorted(elements);
    let naive: Vec<_> = keys
        .iter()
        .map(|key| expected(array.as_slice(), key))
        .collect();
    assert_eq!(found(&array, keys), naive, "{} elements", array.len());
    let paged = PagedArray::over(array.clone()).unwrap();
    assert_eq!(
        found(&paged, keys),
        naive,
        "{} elements in pages",
        array.len()
    );
    assert!(paged.bytes() >= array.bytes());
}

fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}

#[test]
fn every_length_finds_what_naive_evaluation_does() {
    for length in (0..200).chain([511, 1024, 1025, 4096, 5000]) {
        let mut next = random(length);
        // Half of the values that can be, so that there are equal and absent ones.
        let elements: Vec<u32> = (0..length)
            .map(|_| next() as u32 % (length as u32 + 1))
            .collect();
        let mut keys: Vec<u32> = (0..150)
            .map(|_| next() as u32 % (length as u32 + 3))
            .collect();
        keys.extend([0, u32::MAX]);
        check(elements, &keys);
    }
}

#[test]
fn elements_of_all_sizes_are_searched() {
    let mut next = random(7);
    macro_rules! check_type {
        ($($type:ty),*) => {$({
            let mut elements: Vec<$type> = (0..3000).map(|_| next() as $type).collect();
            elements.extend([<$type>::MIN, <$type>::MAX]);
            let mut keys = elements[..200].to_vec();
            keys.extend((0..200).map(|_| next() as $type));
            keys.extend([<$type>::MIN, <$type>::MAX, 0, 1]);
            check(elements, &keys);
        })*};
    }
    check_type!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128);
    // Composite keys: the second decides where the first is equal.
    let pairs: Vec<(u16, i64)> = (0..5000)
        .map(|_| (next() as u16 % 20, next() as i64 % 50))
        .collect();
    let keys: Vec<_> = (0..300)
        .map(|_| (next() as u16 % 22, next() as i64 % 60))
        .collect();
    check(pairs, &keys);
    // Larger than a line, and larger than a page.
    let wide: Vec<[u64; 12]> = (0..500).map(|_| [next() % 9; 12]).collect();
    let keys: Vec<_> = (0..12).map(|n| [n; 12]).collect();
    check(wide, &keys);
    let huge: Vec<[u64; 700]> = (0..40).map(|_| [next() % 9; 700]).collect();
    check(huge, &[[0; 700], [4; 700], [10; 700]]);
}

#[test]
fn strings_of_one_size_are_in_the_order_of_their_bytes() {
    fn of<const N: usize>() {
        let mut next = random(N as u64);
        let mut string = || {
            let length = next() as usize % (N + 1);
            let bytes: Vec<u8> = (0..length)
                .map(|_| b"ab\xff"[next() as usize % 3])
                .collect();
            FixedString::<N>::new(&bytes).unwrap()
        };
        let elements: Vec<_> = (0..2000).map(|_| string()).collect();
        let keys: Vec<_> = (0..300).map(|_| string()).collect();
        for (one, other) in elements.iter().zip(&keys) {
            assert_eq!(one.cmp(other), one.as_bytes().cmp(other.as_bytes()));
        }
        check(elements, &keys);
        assert_eq!(FixedString::<N>::new(&vec![0; N + 1]), None);
    }
    of::<3>();
    of::<8>();
    of::<16>();
    of::<20>();
}

#[test]
fn nan_and_negative_zero_have_their_places() {
    let numbers = [f64::NAN, -0.0, 0.0, -1.0, f64::INFINITY, -f64::NAN, 0.0];
    let array = SortedArray::from_unsorted(numbers.map(TotalF64::from).to_vec());
    let keys = [-f64::NAN, -1.0, -0.0, 0.0, 1.0, f64::INFINITY, f64::NAN].map(TotalF64::from);
    let places = [Ok(0), Ok(1), Ok(2), Ok(3), Err(5), Ok(5), Ok(6)];
    assert_eq!(found(&array, &keys), places);
}

#[test]
fn strings_of_any_length_find_what_naive_evaluation_does() {
    for seed in 0..60 {
        let mut next = random(seed);
        let mut string = |longest: usize| {
            // Prefixes that are equal are the hard case.
            let mut bytes = b"common p"[..next() as usize % 9].to_vec();
            let length = next() as usize % (longest + 1);
            bytes.extend((0..length).map(|_| b"\0ab\xff"[next() as usize % 4]));
            bytes
        };
        let mut strings: Vec<Vec<u8>> = (0..seed * 7).map(|_| string(5)).collect();
        strings.extend((0..seed / 10).map(|_| string(300)));
        strings.sort();
        let sorted = SortedStrings::from_sorted(&strings).unwrap();
        assert!(sorted.iter().eq(strings.iter().map(Vec::as_slice)));
        let mut keys: Vec<Vec<u8>> = (0..100).map(|_| string(6)).collect();
        keys.extend([vec![], vec![0], vec![255; 400]]);
        keys.extend(strings.iter().take(50).cloned());
        let naive: Vec<_> = keys.iter().map(|key| expected(&strings, key)).collect();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        assert_eq!(found(&sorted, &keys), naive);
    }
}

#[test]
fn what_is_not_sorted_is_refused_by_its_place() {
    let error = SortedArray::from_sorted(vec![1, 2, 2, 1]).unwrap_err();
    assert_eq!(error.at, 3);
    assert!(error.to_string().contains("element at 3"));
    let error = SortedStrings::from_sorted(["a", "c", "b"]).unwrap_err();
    assert!(error.to_string().contains("element at 2"), "{error}");
    assert_eq!(
        SortedArray::from_unsorted_dedup(vec![3, 1, 3]).as_slice(),
        [1, 3]
    );
}
