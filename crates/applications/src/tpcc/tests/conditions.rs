//! Each condition can fail: a database in which transactions have run is damaged in one place, and
//! exactly the conditions that depend on this place are named.

use super::*;
use crate::application::access::change;
use crate::tpcc::schema::{Date, NO_CARRIER, NO_DATE, OrderKey};

/// Returns the conditions that `damage` breaks, and the sentences that say so. The damage is not
/// committed.
fn broken_by<F>(damage: F) -> (String, Vec<String>)
where
    F: AsyncFn(&Tpcc, &Transaction) -> weft::Result<()> + Send + 'static,
{
    let (database, tpcc) = load(&tiny(2), in_memory(2));
    concurrent::work::<weft::Interleaved>(&database, &tpcc, Isolation::Snapshot, 100);
    assert_eq!(inconsistencies(&database, &tpcc), Vec::<String>::new());
    let sentences = run(&database, async move |txn: &Transaction| {
        damage(&tpcc, txn).await?;
        tpcc.inconsistencies(txn).await
    });
    let conditions = named(&sentences).into_iter().collect::<Vec<_>>().join(" ");
    (conditions, sentences)
}

macro_rules! broken {
    ($($name:ident, $conditions:literal: |$tpcc:ident, $txn:ident| $damage:block)*) => {$(
        #[test]
        fn $name() {
            let (conditions, sentences) = broken_by(async |$tpcc: &Tpcc, $txn: &Transaction| {
                $damage
                Ok(())
            });
            assert_eq!(conditions, $conditions, "{sentences:#?}");
        }
    )*};
}

/// A loaded order that is delivered.
const DELIVERED: OrderKey = (1, 2, 3);
/// Returns an open order that is neither the oldest nor the newest of its district.
async fn open_order(tpcc: &Tpcc, txn: &Transaction) -> weft::Result<OrderKey> {
    let open = txn.scan(&tpcc.tables.new_orders, ..).collect().await?;
    let place = |key: OrderKey| (key.0, key.1);
    let inner = open.windows(3).find(|keys| {
        let [(before, ()), _, (after, ())] = keys else {
            return false;
        };
        place(*before) == place(*after)
    });
    Ok(inner.expect("three open orders of one district")[1].0)
}

