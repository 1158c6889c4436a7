//! A client: draws requests and carries them out (clause 2).
//!
//! What a statement must have found is looked at: a row that is missing, or there twice, is a
//! wrong answer. Sums are the conditions' business.

use std::time::{Duration, SystemTime};

use postgres::{Client as Connection, Error, Row, Transaction, types::ToSql};

use super::ledger::Ledger;
use super::statements::Statements;
use super::{Money, Rate};
use crate::application::Request as _;
use crate::tpcc::Request;
use crate::tpcc::delivery::Delivery;
use crate::tpcc::new_order::NewOrder;
use crate::tpcc::order_status::OrderStatus;
use crate::tpcc::payment::{LINE_BYTES, Payment};
use crate::tpcc::random::last_name;
use crate::tpcc::schema::Date;
use crate::tpcc::stock_level::StockLevel;
use crate::tpcc::terminal::{Terminal, UNUSED_ITEM, Who};
use crate::wire::{Client, Decimal, Done};

/// See the module text.
pub(crate) struct Session {
    connection: Connection,
    statements: Statements,
    terminal: Terminal,
    districts: u8,
    request: Option<Request>,
    ledger: Option<Ledger>,
    has_committed: bool,
}

/// Whether a transaction is to be committed.
enum End {
    Commit,
    /// The terminal's wish: an order of an item that there is not.
    RollBack,
    /// Something was not found that is there: a sentence.
    Wrong(String),
}

type Ended = Result<End, Error>;

impl Session {
    pub(super) fn new(
        mut connection: Connection,
        terminal: Terminal,
        districts: u8,
        ledger: Option<Ledger>,
    ) -> Result<Self, Error> {
        let statements = Statements::prepare(&mut connection, districts)?;
        Ok(Self {
            connection,
            statements,
            terminal,
            districts,
            request: None,
            ledger,
            has_committed: false,
        })
    }

    /// The kind of what was drawn, as the ledger counts them.
    pub(crate) fn kind(&self) -> Option<usize> {
        self.request.as_ref().map(Request::kind)
    }

    /// Whether the last attempt has committed something: orders may be given up.
    pub(crate) fn has_committed(&self) -> bool {
        self.has_committed
    }
}

impl Client for Session {
    fn draw(&mut self) {
        self.request = Some(self.terminal.draw());
    }

    fn attempt(&mut self) -> Result<Done, Error> {
        let Some(request) = &self.request else {
            return Ok(Done::Right);
        };
        let mut of = Under {
            transaction: self.connection.transaction()?,
            statements: &self.statements,
        };
        let ended = match request {
            Request::NewOrder(request) => of.new_order(request),
            Request::Payment(request) => of.payment(request),
            Request::OrderStatus(request) => of.order_status(request),
            Request::Delivery(request) => of.delivery(request, self.districts),
            Request::StockLevel(request) => of.stock_level(request),
            // Its tables are not loaded here; the mixes that are offered do not draw it.
            Request::Query2(_) => Ok(End::Wrong("Query2 is not offered here".to_owned())),
        };
        self.has_committed = false;
        match ended? {
            End::Commit => {
                if let Some(ledger) = &self.ledger {
                    ledger.count(&mut of.transaction, request.kind())?;
                }
                of.transaction.commit()?;
                self.has_committed = true;
                Ok(Done::Right)
            }
            End::RollBack => {
                of.transaction.rollback()?;
                Ok(Done::Right)
            }
            End::Wrong(how) => Ok(Done::Wrong(how)),
        }
    }
}

/// A transaction under way.
struct Under<'u> {
    transaction: Transaction<'u>,
    statements: &'u Statements,
}

/// The only row, or what is to be said of there being none or more.
fn only<'r>(rows: &'r [Row], what: &str) -> Result<&'r Row, End> {
    match rows {
        [row] => Ok(row),
        rows => Err(End::Wrong(format!("{what} was found {} times", rows.len()))),
    }
}

/// Goes on with the only row, or ends the transaction.
macro_rules! only {
    ($rows:expr, $what:literal) => {
        match only(&$rows, $what) {
            Ok(row) => row,
            Err(end) => return Ok(end),
        }
    };
}

fn time(date: Date) -> SystemTime {
    // Requests are of dates after the load, which is after 1970.
    SystemTime::UNIX_EPOCH + Duration::from_millis(date.get().unsigned_abs())
}

