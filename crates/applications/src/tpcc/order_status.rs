//! OrderStatus: the state of a customer's last order (clause 2.6). Only reads.

use std::ops::ControlFlow;

use weft::{Policy, Prefix, Result, Transaction};

use super::Tpcc;
use super::schema::NO_CARRIER;
use super::terminal::Who;
use crate::application::access::read;
use crate::application::missing;

/// A request for the state of a customer's last order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderStatus {
    pub(super) warehouse: u16,
    pub(super) district: u8,
    pub(super) who: Who,
}

/// Results that the terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) customer: u16,
    /// Balance of the customer, in cents.
    pub(super) balance: i64,
    /// Number of the newest order.
    pub(super) order: u32,
    pub(super) is_delivered: bool,
    /// Price of its lines together, in cents.
    pub(super) amount: i64,
    pub(super) records: u32,
}

impl Tpcc {
    pub(super) async fn order_status<P: Policy>(
        &self,
        txn: &Transaction<P>,
        request: &OrderStatus,
    ) -> Result<Status> {
        let tables = &self.tables;
        let of = (request.warehouse, request.district);
        let (key, looked_at) = self.find_customer(txn, of, request.who).await?;
        let balance = read(txn, &tables.customers, &key, "customer", |row| {
            row.balance.get()
        })
        .await?;
        let mut newest = None;
        txn.scan_by(&self.indexes.orders_of_customer, Prefix(key))
            .rev()
            .for_each(|_, (_, _, order), row| {
                newest = Some((order, row.carrier != NO_CARRIER));
                ControlFlow::Break(())
            })
            .await?;
        let (order, is_delivered) = newest.ok_or_else(|| missing("order of this customer"))?;
        let mut amount = 0;
        let lines = Prefix((request.warehouse, request.district, order));
        let lines = txn.scan(&tables.order_lines, lines).for_each(|_, row| {
            amount += row.amount.get();
            ControlFlow::Continue(())
        });
        let lines = lines.await?;
        Ok(Status {
            customer: key.2,
            balance,
            order,
            is_delivered,
            amount,
            records: looked_at + 2 + lines as u32,
        })
    }
}
