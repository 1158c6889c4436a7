//! Values in order of arrival, from which unsorted dictionaries and hash tables are built.
//!
//! The value with code `c` is the number at place `c` of a [`Permutation`], so a value tells its
//! code. The numbers behind the last code are absent.

use super::Settings;
use super::keys::{List, Random, large};
use super::permutation::Permutation;
use commands::Result;

/// A number of values, in their order of arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    permutation: Permutation,
    pub(super) entries: u64,
}

impl Arrival {
    pub(super) fn of(entries: u64) -> Arrival {
        Arrival {
            permutation: Permutation::beyond(entries),
            entries,
        }
    }

    /// Returns the value of `code`; a code beyond the last gives an absent value.
    pub(super) fn value(self, code: u64) -> u32 {
        self.permutation.at(code) as u32
    }

    /// Returns the number of absent values, at least 1.
    pub(super) fn absent(self) -> u64 {
        self.permutation.len() - self.entries
    }

    /// Returns all values, by their codes.
    ///
    /// # Errors
    /// [`Error::Run`](commands::Error::Run) when the memory cannot be allocated.
    pub(super) fn values(self) -> Result<Vec<u32>> {
        let mut values = large(self.entries)?;
        values.extend((0..self.entries).map(|code| self.value(code)));
        Ok(values)
    }

    /// Returns all codes, in the order of their values.
    pub(super) fn codes(self) -> Codes {
        Codes {
            of: self,
            next: 0,
            left: self.entries as usize,
        }
    }

    /// Draws the list number `list` of values and their codes.
    pub(super) fn draw(self, settings: &Settings, list: u64) -> List<u32> {
        let mut random = Random::new(settings.seed, list);
        List::draw(settings.list(), settings.is_sorted, || {
            let is_absent = random.is(settings.absent_percent);
            let code = match is_absent {
                true => self.entries + random.below(self.absent()),
                false => random.below(self.entries),
            };
            let known = if is_absent { Err(0) } else { Ok(code as usize) };
            (self.value(code), known)
        })
    }
}

/// Codes in the order of their values.
#[derive(Clone, Debug)]
pub(super) struct Codes {
    of: Arrival,
    next: u64,
    left: usize,
}

impl Iterator for Codes {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let Arrival {
            permutation,
            entries,
        } = self.of;
        self.left = self.left.checked_sub(1)?;
        loop {
            let code = permutation.place(self.next);
            self.next += 1;
            if code < entries {
                return Some(code as u32);
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Codes {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::tests::settings;

    #[test]
    fn codes_come_in_the_order_of_their_values() {
        for entries in [1, 2, 100, 1 << 10] {
            let arrival = Arrival::of(entries);
            let values = arrival.values().unwrap();
            let codes: Vec<u32> = arrival.codes().collect();
            assert_eq!(
                (codes.len(), arrival.codes().len()),
                (values.len(), values.len())
            );
            assert!(codes.is_sorted_by(|one, next| values[*one as usize] < values[*next as usize]));
        }
    }

    #[test]
    fn lists_know_the_codes_of_their_values_and_which_are_absent() {
        let arrival = Arrival::of(500);
        let values = arrival.values().unwrap();
        let list = arrival.draw(&settings(), 1);
        for (key, known) in list.keys.iter().zip(&list.places) {
            let place = values.iter().position(|value| value == key);
            assert_eq!(known.ok(), place);
        }
        assert!(list.places.iter().any(Result::is_err) && list.places.iter().any(Result::is_ok));
    }
}
