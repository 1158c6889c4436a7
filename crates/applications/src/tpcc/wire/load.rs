//! Rows on their way into the tables.

use std::fmt;

use super::schema::{INDEXES, NAMES, TABLES};
use super::{Money, Rate};
use crate::tpcc::population::Population;
use crate::tpcc::schema::{self, Address, NO_CARRIER, NO_DATE, Text};
use commands::Result;
use commands::progress::Step;
use servers::{Decimal, Rows, failed};

/// Time of the load, equal to the population's.
const LOADED: &str = "2026-01-01 00:00:00";

/// Returns the number of loaded rows; the number of order lines is the expected one.
pub(super) fn rows(population: &Population) -> u64 {
    let scale = population.scale;
    let districts = u64::from(population.warehouses) * u64::from(scale.districts);
    // A customer, a payment, an order and ten lines.
    let customers = districts * u64::from(scale.customers) * 13;
    u64::from(scale.items) * (1 + u64::from(population.warehouses)) + customers
}

/// Makes the tables and loads them.
pub(super) fn load(
    population: &Population,
    connection: &mut postgres::Client,
    step: &Step,
) -> Result<()> {
    connection.batch_execute(TABLES).map_err(failed)?;
    let mut load = Load {
        population,
        connection,
        step,
    };
    load.warehouses()?;
    load.districts()?;
    load.items()?;
    load.stock()?;
    load.customers()?;
    load.history()?;
    load.orders()?;
    load.new_orders()?;
    load.order_lines()?;
    connection.batch_execute(INDEXES).map_err(failed)?;
    for table in NAMES {
        // The planners of both servers use statistics of the tables.
        let analyse = format!("analyze {table}");
        connection.batch_execute(&analyse).map_err(failed)?;
    }
    Ok(())
}

struct Load<'l> {
    population: &'l Population,
    connection: &'l mut postgres::Client,
    step: &'l Step,
}

