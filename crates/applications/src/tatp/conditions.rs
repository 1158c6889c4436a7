//! Conditions that a register's tables must meet at any time.
//!
//! | condition | says |
//! | --- | --- |
//! | subscribers | there are as many as were loaded, numbered from 1 |
//! | numbers | each has the telephone number of its `s_id`, and the index finds it, and nothing else, by that |
//! | access | each record of access_info is of a subscriber and of a type 1 to 4; a subscriber has 1 to 4 |
//! | facilities | each record of special_facility is of a subscriber and of a type 1 to 4; a subscriber has 1 to 4 |
//! | forwardings | each call forwarding is of a facility, starts at 0, 8 or 16 and ends one to eight hours later |

use std::ops::ControlFlow;

use weft::{Policy, Result, Table, Transaction, Value};

use super::{START_TIMES, TYPES, Tatp, number};
use crate::application::violations::Violations;

impl Tatp {
    /// Returns violations of the conditions.
    pub(super) async fn violations<P: Policy>(&self, txn: &Transaction<P>) -> Result<Vec<String>> {
        let mut found = Violations::default();
        let subscribers = self.check_subscribers(txn, &mut found).await?;
        self.check_numbers(txn, &subscribers, &mut found).await?;
        let of = &subscribers;
        check_types(txn, &self.access, "access", of, &mut found).await?;
        let facilities = check_types(txn, &self.facilities, "facilities", of, &mut found).await?;
        self.check_forwardings(txn, &facilities, &mut found).await?;
        Ok(found.sentences())
    }

    /// Checks the subscribers, and returns them in order.
    async fn check_subscribers<P: Policy>(
        &self,
        txn: &Transaction<P>,
        found: &mut Violations,
    ) -> Result<Vec<u32>> {
        let mut subscribers = Vec::new();
        txn.scan(&self.subscribers, ..)
            .for_each(|s_id, row| {
                subscribers.push(s_id);
                let at = subscribers.len();
                let what = format_args!("number {at} has the s_id {s_id}");
                found.unless(at == s_id as usize, "subscribers", what);
                let sub_nbr = String::from_utf8_lossy(&row.sub_nbr);
                let what = format_args!("subscriber {s_id} has the number {sub_nbr}");
                found.unless(row.sub_nbr == number(s_id), "numbers", what);
                ControlFlow::Continue(())
            })
            .await?;
        let (count, loaded) = (subscribers.len(), self.settings.subscribers);
        let what = format_args!("there are {count}, where {loaded} were loaded");
        found.unless(count == loaded as usize, "subscribers", what);
        Ok(subscribers)
    }

    async fn check_numbers<P: Policy>(
        &self,
        txn: &Transaction<P>,
        subscribers: &[u32],
        found: &mut Violations,
    ) -> Result<()> {
        for &s_id in subscribers {
            let by_number = txn.get_by(&self.by_number, &number(s_id)).await?;
            let finds = by_number.map(|(s_id, _)| s_id);
            let what =
                format_args!("by the number of subscriber {s_id}, the index finds {finds:?}");
            found.unless(finds == Some(s_id), "numbers", what);
        }
        let entries = txn.scan_covered(&self.by_number, ..).count().await?;
        let count = subscribers.len();
        let what = format_args!("{count} subscribers have {entries} entries in the index");
        found.unless(entries == count as u64, "numbers", what);
        Ok(())
    }

    async fn check_forwardings<P: Policy>(
        &self,
        txn: &Transaction<P>,
        facilities: &[(u32, u8)],
        found: &mut Violations,
    ) -> Result<()> {
        txn.scan(&self.forwardings, ..)
            .for_each(|key, row| {
                let (s_id, sf_type, start) = key;
                let of = facilities.binary_search(&(s_id, sf_type));
                let what = format_args!("{key:?} is of no special facility");
                found.unless(of.is_ok(), "forwardings", what);
                let end = row.end_time;
                let in_time =
                    START_TIMES.contains(&start) && (start + 1..=start + 8).contains(&end);
                let what = format_args!("{key:?} is from {start} to {end} o'clock");
                found.unless(in_time, "forwardings", what);
                ControlFlow::Continue(())
            })
            .await?;
        Ok(())
    }
}

/// Checks a table of the subscribers' records by type. Returns the keys, in order.
async fn check_types<P: Policy, V: Value>(
    txn: &Transaction<P>,
    table: &Table<(u32, u8), V>,
    condition: &'static str,
    subscribers: &[u32],
    found: &mut Violations,
) -> Result<Vec<(u32, u8)>> {
    let mut keys = Vec::new();
    let mut counts = vec![0_u32; subscribers.len()];
    txn.scan(table, ..)
        .for_each(|key, _| {
            keys.push(key);
            let (s_id, of_type) = key;
            match subscribers.binary_search(&s_id) {
                Ok(at) => counts[at] += 1,
                Err(_) => {
                    let what = format_args!("{key:?} is of no subscriber");
                    found.unless(false, condition, what);
                }
            }
            let what = format_args!("{key:?} is of no type");
            found.unless(TYPES.contains(&of_type), condition, what);
            ControlFlow::Continue(())
        })
        .await?;
    for (s_id, &count) in subscribers.iter().zip(&counts) {
        let what = format_args!("subscriber {s_id} has {count} of them");
        found.unless((1..=4).contains(&count), condition, what);
    }
    Ok(keys)
}
