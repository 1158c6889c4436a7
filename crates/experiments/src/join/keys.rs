//! Keys whose places are known by construction, and lists of them.

use bench::keys::mix;
use commands::number::bytes_text;
use commands::{Error, Result};

/// The random numbers of one list.
#[derive(Clone, Debug)]
pub(super) struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    /// Returns the numbers of list `list`; equal seeds and lists draw the same numbers.
    pub(super) fn new(seed: u64, list: u64) -> Random {
        Random {
            seed: mix(seed ^ mix(list)),
            drawn: 0,
        }
    }

    /// Draws any number.
    pub(super) fn any(&mut self) -> u64 {
        self.drawn += 1;
        mix(self.seed.wrapping_add(self.drawn))
    }

    /// Draws a number below `bound`, all about equally often.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.any()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns `true` with a probability of `percent`.
    pub(super) fn is(&mut self, percent: f64) -> bool {
        (self.any() >> 11) as f64 / (1_u64 << 53) as f64 * 100.0 < percent
    }
}

/// Keys to look up, and their places: `Err` for an absent key, with the place at which it would be
/// where there is an order.
#[derive(Clone, Debug)]
pub(super) struct List<K> {
    pub(super) keys: Vec<K>,
    pub(super) places: Vec<Result<usize, usize>>,
}

impl<K: Copy + Ord> List<K> {
    /// Returns a list of the given number of keys, each drawn.
    pub(super) fn draw(
        len: usize,
        is_sorted: bool,
        mut key: impl FnMut() -> (K, Result<usize, usize>),
    ) -> List<K> {
        let mut all: Vec<_> = (0..len).map(|_| key()).collect();
        if is_sorted {
            all.sort_unstable_by_key(|(key, _)| *key);
        }
        let (keys, places) = all.into_iter().unzip();
        List { keys, places }
    }
}

/// Returns `number` in as many digits as there are bytes, with leading zeros.
pub(super) fn digits<const N: usize>(number: u64) -> [u8; N] {
    let mut text = [0; N];
    bench::keys::write_digits(&mut text, number);
    text
}

/// Returns a vector with room for `values` values on huge pages.
///
/// # Errors
/// [`Error::Run`] when the memory cannot be allocated.
pub(super) fn large<T>(values: u64) -> Result<Vec<T>> {
    let refused = || {
        let bytes = values.saturating_mul(size_of::<T>() as u64);
        let bytes = bytes_text(bytes);
        Error::run(format!(
            "cannot have {bytes} of memory; ask for fewer values or rows"
        ))
    };
    let capacity = usize::try_from(values).map_err(|_| refused())?;
    memory::on_huge_pages(capacity).map_err(|_| refused())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_differ_and_can_be_sorted() {
        let draw = |list, is_sorted| {
            let mut random = Random::new(1, list);
            List::draw(100, is_sorted, || (random.below(1000), Ok(0))).keys
        };
        assert_eq!(draw(1, false), draw(1, false));
        assert_ne!(draw(1, false), draw(2, false));
        assert!(draw(1, true).is_sorted() && !draw(1, false).is_sorted());
        let mut random = Random::new(3, 0);
        let hits = (0..1000).filter(|_| random.is(25.0)).count();
        assert!((200..300).contains(&hits), "{hits}");
        assert!(!(0..100).any(|_| random.is(0.0)) && (0..100).all(|_| random.is(100.0)));
    }
}