broken! {
    a_warehouse_s_ytd, "1 8": |tpcc, txn| {
        change(txn, &tpcc.tables.warehouses, &2, "", |row| row.ytd += 1).await?;
    }
    a_district_s_ytd, "1 9": |tpcc, txn| {
        change(txn, &tpcc.tables.districts, &(2, 1), "", |row| row.ytd += 1).await?;
    }
    a_district_s_next_order, "2": |tpcc, txn| {
        let districts = &tpcc.tables.districts;
        change(txn, districts, &(1, 2), "", |row| row.next_order += 1).await?;
    }
    an_open_order_missing_between_others, "11 3 5": |tpcc, txn| {
        let key = open_order(tpcc, txn).await?;
        assert!(txn.delete(&tpcc.tables.new_orders, &key).await?);
    }
    a_line_missing, "4 6": |tpcc, txn| {
        let (warehouse, district, order) = DELIVERED;
        let key = (warehouse, district, order, 1);
        assert!(txn.delete(&tpcc.tables.order_lines, &key).await?);
    }
    lines_of_two_orders_confused, "6": |tpcc, txn| {
        let orders = &tpcc.tables.orders;
        change(txn, orders, &DELIVERED, "", |row| row.lines += 1).await?;
        change(txn, orders, &(1, 2, 4), "", |row| row.lines -= 1).await?;
    }
    an_open_order_with_a_carrier, "5 7": |tpcc, txn| {
        let key = open_order(tpcc, txn).await?;
        change(txn, &tpcc.tables.orders, &key, "", |row| row.carrier = 1).await?;
    }
    a_delivered_order_without_a_carrier, "5 7": |tpcc, txn| {
        let orders = &tpcc.tables.orders;
        change(txn, orders, &DELIVERED, "", |row| row.carrier = NO_CARRIER).await?;
    }
    a_delivered_line_without_a_date, "7": |tpcc, txn| {
        let (warehouse, district, order) = DELIVERED;
        let key = (warehouse, district, order, 1);
        let lines = &tpcc.tables.order_lines;
        change(txn, lines, &key, "", |row| row.delivered = NO_DATE).await?;
    }
    an_open_line_with_a_date, "10 12 7": |tpcc, txn| {
        let (warehouse, district, order) = open_order(tpcc, txn).await?;
        let key = (warehouse, district, order, 1);
        let lines = &tpcc.tables.order_lines;
        change(txn, lines, &key, "", |row| row.delivered = Date::new(1)).await?;
    }
    a_payment_to_another_warehouse, "8 9": |tpcc, txn| {
        let other = |row: &mut schema::History| row.warehouse = (3 - row.warehouse.get()).into();
        change(txn, &tpcc.tables.history, &(10 * 10 + 3), "", other).await?;
    }
    a_payment_in_another_district, "9": |tpcc, txn| {
        let other = |row: &mut schema::History| row.district = 3 - row.district;
        change(txn, &tpcc.tables.history, &(10 * 10 + 3), "", other).await?;
    }
    a_payment_of_another_customer, "10": |tpcc, txn| {
        let other = |row: &mut schema::History| row.customer += 1;
        change(txn, &tpcc.tables.history, &(10 * 10 + 3), "", other).await?;
    }
    a_payment_of_nobody, "10": |tpcc, txn| {
        let nobody = schema::History {
            customer: 99.into(),
            amount: 0.into(),
            ..tpcc.population.history(1, 1, 1)
        };
        txn.insert(&tpcc.tables.history, &u64::MAX, &nobody).await?;
    }
    a_payment_nowhere, "8 9": |tpcc, txn| {
        let nowhere = schema::History {
            warehouse: 3.into(),
            amount: 0.into(),
            ..tpcc.population.history(1, 1, 1)
        };
        txn.insert(&tpcc.tables.history, &u64::MAX, &nowhere).await?;
    }
    a_customer_s_balance, "10 12": |tpcc, txn| {
        change(txn, &tpcc.tables.customers, &(1, 1, 5), "", |row| row.balance += 1).await?;
    }
    a_customer_s_payments, "12": |tpcc, txn| {
        let customers = &tpcc.tables.customers;
        change(txn, customers, &(1, 1, 5), "", |row| row.ytd_payment += 1).await?;
    }
    a_customer_s_deliveries, "11": |tpcc, txn| {
        let customers = &tpcc.tables.customers;
        change(txn, customers, &(1, 1, 5), "", |row| row.deliveries += 1).await?;
    }
    a_customer_missing, "10": |tpcc, txn| {
        // The customer's sums are as they were loaded, and add up to nothing.
        let customers = txn.scan(&tpcc.tables.customers, ..).collect().await?;
        let untouched = customers.iter().find(|(_, row)| {
            (row.balance.get(), row.ytd_payment.get()) == (-10_00, 10_00)
        });
        let (key, _) = untouched.expect("a customer who has not paid");
        assert!(txn.delete(&tpcc.tables.customers, key).await?);
    }
    an_open_order_that_there_is_not, "11 2 5": |tpcc, txn| {
        let next = txn.get(&tpcc.tables.districts, &(1, 1)).await?.expect("there");
        let key = (1, 1, next.next_order.get());
        txn.insert(&tpcc.tables.new_orders, &key, &()).await?;
    }
    a_line_of_no_order, "4 6": |tpcc, txn| {
        let row = tpcc.population.order_line(1, 1, 1, 1);
        txn.insert(&tpcc.tables.order_lines, &(1, 1, 0, 1), &row).await?;
    }
    an_order_of_no_district, "2": |tpcc, txn| {
        let row = tpcc.population.order(1, 1, 1, 1);
        let row = schema::Order { lines: 0, ..row };
        txn.insert(&tpcc.tables.orders, &(1, 9, 1), &row).await?;
    }
    stock_of_more_orders, "stock": |tpcc, txn| {
        change(txn, &tpcc.tables.stock, &(1, 7), "", |row| row.orders += 1).await?;
    }
    stock_of_more_remote_orders, "stock": |tpcc, txn| {
        change(txn, &tpcc.tables.stock, &(1, 7), "", |row| row.remote_orders += 1).await?;
    }
    stock_of_which_more_was_sold, "stock": |tpcc, txn| {
        change(txn, &tpcc.tables.stock, &(2, 7), "", |row| row.ytd += 1).await?;
    }
    an_item_changed, "items": |tpcc, txn| {
        change(txn, &tpcc.tables.items, &100, "", |row| row.price += 1).await?;
    }
    an_item_missing, "items": |tpcc, txn| {
        assert!(txn.delete(&tpcc.tables.items, &100).await?);
    }
}

#[test]
fn a_sentence_says_where_and_both_numbers() {
    let (_, sentences) = broken_by(async |tpcc: &Tpcc, txn: &Transaction| {
        let customers = &tpcc.tables.customers;
        change(txn, customers, &(2, 1, 5), "", |row| row.deliveries += 1).await?;
        Ok(())
    });
    let [sentence] = &*sentences else {
        panic!("{sentences:?}");
    };
    let numbers: Vec<i64> = sentence
        .split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect();
    let [condition, district, warehouse, closed, delivered] = *numbers else {
        panic!("{sentence}");
    };
    assert_eq!((condition, district, warehouse), (11, 1, 2), "{sentence}");
    assert_eq!(closed + 1, delivered, "{sentence}");
}
