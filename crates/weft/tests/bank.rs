//! Transfers between accounts keep the sum, as every concurrent snapshot sees.

use std::ops::ControlFlow;

use weft::{Database, Error, Options, Table, Transaction};

fn open() -> Database {
    Database::open(Options {
        workers: 2,
        memory_bytes_max: Some(256 << 20),
        ..Options::default()
    })
    .unwrap()
}

const ACCOUNTS: u64 = 20;
const BALANCE: i64 = 100;

async fn transfer(
    txn: &Transaction,
    accounts: &Table<u64, i64>,
    from: u64,
    to: u64,
) -> Result<(), Error> {
    let source = txn.get(accounts, &from).await?.expect("the account exists");
    let target = txn.get(accounts, &to).await?.expect("the account exists");
    if source == 0 || from == to {
        return Ok(());
    }
    txn.update(accounts, &from, &(source - 1)).await?;
    txn.update(accounts, &to, &(target + 1)).await?;
    Ok(())
}

async fn total(txn: &Transaction, accounts: &Table<u64, i64>) -> Result<i64, Error> {
    let mut total = 0;
    txn.scan(accounts, ..)
        .for_each(|_, balance| {
            assert!(balance >= 0);
            total += balance;
            ControlFlow::Continue(())
        })
        .await?;
    Ok(total)
}

fn open_accounts(db: &Database) -> Table<u64, i64> {
    let accounts: Table<u64, i64> = db.create_table("accounts").unwrap();
    let ours = accounts.clone();
    db.run_blocking(async move |txn: &Transaction| {
        for account in 0..ACCOUNTS {
            txn.insert(&ours, &account, &BALANCE).await?;
        }
        Ok(())
    })
    .unwrap();
    accounts
}

#[test]
fn the_sum_of_all_accounts_never_changes() {
    let db = open();
    let accounts = open_accounts(&db);
    let mut transfers = Vec::new();
    let mut totals = Vec::new();
    for number in 0..2000_u64 {
        let ours = accounts.clone();
        let (from, to) = (number * 7 % ACCOUNTS, number * number % ACCOUNTS);
        transfers.push(db.run(async move |txn: &Transaction| transfer(txn, &ours, from, to).await));
        if number % 10 == 0 {
            let ours = accounts.clone();
            totals.push(db.run(async move |txn: &Transaction| total(txn, &ours).await));
        }
    }
    for transfer in transfers {
        transfer.wait().unwrap();
    }
    for total in totals {
        assert_eq!(total.wait().unwrap(), ACCOUNTS as i64 * BALANCE);
    }
    let end = db.run_blocking(async move |txn: &Transaction| total(txn, &accounts).await);
    assert_eq!(end.unwrap(), ACCOUNTS as i64 * BALANCE);
}

/// Readers that stay open while thousands of transfers take place: their last reads agree with
/// their first ones.
#[test]
fn long_readers_see_one_sum_beside_writers() {
    let db = open();
    let accounts = open_accounts(&db);
    let readers: Vec<_> = (0..4).map(|_| db.begin_blocking().unwrap()).collect();
    let mut sums = [0; 4];
    for account in 0..ACCOUNTS {
        for (reader, sum) in readers.iter().zip(&mut sums) {
            *sum += reader.get(&accounts, &account).unwrap().unwrap();
        }
        let transfers: Vec<_> = (0..200_u64)
            .map(|number| {
                let ours = accounts.clone();
                let (from, to) = ((account + number) % ACCOUNTS, number * number % ACCOUNTS);
                db.run(async move |txn: &Transaction| transfer(txn, &ours, from, to).await)
            })
            .collect();
        for transfer in transfers {
            transfer.wait().unwrap();
        }
    }
    assert_eq!(sums, [ACCOUNTS as i64 * BALANCE; 4]);
    // The readers are serial at their snapshots, before all transfers.
    for reader in readers {
        reader.commit().unwrap();
    }
}
