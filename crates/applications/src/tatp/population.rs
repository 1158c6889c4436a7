//! Rows loaded for a subscriber, which are the same each time.

use super::{AccessInfo, CallForwarding, Number, START_TIMES, SpecialFacility, Subscriber, TYPES};
use super::{number, source};
use bench::distribution::{Rng, below, rng};

/// Seed of the population, unlike any worker's.
const SEED: u64 = 2003;
/// Share of the facilities that are active, in percent.
const ACTIVE: u64 = 85;

/// A subscriber with its other rows.
pub(super) struct Entry {
    pub(super) subscriber: Subscriber,
    pub(super) access: Vec<(u8, AccessInfo)>,
    pub(super) facilities: Vec<Facility>,
}

/// A special facility and its call forwardings.
pub(super) struct Facility {
    pub(super) sf_type: u8,
    pub(super) row: SpecialFacility,
    pub(super) forwardings: Vec<(u8, CallForwarding)>,
}

/// Returns the entry of a subscriber.
pub(super) fn entry(s_id: u32) -> Entry {
    let mut rng = rng(SEED, u64::from(s_id));
    let rng = &mut rng;
    Entry {
        subscriber: Subscriber {
            sub_nbr: number(s_id),
            bit: bytes(rng, 2),
            hex: bytes(rng, 16),
            byte2: bytes(rng, 256),
            msc_location: source::location(rng).into(),
            vlr_location: source::location(rng).into(),
        },
        access: some_of(rng, TYPES, 1)
            .into_iter()
            .map(|ai_type| (ai_type, access(rng)))
            .collect(),
        facilities: some_of(rng, TYPES, 1)
            .into_iter()
            .map(|sf_type| facility(rng, sf_type))
            .collect(),
    }
}

fn access(rng: &mut Rng) -> AccessInfo {
    AccessInfo {
        data1: below(rng, 256) as u8,
        data2: below(rng, 256) as u8,
        data3: letters(rng),
        data4: letters(rng),
    }
}

fn facility(rng: &mut Rng, sf_type: u8) -> Facility {
    Facility {
        sf_type,
        row: SpecialFacility {
            is_active: u8::from(below(rng, 100) < ACTIVE),
            error_cntrl: below(rng, 256) as u8,
            data_a: below(rng, 256) as u8,
            data_b: letters(rng),
        },
        forwardings: some_of(rng, START_TIMES, 0)
            .into_iter()
            .map(|start_time| (start_time, forwarding(rng, start_time)))
            .collect(),
    }
}

/// Draws a call forwarding that starts at an hour, and ends one to eight hours later.
pub(super) fn forwarding(rng: &mut Rng, start_time: u8) -> CallForwarding {
    CallForwarding {
        end_time: start_time + 1 + below(rng, 8) as u8,
        numberx: digits(rng),
    }
}

/// Draws at least `least` of `all`; each number of elements is as likely as any other.
fn some_of<const N: usize>(rng: &mut Rng, mut all: [u8; N], least: usize) -> Vec<u8> {
    let count = least + below(rng, (N - least + 1) as u64) as usize;
    for place in 0..count {
        let other = place + below(rng, (N - place) as u64) as usize;
        all.swap(place, other);
    }
    all[..count].to_vec()
}

fn bytes<const N: usize>(rng: &mut Rng, bound: u64) -> [u8; N] {
    std::array::from_fn(|_| below(rng, bound) as u8)
}

fn letters<const N: usize>(rng: &mut Rng) -> [u8; N] {
    std::array::from_fn(|_| b'A' + below(rng, 26) as u8)
}

fn digits(rng: &mut Rng) -> Number {
    std::array::from_fn(|_| b'0' + below(rng, 10) as u8)
}
