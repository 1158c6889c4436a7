//! Delivery: the oldest open order of each district of a warehouse goes out (clause 2.7),
//! all in one transaction, without a queue before it.
//!
//! When two deliveries run at once, one deletes an order's entry among the open ones; the other is
//! aborted, or under read committed finds the entry gone and looks for the next.

use std::ops::ControlFlow;

use weft::{Policy, Prefix, Result, Transaction};

use super::Tpcc;
use super::schema::{Customer, Date, DistrictKey, Order};
use crate::application::access::{change, write};

/// A request for a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub(super) warehouse: u16,
    pub(super) carrier: u8,
    pub(super) date: Date,
}

/// Results of a delivery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Delivered {
    /// Number of orders that went out: fewer than there are districts, if some had none.
    pub(super) orders: u32,
    pub(super) records: u32,
}

impl Tpcc {
    pub(super) async fn delivery<P: Policy>(
        &self,
        txn: &Transaction<P>,
        request: &Delivery,
    ) -> Result<Delivered> {
        let mut delivered = Delivered::default();
        for district in 1..=self.settings.scale.districts {
            let from = (request.warehouse, district);
            if let Some(order) = self.take_oldest_order(txn, from).await? {
                delivered.orders += 1;
                let records = self.deliver(txn, from, order, request).await?;
                delivered.records += 2 + records;
            }
        }
        Ok(delivered)
    }

    /// Deletes the first of a district's open orders from among them.
    async fn take_oldest_order<P: Policy>(
        &self,
        txn: &Transaction<P>,
        district: DistrictKey,
    ) -> Result<Option<u32>> {
        let open = &self.tables.new_orders;
        loop {
            let mut oldest = None;
            txn.scan(open, Prefix(district))
                .for_each(|(_, _, order), ()| {
                    oldest = Some(order);
                    ControlFlow::Break(())
                })
                .await?;
            let Some(order) = oldest else { return Ok(None) };
            if txn.delete(open, &(district.0, district.1, order)).await? {
                return Ok(Some(order));
            }
        }
    }

    /// Records that an order went out. Returns the number of records read or written.
    async fn deliver<P: Policy>(
        &self,
        txn: &Transaction<P>,
        (warehouse, district): DistrictKey,
        order: u32,
        request: &Delivery,
    ) -> Result<u32> {
        let tables = &self.tables;
        let key = (warehouse, district, order);
        let assign = |row: &mut Order| {
            row.carrier = request.carrier;
            row.customer.get()
        };
        let customer = change(txn, &tables.orders, &key, "order", assign).await?;
        let lines = txn.scan(&tables.order_lines, Prefix(key)).collect().await?;
        let (count, mut amount) = (lines.len() as u32, 0);
        for (key, mut line) in lines {
            line.delivered = request.date;
            amount += line.amount.get();
            write(txn, &tables.order_lines, &key, "order line", &line).await?;
        }
        let charge = |row: &mut Customer| {
            row.balance += amount;
            row.deliveries += 1;
        };
        let key = (warehouse, district, customer);
        change(txn, &tables.customers, &key, "customer", charge).await?;
        // Order and customer are read and written, and the lines too.
        Ok(2 + 2 + 2 * count)
    }
}
