//! Orders, and the rows that are merged with them in the order of their keys: open orders and order
//! lines.

use super::books::Place;
use crate::application::violations::Violations;
use crate::tpcc::schema::{NO_CARRIER, NO_DATE, Order, OrderKey, OrderLine, OrderLineKey};

/// All orders, in the order of their keys.
#[derive(Default)]
pub(in crate::tpcc) struct Orders(Vec<Kept>);

/// Columns kept of an order.
struct Kept {
    key: OrderKey,
    customer: u16,
    has_carrier: bool,
    lines: u8,
}

impl Orders {
    /// Adds the next order.
    pub(in crate::tpcc) fn push(&mut self, key: OrderKey, row: &Order) {
        self.0.push(Kept {
            key,
            customer: row.customer.get(),
            has_carrier: row.carrier != NO_CARRIER,
            lines: row.lines,
        });
    }
}

/// Compares open orders with all orders (condition 5).
pub(in crate::tpcc) struct Open<'o> {
    /// Orders that are not behind the last open order.
    rest: std::slice::Iter<'o, Kept>,
}

impl<'o> Open<'o> {
    pub(in crate::tpcc) fn of(orders: &'o Orders) -> Self {
        Self {
            rest: orders.0.iter(),
        }
    }

    /// Compares the next open order.
    pub(in crate::tpcc) fn order(&mut self, key: OrderKey, found: &mut Violations) {
        while let Some(order) = self.rest.as_slice().first() {
            if order.key > key {
                break;
            }
            self.rest.next();
            if order.key == key {
                if order.has_carrier {
                    let (number, place) = named(key);
                    let how = format_args!("order {number} of {place} has a carrier, but is open");
                    found.add("5", how);
                }
                return;
            }
            closed(order, found);
        }
        let (number, place) = named(key);
        let how = format_args!("order {number} of {place} is open, but there is no such order");
        found.add("5", how);
    }

    /// Ends the comparison: there are no more open orders.
    pub(in crate::tpcc) fn end(self, found: &mut Violations) {
        self.rest.for_each(|order| closed(order, found));
    }
}

/// Checks an order that is not open.
fn closed(order: &Kept, found: &mut Violations) {
    if !order.has_carrier {
        let (number, place) = named(order.key);
        let how = format_args!("order {number} of {place} has no carrier, but is not open");
        found.add("5", how);
    }
}

/// Compares order lines with orders (conditions 6 and 7).
pub(in crate::tpcc) struct Lines<'o> {
    /// Orders from that of the last line on.
    rest: std::slice::Iter<'o, Kept>,
    /// Number of lines of the first of these orders so far.
    count: u32,
}

impl<'o> Lines<'o> {
    pub(in crate::tpcc) fn of(orders: &'o Orders) -> Self {
        Self {
            rest: orders.0.iter(),
            count: 0,
        }
    }

    /// Compares the next line, and returns the customer of its order, if there is such an order.
    pub(in crate::tpcc) fn line(
        &mut self,
        (warehouse, district, number, line): OrderLineKey,
        row: &OrderLine,
        found: &mut Violations,
    ) -> Option<u16> {
        let key = (warehouse, district, number);
        while let Some(order) = self.rest.as_slice().first() {
            if order.key > key {
                break;
            }
            if order.key < key {
                self.next(found);
                continue;
            }
            self.count += 1;
            if order.has_carrier != (row.delivered != NO_DATE) {
                let (number, place) = named(key);
                let (has, carrier) = match order.has_carrier {
                    true => ("no delivery date", "one"),
                    false => ("a delivery date", "none"),
                };
                let how = format_args!(
                    "line {line} of order {number} of {place} has {has}, but of carriers the \
                     order has {carrier}"
                );
                found.add("7", how);
            }
            return Some(order.customer);
        }
        let place = Place((warehouse, district));
        let how = format_args!("line {line} is of order {number} of {place}, which there is not");
        found.add("6", how);
        None
    }

    /// Checks the number of lines of the current order, and goes on to the next.
    fn next(&mut self, found: &mut Violations) {
        let Some(order) = self.rest.next() else {
            return;
        };
        let (number, place) = named(order.key);
        let count = std::mem::take(&mut self.count);
        found.compare(
            "6",
            format_args!("order {number} of {place}"),
            ("O_OL_CNT", order.lines.into()),
            ("the number of lines", count.into()),
        );
    }

    /// Ends the comparison: there are no more lines.
    pub(in crate::tpcc) fn end(mut self, found: &mut Violations) {
        while !self.rest.as_slice().is_empty() {
            self.next(found);
        }
    }
}

fn named((warehouse, district, number): OrderKey) -> (u32, Place) {
    (number, Place((warehouse, district)))
}
