//! Random numbers and texts of rows and requests: clauses 2.1.6 and 4.3.2 of the standard.

use std::ops::RangeInclusive;

use super::schema::Text;
use crate::application::mix::Mix;
use bench::distribution::{Rng, below, rng};

/// Letters and digits, of which all texts are made.
const ALPHANUMERIC: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// Syllables, three of which make a last name.
const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];
/// Number of last names.
pub(super) const NAMES: u16 = 1_000;

/// A stream of random numbers and texts.
#[derive(Clone, Debug)]
pub(super) struct Random(Rng);

impl Random {
    /// Returns a stream; equal arguments give equal streams, others unrelated ones.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        Self(rng(seed, stream))
    }

    /// Draws a number in `range`, each alike.
    #[inline]
    pub(super) fn within(&mut self, range: RangeInclusive<u32>) -> u32 {
        let (least, most) = range.into_inner();
        least + below(&mut self.0, u64::from(most - least) + 1) as u32
    }

    /// Draws a kind of transaction, as often as `mix` says.
    #[inline]
    pub(super) fn choose<const N: usize>(&mut self, mix: &Mix<N>) -> usize {
        mix.choose(&mut self.0)
    }

    /// Returns `true` with a probability of `percent`.
    #[inline]
    pub(super) fn percent(&mut self, percent: u32) -> bool {
        self.within(1..=100) <= percent
    }

    /// Draws a number in `range`, some much more often than others.
    #[inline]
    pub(super) fn skewed(&mut self, by: NuRand, range: RangeInclusive<u32>) -> u32 {
        let (least, most) = (*range.start(), *range.end());
        let drawn = self.within(0..=by.a) | self.within(range);
        (drawn + by.c) % (most - least + 1) + least
    }

    /// Draws letters and digits, as many as `length` says.
    pub(super) fn text<const N: usize>(&mut self, length: RangeInclusive<u32>) -> Text<N> {
        let length = self.within(length) as usize;
        let mut text = Text::default();
        for part in text.0[..length].chunks_mut(8) {
            let drawn = rand::Rng::next_u64(&mut self.0).to_le_bytes();
            for (letter, drawn) in part.iter_mut().zip(drawn) {
                // Some letters are drawn five times in 256, the others four.
                *letter = ALPHANUMERIC[usize::from(drawn) * ALPHANUMERIC.len() / 256];
            }
        }
        text
    }

    /// Fills `digits` with digits.
    pub(super) fn digits(&mut self, digits: &mut [u8]) {
        for digit in digits {
            *digit = b'0' + self.within(0..=9) as u8;
        }
    }

    /// Draws a [`Text`] of 26 to 50 letters; one in ten has `ORIGINAL` somewhere in it.
    pub(super) fn data(&mut self) -> Text<50> {
        let mut data: Text<50> = self.text(26..=50);
        if self.percent(10) {
            let last = (data.as_bytes().len() - ORIGINAL.len()) as u32;
            let at = self.within(0..=last) as usize;
            data.0[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
        }
        data
    }

    /// Returns the numbers from 1 to `count` in random order.
    pub(super) fn permutation(&mut self, count: u16) -> Vec<u16> {
        let mut numbers: Vec<u16> = (1..=count).collect();
        for left in (1..numbers.len()).rev() {
            let other = self.within(0..=left as u32) as usize;
            numbers.swap(left, other);
        }
        numbers
    }
}

/// Mark in the data of a tenth of the items and of the stock.
pub(super) const ORIGINAL: &[u8; 8] = b"ORIGINAL";

/// Returns the last name of a number below [`NAMES`].
pub(super) fn last_name(number: u16) -> Text<16> {
    let [first, second, third] =
        [number / 100, number / 10 % 10, number % 10].map(|digit| SYLLABLES[usize::from(digit)]);
    Text::of(&[first.as_bytes(), second.as_bytes(), third.as_bytes()])
}

/// A non-uniform distribution: the strength of the skew, and a constant that decides which numbers
/// are frequent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NuRand {
    /// Skew; all bits are set from some bit down.
    a: u32,
    /// Constant, at most `a`.
    c: u32,
}

/// The non-uniform distributions of a database and of its terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Skews {
    /// Distribution of customers' last names while loading.
    pub(super) names_loaded: NuRand,
    /// Distribution of last names in requests; its most frequent names differ somewhat from those
    /// loaded.
    pub(super) names_asked: NuRand,
    /// Distribution of customers.
    pub(super) customers: NuRand,
    /// Distribution of items.
    pub(super) items: NuRand,
}

