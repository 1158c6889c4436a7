//! A plan as JSON, for programs.

use serde_json::{Map, Value, json};

use super::{ExplainOptions, Node, milliseconds, time::Times};
use executor::execute::Spilled;

/// Returns a described plan in the form that PostgreSQL's tools expect: a list of one object.
pub fn json(node: &Node, options: &ExplainOptions<'_>) -> String {
    let mut whole = Map::new();
    whole.insert("Plan".to_owned(), operator(node, options));
    if options.execution.is_some()
        && let (Some(outside), Some(measured)) = (options.outside(), options.measurements)
    {
        whole.insert("Outside Operators".to_owned(), Times(&outside.own).json());
        whole.insert("Time".to_owned(), Times(&measured.all_spent()).json());
    }
    if let Some(bytes) = options.peak_bytes() {
        whole.insert("Peak Memory".to_owned(), json!(bytes.div_ceil(1024)));
    }
    for (name, time) in [
        ("Planning Time", options.planning),
        ("Execution Time", options.execution),
    ] {
        if let Some(time) = time {
            whole.insert(name.to_owned(), json!(milliseconds(time)));
        }
    }
    format!("{:#}", json!([whole]))
}

fn hundredths(cost: f64) -> f64 {
    (cost * 1e2).round() / 1e2
}

fn operator(node: &Node, options: &ExplainOptions<'_>) -> Value {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| {
        object.insert(name.to_owned(), value);
    };
    put("Node Type", json!(node.title));
    for (name, value) in &node.properties {
        put(name, json!(value));
    }
    if options.verbose
        && let Some(output) = &node.output
    {
        put("Output", json!(output));
    }
    if let Some(estimate) = options.estimate(node) {
        put("Startup Cost", json!(hundredths(estimate.startup)));
        put("Total Cost", json!(hundredths(estimate.total)));
        put("Plan Rows", json!(estimate.rows.round() as u64));
        put("Plan Width", json!(estimate.width.round() as u64));
    }
    if let Some(measured) = options.measurement(node) {
        if options.outside().is_some() {
            let thousandths = |time| (measured.per_loop(time) * 1e3).round() / 1e3;
            put(
                "Actual Startup Time",
                json!(thousandths(measured.first_rows)),
            );
            put("Actual Total Time", json!(thousandths(measured.total)));
            put("Self Time", Times(&measured.own).json());
        }
        put(
            "Actual Rows",
            json!(measured.rows_per_loop().round() as u64),
        );
        put("Actual Loops", json!(measured.loops));
        if measured.helpers > 0 {
            put("Workers Launched", json!(measured.helpers));
        }
        match measured.spilled {
            Some(Spilled::Sort { bytes }) => {
                put("Sort Method", json!("external merge"));
                put("Sort Space Used", json!(bytes.div_ceil(1024)));
                put("Sort Space Type", json!("Disk"));
            }
            Some(Spilled::Rows { bytes }) => {
                put("Storage", json!("Disk"));
                put("Maximum Storage", json!(bytes.div_ceil(1024)));
            }
            Some(Spilled::Hash { batches, bytes }) => {
                put("Batches", json!(batches));
                put("Disk Usage", json!(bytes.div_ceil(1024)));
            }
            None => {}
        }
    }
    if !node.inputs.is_empty() {
        let inputs = node.inputs.iter().map(|(part, input)| {
            let mut input = operator(input, options);
            if let (Some(part), Value::Object(object)) = (part, &mut input) {
                object.insert("Part".to_owned(), json!(part));
            }
            input
        });
        put("Plans", inputs.collect());
    }
    Value::Object(object)
}
