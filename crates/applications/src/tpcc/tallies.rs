//! Counts of transactions in the tables: orders and payments.

use std::ops::ControlFlow;

use weft::{Policy, Result, Transaction};

use super::Tpcc;
use crate::application::Tally;

/// Returns the counts of orders and payments; see
/// [`Application::tallies`](crate::application::Application::tallies).
pub(super) async fn tallies<P: Policy>(tpcc: &Tpcc, txn: &Transaction<P>) -> Result<Vec<Tally>> {
    let (tables, population) = (&tpcc.tables, &tpcc.population);
    let scale = population.scale;
    let mut entered = 0;
    txn.scan(&tables.districts, ..)
        .for_each(|_, district| {
            let orders = district.next_order.get() - 1;
            entered += u64::from(orders.saturating_sub(scale.orders()));
            ControlFlow::Continue(())
        })
        .await?;
    let payments = txn.scan(&tables.history, ..).count().await?;
    let districts = u64::from(population.warehouses) * u64::from(scale.districts);
    let loaded = districts * u64::from(scale.customers);
    Ok(vec![
        Tally {
            what: "orders",
            count: entered,
            added: &[1, 0, 0, 0, 0, 0],
        },
        Tally {
            what: "payments",
            count: payments.saturating_sub(loaded),
            added: &[0, 1, 0, 0, 0, 0],
        },
    ])
}
