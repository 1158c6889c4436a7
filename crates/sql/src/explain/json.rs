//! A plan as JSON, for programs.

use serde_json::{Map, Value, json};

use super::{Node, Told, milliseconds};

/// A described plan as PostgreSQL's readers expect it: a list of one object.
pub(crate) fn json(node: &Node, told: &Told<'_>) -> String {
    let mut whole = Map::new();
    whole.insert("Plan".to_owned(), operator(node, told));
    for (name, time) in [
        ("Planning Time", told.planning),
        ("Execution Time", told.execution),
    ] {
        if let Some(time) = time {
            whole.insert(name.to_owned(), json!(milliseconds(time)));
        }
    }
    format!("{:#}", json!([whole]))
}

fn operator(node: &Node, told: &Told<'_>) -> Value {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| {
        object.insert(name.to_owned(), value);
    };
    put("Node Type", json!(node.title));
    for (name, value) in &node.properties {
        put(name, json!(value));
    }
    if told.verbose
        && let Some(output) = &node.output
    {
        put("Output", json!(output));
    }
    if let Some(measured) = told.measurement(node) {
        put("Actual Rows", json!(measured.rows));
        put("Actual Loops", json!(measured.loops));
    }
    if !node.inputs.is_empty() {
        let inputs = node.inputs.iter().map(|(part, input)| {
            let mut input = operator(input, told);
            if let (Some(part), Value::Object(object)) = (part, &mut input) {
                object.insert("Part".to_owned(), json!(part));
            }
            input
        });
        put("Plans", inputs.collect());
    }
    Value::Object(object)
}
