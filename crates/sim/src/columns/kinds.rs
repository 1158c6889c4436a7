//! Values of the types that columns hold, by number: extremes first, then some that are easily confused.

use column::{Date, Decimal, Value};

/// A type of numbered values.
pub(super) trait Kind: Value {
    /// Name in reports.
    const NAME: &'static str;

    /// Returns the value with a number. Other numbers may have equal values.
    fn numbered(number: usize) -> Self;
}

/// Returns numbers in no order, over all of a word.
fn scattered(number: usize) -> u64 {
    (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Kind for i8 {
    const NAME: &'static str = "i8";

    fn numbered(number: usize) -> i8 {
        [i8::MIN, i8::MAX, 0]
            .get(number)
            .copied()
            .unwrap_or(number as i8)
    }
}

impl Kind for i64 {
    const NAME: &'static str = "i64";

    fn numbered(number: usize) -> i64 {
        let extreme = [i64::MAX, i64::MIN, 0, -1].get(number).copied();
        extreme.unwrap_or(scattered(number) as i64)
    }
}

impl Kind for u32 {
    const NAME: &'static str = "u32";

    fn numbered(number: usize) -> u32 {
        let extreme = [u32::MAX, 0].get(number).copied();
        extreme.unwrap_or((scattered(number) >> 32) as u32)
    }
}

impl Kind for f64 {
    const NAME: &'static str = "f64";

    fn numbered(number: usize) -> f64 {
        const SPECIAL: [f64; 8] = [
            f64::NAN,
            -0.0,
            0.0,
            -f64::NAN,
            f64::NEG_INFINITY,
            f64::INFINITY,
            5e-324,
            f64::MIN,
        ];
        let special = SPECIAL.get(number).copied();
        special.unwrap_or(scattered(number) as i64 as f64 / 1e9)
    }
}

impl Kind for Decimal<2> {
    const NAME: &'static str = "decimal";

    fn numbered(number: usize) -> Decimal<2> {
        let extreme = [i128::MIN, i128::MAX, 0].get(number).copied();
        Decimal::new(extreme.unwrap_or(i128::from(scattered(number) as i64) << (number % 60)))
    }
}

impl Kind for Date {
    const NAME: &'static str = "date";

    fn numbered(number: usize) -> Date {
        let extreme = [i32::MIN, i32::MAX].get(number).copied();
        Date {
            days: extreme.unwrap_or(number as i32 * 31 - 700),
        }
    }
}

/// Prefixes of strings: none, or more than a tree node stores of a value.
const BEGINNINGS: [&str; 4] = ["", "the same ", "\0\0\0\0\0\0\0\0", "the same beginning "];

/// Returns the suffix of a string, which tells numbers apart.
fn ending(number: usize) -> impl Iterator<Item = char> {
    let mut left = number / BEGINNINGS.len();
    std::iter::from_fn(move || {
        // Digits begin at 1, so each number has one form.
        (left > 0).then(|| {
            left -= 1;
            let digit = ['\0', 'a', '\u{7f}'][left % 3];
            left /= 3;
            digit
        })
    })
}

impl Kind for String {
    const NAME: &'static str = "text";

    fn numbered(number: usize) -> String {
        let mut string = BEGINNINGS[number % BEGINNINGS.len()].to_owned();
        string.extend(ending(number));
        string
    }
}

impl Kind for Vec<u8> {
    const NAME: &'static str = "bytes";

    fn numbered(number: usize) -> Vec<u8> {
        let mut bytes = BEGINNINGS[number % BEGINNINGS.len()].as_bytes().to_vec();
        bytes.extend(ending(number).map(|character| match character {
            'a' => 0xff,
            other => other as u8,
        }));
        bytes
    }
}
