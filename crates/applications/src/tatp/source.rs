//! Requests for transactions.

use super::population::forwarding;
use super::{CallForwarding, Choice, Number, START_TIMES, Settings, TYPES, number};
use crate::application;
use bench::distribution::{Rng, below, rng};

/// Request for one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the description's parameters")]
pub enum Request {
    /// Reads a subscriber.
    GetSubscriberData { s_id: u32 },
    /// Finds the destinations of calls that come in within some hours.
    GetNewDestination {
        s_id: u32,
        sf_type: u8,
        start_time: u8,
        end_time: u8,
    },
    /// Reads the access information of a type.
    GetAccessData { s_id: u32, ai_type: u8 },
    /// Changes bit_1 of a subscriber, and data_a of a facility if there is one.
    UpdateSubscriberData {
        s_id: u32,
        bit: u8,
        sf_type: u8,
        data_a: u8,
    },
    /// Changes the location of a subscriber, found by number.
    UpdateLocation { sub_nbr: Number, location: u32 },
    /// Adds a call forwarding of a subscriber found by number.
    InsertCallForwarding {
        sub_nbr: Number,
        sf_type: u8,
        start_time: u8,
        end_time: u8,
        numberx: Number,
    },
    /// Removes a call forwarding of a subscriber found by number.
    DeleteCallForwarding {
        sub_nbr: Number,
        sf_type: u8,
        start_time: u8,
    },
}

impl application::Request for Request {
    fn kind(&self) -> usize {
        match self {
            Self::GetSubscriberData { .. } => 0,
            Self::GetNewDestination { .. } => 1,
            Self::GetAccessData { .. } => 2,
            Self::UpdateSubscriberData { .. } => 3,
            Self::UpdateLocation { .. } => 4,
            Self::InsertCallForwarding { .. } => 5,
            Self::DeleteCallForwarding { .. } => 6,
        }
    }

    fn only_reads(&self) -> bool {
        self.kind() < 3
    }
}

/// Returns the requests of one worker, for ever.
pub(super) fn requests(
    settings: &Settings,
    worker: usize,
    seed: u64,
) -> impl FnMut() -> Request + Send + use<> {
    let settings = *settings;
    let mut rng = rng(seed, worker as u64);
    move || {
        let rng = &mut rng;
        let kind = settings.mix.choose(rng);
        let s_id = subscriber(&settings, rng);
        let any_type = TYPES[below(rng, 4) as usize];
        let start_time = START_TIMES[below(rng, 3) as usize];
        match kind {
            0 => Request::GetSubscriberData { s_id },
            1 => Request::GetNewDestination {
                s_id,
                sf_type: any_type,
                start_time,
                end_time: 1 + below(rng, 24) as u8,
            },
            2 => Request::GetAccessData {
                s_id,
                ai_type: any_type,
            },
            3 => Request::UpdateSubscriberData {
                s_id,
                bit: below(rng, 2) as u8,
                sf_type: any_type,
                data_a: below(rng, 256) as u8,
            },
            4 => Request::UpdateLocation {
                sub_nbr: number(s_id),
                location: location(rng),
            },
            5 => {
                let CallForwarding { end_time, numberx } = forwarding(rng, start_time);
                Request::InsertCallForwarding {
                    sub_nbr: number(s_id),
                    sf_type: any_type,
                    start_time,
                    end_time,
                    numberx,
                }
            }
            _ => Request::DeleteCallForwarding {
                sub_nbr: number(s_id),
                sf_type: any_type,
                start_time,
            },
        }
    }
}

/// Draws a location: from 1 to 2^32 - 1.
pub(super) fn location(rng: &mut Rng) -> u32 {
    1 + below(rng, u64::from(u32::MAX)) as u32
}

/// Draws the subscriber of a transaction.
fn subscriber(settings: &Settings, rng: &mut Rng) -> u32 {
    let count = u64::from(settings.subscribers);
    let drawn = below(rng, count);
    match settings.choice {
        Choice::Uniform => drawn as u32 + 1,
        // NURand(A, 1, count): the numbers to combine start from 0 and 1.
        Choice::NonUniform => {
            let combined = below(rng, spread(count) + 1) | (drawn + 1);
            (combined % count) as u32 + 1
        }
    }
}

/// Returns the description's A for a number of subscribers.
pub(super) fn spread(subscribers: u64) -> u64 {
    match subscribers {
        0..=1_000_000 => 65_535,
        1_000_001..=10_000_000 => 1_048_575,
        _ => 2_097_151,
    }
}
