//! The rows that a database is loaded with: clause 4.3.3 of the standard.
//!
//! Each row follows from the seed and its key alone, independent of the worker and the time. All
//! workers can therefore load at once, and a check can make a row again to compare.
//!
//! Suppliers, nations and regions are those of CH-benCHmark, as far as a transaction looks
//! at them: stock of item `i` in warehouse `w` is supplied by supplier `w * i` modulo
//! 10,000; a supplier's nation is any of the 62; nations are spread over the five regions.

use super::random::{NAMES, Random, Skews, last_name};
use super::schema::{
    Address, BAD_CREDIT, Customer, Date, District, GOOD_CREDIT, History, Item, Money, NO_CARRIER,
    NO_DATE, Nation, Order, OrderLine, Rate, Region, Stock, StockKey, Supplier, Text, Warehouse,
};
use super::settings::{SUPPLIERS, Scale, Settings};

/// Time of the load in the rows: the beginning of 2026.
pub(super) const LOADED: i64 = 1_767_225_600_000;
/// Amount of each customer's first payment, in cents.
pub(super) const PAID: i64 = 10_00;
/// Number of regions.
pub(super) const REGIONS: u8 = 5;
/// Number of nations.
pub(super) const NATIONS: u8 = 62;

/// Purposes of random numbers of a row.
#[derive(Clone, Copy)]
enum Stream {
    Skews,
    Warehouse,
    District,
    Customer,
    History,
    CustomersOfOrders,
    Order,
    OrderLine,
    Item,
    Stock,
    Supplier,
}

/// Generator of the loaded rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Population {
    seed: u64,
    pub(super) scale: Scale,
    pub(super) warehouses: u16,
    pub(super) skews: Skews,
}

impl Population {
    pub(super) fn of(settings: &Settings) -> Self {
        Self {
            seed: settings.seed,
            scale: settings.scale,
            warehouses: settings.warehouses,
            skews: Skews::of(&mut random(settings.seed, Stream::Skews, 0, 0, 0)),
        }
    }

    /// Returns random numbers for one row, by the parts of its key.
    fn random(&self, stream: Stream, warehouse: u16, district: u8, rest: u32) -> Random {
        random(self.seed, stream, warehouse, district, rest)
    }

    pub(super) fn warehouse(&self, warehouse: u16) -> Warehouse {
        let random = &mut self.random(Stream::Warehouse, warehouse, 0, 0);
        let customers = i64::from(self.scale.districts) * i64::from(self.scale.customers);
        Warehouse {
            name: random.text(6..=10),
            address: address(random),
            tax: tax(random),
            ytd: Money::new(customers * PAID),
        }
    }

    pub(super) fn district(&self, warehouse: u16, district: u8) -> District {
        let random = &mut self.random(Stream::District, warehouse, district, 0);
        District {
            name: random.text(6..=10),
            address: address(random),
            tax: tax(random),
            ytd: Money::new(i64::from(self.scale.customers) * PAID),
            next_order: (self.scale.orders() + 1).into(),
        }
    }

    pub(super) fn customer(&self, warehouse: u16, district: u8, customer: u16) -> Customer {
        let random = &mut self.random(Stream::Customer, warehouse, district, customer.into());
        let name = match customer - 1 {
            number if number < NAMES => number,
            _ => random.skewed(self.skews.names_loaded, 0..=u32::from(NAMES) - 1) as u16,
        };
        let mut phone = [0; 16];
        random.digits(&mut phone);
        Customer {
            first: random.text(8..=16),
            middle: *b"OE",
            last: last_name(name),
            address: address(random),
            phone,
            since: Date::new(LOADED),
            credit: match random.percent(10) {
                true => BAD_CREDIT,
                false => GOOD_CREDIT,
            },
            credit_limit: Money::new(5_000_000),
            discount: Rate::new(random.within(0..=5_000) as u16),
            balance: Money::new(-PAID),
            ytd_payment: Money::new(PAID),
            payments: 1.into(),
            deliveries: 0.into(),
            data: random.text(300..=500),
        }
    }

    /// Returns the first payment of a customer.
    pub(super) fn history(&self, warehouse: u16, district: u8, customer: u16) -> History {
        let random = &mut self.random(Stream::History, warehouse, district, customer.into());
        History {
            customer: customer.into(),
            customer_district: district,
            customer_warehouse: warehouse.into(),
            district,
            warehouse: warehouse.into(),
            date: Date::new(LOADED),
            amount: Money::new(PAID),
            data: random.text(12..=24),
        }
    }

    /// Returns the customers of the orders of a district, in the order of the orders.
    pub(super) fn customers_of_orders(&self, warehouse: u16, district: u8) -> Vec<u16> {
        let mut random = self.random(Stream::CustomersOfOrders, warehouse, district, 0);
        random.permutation(self.scale.customers)
    }

