//! Whether small histories are serializable, by trying all orders, compared with the
//! checker.

use std::collections::BTreeMap;

use super::model::{Dice, Kind, Mix, run};
use crate::{
    Isolation, Level, check,
    history::{Action, Key, Outcome, Transaction, Value},
};

/// Records that exist; for each deleted record, when its deleter began.
#[derive(Clone, Default)]
struct State {
    records: BTreeMap<Key, Value>,
    deleted: BTreeMap<Key, u64>,
}

impl State {
    /// Returns whether no transaction that began only after `at` has deleted the
    /// record: an absence by chance explains no answer that was given before.
    fn absent_at(&self, at: u64, key: Key) -> bool {
        !self.records.contains_key(&key) && self.deleted.get(&key).is_none_or(|&begun| begun < at)
    }

    fn delete(&mut self, key: Key, begun: u64) {
        self.records.remove(&key);
        self.deleted.insert(key, begun);
    }
}

/// Carries a transaction out and returns whether it would have received the same
/// answers.
fn replay(transaction: &Transaction, state: &mut State) -> bool {
    let begun = transaction.begun;
    transaction.operations.iter().all(|it| {
        let there = |state: &State, key: &Key, there: bool| match there {
            true => state.records.contains_key(key),
            false => state.absent_at(it.ended, *key),
        };
        match &it.action {
            Action::Read { key, found } => {
                state.records.get(key) == found.as_ref() && there(state, key, found.is_some())
            }
            Action::Scan { from, to, found } => {
                let range = state.records.range(*from..*to);
                let mut deleted = state.deleted.range(*from..*to);
                range
                    .map(|(key, value)| (*key, value.clone()))
                    .eq(found.iter().cloned())
                    && deleted.all(|(key, _)| {
                        state.records.contains_key(key) || state.absent_at(it.ended, *key)
                    })
            }
            Action::Append { key, element, onto } => {
                let list = state.records.entry(*key).or_insert(Value::List(Vec::new()));
                let Value::List(list) = list else {
                    return false;
                };
                let right = onto.as_ref().is_none_or(|onto| onto == list);
                list.push(*element);
                right
            }
            Action::Write { key, value } => {
                state.records.insert(*key, Value::Register(*value));
                true
            }
            Action::Update { key, value, done } => {
                let right = there(state, key, *done);
                if *done {
                    state.records.insert(*key, Value::Register(*value));
                }
                right
            }
            Action::Insert { key, value, done } => {
                let right = there(state, key, !*done);
                state.records.entry(*key).or_insert(Value::Register(*value));
                right
            }
            Action::Delete { key, done } => {
                let right = there(state, key, *done);
                if *done {
                    state.delete(*key, begun);
                }
                right
            }
        }
    })
}

/// Returns whether the open transactions can come in some order after `state`.
fn can_go_on(open: &[&Transaction], state: &State, strict: bool) -> bool {
    if open.is_empty() {
        return true;
    }
    (0..open.len()).any(|index| {
        let next = open[index];
        if strict && open.iter().any(|other| other.precedes(next)) {
            return false;
        }
        let mut state = state.clone();
        let others: Vec<_> = [&open[..index], &open[index + 1..]].concat();
        replay(next, &mut state) && can_go_on(&others, &state, strict)
    })
}

fn is_serializable(history: &[Transaction], strict: bool) -> bool {
    let committed: Vec<_> = history
        .iter()
        .filter(|it| it.outcome == Outcome::Committed)
        .collect();
    can_go_on(&committed, &State::default(), strict)
}

/// Changes an answer of some transaction.
fn corrupt(history: &mut [Transaction], dice: &mut Dice) {
    let index = dice.below(history.len());
    let operations = &mut history[index].operations;
    if operations.is_empty() {
        return;
    }
    let operation = dice.below(operations.len());
    match &mut operations[operation].action {
        // A stale read, or one of a lost element.
        Action::Read { found, .. } => {
            if let Some(Value::List(list)) = found {
                let lost = if dice.chance(60) {
                    list.len() - 1
                } else {
                    dice.below(list.len())
                };
                list.remove(lost);
                if list.is_empty() {
                    *found = None;
                }
            }
        }
        Action::Append {
            onto: Some(onto), ..
        } => drop(onto.pop()),
        // A record is missed.
        Action::Scan { found, .. } if !found.is_empty() => {
            found.remove(dice.below(found.len()));
        }
        _ => {}
    }
    // Two reads are exchanged.
    if dice.chance(30) {
        let other = dice.below(history.len());
        let (a, b) = (history[index].outcome, history[other].outcome);
        (history[index].outcome, history[other].outcome) = (b, a);
    }
}

const SMALL: Mix = Mix {
    transactions: 7,
    open: 4,
    operations: 4,
    lists: 2,
    hides: false,
};

#[test]
fn the_checker_agrees_with_trying_all_orders() {
    let (mut right, mut wrong, mut stale) = (0, 0, 0);
    for seed in 0..3000 {
        let kinds = [
            Kind::Serializable,
            Kind::Snapshot,
            Kind::ReadCommitted,
            Kind::LosesUpdates,
            Kind::ReadsStale,
        ];
        let mut history = run(kinds[seed as usize % kinds.len()], SMALL, seed);
        let mut dice = Dice::new(!seed);
        if dice.chance(50) {
            corrupt(&mut history, &mut dice);
        }
        let verdict = check(&history);
        for strict in [false, true] {
            let level = if strict {
                Level::strict(Isolation::Serializable)
            } else {
                Level::of(Isolation::Serializable)
            };
            let truth = is_serializable(&history, strict);
            let found: Vec<_> = verdict.forbidden(level).collect();
            let told: String = found
                .iter()
                .map(|(_, found)| found.examples[0].explain(&history))
                .collect();
            assert_eq!(
                found.is_empty(),
                truth,
                "seed {seed}, {level}: {told} of {history:#?}"
            );
            match (strict, truth) {
                (false, true) => right += 1,
                (false, false) => wrong += 1,
                (true, truth) => stale += u64::from(!truth),
            }
        }
    }
    assert!(
        right > 300 && wrong > 300 && stale > wrong,
        "{right} {wrong} {stale}"
    );
}

/// With deletes and blind writes a history tells less: violations may hide, but each
/// finding is a violation.
#[test]
fn nothing_is_found_in_serializable_histories() {
    let mix = Mix {
        hides: true,
        ..SMALL
    };
    let (mut wrong, mut found) = (0, 0);
    for seed in 0..3000 {
        let kinds = [Kind::Snapshot, Kind::ReadCommitted, Kind::LosesUpdates];
        let mut history = run(kinds[seed as usize % kinds.len()], mix, seed);
        let mut dice = Dice::new(!seed);
        if dice.chance(30) {
            corrupt(&mut history, &mut dice);
        }
        let verdict = check(&history);
        for (strict, level) in [
            (false, Level::of(Isolation::Serializable)),
            (true, Level::strict(Isolation::Serializable)),
        ] {
            let truth = is_serializable(&history, strict);
            let holds = verdict.satisfies(level);
            if let Some((_, it)) = verdict.forbidden(level).next() {
                let story = it.examples[0].explain(&history);
                assert!(!truth, "seed {seed}, {level}: {story} of {history:#?}");
            }
            wrong += u64::from(!truth);
            found += u64::from(!holds);
        }
    }
    assert!(found * 10 > wrong * 8, "only {found} of {wrong} found");
}
