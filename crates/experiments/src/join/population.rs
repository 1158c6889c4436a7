//! Columns whose rows refer to values at random, the right answers of queries on them, and lists of
//! places in sorted values. The module is public, so other engines are asked the same.

use super::array;
use super::keys::{List, Random, large};
use bench::keys::mix;
use commands::Result;

/// Rows that refer to the values of a dictionary by their codes, with an index from codes to rows.
#[derive(Clone, Debug)]
pub struct Population {
    values: u64,
    rows: u32,
    seed: u64,
    /// Codes and rows that have them, in order.
    by_code: Vec<(u32, u32)>,
}

impl Population {
    /// Returns `rows` rows, each with one of `values` values, of which there is one at least. Equal
    /// seeds make equal populations. Takes 8 bytes a row.
    ///
    /// # Errors
    /// [`Error::Run`](commands::Error::Run) when the memory cannot be allocated.
    pub fn new(values: u32, rows: u32, seed: u64) -> Result<Population> {
        let mut population = Population {
            values: u64::from(values),
            rows,
            seed: mix(seed),
            by_code: Vec::new(),
        };
        let mut by_code = large(u64::from(rows))?;
        by_code.extend(population.codes().zip(0..));
        by_code.sort_unstable();
        population.by_code = by_code;
        Ok(population)
    }

    /// Returns the code of each row.
    pub fn codes(&self) -> impl ExactSizeIterator<Item = u32> + Clone + use<> {
        let (values, seed) = (self.values, self.seed);
        (0..self.rows).map(move |row| (mix(seed ^ u64::from(row)) % values) as u32)
    }

    /// Returns the values of a sorted dictionary, by their codes.
    pub fn sorted_values(&self) -> impl ExactSizeIterator<Item = u32> + Clone + use<> {
        let values = u32::try_from(self.values).expect("it was made of 32 bits");
        (0..values).map(sorted_value)
    }

    /// Returns the rows that have one of `codes`, in ascending order. Codes may occur twice.
    pub fn rows_of(&self, codes: impl IntoIterator<Item = u32>) -> Vec<u64> {
        let mut codes: Vec<u32> = codes.into_iter().collect();
        codes.sort_unstable();
        codes.dedup();
        let mut rows = Vec::new();
        for code in codes {
            let from = self.by_code.partition_point(|pair| pair.0 < code);
            let of = self.by_code[from..]
                .iter()
                .take_while(|pair| pair.0 == code);
            rows.extend(of.map(|pair| u64::from(pair.1)));
        }
        rows.sort_unstable();
        rows
    }
}

/// Returns the value of a code of a sorted dictionary.
pub fn sorted_value(code: u32) -> u32 {
    array::value(u64::from(code)) as u32
}

/// Lists of elements of sorted values, some of them absent, drawn by their numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lists {
    /// Number of values.
    pub values: u64,
    /// Number of elements in each list.
    pub len: usize,
    /// Whether the elements are in order.
    pub is_sorted: bool,
    /// Share of elements that are absent, in percent.
    pub absent_percent: f64,
    /// Seed of the lists; equal seeds draw the same lists.
    pub seed: u64,
}

impl Lists {
    /// Draws the list of the given number, as elements that stand for values.
    pub(super) fn draw_as<T: Copy + Ord>(
        &self,
        number: u64,
        element: impl Fn(u64) -> T,
    ) -> List<T> {
        let mut random = Random::new(self.seed, number);
        List::draw(self.len, self.is_sorted, || {
            let place = random.below(self.values);
            let is_absent = random.is(self.absent_percent);
            let key = element(array::value(place) - u64::from(is_absent));
            let place = place as usize;
            (key, if is_absent { Err(place) } else { Ok(place) })
        })
    }

    /// Draws the list of the given number: values, and the codes of those that are there.
    pub fn draw(&self, number: u64) -> (Vec<u32>, Vec<u32>) {
        let list = self.draw_as(number, |value| value as u32);
        let codes = list.places.iter().flatten().map(|&place| place as u32);
        (list.keys, codes.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_finds_the_rows_that_have_its_values() {
        let population = Population::new(50, 1000, 3).unwrap();
        let lists = Lists {
            values: 50,
            len: 20,
            is_sorted: false,
            absent_percent: 25.0,
            seed: 3,
        };
        let values: Vec<u32> = population.sorted_values().collect();
        let (list, codes) = lists.draw(7);
        assert_eq!(list.len(), 20);
        assert!(codes.len() < 20, "some are absent");
        let rows = population.codes().zip(0_u64..);
        let rows = rows.filter(|&(code, _)| list.contains(&values[code as usize]));
        let expected: Vec<u64> = rows.map(|(_, row)| row).collect();
        assert!(!expected.is_empty());
        assert_eq!(population.rows_of(codes), expected);
    }
}
