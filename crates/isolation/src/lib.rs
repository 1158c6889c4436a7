//! A black-box checker of transaction histories.
//!
//! Told what each transaction of a run read and wrote, and nothing else, it infers
//! which transaction must have come before which, and looks for cycles: proofs that the
//! run was not serializable, or not even one of a weaker level. The method is Elle's
//! (Kingsbury and Alvaro, *Elle: Inferring Isolation Anomalies from Experimental
//! Observations*, VLDB 2020); here ranges are read as well, so that phantoms are found.
//!
//! ```
//! use isolation::{Isolation, Level, check, history};
//!
//! // Two transactions find both lists empty, and each appends to another one.
//! let lines = r#"{"weft-history":1}
//! {"number":1,"process":1,"begun":1,"ended":9,"outcome":"committed","operations":[{"op":"read","key":7,"found":null,"ended":3},{"op":"append","key":8,"element":1,"onto":[],"ended":5}]}
//! {"number":2,"process":2,"begun":2,"ended":10,"outcome":"committed","operations":[{"op":"read","key":8,"found":null,"ended":4},{"op":"append","key":7,"element":1,"onto":[],"ended":6}]}"#;
//! let (_, transactions) = history::read(lines.as_bytes())?;
//! let verdict = check(&transactions);
//! assert!(verdict.satisfies(Level::strict(Isolation::Snapshot)));
//! let serializable = Level::of(Isolation::Serializable);
//! let (anomaly, found) = verdict.forbidden(serializable).next().unwrap();
//! assert_eq!(anomaly.name(), "G2-item");
//! println!("{}", found.examples[0].explain(&transactions));
//! # Ok::<(), history::FileError>(())
//! ```
//!
//! | subject | place |
//! | --- | --- |
//! | histories and their files | [`history`] |
//! | reads and writes; anomalies of single reads | `observations.rs` |
//! | the order of each record's versions | `versions.rs` |
//! | dependencies between transactions; lost updates | `dependencies.rs` |
//! | order of processes and of time | `order.rs` |
//! | cycles | `cycles.rs` |
//! | generated transactions | [`generate`] |
//! | names, and the levels that forbid them | [`Anomaly`], [`Level`] |
//! | findings, in words and drawn | [`Verdict`], [`Finding`] |
//!
//! The whole design is in `docs/design/isolation-checking.md`.

mod anomaly;
mod cycles;
mod dependencies;
mod explain;
pub mod generate;
mod graph;
pub mod history;
mod level;
mod observations;
mod order;
mod verdict;
mod versions;

pub use anomaly::{Anomaly, Cycle, Order};
pub use level::{Isolation, Level};
pub use verdict::{Edges, Finding, Found, Verdict, check};

/// A map with the same order of iteration in every run, so that findings are the
/// same.
type Map<K, V> =
    std::collections::HashMap<K, V, std::hash::BuildHasherDefault<std::hash::DefaultHasher>>;

#[cfg(test)]
mod tests;