impl Load<'_> {
    fn rows(&mut self, table: &str) -> Rows<'_> {
        Rows::into(self.connection, table, self.step)
    }

    fn warehouses(&mut self) -> Result<()> {
        let population = *self.population;
        let mut rows = self.rows("warehouse");
        for warehouse in 1..=population.warehouses {
            let row = population.warehouse(warehouse);
            let (name, address) = (Shown(&row.name), Place(&row.address));
            let (tax, ytd) = (rate(row.tax), money(row.ytd));
            rows.push(format_args!("{warehouse},{name},{address},{tax},{ytd}"))?;
        }
        rows.finish()
    }

    fn districts(&mut self) -> Result<()> {
        let population = *self.population;
        let mut rows = self.rows("district");
        for (warehouse, district) in places(&population) {
            let row = population.district(warehouse, district);
            let (name, address) = (Shown(&row.name), Place(&row.address));
            let (tax, ytd) = (rate(row.tax), money(row.ytd));
            rows.push(format_args!(
                "{warehouse},{district},{name},{address},{tax},{ytd},{}",
                row.next_order
            ))?;
        }
        rows.finish()
    }

    fn items(&mut self) -> Result<()> {
        let population = *self.population;
        let mut rows = self.rows("item");
        for item in 1..=population.scale.items {
            let row = population.item(item);
            rows.push(format_args!(
                "{item},{},{},{},{}",
                row.image,
                Shown(&row.name),
                money(row.price),
                Shown(&row.data)
            ))?;
        }
        rows.finish()
    }

    fn stock(&mut self) -> Result<()> {
        let population = *self.population;
        let mut rows = self.rows("stock");
        for warehouse in 1..=population.warehouses {
            for item in 1..=population.scale.items {
                let row = population.stock(warehouse, item);
                rows.push(format_args!(
                    "{warehouse},{item},{},{},{},{},{},{}",
                    row.quantity,
                    Several(&row.districts),
                    row.ytd,
                    row.orders,
                    row.remote_orders,
                    Shown(&row.data)
                ))?;
            }
        }
        rows.finish()
    }

    fn customers(&mut self) -> Result<()> {
        let population = *self.population;
        let mut rows = self.rows("customer");
        for (warehouse, district) in places(&population) {
            for customer in 1..=population.scale.customers {
                let row = population.customer(warehouse, district, customer);
                rows.push(format_args!(
                    "{warehouse},{district},{customer},{},{},{},{},{},'{LOADED}',{},{},{},{},{},\
                     {},{},{}",
                    Shown(&row.first),
                    Letters(&row.middle),
                    Shown(&row.last),
                    Place(&row.address),
                    Letters(&row.phone),
                    Letters(&row.credit),
                    money(row.credit_limit),
                    rate(row.discount),
                    money(row.balance),
                    money(row.ytd_payment),
                    row.payments,
                    row.deliveries,
                    Shown(&row.data)
                ))?;
            }
        }
        rows.finish()
    }

    fn history(&mut self) -> Result<()> {
        let population = *self.population;
        let mut rows = self.rows("history");
        for (warehouse, district) in places(&population) {
            for customer in 1..=population.scale.customers {
                let row = population.history(warehouse, district, customer);
                let (amount, data) = (money(row.amount), Shown(&row.data));
                rows.push(format_args!(
                    "{customer},{district},{warehouse},{district},{warehouse},'{LOADED}',\
                     {amount},{data}"
                ))?;
            }
        }
        rows.finish()
    }

    fn orders(&mut self) -> Result<()> {
        let population = *self.population;
        let mut rows = self.rows("orders");
        for (warehouse, district) in places(&population) {
            let customers = population.customers_of_orders(warehouse, district);
            for (order, customer) in (1_u32..).zip(customers) {
                let row = population.order(warehouse, district, order, customer);
                let carrier = match row.carrier {
                    NO_CARRIER => Optional(None),
                    carrier => Optional(Some(carrier)),
                };
                rows.push(format_args!(
                    "{warehouse},{district},{order},{customer},'{LOADED}',{carrier},{},{}",
                    row.lines, row.all_local
                ))?;
            }
        }
        rows.finish()
    }

    fn new_orders(&mut self) -> Result<()> {
        let population = *self.population;
        let mut rows = self.rows("new_order");
        for (warehouse, district) in places(&population) {
            for order in (1..=population.scale.orders()).filter(|&at| !population.is_delivered(at))
            {
                rows.push(format_args!("{warehouse},{district},{order}"))?;
            }
        }
        rows.finish()
    }

    fn order_lines(&mut self) -> Result<()> {
        let population = *self.population;
        let mut rows = self.rows("order_line");
        for (warehouse, district) in places(&population) {
            let customers = population.customers_of_orders(warehouse, district);
            for (order, customer) in (1_u32..).zip(customers) {
                let lines = population.order(warehouse, district, order, customer).lines;
                for line in 1..=lines {
                    let row = population.order_line(warehouse, district, order, line);
                    let delivered = (row.delivered != NO_DATE).then_some(Quoted(LOADED));
                    rows.push(format_args!(
                        "{warehouse},{district},{order},{line},{},{},{},{},{},{}",
                        row.item,
                        row.supply_warehouse,
                        Optional(delivered),
                        row.quantity,
                        money(row.amount),
                        Shown(&row.district_info)
                    ))?;
                }
            }
        }
        rows.finish()
    }
}

/// Returns all districts of all warehouses, in the order of their keys.
fn places(population: &Population) -> impl Iterator<Item = (u16, u8)> + use<> {
    let districts = population.scale.districts;
    (1..=population.warehouses)
        .flat_map(move |warehouse| (1..=districts).map(move |district| (warehouse, district)))
}

fn money(cents: schema::Money) -> Money {
    Decimal(cents.get())
}

fn rate(rate: schema::Rate) -> Rate {
    Decimal(rate.get().into())
}

/// A text as a literal; it consists of letters and digits.
struct Quoted<'t>(&'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.0)
    }
}

/// Letters as a literal.
struct Letters<'t>(&'t [u8]);

impl fmt::Display for Letters<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Quoted(&String::from_utf8_lossy(self.0)).fmt(f)
    }
}

/// A text of a row as a literal.
struct Shown<'t, const N: usize>(&'t Text<N>);

impl<const N: usize> fmt::Display for Shown<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Letters(self.0.as_bytes()).fmt(f)
    }
}

/// Several texts as literals, separated by commas.
struct Several<'t, const N: usize>(&'t [Text<N>]);

impl<const N: usize> fmt::Display for Several<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, text) in self.0.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{}", Shown(text))?;
        }
        Ok(())
    }
}

/// An address, as its five columns.
struct Place<'a>(&'a Address);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(address) = self;
        write!(
            f,
            "{},{},{},{},{}",
            Shown(&address.street_1),
            Shown(&address.street_2),
            Shown(&address.city),
            Letters(&address.state),
            Letters(&address.zip)
        )
    }
}

/// A literal that may be null.
struct Optional<T>(Option<T>);

impl<T: fmt::Display> fmt::Display for Optional<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("null"),
        }
    }
}
