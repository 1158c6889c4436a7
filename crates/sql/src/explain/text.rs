//! A plan as lines, as psql's users know them.

use super::{Node, Told, milliseconds};

/// The lines of a described plan.
pub(crate) fn lines(node: &Node, told: &Told<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    operator(node, 0, None, told, &mut lines);
    for (name, time) in [("Planning", told.planning), ("Execution", told.execution)] {
        if let Some(time) = time {
            lines.push(format!("{name} Time: {:.3} ms", milliseconds(time)));
        }
    }
    lines
}

fn operator(
    node: &Node,
    depth: usize,
    part: Option<&str>,
    told: &Told<'_>,
    lines: &mut Vec<String>,
) {
    // The first is at the left, those within it behind arrows.
    let indent = " ".repeat(depth.saturating_sub(1) * 6 + usize::from(depth > 0) * 2);
    if let Some(part) = part {
        lines.push(format!("{indent}{part}"));
    }
    let arrow = if depth > 0 { "->  " } else { "" };
    lines.push(format!(
        "{indent}{arrow}{}{}",
        node.title,
        actual(node, told)
    ));
    let below = " ".repeat(depth * 6 + 2);
    if told.verbose
        && let Some(output) = &node.output
    {
        lines.push(format!("{below}Output: {output}"));
    }
    for (name, value) in &node.properties {
        lines.push(format!("{below}{name}: {value}"));
    }
    for (part, input) in &node.inputs {
        operator(input, depth + 1, *part, told, lines);
    }
}

fn actual(node: &Node, told: &Told<'_>) -> String {
    let Some(measured) = told.measurement(node) else {
        return String::new();
    };
    if measured.loops == 0 {
        return "  (never executed)".to_owned();
    }
    format!("  (actual rows={} loops={})", measured.rows, measured.loops)
}
