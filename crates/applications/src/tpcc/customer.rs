//! Finding a customer by number or name (clauses 2.5.2.2 and 2.6.2.2).

use std::ops::ControlFlow;

use weft::{Policy, Prefix, Result, Transaction};

use super::Tpcc;
use super::random::last_name;
use super::schema::{CustomerKey, DistrictKey};
use super::terminal::Who;
use crate::application::missing;

impl Tpcc {
    /// Returns the key of the customer that `who` describes, and the number of records that were
    /// read for it. Among customers of one last name, sorted by first name, the customer is the one
    /// in the middle, or before it. Names and keys stand in the index; no customer is read.
    pub(super) async fn find_customer<P: Policy>(
        &self,
        txn: &Transaction<P>,
        (warehouse, district): DistrictKey,
        who: Who,
    ) -> Result<(CustomerKey, u32)> {
        let name = match who {
            Who::Number(customer) => return Ok(((warehouse, district, customer), 0)),
            Who::Name(number) => last_name(number).0,
        };
        let mut customers = Vec::new();
        let index = &self.indexes.customers_by_name;
        txn.scan_covered(index, Prefix((warehouse, district, name)))
            .for_each(|_name, customer, ()| {
                customers.push(customer);
                ControlFlow::Continue(())
            })
            .await?;
        let middle = customers.len().div_ceil(2).checked_sub(1);
        let middle = middle.ok_or_else(|| missing("customer of this name"))?;
        Ok((customers[middle], customers.len() as u32))
    }
}