impl Under<'_> {
    fn new_order(&mut self, request: &NewOrder) -> Ended {
        let Self {
            transaction,
            statements,
        } = self;
        let (warehouse, district, customer) = request.customer;
        let (home, district_id, customer) = (
            i32::from(warehouse),
            i32::from(district),
            i32::from(customer),
        );
        let rows = transaction.query(&statements.take_order_number, &[&home, &district_id])?;
        let row = only!(rows, "a district");
        let (order, district_tax): (i32, Rate) = (row.get(0), row.get(1));
        let rows = transaction.query(&statements.warehouse_tax, &[&home])?;
        let tax: Rate = only!(rows, "a warehouse").get(0);
        let key: [&(dyn ToSql + Sync); 3] = [&home, &district_id, &customer];
        let rows = transaction.query(&statements.customer_discount, &key)?;
        let discount: Rate = only!(rows, "a customer").get(0);
        let lines = request.lines().count() as i32;
        transaction.execute(
            &statements.enter_order,
            &[
                &home,
                &district_id,
                &order,
                &customer,
                &time(request.date),
                &lines,
                &i32::from(request.is_local()),
            ],
        )?;
        transaction.execute(&statements.enter_new_order, &[&home, &district_id, &order])?;
        let mut total = 0;
        for line in request.lines() {
            let (item, quantity) = (line.item as i32, i32::from(line.quantity));
            let rows = transaction.query(&statements.item, &[&item])?;
            if line.item == UNUSED_ITEM {
                return Ok(match rows.len() {
                    0 => End::RollBack,
                    _ => End::Wrong("the unused item was found".to_owned()),
                });
            }
            let Decimal(price): Money = only!(rows, "an item").get(0);
            let supply = i32::from(line.supply_warehouse);
            let is_remote = i32::from(supply != home);
            let take = &statements.take_stock[usize::from(district) - 1];
            let rows = transaction.query(take, &[&supply, &item, &quantity, &is_remote])?;
            let info: &str = only!(rows, "stock").get(1);
            let amount = i64::from(quantity) * price;
            total += amount;
            let entered: [&(dyn ToSql + Sync); 9] = [
                &home,
                &district_id,
                &order,
                &i32::from(line.number),
                &item,
                &supply,
                &quantity,
                &Decimal(amount) as &Money as _,
                &info,
            ];
            transaction.execute(&statements.enter_line, &entered)?;
        }
        // What the terminal shows.
        let taxed = 10_000 + tax.0 + district_tax.0;
        std::hint::black_box(total * (10_000 - discount.0) * taxed);
        Ok(End::Commit)
    }

    fn payment(&mut self, request: &Payment) -> Ended {
        let (warehouse, district) = (i32::from(request.warehouse), i32::from(request.district));
        let amount: Money = Decimal(request.amount);
        let statements = self.statements;
        let rows = self
            .transaction
            .query(&statements.pay_warehouse, &[&warehouse, &amount])?;
        let warehouse_name: String = only!(rows, "a warehouse").get(0);
        let rows = self
            .transaction
            .query(&statements.pay_district, &[&warehouse, &district, &amount])?;
        let district_name: String = only!(rows, "a district").get(0);
        let of = (request.customer_warehouse, request.customer_district);
        let Some(customer) = self.find_customer(of, request.who)? else {
            return Ok(End::Wrong("no customer was found by name".to_owned()));
        };
        let mut line = [0; LINE_BYTES];
        let line = request.written_down((of.0, of.1, customer as u16), &mut line);
        let line = String::from_utf8_lossy(line);
        let of = (i32::from(of.0), i32::from(of.1));
        let rows = self.transaction.query(
            &statements.pay_customer,
            &[&of.0, &of.1, &customer, &amount, &line],
        )?;
        only!(rows, "a customer");
        let data = format!("{warehouse_name}    {district_name}");
        self.transaction.execute(
            &statements.enter_payment,
            &[
                &customer,
                &of.1,
                &of.0,
                &district,
                &warehouse,
                &time(request.date),
                &amount,
                &data,
            ],
        )?;
        Ok(End::Commit)
    }

    fn order_status(&mut self, request: &OrderStatus) -> Ended {
        let of = (request.warehouse, request.district);
        let Some(customer) = self.find_customer(of, request.who)? else {
            return Ok(End::Wrong("no customer was found by name".to_owned()));
        };
        let (warehouse, district) = (i32::from(of.0), i32::from(of.1));
        let key: [&(dyn ToSql + Sync); 3] = [&warehouse, &district, &customer];
        let Self {
            transaction,
            statements,
        } = self;
        let rows = transaction.query(&statements.customer_balance, &key)?;
        only!(rows, "a customer");
        let rows = transaction.query(&statements.newest_order, &key)?;
        let order: i32 = only!(rows, "a customer's newest order").get(0);
        let lines =
            transaction.query(&statements.lines_of_order, &[&warehouse, &district, &order])?;
        Ok(match lines.len() {
            5..=15 => End::Commit,
            other => End::Wrong(format!("an order has {other} lines")),
        })
    }

    fn delivery(&mut self, request: &Delivery, districts: u8) -> Ended {
        let warehouse = i32::from(request.warehouse);
        for district in 1..=i32::from(districts) {
            if let Some(order) = self.take_oldest_order(warehouse, district)?
                && let End::Wrong(how) = self.deliver(request, district, order)?
            {
                return Ok(End::Wrong(how));
            }
        }
        Ok(End::Commit)
    }

    /// Deletes the first of a district's open orders from among them; the next one, if another
    /// delivery was there before.
    fn take_oldest_order(&mut self, warehouse: i32, district: i32) -> Result<Option<i32>, Error> {
        let Self {
            transaction,
            statements,
        } = self;
        loop {
            let oldest =
                transaction.query_opt(&statements.oldest_open, &[&warehouse, &district])?;
            let Some(row) = oldest else { return Ok(None) };
            let order: i32 = row.get(0);
            let key: [&(dyn ToSql + Sync); 3] = [&warehouse, &district, &order];
            if transaction.execute(&statements.close_order, &key)? == 1 {
                return Ok(Some(order));
            }
        }
    }

    fn deliver(&mut self, request: &Delivery, district: i32, order: i32) -> Ended {
        let Self {
            transaction,
            statements,
        } = self;
        let warehouse = i32::from(request.warehouse);
        let carrier = i32::from(request.carrier);
        let rows = transaction.query(
            &statements.assign_carrier,
            &[&warehouse, &district, &order, &carrier],
        )?;
        let customer: i32 = only!(rows, "an open order").get(0);
        let date = time(request.date);
        transaction.execute(
            &statements.deliver_lines,
            &[&warehouse, &district, &order, &date],
        )?;
        let rows = transaction.query(
            &statements.amount_of_order,
            &[&warehouse, &district, &order],
        )?;
        let amount: Money = only!(rows, "a sum").get(0);
        let charged = transaction.execute(
            &statements.charge_customer,
            &[&warehouse, &district, &customer, &amount],
        )?;
        Ok(match charged {
            1 => End::Commit,
            other => End::Wrong(format!("a customer was found {other} times")),
        })
    }

    fn stock_level(&mut self, request: &StockLevel) -> Ended {
        let Self {
            transaction,
            statements,
        } = self;
        let (warehouse, district) = (i32::from(request.warehouse), i32::from(request.district));
        let rows = transaction.query(&statements.next_order, &[&warehouse, &district])?;
        let next: i32 = only!(rows, "a district").get(0);
        let threshold = i32::from(request.threshold);
        let rows = transaction.query(
            &statements.running_short,
            &[&warehouse, &district, &next, &threshold],
        )?;
        only!(rows, "a count");
        Ok(End::Commit)
    }

    /// The number of the customer that `who` says: of those with a last name, sorted by first
    /// name, the one in the middle, or before it.
    fn find_customer(&mut self, of: (u16, u8), who: Who) -> Result<Option<i32>, Error> {
        let name = match who {
            Who::Number(customer) => return Ok(Some(customer.into())),
            Who::Name(number) => last_name(number),
        };
        let name = String::from_utf8_lossy(name.as_bytes()).into_owned();
        let (warehouse, district) = (i32::from(of.0), i32::from(of.1));
        let key: [&(dyn ToSql + Sync); 3] = [&warehouse, &district, &name];
        let rows = self
            .transaction
            .query(&self.statements.customers_by_name, &key)?;
        let middle = rows.len().div_ceil(2).checked_sub(1);
        Ok(middle.map(|middle| rows[middle].get(0)))
    }
}
