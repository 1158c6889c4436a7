//! A plan as lines, in the form that psql's users know.

use super::{ExplainOptions, Node, milliseconds, time::Times};
use executor::execute::Spilled;
use planner::plan::Estimate;

/// Returns the lines of a described plan.
pub fn lines(node: &Node, options: &ExplainOptions<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    operator(node, 0, None, options, &mut lines);
    let outside = options.outside().filter(|_| options.execution.is_some());
    if let Some(outside) = &outside {
        lines.push(format!("Outside Operators: {}", Times(&outside.own)));
    }
    if let Some(bytes) = options.peak_bytes() {
        lines.push(format!("Peak Memory: {}kB", bytes.div_ceil(1024)));
    }
    for (name, time) in [
        ("Planning", options.planning),
        ("Execution", options.execution),
    ] {
        if let Some(time) = time {
            lines.push(format!("{name} Time: {:.3} ms", milliseconds(time)));
        }
    }
    if let (Some(_), Some(measured)) = (outside, options.measurements) {
        lines.push(format!("Time: {}", Times(&measured.all_spent())));
    }
    lines
}

fn operator(
    node: &Node,
    depth: usize,
    part: Option<&str>,
    options: &ExplainOptions<'_>,
    lines: &mut Vec<String>,
) {
    // The outermost node is at the left; nodes within it are behind arrows.
    let indent = " ".repeat(depth.saturating_sub(1) * 6 + usize::from(depth > 0) * 2);
    if let Some(part) = part {
        lines.push(format!("{indent}{part}"));
    }
    let arrow = if depth > 0 { "->  " } else { "" };
    lines.push(format!(
        "{indent}{arrow}{}{}",
        node.title,
        numbers(node, options)
    ));
    let below = " ".repeat(depth * 6 + 2);
    if options.verbose
        && let Some(output) = &node.output
    {
        lines.push(format!("{below}Output: {output}"));
    }
    for (name, value) in &node.properties {
        lines.push(format!("{below}{name}: {value}"));
    }
    let measured = options.measurement(node);
    if let Some(measured) = measured.as_ref().filter(|measured| measured.helpers > 0) {
        lines.push(format!("{below}Workers Launched: {}", measured.helpers));
    }
    match measured.as_ref().and_then(|measured| measured.spilled) {
        Some(Spilled::Sort { bytes }) => {
            let kilobytes = bytes.div_ceil(1024);
            let method = format!("Sort Method: external merge  Disk: {kilobytes}kB");
            lines.push(format!("{below}{method}"));
        }
        Some(Spilled::Rows { bytes }) => {
            let kilobytes = bytes.div_ceil(1024);
            let storage = format!("Storage: Disk  Maximum Storage: {kilobytes}kB");
            lines.push(format!("{below}{storage}"));
        }
        Some(Spilled::Hash { batches, bytes }) => {
            let kilobytes = bytes.div_ceil(1024);
            lines.push(format!(
                "{below}Batches: {batches}  Disk Usage: {kilobytes}kB"
            ));
        }
        None => {}
    }
    if options.outside().is_some()
        && let Some(measured) = measured
        && measured.loops > 0
    {
        lines.push(format!("{below}Self Time: {}", Times(&measured.own)));
    }
    for (part, input) in &node.inputs {
        operator(input, depth + 1, *part, options, lines);
    }
}

/// Returns the estimate and the measurement of `node` in PostgreSQL's form, which other tools read.
fn numbers(node: &Node, options: &ExplainOptions<'_>) -> String {
    let mut parts = Vec::new();
    if let Some(Estimate {
        startup,
        total,
        rows,
        width,
    }) = options.estimate(node)
    {
        parts.push(format!(
            "(cost={startup:.2}..{total:.2} rows={rows:.0} width={width:.0})"
        ));
    }
    if let Some(measured) = options.measurement(node) {
        let (rows, loops) = (measured.rows_per_loop(), measured.loops);
        parts.push(match (loops, options.outside()) {
            (0, _) => "(never executed)".to_owned(),
            (_, None) => format!("(actual rows={rows:.0} loops={loops})"),
            (_, Some(_)) => {
                let first = measured.per_loop(measured.first_rows);
                let total = measured.per_loop(measured.total);
                format!("(actual time={first:.3}..{total:.3} rows={rows:.0} loops={loops})")
            }
        });
    }
    match (parts.is_empty(), options.costs) {
        (true, _) => String::new(),
        // PostgreSQL puts two spaces before the costs, and one before measurements alone.
        (false, false) => format!(" {}", parts.join(" ")),
        (false, true) => format!("  {}", parts.join(" ")),
    }
}
