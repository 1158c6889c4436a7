//! Each condition is violated by the damage that it forbids, and no other condition is.

use weft::Transaction;

use super::{SUBSCRIBERS, facility_with, register};
use crate::application::trial::assert_damage_violates;
use crate::tatp::population::entry;
use crate::tatp::{CallForwarding, Tatp, number};

#[test]
fn a_subscriber_too_many_is_found() {
    assert_damage_violates(
        register(),
        "subscribers",
        async |txn: &Transaction, register: &Tatp| {
            let s_id = SUBSCRIBERS + 1;
            let entry = entry(s_id);
            txn.insert(&register.subscribers, &s_id, &entry.subscriber)
                .await?;
            txn.insert(&register.access, &(s_id, 1), &entry.access[0].1)
                .await?;
            txn.insert(&register.facilities, &(s_id, 1), &entry.facilities[0].row)
                .await
        },
    );
}

#[test]
fn a_wrong_number_is_found() {
    assert_damage_violates(
        register(),
        "numbers",
        async |txn: &Transaction, register: &Tatp| {
            let mut subscriber = entry(7).subscriber;
            subscriber.sub_nbr = number(SUBSCRIBERS + 7);
            txn.update(&register.subscribers, &7, &subscriber).await
        },
    );
}

#[test]
fn access_of_nobody_is_found() {
    assert_damage_violates(
        register(),
        "access",
        async |txn: &Transaction, register: &Tatp| {
            let row = entry(1).access[0].1;
            txn.insert(&register.access, &(SUBSCRIBERS + 1, 1), &row)
                .await
        },
    );
}

#[test]
fn a_subscriber_without_access_is_found() {
    assert_damage_violates(
        register(),
        "access",
        async |txn: &Transaction, register: &Tatp| {
            for ai_type in 1..=4 {
                txn.delete(&register.access, &(3, ai_type)).await?;
            }
            Ok(())
        },
    );
}

#[test]
fn a_facility_of_no_type_is_found() {
    let (s_id, sf_type) = facility_with(0);
    assert_damage_violates(
        register(),
        "facilities",
        async move |txn: &Transaction, register: &Tatp| {
            let row = txn.get(&register.facilities, &(s_id, sf_type)).await?;
            txn.delete(&register.facilities, &(s_id, sf_type)).await?;
            txn.insert(&register.facilities, &(s_id, 5), &row.unwrap())
                .await
        },
    );
}

#[test]
fn a_call_forwarding_of_no_facility_is_found() {
    assert_damage_violates(
        register(),
        "forwardings",
        async |txn: &Transaction, register: &Tatp| {
            let row = CallForwarding {
                end_time: 12,
                numberx: number(1),
            };
            txn.insert(&register.forwardings, &(1, 5, 8), &row).await
        },
    );
}

#[test]
fn a_call_forwarding_that_ends_before_it_starts_is_found() {
    let (s_id, sf_type) = facility_with(0);
    assert_damage_violates(
        register(),
        "forwardings",
        async move |txn: &Transaction, register: &Tatp| {
            let row = CallForwarding {
                end_time: 7,
                numberx: number(1),
            };
            txn.insert(&register.forwardings, &(s_id, sf_type, 8), &row)
                .await
        },
    );
}
