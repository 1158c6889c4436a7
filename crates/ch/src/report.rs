//! The results as people and programs read them.

use bench::measure::Spread;
use bench::report::{Format, csv, json, table};
use commands::Result;
use serde::Serialize;

use crate::{Queries, QuerySummary, Summary};

const LEGEND: &str = "\
Medians over the repeats. tpmC: NewOrder transactions per minute. p50, p99: milliseconds of a NewOrder transaction,
retries included. again: aborts for each transaction. q/h: queries answered per hour. kept: tpmC as a share of that
without streams, and q/h as a share of those without terminals. delay: milliseconds for which a query's begin was behind
the first order that it did not see, the largest of all queries. age: milliseconds that the newest order that a query saw
was old when the answer was there. answers: of all repeats; +N: N runs ended before the query did. ok: all answers were
equal, and TPC-C's conditions held.
";

/// Returns the results in `format`, with a newline at the end.
///
/// # Errors
/// [`Error::Run`](commands::Error::Run) when a number cannot be written, which does not happen.
pub fn report(format: Format, results: &[Summary]) -> Result<String> {
    match format {
        Format::Json => json::array(results),
        Format::Csv => csv::text(&results.iter().flat_map(Line::of).collect::<Vec<_>>()),
        Format::Table => Ok(text(results)),
    }
}

/// A line of CSV: the fields of a [`Summary`], flat; or, with the number of a query, those of its [`QuerySummary`].
#[derive(Default, Serialize)]
struct Line<'s> {
    benchmark: &'static str,
    server: &'s str,
    warehouses: u16,
    terminals: u16,
    streams: u16,
    isolation: &'static str,
    seconds: f64,
    new_orders_per_minute: Option<f64>,
    new_orders_per_minute_min: Option<f64>,
    new_orders_per_minute_max: Option<f64>,
    new_orders_share: Option<f64>,
    new_order_ns_p50: Option<u64>,
    new_order_ns_p99: Option<u64>,
    new_order_ns_p999: Option<u64>,
    transactions_per_second: Option<f64>,
    aborts_per_transaction: Option<f64>,
    queries_per_hour: Option<f64>,
    queries_per_hour_min: Option<f64>,
    queries_per_hour_max: Option<f64>,
    queries_share: Option<f64>,
    delay_ms: Option<f64>,
    delay_ms_max: Option<f64>,
    age_ms: Option<f64>,
    age_ms_max: Option<f64>,
    query: Option<u8>,
    answers: Option<usize>,
    unended: Option<usize>,
    milliseconds: Option<f64>,
    milliseconds_min: Option<f64>,
    milliseconds_max: Option<f64>,
    verified: bool,
}

