//! Arguments for the size of TPC-C's warehouses.

use applications::tpcc;
use commands::number::parse_count;

/// Numbers of rows that the specification fixes.
#[derive(Debug, clap::Args)]
pub(crate) struct Scale {
    /// Items of TPC-C, and stock records of each warehouse; fewer than the specification's for a quick look.
    #[arg(long, value_name = "N", default_value = "100k", value_parser = parse_count)]
    items: u64,

    /// Customers of each of TPC-C's districts, and orders that they have placed; fewer than the specification's for a
    /// quick look.
    #[arg(long, value_name = "N", default_value = "3000", value_parser = clap::value_parser!(u16).range(1..))]
    customers: u16,
}

impl Scale {
    /// Returns the numbers for settings of TPC-C.
    pub(crate) fn numbers(&self) -> tpcc::Scale {
        tpcc::Scale {
            items: u32::try_from(self.items).unwrap_or(u32::MAX),
            customers: self.customers,
            ..tpcc::Scale::default()
        }
    }
}
