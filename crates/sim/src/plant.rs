//! Bugs planted to see that the checkers find them. Bugs that change operations
//! of transactions are in `client.rs`.

use std::rc::Rc;

use engine::{Isolation, Session};
use interleave::{Sequential, run_inline};

use crate::{
    dice::Dice,
    history::{Outcome, Record},
    parameters::Planted,
    world::World,
};

/// Changes a history by the planted bug.
pub(crate) fn into(records: &mut [Record], planted: Option<Planted>, seed: u64) {
    let mut dice = Dice::new(seed);
    match planted {
        Some(Planted::SwapCommits) => swap_commits(records, &mut dice),
        Some(Planted::AgeSnapshot) => {
            // Transactions that read something.
            let mut candidates: Vec<&mut Record> = records
                .iter_mut()
                .filter(|record| record.number > 0 && record.events.len() > 2)
                .collect();
            if !candidates.is_empty() {
                let chosen = dice.below(candidates.len());
                let snapshot = &mut candidates[chosen].snapshot;
                *snapshot = snapshot.saturating_sub(5);
            }
        }
        _ => {}
    }
}

/// Exchanges the timestamps of two writers that follow each other on one record.
fn swap_commits(records: &mut [Record], dice: &mut Dice) {
    let mut writers: Vec<usize> = (0..records.len())
        .filter(|&index| records[index].written_at().is_some() && records[index].number > 0)
        .collect();
    writers.sort_by_key(|&index| records[index].written_at());
    let mut pairs = Vec::new();
    for (position, &a) in writers.iter().enumerate() {
        let shares = |b: &usize| {
            let mut effects = records[*b].effects();
            effects.any(|(key, _)| records[a].effects().any(|(other, _)| key == other))
        };
        if let Some(&b) = writers[position + 1..].iter().find(|b| shares(b)) {
            pairs.push((a, b));
        }
    }
    if pairs.is_empty() {
        return;
    }
    let (a, b) = pairs[dice.below(pairs.len())];
    let (at_a, at_b) = (records[a].outcome, records[b].outcome);
    (records[a].outcome, records[b].outcome) = (at_b, at_a);
    debug_assert!(matches!(at_a, Outcome::Committed(_)));
}

/// Inserts a record that the history does not know of.
pub(crate) fn hidden_record(world: &World, session: &Rc<Session>) {
    if let Ok(transaction) = session.begin(Isolation::Snapshot) {
        let _ = run_inline(transaction.upsert::<Sequential>(&world.table, b"hidden", b"!"));
        let _ = run_inline(transaction.commit());
    }
}
