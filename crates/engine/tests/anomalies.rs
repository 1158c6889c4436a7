//! Anomalies that each isolation level allows or forbids, by name (those of Adya, of Berenson et
//! al., and of Fekete et al.): the table of `docs/design/isolation.md`.
//!
//! A scenario runs transactions by hand until they end and says whether the anomaly was observed.
//! At a level that allows the anomaly it must be observed, or the scenario would prove nothing at
//! the other levels.

mod phantoms;

use crate::by_hand;

use by_hand::Setup;
use engine::{Certifier, Isolation, Transaction, TransactionOptions};
use interleave::run_inline;

/// Column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    ReadCommitted,
    Snapshot,
    Ssn,
    Validation,
}

use Level::{ReadCommitted, Snapshot};

const LEVELS: [Level; 4] = [
    Level::ReadCommitted,
    Level::Snapshot,
    Level::Ssn,
    Level::Validation,
];

/// A database, with the level of its transactions.
struct At {
    setup: Setup,
    isolation: Isolation,
}

impl std::ops::Deref for At {
    type Target = Setup;

    fn deref(&self) -> &Setup {
        &self.setup
    }
}

impl At {
    fn new(level: Level) -> At {
        let (isolation, certifier) = match level {
            Level::ReadCommitted => (Isolation::ReadCommitted, Certifier::default()),
            Level::Snapshot => (Isolation::Snapshot, Certifier::default()),
            Level::Ssn => (Isolation::Serializable, Certifier::Ssn),
            Level::Validation => (Isolation::Serializable, Certifier::Validation),
        };
        At {
            setup: Setup::with(certifier),
            isolation,
        }
    }

    fn txn(&self) -> Transaction {
        self.begin(self.isolation)
    }

    fn read_only(&self) -> Transaction {
        self.begin(TransactionOptions {
            read_only: true,
            ..self.isolation.into()
        })
    }

    fn value(&self, txn: &Transaction, key: &str) -> String {
        self.get(txn, key).unwrap_or_default()
    }

    /// Returns the value of `key` in a new transaction.
    fn now(&self, key: &str) -> String {
        self.value(&self.begin(Isolation::Snapshot), key)
    }
}

fn commits(txn: Transaction) -> bool {
    run_inline(txn.commit()).is_ok()
}

/// Runs a scenario at every level. The anomaly must be observed at the levels that allow it, and
/// only there.
fn check(allowed: &[Level], scenario: impl Fn(&At) -> bool) {
    for level in LEVELS {
        let observed = scenario(&At::new(level));
        assert_eq!(observed, allowed.contains(&level), "{level:?}");
    }
}

const NOWHERE: &[Level] = &[];
const BELOW_SNAPSHOT: &[Level] = &[ReadCommitted];
const BELOW_SERIALIZABLE: &[Level] = &[ReadCommitted, Snapshot];

#[test]
fn g0_dirty_write() {
    check(NOWHERE, |s| {
        let (a, b) = (s.txn(), s.txn());
        let wrote = s.put(&a, "x", "a").is_ok()
            && s.put(&b, "x", "b").is_ok()
            && s.put(&b, "y", "b").is_ok()
            && s.put(&a, "y", "a").is_ok();
        wrote & commits(a) & commits(b) && s.now("x") != s.now("y")
    });
}

#[test]
fn g1a_aborted_read() {
    check(NOWHERE, |s| {
        let (a, b) = (s.txn(), s.txn());
        s.put(&a, "x", "a").unwrap();
        let before = s.value(&b, "x");
        a.rollback();
        let after = s.value(&b, "x");
        (before == "a" || after == "a") && commits(b)
    });
}

#[test]
fn g1b_intermediate_read() {
    check(NOWHERE, |s| {
        let (a, b) = (s.txn(), s.txn());
        s.put(&a, "x", "first").unwrap();
        let first = s.value(&b, "x");
        let long = "a second value that needs a larger block than the first one did";
        s.put(&a, "x", long).unwrap();
        let second = s.value(&b, "x");
        s.put(&a, "x", "last").unwrap();
        let ended = commits(a);
        (first == "first" || second == long) && ended && commits(b)
    });
}

#[test]
fn g1c_circular_information_flow() {
    check(NOWHERE, |s| {
        let (a, b) = (s.txn(), s.txn());
        s.put(&a, "x", "a").unwrap();
        s.put(&b, "y", "b").unwrap();
        let flows = s.value(&a, "y") == "b" && s.value(&b, "x") == "a";
        flows & commits(a) & commits(b)
    });
}

#[test]
fn otv_observed_transaction_vanishes() {
    check(NOWHERE, |s| {
        let (a, b, c) = (s.txn(), s.txn(), s.txn());
        s.put(&a, "x", "a").unwrap();
        s.put(&a, "y", "a").unwrap();
        let wrote = s.put(&b, "x", "b").is_ok();
        commits(a);
        let seen = s.value(&c, "x");
        let wrote = wrote && s.put(&b, "y", "b").is_ok();
        let ended = commits(b);
        wrote && ended && seen == "b" && s.value(&c, "y") == "a" && commits(c)
    });
}

