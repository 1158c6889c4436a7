//! Analysis: finding the frontier again, up to which the log counts.
//!
//! The rule is that of `log/frontier.rs`: a block is satisfied if every lane holds the transactions
//! that it names, and everything up to the newest `as_of` of a satisfied block counts. Acknowledged
//! commits are included: a commit was acknowledged because a block covering it was satisfied by
//! blocks on the device. Newer commits were not acknowledged, and are cut off: the rest is a prefix
//! of the commit order.

use std::collections::BTreeMap;

use crate::{recovery::scan::LaneLog, timestamp::Timestamp};

/// Transactions that are missing although they were on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    pub(crate) lane: u32,
    /// Number of transactions that were durable.
    pub(crate) durable: u64,
    /// Number of transactions that are there.
    pub(crate) found: u64,
}

/// Returns the newest timestamp up to which the lanes of one incarnation are complete. It is at
/// least `base`, below which nothing depends on the lanes. Returns a [`Loss`] as well if transactions
/// are missing that were durable according to a block of another lane.
pub(crate) fn frontier(
    lanes: &BTreeMap<u32, LaneLog>,
    base: Timestamp,
) -> (Timestamp, Option<Loss>) {
    let found = |lane| lanes.get(&lane).map_or(0, |log| log.transactions);
    let mut reached = base;
    let mut loss = None;
    for claim in lanes.values().flat_map(|log| &log.claims) {
        let mut satisfied = true;
        for entry in &claim.vector {
            let found = found(entry.lane);
            satisfied &= found >= entry.needed;
            if found < entry.durable {
                loss = Some(Loss {
                    lane: entry.lane,
                    durable: entry.durable,
                    found,
                });
            }
        }
        if satisfied {
            reached = reached.max(claim.as_of);
        }
    }
    (reached, loss)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{log::format::Claim, recovery::scan::BlockClaim};

    fn lane(transactions: u64, claims: &[(u64, [u64; 2], [u64; 2])]) -> LaneLog {
        let claims = claims.iter().map(|(as_of, needed, durable)| BlockClaim {
            as_of: Timestamp(*as_of),
            vector: (0..2)
                .map(|lane| Claim {
                    lane: lane as u32,
                    needed: needed[lane],
                    durable: durable[lane],
                })
                .collect(),
        });
        LaneLog {
            transactions,
            claims: claims.collect(),
            ..LaneLog::default()
        }
    }

    #[test]
    fn a_block_counts_if_everything_it_depends_on_is_there() {
        // Lane 1's second block needs three of lane 0, which has two.
        let lanes = BTreeMap::from([
            (0, lane(2, &[(5, [2, 1], [0, 0])])),
            (1, lane(2, &[(4, [1, 1], [0, 0]), (9, [3, 2], [2, 1])])),
        ]);
        assert_eq!(frontier(&lanes, Timestamp(1)), (Timestamp(5), None));
    }

    #[test]
    fn durable_blocks_must_be_there() {
        let lanes = BTreeMap::from([
            (0, lane(1, &[(5, [2, 1], [1, 0])])),
            (1, lane(2, &[(9, [3, 2], [2, 1])])),
        ]);
        let loss = Loss {
            lane: 0,
            durable: 2,
            found: 1,
        };
        assert_eq!(frontier(&lanes, Timestamp(3)), (Timestamp(3), Some(loss)));
    }
}
