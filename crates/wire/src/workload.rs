//! Workloads by their names.

use std::str::FromStr;

use serde::Serialize;

use crate::facts::{FactQuery, Facts};
use crate::pgbench::{Pgbench, Transactions};
use crate::{Settings, facts};
use applications::tpcc;
use commands::{Error, Result};
use servers::Workload;

/// The name of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One client that asks for the number 1: a round trip.
    SelectOne,
    /// pgbench's select-only transaction: one account by its key.
    SelectOnly,
    /// pgbench's TPC-B-like transaction: an account, a teller and a branch changed, and a line of
    /// history.
    Tpcb,
    /// TPC-C's five transactions.
    Tpcc,
    /// TPC-C's five transactions, with statements that are sent together.
    TpccPipelined,
    /// All rows of a table, filtered and summed up.
    Scan,
    /// Three tables joined and grouped.
    Join,
    /// A tenth of a table's rows, found by keys that another table has.
    IndexJoin,
}

impl Kind {
    /// Every workload with its name on the command line and in results.
    const NAMES: [(Self, &str); 8] = [
        (Self::SelectOne, "select-one"),
        (Self::SelectOnly, "select-only"),
        (Self::Tpcb, "tpcb"),
        (Self::Tpcc, "tpcc"),
        (Self::TpccPipelined, "tpcc-pipelined"),
        (Self::Scan, "scan"),
        (Self::Join, "join"),
        (Self::IndexJoin, "index-join"),
    ];
}

impl FromStr for Kind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        named(text, &Self::NAMES, "workload")
    }
}

/// Protocols by which pgbench's statements are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Protocol {
    /// Prepared once, with parameters in binary form.
    Prepared,
    /// Sent with each execution, with parameters, under no name: the way of drivers that do not
    /// prepare.
    Unnamed,
    /// As text, each time.
    Simple,
}

impl Protocol {
    const NAMES: [(Self, &str); 3] = [
        (Self::Prepared, "prepared"),
        (Self::Unnamed, "unnamed"),
        (Self::Simple, "simple"),
    ];
}

impl FromStr for Protocol {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        named(text, &Self::NAMES, "protocol")
    }
}

fn named<T: Copy>(text: &str, all: &[(T, &str)], what: &str) -> Result<T> {
    let found = all.iter().find(|(_, name)| *name == text);
    found.map(|(one, _)| *one).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(_, name)| *name).collect();
        let names = names.join(", ");
        Error::input(format!("`{text}` is no {what}; choose from {names}"))
    })
}

/// Returns the workloads of `settings`, those of pgbench once by each protocol.
pub(super) fn all(settings: &Settings) -> Vec<Box<dyn Workload>> {
    let mut all: Vec<Box<dyn Workload>> = Vec::new();
    let pgbench = |transactions| {
        let protocols = settings.protocols.iter();
        protocols.map(move |&protocol| -> Box<dyn Workload> {
            Box::new(Pgbench {
                scale: settings.scale,
                transactions,
                protocol,
            })
        })
    };
    let facts = |query| -> Box<dyn Workload> {
        let facts = Facts::new(settings.rows);
        Box::new(facts::Queries { facts, query })
    };
    for kind in &settings.workloads {
        match kind {
            Kind::SelectOne => all.push(facts(FactQuery::One)),
            Kind::SelectOnly => all.extend(pgbench(Transactions::SelectOnly)),
            Kind::Tpcb => all.extend(pgbench(Transactions::Tpcb)),
            Kind::Tpcc => all.push(Box::new(tpcc::wire::Wire::new(&settings.tpcc, false))),
            Kind::TpccPipelined => all.push(Box::new(tpcc::wire::Wire::new(&settings.tpcc, true))),
            Kind::Scan => all.push(facts(FactQuery::Scan)),
            Kind::Join => all.push(facts(FactQuery::Join)),
            Kind::IndexJoin => all.push(facts(FactQuery::IndexJoin)),
        }
    }
    all
}
