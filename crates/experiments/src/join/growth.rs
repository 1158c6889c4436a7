//! Cost of a structure's growth relative to the logarithm of its size.

use super::{Experiment, Join};

/// Fills [`Join::growth_beyond_logarithm`]: compares each result with that of the smallest
/// structure of its kind and technique.
pub(super) fn beyond_logarithm(results: &mut [Join]) {
    for at in 0..results.len() {
        let one = &results[at];
        let alike = results.iter().filter(|other| is_comparable(one, other));
        let Some(least) = alike.min_by_key(|other| other.entries) else {
            continue;
        };
        results[at].growth_beyond_logarithm = growth(
            (least.entries, least.nanoseconds_per_lookup.median),
            (one.entries, one.nanoseconds_per_lookup.median),
        );
    }
}

fn is_comparable(one: &Join, other: &Join) -> bool {
    let what = |of: &Join| {
        let place = (of.experiment, of.structure, of.mode, of.keys);
        (place, of.list, of.is_sorted, of.rows)
    };
    // In hash tables a lookup takes no logarithm of steps, nor does the scan of a query.
    let grows = [Experiment::Sizes, Experiment::Csb];
    grows.contains(&one.experiment) && what(one) == what(other)
}

/// Returns the ratio of the times, divided by the ratio of the logarithms; both arguments are
/// entries and nanoseconds.
fn growth(least: (u64, f64), one: (u64, f64)) -> Option<f64> {
    let logarithms = (one.0 as f64).log2() / (least.0 as f64).log2();
    (one.0 > least.0 && least.0 > 1).then(|| one.1 / least.1 / logarithms)
}

#[cfg(test)]
mod tests {
    use super::growth;

    #[test]
    fn what_grows_as_the_logarithm_has_a_growth_of_one() {
        assert_eq!(growth((1 << 10, 50.0), (1 << 20, 100.0)), Some(1.0));
        assert_eq!(growth((1 << 10, 50.0), (1 << 20, 300.0)), Some(3.0));
        assert_eq!(growth((1 << 10, 50.0), (1 << 10, 300.0)), None);
    }
}
