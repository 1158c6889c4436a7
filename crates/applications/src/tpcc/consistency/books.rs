//! Sums by warehouse, district and customer.

use std::fmt;

use crate::application::violations::Violations;
use crate::tpcc::population::Population;
use crate::tpcc::schema::{
    Customer, CustomerKey, District, DistrictKey, History, HistoryKey, NO_DATE, Order, OrderKey,
    OrderLine, OrderLineKey, Stock, StockKey, Warehouse,
};

/// A district, in words.
pub(in crate::tpcc) struct Place(pub(in crate::tpcc) DistrictKey);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (warehouse, district) = self.0;
        write!(f, "district {district} of warehouse {warehouse}")
    }
}

/// Sums of all warehouses, districts and customers.
pub(in crate::tpcc) struct Books<'p> {
    population: &'p Population,
    warehouses: Vec<WarehouseBook>,
    districts: Vec<DistrictBook>,
    customers: Vec<CustomerBook>,
}

#[derive(Clone, Default)]
struct WarehouseBook {
    ytd: i64,
    districts_ytd: i64,
    payments: i64,
    /// Supply according to the warehouse's stock.
    stock: Supply,
    /// Supply according to lines entered since the load.
    lines: Supply,
}

/// Quantities that were taken from a warehouse's stock.
#[derive(Clone, Default)]
struct Supply {
    lines: i64,
    remote_lines: i64,
    quantity: i64,
}

#[derive(Clone, Default)]
struct DistrictBook {
    ytd: i64,
    payments: i64,
    next_order: i64,
    orders: i64,
    newest_order: i64,
    /// Number of lines according to the district's orders.
    lines_ordered: i64,
    lines: i64,
    open_orders: i64,
    /// Numbers of the oldest and the newest open order, if there is one.
    open: Option<(i64, i64)>,
    /// Number of deliveries according to the district's customers.
    deliveries: i64,
}

#[derive(Clone, Default)]
struct CustomerBook {
    balance: i64,
    ytd_payment: i64,
    payments: i64,
    /// Sum of delivered lines.
    delivered: i64,
}

impl<'p> Books<'p> {
    /// Returns empty books for the whole population.
    pub(in crate::tpcc) fn new(population: &'p Population) -> Self {
        let warehouses = usize::from(population.warehouses);
        let districts = warehouses * usize::from(population.scale.districts);
        let customers = districts * usize::from(population.scale.customers);
        Self {
            population,
            warehouses: vec![WarehouseBook::default(); warehouses],
            districts: vec![DistrictBook::default(); districts],
            customers: vec![CustomerBook::default(); customers],
        }
    }

    fn of_warehouse(&mut self, warehouse: u16) -> Option<&mut WarehouseBook> {
        let at = usize::from(warehouse).checked_sub(1)?;
        self.warehouses.get_mut(at)
    }

    /// Returns the index of a district's book.
    fn district_at(&self, (warehouse, district): DistrictKey) -> Option<usize> {
        let districts = self.population.scale.districts;
        if !(1..=self.population.warehouses).contains(&warehouse)
            || !(1..=districts).contains(&district)
        {
            return None;
        }
        Some((usize::from(warehouse) - 1) * usize::from(districts) + usize::from(district) - 1)
    }

    fn of_district(&mut self, key: DistrictKey) -> Option<&mut DistrictBook> {
        let at = self.district_at(key)?;
        self.districts.get_mut(at)
    }

    fn of_customer(
        &mut self,
        (warehouse, district, customer): CustomerKey,
    ) -> Option<&mut CustomerBook> {
        let customers = self.population.scale.customers;
        let district = self.district_at((warehouse, district))?;
        if !(1..=customers).contains(&customer) {
            return None;
        }
        let at = district * usize::from(customers) + usize::from(customer) - 1;
        self.customers.get_mut(at)
    }

    pub(in crate::tpcc) fn warehouse(&mut self, key: u16, row: &Warehouse, found: &mut Violations) {
        match self.of_warehouse(key) {
            Some(book) => book.ytd = row.ytd.get(),
            None => found.add("1", format_args!("there should be no warehouse {key}")),
        }
    }

