//! Results as a chart: nanoseconds by the quantity that was varied.

use super::experiment_of;
use crate::join::{Experiment, Join, Technique};
use bench::measure::Spread;
use bench::report::{Line, LineChart, line_chart};
use commands::Result;
use commands::number::{bytes_text, short_count};

/// Draws results of one experiment as SVG, `title` above them: nanoseconds of a lookup by group
/// size, size of the structure or length of the list, whichever was varied.
///
/// # Errors
/// [`Error::Input`](commands::Error::Input) when the results are of several experiments,
/// [`Error::Run`](commands::Error::Run) when there is nothing to draw.
pub fn chart(title: &str, results: &[Join]) -> Result<String> {
    let experiment = experiment_of(results)?;
    let varies = |of: &dyn Fn(&Join) -> u64| results.iter().any(|one| of(one) != of(&results[0]));
    let (x_title, place, label): (_, Place, fn(u64) -> String) =
        if experiment == Experiment::GroupSizes {
            // A result without a group, or with one that was found automatically, is the same at
            // each place of the axis.
            (
                "lookups in flight",
                |one| {
                    one.group
                        .filter(|_| one.mode != Technique::Auto)
                        .map(|it| it as u64)
                },
                short_count,
            )
        } else if !varies(&|one| one.bytes) && varies(&|one| one.list as u64) {
            ("keys in a list", |one| Some(one.list as u64), short_count)
        } else {
            ("bytes of the structure", |one| Some(one.bytes), bytes_text)
        };
    let mut axis: Vec<u64> = results.iter().filter_map(place).collect();
    axis.sort_unstable();
    axis.dedup();
    line_chart(&LineChart {
        title: title.to_owned(),
        x_title: x_title.to_owned(),
        x_labels: axis.iter().map(|&at| label(at)).collect(),
        y_title: "nanoseconds per lookup".to_owned(),
        lines: lines(results, &axis, place),
    })
}

/// Returns the place of a result on the axis; `None` for every place.
type Place = fn(&Join) -> Option<u64>;

fn lines(results: &[Join], axis: &[u64], place: Place) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let several = results
        .iter()
        .any(|one| one.structure != results[0].structure);
    for one in results {
        let name = match several {
            true => format!("{}, {}", one.structure, one.mode.name()),
            false => one.mode.name().to_owned(),
        };
        let line = match lines.iter().position(|line| line.name == name) {
            Some(line) => line,
            None => {
                let values: Vec<Option<Spread>> = vec![None; axis.len()];
                lines.push(Line { name, values });
                lines.len() - 1
            }
        };
        for (at, value) in axis.iter().zip(&mut lines[line].values) {
            if place(one).is_none_or(|place| place == *at) && value.is_none() {
                *value = Some(one.nanoseconds_per_lookup);
            }
        }
    }
    lines
}
