//! Payment: a customer pays, at a district that may be another's (clause 2.5).
//!
//! The warehouse comes first, because all payments of a warehouse meet there, then the district,
//! the customer, and the record of the payment.

use std::io::Write;

use weft::{Policy, Result, Transaction};

use super::Tpcc;
use super::schema::{
    BAD_CREDIT, Customer, CustomerKey, Date, District, History, HistoryKey, Text, Warehouse,
};
use super::terminal::Who;
use crate::application::access::change;

/// Bytes of the text that is recorded of a payment.
pub(super) const LINE_BYTES: usize = 64;

/// A request for a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payment {
    pub(super) warehouse: u16,
    pub(super) district: u8,
    pub(super) customer_warehouse: u16,
    pub(super) customer_district: u8,
    pub(super) who: Who,
    /// Amount in cents.
    pub(super) amount: i64,
    pub(super) date: Date,
    pub(super) key: HistoryKey,
}

/// Results that the terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Paid {
    pub(super) customer: CustomerKey,
    /// Balance of the customer, in cents.
    pub(super) balance: i64,
    pub(super) records: u32,
}

impl Tpcc {
    pub(super) async fn payment<P: Policy>(
        &self,
        txn: &Transaction<P>,
        request: &Payment,
    ) -> Result<Paid> {
        let tables = &self.tables;
        let (warehouse, district) = (request.warehouse, request.district);
        let receive = |row: &mut Warehouse| {
            row.ytd += request.amount;
            row.name
        };
        let warehouse_name =
            change(txn, &tables.warehouses, &warehouse, "warehouse", receive).await?;
        let key = (warehouse, district);
        let receive = |row: &mut District| {
            row.ytd += request.amount;
            row.name
        };
        let district_name = change(txn, &tables.districts, &key, "district", receive).await?;

        let of = (request.customer_warehouse, request.customer_district);
        let (customer, looked_at) = self.find_customer(txn, of, request.who).await?;
        let pay = |row: &mut Customer| {
            request.credit(row, customer);
            row.balance.get()
        };
        let balance = change(txn, &tables.customers, &customer, "customer", pay).await?;

        let history = History {
            customer: customer.2.into(),
            customer_district: customer.1,
            customer_warehouse: customer.0.into(),
            district,
            warehouse: warehouse.into(),
            date: request.date,
            amount: request.amount.into(),
            data: Text::of(&[warehouse_name.as_bytes(), b"    ", district_name.as_bytes()]),
        };
        txn.insert(&tables.history, &request.key, &history).await?;
        Ok(Paid {
            customer,
            balance,
            // Warehouse, district and customer are read and written, and the payment is written.
            records: looked_at + 3 * 2 + 1,
        })
    }
}

impl Payment {
    /// Changes the customer's row by the payment. A customer with bad credit gets a record of it in
    /// its data.
    fn credit(&self, row: &mut Customer, customer: CustomerKey) {
        row.balance -= self.amount;
        row.ytd_payment += self.amount;
        row.payments += 1;
        if row.credit != BAD_CREDIT {
            return;
        }
        let mut line = [0; LINE_BYTES];
        row.data.prepend(self.written_down(customer, &mut line));
    }

    /// Writes the record of the payment into `line`, and returns the part of it that is used.
    pub(super) fn written_down<'l>(
        &self,
        (warehouse, district, customer): CustomerKey,
        line: &'l mut [u8; LINE_BYTES],
    ) -> &'l [u8] {
        let mut rest = &mut line[..];
        let (units, cents) = (self.amount / 100, self.amount % 100);
        let written = write!(
            rest,
            "{customer} {district} {warehouse} {} {} {units}.{cents:02}|",
            self.district, self.warehouse
        );
        written.expect("six numbers are shorter than the line");
        let left = rest.len();
        &line[..LINE_BYTES - left]
    }
}
