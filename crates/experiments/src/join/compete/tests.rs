use super::*;
use crate::join::Experiment;
use crate::join::bodies::{UNANSWERED, answering};
use crate::join::keys::List;
use crate::join::tests::settings;
use std::time::Instant;

/// Answers right; takes the longer, the further `group` is from 8.
fn answer(keys: &[u64], group: usize, answers: &mut [usize]) {
    let wait = Duration::from_micros(200 + 300 * group.abs_diff(8) as u64);
    let start = Instant::now();
    while start.elapsed() < wait {}
    for (key, answer) in keys.iter().zip(answers) {
        let place = *key as usize;
        *answer = if key.is_multiple_of(2) { place } else { !place };
    }
}

fn right(technique: Technique, groups: &[usize]) -> Contender<'static> {
    Contender {
        groups: groups.to_vec(),
        ..answering(technique, &settings(), &list, true, answer)
    }
}

fn list(number: u64) -> List<u64> {
    let mut next = number;
    List::draw(50, false, || {
        next += 1;
        let key = next as usize;
        (
            next,
            if next.is_multiple_of(2) {
                Ok(key)
            } else {
                Err(key)
            },
        )
    })
}

fn results(contenders: Vec<Contender<'_>>) -> Vec<Join> {
    let settings = settings();
    let arena = Arena {
        settings: &settings,
        result: Join::empty(Experiment::Sizes, "model", &settings),
        batches: 2,
        region: None,
    };
    compete(&arena, contenders, &Progress::hidden())
}

#[test]
fn each_technique_is_measured_at_its_best_group_size_against_the_sequential_one() {
    let results = results(vec![
        right(Technique::Sequential, &[]),
        right(Technique::Coroutines, &[1, 8, 16]),
        right(Technique::Amac, &[64]),
    ]);
    assert!(results.iter().all(|one| one.verified));
    let groups: Vec<_> = results.iter().map(|one| one.group).collect();
    assert_eq!(groups, [None, Some(8), Some(64)]);
    assert!(results[1].is_best_group && !results[2].is_best_group);
    assert_eq!(results[0].times_sequential, None);
    assert_eq!(results[1].sequential_mode, Some(Technique::Sequential));
    // The sequential contender takes 2600 us; the others take 200 us and 17000 us.
    assert!(results[1].times_sequential.unwrap().median > 2.0);
    assert!(results[2].times_sequential.unwrap().median < 0.5);
    assert!(results[1].nanoseconds_per_lookup.min >= 200e3 / 50.0);
}

#[test]
fn wrong_and_missing_answers_are_noticed() {
    let broken = |at: usize, what: usize, tells_absence| {
        let answer = move |keys: &[u64], group, answers: &mut [usize]| {
            answer(keys, group, answers);
            answers[at] = what;
        };
        answering(
            Technique::Coroutines,
            &settings(),
            &list,
            tells_absence,
            answer,
        )
    };
    for one in [
        broken(0, UNANSWERED, true),
        broken(49, 3, true),
        // A contender that need not tell absence still has to give the right places.
        broken(0, 1 << 20, false),
    ] {
        assert!(!results(vec![right(Technique::Sequential, &[]), one])[1].verified);
    }
}

#[test]
fn who_does_not_tell_absence_is_asked_where_keys_would_be() {
    let answer = |keys: &[u64], _, answers: &mut [usize]| {
        for (key, answer) in keys.iter().zip(answers) {
            *answer = *key as usize;
        }
    };
    let one = answering(Technique::Std, &settings(), &list, false, answer);
    assert!(results(vec![one])[0].verified);
}
