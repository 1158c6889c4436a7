//! The anomaly that SmallBank is known for.
//!
//! | check | savings | balance |
//! | --- | --- | --- |
//! | begins, reads savings and checking | | |
//! | | everything is withdrawn | |
//! | | | sees that nothing is left to cover the check |
//! | clears the check without penalty | | |
//!
//! The check comes before the withdrawal, whose effect it has not seen; the withdrawal
//! before the balance, which has; and the balance before the check, for the same reason.

use weft::{BlockingTransaction, Database, Options, Transaction};

use super::{ACCOUNTS, STRIPE, cents, give};
use crate::application::trial::{assert_violates, inconsistencies, loaded, options};
use crate::application::{Application, Reads};
use crate::smallbank::{Request, Settings, SmallBank};

const CHECK: Request = Request::WriteCheck {
    customer: 0,
    cents: 60,
    stripe: (0, 0),
    noted: true,
};

fn bank(isolation: weft::Isolation) -> (Database, SmallBank) {
    let settings = Settings {
        accounts: ACCOUNTS,
        statements: true,
        ..Settings::default()
    };
    let options = Options {
        isolation,
        ..options()
    };
    let (database, bank) = loaded(&settings, options);
    // Another customer's balance makes up for it, so all conditions hold.
    let all = cents(&database, &bank, 0);
    let [savings, checking] = cents(&database, &bank, 1);
    give(&database, &bank, 0, [100, 0]);
    give(
        &database,
        &bank,
        1,
        [savings + all[0] - 100, checking + all[1]],
    );
    (database, bank)
}

fn execute(txn: &BlockingTransaction, bank: &SmallBank, request: Request) -> weft::Result<u32> {
    let bank = bank.clone();
    txn.call(async move |txn: &Transaction| bank.execute(txn, &request, Reads::Single).await)
}

/// Runs the schedule; fails if the check was not cleared.
fn skewed(database: &Database, bank: &SmallBank) -> weft::Result<()> {
    let check = database.begin_blocking().unwrap();
    assert!(check.get(&bank.savings, &0).unwrap().is_some());

    let withdrawal = database.begin_blocking().unwrap();
    let all = Request::TransactSavings {
        customer: 0,
        cents: -100,
        stripe: STRIPE,
    };
    execute(&withdrawal, bank, all).unwrap();
    withdrawal.commit().unwrap();

    let balance = database.begin_blocking().unwrap();
    let told = Request::Balance {
        customer: 0,
        statement: true,
    };
    execute(&balance, bank, told).unwrap();
    balance.commit().unwrap();

    execute(&check, bank, CHECK)?;
    check.commit()
}

#[test]
fn at_snapshot_isolation_a_check_is_cleared_that_a_balance_said_is_not_covered() {
    let (database, bank) = bank(weft::Isolation::Snapshot);
    skewed(&database, &bank).unwrap();
    assert_eq!(cents(&database, &bank, 0), [0, -60], "without penalty");
    assert_violates(&database, &bank, "statements");
}

#[test]
fn at_serializable_it_is_run_again_and_fined() {
    let (database, bank) = bank(weft::Isolation::Serializable);
    let error = skewed(&database, &bank).unwrap_err();
    assert!(error.is_retryable(), "{error}");
    assert_eq!(cents(&database, &bank, 0), [0, 0]);

    let again = database.begin_blocking().unwrap();
    execute(&again, &bank, CHECK).unwrap();
    again.commit().unwrap();
    assert_eq!(cents(&database, &bank, 0), [0, -160], "with penalty");
    assert_eq!(inconsistencies(&database, &bank), Vec::<String>::new());
}
