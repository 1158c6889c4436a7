//! Each transaction alone, against its specification.

use weft::{Prefix, Table};

use super::*;
use crate::application::access::change;
use crate::application::rolled_back;
use crate::tpcc::new_order::Entered;
use crate::tpcc::random::{ORIGINAL, last_name};
use crate::tpcc::schema::{
    BAD_CREDIT, Customer, CustomerKey, Date, GOOD_CREDIT, Money, NO_CARRIER, NO_DATE, Stock, Text,
};
use crate::tpcc::terminal::{UNUSED_ITEM, Who};

const READS: [Reads; 2] = [Reads::Single, Reads::Grouped];
const DATE: Date = Date::new(1_800_000_000_000);

/// Changes a record.
async fn set<K, V>(
    txn: &Transaction,
    table: &Table<K, V>,
    key: K,
    to: impl FnMut(&mut V),
) -> weft::Result<()>
where
    K: weft::Key,
    V: weft::BorrowValue<Borrowed = V> + zerocopy::FromZeros + Copy,
{
    change(txn, table, &key, "record of the test", to).await
}

async fn stock_of(txn: &Transaction, tpcc: &Tpcc, key: StockKey) -> weft::Result<Stock> {
    Ok(txn.get(&tpcc.tables.stock, &key).await?.unwrap())
}

/// Returns an order of customer 3 in the second district of the first warehouse: twice the same
/// item, and one from another warehouse.
fn order() -> NewOrder {
    let mut order = NewOrder::new((1, 2, 3), DATE);
    order.add(5, 1, 4);
    order.add(7, 2, 10);
    order.add(5, 1, 3);
    order
}

/// Sets prices, taxes, a discount and stock to compute with.
async fn prepare(tpcc: &Tpcc, txn: &Transaction) -> weft::Result<()> {
    let tables = &tpcc.tables;
    let original: Text<50> = Text::of(&[b"something ", ORIGINAL]);
    set(txn, &tables.warehouses, 1, |row| row.tax = 1_000.into()).await?;
    set(txn, &tables.districts, (1, 2), |row| row.tax = 500.into()).await?;
    let customers = &tables.customers;
    set(txn, customers, (1, 2, 3), |row| row.discount = 2_000.into()).await?;
    for (item, price) in [(5, 10_00), (7, 2_50)] {
        set(txn, &tables.items, item, |row| {
            row.price = Money::new(price);
            row.data = original;
        })
        .await?;
    }
    set(txn, &tables.stock, (1, 5), |row| {
        row.quantity = 16.into();
        row.data = original;
    })
    .await?;
    set(txn, &tables.stock, (2, 7), |row| {
        row.quantity = 20.into();
        row.data = Text::of(&[b"nothing special"]);
    })
    .await
}

