//! The eight tables, and their rows (TPC-H specification, sections 1.4 and 4.2).

use std::{
    fmt::Display,
    io::{self, Write},
};

use commands::{Error, Result, progress::Step};
use tpchgen::{
    csv::{
        CustomerCsv, LineItemCsv, NationCsv, OrderCsv, PartCsv, PartSuppCsv, RegionCsv, SupplierCsv,
    },
    generators::{
        CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
        PartSuppGenerator, RegionGenerator, SupplierGenerator,
    },
};

/// Bytes of rows that are sent together.
const SENT_BYTES: usize = 256 << 10;

/// Statements that make the tables.
pub(crate) const TABLES: &str = "\
create table region (
    r_regionkey int primary key, r_name char(25) not null, r_comment varchar(152) not null);
create table nation (
    n_nationkey int primary key, n_name char(25) not null, n_regionkey int not null,
    n_comment varchar(152) not null);
create table part (
    p_partkey int primary key, p_name varchar(55) not null, p_mfgr char(25) not null,
    p_brand char(10) not null, p_type varchar(25) not null, p_size int not null,
    p_container char(10) not null, p_retailprice decimal(15,2) not null,
    p_comment varchar(23) not null);
create table supplier (
    s_suppkey int primary key, s_name char(25) not null, s_address varchar(40) not null,
    s_nationkey int not null, s_phone char(15) not null, s_acctbal decimal(15,2) not null,
    s_comment varchar(101) not null);
create table partsupp (
    ps_partkey int not null, ps_suppkey int not null, ps_availqty int not null,
    ps_supplycost decimal(15,2) not null, ps_comment varchar(199) not null,
    primary key (ps_partkey, ps_suppkey));
create table customer (
    c_custkey int primary key, c_name varchar(25) not null, c_address varchar(40) not null,
    c_nationkey int not null, c_phone char(15) not null, c_acctbal decimal(15,2) not null,
    c_mktsegment char(10) not null, c_comment varchar(117) not null);
create table orders (
    o_orderkey int primary key, o_custkey int not null, o_orderstatus char(1) not null,
    o_totalprice decimal(15,2) not null, o_orderdate date not null,
    o_orderpriority char(15) not null, o_clerk char(15) not null, o_shippriority int not null,
    o_comment varchar(79) not null);
create table lineitem (
    l_orderkey int not null, l_partkey int not null, l_suppkey int not null,
    l_linenumber int not null, l_quantity decimal(15,2) not null,
    l_extendedprice decimal(15,2) not null, l_discount decimal(15,2) not null,
    l_tax decimal(15,2) not null, l_returnflag char(1) not null, l_linestatus char(1) not null,
    l_shipdate date not null, l_commitdate date not null, l_receiptdate date not null,
    l_shipinstruct char(25) not null, l_shipmode char(10) not null,
    l_comment varchar(44) not null,
    primary key (l_orderkey, l_linenumber))";

/// Statement that drops the tables.
pub(crate) const DROPS: &str =
    "drop table region, nation, part, supplier, partsupp, customer, orders, lineitem";

/// Returns the number of rows that all tables have together, about.
pub(crate) fn rows_about(scale: f64) -> u64 {
    (scale * 8_661_245.0) as u64
}

/// Tables on their way into a system.
pub(crate) trait Sink {
    /// Fills a table; each row is a line of CSV.
    ///
    /// # Errors
    /// Errors of the system.
    fn table(&mut self, table: &str, rows: impl Iterator<Item = impl Display>) -> Result<()>;
}

/// Fills the tables.
///
/// # Errors
/// Errors of the system.
pub(crate) fn fill(into: &mut impl Sink, scale: f64) -> Result<()> {
    let regions = RegionGenerator::new(scale, 1, 1);
    into.table("region", regions.iter().map(RegionCsv::new))?;
    let nations = NationGenerator::new(scale, 1, 1);
    into.table("nation", nations.iter().map(NationCsv::new))?;
    let parts = PartGenerator::new(scale, 1, 1);
    into.table("part", parts.iter().map(PartCsv::new))?;
    let suppliers = SupplierGenerator::new(scale, 1, 1);
    into.table("supplier", suppliers.iter().map(SupplierCsv::new))?;
    let supplies = PartSuppGenerator::new(scale, 1, 1);
    into.table("partsupp", supplies.iter().map(PartSuppCsv::new))?;
    let customers = CustomerGenerator::new(scale, 1, 1);
    into.table("customer", customers.iter().map(CustomerCsv::new))?;
    let orders = OrderGenerator::new(scale, 1, 1);
    into.table("orders", orders.iter().map(OrderCsv::new))?;
    let lines = LineItemGenerator::new(scale, 1, 1);
    into.table("lineitem", lines.iter().map(LineItemCsv::new))
}

/// Writes rows as lines, and counts them in `step`.
///
/// # Errors
/// [`Error::Run`] if `writer` takes them not.
pub(crate) fn write(
    writer: &mut impl Write,
    rows: impl Iterator<Item = impl Display>,
    step: &Step,
) -> Result<()> {
    let sent = |error: io::Error| Error::run(format!("cannot send rows: {error}"));
    let mut bytes = Vec::with_capacity(2 * SENT_BYTES);
    let mut count = 0;
    for row in rows {
        writeln!(bytes, "{row}").map_err(sent)?;
        count += 1;
        if bytes.len() >= SENT_BYTES {
            writer.write_all(&bytes).map_err(sent)?;
            bytes.clear();
            step.advance(count);
            count = 0;
        }
    }
    writer.write_all(&bytes).map_err(sent)?;
    step.advance(count);
    Ok(())
}
