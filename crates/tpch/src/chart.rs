//! Results as a chart, in the forms of paper 002: milliseconds by the share of blocks that is in memory (figure 6)
//! where several were measured, by the number of blocks that are read ahead (figure 5) where several of these were, and
//! of each query on each system otherwise.

use bench::{
    measure::Spread,
    report::{Line, LineChart, line_chart},
};
use commands::Result;

use super::Summary;

/// A place of a result on the axis, and the line that it belongs to; no place for a result that belongs to all.
type Place = (Option<String>, String);

/// Draws results as SVG, `title` above them.
///
/// # Errors
/// [`Error::Run`](commands::Error::Run) when there is nothing to draw.
pub fn chart(title: &str, results: &[Summary]) -> Result<String> {
    let varies = |of: fn(&Summary) -> Option<f64>| {
        let mut set = results.iter().filter_map(of);
        let first = set.next();
        set.any(|value| Some(value) != first)
    };
    let (x_title, place): (_, fn(&Summary) -> Place) = if varies(cached) {
        ("percent of the blocks in memory", by_share)
    } else if varies(ahead) {
        ("blocks read ahead", by_depth)
    } else {
        ("query", by_query)
    };
    let mut x_labels: Vec<String> = Vec::new();
    let mut lines: Vec<Line> = Vec::new();
    for result in results {
        if let (Some(label), _) = place(result)
            && !x_labels.contains(&label)
        {
            x_labels.push(label);
        }
    }
    // Numbers stand in their order, whatever the order in which they were measured.
    x_labels.sort_by_key(|label| {
        label
            .parse::<f64>()
            .map_or(u64::MAX, |number| (number * 1e3) as u64)
    });
    // The time of a query that was given up says nothing.
    for result in results.iter().filter(|result| result.ended) {
        let (label, name) = place(result);
        let at = match lines.iter().position(|line| line.name == name) {
            Some(at) => at,
            None => {
                let values: Vec<Option<Spread>> = vec![None; x_labels.len()];
                lines.push(Line { name, values });
                lines.len() - 1
            }
        };
        for (x_label, value) in x_labels.iter().zip(&mut lines[at].values) {
            if label.as_ref().is_none_or(|label| label == x_label) && value.is_none() {
                *value = Some(result.milliseconds);
            }
        }
    }
    line_chart(&LineChart {
        title: title.to_owned(),
        x_title: x_title.to_owned(),
        x_labels,
        y_title: "milliseconds".to_owned(),
        lines,
    })
}

fn cached(result: &Summary) -> Option<f64> {
    result.reading.cached_percent
}

fn ahead(result: &Summary) -> Option<f64> {
    result.reading.read_ahead.map(f64::from)
}

/// Places a result by the share of blocks in memory. A system for which no share was set belongs to all.
fn by_share(result: &Summary) -> Place {
    let query = result.query;
    match result.reading.cached_percent {
        None => (None, format!("query {query}, {}", result.server)),
        Some(percent) => {
            let how = match result.reading.read_ahead {
                None => "reading ahead".to_owned(),
                Some(0) => "one by one".to_owned(),
                Some(blocks) => format!("{blocks} blocks ahead"),
            };
            (Some(percent.to_string()), format!("query {query}, {how}"))
        }
    }
}

/// Places a result by the number of blocks that are read ahead. A system that chooses it belongs to all.
fn by_depth(result: &Summary) -> Place {
    let query = result.query;
    match result.reading.read_ahead {
        None => (None, format!("query {query}, {}", result.server)),
        Some(blocks) => (Some(blocks.to_string()), format!("query {query}")),
    }
}

fn by_query(result: &Summary) -> Place {
    (Some(result.query.to_string()), result.server.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reading;

    fn result(
        query: u8,
        server: &str,
        cached_percent: Option<f64>,
        read_ahead: Option<u16>,
    ) -> Summary {
        Summary {
            benchmark: "tpch",
            scale: 1.0,
            query,
            server: server.to_owned(),
            reading: Reading {
                cached_percent,
                read_ahead,
            },
            milliseconds: Spread::of(&[f64::from(query), 20.0, 30.0]),
            speed_ratio: Spread::of(&[1.0]),
            server_cpu_ms: None,
            rows: 1,
            ended: true,
            verified: true,
            violations: Vec::new(),
        }
    }

    #[test]
    fn the_axis_is_what_was_varied() {
        let memory = result(1, "weft", None, None);
        let shares = [
            memory.clone(),
            result(1, "weft 80 %", Some(80.0), None),
            result(1, "weft 80 %", Some(80.0), Some(0)),
            result(1, "weft 60 %", Some(60.0), None),
        ];
        let svg = chart("shares", &shares).unwrap();
        for text in [
            "percent of the blocks in memory",
            "query 1, reading ahead",
            "query 1, one by one",
            "query 1, weft",
        ] {
            assert!(svg.contains(text), "{text}");
        }
        assert!(svg.find("\n60\n").unwrap() < svg.find("\n80\n").unwrap());
        let depths = [
            memory.clone(),
            result(1, "a", Some(60.0), Some(0)),
            result(1, "b", Some(60.0), Some(64)),
        ];
        let svg = chart("depths", &depths).unwrap();
        assert!(svg.contains("blocks read ahead") && svg.contains("\n64\n"));
        let svg = chart("queries", &[memory, result(2, "other", None, None)]).unwrap();
        assert!(svg.contains("\nquery\n") && svg.contains("\nother\n"));
        assert!(chart("nothing", &[]).is_err());
    }
}
