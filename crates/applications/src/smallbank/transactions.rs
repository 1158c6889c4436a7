//! The six transactions.

use std::hint::black_box;

use weft::{Policy, Result, Table, Transaction};

use super::{Holding, Request, Seen, SmallBank, Stripe, name};
use crate::application::access::{change, get_both, get_both_to_write, get_to_write, read, write};
use crate::application::{Reads, missing, rolled_back};

/// Penalty for a check that is not covered, in cents.
const PENALTY: i64 = 100;

/// Names of records that may be missing.
const ACCOUNT: &str = "account";
const HOLDING: &str = "holding";
const ROW: &str = "row of the ledger";

impl SmallBank {
    /// Runs the requested transaction. Returns the number of records read or written.
    pub(super) async fn transact<P: Policy>(
        &self,
        txn: &Transaction<P>,
        request: &Request,
        reads: Reads,
    ) -> Result<u32> {
        let teller = self.teller(txn, reads);
        match *request {
            Request::Balance {
                customer,
                statement,
            } => {
                // The client would use the result.
                black_box(teller.balance(customer, statement).await?);
                Ok(3 + u32::from(statement))
            }
            Request::DepositChecking {
                customer,
                cents,
                stripe,
            } => {
                teller.deposit_checking(customer, cents, stripe).await?;
                Ok(3)
            }
            Request::TransactSavings {
                customer,
                cents,
                stripe,
            } => {
                teller.transact_savings(customer, cents, stripe).await?;
                Ok(3)
            }
            Request::Amalgamate { from, to } => {
                teller.amalgamate(from, to).await?;
                Ok(5)
            }
            Request::WriteCheck {
                customer,
                cents,
                stripe,
                noted,
            } => {
                teller.write_check(customer, cents, stripe, noted).await?;
                Ok(4 + u32::from(noted))
            }
            Request::SendPayment { from, to, cents } => {
                teller.send_payment(from, to, cents).await?;
                Ok(4)
            }
        }
    }

    /// Returns the bytes of the coroutine of each kind.
    pub(super) fn frames<P: Policy>(&self, txn: &Transaction<P>) -> [usize; 6] {
        let (teller, stripe) = (self.teller(txn, Reads::Grouped), (0, 0));
        [
            size_of_val(&teller.balance(0, false)),
            size_of_val(&teller.deposit_checking(0, 0, stripe)),
            size_of_val(&teller.transact_savings(0, 0, stripe)),
            size_of_val(&teller.amalgamate(0, 1)),
            size_of_val(&teller.write_check(0, 0, stripe, false)),
            size_of_val(&teller.send_payment(0, 1, 0)),
        ]
    }

    pub(super) fn teller<'t, P: Policy>(
        &'t self,
        txn: &'t Transaction<P>,
        reads: Reads,
    ) -> Teller<'t, P> {
        Teller {
            bank: self,
            txn,
            reads,
        }
    }
}

/// Runs the operations of one transaction.
pub(super) struct Teller<'t, P: Policy> {
    bank: &'t SmallBank,
    txn: &'t Transaction<P>,
    reads: Reads,
}

