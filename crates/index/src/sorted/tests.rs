use std::fmt::Debug;

use interleave::{Execution, Lookup, look_up_all};

use super::*;

type Found = Result<usize, usize>;

/// Returns numbers below a bound, determined by the seed.
fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) % below
    }
}

/// Returns the result that a search should find.
fn naive(is_less: impl Iterator<Item = bool>, at: impl Fn(usize) -> bool) -> Found {
    let place = is_less.filter(|is_less| *is_less).count();
    if at(place) { Ok(place) } else { Err(place) }
}

fn check_found<K: Copy + Debug, L: Lookup<K, Found = Found>>(
    structure: &L,
    keys: &[K],
    expected: &[Found],
) {
    for in_flight in [0, 1, 2, 7, 16, 64] {
        let mut found = vec![None; keys.len()];
        look_up_all(
            structure,
            keys,
            Execution::in_flight(in_flight),
            |at, one| {
                assert_eq!(found[at].replace(one), None);
            },
        );
        for ((found, expected), key) in found.iter().zip(expected).zip(keys) {
            assert_eq!(found.as_ref(), Some(expected), "{key:?}, {in_flight}");
        }
    }
}

const SIZES: [u64; 14] = [0, 1, 2, 3, 4, 15, 16, 17, 33, 127, 128, 129, 1000, 3000];

fn check_arrays<T: Copy + Ord + Debug>(of: impl Fn(u64) -> T) {
    let mut random = random(size_of::<T>() as u64);
    for size in SIZES {
        for values in [1, 3, 100, 1 << 30] {
            let elements: Vec<T> = (0..size).map(|_| of(random(values))).collect();
            let array = SortedArray::from_unsorted(elements.clone());
            let mut sorted = elements.clone();
            sorted.sort();
            assert_eq!(array.as_slice(), sorted);
            assert_eq!(array.len() as u64, size);
            assert_eq!(array.is_empty(), size == 0);
            assert_eq!(array.get(sorted.len()), None);

            let mut keys: Vec<T> = (0..40).map(|_| of(random(values + 1))).collect();
            keys.extend([of(0), of(u64::MAX)]);
            keys.extend(sorted.iter().take(20));
            keys.extend(sorted.iter().rev().take(20));
            let expected: Vec<Found> = keys
                .iter()
                .map(|key| {
                    naive(sorted.iter().map(|element| element < key), |place| {
                        sorted.get(place) == Some(key)
                    })
                })
                .collect();
            check_found(&array, &keys, &expected);
            let paged = PagedArray::new(array).unwrap();
            check_found(&paged, &keys, &expected);
            assert_eq!(paged.into_array().into_vec(), sorted);

            let mut distinct = sorted;
            distinct.dedup();
            assert_eq!(
                SortedArray::from_unsorted_dedup(elements).into_vec(),
                distinct
            );
        }
    }
}

#[test]
fn arrays_of_integers_find_what_a_scan_finds() {
    check_arrays(|number| number as u8);
    check_arrays(|number| (number as u16).wrapping_neg());
    check_arrays(|number| number as u32);
    check_arrays(|number| number.cast_signed().wrapping_sub(50));
    check_arrays(|number| i128::from(number) << 64);
}