impl<'s> Line<'s> {
    /// Returns the line of a kind of run, and the lines of its queries.
    fn of(of: &'s Summary) -> Vec<Line<'s>> {
        let (transactions, queries) = (of.transactions.as_ref(), of.queries.as_ref());
        let orders = transactions.map(|all| all.new_orders_per_minute);
        let latency = transactions.map(|all| all.new_order_ns);
        let per_hour = queries.map(|all| all.per_hour);
        let delay = queries.and_then(|all| all.delay_ms);
        let age = queries.and_then(|all| all.age_ms);
        let share = |share: Option<Spread>| share.map(|share| share.median);
        let mut lines = vec![Line {
            new_orders_per_minute: orders.map(|all| all.median),
            new_orders_per_minute_min: orders.map(|all| all.min),
            new_orders_per_minute_max: orders.map(|all| all.max),
            new_orders_share: transactions.and_then(|all| share(all.share)),
            new_order_ns_p50: latency.map(|all| all.p50),
            new_order_ns_p99: latency.map(|all| all.p99),
            new_order_ns_p999: latency.map(|all| all.p999),
            transactions_per_second: transactions.map(|all| all.transactions_per_second.median),
            aborts_per_transaction: transactions.map(|all| all.aborts_per_transaction),
            queries_per_hour: per_hour.map(|all| all.median),
            queries_per_hour_min: per_hour.map(|all| all.min),
            queries_per_hour_max: per_hour.map(|all| all.max),
            queries_share: queries.and_then(|all| share(all.share)),
            delay_ms: delay.map(|all| all.median),
            delay_ms_max: delay.map(|all| all.max),
            age_ms: age.map(|all| all.median),
            age_ms_max: age.map(|all| all.max),
            ..Line::begun(of)
        }];
        let each = queries.into_iter().flat_map(|all| &all.each);
        lines.extend(each.map(|query| Line {
            query: Some(query.query),
            answers: Some(query.answers),
            unended: Some(query.unended),
            milliseconds: query.milliseconds.map(|all| all.median),
            milliseconds_min: query.milliseconds.map(|all| all.min),
            milliseconds_max: query.milliseconds.map(|all| all.max),
            ..Line::begun(of)
        }));
        lines
    }

    /// Returns a line with the fields that all lines of a kind of run have.
    fn begun(of: &'s Summary) -> Line<'s> {
        Line {
            benchmark: of.benchmark,
            server: &of.server,
            warehouses: of.warehouses,
            terminals: of.terminals,
            streams: of.streams,
            isolation: of.isolation.name(),
            seconds: of.seconds,
            verified: of.verified,
            ..Line::default()
        }
    }
}

/// A number that a kind of run does not have.
const NONE: &str = "-";

fn shown(number: Option<f64>, digits: usize) -> String {
    number.map_or_else(|| NONE.to_owned(), |number| format!("{number:.digits$}"))
}

fn text(results: &[Summary]) -> String {
    let mut rows = table::table(&[
        "server",
        "terminals",
        "streams",
        "tpmC",
        "±",
        "kept",
        "p50",
        "p99",
        "again",
        "q/h",
        "±",
        "kept",
        "delay",
        "age",
        "ok",
    ]);
    for result in results {
        let (transactions, queries) = (result.transactions.as_ref(), result.queries.as_ref());
        let orders = transactions.map(|all| all.new_orders_per_minute);
        let per_hour = queries.map(|all| all.per_hour);
        let median = |all: Option<Spread>| all.map(|all| all.median);
        let spread =
            |all: Option<Spread>| all.map_or_else(|| NONE.to_owned(), |all| table::spread(&all));
        let millis = |ns: u64| ns as f64 / 1e6;
        rows.add_row([
            result.server.clone(),
            result.terminals.to_string(),
            result.streams.to_string(),
            shown(median(orders), 0),
            spread(orders),
            shown(median(transactions.and_then(|all| all.share)), 2),
            shown(transactions.map(|all| millis(all.new_order_ns.p50)), 2),
            shown(transactions.map(|all| millis(all.new_order_ns.p99)), 2),
            shown(transactions.map(|all| all.aborts_per_transaction), 3),
            shown(median(per_hour), 0),
            spread(per_hour),
            shown(median(queries.and_then(|all| all.share)), 2),
            shown(queries.and_then(|all| Some(all.delay_ms?.max)), 1),
            shown(median(queries.and_then(|all| all.age_ms)), 1),
            if result.verified { "yes" } else { "WRONG" }.to_owned(),
        ]);
    }
    table::align(&mut rows, 1);
    format!("{rows}\n{}\n{LEGEND}", queries_text(results))
}

/// Returns the table of the queries: a column for each kind of run that has streams.
fn queries_text(results: &[Summary]) -> String {
    let with: Vec<(&Summary, &Queries)> = results
        .iter()
        .filter_map(|result| Some((result, result.queries.as_ref()?)))
        .collect();
    let mut header = vec!["query".to_owned()];
    for (result, _) in &with {
        let beside = match result.terminals {
            0 => "alone",
            _ => "beside terminals",
        };
        header.extend([
            format!("{} {beside}: ms", result.server),
            "answers".to_owned(),
        ]);
    }
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut rows = table::table(&header);
    let each = |at: usize| with.iter().filter_map(move |(_, all)| all.each.get(at));
    for at in 0.. {
        let Some(first) = each(at).next() else { break };
        let mut row = vec![first.query.to_string()];
        for query in each(at) {
            row.extend([
                shown(query.milliseconds.map(|all| all.median), 1),
                answers(query),
            ]);
        }
        rows.add_row(row);
    }
    table::align(&mut rows, 1);
    rows.to_string()
}

/// Returns the number of a query's answers, and of runs that ended before it did.
fn answers(query: &QuerySummary) -> String {
    match query.unended {
        0 => query.answers.to_string(),
        unended => format!("{} +{unended}", query.answers),
    }
}
