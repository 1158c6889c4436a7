//! Structures that fit the cache, where the automatic choice is to cost nothing.

use super::{Experiment, Join, Settings, Technique, array, csb, hash, in_predicate};
use commands::Result;
use commands::progress::Progress;

/// Bytes of each structure, unless even the largest asked for is smaller.
const BYTES: u64 = 1 << 20;

/// Executions of the same body.
const TECHNIQUES: [Technique; 3] = [
    Technique::Sequential,
    Technique::Coroutines,
    Technique::Auto,
];

/// Measures all structures, one after another.
pub(super) fn measure(settings: &Settings, progress: &Progress) -> Result<Vec<Join>> {
    let largest = settings.bytes.last().copied().unwrap_or(BYTES);
    let settings = Settings {
        bytes: vec![BYTES.min(largest)],
        lists: vec![settings.list() as u64],
        techniques: TECHNIQUES.to_vec(),
        ..settings.clone()
    };
    let small = Experiment::Small;
    let mut results = array::array(small, settings.bytes[0], &settings, progress)?;
    results.extend(csb::sizes(small, &settings, progress)?);
    results.extend(hash::probes(small, &settings, progress)?);
    results.extend(in_predicate::queries(small, &settings, progress)?);
    Ok(results)
}