    pub(in crate::tpcc) fn district(
        &mut self,
        key: DistrictKey,
        row: &District,
        found: &mut Violations,
    ) {
        if let Some(book) = self.of_warehouse(key.0) {
            book.districts_ytd += row.ytd.get();
        }
        match self.of_district(key) {
            Some(book) => {
                book.ytd = row.ytd.get();
                book.next_order = row.next_order.get().into();
            }
            None => found.add("1", format_args!("there should be no {}", Place(key))),
        }
    }

    pub(in crate::tpcc) fn customer(
        &mut self,
        key: CustomerKey,
        row: &Customer,
        found: &mut Violations,
    ) {
        if let Some(book) = self.of_district((key.0, key.1)) {
            book.deliveries += i64::from(row.deliveries.get());
        }
        match self.of_customer(key) {
            Some(book) => {
                book.balance = row.balance.get();
                book.ytd_payment = row.ytd_payment.get();
            }
            None => found.add("12", format_args!("there should be no customer {key:?}")),
        }
    }

    pub(in crate::tpcc) fn payment(
        &mut self,
        key: HistoryKey,
        row: &History,
        found: &mut Violations,
    ) {
        let amount = row.amount.get();
        let warehouse = row.warehouse.get();
        match self.of_warehouse(warehouse) {
            Some(book) => book.payments += amount,
            None => found.add(
                "8",
                format_args!("payment {key} was made to warehouse {warehouse}, which there is not"),
            ),
        }
        let district = (warehouse, row.district);
        match self.of_district(district) {
            Some(book) => book.payments += amount,
            None => found.add(
                "9",
                format_args!(
                    "payment {key} was made in {}, which there is not",
                    Place(district)
                ),
            ),
        }
        let customer = (
            row.customer_warehouse.get(),
            row.customer_district,
            row.customer.get(),
        );
        match self.of_customer(customer) {
            Some(book) => book.payments += amount,
            None => found.add(
                "10",
                format_args!("payment {key} is customer {customer:?}'s, whom there is not"),
            ),
        }
    }

    /// Adds an order; orders come in the order of their keys.
    pub(in crate::tpcc) fn order(&mut self, key: OrderKey, row: &Order, found: &mut Violations) {
        let place = (key.0, key.1);
        let Some(book) = self.of_district(place) else {
            let place = Place(place);
            let how = format_args!("order {} is of {place}, which there is not", key.2);
            return found.add("2", how);
        };
        book.orders += 1;
        book.newest_order = key.2.into();
        book.lines_ordered += i64::from(row.lines);
    }

    /// Adds an open order; open orders come in the order of their keys.
    pub(in crate::tpcc) fn open_order(&mut self, key: OrderKey) {
        // A missing district has no orders either, which is found when open orders are compared
        // with orders.
        let Some(book) = self.of_district((key.0, key.1)) else {
            return;
        };
        let number = key.2.into();
        book.open_orders += 1;
        book.open = Some((book.open.map_or(number, |(oldest, _)| oldest), number));
    }

    /// Adds a line, whose order is of `customer`.
    pub(in crate::tpcc) fn line(
        &mut self,
        key: OrderLineKey,
        row: &OrderLine,
        customer: Option<u16>,
    ) {
        // A missing district has no orders either, which is found when lines are compared with
        // orders.
        if let Some(book) = self.of_district((key.0, key.1)) {
            book.lines += 1;
        }
        if row.delivered != NO_DATE
            && let Some(customer) = customer
            && let Some(book) = self.of_customer((key.0, key.1, customer))
        {
            book.delivered += row.amount.get();
        }
        let supply = row.supply_warehouse.get();
        if key.2 > self.population.scale.orders()
            && let Some(book) = self.of_warehouse(supply)
        {
            book.lines.lines += 1;
            book.lines.remote_lines += i64::from(supply != key.0);
            book.lines.quantity += i64::from(row.quantity);
        }
    }

    pub(in crate::tpcc) fn stock(&mut self, key: StockKey, row: &Stock, found: &mut Violations) {
        let Some(book) = self.of_warehouse(key.0) else {
            return found.add("stock", format_args!("there should be no stock {key:?}"));
        };
        book.stock.lines += i64::from(row.orders.get());
        book.stock.remote_lines += i64::from(row.remote_orders.get());
        book.stock.quantity += row.ytd.get() as i64;
    }

