//! Conditions that always hold, whatever has committed: the twelve conditions of clause 3.3.2, and two of ours.
//!
//! | condition | says |
//! | --- | --- |
//! | 1 | a warehouse's W_YTD is the sum of its districts' D_YTD |
//! | 2 | D_NEXT_O_ID - 1 is the newest order's number, and the newest open one's if there is one |
//! | 3 | the open orders of a district are as many as lie between the oldest and the newest |
//! | 4 | the O_OL_CNT of a district add up to the number of its order lines |
//! | 5 | an order has no carrier if and only if it is open |
//! | 6 | an order has as many lines as its O_OL_CNT says |
//! | 7 | a line has no delivery date if and only if its order has no carrier |
//! | 8 | W_YTD is the sum of the warehouse's payments |
//! | 9 | D_YTD is the sum of the district's payments |
//! | 10 | C_BALANCE is the sum of the customer's delivered lines, less that of the customer's payments |
//! | 11 | the number of a district's orders that are not open equals the number of deliveries |
//! | 12 | C_BALANCE + C_YTD_PAYMENT is the sum of the customer's delivered lines |
//! | stock | S_ORDER_CNT, S_REMOTE_CNT and S_YTD of a warehouse's stock add up to the quantities that lines entered since the load have taken from it |
//! | items | the items are those that were loaded |
//!
//! The standard states condition 11 for a database just loaded: 2,100 orders of a district are not open. Here it covers
//! any time: the orders that are not open are those loaded as delivered, and one more for each delivery that the
//! district's customers have counted (C_DELIVERY_CNT).
//!
//! The check makes one pass over each table in one transaction. Orders are kept, in the order of their keys, and open
//! orders and order lines are merged with them as they come by: memory grows with customers and orders, not with lines,
//! payments and stock. A row that lacks another record or refers to a missing one shows as a sum that is wrong, or is
//! named.

pub(super) mod books;
pub(super) mod orders;

use std::ops::ControlFlow;

use weft::{Key, Policy, Result, Table, Transaction, Value};

use self::books::Books;
use self::orders::{Lines, Open, Orders};
use super::Tpcc;
use crate::application::violations::Violations;

/// Returns violations of the conditions: a sentence each.
pub(super) async fn check<P: Policy>(tpcc: &Tpcc, txn: &Transaction<P>) -> Result<Vec<String>> {
    let (tables, population) = (&tpcc.tables, &tpcc.population);
    let mut violations = Violations::default();
    let found = &mut violations;
    let mut books = Books::new(population);
    all(txn, &tables.warehouses, |key, row| {
        books.warehouse(key, &row, found);
    })
    .await?;
    all(txn, &tables.districts, |key, row| {
        books.district(key, &row, found);
    })
    .await?;
    all(txn, &tables.customers, |key, row| {
        books.customer(key, &row, found);
    })
    .await?;
    all(txn, &tables.history, |key, row| {
        books.payment(key, &row, found);
    })
    .await?;

    let mut orders = Orders::default();
    all(txn, &tables.orders, |key, row| {
        orders.push(key, &row);
        books.order(key, &row, found);
    })
    .await?;
    let mut open = Open::of(&orders);
    all(txn, &tables.new_orders, |key, ()| {
        books.open_order(key);
        open.order(key, found);
    })
    .await?;
    open.end(found);
    let mut lines = Lines::of(&orders);
    all(txn, &tables.order_lines, |key, row| {
        let customer = lines.line(key, &row, found);
        books.line(key, &row, customer);
    })
    .await?;
    lines.end(found);

    all(txn, &tables.stock, |key, row| books.stock(key, &row, found)).await?;
    let mut items = 0;
    all(txn, &tables.items, |item, row| {
        items += 1;
        if row != population.item(item) {
            found.add("items", format_args!("item {item} is not the one loaded"));
        }
    })
    .await?;
    found.compare(
        "items",
        "the database",
        ("items", items),
        ("items loaded", population.scale.items.into()),
    );
    books.balance(found);
    Ok(violations.sentences())
}

/// Shows all records of a table to `visit`.
async fn all<P: Policy, K: Key, V: Value>(
    txn: &Transaction<P>,
    table: &Table<K, V>,
    mut visit: impl FnMut(K, V),
) -> Result<()> {
    txn.scan(table, ..)
        .for_each(|key, row| {
            visit(key, row);
            ControlFlow::Continue(())
        })
        .await?;
    Ok(())
}
