//! The conditions of [`super::super::consistency`], on rows that a server sends: all of one
//! snapshot, table by table, in the order of their keys.
//!
//! Only the columns that the conditions use are read; the others are zeros.

use postgres::fallible_iterator::FallibleIterator as _;
use postgres::{Client, Error, Row, Transaction};
use zerocopy::FromZeros as _;

use super::Money;
use crate::application::violations::Violations;
use crate::tpcc::consistency::books::Books;
use crate::tpcc::consistency::orders::{Lines, Open, Orders};
use crate::tpcc::population::{LOADED, Population};
use crate::tpcc::schema::{
    Customer, Date, District, History, Item, NO_CARRIER, NO_DATE, Order, OrderLine, Stock, Text,
    Warehouse,
};

/// Returns violations of the conditions: a sentence each.
pub(super) fn check(
    population: &Population,
    connection: &mut Client,
) -> Result<Vec<String>, Error> {
    let mut transaction = connection
        .build_transaction()
        .isolation_level(postgres::IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()?;
    let transaction = &mut transaction;
    let mut violations = Violations::default();
    let found = &mut violations;
    let mut books = Books::new(population);
    all(transaction, "select w_id, w_ytd from warehouse", |row| {
        let mut warehouse = Warehouse::new_zeroed();
        warehouse.ytd = cents(row, 1).into();
        books.warehouse(number(row, 0), &warehouse, found);
    })?;
    let text = "select d_w_id, d_id, d_ytd, d_next_o_id from district";
    all(transaction, text, |row| {
        let mut district = District::new_zeroed();
        district.ytd = cents(row, 2).into();
        district.next_order = number::<u32>(row, 3).into();
        books.district((number(row, 0), number(row, 1)), &district, found);
    })?;
    let text =
        "select c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, c_delivery_cnt from customer";
    all(transaction, text, |row| {
        let mut customer = Customer::new_zeroed();
        customer.balance = cents(row, 3).into();
        customer.ytd_payment = cents(row, 4).into();
        customer.deliveries = number::<u32>(row, 5).into();
        let key = (number(row, 0), number(row, 1), number(row, 2));
        books.customer(key, &customer, found);
    })?;
    let text = "select h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_amount from history";
    let mut payment = 0;
    all(transaction, text, |row| {
        let mut history = History::new_zeroed();
        history.customer = number::<u16>(row, 0).into();
        history.customer_district = number(row, 1);
        history.customer_warehouse = number::<u16>(row, 2).into();
        history.district = number(row, 3);
        history.warehouse = number::<u16>(row, 4).into();
        history.amount = cents(row, 5).into();
        books.payment(payment, &history, found);
        payment += 1;
    })?;
    orders(transaction, &mut books, found)?;
    let text = "select s_w_id, s_i_id, s_ytd, s_order_cnt, s_remote_cnt from stock";
    all(transaction, text, |row| {
        let mut stock = Stock::new_zeroed();
        stock.ytd = number::<u64>(row, 2).into();
        stock.orders = number::<u32>(row, 3).into();
        stock.remote_orders = number::<u32>(row, 4).into();
        books.stock((number(row, 0), number(row, 1)), &stock, found);
    })?;
    let mut items = 0;
    let text = "select i_id, i_im_id, i_name, i_price, i_data from item";
    all(transaction, text, |row| {
        items += 1;
        let item = Item {
            image: number::<u32>(row, 1).into(),
            name: Text::of(&[row.get::<_, &str>(2).as_bytes()]),
            price: cents(row, 3).into(),
            data: Text::of(&[row.get::<_, &str>(4).as_bytes()]),
        };
        let key = number(row, 0);
        if item != population.item(key) {
            found.add("items", format_args!("item {key} is not the one loaded"));
        }
    })?;
    let loaded = ("items loaded", population.scale.items.into());
    found.compare("items", "the database", ("items", items), loaded);
    books.balance(found);
    Ok(violations.sentences())
}

/// Reads orders, open orders and lines, and compares each with the orders.
fn orders(
    transaction: &mut Transaction<'_>,
    books: &mut Books<'_>,
    found: &mut Violations,
) -> Result<(), Error> {
    let mut orders = Orders::default();
    let text = "select o_w_id, o_d_id, o_id, o_c_id, o_carrier_id, o_ol_cnt from orders \
                order by o_w_id, o_d_id, o_id";
    all(transaction, text, |row| {
        let mut order = Order::new_zeroed();
        order.customer = number::<u16>(row, 3).into();
        let carrier: Option<i32> = row.get(4);
        order.carrier = carrier.map_or(NO_CARRIER, |carrier| carrier as u8);
        order.lines = number(row, 5);
        let key = (number(row, 0), number(row, 1), number(row, 2));
        orders.push(key, &order);
        books.order(key, &order, found);
    })?;
    let mut open = Open::of(&orders);
    let text = "select no_w_id, no_d_id, no_o_id from new_order order by no_w_id, no_d_id, no_o_id";
    all(transaction, text, |row| {
        let key = (number(row, 0), number(row, 1), number(row, 2));
        books.open_order(key);
        open.order(key, found);
    })?;
    open.end(found);
    let mut lines = Lines::of(&orders);
    let text = "select ol_w_id, ol_d_id, ol_o_id, ol_number, ol_supply_w_id, \
                ol_delivery_d is null, ol_quantity, ol_amount from order_line \
                order by ol_w_id, ol_d_id, ol_o_id, ol_number";
    all(transaction, text, |row| {
        let mut line = OrderLine::new_zeroed();
        line.supply_warehouse = number::<u16>(row, 4).into();
        line.delivered = match row.get(5) {
            true => NO_DATE,
            false => Date::new(LOADED),
        };
        line.quantity = number(row, 6);
        line.amount = cents(row, 7).into();
        let key = (
            number(row, 0),
            number(row, 1),
            number(row, 2),
            number(row, 3),
        );
        let customer = lines.line(key, &line, found);
        books.line(key, &line, customer);
    })?;
    lines.end(found);
    Ok(())
}

/// Shows all rows of a query to `visit`, as they come.
fn all(
    transaction: &mut Transaction<'_>,
    text: &str,
    mut visit: impl FnMut(&Row),
) -> Result<(), Error> {
    let mut rows = transaction.query_raw(text, std::iter::empty::<i32>())?;
    while let Some(row) = rows.next()? {
        visit(&row);
    }
    Ok(())
}

/// Returns an `int` as a number of this crate's; a value out of its range becomes the greatest,
/// which satisfies no condition.
fn number<T: TryFrom<i32> + Bounded>(row: &Row, at: usize) -> T {
    T::try_from(row.get(at)).unwrap_or(T::GREATEST)
}

fn cents(row: &Row, at: usize) -> i64 {
    row.get::<_, Money>(at).0
}

trait Bounded {
    const GREATEST: Self;
}

macro_rules! bounded {
    ($($type:ty)*) => {
        $(impl Bounded for $type { const GREATEST: Self = Self::MAX; })*
    };
}

bounded!(u8 u16 u32 u64);
