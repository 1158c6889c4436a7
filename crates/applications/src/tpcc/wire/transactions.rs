//! The five transactions as statements (clause 2).
//!
//! Statements that do not depend on each other's answers are gathered, and sent together if the
//! client pipelines; BEGIN goes with the first, COMMIT with the last. Answers are checked for the
//! rows that must be there: a row that is missing, or there twice, is a wrong answer. The
//! conditions check the sums.

use std::time::{Duration, SystemTime};

use postgres::{Error, Row};

use super::connection::{Connection, Sent, answers};
use super::ledger::Ledger;
use super::statements::Statements;
use super::{Money, Rate};
use crate::tpcc::Request;
use crate::tpcc::delivery::Delivery;
use crate::tpcc::new_order::NewOrder;
use crate::tpcc::order_status::OrderStatus;
use crate::tpcc::payment::{LINE_BYTES, Payment};
use crate::tpcc::random::last_name;
use crate::tpcc::schema::Date;
use crate::tpcc::stock_level::StockLevel;
use crate::tpcc::terminal::{UNUSED_ITEM, Who};
use servers::Decimal;

/// Outcome of a transaction.
pub(super) enum End {
    Committed,
    /// Given up as the terminal wants: the order has an item that does not exist. The transaction
    /// is still open.
    GivenUp,
    /// Failed to find a row that must exist, described in a sentence. The transaction is open, or
    /// committed.
    Wrong(String),
}

type Ended = Result<End, Error>;

/// A transaction under way.
pub(super) struct Under<'u> {
    pub(super) connection: &'u Connection,
    pub(super) statements: &'u Statements,
    pub(super) is_pipelined: bool,
    /// Ledger that counts the transaction, and the kind that it counts as.
    pub(super) counting: Option<(&'u Ledger, usize)>,
}

/// Returns the only row, or the end that reports none or more.
fn only<'r>(rows: &'r [Row], what: &str) -> Result<&'r Row, End> {
    match rows {
        [row] => Ok(row),
        rows => Err(End::Wrong(format!("{what} was found {} times", rows.len()))),
    }
}

/// Evaluates to the only row, or ends the transaction.
macro_rules! only {
    ($rows:expr, $what:literal) => {
        match only(&$rows, $what) {
            Ok(row) => row,
            Err(end) => return Ok(end),
        }
    };
}

/// Sends a statement with its values.
macro_rules! sent {
    ($of:ident, $statement:expr, $($value:expr),*) => {
        $of.connection.statement(&$statement, vec![$($value.into()),*])
    };
}

fn time(date: Date) -> SystemTime {
    // Requests have dates after the load, which is after 1970.
    SystemTime::UNIX_EPOCH + Duration::from_millis(date.get().unsigned_abs())
}

