//! Contenders that answer lists of keys, among them those that run a structure's own body.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use interleave::{Interleaver, Lookup, look_up_all};

use super::compete::{Attempt, Chosen, Contender, Task};
use super::keys::List;
use super::{Settings, Technique};

/// Initial value of an answer; it is no place.
pub(super) const UNANSWERED: usize = 1 << (usize::BITS - 2);

/// Returns a search result as a number: the place of a key, or for an absent key the complement of
/// the place where it would be.
pub(super) fn place(found: Result<usize, usize>) -> usize {
    found.unwrap_or_else(|place| !place)
}

/// Returns a search result as a number where there is no order: the code of a key, or the
/// complement of 0.
pub(super) fn code(found: Option<u32>) -> usize {
    place(found.map(|code| code as usize).ok_or(0))
}

/// Draws the list of a given number; all lists are equally long.
pub(super) type Draw<'s, K> = &'s dyn Fn(u64) -> List<K>;

/// Returns a contender that answers lists: `answer` stores the answer to `keys[i]` in `answers[i]`,
/// with the given number of lookups under way. With `tells_absence` it tells that a key is absent
/// ([`place`]), otherwise only where the key would be.
pub(super) fn answering<'s, K>(
    technique: Technique,
    settings: &Settings,
    draw: Draw<'s, K>,
    tells_absence: bool,
    mut answer: impl FnMut(&[K], usize, &mut [usize]) + 's,
) -> Contender<'s> {
    let mut answers = Vec::new();
    let attempt = move |task: Task| {
        let list = draw(task.number);
        answers.clear();
        answers.resize(list.keys.len(), UNANSWERED);
        let start = Instant::now();
        answer(&list.keys, task.group, &mut answers);
        let nanoseconds = start.elapsed().as_nanos() as f64 / list.keys.len().max(1) as f64;
        let is_right = list.places.iter().zip(&answers).all(|(known, answer)| {
            let told = match known {
                Err(would_be) if !tells_absence => *would_be,
                known => place(*known),
            };
            *answer == told
        });
        Attempt {
            nanoseconds,
            parts: None,
            is_right,
        }
    };
    Contender {
        technique,
        groups: settings.groups_of(technique),
        chosen: None,
        attempt: Box::new(attempt),
    }
}

/// Returns contenders for those of the techniques asked for that are executions of the structure's
/// body; `told` turns the result of a lookup into an answer.
pub(super) fn bodies<'s, K: Copy, S: Lookup<K, Found: 's>>(
    structure: &'s S,
    told: fn(S::Found) -> usize,
    settings: &Settings,
    draw: Draw<'s, K>,
) -> Vec<Contender<'s>> {
    let techniques = settings.techniques.iter();
    let bodies = techniques.filter_map(|&technique| {
        let body = match technique {
            Technique::Sequential | Technique::Coroutines => answering(
                technique,
                settings,
                draw,
                true,
                move |keys, group, answers| {
                    let execution = technique.execution(group);
                    look_up_all(structure, keys, execution, |at, found| {
                        answers[at] = told(found);
                    });
                },
            ),
            Technique::Auto => {
                let chosen = Rc::new(Cell::<Chosen>::default());
                let tell = Rc::clone(&chosen);
                let mut interleaver = Interleaver::auto();
                let answer = move |keys: &[K], _, answers: &mut [usize]| {
                    interleaver.look_up_all(structure, keys, |at, found| answers[at] = told(found));
                    tell.set(Chosen {
                        execution: interleaver.execution(),
                        costs: interleaver.costs(),
                    });
                };
                Contender {
                    chosen: Some(chosen),
                    ..answering(technique, settings, draw, true, answer)
                }
            }
            _ => return None,
        };
        Some(body)
    });
    bodies.collect()
}

impl Settings {
    /// Returns the group sizes that a technique is tried with.
    pub(super) fn groups_of(&self, technique: Technique) -> Vec<usize> {
        if technique.has_groups() {
            self.groups.iter().map(|&group| group as usize).collect()
        } else {
            Vec::new()
        }
    }
}