#[test]
fn arrays_of_composite_keys_and_strings_find_what_a_scan_finds() {
    check_arrays(|number| (number as u32 % 7, number as u16, number));
    check_arrays(|number| (number % 3, (number as u8, number as i128)));
    check_arrays(|number| {
        TotalF64::new(f64::from_bits(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    });
    check_arrays(|number| {
        FixedString::<15>::new(format!("{number}").as_bytes().get(..15).unwrap_or(b"x")).unwrap()
    });
    check_arrays(|number| FixedString::<20>::new(format!("{number}").as_bytes()).unwrap());
    check_arrays(|number| [number as u8; 100]);
    check_arrays(|number| [number; 100]);
}

#[test]
fn pages_are_searched_at_every_height_wherever_the_array_begins() {
    // Large elements: few to a page, so that many levels need few.
    type Element = [u64; 125];
    let of = |number: usize| -> Element { std::array::from_fn(|_| number as u64) };
    for size in [1, 2, 4, 5, 16, 17, 64, 65, 256, 257, 1100] {
        let array = SortedArray::from_sorted((0..size).map(|n| of(2 * n + 1)).collect()).unwrap();
        let paged = PagedArray::new(array).unwrap();
        let keys: Vec<Element> = (0..2 * size + 2).map(of).collect();
        let expected: Vec<Found> = (0..2 * size + 2)
            .map(|n| {
                if n % 2 == 1 && n / 2 < size {
                    Ok(n / 2)
                } else {
                    Err(n / 2)
                }
            })
            .collect();
        check_found(&paged, &keys, &expected);
        // Each page has four separators. Pieces, which are of 4 KiB, in which elements begin: this many or one more.
        let pages = (size - 1) * size_of::<Element>() / 4096 + 1;
        let height = paged.height() as u32;
        assert!(4_usize.pow(height) >= pages);
        assert!(height == 0 || 4_usize.pow(height - 1) <= pages);
        assert!(paged.separator_bytes() >= 4096 * paged.height());
    }
    // Pieces of one line, that begin within an element. A page has some 500 separators.
    for (size, height) in [(700, 1), (5000, 2), (400_000, 2), (3_000_000, 3)] {
        let of = |number: usize| {
            let [.., a, b, c, d] = (2 * number as u64).to_be_bytes();
            [a, b, c, d, 0, 0, 7]
        };
        let array = SortedArray::from_sorted((0..size).map(of).collect()).unwrap();
        let paged = PagedArray::new(array).unwrap();
        assert_eq!(paged.height(), height);
        let numbers = || (0..size).step_by(1 + size / 10_000);
        let keys: Vec<_> = numbers().map(of).collect();
        let expected: Vec<Found> = numbers().map(Ok).collect();
        check_found(&paged, &keys, &expected);
    }
}

#[test]
fn who_is_out_of_order_is_named() {
    let at =
        |elements: &[u8]| SortedArray::from_sorted(elements.to_vec()).map_err(|error| error.at);
    assert_eq!(at(&[1, 1, 2]).unwrap().into_vec(), [1, 1, 2]);
    assert_eq!(at(&[1, 3, 2, 1]), Err(2));
    assert_eq!(at(&[2, 1]), Err(1));
    let strings = SortedStrings::from_sorted(["a", "b", "ab"]);
    assert!(matches!(
        strings,
        Err(StringsError::OutOfOrder(OutOfOrder { at: 2 }))
    ));
}

#[test]
fn a_nan_has_a_place() {
    let floats = [f64::NAN, 1.0, -f64::NAN, f64::NEG_INFINITY, -0.0, 0.0];
    let array = SortedArray::from_unsorted(floats.map(TotalF64::new).to_vec());
    let keys = floats.map(TotalF64::new);
    check_found(&array, &keys, &[Ok(5), Ok(4), Ok(0), Ok(1), Ok(2), Ok(3)]);
}

fn check_strings(mut strings: Vec<Vec<u8>>, mut keys: Vec<Vec<u8>>) {
    strings.sort();
    let all = SortedStrings::from_sorted(&strings).unwrap();
    assert_eq!(all.len(), strings.len());
    assert_eq!(all.is_empty(), strings.is_empty());
    assert!(all.iter().eq(&strings));
    assert_eq!(all.get(strings.len()), None);
    let heap: usize = strings.iter().map(Vec::len).sum();
    assert!(all.bytes() >= 16 * strings.len() + heap);
    // Strings that are there, with a further end, and without their end.
    keys.extend(strings.iter().step_by(1 + strings.len() / 50).cloned());
    for string in strings.iter().step_by(1 + strings.len() / 20) {
        for end in [0, 1, 255] {
            keys.push([string.as_slice(), &[end]].concat());
        }
        keys.push(string[..string.len().saturating_sub(1)].to_vec());
    }
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let expected: Vec<Found> = keys
        .iter()
        .map(|key| {
            naive(
                strings.iter().map(|string| string.as_slice() < *key),
                |place| strings.get(place).is_some_and(|string| string == key),
            )
        })
        .collect();
    check_found(&all, &keys, &expected);
}

#[test]
fn strings_of_any_lengths_find_what_a_scan_finds() {
    let mut random = random(3);
    for size in SIZES {
        for (common, bytes_max, letters) in
            [(0, 3, 2), (0, 12, 2), (5, 20, 1), (9, 9, 200), (0, 30, 255)]
        {
            let mut string = |common: usize| {
                let bytes = random(bytes_max + 1) as usize;
                let mut string = vec![b'c'; common];
                // Zeros are among the bytes.
                string.extend((0..bytes).map(|_| random(letters) as u8));
                string
            };
            let strings: Vec<Vec<u8>> = (0..size).map(|_| string(common)).collect();
            let mut keys: Vec<Vec<u8>> = (0..20).map(|_| string(common)).collect();
            keys.extend((0..20).map(|at| string(at % (common + 1))));
            keys.extend([
                vec![],
                vec![255; 40],
                vec![b'c'; 4],
                vec![b'c'; 100],
                vec![b'd'],
            ]);
            check_strings(strings, keys);
        }
    }
}

#[test]
fn strings_longer_than_an_entry_says_are_compared_whole() {
    let long = |last: u8, bytes: usize| [vec![7; bytes], vec![last]].concat();
    let mut strings = Vec::new();
    for bytes in [10, 65_534, 65_535, 65_536, 70_000] {
        strings.extend([
            long(7, bytes),
            long(9, bytes),
            long(5, bytes),
            long(9, bytes),
        ]);
    }
    check_strings(
        strings.clone(),
        vec![long(8, 70_000), long(8, 65_535), long(6, 9)],
    );
    // Another string first, so that the strings have no common beginning.
    strings.push(b"x".to_vec());
    check_strings(strings, vec![long(8, 70_000), long(8, 65_535), long(6, 9)]);
}
