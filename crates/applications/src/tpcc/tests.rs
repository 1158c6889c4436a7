//! Whole databases, tiny ones.

mod concurrent;
mod conditions;
mod loading;
mod transactions;

use std::collections::BTreeSet;

use weft::{Isolation, Options};

use super::*;
use crate::application::trial::{self, inconsistencies};

/// Returns settings of two districts with ten customers and orders each, of which three are open.
fn tiny(warehouses: u16) -> Settings {
    Settings {
        scale: Scale {
            items: 100,
            districts: 2,
            customers: 10,
        },
        suppliers: 20,
        ..Settings::standard(Mix::TpccCh, warehouses)
    }
}

fn load(settings: &Settings, options: Options) -> (Database, Tpcc) {
    trial::loaded(settings, options)
}

fn in_memory(workers: usize) -> Options {
    Options {
        workers,
        memory_bytes_max: Some(512 << 20),
        ..Options::default()
    }
}

/// Runs `closure` as a transaction.
fn run<T: Send + 'static>(
    database: &Database,
    closure: impl AsyncFn(&Transaction) -> weft::Result<T> + Send + 'static,
) -> T {
    database.run_blocking(closure).unwrap()
}

/// Returns the conditions that sentences name.
fn named(sentences: &[String]) -> BTreeSet<&str> {
    sentences
        .iter()
        .filter_map(|sentence| sentence.strip_prefix("condition "))
        .filter_map(|rest| rest.split(':').next())
        .collect()
}