#[test]
fn pmp_predicate_many_preceders() {
    check(BELOW_SNAPSHOT, |s| {
        let (a, b) = (s.txn(), s.txn());
        let before = s.keys(&a);
        s.insert(&b, "xx", "b").unwrap();
        assert!(commits(b));
        let after = s.keys(&a);
        before != after && commits(a)
    });
}

/// A predicate chooses the records to write, and does not hold for them any more.
#[test]
fn pmp_write_by_a_predicate_that_changed() {
    check(BELOW_SNAPSHOT, |s| {
        let (a, b) = (s.txn(), s.txn());
        let holds = s.value(&b, "x") == "0";
        s.put(&a, "x", "10").unwrap();
        assert!(commits(a));
        holds && s.delete(&b, "x") == Ok(true) && commits(b)
    });
}

#[test]
fn p4_lost_update() {
    check(BELOW_SNAPSHOT, |s| {
        let (a, b) = (s.txn(), s.txn());
        let read = (s.value(&a, "x"), s.value(&b, "x"));
        s.put(&a, "x", "a").unwrap();
        assert!(commits(a));
        read.0 == read.1 && s.put(&b, "x", "b").is_ok() && commits(b)
    });
}

#[test]
fn fuzzy_read() {
    check(BELOW_SNAPSHOT, |s| {
        let (a, b) = (s.txn(), s.txn());
        let before = s.value(&a, "x");
        s.put(&b, "x", "b").unwrap();
        assert!(commits(b));
        before != s.value(&a, "x") && commits(a)
    });
}

#[test]
fn g_single_read_skew() {
    check(BELOW_SNAPSHOT, |s| {
        let (a, b) = (s.txn(), s.txn());
        let x = s.value(&a, "x");
        s.put(&b, "x", "b").unwrap();
        s.put(&b, "y", "b").unwrap();
        assert!(commits(b));
        x != s.value(&a, "y") && commits(a)
    });
}

/// The second read is that of a write.
#[test]
fn g_single_read_skew_by_a_write() {
    check(BELOW_SNAPSHOT, |s| {
        let (a, b) = (s.txn(), s.txn());
        let x = s.value(&a, "x");
        s.put(&b, "x", "b").unwrap();
        s.put(&b, "y", "b").unwrap();
        assert!(commits(b));
        x == "0" && s.put(&a, "y", "a").is_ok() && commits(a)
    });
}

#[test]
fn g2_item_write_skew() {
    check(BELOW_SERIALIZABLE, |s| {
        let (a, b) = (s.txn(), s.txn());
        s.value(&a, "y");
        s.value(&b, "x");
        s.put(&a, "x", "a").unwrap();
        s.put(&b, "y", "b").unwrap();
        commits(a) & commits(b)
    });
}

/// Each transaction reads the record that the next one writes, and none reads its own writes.
#[test]
fn g2_item_around_three() {
    check(BELOW_SERIALIZABLE, |s| {
        s.put_at_once("z", "0");
        let (a, b, c) = (s.txn(), s.txn(), s.txn());
        s.value(&a, "x");
        s.value(&b, "y");
        s.value(&c, "z");
        s.put(&a, "y", "a").unwrap();
        s.put(&b, "z", "b").unwrap();
        s.put(&c, "x", "c").unwrap();
        commits(a) & commits(b) & commits(c)
    });
}

/// Runs the anomaly of Fekete, O'Neil, O'Neil: "A read-only transaction anomaly under snapshot
/// isolation": `x` is a checking account, `y` a savings account.
fn read_only_anomaly(s: &At, reader: impl Fn(&At) -> Transaction) -> bool {
    let (withdrawal, deposit) = (s.txn(), s.txn());
    s.value(&withdrawal, "x");
    s.value(&withdrawal, "y");
    s.value(&deposit, "y");
    s.put(&deposit, "y", "20").unwrap();
    let deposited = commits(deposit);
    let report = reader(s);
    let seen = (s.value(&report, "x"), s.value(&report, "y"));
    let reported = commits(report);
    s.put(&withdrawal, "x", "-11").unwrap();
    seen == ("0".into(), "20".into()) && deposited & reported & commits(withdrawal)
}

#[test]
fn read_only_anomaly_undeclared() {
    check(BELOW_SERIALIZABLE, |s| read_only_anomaly(s, At::txn));
}

#[test]
fn read_only_anomaly_declared() {
    check(BELOW_SERIALIZABLE, |s| read_only_anomaly(s, At::read_only));
}

/// A report of a batch that is closed, to which a receipt is added afterwards.
#[test]
fn read_only_anomaly_of_a_batch() {
    for declared in [false, true] {
        check(BELOW_SERIALIZABLE, |s| {
            let (receipt, close) = (s.txn(), s.txn());
            let batch = s.value(&receipt, "x");
            s.put(&close, "x", "1").unwrap();
            let closed = commits(close);
            let report = if declared { s.read_only() } else { s.txn() };
            assert_eq!(s.value(&report, "x"), "1");
            let receipts = s.keys_from(&report, "z");
            let reported = commits(report);
            s.insert(&receipt, &format!("z{batch}"), "").unwrap();
            receipts.is_empty() && closed & reported & commits(receipt)
        });
    }
}

