use super::*;

fn settings() -> Settings {
    Settings {
        tpcc: tpcc::Settings::standard(tpcc::Mix::Tpcc, 1),
        terminals: 8,
        streams: 2,
        queries: vec![1, 6],
        duration: Duration::from_secs(10),
        repeats: 2,
        time_limit: Duration::from_secs(10),
        isolation: Isolation::ReadCommitted,
        seed: 1,
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    settings().check().unwrap();
    let refused = |change: fn(&mut Settings)| {
        let mut settings = settings();
        change(&mut settings);
        settings.check().unwrap_err().to_string()
    };
    for (error, told) in [
        (refused(|settings| settings.queries.clear()), "queries"),
        (refused(|settings| settings.queries.push(23)), "1 to 22"),
        (refused(|settings| settings.terminals = 0), "one terminal"),
        (refused(|settings| settings.streams = 0), "one stream"),
        (refused(|settings| settings.repeats = 0), "one repeat"),
        (
            refused(|settings| settings.tpcc.warehouses = 0),
            "0 warehouses",
        ),
    ] {
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn answers_are_compared_with_the_first_that_came() {
    let answer = |value| Some(Answer::of_texts([[Some(value)]]));
    let found = differences(&[None, answer("1"), answer("2"), None, answer("1.001")]);
    let differ: Vec<bool> = found.iter().map(Option::is_some).collect();
    assert_eq!(differ, [false, false, true, false, false]);
}

fn run_of(new_orders_per_minute: f64, queries_per_hour: f64, queries: &[(u8, u64)]) -> Run {
    let query = |(number, millis): &(u8, u64)| run::Query {
        number: *number,
        time: Duration::from_millis(*millis),
        delay: Some(Duration::from_millis(*millis / 10)),
        age: None,
    };
    Run {
        transactions_per_second: 1.0,
        new_orders_per_minute,
        new_order_ns: bench::measure::LatencyNs::default(),
        aborts_per_transaction: 0.0,
        queries_per_hour,
        queries: queries.iter().map(query).collect(),
        unended: vec![6],
        violations: Vec::new(),
    }
}

#[test]
fn runs_are_shares_of_those_alone_in_the_same_repeat() {
    let settings = settings();
    let runs = [
        vec![run_of(100.0, 0.0, &[]), run_of(200.0, 0.0, &[])],
        vec![run_of(0.0, 50.0, &[]), run_of(0.0, 0.0, &[])],
        vec![
            run_of(50.0, 25.0, &[(1, 10), (1, 30)]),
            run_of(50.0, 10.0, &[(1, 20)]),
        ],
    ];
    let [terminals, streams, both] = &summary::summaries(&settings, "weft", &runs, &[])[..] else {
        panic!("there are three kinds of runs");
    };
    assert_eq!((terminals.terminals, terminals.streams), (8, 0));
    assert!(terminals.queries.is_none() && streams.transactions.is_none());
    let transactions = both.transactions.as_ref().unwrap();
    let share = transactions.share.unwrap();
    assert_eq!((share.min, share.max), (0.25, 0.5));
    let queries = both.queries.as_ref().unwrap();
    // The streams alone had no answer in the second repeat.
    assert_eq!(queries.share.unwrap().median, 0.5);
    assert_eq!(queries.delay_ms.unwrap().max, 3.0);
    assert_eq!(queries.age_ms, None);
    let [first, sixth] = &queries.each[..] else {
        panic!("there are two queries");
    };
    assert_eq!(
        (first.answers, first.milliseconds.unwrap().median),
        (3, 20.0)
    );
    assert_eq!(
        (sixth.answers, sixth.milliseconds, sixth.unended),
        (0, None, 2)
    );
}

#[test]
fn a_violation_is_one_of_all_runs_of_its_server() {
    let runs = [const { Vec::new() }; 3].map(|mut runs: Vec<Run>| {
        runs.push(run_of(1.0, 1.0, &[]));
        runs
    });
    let wrong = ["query 1: other rows".to_owned()];
    let summaries = summary::summaries(&settings(), "weft", &runs, &wrong);
    assert!(summaries.iter().all(|summary| !summary.verified));
    let csv = report(bench::report::Format::Csv, &summaries).unwrap();
    // A header, three kinds of runs, and two queries in each of the two kinds with streams.
    assert_eq!(csv.lines().count(), 1 + 3 + 2 * 2, "{csv}");
    assert!(csv.lines().skip(1).all(|line| line.ends_with(",false")));
    let text = report(bench::report::Format::Table, &summaries).unwrap();
    assert!(text.contains("WRONG") && text.contains("0 +1"), "{text}");
}
