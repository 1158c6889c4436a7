//! Lookups in CSB+-trees over unsorted values: the Delta dictionary (paper 003, sections 4 and 5.5).

use index::csb::CsbTree;

use super::arrival::Arrival;
use super::bodies::{bodies, code};
use super::compete::{Arena, compete};
use super::{Experiment, Join, Settings};
use bench::limits::Region;
use commands::number::bytes_text;
use commands::progress::Progress;
use commands::{Error, Result};

/// Fill of the nodes, about that which random inserts leave.
const FILL_PERCENT: u32 = 70;

/// Measures trees over values of each size.
pub(super) fn sizes(
    experiment: Experiment,
    settings: &Settings,
    progress: &Progress,
) -> Result<Vec<Join>> {
    let mut results = Vec::new();
    for &bytes in &settings.bytes {
        results.extend(tree(experiment, bytes, settings, progress)?);
    }
    Ok(results)
}

fn tree(
    experiment: Experiment,
    bytes: u64,
    settings: &Settings,
    progress: &Progress,
) -> Result<Vec<Join>> {
    let step = progress.step(format!("tree over {}", bytes_text(bytes)), 1);
    let arrival = Arrival::of((bytes / 4).max(1));
    let values = arrival.values()?;
    let tree = CsbTree::bulk_load(&values, arrival.codes(), FILL_PERCENT)
        .map_err(|error| Error::run(format!("cannot build the tree: {error}")))?;
    step.finish();
    // SAFETY: the values outlive the region, were just written, and are only read from now on.
    let region = unsafe { Region::from_raw(values.as_ptr().cast(), size_of_val(&*values)) };
    let arena = Arena {
        settings,
        result: Join {
            bytes,
            entries: arrival.entries,
            ..Join::empty(experiment, "CSB+-tree", settings)
        },
        batches: settings.batches,
        region,
    };
    let draw = |list| arrival.draw(settings, list);
    let structure = tree.over(&values);
    Ok(compete(
        &arena,
        bodies(&structure, code, settings, &draw),
        progress,
    ))
}
