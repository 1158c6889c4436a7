//! The columns of each table, except for those that are its key.
//!
//! Money is in cents ([`Money`]), rates are in ten-thousandths ([`Rate`]), dates in milliseconds
//! since 1970 ([`Date`]). Two columns can be null: a carrier is then [`NO_CARRIER`], a date of
//! delivery [`NO_DATE`].

use zerocopy::little_endian::{I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Text;
use crate::row::row_values;

/// Money in cents.
pub(in crate::tpcc) type Money = I64;
/// A rate in ten-thousandths.
pub(in crate::tpcc) type Rate = U16;
/// A date in milliseconds since the beginning of 1970.
pub(in crate::tpcc) type Date = I64;

/// The carrier of an order that is not delivered: null.
pub(in crate::tpcc) const NO_CARRIER: u8 = 0;
/// The date of delivery of an order line that is not delivered: null.
pub(in crate::tpcc) const NO_DATE: Date = Date::new(i64::MIN);
/// Credit of one customer in ten, whose payments are recorded in its data.
pub(in crate::tpcc) const BAD_CREDIT: [u8; 2] = *b"BC";
/// Credit of the other customers.
pub(in crate::tpcc) const GOOD_CREDIT: [u8; 2] = *b"GC";

macro_rules! rows {
    ($($(#[$doc:meta])* $row:ident = $name:literal { $($column:ident: $type:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq)]
            #[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
            #[repr(C)]
            pub(in crate::tpcc) struct $row {
                $(pub(in crate::tpcc) $column: $type,)*
            }
        )*
        row_values! { $($row = $name;)* }
    };
}

/// An address, in several tables.
#[derive(
    Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub(in crate::tpcc) struct Address {
    pub(in crate::tpcc) street_1: Text<20>,
    pub(in crate::tpcc) street_2: Text<20>,
    pub(in crate::tpcc) city: Text<20>,
    pub(in crate::tpcc) state: [u8; 2],
    pub(in crate::tpcc) zip: [u8; 9],
}

rows! {
    /// A warehouse.
    Warehouse = "tpcc.warehouse" {
        name: Text<10>,
        address: Address,
        tax: Rate,
        ytd: Money,
    }

    /// A district of a warehouse.
    District = "tpcc.district" {
        name: Text<10>,
        address: Address,
        tax: Rate,
        ytd: Money,
        next_order: U32,
    }

    /// A customer of a district.
    Customer = "tpcc.customer" {
        first: Text<16>,
        middle: [u8; 2],
        last: Text<16>,
        address: Address,
        phone: [u8; 16],
        since: Date,
        credit: [u8; 2],
        credit_limit: Money,
        discount: Rate,
        balance: Money,
        ytd_payment: Money,
        payments: U32,
        deliveries: U32,
        data: Text<500>,
    }

    /// A payment: its customer, and the district and warehouse where it was made.
    History = "tpcc.history" {
        customer: U16,
        customer_district: u8,
        customer_warehouse: U16,
        district: u8,
        warehouse: U16,
        date: Date,
        amount: Money,
        data: Text<24>,
    }

    /// An order.
    Order = "tpcc.order" {
        customer: U16,
        entered: Date,
        carrier: u8,
        lines: u8,
        all_local: u8,
    }

    /// A line of an order.
    OrderLine = "tpcc.order_line" {
        item: U32,
        supply_warehouse: U16,
        delivered: Date,
        quantity: u8,
        amount: Money,
        district_info: Text<24>,
    }

    /// An item.
    Item = "tpcc.item" {
        image: U32,
        name: Text<24>,
        price: Money,
        data: Text<50>,
    }

    /// A warehouse's stock of an item.
    Stock = "tpcc.stock" {
        quantity: U16,
        districts: [Text<24>; 10],
        ytd: U64,
        orders: U32,
        remote_orders: U32,
        data: Text<50>,
    }

    /// A region (CH-benCHmark).
    Region = "tpcc.region" {
        name: Text<25>,
        comment: Text<152>,
    }

    /// A nation (CH-benCHmark).
    Nation = "tpcc.nation" {
        name: Text<25>,
        region: u8,
        comment: Text<152>,
    }

    /// A supplier (CH-benCHmark).
    Supplier = "tpcc.supplier" {
        name: Text<25>,
        address: Text<40>,
        nation: u8,
        phone: [u8; 15],
        balance: Money,
        comment: Text<100>,
    }
}
