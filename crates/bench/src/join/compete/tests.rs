use super::*;
use crate::join::Experiment;
use crate::join::tests::settings;

/// Answers right; takes the longer, the further the group is from 8.
fn right(technique: Technique, groups: &[usize]) -> Contender<'static, u64> {
    Contender {
        technique,
        tells_absence: true,
        answer: Box::new(|keys, group, answers| {
            let wait = Duration::from_micros(200 + 300 * group.abs_diff(8) as u64);
            let start = Instant::now();
            while start.elapsed() < wait {}
            for (key, answer) in keys.iter().zip(answers) {
                *answer = if key % 2 == 0 {
                    *key as usize
                } else {
                    !(*key as usize)
                };
            }
        }),
        groups: groups.to_vec(),
        chosen: None,
    }
}

fn list(number: u64) -> List<u64> {
    let mut next = number;
    List::draw(50, false, || {
        next += 1;
        let key = next as usize;
        (next, if next % 2 == 0 { Ok(key) } else { Err(key) })
    })
}

fn results(contenders: Vec<Contender<'_, u64>>) -> Vec<Join> {
    let settings = settings();
    let arena = Arena {
        settings: &settings,
        result: Join::empty(Experiment::Sizes, "model", &settings),
        region: None,
    };
    compete(&arena, contenders, list, &Progress::hidden())
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
    // 200 us against 2600, and against 17000.
    assert!(results[1].times_sequential.unwrap().median > 2.0);
    assert!(results[2].times_sequential.unwrap().median < 0.5);
    assert!(results[1].nanoseconds_per_lookup.min >= 200e3 / 50.0);
}

#[test]
fn wrong_and_missing_answers_are_noticed() {
    let broken = |at: usize, what: usize, tells_absence| {
        let mut one = right(Technique::Coroutines, &[8]);
        let mut answer = one.answer;
        one.tells_absence = tells_absence;
        one.answer = Box::new(move |keys, group, answers| {
            answer(keys, group, answers);
            answers[at] = what;
        });
        one
    };
    for one in [
        broken(0, UNANSWERED, true),
        broken(49, 3, true),
        // Whose answers are only where keys would be has those that are absent wrong.
        broken(0, 1 << 20, false),
    ] {
        assert!(!results(vec![right(Technique::Sequential, &[]), one])[1].verified);
    }
}

#[test]
fn who_does_not_tell_absence_is_asked_where_keys_would_be() {
    let mut one = right(Technique::Std, &[]);
    one.tells_absence = false;
    one.answer = Box::new(|keys, _, answers| {
        for (key, answer) in keys.iter().zip(answers) {
            *answer = *key as usize;
        }
    });
    assert!(results(vec![one])[0].verified);
}
