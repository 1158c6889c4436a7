//! The choices of a generator, as a list of numbers: drawn from a seed, and made small when the
//! generated statement fails.
//!
//! A choice of 0 is the simplest there is, and behind the end of the list all choices are 0. A
//! shorter list, or one of smaller numbers, is therefore a simpler statement, and making a
//! statement small needs no knowledge of SQL.

/// A list of choices: see the module text.
#[derive(Clone)]
pub(crate) struct Choices {
    made: Vec<u32>,
    at: usize,
    /// State of the generator that draws choices behind the end; `None` when a list is only read.
    random: Option<u64>,
}

impl Choices {
    /// Makes the list of a seed.
    pub(crate) fn drawn(seed: u64) -> Choices {
        Choices {
            made: Vec::new(),
            at: 0,
            random: Some(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        }
    }

    /// Returns the same choices from the beginning.
    pub(crate) fn again(&self) -> Choices {
        Choices::listed(self.made.clone())
    }

    fn listed(made: Vec<u32>) -> Choices {
        Choices {
            made,
            at: 0,
            random: None,
        }
    }

    /// Returns one of the numbers below `count`.
    pub(crate) fn of(&mut self, count: usize) -> usize {
        let choice = match (self.made.get(self.at), &mut self.random) {
            (Some(&choice), _) => choice,
            (None, None) => 0,
            (None, Some(state)) => {
                // The generator is SplitMix64.
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut bits = *state;
                bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
                let choice = (bits >> 33) as u32 % count as u32;
                self.made.push(choice);
                choice
            }
        };
        self.at += 1;
        choice as usize % count
    }

    /// Returns true once in `count` calls on average.
    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.of(count) == count - 1
    }

    /// Returns one of these items.
    pub(crate) fn pick<'p, T>(&mut self, all: &'p [T]) -> &'p T {
        &all[self.of(all.len())]
    }
}

/// Returns the smallest list found that still `fails`: parts are left out, and numbers made
/// smaller, until neither helps.
pub(crate) fn smallest(found: Choices, mut fails: impl FnMut(&mut Choices) -> bool) -> Choices {
    const ATTEMPTS_MAX: usize = 3000;
    let mut best = found.made;
    let mut attempts = 0;
    let mut is_better = |candidate: Vec<u32>, best: &mut Vec<u32>| {
        attempts += 1;
        let mut choices = Choices::listed(candidate);
        if attempts > ATTEMPTS_MAX || !fails(&mut choices) {
            return false;
        }
        // Choices that were not made are of no use.
        choices.made.truncate(choices.at);
        *best = choices.made;
        true
    };
    loop {
        let before = best.clone();
        for length in [32, 16, 8, 4, 2, 1] {
            let mut at = 0;
            while at + length <= best.len() {
                let mut candidate = best.clone();
                candidate.drain(at..at + length);
                if !is_better(candidate, &mut best) {
                    at += 1;
                }
            }
        }
        for at in 0..best.len() {
            for smaller in [0, 1] {
                if best.get(at).is_some_and(|&choice| choice > smaller) {
                    let mut candidate = best.clone();
                    candidate[at] = smaller;
                    if is_better(candidate, &mut best) {
                        break;
                    }
                }
            }
        }
        if best == before {
            return Choices::listed(best);
        }
    }
}

#[test]
fn the_smallest_list_is_found() {
    let has_a_seven = |choices: &mut Choices| (0..20).any(|_| choices.of(10) == 7);
    let mut found = (1..).map(Choices::drawn).map(|mut choices| {
        let fails = has_a_seven(&mut choices);
        (choices, fails)
    });
    let (found, _) = found.find(|(_, fails)| *fails).unwrap();
    assert_eq!(smallest(found, has_a_seven).made, [7]);
}
