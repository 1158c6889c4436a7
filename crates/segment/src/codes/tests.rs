use super::{machine::Machine, packed::mask, *};
use crate::tests::random;

fn numbers(count: usize, width: u32, state: &mut u64) -> Vec<u32> {
    let number = |at| match at % 7 {
        0 => mask(width),
        1 => 0,
        _ => random(state) as u32 & mask(width),
    };
    (0..count).map(number).collect()
}

#[test]
fn packed_codes_are_those_that_were_put_in() {
    let mut state = 1;
    for width in 1..=32 {
        for count in [0, 1, 63, 64, 65, 300] {
            let codes = numbers(count, width, &mut state);
            let bulk = PackedCodes::from_codes(width, codes.iter().copied()).unwrap();
            let mut pushed = PackedCodes::with_capacity(width, 0).unwrap();
            let mut pieces = PackedCodes::with_capacity(width, count).unwrap();
            for piece in codes.chunks(1 + width as usize) {
                pieces.extend(piece).unwrap();
            }
            for &code in &codes {
                pushed.push(code).unwrap();
            }
            for packed in [&bulk, &pushed, &pieces] {
                assert_eq!((packed.len(), packed.is_empty()), (count, count == 0));
                let words = count.div_ceil(64) * width as usize + 8;
                assert_eq!(packed.as_slice().words().len(), words);
                let got: Vec<u32> = (0..count).map(|at| packed.get(at)).collect();
                assert_eq!(got, codes);
                assert_eq!(packed.as_slice().words(), bulk.as_slice().words());
                for (number, expected) in codes.chunks(64).enumerate() {
                    let (block, rows) = packed.as_slice().block(number);
                    assert_eq!(&block[..rows], expected);
                    assert!(block[rows..].iter().all(|&code| code == 0));
                }
            }
        }
    }
}

#[test]
fn all_machines_unpack_what_was_packed() {
    let mut state = 4;
    for width in 1..=32 {
        for count in [0, 1, 64, 100, 1000] {
            let codes = numbers(count, width, &mut state);
            let packed = PackedCodes::from_codes(width, codes.iter().copied()).unwrap();
            for range in [
                0..count,
                count / 3..count,
                count / 2..count / 2,
                0..count - count / 7,
            ] {
                for &machine in Machine::ALL.iter().filter(|machine| machine.is_there()) {
                    let mut blocks = Vec::new();
                    packed
                        .as_slice()
                        .each_block_on(machine, range.clone(), |some| {
                            assert!((1..=BLOCK).contains(&some.len()));
                            blocks.extend_from_slice(some);
                        });
                    assert_eq!(
                        blocks,
                        codes[range.clone()],
                        "{machine:?} {width} {range:?}"
                    );
                }
                let mut found = vec![7];
                packed.as_slice().unpack(range.clone(), &mut found);
                assert_eq!(found[1..], codes[range]);
            }
        }
    }
}

#[test]
fn words_behind_borrowed_codes_may_be_anything() {
    let mut state = 5;
    for width in 1..=32 {
        let mut words: Vec<u64> = (0..2 * width + 8).map(|_| random(&mut state)).collect();
        assert!(PackedSlice::new(&words[1..], 100, width).is_none());
        let read = |words: &[u64]| {
            let mut codes = Vec::new();
            let slice = PackedSlice::new(words, 100, width).unwrap();
            slice.unpack(0..100, &mut codes);
            assert!(codes.iter().copied().eq((0..100).map(|at| slice.get(at))));
            codes
        };
        let codes = read(&words);
        words[2 * width as usize..].fill(0);
        assert_eq!(read(&words), codes);
    }
    assert!(PackedSlice::new(&[0; 64], 1, 0).is_none());
    assert!(PackedSlice::new(&[0; 64], 1, 33).is_none());
}

#[test]
#[should_panic(expected = "more than 3 bits")]
fn a_code_of_more_bits_is_refused() {
    let mut packed = PackedCodes::with_capacity(3, 10).unwrap();
    packed.push(8).unwrap();
}

#[test]
#[should_panic(expected = "there are 2 codes")]
fn a_code_behind_the_last_is_refused() {
    PackedCodes::from_codes(3, [1, 2].into_iter())
        .unwrap()
        .get(2);
}

#[test]
#[should_panic(expected = "there are 2 codes")]
fn a_block_behind_the_last_is_refused() {
    let packed = PackedCodes::from_codes(3, [1, 2].into_iter()).unwrap();
    packed.as_slice().block(1 << 58);
}

#[test]
#[should_panic(expected = "there are 2 codes")]
fn codes_behind_the_last_are_not_unpacked() {
    let packed = PackedCodes::from_codes(3, [1, 2].into_iter()).unwrap();
    packed.as_slice().unpack(0..usize::MAX, &mut Vec::new());
}

