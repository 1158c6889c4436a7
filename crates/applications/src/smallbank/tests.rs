//! A bank of few customers.

mod skew;

use weft::{Database, Policy, Transaction};

use super::load::openings;
use super::source::STRIPES;
use super::{Holding, Hotspot, KINDS, Request, Settings, SmallBank, name};
use crate::application::trial::{
    ask, assert_damage_violates, assert_violates, inconsistencies, options, run_together,
};
use crate::application::{Application, Reads, trial};
use bench::measure::Isolation;

const ACCOUNTS: u64 = 20;
const STRIPE: (u32, u32) = (1, STRIPES - 1);

fn settings() -> Settings {
    Settings {
        accounts: ACCOUNTS,
        ..Settings::default()
    }
}

fn bank() -> (Database, SmallBank) {
    trial::loaded(&settings(), options())
}

async fn holdings<P: Policy>(
    txn: &Transaction<P>,
    bank: &SmallBank,
    customer: u64,
) -> weft::Result<[Holding; 2]> {
    let savings = txn.get(&bank.savings, &customer).await?;
    let checking = txn.get(&bank.checking, &customer).await?;
    Ok([savings.unwrap(), checking.unwrap()])
}

/// Returns savings and checking of a customer, in cents.
fn cents(database: &Database, bank: &SmallBank, customer: u64) -> [i64; 2] {
    let both = ask(
        database,
        bank,
        async move |txn: &Transaction, bank: &SmallBank| holdings(txn, bank, customer).await,
    );
    both.map(|holding| holding.cents.get())
}

/// Gives a customer other balances, without a source or a destination of the money.
fn give(database: &Database, bank: &SmallBank, customer: u64, cents: [i64; 2]) {
    ask(
        database,
        bank,
        async move |txn: &Transaction, bank: &SmallBank| {
            let [savings, checking] = cents.map(Holding::opening);
            txn.update(&bank.savings, &customer, &savings).await?;
            txn.update(&bank.checking, &customer, &checking).await
        },
    );
}

#[test]
fn names_sort_as_customers_do() {
    assert_eq!(&name(0), b"C000000000000000");
    assert_eq!(&name(1_234_567), b"C000000001234567");
    assert!(name(9) < name(10));
}

#[test]
fn a_loaded_bank_meets_its_conditions() {
    let (database, bank) = bank();
    assert_eq!(inconsistencies(&database, &bank), Vec::<String>::new());
    for customer in 0..ACCOUNTS {
        let loaded = cents(&database, &bank, customer);
        assert_eq!(loaded, openings(customer));
        for balance in loaded {
            assert!((1_000_000..=5_000_000).contains(&balance), "{balance}");
        }
    }
    assert_ne!(openings(0), openings(1));
}

#[test]
fn each_transaction_does_what_it_says() {
    let [s0, c0] = openings(0);
    let [s1, c1] = openings(1);
    let deposit = Request::DepositChecking {
        customer: 0,
        cents: 130,
        stripe: STRIPE,
    };
    let withdrawal = Request::TransactSavings {
        customer: 0,
        cents: -20,
        stripe: STRIPE,
    };
    let check = Request::WriteCheck {
        customer: 0,
        cents: 500,
        stripe: STRIPE,
        noted: false,
    };
    let payment = Request::SendPayment {
        from: 0,
        to: 1,
        cents: 500,
    };
    let amalgamation = Request::Amalgamate { from: 0, to: 1 };
    for reads in [Reads::Single, Reads::Grouped] {
        for (request, [zero, one]) in [
            (deposit, [[s0, c0 + 130], [s1, c1]]),
            (withdrawal, [[s0 - 20, c0], [s1, c1]]),
            (check, [[s0, c0 - 500], [s1, c1]]),
            (payment, [[s0, c0 - 500], [s1, c1 + 500]]),
            (amalgamation, [[0, 0], [s1, c1 + s0 + c0]]),
        ] {
            let (database, bank) = bank();
            assert!(trial::execute(&database, &bank, request, reads));
            assert_eq!(cents(&database, &bank, 0), zero, "{request:?}");
            assert_eq!(cents(&database, &bank, 1), one, "{request:?}");
            let found = inconsistencies(&database, &bank);
            assert_eq!(found, Vec::<String>::new(), "{request:?}");
        }
    }
}

#[test]
fn a_balance_is_of_both_holdings() {
    let (database, bank) = bank();
    let told = ask(
        &database,
        &bank,
        async |txn: &Transaction, bank: &SmallBank| {
            bank.teller(txn, Reads::Single).balance(3, false).await
        },
    );
    assert_eq!(told, openings(3).into_iter().sum::<i64>());
}

