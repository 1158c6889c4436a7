//! Contents and shares of the requests.

use super::*;

fn terminal(warehouses: u16, home: Home) -> Terminal {
    let settings = Settings {
        home,
        ..Settings::standard(Mix::Tpcc, warehouses)
    };
    Terminal::new(&settings, Population::of(&settings), 3, 5, 1)
}

#[test]
fn one_line_in_a_hundred_is_remote_and_one_order_in_a_hundred_rolled_back() {
    const ORDERS: u32 = 20_000;
    let mut terminal = terminal(4, Home::Random);
    let (mut lines, mut remote, mut unused) = (0_u32, 0_u32, 0_u32);
    let mut sizes = [0; 16];
    for _ in 0..ORDERS {
        let order = terminal.new_order();
        let ((warehouse, district, customer), ordered) = (order.customer, order.ordered());
        assert!((1..=4).contains(&warehouse));
        assert!((1..=10).contains(&district) && (1..=3_000).contains(&customer));
        sizes[ordered.len()] += 1;
        for (at, &(item, supply, quantity)) in ordered.iter().enumerate() {
            lines += 1;
            remote += u32::from(supply != warehouse);
            assert!((1..=4).contains(&supply) && (1..=10).contains(&quantity));
            if item == UNUSED_ITEM {
                unused += 1;
                assert_eq!(at, ordered.len() - 1);
            }
            assert!(item <= 100_000);
        }
    }
    assert!(sizes[5..].iter().all(|&orders| orders > 1_500), "{sizes:?}");
    assert_eq!(sizes[..5], [0; 5]);
    // The standard deviations are 45 and 14.
    assert!(remote.abs_diff(lines / 100) < 250, "{remote} of {lines}");
    assert!(unused.abs_diff(ORDERS / 100) < 75, "{unused}");
}

#[test]
fn fifteen_payments_in_a_hundred_are_remote_and_sixty_by_name() {
    const PAYMENTS: u32 = 20_000;
    let mut terminal = terminal(4, Home::Random);
    let (mut remote, mut by_name) = (0_u32, 0_u32);
    for count in 0..PAYMENTS {
        let payment = terminal.payment();
        assert_eq!(terminal_of(payment.key), 3);
        assert_eq!(payment.key, 3 << COUNT_BITS | u64::from(count));
        assert!((100..=500_000).contains(&payment.amount));
        if payment.customer_warehouse == payment.warehouse {
            assert_eq!(payment.customer_district, payment.district);
        } else {
            remote += 1;
        }
        match payment.who {
            Who::Name(name) => {
                by_name += 1;
                assert!(name <= 999);
            }
            Who::Number(customer) => assert!((1..=3_000).contains(&customer)),
        }
    }
    // The standard deviations are 50 and 69.
    assert!(remote.abs_diff(PAYMENTS * 15 / 100) < 300, "{remote}");
    assert!(by_name.abs_diff(PAYMENTS * 60 / 100) < 400, "{by_name}");
}

#[test]
fn where_there_is_one_warehouse_nothing_is_remote() {
    let mut terminal = terminal(1, Home::Random);
    for _ in 0..1_000 {
        assert!(
            terminal
                .new_order()
                .ordered()
                .iter()
                .all(|line| line.1 == 1)
        );
        assert_eq!(terminal.payment().customer_warehouse, 1);
    }
}

#[test]
fn remote_warehouses_are_all_but_the_home() {
    let mut terminal = terminal(4, Home::Random);
    for home in 1..=4 {
        let mut drawn: Vec<u16> = (0..200).map(|_| terminal.remote(home)).collect();
        drawn.sort_unstable();
        drawn.dedup();
        let others: Vec<u16> = (1..=4).filter(|&other| other != home).collect();
        assert_eq!(drawn, others);
    }
}

#[test]
fn a_bound_terminal_stays_at_home() {
    // Worker 5 of a database with four warehouses.
    let mut bound = terminal(4, Home::Bound);
    for _ in 0..1_000 {
        let home = match bound.draw() {
            Request::NewOrder(order) => order.customer.0,
            Request::Payment(payment) => payment.warehouse,
            Request::OrderStatus(status) => status.warehouse,
            Request::Delivery(delivery) => delivery.warehouse,
            Request::StockLevel(level) => level.warehouse,
            Request::Query2(_) => panic!("not in this mix"),
        };
        assert_eq!(home, 2);
    }
    let mut random = terminal(4, Home::Random);
    let homes: std::collections::BTreeSet<u16> = (0..200).map(|_| random.home()).collect();
    assert!(homes.into_iter().eq(1..=4));
}

#[test]
fn other_requests_are_in_range() {
    let mut terminal = terminal(4, Home::Random);
    let mut dates = Vec::new();
    for _ in 0..2_000 {
        let level = terminal.stock_level();
        assert!((10..=20).contains(&level.threshold));
        assert!((1..=10).contains(&terminal.delivery().carrier));
        assert!(terminal.query2().region < REGIONS);
        assert!((1..=10).contains(&terminal.order_status().district));
        if let Request::Delivery(delivery) = terminal.draw() {
            dates.push(delivery.date.get());
        }
    }
    assert!(dates.len() > 20 && dates.is_sorted());
}