/// Compares scans on all machines with a look at each code.
fn check(codes: Codes<'_>, plain: &[u32], set: &CodeSet, members: &[u32]) {
    let count = plain.len();
    for rows in [
        0..count,
        count / 3..count,
        1.min(count)..count - count / 5,
        70.min(count)..count,
    ] {
        let expected: Vec<u64> = rows
            .clone()
            .filter(|&row| members.binary_search(&plain[row]).is_ok())
            .map(|row| row as u64 + 5)
            .collect();
        for &machine in Machine::ALL.iter().filter(|machine| machine.is_there()) {
            let mut found = Vec::new();
            codes.scan_on(machine, rows.clone(), set, |row, mask| {
                assert_ne!(mask, 0);
                let bits = (0..64).filter(|bit| mask >> bit & 1 == 1);
                found.extend(bits.map(|bit| (row + bit) as u64 + 5));
            });
            let form = set.form_name();
            assert_eq!(found, expected, "{machine:?} {form} {rows:?}");
        }
        let mut found = vec![7];
        codes.rows(rows, set, 5, &mut found).unwrap();
        assert_eq!(found[1..], expected);
    }
}

#[test]
fn scans_find_the_rows_of_all_kinds_of_sets_at_all_widths() {
    let mut state = 2;
    let mut forms = std::collections::BTreeSet::new();
    for width in 1..=32 {
        for count in [0, 1, 64, 100, 2500] {
            let plain = numbers(count, width, &mut state);
            let packed = PackedCodes::from_codes(width, plain.iter().copied()).unwrap();
            for members in [0, 1, 2, 3, 5, 8, 9, 40, 200] {
                let mut list = numbers(members, width, &mut state);
                // Most codes of the list occur.
                for code in list.iter_mut().skip(2) {
                    if count > 0 {
                        *code = plain[random(&mut state) as usize % count];
                    }
                }
                // A set of many codes of many bits would be a bitmap of 512 MiB, which is not made.
                let set = CodeSet::new(&mut list, 1 << width).unwrap();
                assert_eq!((set.len(), set.is_empty()), (list.len(), list.is_empty()));
                forms.insert(set.form_name());
                check(Codes::Packed(packed.as_slice()), &plain, &set, &list);
                check(Codes::Plain(&plain), &plain, &set, &list);
            }
            let from = random(&mut state) as u32 & (mask(width) / 2);
            let range = from..=from + mask(width) / 4;
            let list: Vec<u32> = plain
                .iter()
                .copied()
                .filter(|code| range.contains(code))
                .collect();
            let mut list = list;
            list.sort_unstable();
            check(
                Codes::Packed(packed.as_slice()),
                &plain,
                &CodeSet::range(range),
                &list,
            );
            check(Codes::Plain(&plain), &plain, &CodeSet::one(0), &[0]);
        }
    }
    let all = ["bitmap", "few", "filter", "nothing", "one", "range"];
    assert!(forms.iter().eq(&all), "{forms:?}");
}

#[test]
fn ranges_of_codes_have_both_their_ends() {
    let plain = [0, 1, 5, 6, u32::MAX - 1, u32::MAX];
    let empty = std::ops::RangeInclusive::new(6, 5);
    for (range, len) in [
        (0..=0, 1),
        (1..=5, 5),
        (6..=u32::MAX, (1 << 32) - 6),
        (0..=u32::MAX, 1 << 32),
        (empty, 0),
    ] {
        let members: Vec<u32> = plain
            .into_iter()
            .filter(|code| range.contains(code))
            .collect();
        let set = CodeSet::range(range);
        assert_eq!((set.len(), set.is_empty()), (len, len == 0));
        check(Codes::Plain(&plain), &plain, &set, &members);
    }
}

#[test]
fn bitmaps_know_no_codes_beyond_their_domain() {
    let plain = [0, 5, 9, 10, 11, 1000, 1 << 20, u32::MAX - 1, u32::MAX];
    let mut list: Vec<u32> = (0..10).map(|code| code * 10 + 5).chain([10]).collect();
    let set = CodeSet::new(&mut list, 100).unwrap();
    assert_eq!(set.form_name(), "bitmap");
    check(Codes::Plain(&plain), &plain, &set, &list);
}

#[test]
fn sets_that_have_the_marker_of_free_slots_next_to_them_are_exact() {
    // The least number that is none of the codes passes the filter now and then.
    let mut state = 3;
    for first in [0, 1] {
        let mut list: Vec<u32> = (first..first + 300).chain([1 << 30]).collect();
        let set = CodeSet::new(&mut list, 1 << 31).unwrap();
        assert_eq!(set.form_name(), "filter");
        let mut plain: Vec<u32> = (0..400).collect();
        plain.extend((0..100_000).map(|_| random(&mut state) as u32));
        check(Codes::Plain(&plain), &plain, &set, &list);
    }
}

#[test]
#[should_panic(expected = "codes are below 10")]
fn a_set_with_a_code_beyond_its_domain_is_refused() {
    let _ = CodeSet::new(&mut vec![3, 10], 10);
}
