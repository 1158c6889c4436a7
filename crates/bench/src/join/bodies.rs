//! Contenders that run a structure's own body: sequentially, interleaved, or as is chosen.

use std::cell::Cell;

use interleave::{Interleaver, Lookup, look_up_all};

use super::compete::{Chosen, Contender};
use super::{Settings, Technique};

/// Those of the techniques asked for that are executions of the body; `told` makes an answer of
/// what was found. What the automatic one chooses is left in `chosen`.
pub(super) fn bodies<'s, K: Copy, S: Lookup<K, Found: 's>>(
    structure: &'s S,
    told: fn(S::Found) -> usize,
    settings: &Settings,
    chosen: &'s Cell<Chosen>,
) -> Vec<Contender<'s, K>> {
    let techniques = settings.techniques.iter().copied();
    techniques
        .filter_map(|technique| body(structure, told, technique, settings, chosen))
        .collect()
}

fn body<'s, K: Copy, S: Lookup<K, Found: 's>>(
    structure: &'s S,
    told: fn(S::Found) -> usize,
    technique: Technique,
    settings: &Settings,
    chosen: &'s Cell<Chosen>,
) -> Option<Contender<'s, K>> {
    let mut contender = Contender {
        technique,
        tells_absence: true,
        answer: Box::new(|_, _, _| {}),
        groups: settings.groups_of(technique),
        chosen: None,
    };
    match technique {
        Technique::Sequential | Technique::Coroutines => {
            contender.answer = Box::new(move |keys, group, answers| {
                look_up_all(structure, keys, technique.execution(group), |at, found| {
                    answers[at] = told(found);
                });
            });
        }
        Technique::Auto => {
            let mut interleaver = Interleaver::auto();
            contender.chosen = Some(chosen);
            contender.answer = Box::new(move |keys, _, answers| {
                interleaver.look_up_all(structure, keys, |at, found| answers[at] = told(found));
                chosen.set(Chosen {
                    execution: interleaver.execution(),
                    costs: interleaver.costs(),
                });
            });
        }
        _ => return None,
    }
    Some(contender)
}

impl Settings {
    /// Group sizes that a technique is tried with.
    pub(super) fn groups_of(&self, technique: Technique) -> Vec<usize> {
        if technique.has_groups() {
            self.groups.iter().map(|&group| group as usize).collect()
        } else {
            Vec::new()
        }
    }
}
