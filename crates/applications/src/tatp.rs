//! TATP: the telecom application transaction processing benchmark, description 1.0.
//!
//! The database is a home location register: subscribers of a mobile network, the facilities that
//! they may use, and the destinations of their calls. There are seven short transactions, four
//! fifths of which only read.
//!
//! # Tables
//! | table | key | value |
//! | --- | --- | --- |
//! | subscriber | `s_id`, from 1 | `Subscriber`, found by `sub_nbr` through a unique index |
//! | access_info | `s_id`, `ai_type` 1 to 4 | `AccessInfo` |
//! | special_facility | `s_id`, `sf_type` 1 to 4 | `SpecialFacility` |
//! | call_forwarding | `s_id`, `sf_type`, `start_time` 0, 8 or 16 | `CallForwarding` |
//!
//! # Transactions that find nothing
//! By design of the benchmark many transactions find nothing: three of eight keys of access_info,
//! for example, have no record. Such a transaction has done its work and commits. An inserted call
//! forwarding that exists already, or is of a facility that the subscriber does not have, violates
//! a key; the transaction is then rolled back, which counts as done.
//!
//! # Where we differ
//! The description draws the end of an inserted call forwarding apart from its start, and it can
//! end before it begins. Here the end is drawn as in the population, one to eight hours after the
//! start, so that it can be checked.

mod conditions;
mod load;
mod population;
mod settings;
mod source;
mod transactions;

use weft::{Database, Index, Policy, Table, Transaction};
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

pub use self::settings::{Choice, Settings};
pub use self::source::Request;
use crate::application::driver::{self, Load};
use crate::application::{Application, Reads, Source, Tally};
use crate::row::row_values;
use bench::{databases, keys::write_digits};
use commands::Result;
use commands::progress::Step;

/// Names of the kinds of transactions, in the order of [`Request`]'s.
const KINDS: [&str; 7] = [
    "get_subscriber_data",
    "get_new_destination",
    "get_access_data",
    "update_subscriber_data",
    "update_location",
    "insert_call_forwarding",
    "delete_call_forwarding",
];

/// Hours at which call forwardings can start.
const START_TIMES: [u8; 3] = [0, 8, 16];
/// Types of access information, and of facilities.
const TYPES: [u8; 4] = [1, 2, 3, 4];

/// A loaded register.
#[derive(Clone)]
pub struct Tatp {
    settings: Settings,
    subscribers: Table<u32, Subscriber>,
    by_number: Index<Number, u32, Subscriber>,
    access: Table<(u32, u8), AccessInfo>,
    facilities: Table<(u32, u8), SpecialFacility>,
    forwardings: Table<(u32, u8, u8), CallForwarding>,
}

/// A telephone number: 15 digits.
pub type Number = [u8; 15];

/// Returns the number of a subscriber: its `s_id`, with leading zeros.
fn number(s_id: u32) -> Number {
    let mut number = [b'0'; 15];
    write_digits(&mut number, s_id.into());
    number
}

macro_rules! rows {
    ($($(#[$doc:meta])* $row:ident = $name:literal { $($column:ident: $type:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            #[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
            #[repr(C)]
            struct $row {
                $($column: $type,)*
            }
        )*
        row_values! { $($row = $name;)* }
    };
}

rows! {
    /// Columns bit_1 to bit_10, hex_1 to hex_10 and byte2_1 to byte2_10 are a byte each.
    Subscriber = "tatp.subscriber" {
        sub_nbr: Number,
        bit: [u8; 10],
        hex: [u8; 10],
        byte2: [u8; 10],
        msc_location: U32,
        vlr_location: U32,
    }
    AccessInfo = "tatp.access_info" {
        data1: u8,
        data2: u8,
        data3: [u8; 3],
        data4: [u8; 5],
    }
    SpecialFacility = "tatp.special_facility" {
        is_active: u8,
        error_cntrl: u8,
        data_a: u8,
        data_b: [u8; 5],
    }
    CallForwarding = "tatp.call_forwarding" {
        end_time: u8,
        numberx: Number,
    }
}

/// Function that loads a register, to be measured.
pub static LOAD: Load<Settings> = driver::load::<Tatp>;

impl Application for Tatp {
    type Settings = Settings;
    type Request = Request;

    const NAME: &'static str = "tatp";
    const KINDS: &'static [&'static str] = &KINDS;

    fn load(settings: &Settings, database: &Database, step: &Step) -> Result<Self> {
        load::load(settings, database, step)
    }

    fn open(settings: &Settings, database: &Database) -> Result<Self> {
        load::open(settings, database).map_err(databases::failure)
    }

    fn load_steps(settings: &Settings) -> u64 {
        u64::from(settings.subscribers)
    }

    fn source(&self, worker: usize, _workers: usize, seed: u64) -> Source<Request> {
        Box::new(source::requests(&self.settings, worker, seed))
    }

    fn execute<P: Policy>(
        &self,
        txn: &Transaction<P>,
        request: &Request,
        _reads: Reads,
    ) -> impl Future<Output = weft::Result<u32>> {
        // No transaction reads two records whose keys it knows.
        self.transact(txn, request)
    }

    fn frame_bytes<P: Policy>(&self, txn: &Transaction<P>) -> Vec<usize> {
        self.frames(txn).to_vec()
    }

    fn inconsistencies<P: Policy>(
        &self,
        txn: &Transaction<P>,
    ) -> impl Future<Output = weft::Result<Vec<String>>> {
        self.violations(txn)
    }

    /// Returns no tallies: updates leave no trace but the last, and deletions may find nothing.
    async fn tallies<P: Policy>(&self, _: &Transaction<P>) -> weft::Result<Vec<Tally>> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests;
