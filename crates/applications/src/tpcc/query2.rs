//! Query2: for each supplier of a region, the stock that it has least of (CoroBase, section 5.2).
//!
//! The transaction follows query 2 of TPC-H, as CH-benCHmark maps it to the tables of TPC-C; ERMIA
//! made it a transaction that also writes. It reads all regions and nations; of the first suppliers
//! (the settings give their number) it reads each, and for each whose nation is in the region:
//! - all stock that the supplier supplies, of which the application keeps a list, and remembers the
//!   record with the lowest quantity, the first of several;
//! - the item of that record, which it passes over if its data has a [`PASSED_OVER`];
//! - if the quantity is below [`THRESHOLD`], raises it by [`SUPPLY`].
//!
//! ERMIA reads all these suppliers again for each nation of the region, about twelve times;
//! here each is read once, which makes the query shorter by reads that hit the cache.
//!
//! The reads of the stock of one supplier can be grouped.

use std::ops::ControlFlow;

use weft::{Policy, Result, Transaction};

use super::Tpcc;
use super::schema::{Item, Stock, StockKey};
use crate::application::access::{change, read};
use crate::application::{Reads, missing};

/// Quantity below which stock is supplied.
pub(super) const THRESHOLD: u16 = 15;
/// Quantity by which stock is raised.
pub(super) const SUPPLY: u16 = 50;

/// Mark in the data of items that are passed over.
pub(super) const PASSED_OVER: &[u8; 1] = b"b";

/// A request for the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query2 {
    pub(super) region: u8,
}

/// Results of the query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Number of suppliers of the region, among those looked at.
    pub(super) suppliers: u32,
    /// Number of stock records that were raised.
    pub(super) supplied: u32,
    /// Price of the items with the lowest quantities together, in cents; those that were passed
    /// over are left out.
    pub(super) prices: i64,
    pub(super) records: u32,
}

impl Tpcc {
    pub(super) async fn query2<P: Policy>(
        &self,
        txn: &Transaction<P>,
        request: &Query2,
        reads: Reads,
    ) -> Result<Found> {
        let tables = &self.tables;
        let region = request.region;
        let regions = txn.scan(&tables.regions, ..).count().await?;
        // A bit for each of the 62 nations.
        let mut nations = 0_u64;
        let all = txn.scan(&tables.nations, ..).for_each(|nation, row| {
            nations |= u64::from(row.region == region) << nation;
            ControlFlow::Continue(())
        });
        let mut found = Found {
            records: (regions + all.await?) as u32,
            ..Found::default()
        };
        for (supplier, supplied) in (0..).zip(&*self.supplied) {
            let nation = |row: &super::schema::Supplier| row.nation;
            let nation = read(txn, &tables.suppliers, &supplier, "supplier", nation).await?;
            found.records += 1;
            if nations >> nation & 1 == 0 {
                continue;
            }
            found.suppliers += 1;
            found.records += supplied.len() as u32;
            let lowest = self.lowest_stock(txn, supplied, reads).await?;
            let Some((quantity, stock)) = lowest else {
                continue;
            };
            let look = |row: &Item| (row.price.get(), row.data.contains(PASSED_OVER));
            let (price, passed_over) = read(txn, &tables.items, &stock.1, "item", look).await?;
            found.records += 1;
            if passed_over {
                continue;
            }
            found.prices += price;
            if quantity < THRESHOLD {
                let supply = |row: &mut Stock| row.quantity += SUPPLY;
                change(txn, &tables.stock, &stock, "stock", supply).await?;
                found.supplied += 1;
                found.records += 2;
            }
        }
        Ok(found)
    }

    /// Returns the key of the stock with the lowest quantity, and the quantity.
    async fn lowest_stock<P: Policy>(
        &self,
        txn: &Transaction<P>,
        stock: &[StockKey],
        reads: Reads,
    ) -> Result<Option<(u16, StockKey)>> {
        let table = &self.tables.stock;
        let mut lowest: Option<(u16, StockKey)> = None;
        let mut compare = |key, quantity| {
            // The lowest key wins among equal quantities.
            let lower = |lowest| (quantity, key) < lowest;
            if lowest.is_none_or(lower) {
                lowest = Some((quantity, key));
            }
        };
        match reads {
            Reads::Single => {
                for key in stock {
                    let quantity = |row: &Stock| row.quantity.get();
                    compare(*key, read(txn, table, key, "stock", quantity).await?);
                }
            }
            Reads::Grouped => {
                let show = |at: usize, row: &Stock| compare(stock[at], row.quantity.get());
                let found = txn.multi_get_with(table, stock, show).await?;
                if found != stock.len() {
                    return Err(missing("stock"));
                }
            }
        }
        Ok(lowest)
    }
}
