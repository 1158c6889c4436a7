//! Requests of a terminal: clauses 2.4.1 to 2.8.1 of the standard, in a closed loop without keying
//! and thinking.
//!
//! A request contains all parameters of its transaction, so the next attempt does the same. The
//! dates are among them, which are the terminal's (a second passes from request to request) and not
//! the system's, and so is the key of the payment.
//!
//! *Keys of payments* are `terminal << 40 | count`. Each source of requests gets a terminal of its
//! own, counted from 1 (in a database that was opened again, from behind the terminals found in
//! it); keys below `1 << 40` are loaded. Payments of one terminal are therefore neighbours, and
//! those of two are not.

use super::mix::{Kind, Mix};
use super::new_order::NewOrder;
use super::order_status::OrderStatus;
use super::payment::Payment;
use super::population::{LOADED, Population, REGIONS};
use super::query2::Query2;
use super::random::Random;
use super::schema::{Date, HistoryKey};
use super::settings::{Home, Settings};
use super::{Request, delivery::Delivery, stock_level::StockLevel};

/// Number of bits of a payment's key that count the payments of one terminal.
const COUNT_BITS: u32 = 40;
/// Stream of the random numbers of requests, apart from those of rows.
const STREAM: u64 = 0xff << 56;
/// Key of an item that does not exist.
pub(super) const UNUSED_ITEM: u32 = 0;

/// Description of the customer that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// The customer with this number.
    Number(u16),
    /// The customer in the middle of those with the last name of this number.
    Name(u16),
}

/// A source of requests.
pub(super) struct Terminal {
    population: Population,
    mix: Mix,
    /// Home warehouse of all transactions, if there is one.
    bound: Option<u16>,
    random: Random,
    date: i64,
    next_payment: HistoryKey,
}

/// Returns the terminal that has made a payment.
pub(super) fn terminal_of(payment: HistoryKey) -> u64 {
    payment >> COUNT_BITS
}

impl Terminal {
    pub(super) fn new(
        settings: &Settings,
        population: Population,
        number: u64,
        worker: usize,
        seed: u64,
    ) -> Self {
        let bound = match settings.home {
            Home::Random => None,
            Home::Bound => Some((worker % usize::from(settings.warehouses)) as u16 + 1),
        };
        Self {
            population,
            mix: settings.mix,
            bound,
            random: Random::new(seed, STREAM | worker as u64),
            date: LOADED,
            next_payment: number << COUNT_BITS,
        }
    }

    /// Draws the next request.
    pub(super) fn draw(&mut self) -> Request {
        self.date += 1_000;
        match self.mix.draw(&mut self.random) {
            Kind::NewOrder => Request::NewOrder(self.new_order()),
            Kind::Payment => Request::Payment(self.payment()),
            Kind::OrderStatus => Request::OrderStatus(self.order_status()),
            Kind::Delivery => Request::Delivery(self.delivery()),
            Kind::StockLevel => Request::StockLevel(self.stock_level()),
            Kind::Query2 => Request::Query2(self.query2()),
        }
    }

    fn home(&mut self) -> u16 {
        let warehouses = u32::from(self.population.warehouses);
        match self.bound {
            Some(warehouse) => warehouse,
            None => self.random.within(1..=warehouses) as u16,
        }
    }

    /// Draws a warehouse other than `home`, if there is one.
    fn remote(&mut self, home: u16) -> u16 {
        let others = u32::from(self.population.warehouses) - 1;
        if others == 0 {
            return home;
        }
        match self.random.within(1..=others) as u16 {
            below if below < home => below,
            from => from + 1,
        }
    }

    fn district(&mut self) -> u8 {
        let districts = u32::from(self.population.scale.districts);
        self.random.within(1..=districts) as u8
    }

    fn customer(&mut self) -> u16 {
        let customers = u32::from(self.population.scale.customers);
        let skew = self.population.skews.customers;
        self.random.skewed(skew, 1..=customers) as u16
    }

    /// Draws the customer of a request; three in five are asked for by name.
    fn who(&mut self) -> Who {
        if !self.random.percent(60) {
            return Who::Number(self.customer());
        }
        let names = u32::from(self.population.scale.names());
        let skew = self.population.skews.names_asked;
        Who::Name(self.random.skewed(skew, 0..=names - 1) as u16)
    }

    pub(super) fn new_order(&mut self) -> NewOrder {
        let warehouse = self.home();
        let mut order = NewOrder::new((warehouse, self.district(), self.customer()), self.date());
        let count = self.random.within(5..=15);
        let is_rolled_back = self.random.percent(1);
        for number in 1..=count {
            let items = 1..=self.population.scale.items;
            let item = match is_rolled_back && number == count {
                true => UNUSED_ITEM,
                false => self.random.skewed(self.population.skews.items, items),
            };
            let supply = match self.random.percent(1) {
                true => self.remote(warehouse),
                false => warehouse,
            };
            order.add(item, supply, self.random.within(1..=10) as u8);
        }
        order
    }

    pub(super) fn payment(&mut self) -> Payment {
        let (warehouse, district) = (self.home(), self.district());
        let (customer_warehouse, customer_district) = match self.random.percent(85) {
            true => (warehouse, district),
            false => (self.remote(warehouse), self.district()),
        };
        let key = self.next_payment;
        self.next_payment += 1;
        Payment {
            warehouse,
            district,
            customer_warehouse,
            customer_district,
            who: self.who(),
            amount: i64::from(self.random.within(100..=500_000)),
            date: self.date(),
            key,
        }
    }

    pub(super) fn order_status(&mut self) -> OrderStatus {
        OrderStatus {
            warehouse: self.home(),
            district: self.district(),
            who: self.who(),
        }
    }

    pub(super) fn delivery(&mut self) -> Delivery {
        Delivery {
            warehouse: self.home(),
            carrier: self.random.within(1..=10) as u8,
            date: self.date(),
        }
    }

    /// Draws a StockLevel request. The standard gives each terminal one district for good; here it
    /// is drawn, since there are fewer terminals than districts.
    pub(super) fn stock_level(&mut self) -> StockLevel {
        StockLevel {
            warehouse: self.home(),
            district: self.district(),
            threshold: self.random.within(10..=20) as u16,
        }
    }

    pub(super) fn query2(&mut self) -> Query2 {
        Query2 {
            region: self.random.within(0..=u32::from(REGIONS) - 1) as u8,
        }
    }

    fn date(&self) -> Date {
        Date::new(self.date)
    }
}

#[cfg(test)]
mod tests;
