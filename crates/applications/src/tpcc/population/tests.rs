//! Properties of generated rows, at the standard's scale.

use std::collections::HashMap;

use super::*;
use crate::tpcc::mix::Mix;
use crate::tpcc::random::ORIGINAL;

fn population(seed: u64) -> Population {
    Population::of(&Settings {
        seed,
        ..Settings::standard(Mix::Tpcc, 4)
    })
}

#[test]
fn rows_follow_from_the_seed_and_their_key() {
    let (one, other) = (population(1), population(2));
    assert_eq!(
        one.customer(3, 7, 2_999),
        population(1).customer(3, 7, 2_999)
    );
    assert_ne!(one.customer(3, 7, 2_999), other.customer(3, 7, 2_999));
    assert_ne!(one.customer(3, 7, 2_999), one.customer(4, 7, 2_999));
    assert_ne!(one.stock(1, 500), one.stock(2, 500));
    assert_ne!(one.order_line(1, 1, 1, 1), one.order_line(1, 1, 1, 2));
    assert_ne!(one.order_line(1, 1, 1, 1), one.order_line(1, 1, 2, 1));
    assert_ne!(one.customers_of_orders(1, 1), one.customers_of_orders(1, 2));
}

/// The first thousand customers have the thousand last names, the others mostly frequent
/// ones.
#[test]
fn customers_are_named_and_rated_as_the_standard_says() {
    let population = population(1);
    let customers: Vec<_> = (1..=3_000).map(|c| population.customer(2, 5, c)).collect();
    for (number, customer) in (0..NAMES).zip(&customers) {
        assert_eq!(customer.last, last_name(number));
    }
    let mut names: HashMap<_, u32> = HashMap::new();
    for customer in &customers {
        *names.entry(customer.last.0).or_default() += 1;
    }
    assert_eq!(names.len(), 1_000);
    // If names were drawn uniformly, none would be drawn twenty times besides.
    assert!(names.values().max() > Some(&20));

    // The standard deviation is 16.
    let bad = customers
        .iter()
        .filter(|row| row.credit == BAD_CREDIT)
        .count();
    assert!(bad.abs_diff(300) < 100, "{bad}");
    for row in &customers {
        assert!([BAD_CREDIT, GOOD_CREDIT].contains(&row.credit));
        assert_eq!((row.balance.get(), row.ytd_payment.get()), (-1_000, 1_000));
        assert!(row.discount.get() <= 5_000);
        assert!((300..=500).contains(&row.data.as_bytes().len()));
        assert!((8..=16).contains(&row.first.as_bytes().len()));
        assert!(row.phone.iter().all(u8::is_ascii_digit));
        assert_eq!(&row.address.zip[4..], b"11111");
        assert_eq!(row.credit_limit.get(), 5_000_000);
    }
}

#[test]
fn the_last_nine_hundred_orders_are_open() {
    let population = population(1);
    let mut customers = population.customers_of_orders(1, 1);
    assert_ne!(customers[..10], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    let mut lines = [0_u32; 16];
    for (order, &customer) in (1..).zip(&customers) {
        let row = population.order(1, 1, order, customer);
        assert_eq!(row.customer.get(), customer);
        assert_eq!(row.carrier == NO_CARRIER, order > 2_100);
        assert!(row.carrier <= 10);
        lines[usize::from(row.lines)] += 1;
        for line in 1..=row.lines {
            let row = population.order_line(1, 1, order, line);
            assert_eq!(row.delivered == NO_DATE, order > 2_100);
            assert_eq!(row.amount.get() == 0, order <= 2_100);
            assert!((0..=999_999).contains(&row.amount.get()));
            assert_eq!((row.supply_warehouse.get(), row.quantity), (1, 5));
            assert!((1..=100_000).contains(&row.item.get()));
            assert_eq!(row.district_info.as_bytes().len(), 24);
        }
    }
    assert_eq!(lines[..5], [0; 5]);
    // Each number 273 times on average.
    assert!(lines[5..].iter().all(|&orders| orders > 180), "{lines:?}");
    customers.sort_unstable();
    assert!(customers.into_iter().eq(1..=3_000));
}

#[test]
fn a_tenth_of_items_and_stock_is_original() {
    let population = population(1);
    let items: Vec<_> = (1..=20_000).map(|item| population.item(item)).collect();
    let stock: Vec<_> = (1..=20_000).map(|item| population.stock(3, item)).collect();
    let original = |data: &Text<50>| usize::from(data.contains(ORIGINAL));
    let of_items: usize = items.iter().map(|row| original(&row.data)).sum();
    let of_stock: usize = stock.iter().map(|row| original(&row.data)).sum();
    // The standard deviation is 42.
    assert!(of_items.abs_diff(2_000) < 250, "{of_items}");
    assert!(of_stock.abs_diff(2_000) < 250, "{of_stock}");
    for item in items {
        assert!((100..=10_000).contains(&item.price.get()));
        assert!((1..=10_000).contains(&item.image.get()));
    }
    for row in stock {
        assert!((10..=100).contains(&row.quantity.get()));
        let counts = (row.ytd.get(), row.orders.get(), row.remote_orders.get());
        assert_eq!(counts, (0, 0, 0));
        assert!(row.districts.iter().all(|info| info.as_bytes().len() == 24));
    }
}

#[test]
fn each_stock_has_one_supplier() {
    let population = population(1);
    let supplied = population.supplied(SUPPLIERS);
    let all: usize = supplied.iter().map(Vec::len).sum();
    assert_eq!(all, 400_000);
    assert_eq!(supplied[7][..2], [(1, 7), (1, 10_007)]);
    assert!(supplied[12].contains(&(4, 2_503)));
    assert_eq!(population.supplied(3), supplied[..3]);
    let of_region = |region| {
        (0..SUPPLIERS).filter(move |&supplier| {
            let nation = population.supplier(supplier).nation;
            population.nation(nation).region == region
        })
    };
    for region in 0..REGIONS {
        // 13 or 12 of 62 nations: 2,097 or 1,935 suppliers; the standard deviation is 41.
        let count = of_region(region).count();
        assert!((1_700..2_350).contains(&count), "{count}");
    }
}
