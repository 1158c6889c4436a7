//! One corruption in a long good history is found.

use super::model::{Dice, Kind, Mix, run};
use crate::{
    Isolation, Level, check,
    history::{Action, Key, Outcome, Transaction, Value, Version},
};

const LONG: Mix = Mix {
    transactions: 300,
    open: 6,
    operations: 5,
    lists: 4,
    hides: true,
};

const STRICT: Level = Level::strict(Isolation::Serializable);

/// Returns committed reads of a list with at least two elements: transaction,
/// operation.
fn reads(history: &[Transaction]) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    for (index, transaction) in history.iter().enumerate() {
        let wrote = |key: Key| {
            let mut actions = transaction.operations.iter().map(|it| &it.action);
            actions.any(|it| matches!(it, Action::Append { key: other, .. } if *other == key))
        };
        for (operation, it) in transaction.operations.iter().enumerate() {
            if let Action::Read {
                key,
                found: Some(Value::List(list)),
            } = &it.action
                && list.len() > 1
                && transaction.outcome == Outcome::Committed
                && !wrote(*key)
            {
                places.push((index, operation));
            }
        }
    }
    places
}

fn list(history: &mut [Transaction], (index, operation): (usize, usize)) -> &mut Vec<Version> {
    match &mut history[index].operations[operation].action {
        Action::Read {
            found: Some(Value::List(list)),
            ..
        } => list,
        _ => unreachable!("only reads of lists are chosen"),
    }
}

/// Applies `plant` to a read of a list in each of many histories; the checker must
/// refuse all.
fn is_always_found(plant: impl Fn(&mut Vec<Version>)) {
    let mut planted = 0;
    for seed in 0..40 {
        let mut history = run(Kind::Serializable, LONG, seed);
        let places = reads(&history);
        if places.is_empty() {
            continue;
        }
        let place = places[Dice::new(seed).below(places.len())];
        let before = list(&mut history, place).clone();
        plant(list(&mut history, place));
        assert!(
            !check(&history).satisfies(STRICT),
            "seed {seed}: {before:?} became {:?}",
            list(&mut history, place)
        );
        planted += 1;
    }
    assert!(planted > 20, "only {planted}");
}

#[test]
fn swapped_elements() {
    is_always_found(|list| {
        let last = list.len() - 1;
        list.swap(last, last - 1);
    });
}

#[test]
fn a_dropped_element() {
    is_always_found(|list| {
        list.remove(0);
    });
}

#[test]
fn an_invented_element() {
    is_always_found(|list| list.push(Version::MAX >> 2));
}

#[test]
fn a_very_stale_read() {
    is_always_found(|list| list.truncate(1));
}

/// An append was acknowledged, and no transaction sees anything of it.
#[test]
fn a_lost_append() {
    let mut planted = 0;
    for seed in 0..40 {
        let mut history = run(Kind::Serializable, LONG, seed);
        let places = reads(&history);
        let Some(&place) = places.first() else {
            continue;
        };
        let lost = list(&mut history, place)[0];
        for it in history.iter_mut().flat_map(|it| &mut it.operations) {
            match &mut it.action {
                Action::Read {
                    found: Some(Value::List(list)),
                    ..
                }
                | Action::Append {
                    onto: Some(list), ..
                } => list.retain(|&element| element != lost),
                _ => {}
            }
        }
        assert!(!check(&history).satisfies(STRICT), "seed {seed}: {lost}");
        planted += 1;
    }
    assert!(planted > 20, "only {planted}");
}