#[test]
fn a_new_order_takes_stock_and_costs_what_it_should() {
    for reads in READS {
        let (database, tpcc) = load(&tiny(2), in_memory(1));
        run(&database, async move |txn: &Transaction| {
            prepare(&tpcc, txn).await?;
            let entered = tpcc.new_order(txn, &order(), reads).await?;
            // 7 * 10.00 + 10 * 2.50, less 20 %, and 15 % tax.
            let expected = Entered {
                order: 11,
                total: 87_40,
                brands: 2,
                records: 6 + 3 * 4,
            };
            assert_eq!(entered, expected, "{reads:?}");

            let tables = &tpcc.tables;
            let district = txn.get(&tables.districts, &(1, 2)).await?.unwrap();
            assert_eq!(district.next_order.get(), 12);
            let row = txn.get(&tables.orders, &(1, 2, 11)).await?.unwrap();
            assert_eq!((row.customer.get(), row.entered), (3, DATE));
            assert_eq!((row.carrier, row.lines, row.all_local), (NO_CARRIER, 3, 0));
            assert!(txn.contains(&tables.new_orders, &(1, 2, 11)).await?);

            let stock = stock_of(txn, &tpcc, (1, 5)).await?;
            // 16 - 4 leaves 12, which is fewer than 3 and 10.
            assert_eq!(stock.quantity.get(), 12 - 3 + 91);
            let counts = (
                stock.ytd.get(),
                stock.orders.get(),
                stock.remote_orders.get(),
            );
            assert_eq!(counts, (7, 2, 0));
            let remote = stock_of(txn, &tpcc, (2, 7)).await?;
            assert_eq!(remote.quantity.get(), 20 - 10);
            let counts = (
                remote.ytd.get(),
                remote.orders.get(),
                remote.remote_orders.get(),
            );
            assert_eq!(counts, (10, 1, 1));

            let lines = txn.scan(&tables.order_lines, Prefix((1_u16, 2_u8, 11_u32)));
            let lines = lines.collect().await?;
            let numbers: Vec<u8> = lines.iter().map(|(key, _)| key.3).collect();
            assert_eq!(numbers, [1, 2, 3]);
            let amounts: Vec<i64> = lines.iter().map(|(_, row)| row.amount.get()).collect();
            assert_eq!(amounts, [40_00, 25_00, 30_00]);
            let line = &lines[1].1;
            assert_eq!((line.item.get(), line.supply_warehouse.get()), (7, 2));
            assert_eq!((line.quantity, line.delivered), (10, NO_DATE));
            assert_eq!(line.district_info, remote.districts[1]);
            Ok(())
        });
    }
}

/// All operations for the order's other lines were done, and nothing remains of them.
#[test]
fn a_new_order_with_an_unused_item_is_rolled_back() {
    for reads in READS {
        let (database, tpcc) = load(&tiny(2), in_memory(1));
        let ours = tpcc.clone();
        let outcome = database.run_blocking(async move |txn: &Transaction| {
            let mut order = order();
            order.add(UNUSED_ITEM, 1, 1);
            let outcome = ours.new_order(txn, &order, reads).await;
            let stock = stock_of(txn, &ours, (1, 5)).await?;
            assert_eq!(stock.orders.get(), 2, "{reads:?}");
            outcome
        });
        let error = outcome.unwrap_err().to_string();
        assert_eq!(error, rolled_back().to_string());
        let ours = tpcc.clone();
        run(&database, async move |txn: &Transaction| {
            let tables = &ours.tables;
            let district = txn.get(&tables.districts, &(1, 2)).await?.unwrap();
            assert_eq!(district.next_order.get(), 11);
            assert_eq!(stock_of(txn, &ours, (1, 5)).await?.orders.get(), 0);
            assert!(!txn.contains(&tables.orders, &(1, 2, 11)).await?);
            Ok(())
        });
        assert_eq!(inconsistencies(&database, &tpcc), Vec::<String>::new());
    }
}

/// An item other than the unused one that is missing is no reason to roll back.
#[test]
fn an_item_that_is_missing_is_an_error() {
    for reads in READS {
        let (database, tpcc) = load(&tiny(2), in_memory(1));
        let outcome = database.run_blocking(async move |txn: &Transaction| {
            txn.delete(&tpcc.tables.items, &7).await?;
            tpcc.new_order(txn, &order(), reads).await
        });
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("item that must exist"), "{error}");
    }
}

fn payment(who: Who) -> Payment {
    Payment {
        warehouse: 1,
        district: 2,
        customer_warehouse: 2,
        customer_district: 1,
        who,
        amount: 12_345,
        date: DATE,
        key: 1 << 50,
    }
}

const PAYING: CustomerKey = (2, 1, 4);

