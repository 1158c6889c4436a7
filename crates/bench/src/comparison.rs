//! Comparisons: variants, repeats and number of workers, as asked ([`Asked`]), and checked
//! ([`Comparison`]).

use std::time::Duration;

use crate::databases::Kind;
use crate::measure::{Certifier, Durability, Flusher, InFlight, Isolation};
use crate::mode::Mode;
use crate::variant::Variant;
use commands::Result;
use commands::number::{check_seconds, plural, within};

/// Request for a comparison. Empty lists stand for the default.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Modes to compare; all that are meaningful for the workload when empty.
    pub modes: Vec<Mode>,
    /// Isolation levels to compare; snapshot when empty.
    pub isolations: Vec<Isolation>,
    /// Certifiers to compare; the serial safety net when empty.
    pub certifiers: Vec<Certifier>,
    /// Durabilities to compare, for a database in a directory; none in memory.
    pub durabilities: Vec<Durability>,
    /// Writers of the log of a database in a directory, to be compared; the workers when empty.
    pub flushers: Vec<Flusher>,
    /// Whether transactions that only read are declared read-only.
    pub declare_read_only: bool,
    /// Number of worker threads.
    pub workers: u64,
    /// Transactions in flight per worker, in modes that have several.
    pub in_flight: InFlight,
    /// Seconds for each variant in each repeat.
    pub seconds: f64,
    /// Number of repeats.
    pub repeats: u64,
    /// Seed of every random choice.
    pub seed: u64,
}

impl Default for Asked {
    /// Returns every mode on one worker, with three repeats of a second.
    fn default() -> Self {
        Self {
            modes: Vec::new(),
            isolations: Vec::new(),
            certifiers: Vec::new(),
            durabilities: Vec::new(),
            flushers: Vec::new(),
            declare_read_only: false,
            workers: 1,
            in_flight: InFlight::Auto,
            seconds: 1.0,
            repeats: 3,
            seed: 1,
        }
    }
}

/// A checked comparison. Lists have at least one element, each once.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Modes to compare.
    pub modes: Vec<Mode>,
    /// Isolation levels to compare.
    pub isolations: Vec<Isolation>,
    /// Certifiers to compare.
    pub certifiers: Vec<Certifier>,
    /// Durabilities to compare.
    pub durabilities: Vec<Durability>,
    /// Writers of the log of a database in a directory.
    pub flushers: Vec<Flusher>,
    /// Whether transactions that only read are declared read-only.
    pub declare_read_only: bool,
    /// Number of worker threads, at least 1. The machine's limit is measured on as many.
    pub workers: usize,
    /// Transactions in flight per worker, in modes that have several.
    pub in_flight: InFlight,
    /// Time for each variant in each repeat.
    pub duration: Duration,
    /// Number of repeats, at least 1.
    pub repeats: u32,
    /// Seed of every random choice.
    pub seed: u64,
}

impl Asked {
    /// Returns the modes asked for, or else `all`: in canonical order, each once.
    pub fn modes_of(&self, all: &[Mode]) -> Vec<Mode> {
        let mut modes = match self.modes.is_empty() {
            true => all.to_vec(),
            false => self.modes.clone(),
        };
        modes.sort();
        modes.dedup();
        modes
    }

    /// Checks the request and completes it. Notes for the reader are added to `notes`, a sentence
    /// each.
    ///
    /// # Errors
    /// [`Error::Input`](commands::Error::Input) that says which value to change.
    pub fn check(self, modes: Vec<Mode>, notes: &mut Vec<String>) -> Result<Comparison> {
        check_seconds(&format!("--seconds {}", self.seconds), self.seconds)?;
        let isolations = each_once(self.isolations, Isolation::Snapshot);
        Ok(Comparison {
            modes,
            certifiers: certifiers(self.certifiers, &isolations, notes),
            isolations,
            durabilities: each_once(self.durabilities, Durability::Memory),
            flushers: each_once(self.flushers, Flusher::Workers),
            declare_read_only: self.declare_read_only,
            workers: within("--workers", self.workers, 1024)? as usize,
            in_flight: self.in_flight,
            duration: Duration::from_secs_f64(self.seconds),
            repeats: within("--repeats", self.repeats, 1000)? as u32,
            seed: self.seed,
        })
    }
}

impl Comparison {
    /// Returns the variants that are compared, in the order of the first repeat.
    pub fn variants(&self) -> Vec<Variant> {
        Variant::all(
            &self.modes,
            &self.isolations,
            &self.certifiers,
            &self.flushers,
            &self.durabilities,
        )
    }

    /// Returns a few words on the set-up: workers, in flight, isolation, durability.
    pub fn description(&self) -> String {
        format!(
            "{}, {} in flight, {}, {}",
            plural(self.workers as u64, "worker"),
            self.in_flight,
            names(&self.isolations, Isolation::name),
            names(&self.durabilities, Durability::name),
        )
    }

    /// Returns the kinds of databases that the comparison takes.
    pub fn databases(&self) -> Vec<Kind> {
        let of = |&certifier: &Certifier| {
            self.flushers
                .iter()
                .map(move |&flusher| Kind { certifier, flusher })
        };
        self.certifiers.iter().flat_map(of).collect()
    }
}

/// Returns the certifiers to compare, where a level is certified at all.
fn certifiers(
    asked: Vec<Certifier>,
    isolations: &[Isolation],
    notes: &mut Vec<String>,
) -> Vec<Certifier> {
    if isolations.contains(&Isolation::Serializable) {
        return each_once(asked, Certifier::Ssn);
    }
    if !asked.is_empty() {
        notes.push("--certifier has no effect without --isolation serializable".to_owned());
    }
    vec![Certifier::Ssn]
}

fn names<T: Copy>(of: &[T], name: fn(T) -> &'static str) -> String {
    let names: Vec<_> = of.iter().map(|&one| name(one)).collect();
    names.join(" and ")
}

/// Returns each element once, in the order asked for; without any, the default.
fn each_once<T: PartialEq>(asked: Vec<T>, default: T) -> Vec<T> {
    if asked.is_empty() {
        return vec![default];
    }
    let mut kept = Vec::new();
    for one in asked {
        if !kept.contains(&one) {
            kept.push(one);
        }
    }
    kept
}
