//! Contenders that perform the same work on one structure, taking turns.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use interleave::{Costs, Execution};

use super::{Join, Settings, Technique};
use bench::limits::{self, Region};
use bench::measure::Spread;
use commands::progress::Progress;

/// Number of times that each group size is tried.
const TRIALS: u64 = 3;
/// Time for which the machine's limit is measured in each repeat.
const LIMIT: Duration = Duration::from_millis(20);

/// Result of an automatic choice.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chosen {
    pub(super) execution: Option<Execution>,
    pub(super) costs: Option<Costs>,
}

/// Result of one attempt: nanoseconds for each key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    pub(super) nanoseconds: f64,
    /// For a query, the parts of the time in which it encoded a list and searched rows for its
    /// codes.
    pub(super) parts: Option<[f64; 2]>,
    pub(super) is_right: bool,
}

/// Parameters of an attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    /// Number of the attempt; it differs from one attempt to the next, so everything drawn by it is
    /// drawn anew.
    pub(super) number: u64,
    /// Lookups under way; 0 where there is no choice.
    pub(super) group: usize,
    /// Whether the attempt serves only to choose the group size.
    pub(super) is_trial: bool,
}

/// One technique on one structure.
pub(super) struct Contender<'s> {
    pub(super) technique: Technique,
    /// Group sizes to choose from; empty if there is no choice.
    pub(super) groups: Vec<usize>,
    /// Choice that the contender made itself, for automatic ones.
    pub(super) chosen: Option<Rc<Cell<Chosen>>>,
    /// Performs one attempt.
    pub(super) attempt: Box<dyn FnMut(Task) -> Attempt + 's>,
}

/// Description of the competition, for people and results.
#[derive(Clone, Debug)]
pub(super) struct Arena<'s> {
    pub(super) settings: &'s Settings,
    /// Fields that all results have in common.
    pub(super) result: Join,
    /// Number of attempts of each contender in each repeat.
    pub(super) batches: u32,
    /// Memory to measure the machine's limit with.
    pub(super) region: Option<Region<'s>>,
}

/// Returns the median of `times`.
pub(super) fn median(times: &[f64]) -> f64 {
    Spread::of(times).median
}

/// Contenders under measurement.
struct Round<'s> {
    contenders: Vec<Contender<'s>>,
    is_right: Vec<bool>,
    /// Number of attempts so far.
    number: u64,
}

impl Round<'_> {
    fn attempt(&mut self, at: usize, group: usize, is_trial: bool) -> Attempt {
        self.number += 1;
        let attempt = (self.contenders[at].attempt)(Task {
            number: self.number,
            group,
            is_trial,
        });
        self.is_right[at] &= attempt.is_right;
        attempt
    }

    /// Returns the best group size of each contender.
    fn choose_groups(&mut self) -> Vec<usize> {
        let groups: Vec<_> = self
            .contenders
            .iter()
            .map(|one| one.groups.clone())
            .collect();
        let mut times: Vec<_> = groups
            .iter()
            .map(|all| vec![Vec::new(); all.len()])
            .collect();
        for _ in 0..TRIALS {
            for (at, groups) in groups.iter().enumerate() {
                match groups.as_slice() {
                    // A contender that chooses by itself measures the costs in a trial.
                    [] => drop(self.attempt(at, 0, true)),
                    [_] => {}
                    several => {
                        for (choice, &group) in several.iter().enumerate() {
                            let attempt = self.attempt(at, group, true);
                            times[at][choice].push(attempt.nanoseconds);
                        }
                    }
                }
            }
        }
        let tried = groups.iter().zip(&times);
        tried.map(|(groups, times)| best(groups, times)).collect()
    }
}