#[test]
fn who_has_not_enough_is_refused_or_fined() {
    let (database, bank) = bank();
    give(&database, &bank, 0, [100, 50]);
    let requests = [
        Request::SendPayment {
            from: 0,
            to: 1,
            cents: 51,
        },
        Request::TransactSavings {
            customer: 0,
            cents: -101,
            stripe: STRIPE,
        },
    ];
    for request in requests {
        assert!(!trial::execute(&database, &bank, request, Reads::Single));
        assert_eq!(cents(&database, &bank, 0), [100, 50]);
    }
    let check = |cents| Request::WriteCheck {
        customer: 0,
        cents,
        stripe: STRIPE,
        noted: false,
    };
    assert!(trial::execute(&database, &bank, check(150), Reads::Single));
    assert_eq!(cents(&database, &bank, 0), [100, -100], "it was covered");
    assert!(trial::execute(&database, &bank, check(1), Reads::Single));
    assert_eq!(cents(&database, &bank, 0), [100, -201], "a fine of 100");
}

#[test]
fn money_from_nowhere_is_found() {
    let (database, bank) = bank();
    let [savings, checking] = openings(7);
    give(&database, &bank, 7, [savings, checking + 1]);
    assert_violates(&database, &bank, "money");
}

#[test]
fn savings_below_zero_are_found() {
    let (database, bank) = bank();
    let [savings, checking] = openings(7);
    give(&database, &bank, 7, [-1, savings + checking + 1]);
    assert_violates(&database, &bank, "savings");
}

#[test]
fn a_lost_account_is_found() {
    assert_damage_violates(
        bank(),
        "accounts",
        async |txn: &Transaction, bank: &SmallBank| {
            txn.delete(&bank.accounts, &name(ACCOUNTS - 1)).await
        },
    );
}

#[test]
fn an_account_of_somebody_else_is_found() {
    assert_damage_violates(
        bank(),
        "accounts",
        async |txn: &Transaction, bank: &SmallBank| txn.update(&bank.accounts, &name(4), &5).await,
    );
}

#[test]
fn a_holding_of_nobody_is_found() {
    assert_damage_violates(
        bank(),
        "accounts",
        async |txn: &Transaction, bank: &SmallBank| {
            let nothing = Holding::opening(0);
            txn.insert(&bank.checking, &ACCOUNTS, &nothing).await
        },
    );
}

#[test]
fn conditions_hold_at_every_level_however_transactions_meet() {
    run_together::<SmallBank>(&settings(), &Isolation::ALL, 1000);
}

#[test]
fn statements_can_be_ordered_if_transactions_can() {
    let settings = Settings {
        accounts: 5,
        statements: true,
        ..Settings::default()
    };
    run_together::<SmallBank>(&settings, &[Isolation::Serializable], 2000);
}

#[test]
fn requests_are_the_same_for_the_same_seed_and_worker() {
    let (_database, bank) = bank();
    let draw = |worker, seed| {
        let mut source = bank.source(worker, 2, seed);
        (0..100).map(|_| source()).collect::<Vec<_>>()
    };
    assert_eq!(draw(0, 1), draw(0, 1));
    assert_ne!(draw(0, 1), draw(1, 1));
    assert_ne!(draw(0, 1), draw(0, 2));
}

#[test]
fn the_mix_and_the_hotspot_are_as_asked() {
    let settings = Settings {
        accounts: 1000,
        mix: Settings::parse_mix("balance=1,send_payment=3").unwrap(),
        hotspot: Some(Hotspot {
            share: 0.9,
            accounts: 10,
        }),
        statements: false,
    };
    let mut requests = super::source::requests(&settings, 0, 1);
    let (mut balances, mut hot) = (0, 0);
    for _ in 0..10_000 {
        let customer = match requests() {
            Request::Balance { customer, .. } => {
                balances += 1;
                customer
            }
            Request::SendPayment { from, to, .. } => {
                assert!(from != to && to < 1000);
                from
            }
            other => panic!("{other:?}"),
        };
        hot += u32::from(customer < 10);
    }
    assert!((2_300..2_700).contains(&balances), "{balances}");
    assert!((8_800..9_200).contains(&hot), "{hot}");
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    let hotspot = |share, accounts| Settings {
        hotspot: Some(Hotspot { share, accounts }),
        ..settings()
    };
    let few = Settings {
        accounts: 1,
        ..settings()
    };
    for (settings, named) in [
        (few, "1 accounts"),
        (hotspot(1.5, 3), "share 1.5"),
        (hotspot(f64::NAN, 3), "share NaN"),
        (hotspot(0.5, 0), "give 1 to 19"),
        (hotspot(0.5, ACCOUNTS), "give 1 to 19"),
    ] {
        let error = settings.check().unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
    Settings::default().check().unwrap();
    hotspot(1.0, 1).check().unwrap();
}

#[test]
fn every_kind_has_a_frame() {
    let (database, bank) = bank();
    let frames = ask(
        &database,
        &bank,
        async |txn: &Transaction, bank: &SmallBank| Ok(bank.frame_bytes(txn)),
    );
    assert_eq!(frames.len(), KINDS.len());
    assert!(frames.iter().all(|&bytes| bytes > 0), "{frames:?}");
}
