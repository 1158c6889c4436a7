//! Frequencies against theory, with bounds wide enough never to flake: seeds
//! are fixed.

use super::*;

const DRAWS: u64 = 2_000_000;

fn counts(distribution: Distribution, records: u64) -> Vec<u64> {
    let chooser = distribution.chooser(records).unwrap();
    let table = Records::new(records);
    let mut rng = rng(7, 0);
    let mut counts = vec![0; records as usize];
    for _ in 0..DRAWS {
        counts[chooser.choose(&mut rng, &table) as usize] += 1;
    }
    counts
}

/// Returns a generalised harmonic number, summed from the small end for precision.
fn harmonic(records: u64, theta: f64) -> f64 {
    (1..=records)
        .rev()
        .map(|rank| (rank as f64).powf(-theta))
        .sum()
}

fn assert_near(count: u64, expected: f64, what: &str) {
    // Six standard deviations of a Poisson count, and the tail's 0.4 %.
    let tolerance = 6.0 * expected.sqrt() + 0.004 * expected;
    assert!(
        (count as f64 - expected).abs() <= tolerance,
        "{what}: {count} draws, expected {expected:.0} ± {tolerance:.0}"
    );
}

#[test]
fn uniform_hits_every_record_alike() {
    for (record, count) in counts(Distribution::Uniform, 1000).into_iter().enumerate() {
        assert_near(count, DRAWS as f64 / 1000.0, &format!("record {record}"));
    }
}

#[test]
fn zipfian_head_and_tail_follow_the_law() {
    let records = 100_000;
    for theta in [0.0, 0.5, 0.99, 1.0, 1.5] {
        let counts = counts(Distribution::Zipfian { theta }, records);
        let sum = harmonic(records, theta);
        for rank in [1, 2, 3, 10, 100, 2047, 2048, 2049] {
            let expected = DRAWS as f64 * (rank as f64).powf(-theta) / sum;
            assert_near(
                counts[rank - 1],
                expected,
                &format!("theta {theta} rank {rank}"),
            );
        }
        for tail in [2_048..4_096, 4_096..20_000, 50_000..100_000_usize] {
            let mass: f64 = tail
                .clone()
                .map(|rank| ((rank + 1) as f64).powf(-theta))
                .sum();
            let drawn = counts[tail.clone()].iter().sum();
            assert_near(
                drawn,
                DRAWS as f64 * mass / sum,
                &format!("theta {theta} {tail:?}"),
            );
        }
    }
}

#[test]
fn zipfian_agrees_with_an_exact_sampler() {
    use rand::distr::Distribution as _;
    let records = 1_000_000;
    let exact = rand_distr::Zipf::new(records as f64, 0.99).unwrap();
    let ours = Zipf::new(records, 0.99);
    let mut rng = rng(11, 0);
    let bucket = |rank: u64| rank.ilog2() as usize;
    let (mut exact_counts, mut our_counts) = ([0_u64; 21], [0_u64; 21]);
    for _ in 0..DRAWS {
        exact_counts[bucket(exact.sample(&mut rng) as u64)] += 1;
        our_counts[bucket(ours.rank(&mut rng) + 1)] += 1;
    }
    for (octave, (ours, exact)) in our_counts.into_iter().zip(exact_counts).enumerate() {
        // Both counts are random, so the tolerance is that of the difference.
        let tolerance = 6.0 * (2.0 * exact as f64).sqrt() + 0.004 * exact as f64;
        assert!(
            (ours as f64 - exact as f64).abs() <= tolerance,
            "octave {octave}"
        );
    }
}

#[test]
fn every_rank_stays_in_range_for_odd_sizes() {
    let mut rng = rng(1, 0);
    for records in [1, 2, 2047, 2048, 2049, 2050, 5000, u64::from(u32::MAX) + 5] {
        let zipf = Zipf::new(records, 0.2);
        for _ in 0..10_000 {
            assert!(zipf.rank(&mut rng) < records);
        }
    }
}

#[test]
fn scrambled_spreads_the_hot_records() {
    let records = 10_000;
    let counts = counts(Distribution::Scrambled { theta: 0.99 }, records);
    let sum = harmonic(records, 0.99);
    let hottest = scramble(0) % records;
    let largest = counts.iter().max().unwrap();
    assert_eq!(counts[hottest as usize], *largest);
    assert!(*largest as f64 > 0.97 * DRAWS as f64 / sum);
    assert!(counts[0] < *largest / 10, "rank 1 is not record 0");
}

#[test]
fn latest_follows_the_newest_record() {
    let chooser = Distribution::Latest { theta: 0.99 }.chooser(1000).unwrap();
    let table = Records::new(1000);
    let mut rng = rng(3, 0);
    for _ in 0..500 {
        table.claim();
    }
    let mut newest = 0;
    for _ in 0..100_000 {
        let record = chooser.choose(&mut rng, &table);
        assert!((500..1500).contains(&record));
        newest += u64::from(record == 1499);
    }
    assert_near(newest, 100_000.0 / harmonic(1000, 0.99), "newest record");
    table.reset();
    assert_eq!(table.end(), 1000);
}

#[test]
fn streams_are_reproducible_and_distinct() {
    let draw = |seed, stream| rng(seed, stream).next_u64();
    assert_eq!(draw(1, 2), draw(1, 2));
    assert_ne!(draw(1, 2), draw(2, 1));
    assert_ne!(draw(0, 0), draw(0, 1));
}

#[test]
fn wrong_names_and_exponents_are_refused() {
    let name = Distribution::named("gaussian", 0.99)
        .unwrap_err()
        .to_string();
    assert!(
        name.contains("gaussian") && name.contains("scrambled"),
        "{name}"
    );
    for theta in [-0.1, 2.0, f64::NAN] {
        assert!(Distribution::named("zipfian", theta).is_err());
    }
    assert!(Distribution::Uniform.chooser(0).is_err());
}
