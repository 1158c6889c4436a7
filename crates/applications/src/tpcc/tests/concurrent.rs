//! Many transactions at once, on few and hot records: all conditions hold, whichever transactions
//! are aborted and run again.

use std::collections::VecDeque;

use weft::{Interleaved, OnConflict, Prefetching, Running, Sequential};

use super::*;
use crate::application::{Request as _, rolled_back};

/// Number of transactions under way.
const OPEN: usize = 24;

/// Runs `count` transactions, many of which are under way at once. Half of them group their reads.
pub(super) fn work<P: Policy>(
    database: &Database,
    tpcc: &Tpcc,
    isolation: Isolation,
    count: usize,
) {
    let mut sources = [tpcc.source(0, 2, 42), tpcc.source(1, 2, 42)];
    let mut open: VecDeque<Running<u32>> = VecDeque::new();
    let end = |running: Running<u32>| {
        if let Err(error) = running.wait() {
            assert_eq!(error.to_string(), rolled_back().to_string());
        }
    };
    for number in 0..count {
        let request = sources[number % 2]();
        let reads = match number / 2 % 2 {
            0 => Reads::Single,
            _ => Reads::Grouped,
        };
        let tpcc = tpcc.clone();
        let options = weft::TransactionOptions {
            read_only: request.only_reads(),
            ..isolation.into()
        };
        let execute = async move |txn: &Transaction<P>| tpcc.execute(txn, &request, reads).await;
        open.push_back(database.run_with(options, execute));
        if open.len() >= OPEN {
            open.pop_front().into_iter().for_each(end);
        }
    }
    open.into_iter().for_each(end);
}

fn all_hold(database: &Database, tpcc: &Tpcc) {
    assert_eq!(inconsistencies(database, tpcc), Vec::<String>::new());
    let indexes = &tpcc.indexes;
    for report in [
        database.check_index(&indexes.customers_by_name).wait(),
        database.check_index(&indexes.orders_of_customer).wait(),
    ] {
        let report = report.unwrap();
        assert_eq!(report.flaw_count, 0);
        assert_eq!(report.entries, report.records);
    }
}

fn at(isolation: Isolation) {
    for on_conflict in [OnConflict::Abort, OnConflict::Wait] {
        for warehouses in [1, 2] {
            let options = Options {
                on_conflict,
                ..in_memory(2)
            };
            let (database, tpcc) = load(&tiny(warehouses), options);
            work::<Interleaved>(&database, &tpcc, isolation, 600);
            all_hold(&database, &tpcc);
        }
    }
}

#[test]
fn at_read_committed() {
    at(Isolation::ReadCommitted);
}

#[test]
fn at_snapshot() {
    at(Isolation::Snapshot);
}

#[test]
fn at_serializable() {
    at(Isolation::Serializable);
}

#[test]
fn serializable_by_validation() {
    let options = Options {
        certifier: weft::Certifier::Validation,
        ..in_memory(2)
    };
    let (database, tpcc) = load(&tiny(1), options);
    work::<Interleaved>(&database, &tpcc, Isolation::Serializable, 600);
    all_hold(&database, &tpcc);
}

#[test]
fn under_every_policy() {
    let (database, tpcc) = load(&tiny(1), in_memory(2));
    work::<Sequential>(&database, &tpcc, Isolation::Snapshot, 300);
    work::<Prefetching>(&database, &tpcc, Isolation::Snapshot, 300);
    all_hold(&database, &tpcc);
}

/// Conditions hold at any snapshot, also while transactions run.
#[test]
fn while_transactions_run() {
    let (database, tpcc) = load(&tiny(2), in_memory(2));
    for _ in 0..5 {
        let ours = tpcc.clone();
        let check = async move |txn: &Transaction| ours.inconsistencies(txn).await;
        let check = database.run_with(Isolation::Snapshot, check);
        work::<Interleaved>(&database, &tpcc, Isolation::Snapshot, 200);
        assert_eq!(check.wait().unwrap(), Vec::<String>::new());
    }
}
