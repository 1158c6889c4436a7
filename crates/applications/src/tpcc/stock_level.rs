//! StockLevel: the number of items in a district's last twenty orders that run short (clause 2.8).
//! Only reads.
//!
//! The reads of the stock of all items can be grouped.

use std::ops::ControlFlow;

use weft::{Policy, Result, Transaction};

use super::Tpcc;
use super::schema::StockKey;
use crate::application::access::read;
use crate::application::{Reads, missing};

/// Number of orders that are looked at.
const ORDERS: u32 = 20;

/// A request for the number of items that run short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StockLevel {
    pub(super) warehouse: u16,
    pub(super) district: u8,
    /// Quantity below which an item runs short.
    pub(super) threshold: u16,
}

/// Results that the terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Level {
    /// Number of items that run short.
    pub(super) low: u32,
    pub(super) records: u32,
}

impl Tpcc {
    pub(super) async fn stock_level<P: Policy>(
        &self,
        txn: &Transaction<P>,
        request: &StockLevel,
        reads: Reads,
    ) -> Result<Level> {
        let tables = &self.tables;
        let (warehouse, district) = (request.warehouse, request.district);
        let key = (warehouse, district);
        let next = read(txn, &tables.districts, &key, "district", |row| {
            row.next_order.get()
        })
        .await?;

        let mut stock: Vec<StockKey> = Vec::new();
        let first = (warehouse, district, next.saturating_sub(ORDERS), 0);
        let range = first..(warehouse, district, next, 0);
        let lines = txn.scan(&tables.order_lines, range).for_each(|_, line| {
            stock.push((warehouse, line.item.get()));
            ControlFlow::Continue(())
        });
        let lines = lines.await?;
        stock.sort_unstable();
        stock.dedup();

        let mut low = 0;
        match reads {
            Reads::Single => {
                for key in &stock {
                    let quantity = |row: &_| quantity(row);
                    let quantity = read(txn, &tables.stock, key, "stock", quantity).await?;
                    low += u32::from(quantity < request.threshold);
                }
            }
            Reads::Grouped => {
                let count = |_, row: &_| low += u32::from(quantity(row) < request.threshold);
                let found = txn.multi_get_with(&tables.stock, &stock, count).await?;
                if found != stock.len() {
                    return Err(missing("stock"));
                }
            }
        }
        Ok(Level {
            low,
            records: 1 + lines as u32 + stock.len() as u32,
        })
    }
}

fn quantity(stock: &super::schema::Stock) -> u16 {
    stock.quantity.get()
}
