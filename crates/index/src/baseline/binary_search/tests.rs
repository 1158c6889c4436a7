use super::*;

type Search<T> = fn(&[T], &[T], usize, &mut [usize]);

fn all<T: Copy + Ord>() -> [(&'static str, Search<T>); 8] {
    [
        ("std", std_search),
        ("branch-free", branch_free),
        ("group prefetching", group_prefetching),
        ("software pipelined", software_pipelined),
        ("amac", amac),
        ("coroutines", coroutines),
        ("from the root", coroutines_from_root),
        ("boxed", coroutines_boxed),
    ]
}

fn check<T: Copy + Ord>(of: impl Fn(u64) -> T) {
    let mut state = 7_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
        (state >> 33) % below
    };
    for size in [0, 1, 2, 3, 4, 15, 16, 17, 31, 33, 64, 100, 1000] {
        // Few values make many equal elements; many values make many absent keys.
        for values in [1, 4, 200, 1 << 20] {
            let mut elements: Vec<T> = (0..size).map(|_| of(random(values))).collect();
            elements.sort();
            for count in [0, 1, 5, 70, 200] {
                let mut keys: Vec<T> = (0..count).map(|_| of(random(values + 2))).collect();
                keys.extend(elements.first().into_iter().chain(elements.last()));
                let is_less = |key: &T| elements.iter().filter(|element| *element < key).count();
                let expected: Vec<usize> = keys.iter().map(is_less).collect();
                for (name, search) in all() {
                    for group in [0, 1, 2, 7, 16, 64, 1000] {
                        // One place too many, which is to stay unchanged.
                        let mut places = vec![usize::MAX; keys.len() + 1];
                        search(&elements, &keys, group, &mut places);
                        let (last, places) = places.split_last().unwrap();
                        assert_eq!(places, expected, "{name}, {group} of {size} from {values}");
                        assert_eq!(*last, usize::MAX, "{name}");
                    }
                }
            }
        }
    }
}

#[test]
fn all_ways_find_the_lower_bound() {
    check(|number| number as u32);
    check(|number| number as u8);
    check(|number| [number; 5]);
    check(|number| (number % 3, number as i128));
}