#[test]
fn a_payment_arrives_everywhere() {
    let (database, tpcc) = load(&tiny(2), in_memory(1));
    let ours = tpcc.clone();
    run(&database, async move |txn: &Transaction| {
        let tables = &ours.tables;
        set(txn, &tables.customers, PAYING, |row| {
            row.credit = GOOD_CREDIT
        })
        .await?;
        let before = txn.get(&tables.customers, &PAYING).await?.unwrap();
        let paid = ours.payment(txn, &payment(Who::Number(4))).await?;
        assert_eq!(paid.customer, PAYING);
        assert_eq!(paid.balance, -10_00 - 12_345);
        assert_eq!(paid.records, 7);

        let warehouse = txn.get(&tables.warehouses, &1).await?.unwrap();
        assert_eq!(warehouse.ytd.get(), 2 * 10 * 10_00 + 12_345);
        let district = txn.get(&tables.districts, &(1, 2)).await?.unwrap();
        assert_eq!(district.ytd.get(), 10 * 10_00 + 12_345);
        let customer = txn.get(&tables.customers, &PAYING).await?.unwrap();
        let expected = Customer {
            balance: Money::new(-13_345),
            ytd_payment: Money::new(13_345),
            payments: 2.into(),
            ..before
        };
        assert_eq!(customer, expected);

        let history = txn.get(&tables.history, &(1 << 50)).await?.unwrap();
        let whose = (
            history.customer_warehouse.get(),
            history.customer_district,
            history.customer.get(),
        );
        assert_eq!(whose, PAYING);
        assert_eq!((history.warehouse.get(), history.district), (1, 2));
        assert_eq!((history.amount.get(), history.date), (12_345, DATE));
        let names = [warehouse.name.as_bytes(), district.name.as_bytes()];
        assert_eq!(history.data.as_bytes(), names.join(&b"    "[..]));
        Ok(())
    });
    assert_eq!(inconsistencies(&database, &tpcc), Vec::<String>::new());
}

#[test]
fn a_payment_of_somebody_with_bad_credit_is_written_down() {
    let (database, tpcc) = load(&tiny(2), in_memory(1));
    run(&database, async move |txn: &Transaction| {
        let customers = &tpcc.tables.customers;
        set(txn, customers, PAYING, |row| row.credit = BAD_CREDIT).await?;
        let before = txn.get(customers, &PAYING).await?.unwrap().data;
        tpcc.payment(txn, &payment(Who::Number(4))).await?;
        let mut request = payment(Who::Number(4));
        (request.amount, request.key) = (500_000, request.key + 1);
        tpcc.payment(txn, &request).await?;
        let after = txn.get(customers, &PAYING).await?.unwrap().data;
        let lines = [
            &b"4 1 2 2 1 5000.00|4 1 2 2 1 123.45|"[..],
            before.as_bytes(),
        ]
        .concat();
        assert_eq!(after.as_bytes(), &lines[..lines.len().min(500)]);
        Ok(())
    });
}

/// Customers of one last name are sorted by first name; the one in the middle is found, of an even
/// number the first of the two.
#[test]
fn a_customer_is_found_by_name_in_the_middle() {
    let (database, tpcc) = load(&tiny(2), in_memory(1));
    run(&database, async move |txn: &Transaction| {
        let customers = &tpcc.tables.customers;
        for (customer, first) in [(2, "CC"), (5, "AA"), (8, "BB"), (4, "DD")] {
            set(txn, customers, (2, 1, customer), |row| {
                row.last = last_name(3);
                row.first = Text::of(&[first.as_bytes()]);
            })
            .await?;
        }
        let paid = tpcc.payment(txn, &payment(Who::Name(3))).await?;
        assert_eq!((paid.customer, paid.records), ((2, 1, 8), 4 + 7));

        set(txn, customers, (2, 1, 5), |row| row.last = last_name(11)).await?;
        let of = (2, 1);
        let found = tpcc.find_customer(txn, of, Who::Name(3)).await?;
        assert_eq!(found, ((2, 1, 2), 3));
        assert_eq!(
            tpcc.find_customer(txn, of, Who::Name(11)).await?.0,
            (2, 1, 5)
        );
        assert_eq!(
            tpcc.find_customer(txn, of, Who::Name(0)).await?.0,
            (2, 1, 1)
        );
        let nobody = tpcc.find_customer(txn, of, Who::Name(999)).await;
        assert!(nobody.unwrap_err().to_string().contains("of this name"));
        Ok(())
    });
}

