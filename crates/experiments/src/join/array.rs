//! Binary searches in sorted arrays: paper 003, sections 5.3 and 5.4.
//!
//! The value at place `i` is `2 i + 1`, as an integer or in digits: a key tells its place, and even
//! keys are absent, between their neighbours.

use index::baseline::binary_search;
use index::sorted::{FixedString, PagedArray, SortedArray};

use super::bodies::{Draw, answering, bodies, place};
use super::compete::{Arena, Contender, compete};
use super::keys::{digits, large};
use super::{Experiment, Join, Keys, Settings, Technique};
use bench::limits::Region;
use commands::number::bytes_text;
use commands::progress::Progress;
use commands::{Error, Result};

const STRUCTURE: &str = "sorted array";
/// Name of a sorted array under pages of separators.
const PAGED: &str = "paged array";

/// Measures all techniques in arrays of each size, at the best of their group sizes.
pub(super) fn sizes(settings: &Settings, progress: &Progress) -> Result<Vec<Join>> {
    let mut results = Vec::new();
    for &bytes in &settings.bytes {
        results.extend(array(Experiment::Sizes, bytes, settings, progress)?);
    }
    Ok(results)
}

/// Measures techniques in the largest array, with each group size from 1 to 64.
pub(super) fn group_sizes(settings: &Settings, progress: &Progress) -> Result<Vec<Join>> {
    let bytes = *settings.bytes.last().expect("settings have been checked");
    array(Experiment::GroupSizes, bytes, settings, progress)
}

/// Measures one experiment in one array, with the type of keys asked for.
pub(super) fn array(
    experiment: Experiment,
    bytes: u64,
    settings: &Settings,
    progress: &Progress,
) -> Result<Vec<Join>> {
    match settings.keys {
        Keys::Int => of_values(experiment, bytes, settings, progress, |value| value as u32),
        Keys::String15 => of_values(experiment, bytes, settings, progress, string),
    }
}

/// Returns the value at `place`.
pub(super) fn value(place: u64) -> u64 {
    2 * place + 1
}

/// Returns `value` in 15 digits, in as many bytes as a register has.
fn string(value: u64) -> FixedString<16> {
    FixedString::new(&digits::<15>(value)).expect("15 are less than 16")
}

fn of_values<T: Copy + Ord>(
    experiment: Experiment,
    bytes: u64,
    settings: &Settings,
    progress: &Progress,
    element: impl Fn(u64) -> T,
) -> Result<Vec<Join>> {
    let entries = (bytes / settings.keys.bytes()).max(1);
    let step = progress.step(format!("sorted array of {}", bytes_text(bytes)), 1);
    let mut values = large(entries)?;
    values.extend((0..entries).map(|place| element(value(place))));
    let array = SortedArray::from_sorted(values).map_err(|error| Error::run(error.to_string()))?;
    step.finish();
    let memory = array.as_slice();
    // SAFETY: the elements outlive the region, were just written, and are only read from now on;
    // neither integers nor strings contain padding.
    let region = unsafe { Region::from_raw(memory.as_ptr().cast(), size_of_val(memory)) };
    let arena = Arena {
        settings,
        result: Join {
            keys: settings.keys,
            bytes,
            entries,
            ..Join::empty(experiment, STRUCTURE, settings)
        },
        batches: settings.batches,
        region,
    };
    let lists = settings.lists_of(entries);
    let draw = |list| lists.draw_as(list, &element);
    let contenders = match experiment {
        Experiment::GroupSizes => by_group(&array, settings, &draw),
        _ => contenders(&array, settings, &draw),
    };
    let mut results = compete(&arena, contenders, progress);
    if experiment == Experiment::GroupSizes {
        tell_estimate(&mut results);
        return Ok(results);
    }
    let step = progress.step(format!("paged array of {}", bytes_text(bytes)), 1);
    let paged = PagedArray::new(array).map_err(|error| Error::run(error.to_string()))?;
    step.finish();
    let arena = Arena {
        result: Join {
            structure: PAGED,
            ..arena.result
        },
        ..arena
    };
    let contenders = bodies(&paged, place, settings, &draw);
    results.extend(compete(&arena, contenders, progress));
    Ok(results)
}

/// Returns contenders of every technique that can look values up in an array.
fn contenders<'s, T: Copy + Ord>(
    array: &'s SortedArray<T>,
    settings: &Settings,
    draw: Draw<'s, T>,
) -> Vec<Contender<'s>> {
    let mut contenders = bodies(array, place, settings, draw);
    let others = settings.techniques.iter();
    contenders.extend(others.filter_map(|&technique| {
        let search = search(technique)?;
        let elements = array.as_slice();
        let answer = move |keys: &[T], group, places: &mut [usize]| {
            search(elements, keys, group, places);
        };
        Some(answering(technique, settings, draw, false, answer))
    }));
    contenders.sort_by_key(|one| one.technique);
    contenders
}

/// Stores at `places[i]` the place of the first element that is not less than `keys[i]`, with the
/// given number of lookups under way.
type Search<T> = fn(&[T], &[T], usize, &mut [usize]);

/// Returns the search of a technique that does not execute the array's own body.
fn search<T: Copy + Ord>(technique: Technique) -> Option<Search<T>> {
    Some(match technique {
        Technique::Std => binary_search::std_search,
        Technique::BranchFree => binary_search::branch_free,
        Technique::GroupPrefetching => binary_search::group_prefetching,
        Technique::SoftwarePipelining => binary_search::software_pipelined,
        Technique::Amac => binary_search::amac,
        Technique::CoroutinesFromRoot => binary_search::coroutines_from_root,
        Technique::CoroutinesBoxed => binary_search::coroutines_boxed,
        Technique::Sequential | Technique::Coroutines | Technique::Auto => return None,
    })
}

/// Returns the contenders of [`contenders`], once for each group size, and the automatic choice in
/// any case: the cost model needs its costs.
fn by_group<'s, T: Copy + Ord>(
    array: &'s SortedArray<T>,
    settings: &Settings,
    draw: Draw<'s, T>,
) -> Vec<Contender<'s>> {
    let mut settings = settings.clone();
    settings.techniques.push(Technique::Auto);
    settings.techniques.sort_unstable();
    settings.techniques.dedup();
    let mut all = contenders(array, &settings, draw);
    all.retain(|one| !one.technique.has_groups());
    settings.techniques.retain(|one| one.has_groups());
    for group in (1..=64).filter(|&group| is_tried(group)) {
        settings.groups = vec![group];
        all.extend(contenders(array, &settings, draw));
    }
    all.sort_by_key(|one| (one.technique, one.groups.first().copied()));
    all
}

/// Returns whether a group size is tried: every one up to 16, beyond that at steps that grow with
/// it.
fn is_tried(group: u64) -> bool {
    let step = match group {
        0..=16 => 1,
        17..=32 => 2,
        _ => 4,
    };
    group.is_multiple_of(step)
}

/// Copies the cost model's estimate to each result of coroutines.
fn tell_estimate(results: &mut [Join]) {
    let auto = results.iter().find(|one| one.mode == Technique::Auto);
    let Some((estimate, costs)) = auto.map(|auto| (auto.group_estimate, auto.costs_ns)) else {
        return;
    };
    for one in results
        .iter_mut()
        .filter(|one| one.mode == Technique::Coroutines)
    {
        (one.group_estimate, one.costs_ns) = (estimate, costs);
    }
}
