//! NewOrder: a customer orders some items (clause 2.4).
//!
//! The district comes first, because all orders of a district meet there: a transaction that finds
//! it locked or changed has done nothing yet. Then, in no order that the standard cares about,
//! warehouse and customer are read, the order is entered, and for each line the item is read, its
//! stock is reduced, and the line is entered. An order with an unused item, always the last, does
//! all that for the other lines and is rolled back.
//!
//! The reads of all items can be grouped. (To read the stock records in a group and write them
//! afterwards would be to look each of them up twice.)

use weft::{Policy, Result, Transaction};

use super::Tpcc;
use super::random::ORIGINAL;
use super::schema::{
    CustomerKey, Date, District, Item, NO_CARRIER, NO_DATE, Order, OrderLine, Stock, Text,
};
use super::terminal::UNUSED_ITEM;
use crate::application::access::{change, read};
use crate::application::{Reads, missing, rolled_back};

/// Largest number of lines of an order.
const LINES_MAX: usize = 15;

/// A request for an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder {
    pub(super) customer: CustomerKey,
    pub(super) date: Date,
    count: u8,
    items: [u32; LINES_MAX],
    supply_warehouses: [u16; LINES_MAX],
    quantities: [u8; LINES_MAX],
}

/// A line of an order.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub(super) number: u8,
    pub(super) item: u32,
    pub(super) supply_warehouse: u16,
    pub(super) quantity: u8,
}

/// Results that the terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entered {
    /// Number of the order.
    pub(super) order: u32,
    /// Price of the order, in cents.
    pub(super) total: i64,
    /// Number of lines whose item and stock are original.
    pub(super) brands: u8,
    pub(super) records: u32,
}

/// Columns of the item that an order uses.
#[derive(Clone, Copy)]
struct Offer {
    price: i64,
    is_original: bool,
}

impl Offer {
    fn of(item: &Item) -> Self {
        Self {
            price: item.price.get(),
            is_original: item.data.contains(ORIGINAL),
        }
    }
}

impl NewOrder {
    /// Returns an order without lines.
    pub(super) fn new(customer: CustomerKey, date: Date) -> Self {
        Self {
            customer,
            date,
            count: 0,
            items: [0; LINES_MAX],
            supply_warehouses: [0; LINES_MAX],
            quantities: [0; LINES_MAX],
        }
    }

    /// Adds a line, of fifteen at most.
    pub(super) fn add(&mut self, item: u32, supply_warehouse: u16, quantity: u8) {
        let at = usize::from(self.count);
        self.items[at] = item;
        self.supply_warehouses[at] = supply_warehouse;
        self.quantities[at] = quantity;
        self.count += 1;
    }

    fn line(&self, at: usize) -> Line {
        Line {
            number: at as u8 + 1,
            item: self.items[at],
            supply_warehouse: self.supply_warehouses[at],
            quantity: self.quantities[at],
        }
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = Line> {
        (0..usize::from(self.count)).map(|at| self.line(at))
    }

    /// Returns whether all lines come from the warehouse that the order is entered in.
    pub(super) fn is_local(&self) -> bool {
        let home = self.customer.0;
        self.lines().all(|line| line.supply_warehouse == home)
    }

    /// Returns item, supplying warehouse and quantity of each line.
    #[cfg(test)]
    pub(super) fn ordered(&self) -> Vec<(u32, u16, u8)> {
        let lines = self.lines();
        lines
            .map(|line| (line.item, line.supply_warehouse, line.quantity))
            .collect()
    }
}

/// An order being entered.
struct Entry<'e, P: Policy> {
    tpcc: &'e Tpcc,
    txn: &'e Transaction<P>,
    request: &'e NewOrder,
    /// Number of the order.
    order: u32,
    /// Price of all lines together.
    amount: i64,
    brands: u8,
}

impl Tpcc {
    pub(super) async fn new_order<P: Policy>(
        &self,
        txn: &Transaction<P>,
        request: &NewOrder,
        reads: Reads,
    ) -> Result<Entered> {
        let tables = &self.tables;
        let (warehouse, district, customer) = request.customer;
        let key = (warehouse, district);
        let take_number = |row: &mut District| {
            let order = row.next_order.get();
            row.next_order = (order + 1).into();
            (order, row.tax.get())
        };
        let (order, district_tax) =
            change(txn, &tables.districts, &key, "district", take_number).await?;
        let warehouse_tax = read(txn, &tables.warehouses, &warehouse, "warehouse", |row| {
            row.tax.get()
        })
        .await?;
        let key = (warehouse, district, customer);
        let discount = read(txn, &tables.customers, &key, "customer", |row| {
            row.discount.get()
        })
        .await?;

        let mut entry = Entry {
            tpcc: self,
            txn,
            request,
            order,
            amount: 0,
            brands: 0,
        };
        entry.head().await?;
        match reads {
            Reads::Single => entry.lines_one_by_one().await?,
            Reads::Grouped => entry.lines_grouped().await?,
        }
        let lines = u32::from(request.count);
        if request.lines().any(|line| line.item == UNUSED_ITEM) {
            return Err(rolled_back());
        }
        // Both are in ten-thousandths, so their product is divided by ten thousand twice.
        let (discount, tax) = (
            10_000 - i64::from(discount),
            10_000 + i64::from(warehouse_tax) + i64::from(district_tax),
        );
        Ok(Entered {
            order,
            total: (entry.amount * discount * tax + 50_000_000) / 100_000_000,
            brands: entry.brands,
            // The records are district, warehouse, customer, order and new-order; for each line,
            // item, stock and line.
            records: 2 + 1 + 1 + 2 + lines * 4,
        })
    }
}

