//! Results of runs, over all repeats.

use std::time::Duration;

use bench::measure::{Isolation, LatencyNs, Spread};
use serde::Serialize;

use crate::{
    Settings,
    run::{Query, Run},
};

/// Results of one kind of run on one server, over all repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Always `"ch"`.
    pub benchmark: &'static str,
    /// Name of the server.
    pub server: String,
    /// Number of warehouses.
    pub warehouses: u16,
    /// Number of terminals; 0 if the streams run alone.
    pub terminals: u16,
    /// Number of streams of queries; 0 if the terminals run alone.
    pub streams: u16,
    /// Isolation level of the terminals' transactions.
    pub isolation: Isolation,
    /// Seconds of each run.
    pub seconds: f64,
    /// Results of the terminals, if there are any.
    pub transactions: Option<Transactions>,
    /// Results of the streams, if there are any.
    pub queries: Option<Queries>,
    /// Whether all answers were equal, and all conditions of the tables held.
    pub verified: bool,
    /// Answers that were different, and conditions that did not hold.
    #[serde(skip)]
    pub violations: Vec<String>,
}

/// Results of terminals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transactions {
    /// NewOrder transactions committed per minute (tpmC).
    pub new_orders_per_minute: Spread,
    /// NewOrder transactions per minute as a share of those without streams in the same repeat; `None` where there were
    /// none.
    pub share: Option<Spread>,
    /// Time of a NewOrder transaction, retries included: medians of the repeats' percentiles.
    pub new_order_ns: LatencyNs,
    /// Transactions of all kinds committed per second.
    pub transactions_per_second: Spread,
    /// Number of aborts per transaction; each is followed by a retry.
    pub aborts_per_transaction: f64,
}

/// Results of streams.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Queries {
    /// Queries answered per hour, by all streams together.
    pub per_hour: Spread,
    /// Queries per hour as a share of those without terminals in the same repeat; `None` where there were none.
    pub share: Option<Spread>,
    /// Milliseconds before a query's begin at which the first order that it did not see was acknowledged; 0 for a query
    /// that saw all. `None` without orders of terminals.
    pub delay_ms: Option<Spread>,
    /// Milliseconds that the newest order that a query saw was old when its answer was there; `None` without orders of
    /// terminals.
    pub age_ms: Option<Spread>,
    /// Queries by themselves.
    pub each: Vec<QuerySummary>,
}

/// Results of one query in one kind of run on one server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuerySummary {
    /// Number of the query.
    pub query: u8,
    /// Number of answers in all repeats.
    pub answers: usize,
    /// Milliseconds from the query's message to its last row; `None` without an answer.
    pub milliseconds: Option<Spread>,
    /// Number of times that a run ended before the query did.
    pub unended: usize,
}

/// Summarises the runs of a server: lists for the terminals alone, for the streams alone and for both.
pub(crate) fn summaries(
    settings: &Settings,
    server: &str,
    runs: &[Vec<Run>],
    violations: &[String],
) -> Vec<Summary> {
    let kinds = settings.runs().into_iter().zip(runs);
    let summaries = kinds.map(|(clients, own)| {
        let wrong = own.iter().flat_map(|run| &run.violations);
        let violations: Vec<String> = wrong.chain(violations).cloned().collect();
        Summary {
            benchmark: "ch",
            server: server.to_owned(),
            warehouses: settings.tpcc.warehouses,
            terminals: clients.terminals,
            streams: clients.streams,
            isolation: settings.isolation,
            seconds: settings.duration.as_secs_f64(),
            transactions: (clients.terminals > 0).then(|| transactions(own, &runs[0])),
            queries: (clients.streams > 0).then(|| queries(&settings.queries, own, &runs[1])),
            verified: violations.is_empty(),
            violations,
        }
    });
    summaries.collect()
}

/// Summarises terminals, relative to runs of terminals alone.
fn transactions(runs: &[Run], alone: &[Run]) -> Transactions {
    Transactions {
        new_orders_per_minute: spread(runs, |run| run.new_orders_per_minute),
        share: share(runs, alone, |run| run.new_orders_per_minute),
        new_order_ns: LatencyNs::median(runs.iter().map(|run| run.new_order_ns)),
        transactions_per_second: spread(runs, |run| run.transactions_per_second),
        aborts_per_transaction: spread(runs, |run| run.aborts_per_transaction).median,
    }
}

/// Summarises streams, relative to runs of streams alone.
fn queries(numbers: &[u8], runs: &[Run], alone: &[Run]) -> Queries {
    let of_all = |number: fn(&Query) -> Option<Duration>| {
        let queries = runs.iter().flat_map(|run| &run.queries);
        some_spread(queries.filter_map(number).map(millis))
    };
    let each = numbers.iter().map(|number| {
        let answers = runs.iter().flat_map(|run| &run.queries);
        let answers = answers.filter(|query| query.number == *number);
        let unended = runs.iter().flat_map(|run| &run.unended);
        QuerySummary {
            query: *number,
            answers: answers.clone().count(),
            milliseconds: some_spread(answers.map(|query| millis(query.time))),
            unended: unended.filter(|unended| *unended == number).count(),
        }
    });
    Queries {
        per_hour: spread(runs, |run| run.queries_per_hour),
        share: share(runs, alone, |run| run.queries_per_hour),
        delay_ms: of_all(|query| query.delay),
        age_ms: of_all(|query| query.age),
        each: each.collect(),
    }
}

fn spread(runs: &[Run], number: fn(&Run) -> f64) -> Spread {
    Spread::of(&runs.iter().map(number).collect::<Vec<f64>>())
}

/// Returns the spread of numbers; `None` if there are none.
fn some_spread(numbers: impl Iterator<Item = f64>) -> Option<Spread> {
    let numbers: Vec<f64> = numbers.collect();
    (!numbers.is_empty()).then(|| Spread::of(&numbers))
}

/// Returns the numbers of runs as shares of those of other runs in the same repeats; a repeat without such a number is
/// left out.
fn share(runs: &[Run], of: &[Run], number: fn(&Run) -> f64) -> Option<Spread> {
    let pairs = runs.iter().zip(of);
    let pairs = pairs.filter(|(_, of)| number(of) > 0.0);
    some_spread(pairs.map(|(run, of)| number(run) / number(of)))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