/// Measures the contenders and returns their results.
pub(super) fn compete(
    arena: &Arena<'_>,
    contenders: Vec<Contender<'_>>,
    progress: &Progress,
) -> Vec<Join> {
    let settings = arena.settings;
    let Join {
        experiment,
        structure,
        ..
    } = arena.result;
    let name = format!("{} {structure}", experiment.name());
    let steps = u64::from(settings.repeats) * u64::from(arena.batches) + 1;
    let step = progress.step(name, steps);
    let count = contenders.len();
    let mut round = Round {
        is_right: vec![true; count],
        contenders,
        number: 0,
    };
    let groups = round.choose_groups();
    step.advance(1);
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); count];
    let mut parts: Vec<[Vec<f64>; 2]> = vec![Default::default(); count];
    let mut limits = Vec::new();
    for repeat in 0..settings.repeats as usize {
        let mut attempts: Vec<Vec<Attempt>> = vec![Vec::new(); count];
        for batch in 0..arena.batches as usize {
            for turn in 0..count {
                // The turns rotate, so no contender is always the first.
                let at = (turn + repeat + batch) % count;
                attempts[at].push(round.attempt(at, groups[at], false));
            }
            step.advance(1);
        }
        for (at, attempts) in attempts.iter().enumerate() {
            let all = attempts.iter();
            times[at].push(median(
                &all.clone().map(|it| it.nanoseconds).collect::<Vec<_>>(),
            ));
            let of: Vec<[f64; 2]> = all.filter_map(|it| it.parts).collect();
            for (part, samples) in parts[at].iter_mut().enumerate() {
                let of: Vec<f64> = of.iter().map(|parts| parts[part]).collect();
                samples.extend((!of.is_empty()).then(|| median(&of)));
            }
        }
        let region = arena.region;
        limits.extend(region.map(|region| limits::lines_per_second(region, 1, LIMIT)));
    }
    step.finish();
    let all = &round.contenders;
    let techniques: Vec<Technique> = all.iter().map(|one| one.technique).collect();
    let spread = |samples: &Vec<f64>| (!samples.is_empty()).then(|| Spread::of(samples));
    let results = all.iter().enumerate().map(|(at, contender)| {
        let (sequential_mode, times_sequential) = against_sequential(&techniques, &times, at);
        let mut result = Join {
            mode: contender.technique,
            group: (groups[at] > 0).then_some(groups[at]),
            is_best_group: contender.groups.len() > 1,
            encode_nanoseconds_per_lookup: spread(&parts[at][0]),
            scan_nanoseconds_per_lookup: spread(&parts[at][1]),
            times_sequential,
            sequential_mode,
            limit_lines_per_second: (!limits.is_empty()).then(|| median(&limits)),
            verified: round.is_right[at],
            ..arena.result.clone()
        }
        .timed(&times[at]);
        if let Some(chosen) = &contender.chosen {
            result.set_chosen(chosen.get());
        }
        result
    });
    results.collect()
}

/// Returns the group size that took least, or the only one; 0 without a choice.
fn best(groups: &[usize], times: &[Vec<f64>]) -> usize {
    if let [] | [_] = groups {
        return groups.first().copied().unwrap_or(0);
    }
    let tried = groups.iter().zip(times);
    let tried = tried.map(|(group, times)| (*group, median(times)));
    let best = tried.min_by(|one, other| one.1.total_cmp(&other.1));
    best.map_or(0, |(group, _)| group)
}

/// Sets the speed as a multiple of the sequential technique's, repeat by repeat.
pub(super) fn against_sequential(
    techniques: &[Technique],
    times: &[Vec<f64>],
    at: usize,
) -> (Option<Technique>, Option<Spread>) {
    let position = |of: &Technique| techniques.iter().position(|one| one == of);
    let base = Technique::SEQUENTIAL.iter().find_map(position);
    let Some(base) = base.filter(|&base| base != at) else {
        return (None, None);
    };
    let pairs = times[base].iter().zip(&times[at]);
    let ratios: Vec<f64> = pairs.map(|(base, own)| base / own).collect();
    (Some(techniques[base]), Some(Spread::of(&ratios)))
}

impl Join {
    /// Returns the result with the given nanoseconds per lookup, one for each repeat.
    pub(super) fn timed(mut self, nanoseconds: &[f64]) -> Join {
        let rates: Vec<f64> = nanoseconds.iter().map(|ns| 1e9 / ns).collect();
        self.nanoseconds_per_lookup = Spread::of(nanoseconds);
        self.operations_per_second_spread = Spread::of(&rates);
        self.operations_per_second = self.operations_per_second_spread.median;
        self.repeats = nanoseconds.len() as u32;
        self
    }

    pub(super) fn set_chosen(&mut self, chosen: Chosen) {
        self.group = chosen.execution.and_then(in_flight);
        self.group_estimate = chosen.costs.and_then(|costs| in_flight(costs.execution()));
        self.costs_ns = chosen
            .costs
            .map(|costs| [costs.sequential, costs.cached, costs.switched]);
    }

    /// Returns a result without measurements.
    pub(super) fn empty(
        experiment: super::Experiment,
        structure: &'static str,
        settings: &Settings,
    ) -> Join {
        let none = Spread::of(&[0.0]);
        Join {
            benchmark: "join",
            experiment,
            structure,
            mode: Technique::Sequential,
            keys: super::Keys::Int,
            bytes: 0,
            entries: 0,
            rows: None,
            list: settings.list(),
            is_sorted: settings.is_sorted,
            group: None,
            is_best_group: false,
            repeats: settings.repeats,
            operations_per_second: 0.0,
            operations_per_second_spread: none,
            nanoseconds_per_lookup: none,
            encode_nanoseconds_per_lookup: None,
            scan_nanoseconds_per_lookup: None,
            times_sequential: None,
            sequential_mode: None,
            growth_beyond_logarithm: None,
            limit_lines_per_second: None,
            group_estimate: None,
            costs_ns: None,
            verified: false,
        }
    }
}

fn in_flight(execution: Execution) -> Option<usize> {
    match execution {
        Execution::Sequential => None,
        Execution::Interleaved(lookups) => Some(lookups.get()),
    }
}

#[cfg(test)]
mod tests;
