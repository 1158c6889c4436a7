//! The six transactions.

use std::hint::black_box;

use weft::{Policy, Result, Transaction};

use super::{Holding, Request, Seen, SmallBank, Stripe, name};
use crate::application::access::{get_both, get_both_to_write, get_to_write};
use crate::application::{Reads, missing, rolled_back};

/// What a check costs besides that is not covered, in cents.
const PENALTY: i64 = 100;

impl SmallBank {
    /// Does what is asked for. Returns the number of records read or written.
    pub(super) async fn transact<P: Policy>(
        &self,
        txn: &Transaction<P>,
        request: &Request,
        reads: Reads,
    ) -> Result<u32> {
        match *request {
            Request::Balance {
                customer,
                statement,
            } => {
                // The client's.
                black_box(self.balance(txn, customer, statement).await?);
                Ok(3 + u32::from(statement))
            }
            Request::DepositChecking {
                customer,
                cents,
                stripe,
            } => {
                self.deposit_checking(txn, customer, cents, stripe).await?;
                Ok(3)
            }
            Request::TransactSavings {
                customer,
                cents,
                stripe,
            } => {
                self.transact_savings(txn, customer, cents, stripe).await?;
                Ok(3)
            }
            Request::Amalgamate { from, to } => {
                self.amalgamate(txn, from, to, reads).await?;
                Ok(5)
            }
            Request::WriteCheck {
                customer,
                cents,
                stripe,
                noted,
            } => {
                self.write_check(txn, customer, cents, stripe, noted)
                    .await?;
                Ok(4 + u32::from(noted))
            }
            Request::SendPayment { from, to, cents } => {
                self.send_payment(txn, from, to, cents, reads).await?;
                Ok(4)
            }
        }
    }

    /// Bytes of the coroutine of each kind.
    pub(super) fn frames<P: Policy>(&self, txn: &Transaction<P>) -> [usize; 6] {
        let (reads, stripe) = (Reads::Grouped, (0, 0));
        [
            size_of_val(&self.balance(txn, 0, false)),
            size_of_val(&self.deposit_checking(txn, 0, 0, stripe)),
            size_of_val(&self.transact_savings(txn, 0, 0, stripe)),
            size_of_val(&self.amalgamate(txn, 0, 1, reads)),
            size_of_val(&self.write_check(txn, 0, 0, stripe, false)),
            size_of_val(&self.send_payment(txn, 0, 1, 0, reads)),
        ]
    }

    /// What the customer has, in cents.
    pub(super) async fn balance<P: Policy>(
        &self,
        txn: &Transaction<P>,
        customer: u64,
        statement: bool,
    ) -> Result<i64> {
        let customer = self.customer(txn, customer).await?;
        let savings = there(txn.get(&self.savings, &customer).await?)?;
        let checking = there(txn.get(&self.checking, &customer).await?)?;
        if statement {
            let seen = Seen::of(&savings, &checking);
            txn.upsert(&self.statements, &customer, &seen).await?;
        }
        Ok(savings.cents.get() + checking.cents.get())
    }

    async fn deposit_checking<P: Policy>(
        &self,
        txn: &Transaction<P>,
        customer: u64,
        cents: i64,
        stripe: Stripe,
    ) -> Result<()> {
        let customer = self.customer(txn, customer).await?;
        let checking = there(get_to_write(txn, &self.checking, &customer).await?)?;
        let after = checking.changed_to(checking.cents.get() + cents);
        txn.update(&self.checking, &customer, &after).await?;
        self.book(txn, stripe, cents).await
    }

    async fn transact_savings<P: Policy>(
        &self,
        txn: &Transaction<P>,
        customer: u64,
        cents: i64,
        stripe: Stripe,
    ) -> Result<()> {
        let customer = self.customer(txn, customer).await?;
        let savings = there(get_to_write(txn, &self.savings, &customer).await?)?;
        let after = savings.cents.get() + cents;
        if after < 0 {
            return Err(rolled_back());
        }
        let after = savings.changed_to(after);
        txn.update(&self.savings, &customer, &after).await?;
        self.book(txn, stripe, cents).await
    }

