//! An experiment's results as a chart in the form of its figure.

use super::{Findings, Quantity, Series};
use bench::measure::Spread;
use bench::report::{Line, LineChart, line_chart};
use commands::Result;

/// Draws the quantity of each series against the quantity that was varied: as a multiple of the
/// first series where the paper does so.
///
/// # Errors
/// [`Error::Run`](commands::Error::Run) when there is nothing to draw.
pub fn chart(findings: &Findings) -> Result<String> {
    let experiment = findings.experiment;
    let base = &experiment.series[0];
    let value = |series: &Series| -> Vec<Option<Spread>> {
        let points = findings.points.iter();
        let values = points.map(|point| match experiment.relative {
            true => point.ratio(experiment.quantity, series, base),
            false => Some(readable(
                experiment.quantity,
                point.value(experiment.quantity, series)?,
            )),
        });
        values.collect()
    };
    let y_title = match experiment.relative {
        true => format!("times {}", base.name()),
        false => experiment.quantity.title().to_owned(),
    };
    line_chart(&LineChart {
        title: format!("{}: {}", experiment.source(), experiment.title),
        x_title: experiment.x.title.to_owned(),
        x_labels: findings.labels(),
        y_title,
        lines: experiment
            .series
            .iter()
            .map(|series| Line {
                name: series.name(),
                values: value(series),
            })
            .collect(),
    })
}

/// Returns `spread` in the unit that people read.
fn readable(quantity: Quantity, spread: Spread) -> Spread {
    Spread {
        median: quantity.readable(spread.median),
        min: quantity.readable(spread.min),
        max: quantity.readable(spread.max),
    }
}