impl Skews {
    const NAMES_A: u32 = 255;

    /// Draws the distributions from the database's seed, so all terminals have the same.
    pub(super) fn of(random: &mut Random) -> Self {
        let mut skew = |a| NuRand {
            a,
            c: random.within(0..=a),
        };
        let (names_loaded, customers, items) = (skew(Self::NAMES_A), skew(1_023), skew(8_191));
        // Clause 2.1.6.1 gives the distance that the two constants must have.
        let names_asked = loop {
            let asked = skew(Self::NAMES_A);
            let apart = asked.c.abs_diff(names_loaded.c);
            if (65..=119).contains(&apart) && apart != 96 && apart != 112 {
                break asked;
            }
        };
        Self {
            names_loaded,
            names_asked,
            customers,
            items,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skewed_numbers_stay_in_range_and_favour_some() {
        let mut random = Random::new(3, 0);
        let skews = Skews::of(&mut random);
        for (skew, range) in [
            (skews.items, 1..=100_000_u32),
            (skews.customers, 1..=3_000),
            (skews.names_asked, 0..=999),
            (skews.items, 1..=15),
        ] {
            let (least, most) = (*range.start(), *range.end());
            let mut drawn = vec![0_u32; (most - least + 1) as usize];
            let draws = 100 * drawn.len() as u32;
            for _ in 0..draws {
                drawn[(random.skewed(skew, range.clone()) - least) as usize] += 1;
            }
            let most_drawn = drawn.iter().max();
            // Under a uniform distribution each number would be drawn about a hundred times, none
            // two hundred times.
            assert!(most_drawn > Some(&200) || drawn.len() < 100, "{range:?}");
        }
    }

    #[test]
    fn constants_of_last_names_are_as_far_apart_as_they_must_be() {
        for seed in 0..200 {
            let skews = Skews::of(&mut Random::new(seed, 0));
            let apart = skews.names_asked.c.abs_diff(skews.names_loaded.c);
            assert!((65..=119).contains(&apart), "{skews:?}");
            assert!(apart != 96 && apart != 112, "{skews:?}");
            assert!(skews.items.c <= 8_191 && skews.customers.c <= 1_023);
        }
    }

    #[test]
    fn last_names_are_made_of_syllables() {
        assert_eq!(last_name(371).as_bytes(), b"PRICALLYOUGHT");
        assert_eq!(last_name(0).as_bytes(), b"BARBARBAR");
        assert_eq!(last_name(999).as_bytes(), b"EINGEINGEING");
        let names: std::collections::HashSet<_> =
            (0..NAMES).map(|number| last_name(number).0).collect();
        assert_eq!(names.len(), usize::from(NAMES));
    }

    #[test]
    fn texts_have_every_length_and_letter() {
        let mut random = Random::new(5, 0);
        let (mut lengths, mut letters) = ([0; 25], [0; 256]);
        for _ in 0..10_000 {
            let text: Text<24> = random.text(14..=24);
            lengths[text.as_bytes().len()] += 1;
            text.as_bytes()
                .iter()
                .for_each(|&letter| letters[usize::from(letter)] += 1);
        }
        assert!(lengths[..14].iter().all(|&count| count == 0));
        assert!(
            lengths[14..].iter().all(|&count| count > 700),
            "{lengths:?}"
        );
        let drawn = (0..=255_u8).filter(|&letter| letters[usize::from(letter)] > 0);
        assert!(drawn.eq((0..=255_u8).filter(u8::is_ascii_alphanumeric)));
    }

    #[test]
    fn a_tenth_of_the_data_is_original() {
        let mut random = Random::new(11, 0);
        let data: Vec<_> = (0..20_000).map(|_| random.data()).collect();
        let original = data.iter().filter(|data| data.contains(ORIGINAL)).count();
        // The standard deviation is 42.
        assert!(original.abs_diff(2_000) < 250, "{original}");
        let lengths = || data.iter().map(|data| data.as_bytes().len());
        assert_eq!((lengths().min(), lengths().max()), (Some(26), Some(50)));
        assert!(
            data.iter()
                .any(|data| data.as_bytes().starts_with(ORIGINAL))
        );
        assert!(data.iter().any(|data| data.as_bytes().ends_with(ORIGINAL)));
    }

    #[test]
    fn permutations_have_each_number_once() {
        let mut random = Random::new(13, 0);
        let (one, other) = (random.permutation(3_000), random.permutation(3_000));
        assert_ne!(one, other);
        let mut sorted = one;
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(1..=3_000));
    }
}
