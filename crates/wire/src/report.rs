//! The results as people and programs read them.

use serde::Serialize;

use super::Summary;
use bench::measure::Spread;
use bench::report::{Format, csv, json, table};
use commands::Result;

const LEGEND: &str = "\
Medians over the repeats. p50, p99: milliseconds from a transaction's first message to its last
answer, retries included. cpu: microseconds of processor time that the server took for each
transaction. again: how often a transaction was aborted and run again. tx x, cpu x: throughput and
processor time against the first server's. ok: answers and tables were right.
";

/// Returns the results in `format`, with a newline at the end.
///
/// # Errors
/// [`Error::Run`](commands::Error::Run) when a number cannot be written, which does not
/// happen.
pub fn report(format: Format, results: &[Summary]) -> Result<String> {
    match format {
        Format::Json => json::array(results),
        Format::Csv => csv::text(&results.iter().map(Line::of).collect::<Vec<_>>()),
        Format::Table => Ok(text(results)),
    }
}

/// A line of CSV: the fields of [`Summary`], flat.
#[derive(Serialize)]
struct Line<'s> {
    benchmark: &'static str,
    workload: &'s str,
    server: &'s str,
    clients: u16,
    isolation: &'static str,
    seconds: f64,
    transactions_per_second: f64,
    transactions_per_second_min: f64,
    transactions_per_second_max: f64,
    latency_ns_p50: u64,
    latency_ns_p99: u64,
    latency_ns_p999: u64,
    server_cpu_us: Option<f64>,
    server_cpu_us_min: Option<f64>,
    server_cpu_us_max: Option<f64>,
    aborts_per_transaction: f64,
    throughput_ratio: f64,
    server_cpu_ratio: Option<f64>,
    verified: bool,
}

impl<'s> Line<'s> {
    fn of(of: &'s Summary) -> Line<'s> {
        let cpu = of.server_cpu_us;
        Line {
            benchmark: of.benchmark,
            workload: &of.workload,
            server: &of.server,
            clients: of.clients,
            isolation: of.isolation.name(),
            seconds: of.seconds,
            transactions_per_second: of.transactions_per_second.median,
            transactions_per_second_min: of.transactions_per_second.min,
            transactions_per_second_max: of.transactions_per_second.max,
            latency_ns_p50: of.latency_ns.p50,
            latency_ns_p99: of.latency_ns.p99,
            latency_ns_p999: of.latency_ns.p999,
            server_cpu_us: cpu.map(|cpu| cpu.median),
            server_cpu_us_min: cpu.map(|cpu| cpu.min),
            server_cpu_us_max: cpu.map(|cpu| cpu.max),
            aborts_per_transaction: of.aborts_per_transaction,
            throughput_ratio: of.throughput_ratio.median,
            server_cpu_ratio: of.server_cpu_ratio.map(|ratio| ratio.median),
            verified: of.verified,
        }
    }
}

fn text(results: &[Summary]) -> String {
    let mut rows = table::table(&[
        "workload", "server", "clients", "tx/s", "±", "p50", "p99", "cpu", "±", "again", "tx x",
        "cpu x", "ok",
    ]);
    let millis = |ns: u64| format!("{:.3}", ns as f64 / 1e6);
    let unknown = || "?".to_owned();
    let shown = |number: Option<Spread>, digits: usize| {
        number.map_or_else(unknown, |number| format!("{:.digits$}", number.median))
    };
    for result in results {
        let cpu = result.server_cpu_us;
        rows.add_row([
            result.workload.clone(),
            result.server.clone(),
            result.clients.to_string(),
            format!("{:.1}", result.transactions_per_second.median),
            table::spread(&result.transactions_per_second),
            millis(result.latency_ns.p50),
            millis(result.latency_ns.p99),
            shown(cpu, 1),
            cpu.map_or_else(unknown, |cpu| table::spread(&cpu)),
            format!("{:.3}", result.aborts_per_transaction),
            format!("{:.2}", result.throughput_ratio.median),
            shown(result.server_cpu_ratio, 2),
            if result.verified { "yes" } else { "WRONG" }.to_owned(),
        ]);
    }
    table::align(&mut rows, 2);
    format!("{rows}\n{LEGEND}")
}