    async fn amalgamate<P: Policy>(
        &self,
        txn: &Transaction<P>,
        from: u64,
        to: u64,
        reads: Reads,
    ) -> Result<()> {
        let both = self.customers(txn, from, to, reads).await?;
        let savings = there(get_to_write(txn, &self.savings, &both[0]).await?)?;
        let [checking, theirs] = get_both_to_write(txn, &self.checking, &both, reads).await?;
        let (checking, theirs) = (there(checking)?, there(theirs)?);
        let everything = savings.cents.get() + checking.cents.get();
        let theirs = theirs.changed_to(theirs.cents.get() + everything);
        txn.update(&self.savings, &both[0], &savings.changed_to(0))
            .await?;
        txn.update(&self.checking, &both[0], &checking.changed_to(0))
            .await?;
        txn.update(&self.checking, &both[1], &theirs).await?;
        Ok(())
    }

    async fn write_check<P: Policy>(
        &self,
        txn: &Transaction<P>,
        customer: u64,
        cents: i64,
        stripe: Stripe,
        noted: bool,
    ) -> Result<()> {
        let customer = self.customer(txn, customer).await?;
        let savings = there(txn.get(&self.savings, &customer).await?)?;
        let checking = there(get_to_write(txn, &self.checking, &customer).await?)?;
        let covered = savings.cents.get() + checking.cents.get() >= cents;
        let cents = match covered {
            true => cents,
            false => cents + PENALTY,
        };
        let checking = checking.changed_to(checking.cents.get() - cents);
        txn.update(&self.checking, &customer, &checking).await?;
        if noted {
            let seen = Seen::of(&savings, &checking);
            txn.upsert(&self.checks, &customer, &seen).await?;
        }
        self.book(txn, stripe, -cents).await
    }

    async fn send_payment<P: Policy>(
        &self,
        txn: &Transaction<P>,
        from: u64,
        to: u64,
        cents: i64,
        reads: Reads,
    ) -> Result<()> {
        let both = self.customers(txn, from, to, reads).await?;
        let [ours, theirs] = get_both_to_write(txn, &self.checking, &both, reads).await?;
        let (ours, theirs) = (there(ours)?, there(theirs)?);
        if ours.cents.get() < cents {
            return Err(rolled_back());
        }
        let ours = ours.changed_to(ours.cents.get() - cents);
        let theirs = theirs.changed_to(theirs.cents.get() + cents);
        txn.update(&self.checking, &both[0], &ours).await?;
        txn.update(&self.checking, &both[1], &theirs).await?;
        Ok(())
    }

    /// Looks up a customer by name.
    async fn customer<P: Policy>(&self, txn: &Transaction<P>, customer: u64) -> Result<u64> {
        let found = txn.get(&self.accounts, &name(customer)).await?;
        found.ok_or_else(|| missing("account"))
    }

    /// Looks up two.
    async fn customers<P: Policy>(
        &self,
        txn: &Transaction<P>,
        one: u64,
        other: u64,
        reads: Reads,
    ) -> Result<[u64; 2]> {
        let names = [name(one), name(other)];
        match get_both(txn, &self.accounts, &names, reads).await? {
            [Some(one), Some(other)] => Ok([one, other]),
            _ => Err(missing("account")),
        }
    }

    /// Writes down what came in from outside.
    async fn book<P: Policy>(
        &self,
        txn: &Transaction<P>,
        stripe: Stripe,
        cents: i64,
    ) -> Result<()> {
        let booked = get_to_write(txn, &self.ledger, &stripe).await?;
        let booked = booked.ok_or_else(|| missing("row of the ledger"))?;
        txn.update(&self.ledger, &stripe, &(booked + cents)).await?;
        Ok(())
    }
}

impl Seen {
    fn of(savings: &Holding, checking: &Holding) -> Seen {
        Seen {
            savings: savings.changes,
            checking: checking.changes,
        }
    }
}

fn there(holding: Option<Holding>) -> Result<Holding> {
    holding.ok_or_else(|| missing("holding"))
}