/// The reader is still at work when the writer commits.
#[test]
fn read_only_anomaly_of_a_slow_reader() {
    for declared in [false, true] {
        check(&[Snapshot], |s| {
            let (a, b) = (s.txn(), s.txn());
            s.value(&a, "y");
            s.put(&b, "y", "b").unwrap();
            let first = commits(b);
            let report = if declared { s.read_only() } else { s.txn() };
            let y = s.value(&report, "y");
            s.put(&a, "x", "a").unwrap();
            let second = commits(a);
            let x = s.value(&report, "x");
            (y.as_str(), x.as_str()) == ("b", "0") && first & second & commits(report)
        });
    }
}

/// Not an anomaly: `a` comes before `b` in the serial order, although it commits later. The serial
/// safety net lets it pass.
#[test]
fn a_single_anti_dependency_is_refused_by_validation_alone() {
    check(&[ReadCommitted, Snapshot, Level::Ssn], |s| {
        let (a, b) = (s.txn(), s.txn());
        s.value(&a, "x");
        s.put(&b, "x", "b").unwrap();
        let first = commits(b);
        s.put(&a, "y", "a").unwrap();
        first & commits(a)
    });
}

/// `c` begins when `b` has committed, and must not come before it: but `c` comes before `a`, which
/// overwrites a record that `c` reads, and `a` before `b`, which overwrote a record that `a` read.
#[test]
fn real_time_order_is_kept() {
    check(BELOW_SERIALIZABLE, |s| {
        s.put_at_once("z", "0");
        let (a, b) = (s.txn(), s.txn());
        s.value(&a, "x");
        s.put(&b, "x", "b").unwrap();
        let first = commits(b);
        let c = s.txn();
        s.value(&c, "y");
        s.put(&a, "y", "a").unwrap();
        let second = commits(a);
        s.put(&c, "z", "c").unwrap();
        first & second & commits(c)
    });
}

/// A transaction that only reads blocks no other transaction, and none blocks it.
#[test]
fn readers_commit_at_every_level() {
    check(&LEVELS, |s| {
        let (a, b) = (s.txn(), s.read_only());
        s.value(&a, "x");
        s.value(&b, "x");
        s.put_at_once("x", "1");
        s.put_at_once("y", "1");
        s.value(&a, "y");
        s.value(&b, "y");
        s.keys(&b);
        commits(a) & commits(b)
    });
}

/// Blind writes have no order except that of their timestamps.
#[test]
fn writers_that_read_nothing_commit_at_every_level() {
    check(&LEVELS, |s| {
        let (a, b) = (s.txn(), s.txn());
        s.put(&a, "x", "a").unwrap();
        s.insert(&a, "a", "a").unwrap();
        s.put(&b, "y", "b").unwrap();
        s.insert(&b, "b", "b").unwrap();
        commits(a) & commits(b)
    });
}

/// A transaction overwrites a record that the other has committed since both began. Neither has
/// read anything: the later one may as well have begun later.
#[test]
fn writers_of_one_record_that_have_read_nothing_commit_at_every_level() {
    check(&LEVELS, |s| {
        let (a, b) = (s.txn(), s.txn());
        s.put(&a, "x", "a").unwrap();
        let first = commits(a);
        s.put(&b, "x", "b").unwrap();
        first & commits(b) && s.now("x") == "b"
    });
}

/// The transaction overwrites a record after reads of records that did not change.
#[test]
fn a_writer_that_has_read_what_is_current_commits_at_every_level() {
    check(&LEVELS, |s| {
        let (a, b) = (s.txn(), s.txn());
        s.value(&b, "y");
        s.put(&a, "x", "a").unwrap();
        let first = commits(a);
        s.put(&b, "x", "b").unwrap();
        first & commits(b) && s.now("x") == "b"
    });
}

/// A transaction's own insertions change the nodes that it read.
#[test]
fn own_insertions_are_no_phantoms() {
    check(&LEVELS, |s| {
        let a = s.txn();
        for number in 0..200 {
            let key = format!("k{number:03}");
            assert_eq!(s.get(&a, &key), None);
            assert_eq!(s.keys(&a).len(), 2 + number);
            s.insert(&a, &key, "").unwrap();
        }
        commits(a)
    });
}

#[test]
fn a_transaction_declared_read_only_cannot_write() {
    for level in LEVELS {
        let s = At::new(level);
        let a = s.read_only();
        assert!(a.is_read_only());
        assert_eq!(s.put(&a, "x", "a"), Err(engine::Error::ReadOnly));
        assert_eq!(s.insert(&a, "a", "a"), Err(engine::Error::ReadOnly));
        assert_eq!(s.update(&a, "x", "a"), Err(engine::Error::ReadOnly));
        assert_eq!(s.delete(&a, "x"), Err(engine::Error::ReadOnly));
        assert_eq!(s.value(&a, "x"), "0");
        assert!(commits(a));
    }
}
