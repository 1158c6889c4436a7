//! Findings in words that a person can follow, and as a drawing.

use std::fmt::Write;

use crate::{
    dependencies::shown,
    graph::Kind,
    history::{Action, Key, Outcome, Transaction, UNBORN},
    observations::{is_dead, shown_list, shown_value},
    verdict::{Evidence, Finding, Step},
};

impl Finding {
    /// Explains the finding in words: what the transactions did, and why
    /// that is a contradiction.
    pub fn explain(&self, history: &[Transaction]) -> String {
        let mut text = format!("{}\n", self.anomaly);
        let keys = self.keys();
        let mut shown = Vec::new();
        for &index in &self.transactions {
            if !shown.contains(&index) {
                shown.push(index);
                let _ = writeln!(text, "  {}", transaction(&history[index], keys.as_deref()));
            }
        }
        match &self.evidence {
            Evidence::Story(story) => {
                let _ = writeln!(text, "{story}.");
            }
            Evidence::Cycle(steps) => {
                for (index, step) in steps.iter().enumerate() {
                    let (from, to) = (history[step.from].number, history[step.to].number);
                    let last = index + 1 == steps.len();
                    let but = if last { "But " } else { "" };
                    let end = if last { ": a contradiction." } else { "." };
                    let why = because(history, step);
                    let _ = writeln!(text, "  {but}T{from} comes before T{to}: {why}{end}");
                }
            }
        }
        text
    }

    /// Draws the finding in the language of Graphviz.
    pub fn dot(&self, history: &[Transaction]) -> String {
        let mut text = format!("digraph \"{}\" {{\n", self.anomaly);
        text.push_str("  node [shape=box, fontname=monospace];\n");
        let keys = self.keys();
        let mut drawn = Vec::new();
        for &index in &self.transactions {
            if !drawn.contains(&index) {
                drawn.push(index);
                let label = transaction(&history[index], keys.as_deref())
                    .replace("; ", "\\l")
                    .replace(": ", "\\l");
                let _ = writeln!(text, "  T{} [label=\"{label}\\l\"];", history[index].number);
            }
        }
        if let Evidence::Cycle(steps) = &self.evidence {
            for step in steps {
                let (from, to) = (history[step.from].number, history[step.to].number);
                let kind = kind(step.kind);
                let why = because(history, step);
                let _ = writeln!(
                    text,
                    "  T{from} -> T{to} [label=\"{kind}\", tooltip=\"{why}\"];"
                );
            }
        }
        text.push_str("}\n");
        text
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Ww => "ww",
        Kind::Wr | Kind::WrIfStrict => "wr",
        Kind::Rw => "rw",
        Kind::RwPredicate => "rw (phantom)",
        Kind::Process => "process",
        Kind::Realtime | Kind::Time => "real time",
    }
}

impl Finding {
    /// Returns the records that a cycle is about.
    fn keys(&self) -> Option<Vec<Key>> {
        match &self.evidence {
            Evidence::Story(_) => None,
            Evidence::Cycle(steps) => {
                let by_data = |step: &&Step| step.kind < Kind::Process;
                Some(
                    steps
                        .iter()
                        .filter(by_data)
                        .map(|step| step.reason.key)
                        .collect(),
                )
            }
        }
    }
}

/// Formats a transaction in one line; operations on none of `keys` are
/// left out.
fn transaction(it: &Transaction, keys: Option<&[Key]>) -> String {
    let mut operations: Vec<String> = Vec::new();
    for operation in &it.operations {
        if keys.is_none_or(|keys| concerns(&operation.action, keys)) {
            operations.push(shown_operation(&operation.action, keys));
        } else if operations.last().is_none_or(|last| last != "..") {
            operations.push("..".to_owned());
        }
    }
    let outcome = match it.outcome {
        Outcome::Committed => "",
        Outcome::Aborted => ", aborted",
        Outcome::Unknown => ", outcome unknown",
    };
    format!(
        "T{} (process {}{outcome}): {}",
        it.number,
        it.process,
        operations.join("; ")
    )
}

fn concerns(action: &Action, keys: &[Key]) -> bool {
    match action {
        Action::Scan { from, to, .. } => keys.iter().any(|key| (from..to).contains(&key)),
        Action::Read { key, .. }
        | Action::Append { key, .. }
        | Action::Write { key, .. }
        | Action::Update { key, .. }
        | Action::Insert { key, .. }
        | Action::Delete { key, .. } => keys.contains(key),
    }
}

fn shown_operation(action: &Action, keys: Option<&[Key]>) -> String {
    let told = |done: bool, not: &'static str| if done { "" } else { not };
    match action {
        Action::Read { key, found } => format!("read {key} -> {}", shown_value(found.as_ref())),
        Action::Scan { from, to, found } => {
            let wanted = |key: &Key| keys.is_none_or(|keys| keys.contains(key));
            let all = found.len();
            let mut found: Vec<_> = found
                .iter()
                .filter(|(key, _)| wanted(key))
                .map(|(key, value)| format!("{key} = {}", shown_value(Some(value))))
                .collect();
            if found.len() < all {
                found.push(format!("{} others", all - found.len()));
            }
            format!("scan {from}..{to} -> {{{}}}", found.join(", "))
        }
        Action::Append { key, element, onto } => match onto {
            Some(onto) => format!("append {element} to {key}, onto {}", shown_list(onto)),
            None => format!("append {element} to {key}"),
        },
        Action::Write { key, value } => format!("write {value} to {key}"),
        Action::Update { key, value, done } => {
            format!("update {key} to {value}{}", told(*done, " -> absent"))
        }
        Action::Insert { key, value, done } => {
            format!("insert {value} as {key}{}", told(*done, " -> duplicate"))
        }
        Action::Delete { key, done } => format!("delete {key}{}", told(*done, " -> absent")),
    }
}

fn because(history: &[Transaction], step: &Step) -> String {
    let (from, to) = (&history[step.from], &history[step.to]);
    let (first, second) = (from.number, to.number);
    let (key, before, after) = (step.reason.key, step.reason.before, step.reason.after);
    match step.kind {
        Kind::Ww if is_dead(after) => {
            format!("T{first} wrote {before} into record {key}, which T{second} deleted")
        }
        Kind::Ww => format!(
            "T{first} wrote {} into record {key}, which T{second} replaced by {after}",
            shown(before)
        ),
        Kind::Wr if before == UNBORN => {
            format!("T{first} made record {key}, and T{second} was told of it")
        }
        Kind::Wr => format!("T{first} wrote {before} into record {key}, which T{second} read"),
        Kind::WrIfStrict => format!(
            "T{first} deleted record {key}, which T{second} did not find, though it had been \
             made before that began"
        ),
        Kind::Rw if is_dead(after) => {
            format!("T{first} saw record {key}, which T{second} deleted")
        }
        Kind::Rw if before == UNBORN => {
            format!("T{first} found no record {key}, which T{second} made as {after}")
        }
        Kind::Rw => format!(
            "T{first} read {} in record {key}, which T{second} replaced by {after}",
            shown(before)
        ),
        Kind::RwPredicate => {
            let scan = &from.operations[step.reason.operation as usize].action;
            let range = match scan {
                Action::Scan { from, to, .. } => format!("{from}..{to}"),
                _ => "a range".to_owned(),
            };
            format!(
                "T{first} scanned {range} and found no record {key}, which T{second} made as {after}"
            )
        }
        Kind::Process => format!("process {} ran T{first} before T{second}", from.process),
        Kind::Realtime | Kind::Time => format!(
            "T{first} had ended (at {}) before T{second} began (at {})",
            from.ended, to.begun
        ),
    }
}
