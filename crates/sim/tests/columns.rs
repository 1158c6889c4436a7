//! Columns that are merged while they are written and read: every answer is predicted, for every
//! choice of thread at every latch.

use sim::{ColumnParameters, PlantedInColumn, run_columns, run_columns_many};

const SEEDS: u64 = 500;

#[test]
fn columns_are_merged_while_they_are_used() {
    let sum = run_columns_many(1, SEEDS, &ColumnParameters::default(), |_, _| {})
        .unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(sum.kinds.len(), 8, "{:?}", sum.kinds);
    assert!(sum.merges > SEEDS && sum.abandoned > SEEDS / 10, "{sum}");
    assert!(sum.refused > SEEDS && sum.outlived > SEEDS, "{sum}");
    assert!(sum.found > 10 * SEEDS && sum.waits > SEEDS, "{sum}");
}

#[test]
fn a_seed_repeats_its_run() {
    let parameters = ColumnParameters::default();
    for seed in 1..40 {
        let one = run_columns(seed, &parameters).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(Ok(one), run_columns(seed, &parameters), "seed {seed}");
    }
}

#[test]
fn planted_bugs_are_found() {
    for planted in [
        PlantedInColumn::LoseAppend,
        PlantedInColumn::OldSnapshot,
        PlantedInColumn::HiddenMerge,
    ] {
        let parameters = ColumnParameters {
            planted: Some(planted),
            ..ColumnParameters::default()
        };
        let failure = (1..100).find_map(|seed| run_columns(seed, &parameters).err());
        let failure = failure.unwrap_or_else(|| panic!("{planted:?} was not found"));
        assert!(failure.to_string().contains("run_columns"), "{failure}");
    }
}
