//! Contenders that answer the same kind of lists in one structure, taking turns.

use std::cell::Cell;
use std::time::{Duration, Instant};

use interleave::{Costs, Execution};

use super::keys::List;
use super::{Join, Settings, Technique};
use crate::limits::{self, Region};
use crate::measure::Spread;
use crate::progress::Progress;

/// What an answer is before it has been given: no place.
pub(super) const UNANSWERED: usize = 1 << (usize::BITS - 2);
/// Lists with which each group size is tried.
const TRIALS: u64 = 3;
/// For how long the machine's limit is measured in each repeat.
const LIMIT: Duration = Duration::from_millis(20);

/// Where a key is; what is absent is told by the complement of the place where it would be.
pub(super) fn place(found: Result<usize, usize>) -> usize {
    found.unwrap_or_else(|place| !place)
}

/// What an automatic choice came to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chosen {
    pub(super) execution: Option<Execution>,
    pub(super) costs: Option<Costs>,
}

/// Answers a list of keys with so many lookups under way; the answer to `keys[i]` goes to
/// `answers[i]`, which has [`UNANSWERED`].
pub(super) type Answer<'s, K> = Box<dyn FnMut(&[K], usize, &mut [usize]) + 's>;

/// One technique on one structure.
pub(super) struct Contender<'s, K> {
    pub(super) technique: Technique,
    /// Whether its answers say that a key is absent ([`place`]), or only where it would be.
    pub(super) tells_absence: bool,
    pub(super) answer: Answer<'s, K>,
    /// Group sizes to choose from; none: it has no choice.
    pub(super) groups: Vec<usize>,
    /// What it chose itself, for automatic ones.
    pub(super) chosen: Option<&'s Cell<Chosen>>,
}

impl<K> Contender<'_, K> {
    /// Answers a list, verifies; the nanoseconds for each key, and whether all was right.
    fn run(&mut self, list: &List<K>, group: usize, answers: &mut Vec<usize>) -> (f64, bool) {
        answers.clear();
        answers.resize(list.keys.len(), UNANSWERED);
        let start = Instant::now();
        (self.answer)(&list.keys, group, answers);
        let time = start.elapsed().as_nanos() as f64 / list.keys.len().max(1) as f64;
        let is_right = list.places.iter().zip(&*answers).all(|(known, answer)| {
            let told = match known {
                Err(would_be) if !self.tells_absence => *would_be,
                known => place(*known),
            };
            *answer == told
        });
        (time, is_right)
    }
}

/// What they compete on, for people and results.
#[derive(Clone, Debug)]
pub(super) struct Arena<'s> {
    pub(super) settings: &'s Settings,
    /// What all results have in common.
    pub(super) result: Join,
    /// Memory to measure the machine's limit with.
    pub(super) region: Option<Region<'s>>,
}

/// The median of some times.
pub(super) fn median(times: &[f64]) -> f64 {
    Spread::of(times).median
}

/// Measures contenders; `draw` gives the list of a number, all of the same length.
pub(super) fn compete<K>(
    arena: &Arena<'_>,
    mut contenders: Vec<Contender<'_, K>>,
    mut draw: impl FnMut(u64) -> List<K>,
    progress: &Progress,
) -> Vec<Join> {
    let settings = arena.settings;
    let batches = u64::from(settings.batches);
    let mut lists = 0;
    let mut next = || {
        lists += 1;
        draw(lists)
    };
    let mut answers = Vec::new();
    let step = progress.step(
        format!(
            "{} {}",
            arena.result.experiment.name(),
            arena.result.structure
        ),
        u64::from(settings.repeats) * batches + TRIALS,
    );
    let mut is_right = vec![true; contenders.len()];
    let groups: Vec<usize> = {
        let mut trials: Vec<Vec<Vec<f64>>> = contenders
            .iter()
            .map(|one| vec![Vec::new(); one.groups.len()])
            .collect();
        for _ in 0..TRIALS {
            for (at, contender) in contenders.iter_mut().enumerate() {
                for (choice, group) in contender.groups.clone().into_iter().enumerate() {
                    let (time, right) = contender.run(&next(), group, &mut answers);
                    trials[at][choice].push(time);
                    is_right[at] &= right;
                }
                // Those that choose themselves find out what they need to know.
                if contender.groups.is_empty() {
                    is_right[at] &= contender.run(&next(), 0, &mut answers).1;
                }
            }
            step.advance(1);
        }
        let tried = contenders.iter().zip(trials);
        tried
            .map(|(one, trials)| best(&one.groups, &trials))
            .collect()
    };
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); contenders.len()];
    let mut limits = Vec::new();
    for repeat in 0..settings.repeats as usize {
        let mut samples: Vec<Vec<f64>> = vec![Vec::new(); contenders.len()];
        for batch in 0..batches as usize {
            for turn in 0..contenders.len() {
                // None is always the first.
                let at = (turn + repeat + batch) % contenders.len();
                let (time, right) = contenders[at].run(&next(), groups[at], &mut answers);
                samples[at].push(time);
                is_right[at] &= right;
            }
            step.advance(1);
        }
        for (times, samples) in times.iter_mut().zip(&samples) {
            times.push(median(samples));
        }
        limits.extend(
            arena
                .region
                .map(|region| limits::lines_per_second(region, 1, LIMIT)),
        );
    }
    step.finish();
    let techniques: Vec<Technique> = contenders.iter().map(|one| one.technique).collect();
    let all = contenders.into_iter().enumerate();
    all.map(|(at, contender)| {
        let (sequential_mode, times_sequential) = against_sequential(&techniques, &times, at);
        let chosen = contender.chosen.map(Cell::get).unwrap_or_default();
        let mut result = Join {
            mode: contender.technique,
            group: (groups[at] > 0).then_some(groups[at]),
            is_best_group: contender.groups.len() > 1,
            times_sequential,
            sequential_mode,
            limit_lines_per_second: (!limits.is_empty()).then(|| median(&limits)),
            verified: is_right[at],
            ..arena.result.clone()
        }
        .timed(&times[at]);
        if contender.chosen.is_some() {
            result.set_chosen(chosen);
        }
        result
    })
    .collect()
}

/// The group size that took least; 0 without a choice.
fn best(groups: &[usize], trials: &[Vec<f64>]) -> usize {
    let tried = groups
        .iter()
        .zip(trials)
        .map(|(group, times)| (*group, median(times)));
    let best = tried.min_by(|one, other| one.1.total_cmp(&other.1));
    best.map_or(0, |(group, _)| group)
}

/// How many times the speed of the sequential technique, repeat by repeat.
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
    /// With these nanoseconds per lookup, one for each repeat.
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

    /// One of nothing yet.
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