impl Under<'_> {
    /// Runs the transaction of a request.
    ///
    /// # Errors
    /// Returns the server's error, after which the transaction has failed.
    pub(super) async fn carry_out(&self, request: &Request, districts: u8) -> Ended {
        match request {
            Request::NewOrder(request) => self.new_order(request).await,
            Request::Payment(request) => self.payment(request).await,
            Request::OrderStatus(request) => self.order_status(request).await,
            Request::Delivery(request) => self.delivery(request, districts).await,
            Request::StockLevel(request) => self.stock_level(request).await,
            // The tables of Query2 are not loaded here; the mixes on offer do not draw it.
            Request::Query2(_) => Ok(End::Wrong("Query2 is not offered here".to_owned())),
        }
    }

    async fn answers(&self, statements: Vec<Sent<'_>>) -> Result<Vec<Vec<Row>>, Error> {
        answers(self.is_pipelined, statements).await
    }

    /// Sends the first statements, with BEGIN.
    async fn begin(&self, statements: Vec<Sent<'_>>) -> Result<Vec<Vec<Row>>, Error> {
        let mut all = vec![self.connection.command("begin")];
        all.extend(statements);
        let mut answers = self.answers(all).await?;
        answers.remove(0);
        Ok(answers)
    }

    /// Sends the last statements, with COMMIT.
    async fn commit(&self, mut statements: Vec<Sent<'_>>) -> Result<Vec<Vec<Row>>, Error> {
        if let Some((ledger, kind)) = self.counting {
            statements.push(ledger.count(self.connection, kind));
        }
        statements.push(self.connection.command("commit"));
        self.answers(statements).await
    }

    async fn new_order(&self, request: &NewOrder) -> Ended {
        let with = self.statements;
        let (warehouse, district, customer) = request.customer;
        let (home, district_id) = (i32::from(warehouse), i32::from(district));
        let customer = i32::from(customer);
        let mut first = vec![
            sent!(self, with.take_order_number, home, district_id),
            sent!(self, with.warehouse_tax, home),
            sent!(self, with.customer_discount, home, district_id, customer),
        ];
        first.extend(
            request
                .lines()
                .map(|line| sent!(self, with.item, line.item as i32)),
        );
        let found = self.begin(first).await?;
        let row = only!(found[0], "a district");
        let (order, district_tax): (i32, Rate) = (row.get(0), row.get(1));
        let tax: Rate = only!(found[1], "a warehouse").get(0);
        let discount: Rate = only!(found[2], "a customer").get(0);
        let mut prices = Vec::new();
        for (line, rows) in request.lines().zip(&found[3..]) {
            if line.item == UNUSED_ITEM {
                return Ok(match rows.len() {
                    0 => End::GivenUp,
                    _ => End::Wrong("the unused item was found".to_owned()),
                });
            }
            let Decimal(price): Money = only!(rows, "an item").get(0);
            prices.push(price);
        }
        let (date, count) = (time(request.date), request.lines().count() as i32);
        let local = i32::from(request.is_local());
        let mut second = vec![
            sent!(
                self,
                with.enter_order,
                home,
                district_id,
                order,
                customer,
                date,
                count,
                local
            ),
            sent!(self, with.enter_new_order, home, district_id, order),
        ];
        let take = &with.take_stock[usize::from(district) - 1];
        second.extend(request.lines().map(|line| {
            let supply = i32::from(line.supply_warehouse);
            let is_remote = i32::from(supply != home);
            let quantity = i32::from(line.quantity);
            sent!(self, *take, supply, line.item as i32, quantity, is_remote)
        }));
        let taken = self.answers(second).await?;
        let (mut total, mut last) = (0, Vec::new());
        for ((line, price), rows) in request.lines().zip(&prices).zip(&taken[2..]) {
            let info: String = only!(rows, "stock").get(1);
            let quantity = i32::from(line.quantity);
            let amount = i64::from(quantity) * price;
            total += amount;
            last.push(sent!(
                self,
                with.enter_line,
                home,
                district_id,
                order,
                i32::from(line.number),
                line.item as i32,
                i32::from(line.supply_warehouse),
                quantity,
                Decimal(amount),
                info
            ));
        }
        self.commit(last).await?;
        // The terminal shows the sum.
        let taxed = 10_000 + tax.0 + district_tax.0;
        std::hint::black_box(total * (10_000 - discount.0) * taxed);
        Ok(End::Committed)
    }

    async fn payment(&self, request: &Payment) -> Ended {
        let with = self.statements;
        let (warehouse, district) = (i32::from(request.warehouse), i32::from(request.district));
        let amount: Money = Decimal(request.amount);
        let of = (request.customer_warehouse, request.customer_district);
        let mut first = vec![
            sent!(self, with.pay_warehouse, warehouse, amount),
            sent!(self, with.pay_district, warehouse, district, amount),
        ];
        first.extend(self.by_name(of, request.who));
        let found = self.begin(first).await?;
        let warehouse_name: String = only!(found[0], "a warehouse").get(0);
        let district_name: String = only!(found[1], "a district").get(0);
        let Some(customer) = number(request.who, found.get(2)) else {
            return Ok(End::Wrong("no customer was found by name".to_owned()));
        };
        let mut line = [0; LINE_BYTES];
        let line = request.written_down((of.0, of.1, customer as u16), &mut line);
        let line = String::from_utf8_lossy(line).into_owned();
        let of = (i32::from(of.0), i32::from(of.1));
        let data = format!("{warehouse_name}    {district_name}");
        let paid = self
            .commit(vec![
                sent!(self, with.pay_customer, of.0, of.1, customer, amount, line),
                sent!(
                    self,
                    with.enter_payment,
                    customer,
                    of.1,
                    of.0,
                    district,
                    warehouse,
                    time(request.date),
                    amount,
                    data
                ),
            ])
            .await?;
        only!(paid[0], "a customer");
        Ok(End::Committed)
    }

    async fn order_status(&self, request: &OrderStatus) -> Ended {
        let with = self.statements;
        let of = (request.warehouse, request.district);
        let by_name = self.by_name(of, request.who);
        let found = self.begin(by_name.into_iter().collect()).await?;
        let Some(customer) = number(request.who, found.first()) else {
            return Ok(End::Wrong("no customer was found by name".to_owned()));
        };
        let (warehouse, district) = (i32::from(of.0), i32::from(of.1));
        let found = self
            .answers(vec![
                sent!(self, with.customer_balance, warehouse, district, customer),
                sent!(self, with.newest_order, warehouse, district, customer),
            ])
            .await?;
        only!(found[0], "a customer");
        let order: i32 = only!(found[1], "a customer's newest order").get(0);
        let lines = sent!(self, with.lines_of_order, warehouse, district, order);
        let found = self.commit(vec![lines]).await?;
        Ok(match found[0].len() {
            5..=15 => End::Committed,
            other => End::Wrong(format!("an order has {other} lines")),
        })
    }

    async fn delivery(&self, request: &Delivery, districts: u8) -> Ended {
        let with = self.statements;
        let warehouse = i32::from(request.warehouse);
        let date = time(request.date);
        let mut orders = self.take_oldest_orders(warehouse, districts).await?;
        orders.sort_unstable();
        let carrier = i32::from(request.carrier);
        let mut statements = Vec::new();
        for (district, order) in orders.iter().copied() {
            statements.extend([
                sent!(
                    self,
                    with.assign_carrier,
                    warehouse,
                    district,
                    order,
                    carrier
                ),
                sent!(self, with.deliver_lines, warehouse, district, order, date),
                sent!(self, with.amount_of_order, warehouse, district, order),
            ]);
        }
        let found = self.answers(statements).await?;
        let mut charges = Vec::new();
        for ((district, _), found) in orders.iter().copied().zip(found.chunks(3)) {
            let customer: i32 = only!(found[0], "an open order").get(0);
            let amount: Money = only!(found[2], "a sum").get(0);
            charges.push(sent!(
                self,
                with.charge_customer,
                warehouse,
                district,
                customer,
                amount
            ));
        }
        let charged = self.commit(charges).await?;
        for rows in &charged[..orders.len()] {
            only!(rows, "a customer");
        }
        Ok(End::Committed)
    }

    /// Deletes the first of each district's open orders from among them, with BEGIN; takes the next
    /// one if another delivery was faster. Returns districts and their orders.
    async fn take_oldest_orders(
        &self,
        warehouse: i32,
        districts: u8,
    ) -> Result<Vec<(i32, i32)>, Error> {
        let with = self.statements;
        let mut left: Vec<i32> = (1..=i32::from(districts)).collect();
        let (mut taken, mut is_first) = (Vec::new(), true);
        while !left.is_empty() {
            let oldest = left
                .iter()
                .map(|district| sent!(self, with.oldest_open, warehouse, *district));
            let oldest: Vec<_> = oldest.collect();
            let found = match std::mem::take(&mut is_first) {
                true => self.begin(oldest).await?,
                false => self.answers(oldest).await?,
            };
            let open = left.iter().zip(&found);
            // A district may have no open order.
            let open = open.filter_map(|(district, rows)| Some((*district, rows.first()?.get(0))));
            let open: Vec<(i32, i32)> = open.collect();
            let closing = open.iter().map(|(district, order)| {
                sent!(self, with.close_order, warehouse, *district, *order)
            });
            let closed = self.answers(closing.collect()).await?;
            left.clear();
            for (open, rows) in open.into_iter().zip(closed) {
                match rows.is_empty() {
                    false => taken.push(open),
                    true => left.push(open.0),
                }
            }
        }
        Ok(taken)
    }

    async fn stock_level(&self, request: &StockLevel) -> Ended {
        let with = self.statements;
        let (warehouse, district) = (i32::from(request.warehouse), i32::from(request.district));
        let next = sent!(self, with.next_order, warehouse, district);
        let found = self.begin(vec![next]).await?;
        let next: i32 = only!(found[0], "a district").get(0);
        let threshold = i32::from(request.threshold);
        let short = sent!(
            self,
            with.running_short,
            warehouse,
            district,
            next,
            threshold
        );
        let found = self.commit(vec![short]).await?;
        only!(found[0], "a count");
        Ok(End::Committed)
    }

    /// Looks a customer up by the last name, if the request has the name.
    fn by_name(&self, of: (u16, u8), who: Who) -> Option<Sent<'_>> {
        let name = match who {
            Who::Number(_) => return None,
            Who::Name(number) => last_name(number),
        };
        let name = String::from_utf8_lossy(name.as_bytes()).into_owned();
        let (warehouse, district) = (i32::from(of.0), i32::from(of.1));
        let by_name = &self.statements.customers_by_name;
        Some(sent!(self, *by_name, warehouse, district, name))
    }
}

/// Returns the number of the customer that `who` describes. Among customers of one last name,
/// sorted by first name, the customer is the one in the middle, or before it.
fn number(who: Who, by_name: Option<&Vec<Row>>) -> Option<i32> {
    let rows = match who {
        Who::Number(customer) => return Some(customer.into()),
        Who::Name(_) => by_name?,
    };
    let middle = rows.len().div_ceil(2).checked_sub(1)?;
    Some(rows[middle].get(0))
}
