//! Conditions that a bank's tables must meet at any time.
//!
//! | condition | says |
//! | --- | --- |
//! | accounts | each customer has an account of the customer's name and two holdings, and there are as many as were loaded |
//! | savings | no savings are below 0 |
//! | money | all holdings together equal the sum of the ledger |
//! | statements | one of a customer's last statement and last check has seen all that the other has; only with [`Settings::statements`](super::Settings::statements) |

use std::ops::ControlFlow;

use weft::{Policy, Result, Table, Transaction};

use super::{Holding, Seen, SmallBank, name};
use crate::application::violations::Violations;

impl SmallBank {
    /// Returns violations of the conditions.
    pub(super) async fn violations<P: Policy>(&self, txn: &Transaction<P>) -> Result<Vec<String>> {
        let mut found = Violations::default();
        self.check_accounts(txn, &mut found).await?;
        let savings = self.total(txn, &self.savings, &mut found).await?;
        let checking = self.total(txn, &self.checking, &mut found).await?;
        let mut booked = 0;
        txn.scan(&self.ledger, ..)
            .for_each(|_, cents| {
                booked += i128::from(cents);
                ControlFlow::Continue(())
            })
            .await?;
        found.unless(
            savings + checking == booked,
            "money",
            format_args!(
                "savings of {savings} and checking of {checking} cents are not the {booked} \
                 of the ledger"
            ),
        );
        self.check_statements(txn, &mut found).await?;
        Ok(found.sentences())
    }

    async fn check_accounts<P: Policy>(
        &self,
        txn: &Transaction<P>,
        found: &mut Violations,
    ) -> Result<()> {
        let mut count = 0;
        txn.scan(&self.accounts, ..)
            .for_each(|key, customer| {
                let holds = customer == count && key == name(count);
                let key = String::from_utf8_lossy(&key);
                let what = format_args!("number {count} is {key} of customer {customer}");
                found.unless(holds, "accounts", what);
                count += 1;
                ControlFlow::Continue(())
            })
            .await?;
        self.check_count("account", count, found);
        Ok(())
    }

    /// Returns the sum of all customers' money in one of the tables of holdings.
    async fn total<P: Policy>(
        &self,
        txn: &Transaction<P>,
        table: &Table<u64, Holding>,
        found: &mut Violations,
    ) -> Result<i128> {
        let is_savings = table.name() == self.savings.name();
        let (mut count, mut total) = (0, 0);
        txn.scan(table, ..)
            .for_each(|customer, holding| {
                let what = format_args!("number {count} in {} is {customer}'s", table.name());
                found.unless(customer == count, "accounts", what);
                let cents = holding.cents.get();
                let what = format_args!("customer {customer} has {cents} cents");
                found.unless(!is_savings || cents >= 0, "savings", what);
                count += 1;
                total += i128::from(cents);
                ControlFlow::Continue(())
            })
            .await?;
        self.check_count(table.name(), count, found);
        Ok(total)
    }

    /// Returns the number of changes of all holdings in one of the tables.
    pub(super) async fn changes<P: Policy>(
        &self,
        txn: &Transaction<P>,
        table: &Table<u64, Holding>,
    ) -> Result<u64> {
        let mut changes = 0;
        txn.scan(table, ..)
            .for_each(|_, holding| {
                changes += holding.changes.get();
                ControlFlow::Continue(())
            })
            .await?;
        Ok(changes)
    }

    fn check_count(&self, table: &str, count: u64, found: &mut Violations) {
        let loaded = self.settings.accounts;
        let what = format_args!("{count} in {table}, where {loaded} were loaded");
        found.unless(count == loaded, "accounts", what);
    }

    async fn check_statements<P: Policy>(
        &self,
        txn: &Transaction<P>,
        found: &mut Violations,
    ) -> Result<()> {
        for (customer, statement) in txn.scan(&self.statements, ..).collect().await? {
            let Some(check) = txn.get(&self.checks, &customer).await? else {
                continue;
            };
            let holds = statement.has_seen(&check) || check.has_seen(&statement);
            let what = format_args!(
                "customer {customer}'s last check and last statement each saw what the other \
                 did not: {check:?}, {statement:?}"
            );
            found.unless(holds, "statements", what);
        }
        Ok(())
    }
}

impl Seen {
    /// Returns whether this statement or check has seen everything that `other` has.
    fn has_seen(&self, other: &Seen) -> bool {
        self.savings >= other.savings && self.checking >= other.checking
    }
}