    /// Compares all sums.
    pub(in crate::tpcc) fn balance(&self, found: &mut Violations) {
        for (warehouse, book) in (1_u16..).zip(&self.warehouses) {
            book.balance(format_args!("warehouse {warehouse}"), found);
        }
        let scale = self.population.scale;
        let districts = usize::from(scale.districts);
        for (at, book) in self.districts.iter().enumerate() {
            let (warehouse, district) = (at / districts + 1, at % districts + 1);
            let place = Place((warehouse as u16, district as u8));
            book.balance(place, scale.delivered().into(), found);
        }
        let customers = usize::from(scale.customers);
        for (at, book) in self.customers.iter().enumerate() {
            let (district, customer) = (at / customers, at % customers + 1);
            let (warehouse, district) = (district / districts + 1, district % districts + 1);
            let place = Place((warehouse as u16, district as u8));
            book.balance(format_args!("customer {customer} of {place}"), found);
        }
    }
}

impl WarehouseBook {
    fn balance(&self, place: impl fmt::Display, found: &mut Violations) {
        let ytd = ("W_YTD", self.ytd);
        let districts = ("the sum of D_YTD", self.districts_ytd);
        found.compare("1", &place, ytd, districts);
        let payments = ("the sum of H_AMOUNT", self.payments);
        found.compare("8", &place, ytd, payments);
        let (stock, lines) = (&self.stock, &self.lines);
        for (one, stock, other, lines) in [
            (
                "the sum of S_ORDER_CNT",
                stock.lines,
                "the number of lines",
                lines.lines,
            ),
            (
                "the sum of S_REMOTE_CNT",
                stock.remote_lines,
                "the number of lines from elsewhere",
                lines.remote_lines,
            ),
            (
                "the sum of S_YTD",
                stock.quantity,
                "the sum of OL_QUANTITY",
                lines.quantity,
            ),
        ] {
            found.compare("stock", &place, (one, stock), (other, lines));
        }
    }
}

impl DistrictBook {
    /// Compares the sums of a district; `loaded` is the number of orders that were loaded as
    /// delivered.
    fn balance(&self, place: Place, loaded: i64, found: &mut Violations) {
        let newest = ("D_NEXT_O_ID - 1", self.next_order - 1);
        let orders = ("the greatest O_ID", self.newest_order);
        found.compare("2", &place, newest, orders);
        if let Some((oldest_open, newest_open)) = self.open {
            let open = ("the greatest NO_O_ID", newest_open);
            found.compare("2", &place, newest, open);
            let between = newest_open - oldest_open + 1;
            let between = ("the greatest less the least NO_O_ID + 1", between);
            let open = ("the number of open orders", self.open_orders);
            found.compare("3", &place, between, open);
        }
        let ordered = ("the sum of O_OL_CNT", self.lines_ordered);
        let lines = ("the number of order lines", self.lines);
        found.compare("4", &place, ordered, lines);
        let payments = ("the sum of H_AMOUNT", self.payments);
        found.compare("9", &place, ("D_YTD", self.ytd), payments);
        let delivered = loaded + self.deliveries;
        let delivered = ("those loaded and the sum of C_DELIVERY_CNT", delivered);
        let closed = self.orders - self.open_orders;
        let closed = ("the number of orders that are not open", closed);
        found.compare("11", &place, closed, delivered);
    }
}

impl CustomerBook {
    fn balance(&self, place: impl fmt::Display, found: &mut Violations) {
        let balance = ("C_BALANCE", self.balance);
        let due = self.delivered - self.payments;
        let due = ("the sum of OL_AMOUNT less that of H_AMOUNT", due);
        found.compare("10", &place, balance, due);
        let charged = self.balance + self.ytd_payment;
        let charged = ("C_BALANCE + C_YTD_PAYMENT", charged);
        let delivered = ("the sum of OL_AMOUNT", self.delivered);
        found.compare("12", &place, charged, delivered);
    }
}