    pub(super) fn order(&self, warehouse: u16, district: u8, order: u32, customer: u16) -> Order {
        let random = &mut self.random(Stream::Order, warehouse, district, order);
        let lines = random.within(5..=15) as u8;
        Order {
            customer: customer.into(),
            entered: Date::new(LOADED),
            carrier: match self.is_delivered(order) {
                true => random.within(1..=10) as u8,
                false => NO_CARRIER,
            },
            lines,
            all_local: 1,
        }
    }

    pub(super) fn order_line(
        &self,
        warehouse: u16,
        district: u8,
        order: u32,
        line: u8,
    ) -> OrderLine {
        let rest = order << 8 | u32::from(line);
        let random = &mut self.random(Stream::OrderLine, warehouse, district, rest);
        let delivered = self.is_delivered(order);
        OrderLine {
            item: random.within(1..=self.scale.items).into(),
            supply_warehouse: warehouse.into(),
            delivered: match delivered {
                true => Date::new(LOADED),
                false => NO_DATE,
            },
            quantity: 5,
            amount: match delivered {
                true => 0.into(),
                false => i64::from(random.within(1..=999_999)).into(),
            },
            district_info: random.text(24..=24),
        }
    }

    /// Returns whether a loaded order is delivered.
    pub(super) fn is_delivered(&self, order: u32) -> bool {
        order <= self.scale.delivered()
    }

    pub(super) fn item(&self, item: u32) -> Item {
        let random = &mut self.random(Stream::Item, 0, 0, item);
        Item {
            image: random.within(1..=10_000).into(),
            name: random.text(14..=24),
            price: i64::from(random.within(100..=10_000)).into(),
            data: random.data(),
        }
    }

    pub(super) fn stock(&self, warehouse: u16, item: u32) -> Stock {
        let random = &mut self.random(Stream::Stock, warehouse, 0, item);
        Stock {
            quantity: (random.within(10..=100) as u16).into(),
            districts: std::array::from_fn(|_| random.text(24..=24)),
            ytd: 0.into(),
            orders: 0.into(),
            remote_orders: 0.into(),
            data: random.data(),
        }
    }

    pub(super) fn region(&self, region: u8) -> Region {
        Region {
            name: Text::of(&[b"region ", &[b'0' + region]]),
            comment: Text::default(),
        }
    }

    pub(super) fn nation(&self, nation: u8) -> Nation {
        Nation {
            name: Text::of(&[b"nation ", &[b'0' + nation / 10, b'0' + nation % 10]]),
            region: nation % REGIONS,
            comment: Text::default(),
        }
    }

    pub(super) fn supplier(&self, supplier: u32) -> Supplier {
        let random = &mut self.random(Stream::Supplier, 0, 0, supplier);
        let mut phone = [0; 15];
        random.digits(&mut phone);
        Supplier {
            name: random.text(25..=25),
            address: random.text(10..=40),
            nation: random.within(0..=u32::from(NATIONS) - 1) as u8,
            phone,
            balance: i64::from(random.within(0..=1_000_000)).into(),
            comment: random.text(63..=100),
        }
    }

    /// Returns the keys of the stock that each of the first `suppliers` suppliers supplies, in
    /// their order.
    pub(super) fn supplied(&self, suppliers: u32) -> Vec<Vec<StockKey>> {
        let mut supplied = vec![Vec::new(); suppliers as usize];
        for warehouse in 1..=self.warehouses {
            for item in 1..=self.scale.items {
                let supplier = u64::from(warehouse) * u64::from(item) % u64::from(SUPPLIERS);
                if let Some(stock) = supplied.get_mut(supplier as usize) {
                    stock.push((warehouse, item));
                }
            }
        }
        supplied
    }
}

/// Returns random numbers for one purpose and the parts of a key.
fn random(seed: u64, stream: Stream, warehouse: u16, district: u8, rest: u32) -> Random {
    let key = u64::from(warehouse) << 40 | u64::from(district) << 32 | u64::from(rest);
    Random::new(seed, (stream as u64) << 56 | key)
}

fn address(random: &mut Random) -> Address {
    let mut zip = *b"000011111";
    random.digits(&mut zip[..4]);
    Address {
        street_1: random.text(10..=20),
        street_2: random.text(10..=20),
        city: random.text(10..=20),
        state: std::array::from_fn(|_| b'A' + random.within(0..=25) as u8),
        zip,
    }
}

fn tax(random: &mut Random) -> Rate {
    Rate::new(random.within(0..=2_000) as u16)
}

#[cfg(test)]
mod tests;
