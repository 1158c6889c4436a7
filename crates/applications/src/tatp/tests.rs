//! A register of few subscribers.

mod conditions;

use std::collections::BTreeSet;

use weft::{Database, Prefix, Transaction};

use super::population::entry;
use super::source::{requests, spread};
use super::{CallForwarding, Choice, KINDS, Request, Settings, Tatp, number};
use crate::application::trial::{ask, execute, inconsistencies, loaded, options, run_together};
use crate::application::{Application, Reads};
use bench::measure::Isolation;

const SUBSCRIBERS: u32 = 50;

fn settings() -> Settings {
    Settings {
        subscribers: SUBSCRIBERS,
        ..Settings::default()
    }
}

fn register() -> (Database, Tatp) {
    loaded(&settings(), options())
}

/// Runs one transaction of the register's; returns whether it committed instead of being rolled
/// back as asked.
fn run(database: &Database, register: &Tatp, request: Request) -> bool {
    execute(database, register, request, Reads::Single)
}

/// Returns the call forwardings of a subscriber's facility.
fn forwardings(
    database: &Database,
    register: &Tatp,
    s_id: u32,
    sf_type: u8,
) -> Vec<(u8, CallForwarding)> {
    let rows = ask(
        database,
        register,
        async move |txn: &Transaction, register: &Tatp| {
            let of = Prefix((s_id, sf_type));
            txn.scan(&register.forwardings, of).collect().await
        },
    );
    let rows = rows.into_iter();
    rows.map(|((_, _, start), row)| (start, row)).collect()
}

/// Returns a subscriber, and one of its facilities that has `count` call forwardings.
fn facility_with(count: usize) -> (u32, u8) {
    let facilities = (1..=SUBSCRIBERS).flat_map(|s_id| {
        let of = entry(s_id).facilities.into_iter();
        of.map(move |facility| (s_id, facility))
    });
    let mut facilities = facilities.filter(|(_, facility)| facility.forwardings.len() == count);
    let (s_id, facility) = facilities.next().unwrap();
    (s_id, facility.sf_type)
}

#[test]
fn numbers_have_fifteen_digits() {
    assert_eq!(&number(1), b"000000000000001");
    assert_eq!(&number(4_294_967_295), b"000004294967295");
}

#[test]
fn the_population_is_as_described() {
    let subscribers = 4000;
    let (mut access, mut facilities, mut active, mut forwardings) = ([0; 5], [0; 5], 0, [0; 4]);
    for s_id in 1..=subscribers {
        let entry = entry(s_id);
        assert!(entry.subscriber.bit.iter().all(|&bit| bit < 2));
        assert!(entry.subscriber.hex.iter().all(|&hex| hex < 16));
        access[entry.access.len()] += 1;
        facilities[entry.facilities.len()] += 1;
        let types: BTreeSet<u8> = entry.access.iter().map(|&(ai_type, _)| ai_type).collect();
        assert_eq!(types.len(), entry.access.len(), "a type comes once");
        for facility in entry.facilities {
            active += u32::from(facility.row.is_active);
            forwardings[facility.forwardings.len()] += 1;
        }
    }
    let near = |count: i32, share: f64, of: u32| {
        let expected = share * f64::from(of);
        (f64::from(count) - expected).abs() < 0.1 * expected
    };
    for count in 1..=4 {
        assert!(near(access[count], 0.25, subscribers), "{access:?}");
        assert!(near(facilities[count], 0.25, subscribers), "{facilities:?}");
    }
    let of: u32 = forwardings.iter().sum();
    assert!(near(active as i32, 0.85, of), "{active} of {of}");
    for count in forwardings {
        assert!(near(count as i32, 0.25, of), "{forwardings:?}");
    }
}

#[test]
fn a_loaded_register_meets_its_conditions() {
    let (database, register) = register();
    assert_eq!(inconsistencies(&database, &register), Vec::<String>::new());
}

#[test]
fn destinations_are_those_that_cover_the_hours() {
    let (s_id, sf_type) = (1..=SUBSCRIBERS)
        .find_map(|s_id| {
            let of = entry(s_id).facilities.into_iter();
            let mut of = of.filter(|facility| facility.row.is_active == 1);
            let facility = of.find(|facility| facility.forwardings.len() == 3)?;
            Some((s_id, facility.sf_type))
        })
        .unwrap();
    let (database, register) = register();
    let rows = forwardings(&database, &register, s_id, sf_type);
    for start_time in [0, 8, 16] {
        for end_time in 1..=24 {
            let (found, _) = ask(
                &database,
                &register,
                async move |txn: &Transaction, register: &Tatp| {
                    register
                        .get_new_destination(txn, s_id, sf_type, start_time, end_time)
                        .await
                },
            );
            let expected: Vec<_> = rows
                .iter()
                .filter(|(start, row)| *start <= start_time && row.end_time > end_time)
                .map(|(_, row)| row.numberx)
                .collect();
            assert_eq!(found, expected, "from {start_time} to {end_time}");
        }
    }
}

#[test]
fn an_inactive_facility_has_no_destinations() {
    let (s_id, sf_type) = facility_with(3);
    let (database, register) = register();
    let found = ask(
        &database,
        &register,
        async move |txn: &Transaction, register: &Tatp| {
            let key = (s_id, sf_type);
            let mut facility = txn.get(&register.facilities, &key).await?.unwrap();
            facility.is_active = 0;
            txn.update(&register.facilities, &key, &facility).await?;
            register
                .get_new_destination(txn, s_id, sf_type, 16, 0)
                .await
        },
    );
    assert_eq!(found, (Vec::new(), 1));
}

