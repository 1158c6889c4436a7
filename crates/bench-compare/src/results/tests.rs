use super::*;

/// Returns a comparison in which Weft does 300 and 160 transactions per second, LMDB 100 and 50
/// with one thread, 90 and 80 with eight, redb less.
pub(crate) fn example() -> Comparison {
    let facts = Facts {
        benchmark: "compare",
        workload: "a".to_owned(),
        durability: Durability::Synchronous,
        relaxed_ms: 10,
        records: 1000,
        operations_per_transaction: 1,
        key_bytes: 8,
        value_bytes: 100,
        memory_bytes: None,
        distribution: "scrambled",
        theta: Some(0.99),
        weft_in_flight: "auto".to_owned(),
        weft_clients: 64,
        commit: None,
    };
    let engines = [Name::Weft, Name::Redb, Name::Lmdb];
    let engines = engines.map(|engine| (engine, format!("{engine} as it is")));
    let mut comparison = Comparison::new(facts, engines.to_vec());
    comparison.device_syncs_per_second = vec![1000.0, 1200.0];
    for (engine, threads, rates) in [
        (Name::Weft, 2, [300.0, 160.0]),
        (Name::Redb, 1, [10.0, 9.0]),
        (Name::Lmdb, 1, [100.0, 50.0]),
        (Name::Lmdb, 8, [90.0, 80.0]),
    ] {
        for (repeat, rate) in (0..).zip(rates) {
            comparison.samples.push(Sample {
                engine,
                threads,
                repeat,
                seconds: 1.0,
                transactions_per_second: rate,
                operations_per_second: rate,
                latency_ns: LatencyNs::default(),
                aborts: 0,
                verified: true,
            });
        }
    }
    comparison
}

#[test]
fn each_engine_is_best_with_one_number_of_threads() {
    let summaries = example().summaries();
    let best: Vec<_> = summaries
        .iter()
        .filter(|summary| summary.best)
        .map(|summary| (summary.engine, summary.threads))
        .collect();
    assert_eq!(best, [("weft", 2), ("redb", 1), ("lmdb", 8)]);
    assert_eq!(summaries.len(), 4);
}

#[test]
fn ratios_are_taken_within_each_repeat() {
    let summaries = example().summaries();
    let peer = Comparison::best_peer(&summaries).unwrap();
    assert_eq!((peer.engine, peer.threads), ("lmdb", 8));
    let times = peer.weft_times.unwrap();
    assert_eq!((times.min, times.max), (2.0, 300.0 / 90.0));
    assert_eq!(summaries[0].weft_times.unwrap().median, 1.0);
}

#[test]
fn without_weft_there_is_no_ratio() {
    let mut comparison = example();
    let is_weft = |engine: Name| engine == Name::Weft;
    comparison.samples.retain(|sample| !is_weft(sample.engine));
    comparison.engines.retain(|(engine, _)| !is_weft(*engine));
    let summaries = comparison.summaries();
    let peer = Comparison::best_peer(&summaries).unwrap();
    assert_eq!((peer.engine, peer.weft_times), ("lmdb", None));
}

#[test]
fn distrust_spoils_an_engine_and_the_whole() {
    let mut comparison = example();
    assert!(comparison.verified());
    comparison.distrust(Name::Redb);
    assert!(!comparison.verified());
    for summary in comparison.summaries() {
        assert_eq!(summary.verified, summary.engine != "redb");
    }
}