#[test]
fn the_status_is_that_of_the_newest_order() {
    let (database, tpcc) = load(&tiny(2), in_memory(1));
    run(&database, async move |txn: &Transaction| {
        let population = &tpcc.population;
        let loaded = population.customers_of_orders(1, 2);
        let order_of_3 = loaded.iter().position(|&customer| customer == 3).unwrap() + 1;
        let request = OrderStatus {
            warehouse: 1,
            district: 2,
            // The third customer has the third name.
            who: Who::Name(2),
        };
        let status = tpcc.order_status(txn, &request).await?;
        assert_eq!((status.customer, status.order), (3, order_of_3 as u32));
        assert_eq!(status.is_delivered, order_of_3 <= 7);
        assert_eq!(status.balance, -10_00);

        prepare(&tpcc, txn).await?;
        tpcc.new_order(txn, &order(), Reads::Single).await?;
        let status = tpcc.order_status(txn, &request).await?;
        assert_eq!((status.order, status.is_delivered), (11, false));
        assert_eq!((status.amount, status.records), (95_00, 1 + 2 + 3));
        Ok(())
    });
}

#[test]
fn a_delivery_takes_the_oldest_order_of_each_district() {
    let (database, tpcc) = load(&tiny(2), in_memory(1));
    let ours = tpcc.clone();
    run(&database, async move |txn: &Transaction| {
        let tables = &ours.tables;
        let request = Delivery {
            warehouse: 2,
            carrier: 7,
            date: DATE,
        };
        let delivered = ours.delivery(txn, &request).await?;
        assert_eq!(delivered.orders, 2);
        for district in 1..=2 {
            let order = txn.get(&tables.orders, &(2, district, 8)).await?.unwrap();
            assert_eq!(order.carrier, 7);
            assert!(!txn.contains(&tables.new_orders, &(2, district, 8)).await?);
            assert!(txn.contains(&tables.new_orders, &(2, district, 9)).await?);
            let lines = txn.scan(&tables.order_lines, Prefix((2_u16, district, 8_u32)));
            let lines = lines.collect().await?;
            assert_eq!(lines.len(), usize::from(order.lines));
            assert!(lines.iter().all(|(_, line)| line.delivered == DATE));
            let amount: i64 = lines.iter().map(|(_, line)| line.amount.get()).sum();
            assert!(amount > 0);
            let key = (2, district, order.customer.get());
            let customer = txn.get(&tables.customers, &key).await?.unwrap();
            assert_eq!(customer.balance.get(), amount - 10_00);
            assert_eq!(customer.deliveries.get(), 1);
        }
        assert!(txn.contains(&tables.new_orders, &(1, 1, 8)).await?);

        txn.delete(&tables.new_orders, &(2, 1, 9)).await?;
        txn.delete(&tables.new_orders, &(2, 1, 10)).await?;
        assert_eq!(ours.delivery(txn, &request).await?.orders, 1);
        assert_eq!(ours.delivery(txn, &request).await?.orders, 1);
        assert_eq!(ours.delivery(txn, &request).await?.orders, 0);
        Ok(())
    });
}