#[test]
fn updates_change_what_they_say_and_nothing_else() {
    let (database, register) = register();
    let (s_id, sf_type) = facility_with(0);
    let before = entry(s_id);
    let mut subscriber = before.subscriber;
    subscriber.bit[0] ^= 1;
    subscriber.vlr_location = 4711.into();
    let of_type = before.facilities.iter().find(|row| row.sf_type == sf_type);
    let mut facility = of_type.unwrap().row;
    facility.data_a ^= 0xFF;
    let update = Request::UpdateSubscriberData {
        s_id,
        bit: subscriber.bit[0],
        sf_type,
        data_a: facility.data_a,
    };
    let location = Request::UpdateLocation {
        sub_nbr: number(s_id),
        location: 4711,
    };
    assert!(run(&database, &register, update));
    assert!(run(&database, &register, location));
    let after = ask(
        &database,
        &register,
        async move |txn: &Transaction, register: &Tatp| {
            let subscriber = txn.get(&register.subscribers, &s_id).await?;
            let key = (s_id, sf_type);
            Ok((subscriber, txn.get(&register.facilities, &key).await?))
        },
    );
    assert_eq!(after, (Some(subscriber), Some(facility)));
    assert_eq!(inconsistencies(&database, &register), Vec::<String>::new());
}

#[test]
fn a_call_forwarding_is_inserted_once_and_only_for_a_facility() {
    let (database, register) = register();
    let (s_id, sf_type) = facility_with(0);
    let insert = |sf_type| Request::InsertCallForwarding {
        sub_nbr: number(s_id),
        sf_type,
        start_time: 8,
        end_time: 12,
        numberx: *b"123456789012345",
    };
    let delete = Request::DeleteCallForwarding {
        sub_nbr: number(s_id),
        sf_type,
        start_time: 8,
    };
    assert!(run(&database, &register, insert(sf_type)));
    let rows = forwardings(&database, &register, s_id, sf_type);
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].0, rows[0].1.end_time), (8, 12));
    assert!(!run(&database, &register, insert(sf_type)), "a duplicate");
    assert!(!run(&database, &register, insert(9)), "no such facility");
    assert_eq!(inconsistencies(&database, &register), Vec::<String>::new());
    assert!(run(&database, &register, delete));
    assert!(forwardings(&database, &register, s_id, sf_type).is_empty());
    assert!(
        run(&database, &register, delete),
        "there is none, and it is done"
    );
}

#[test]
fn reads_that_find_nothing_are_done() {
    let (database, register) = register();
    let access = Request::GetAccessData {
        s_id: 1,
        ai_type: 9,
    };
    let destination = Request::GetNewDestination {
        s_id: 1,
        sf_type: 9,
        start_time: 0,
        end_time: 1,
    };
    assert!(run(&database, &register, access));
    assert!(run(&database, &register, destination));
    assert!(run(
        &database,
        &register,
        Request::GetSubscriberData { s_id: 1 }
    ));
}

#[test]
fn conditions_hold_at_every_level_however_transactions_meet() {
    let few = Settings {
        subscribers: 5,
        ..Settings::default()
    };
    run_together::<Tatp>(&few, &Isolation::ALL, 1000);
}

#[test]
fn requests_are_the_same_for_the_same_seed_and_worker() {
    let draw = |worker, seed| {
        let mut requests = requests(&settings(), worker, seed);
        (0..100).map(|_| requests()).collect::<Vec<_>>()
    };
    assert_eq!(draw(0, 1), draw(0, 1));
    assert_ne!(draw(0, 1), draw(1, 1));
    assert_ne!(draw(0, 1), draw(0, 2));
}

#[test]
fn subscribers_are_chosen_as_asked() {
    let reads = |choice| {
        let settings = Settings {
            subscribers: 100_000,
            mix: Settings::parse_mix("get_subscriber_data=1").unwrap(),
            choice,
        };
        let mut requests = requests(&settings, 0, 1);
        let mut odd = 0;
        for _ in 0..10_000 {
            let Request::GetSubscriberData { s_id } = requests() else {
                panic!("the mix has nothing else");
            };
            assert!((1..=100_000).contains(&s_id));
            // The combination of two numbers has each low bit set in three of four cases.
            odd += u32::from((s_id - 1) % 2 == 1);
        }
        odd
    };
    let uniform = reads(Choice::Uniform);
    assert!((4_700..5_300).contains(&uniform), "{uniform}");
    let skewed = reads(Choice::NonUniform);
    assert!((7_200..7_800).contains(&skewed), "{skewed}");
    assert_eq!(spread(1_000_000), 65_535);
    assert_eq!(spread(1_000_001), 1_048_575);
    assert_eq!(spread(10_000_001), 2_097_151);
}

#[test]
fn settings_out_of_range_are_refused() {
    let none = Settings {
        subscribers: 0,
        ..Settings::default()
    };
    let error = none.check().unwrap_err().to_string();
    assert!(error.contains("give 1 to"), "{error}");
    Settings::default().check().unwrap();
}

#[test]
fn every_kind_has_a_frame() {
    let (database, register) = register();
    let frames = ask(
        &database,
        &register,
        async |txn: &Transaction, register: &Tatp| Ok(register.frame_bytes(txn)),
    );
    assert_eq!(frames.len(), KINDS.len());
    assert!(frames.iter().all(|&bytes| bytes > 0), "{frames:?}");
}
