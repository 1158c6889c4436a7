//! Loading by all workers, in transactions of some records each.

use std::ops::Range;
use std::sync::Arc;

use weft::{Database, Result, Transaction};

use super::population::{NATIONS, Population, REGIONS};
use super::schema::{CustomerKey, HistoryKey, NO_CARRIER, Tables};
use super::settings::{SUPPLIERS, Settings};
use bench::databases;
use bench::loading::in_batches;
use commands::progress::Step;

/// Number of records in a transaction; the lines of orders are not counted.
const BATCH: u64 = 32;
const BATCH_OF_ORDERS: u64 = 8;

/// Returns the number of steps by which [`load`] advances: records, except for the lines of orders
/// and the payments of customers.
pub(super) fn steps(settings: &Settings) -> u64 {
    let (warehouses, scale) = (u64::from(settings.warehouses), settings.scale);
    let customers = u64::from(scale.districts) * u64::from(scale.customers);
    let items = u64::from(scale.items);
    items + u64::from(SUPPLIERS) + warehouses * (items + 2 * customers)
}

/// Loads all tables.
pub(super) fn load(
    population: &Population,
    database: &Database,
    tables: &Tables,
    step: &Step,
) -> commands::Result<()> {
    let work = Load {
        population: *population,
        database,
        tables,
        step,
    };
    work.few().map_err(databases::failure)?;
    work.items()?;
    work.suppliers()?;
    for warehouse in 1..=population.warehouses {
        work.stock(warehouse)?;
        for district in 1..=population.scale.districts {
            work.customers(warehouse, district)?;
            work.orders(warehouse, district)?;
        }
    }
    Ok(())
}

struct Load<'l> {
    population: Population,
    database: &'l Database,
    tables: &'l Tables,
    step: &'l Step,
}

impl Load<'_> {
    fn in_batches<F>(
        &self,
        numbers: Range<u64>,
        length: u64,
        batch: impl Fn(Range<u64>) -> F,
    ) -> commands::Result<()>
    where
        F: AsyncFn(&Transaction) -> Result<()> + Send + 'static,
    {
        in_batches(self.database, numbers, length, Some(self.step), batch)
    }

    /// Loads the small tables, in one transaction for each warehouse.
    fn few(&self) -> Result<()> {
        let (population, tables) = (self.population, self.tables.clone());
        self.database.run_blocking(async move |txn: &Transaction| {
            for region in 0..REGIONS {
                let row = population.region(region);
                txn.insert(&tables.regions, &region, &row).await?;
            }
            for nation in 0..NATIONS {
                let row = population.nation(nation);
                txn.insert(&tables.nations, &nation, &row).await?;
            }
            Ok(())
        })?;
        for warehouse in 1..=population.warehouses {
            let tables = self.tables.clone();
            self.database.run_blocking(async move |txn: &Transaction| {
                let row = population.warehouse(warehouse);
                txn.insert(&tables.warehouses, &warehouse, &row).await?;
                for district in 1..=population.scale.districts {
                    let row = population.district(warehouse, district);
                    let key = (warehouse, district);
                    txn.insert(&tables.districts, &key, &row).await?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn items(&self) -> commands::Result<()> {
        let all = 1..u64::from(self.population.scale.items) + 1;
        self.in_batches(all, BATCH, |items| {
            let (population, table) = (self.population, self.tables.items.clone());
            async move |txn: &Transaction| {
                for item in items.clone() {
                    let item = item as u32;
                    txn.insert(&table, &item, &population.item(item)).await?;
                }
                Ok(())
            }
        })
    }

    fn suppliers(&self) -> commands::Result<()> {
        self.in_batches(0..u64::from(SUPPLIERS), BATCH, |suppliers| {
            let (population, table) = (self.population, self.tables.suppliers.clone());
            async move |txn: &Transaction| {
                for supplier in suppliers.clone() {
                    let supplier = supplier as u32;
                    let row = population.supplier(supplier);
                    txn.insert(&table, &supplier, &row).await?;
                }
                Ok(())
            }
        })
    }

    fn stock(&self, warehouse: u16) -> commands::Result<()> {
        let all = 1..u64::from(self.population.scale.items) + 1;
        self.in_batches(all, BATCH, |items| {
            let (population, table) = (self.population, self.tables.stock.clone());
            async move |txn: &Transaction| {
                for item in items.clone() {
                    let item = item as u32;
                    let row = population.stock(warehouse, item);
                    txn.insert(&table, &(warehouse, item), &row).await?;
                }
                Ok(())
            }
        })
    }

    /// Loads customers, and the first payment of each.
    fn customers(&self, warehouse: u16, district: u8) -> commands::Result<()> {
        let all = 1..u64::from(self.population.scale.customers) + 1;
        self.in_batches(all, BATCH, |customers| {
            let (population, tables) = (self.population, self.tables.clone());
            async move |txn: &Transaction| {
                for customer in customers.clone() {
                    let key = (warehouse, district, customer as u16);
                    let row = population.customer(key.0, key.1, key.2);
                    txn.insert(&tables.customers, &key, &row).await?;
                    let row = population.history(key.0, key.1, key.2);
                    let key = loaded_history_key(population.scale.customers, key);
                    txn.insert(&tables.history, &key, &row).await?;
                }
                Ok(())
            }
        })
    }

    /// Loads orders, their lines, and the entries of open orders.
    fn orders(&self, warehouse: u16, district: u8) -> commands::Result<()> {
        let customers = self.population.customers_of_orders(warehouse, district);
        let customers: Arc<[u16]> = customers.into();
        let all = 1..u64::from(self.population.scale.orders()) + 1;
        self.in_batches(all, BATCH_OF_ORDERS, |orders| {
            let (population, tables) = (self.population, self.tables.clone());
            let customers = Arc::clone(&customers);
            async move |txn: &Transaction| {
                for order in orders.clone() {
                    let customer = customers[order as usize - 1];
                    let order = order as u32;
                    let key = (warehouse, district, order);
                    let row = population.order(warehouse, district, order, customer);
                    txn.insert(&tables.orders, &key, &row).await?;
                    if row.carrier == NO_CARRIER {
                        txn.insert(&tables.new_orders, &key, &()).await?;
                    }
                    for line in 1..=row.lines {
                        let row = population.order_line(warehouse, district, order, line);
                        let key = (warehouse, district, order, line);
                        txn.insert(&tables.order_lines, &key, &row).await?;
                    }
                }
                Ok(())
            }
        })
    }
}

/// Returns the key of a customer's first payment: below those of all terminals
/// ([`super::terminal`]).
fn loaded_history_key(customers: u16, (warehouse, district, customer): CustomerKey) -> HistoryKey {
    let district = u64::from(warehouse) * 10 + u64::from(district) - 1;
    district * u64::from(customers) + u64::from(customer) - 1
}