#[test]
fn what_runs_short_is_counted_once_for_the_last_twenty_orders() {
    let mut settings = tiny(1);
    settings.scale.customers = 30;
    let (database, tpcc) = load(&settings, in_memory(1));
    run(&database, async move |txn: &Transaction| {
        let tables = &tpcc.tables;
        for item in 1..=100 {
            set(txn, &tables.stock, (1, item), |row| {
                row.quantity = 50.into()
            })
            .await?;
        }
        let items = async |orders: std::ops::Range<u32>| -> weft::Result<BTreeSet<u32>> {
            let range = (1, 1, orders.start, 0)..(1, 1, orders.end, 0);
            let lines = txn.scan(&tables.order_lines, range).collect().await?;
            Ok(lines.iter().map(|(_, line)| line.item.get()).collect())
        };
        let (old, new) = (items(1..11).await?, items(11..31).await?);
        let only_old = old
            .difference(&new)
            .next()
            .expect("an item of old orders only");
        let mut low: Vec<u32> = new.iter().copied().take(3).collect();
        low.push(*only_old);
        for item in low {
            set(txn, &tables.stock, (1, item), |row| {
                row.quantity = 14.into()
            })
            .await?;
        }
        for reads in READS {
            for (threshold, expected) in [(14, 0), (15, 3), (51, new.len() as u32)] {
                let request = StockLevel {
                    warehouse: 1,
                    district: 1,
                    threshold,
                };
                let level = tpcc.stock_level(txn, &request, reads).await?;
                assert_eq!(level.low, expected, "{reads:?}, {threshold}");
                assert!(level.records > 20 * 5 + new.len() as u32);
            }
        }
        Ok(())
    });
}

/// Supplier 4 supplies item 4 of the first warehouse and item 2 of the second.
#[test]
fn a_query_supplies_what_a_supplier_has_least_of() {
    for reads in READS {
        let (database, tpcc) = load(&tiny(2), in_memory(1));
        let ours = tpcc.clone();
        run(&database, async move |txn: &Transaction| {
            let (tables, population) = (&ours.tables, &ours.population);
            assert_eq!(ours.supplied[4], [(1, 4), (2, 2)]);
            for warehouse in 1..=2 {
                for item in 1..=100 {
                    let key = (warehouse, item);
                    set(txn, &tables.stock, key, |row| row.quantity = 40.into()).await?;
                }
            }
            let described = async |item, data: &'static [u8]| {
                set(txn, &tables.items, item, |row| row.data = Text::of(&[data])).await
            };
            for item in 1..=100 {
                described(item, b"plain").await?;
            }
            set(txn, &tables.stock, (1, 4), |row| row.quantity = 12.into()).await?;
            set(txn, &tables.stock, (2, 2), |row| row.quantity = 10.into()).await?;
            let region_of = |supplier| {
                let nation = population.supplier(supplier).nation;
                population.nation(nation).region
            };
            let region = region_of(4);
            let suppliers: Vec<u32> = (0..20).filter(|&s| region_of(s) == region).collect();
            let found = ours.query2(txn, &Query2 { region }, reads).await?;
            assert_eq!(found.suppliers as usize, suppliers.len());
            assert_eq!(found.supplied, 1);
            let lowest = |supplier: u32| match supplier {
                0 => None,
                4 => Some(2),
                supplier => Some(supplier),
            };
            let items = suppliers.iter().copied().filter_map(lowest);
            let prices: i64 = items.map(|item| population.item(item).price.get()).sum();
            assert_eq!(found.prices, prices);
            let quantity =
                async |key| Ok::<_, weft::Error>(stock_of(txn, &ours, key).await?.quantity.get());
            assert_eq!(quantity((2, 2)).await?, 10 + 50);
            assert_eq!(quantity((1, 4)).await?, 12);

            let other = (0..5).find(|&other| other != region).unwrap();
            let found = ours.query2(txn, &Query2 { region: other }, reads).await?;
            assert_eq!(found.supplied, 0);
            let found = ours.query2(txn, &Query2 { region }, reads).await?;
            assert_eq!(found.supplied, 1);
            assert_eq!(quantity((1, 4)).await?, 12 + 50);

            set(txn, &tables.stock, (2, 2), |row| row.quantity = 10.into()).await?;
            described(2, b"a bobbin").await?;
            let found = ours.query2(txn, &Query2 { region }, reads).await?;
            let without = population.item(2).price.get();
            assert_eq!((found.supplied, found.prices), (0, prices - without));
            assert_eq!(quantity((2, 2)).await?, 10);
            for item in 1..=100 {
                set(txn, &tables.items, item, |row| *row = population.item(item)).await?;
            }
            Ok(())
        });
        assert_eq!(inconsistencies(&database, &tpcc), Vec::<String>::new());
    }
}