impl<P: Policy> Teller<'_, P> {
    /// Returns the customer's money, in cents; records what was seen if `statement` is set.
    pub(super) async fn balance(&self, customer: u64, statement: bool) -> Result<i64> {
        let customer = self.customer(customer).await?;
        let savings = self.holding(&self.bank.savings, customer).await?;
        let checking = self.holding(&self.bank.checking, customer).await?;
        if statement {
            let seen = Seen::of(&savings, &checking);
            let statements = &self.bank.statements;
            self.txn.upsert(statements, &customer, &seen).await?;
        }
        Ok(savings.cents.get() + checking.cents.get())
    }

    async fn deposit_checking(&self, customer: u64, cents: i64, stripe: Stripe) -> Result<()> {
        let table = &self.bank.checking;
        let customer = self.customer(customer).await?;
        self.pay_in(table, customer, cents).await?;
        self.book(stripe, cents).await
    }

    async fn transact_savings(&self, customer: u64, cents: i64, stripe: Stripe) -> Result<()> {
        let table = &self.bank.savings;
        let customer = self.customer(customer).await?;
        if self.pay_in(table, customer, cents).await? < 0 {
            return Err(rolled_back());
        }
        self.book(stripe, cents).await
    }

    async fn amalgamate(&self, from: u64, to: u64) -> Result<()> {
        let SmallBank {
            savings, checking, ..
        } = self.bank;
        let [from, to] = self.customers(from, to).await?;
        let saved = self.holding_to_write(savings, from).await?;
        let [ours, theirs] = self.checking_to_write([from, to]).await?;
        let everything = saved.cents.get() + ours.cents.get();
        self.set(savings, from, saved.changed_to(0)).await?;
        self.set(checking, from, ours.changed_to(0)).await?;
        self.set(checking, to, theirs.plus(everything)).await
    }

    async fn write_check(
        &self,
        customer: u64,
        cents: i64,
        stripe: Stripe,
        noted: bool,
    ) -> Result<()> {
        let table = &self.bank.checking;
        let customer = self.customer(customer).await?;
        let savings = self.holding(&self.bank.savings, customer).await?;
        let checking = self.holding_to_write(table, customer).await?;
        let covered = savings.cents.get() + checking.cents.get() >= cents;
        let cents = match covered {
            true => cents,
            false => cents + PENALTY,
        };
        let checking = checking.plus(-cents);
        self.set(table, customer, checking).await?;
        if noted {
            let seen = Seen::of(&savings, &checking);
            let checks = &self.bank.checks;
            self.txn.upsert(checks, &customer, &seen).await?;
        }
        self.book(stripe, -cents).await
    }

    async fn send_payment(&self, from: u64, to: u64, cents: i64) -> Result<()> {
        let table = &self.bank.checking;
        let [from, to] = self.customers(from, to).await?;
        let [ours, theirs] = self.checking_to_write([from, to]).await?;
        if ours.cents.get() < cents {
            return Err(rolled_back());
        }
        self.set(table, from, ours.plus(-cents)).await?;
        self.set(table, to, theirs.plus(cents)).await
    }

    /// Looks up a customer by name.
    async fn customer(&self, customer: u64) -> Result<u64> {
        let found = self.txn.get(&self.bank.accounts, &name(customer)).await?;
        found.ok_or_else(|| missing(ACCOUNT))
    }

    /// Looks up two customers by name.
    async fn customers(&self, one: u64, other: u64) -> Result<[u64; 2]> {
        let names = [name(one), name(other)];
        let accounts = &self.bank.accounts;
        get_both(self.txn, accounts, &names, ACCOUNT, self.reads).await
    }

    async fn holding(&self, table: &Table<u64, Holding>, customer: u64) -> Result<Holding> {
        read(self.txn, table, &customer, HOLDING, |row| *row).await
    }

    async fn holding_to_write(
        &self,
        table: &Table<u64, Holding>,
        customer: u64,
    ) -> Result<Holding> {
        let found = get_to_write(self.txn, table, &customer).await?;
        found.ok_or_else(|| missing(HOLDING))
    }

    /// Reads the checking of two customers, which is about to change.
    async fn checking_to_write(&self, both: [u64; 2]) -> Result<[Holding; 2]> {
        let table = &self.bank.checking;
        get_both_to_write(self.txn, table, &both, HOLDING, self.reads).await
    }

    async fn set(
        &self,
        table: &Table<u64, Holding>,
        customer: u64,
        holding: Holding,
    ) -> Result<()> {
        write(self.txn, table, &customer, HOLDING, &holding).await
    }

    /// Adds `cents` to the customer's holding in `table`, and returns its new balance.
    async fn pay_in(&self, table: &Table<u64, Holding>, customer: u64, cents: i64) -> Result<i64> {
        let add = |holding: &mut Holding| {
            *holding = holding.plus(cents);
            holding.cents.get()
        };
        change(self.txn, table, &customer, HOLDING, add).await
    }

    /// Records `cents` that came in from outside.
    async fn book(&self, stripe: Stripe, cents: i64) -> Result<()> {
        let add = |booked: &mut i64| *booked += cents;
        change(self.txn, &self.bank.ledger, &stripe, ROW, add).await
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
