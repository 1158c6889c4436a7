//! Results of an experiment.

use super::{Experiment, Planned, Quantity, Series};
use bench::measure::{Measurement, Spread, Summary};
use bench::runner::Outcome;

/// Results of an experiment.
#[derive(Debug)]
pub struct Findings {
    /// The experiment.
    pub experiment: &'static Experiment,
    /// Results by the values of its axis, in their order.
    pub points: Vec<Point>,
}

/// Results at one value of the axis.
#[derive(Debug)]
pub struct Point {
    /// Value of the axis.
    pub x: f64,
    /// Runs at this value, and their results.
    pub runs: Vec<(Planned, Outcome)>,
}

impl Findings {
    /// Returns whether every answer was right.
    pub fn verified(&self) -> bool {
        let runs = self.points.iter().flat_map(|point| &point.runs);
        runs.into_iter().all(|(_, outcome)| outcome.verified())
    }

    /// Returns the values of the axis as people write them.
    pub fn labels(&self) -> Vec<String> {
        let axis = &self.experiment.x;
        let points = self.points.iter();
        points.map(|point| axis.label(point.x)).collect()
    }

    /// Returns a row of the experiment's table: the value of `series` at each value of the axis,
    /// relative to the first series.
    pub(super) fn cells(&self, series: &Series) -> Vec<String> {
        let quantity = self.experiment.quantity;
        let base = &self.experiment.series[0];
        let cell = |point: &Point| {
            let value = quantity.readable(point.value(quantity, series)?.median);
            let value = match quantity {
                Quantity::Operations => format!("{value:.2}"),
                Quantity::Transactions | Quantity::Latency => format!("{value:.1}"),
            };
            let ratio = point
                .ratio(quantity, series, base)
                .filter(|_| series != base);
            Some(match ratio {
                Some(ratio) => format!("{value} ({:.2})", ratio.median),
                None => value,
            })
        };
        let points = self.points.iter();
        points
            .map(|point| cell(point).unwrap_or_else(|| "-".to_owned()))
            .collect()
    }

    /// Returns a line that describes the runs: the plan at the axis's first value, which stands for
    /// the others.
    pub fn description(&self) -> String {
        let first = self.points.first().and_then(|point| point.runs.first());
        first.map_or_else(String::new, |(plan, _)| {
            format!(
                "{}; {} s for each series, {} repeats",
                plan.description(),
                plan.comparison().duration.as_secs_f64(),
                plan.comparison().repeats
            )
        })
    }
}

impl Point {
    /// Returns the results of `series`. A series with one transaction at a time may have been
    /// measured several times; the first measurement counts.
    pub fn summary(&self, series: &Series) -> Option<&Summary> {
        let summaries = self.runs.iter().flat_map(|(_, run)| &run.summaries);
        summaries
            .into_iter()
            .find(|summary| series.has(&summary.median))
    }

    /// Returns a quantity of a series, over the repeats.
    pub fn value(&self, quantity: Quantity, series: &Series) -> Option<Spread> {
        let mut runs = self.runs.iter();
        runs.find_map(|(_, outcome)| {
            let values = each(outcome, series).map(|one| Some(quantity.of(one?)));
            values
                .collect::<Option<Vec<_>>>()
                .filter(|values| !values.is_empty())
                .map(|values| Spread::of(&values))
        })
    }

    /// Returns the ratio of a quantity between the series `of` and `by`, taken within each repeat
    /// of a run that has both.
    pub fn ratio(&self, quantity: Quantity, of: &Series, by: &Series) -> Option<Spread> {
        let mut runs = self.runs.iter();
        runs.find_map(|(_, outcome)| {
            let ratios = each(outcome, of)
                .zip(each(outcome, by))
                .map(|(of, by)| Some(quantity.of(of?) / quantity.of(by?)));
            ratios
                .collect::<Option<Vec<_>>>()
                .filter(|ratios| !ratios.is_empty())
                .map(|ratios| Spread::of(&ratios))
        })
    }
}

/// Returns the measurements of a series, repeat by repeat.
fn each<'a>(
    outcome: &'a Outcome,
    series: &'a Series,
) -> impl Iterator<Item = Option<&'a Measurement>> {
    let repeats = outcome.repeats.iter();
    repeats.map(move |repeat| repeat.iter().find(|one| series.has(one)))
}
