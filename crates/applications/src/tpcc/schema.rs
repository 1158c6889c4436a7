//! The tables, their keys, and the two indexes.

mod rows;
mod text;

use weft::{Database, Index, IndexDefinition, Table};

pub(super) use self::rows::{
    Address, BAD_CREDIT, Customer, Date, District, GOOD_CREDIT, History, Item, Money, NO_CARRIER,
    NO_DATE, Nation, Order, OrderLine, Rate, Region, Stock, Supplier, Warehouse,
};
pub(super) use self::text::Text;

/// A warehouse's number, from 1.
pub(super) type WarehouseKey = u16;
/// Warehouse, and a district's number, from 1.
pub(super) type DistrictKey = (u16, u8);
/// Warehouse, district, and a customer's number, from 1.
pub(super) type CustomerKey = (u16, u8, u16);
/// Warehouse, district, and an order's number, from 1.
pub(super) type OrderKey = (u16, u8, u32);
/// Warehouse, district, order, and a line's number, from 1.
pub(super) type OrderLineKey = (u16, u8, u32, u8);
/// An item's number, from 1.
pub(super) type ItemKey = u32;
/// Warehouse and item.
pub(super) type StockKey = (u16, u32);
/// Number of a payment; see [`super::terminal`].
pub(super) type HistoryKey = u64;

/// Warehouse, district, last name, first name.
pub(super) type NameKey = (u16, u8, [u8; 16], [u8; 16]);
/// Warehouse, district, customer, order.
pub(super) type CustomerOrderKey = (u16, u8, u16, u32);

macro_rules! tables {
    ($($(#[$doc:meta])* $table:ident: $key:ty => $row:ty = $name:literal;)*) => {
        /// Handles on all tables.
        #[derive(Clone)]
        pub(super) struct Tables {
            $($(#[$doc])* pub(super) $table: Table<$key, $row>,)*
        }

        impl Tables {
            /// Creates all tables.
            pub(super) fn create(database: &Database) -> weft::Result<Self> {
                Ok(Self { $($table: database.create_table($name)?,)* })
            }

            /// Opens existing tables.
            pub(super) fn open(database: &Database) -> weft::Result<Self> {
                Ok(Self { $($table: database.open_table($name)?,)* })
            }
        }
    };
}

tables! {
    warehouses: WarehouseKey => Warehouse = "warehouse";
    districts: DistrictKey => District = "district";
    customers: CustomerKey => Customer = "customer";
    history: HistoryKey => History = "history";
    orders: OrderKey => Order = "order";
    /// Orders that are not delivered.
    new_orders: OrderKey => () = "new_order";
    order_lines: OrderLineKey => OrderLine = "order_line";
    items: ItemKey => Item = "item";
    stock: StockKey => Stock = "stock";
    regions: u8 => Region = "region";
    nations: u8 => Nation = "nation";
    suppliers: u32 => Supplier = "supplier";
}

/// Handles on the indexes.
#[derive(Clone)]
pub(super) struct Indexes {
    /// Index of the customers of a district by last name, those of one name by first name.
    pub(super) customers_by_name: Index<NameKey, CustomerKey, Customer>,
    /// Index of the orders of a customer, the newest last.
    pub(super) orders_of_customer: Index<CustomerOrderKey, OrderKey, Order>,
}

impl Indexes {
    /// Creates the indexes, or attaches them after the database was opened.
    pub(super) fn create(database: &Database, tables: &Tables) -> weft::Result<Self> {
        let by_name = |(warehouse, district, _): CustomerKey, customer: Customer| {
            Some((warehouse, district, customer.last.0, customer.first.0))
        };
        let of_customer = |(warehouse, district, order): OrderKey, row: Order| {
            Some((warehouse, district, row.customer.get(), order))
        };
        let by_name = IndexDefinition::non_unique("customer_by_name", by_name);
        let of_customer = IndexDefinition::unique("order_of_customer", of_customer);
        Ok(Self {
            customers_by_name: database.create_index_blocking(&tables.customers, by_name)?,
            orders_of_customer: database.create_index_blocking(&tables.orders, of_customer)?,
        })
    }
}
