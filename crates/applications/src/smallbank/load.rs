//! Filling the bank.

use weft::{Database, Interleaved, Transaction};

use super::source::STRIPES;
use super::{Holding, Settings, SmallBank, name};
use bench::databases;
use bench::distribution::{below, rng};
use bench::loading::in_batches;
use commands::Result;
use commands::progress::Step;

/// Balances that are loaded, in cents; H-Store's.
const OPENING_MIN: u64 = 1_000_000;
const OPENING_MAX: u64 = 5_000_000;
/// The ledger's row of the loaded money.
const OPENING: (u32, u32) = (u32::MAX, 0);
/// Seed of the load, which is the same each time.
const SEED: u64 = 2008;
/// Customers, and rows of the ledger, per transaction.
const BATCH: u64 = 8;

/// Makes and fills the tables; see [`Application::load`](crate::application::Application::load).
pub(super) fn load(settings: &Settings, database: &Database, step: &Step) -> Result<SmallBank> {
    settings.check()?;
    let bank = create(settings, database).map_err(databases::failure)?;
    in_batches(
        database,
        0..settings.accounts,
        BATCH,
        Some(step),
        |customers| {
            let bank = bank.clone();
            async move |txn: &Transaction| {
                for customer in customers.clone() {
                    let [savings, checking] = openings(customer).map(Holding::opening);
                    txn.insert(&bank.accounts, &name(customer), &customer)
                        .await?;
                    txn.insert(&bank.savings, &customer, &savings).await?;
                    txn.insert(&bank.checking, &customer, &checking).await?;
                }
                Ok(())
            }
        },
    )?;
    let stripes = u64::from(STRIPES);
    let all_stripes = 0..stripes * database.workers().len() as u64;
    in_batches(database, all_stripes, BATCH, None, |rows| {
        let bank = bank.clone();
        async move |txn: &Transaction| {
            for row in rows.clone() {
                let stripe = ((row / stripes) as u32, (row % stripes) as u32);
                txn.insert(&bank.ledger, &stripe, &0).await?;
            }
            Ok(())
        }
    })?;
    let opening = (0..settings.accounts).flat_map(openings).sum::<i64>();
    let ours = bank.clone();
    let booked = database.run_blocking(async move |txn: &Transaction<Interleaved>| {
        txn.insert(&ours.ledger, &OPENING, &opening).await
    });
    booked.map_err(databases::failure)?;
    Ok(bank)
}

macro_rules! bank {
    ($settings:ident, $database:ident.$table:ident) => {
        Ok(SmallBank {
            settings: *$settings,
            accounts: $database.$table("account")?,
            savings: $database.$table("savings")?,
            checking: $database.$table("checking")?,
            ledger: $database.$table("ledger")?,
            statements: $database.$table("statement")?,
            checks: $database.$table("check")?,
        })
    };
}

/// Creates a bank without customers.
fn create(settings: &Settings, database: &Database) -> weft::Result<SmallBank> {
    bank!(settings, database.create_table)
}

/// Opens the tables; see [`Application::open`](crate::application::Application::open).
pub(super) fn open(settings: &Settings, database: &Database) -> weft::Result<SmallBank> {
    bank!(settings, database.open_table)
}

/// Returns the loaded balances of a customer, in savings and checking.
pub(super) fn openings(customer: u64) -> [i64; 2] {
    let mut rng = rng(SEED, customer);
    let mut opening = || OPENING_MIN + below(&mut rng, OPENING_MAX - OPENING_MIN + 1);
    [opening() as i64, opening() as i64]
}
