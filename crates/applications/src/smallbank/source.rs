//! Requests for transactions.

use super::Settings;
use crate::application;
use bench::distribution::{Rng, below, rng};

/// Number of rows of the ledger of each worker: twice as many as it can have transactions in
/// flight.
pub(super) const STRIPES: u32 = 2 * interleave::IN_FLIGHT_MAX as u32;

/// Amounts in cents, H-Store's.
const DEPOSIT: i64 = 130;
const SAVINGS: i64 = 2020;
const CHECK: i64 = 500;
const PAYMENT: i64 = 500;

/// A row of the ledger: the worker's number, and the number of its stripe.
pub type Stripe = (u32, u32);

/// Request for one transaction. Customers are numbers from 0, amounts are in cents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields say what they are")]
pub enum Request {
    /// Reads the sum of the customer's savings and checking, and writes a statement if asked to.
    Balance { customer: u64, statement: bool },
    /// Pays `cents` into checking.
    DepositChecking {
        customer: u64,
        cents: i64,
        stripe: Stripe,
    },
    /// Pays `cents` into savings, or takes them out if below 0; rolled back if savings
    /// would be below 0.
    TransactSavings {
        customer: u64,
        cents: i64,
        stripe: Stripe,
    },
    /// Moves everything that one customer has into the checking of another.
    Amalgamate { from: u64, to: u64 },
    /// Takes a check of `cents` out of checking, and a penalty if savings and checking
    /// together do not cover it.
    WriteCheck {
        customer: u64,
        cents: i64,
        stripe: Stripe,
        noted: bool,
    },
    /// Moves `cents` from one checking to another; rolled back if the first has less.
    SendPayment { from: u64, to: u64, cents: i64 },
}

impl application::Request for Request {
    fn kind(&self) -> usize {
        match self {
            Self::Balance { .. } => 0,
            Self::DepositChecking { .. } => 1,
            Self::TransactSavings { .. } => 2,
            Self::Amalgamate { .. } => 3,
            Self::WriteCheck { .. } => 4,
            Self::SendPayment { .. } => 5,
        }
    }

    fn only_reads(&self) -> bool {
        matches!(
            self,
            Self::Balance {
                statement: false,
                ..
            }
        )
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
    let mut last_stripe = 0;
    move || {
        let kind = settings.mix.choose(&mut rng);
        let customer = customer(&settings, &mut rng);
        let other = other(&settings, customer, &mut rng);
        last_stripe = (last_stripe + 1) % STRIPES;
        let stripe = (worker as u32, last_stripe);
        match kind {
            0 => Request::Balance {
                customer,
                statement: settings.statements,
            },
            1 => Request::DepositChecking {
                customer,
                cents: DEPOSIT,
                stripe,
            },
            2 => Request::TransactSavings {
                customer,
                cents: match below(&mut rng, 2) {
                    0 => SAVINGS,
                    _ => -SAVINGS,
                },
                stripe,
            },
            3 => Request::Amalgamate {
                from: customer,
                to: other,
            },
            4 => Request::WriteCheck {
                customer,
                cents: CHECK,
                stripe,
                noted: settings.statements,
            },
            _ => Request::SendPayment {
                from: customer,
                to: other,
                cents: PAYMENT,
            },
        }
    }
}

/// Draws a customer, as the hotspot says.
fn customer(settings: &Settings, rng: &mut Rng) -> u64 {
    match settings.hotspot {
        None => below(rng, settings.accounts),
        Some(hotspot) => {
            let hot = (hotspot.share * (1_u64 << 32) as f64) as u64;
            match below(rng, 1 << 32) < hot {
                true => below(rng, hotspot.accounts),
                false => hotspot.accounts + below(rng, settings.accounts - hotspot.accounts),
            }
        }
    }
}

/// Draws another customer; if `customer_drawn` was drawn again, returns the next one.
fn other(settings: &Settings, customer_drawn: u64, rng: &mut Rng) -> u64 {
    match customer(settings, rng) {
        same if same == customer_drawn => (same + 1) % settings.accounts,
        other => other,
    }
}