impl<P: Policy> Entry<'_, P> {
    /// Enters the order itself.
    async fn head(&self) -> Result<()> {
        let (warehouse, district, customer) = self.request.customer;
        let key = (warehouse, district, self.order);
        let row = Order {
            customer: customer.into(),
            entered: self.request.date,
            carrier: NO_CARRIER,
            lines: self.request.count,
            all_local: self.request.is_local().into(),
        };
        let tables = &self.tpcc.tables;
        self.txn.insert(&tables.orders, &key, &row).await?;
        self.txn.insert(&tables.new_orders, &key, &()).await
    }

    async fn lines_one_by_one(&mut self) -> Result<()> {
        let tables = &self.tpcc.tables;
        for at in 0..usize::from(self.request.count) {
            let line = self.request.line(at);
            let offer = self.txn.get_with(&tables.items, &line.item, Offer::of);
            let Some(offer) = found(line.item, offer.await?)? else {
                continue;
            };
            self.enter_changing_stock(line, offer).await?;
        }
        Ok(())
    }

    async fn enter_changing_stock(&mut self, line: Line, offer: Offer) -> Result<()> {
        let stock = &self.tpcc.tables.stock;
        let key = (line.supply_warehouse, line.item);
        let take = |stock: &mut Stock| take(stock, self.request, line);
        let taken = change(self.txn, stock, &key, "stock", take).await?;
        self.enter(line, offer, taken).await
    }

    async fn lines_grouped(&mut self) -> Result<()> {
        let (request, tables) = (self.request, &self.tpcc.tables);
        let count = usize::from(request.count);
        let mut offers = [None; LINES_MAX];
        let items = &request.items[..count];
        self.txn
            .multi_get_with(&tables.items, items, |at, item| {
                offers[at] = Some(Offer::of(item));
            })
            .await?;
        for (at, offer) in offers.into_iter().enumerate().take(count) {
            let line = request.line(at);
            if let Some(offer) = found(line.item, offer)? {
                self.enter_changing_stock(line, offer).await?;
            }
        }
        Ok(())
    }

    /// Enters one line.
    async fn enter(&mut self, line: Line, offer: Offer, taken: Taken) -> Result<()> {
        let (warehouse, district, _) = self.request.customer;
        let amount = i64::from(line.quantity) * offer.price;
        self.amount += amount;
        self.brands += u8::from(offer.is_original && taken.is_original);
        let key = (warehouse, district, self.order, line.number);
        let row = OrderLine {
            item: line.item.into(),
            supply_warehouse: line.supply_warehouse.into(),
            delivered: NO_DATE,
            quantity: line.quantity,
            amount: amount.into(),
            district_info: taken.district_info,
        };
        let table = &self.tpcc.tables.order_lines;
        self.txn.insert(table, &key, &row).await
    }
}

/// Returns the offer of an item, which may be missing only if it is the unused one.
fn found(item: u32, offer: Option<Offer>) -> Result<Option<Offer>> {
    match offer {
        None if item != UNUSED_ITEM => Err(missing("item")),
        offer => Ok(offer),
    }
}

/// Columns of the stock that an order line uses.
#[derive(Clone, Copy)]
struct Taken {
    district_info: Text<24>,
    is_original: bool,
}

/// Takes the quantity of `line` from the stock, which is filled up before it runs short.
fn take(stock: &mut Stock, request: &NewOrder, line: Line) -> Taken {
    let (warehouse, district, _) = request.customer;
    let (left, quantity) = (stock.quantity.get(), u16::from(line.quantity));
    stock.quantity = match left >= quantity + 10 {
        true => left - quantity,
        false => left + 91 - quantity,
    }
    .into();
    stock.ytd += u64::from(quantity);
    stock.orders += 1;
    stock.remote_orders += u32::from(line.supply_warehouse != warehouse);
    Taken {
        district_info: stock.districts[usize::from(district) - 1],
        is_original: stock.data.contains(ORIGINAL),
    }
}
