//! A number that a paper gives, and its counterpart here.

use super::{Findings, Series};

/// A number as the text of a paper has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Approximately this number, rounded as its authors did.
    About(f64),
    /// The greatest of several numbers.
    UpTo(f64),
    /// Several numbers, from the least to the greatest.
    Between(f64, f64),
    /// More than this number: the text says that one is ahead, not by how much.
    Above(f64),
    /// Less than this number.
    Below(f64),
}

impl std::fmt::Display for Value {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::About(value) => write!(formatter, "{value}"),
            Self::UpTo(value) => write!(formatter, "up to {value}"),
            Self::Between(low, high) => write!(formatter, "{low} to {high}"),
            Self::Above(value) => write!(formatter, "above {value}"),
            Self::Below(value) => write!(formatter, "below {value}"),
        }
    }
}

/// The values of the axis that a published number belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// All values.
    Every,
    /// The first value.
    First,
    /// The last value.
    Last,
    /// The value where the ratio is greatest.
    Greatest,
    /// The value where the ratio is least.
    Least,
}

/// A published ratio between two series.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// Series of the numerator.
    pub of: Series,
    /// Series of the denominator.
    pub by: Series,
    /// The paper's ratio.
    pub value: Value,
    /// Places on our axis to look for the counterpart.
    pub at: At,
    /// Conditions of the paper's number, and its place in the text.
    pub setting: &'static str,
}

impl Published {
    /// Returns the names of the compared series in the paper's words.
    pub fn what(&self) -> String {
        let name = |series: &Series| match series.paper {
            Some(paper) => series.with_isolation(paper),
            None => series.name(),
        };
        format!("{} / {}", name(&self.of), name(&self.by))
    }

    /// Returns the names of the compared series in our words.
    pub fn ours(&self) -> String {
        format!("{} / {}", self.of.name(), self.by.name())
    }

    /// Returns the ratio that was found here, with the place on the axis.
    pub fn found(&self, findings: &Findings) -> String {
        let axis = &findings.experiment.x;
        let quantity = findings.experiment.quantity;
        let ratios: Vec<_> = findings
            .points
            .iter()
            .filter_map(|point| Some((point.x, point.ratio(quantity, &self.of, &self.by)?.median)))
            .collect();
        let least = ratios.iter().min_by(|a, b| a.1.total_cmp(&b.1));
        let greatest = ratios.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let one = |found: Option<&(f64, f64)>| {
            found.map_or("-".to_owned(), |&(x, ratio)| {
                format!("{ratio:.2} ({} {})", axis.title, axis.label(x))
            })
        };
        match self.at {
            At::First => one(ratios.first()),
            At::Last => one(ratios.last()),
            At::Greatest => one(greatest),
            At::Least => one(least),
            At::Every => match (least, greatest) {
                (Some(least), Some(greatest)) if ratios.len() > 1 => {
                    format!("{:.2} to {:.2}", least.1, greatest.1)
                }
                _ => one(least),
            },
        }
    }
}
