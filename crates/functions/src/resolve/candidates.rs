//! The choice among candidates, for functions and operators alike.

use types::{Category, Type};

use super::polymorphic;
use crate::{CastContext, Function, Parameter, cast};

/// A function with the parameters of this call: variadic ones repeated, optional ones cut off.
pub(super) struct Candidate {
    pub(super) function: &'static Function,
    pub(super) parameters: Vec<Parameter>,
    /// Position where repeated parameters begin, if the function has an array there.
    pub(super) repeated: Option<usize>,
}

/// Returns whether implicit casts take an argument to a parameter.
fn fits(argument: Type, parameter: Parameter) -> bool {
    match parameter {
        Parameter::Of(ty) => {
            argument == Type::Unknown
                || argument == ty
                || cast(argument, ty, CastContext::Implicit).is_some()
        }
        _ => true,
    }
}

impl Candidate {
    pub(super) fn is_exact(&self, arguments: &[Type]) -> bool {
        self.parameters
            .iter()
            .zip(arguments)
            .all(|(parameter, argument)| *parameter == Parameter::Of(*argument))
    }

    fn fits(&self, arguments: &[Type]) -> bool {
        self.parameters
            .iter()
            .zip(arguments)
            .all(|(parameter, argument)| fits(*argument, *parameter))
            && polymorphic::is_consistent(&self.parameters, arguments)
    }
}

/// Returns the category of a parameter for the choice.
fn category(parameter: Parameter) -> Category {
    parameter.fixed().map_or(Category::Pseudo, Type::category)
}

fn is_preferred(parameter: Parameter) -> bool {
    parameter.fixed().is_some_and(Type::is_preferred)
}

/// Result of a choice.
pub(super) enum Choice {
    None,
    One(Candidate),
    Several,
}

/// Chooses by rules 2 to 4 of the chapter: fitting candidates, most exact matches, most
/// preferred types, the categories of unknown arguments, one type for all.
pub(super) fn choose(candidates: Vec<Candidate>, arguments: &[Type]) -> Choice {
    let mut left: Vec<Candidate> = candidates
        .into_iter()
        .filter(|candidate| candidate.fits(arguments))
        .collect();
    if left.len() > 1 {
        keep_best(&mut left, |candidate| exact_matches(candidate, arguments));
    }
    if left.len() > 1 {
        keep_best(&mut left, |candidate| {
            exact_or_preferred(candidate, arguments)
        });
    }
    if left.len() > 1 && arguments.contains(&Type::Unknown) {
        settle_unknown(&mut left, arguments);
    }
    match left.len() {
        0 => Choice::None,
        1 => left.pop().map_or(Choice::None, Choice::One),
        _ => Choice::Several,
    }
}

fn keep_best(candidates: &mut Vec<Candidate>, score: impl Fn(&Candidate) -> usize) {
    let best = candidates.iter().map(&score).max().unwrap_or(0);
    candidates.retain(|candidate| score(candidate) == best);
}

fn exact_matches(candidate: &Candidate, arguments: &[Type]) -> usize {
    let pairs = candidate.parameters.iter().zip(arguments);
    pairs
        .filter(|(parameter, argument)| **parameter == Parameter::Of(**argument))
        .count()
}

fn exact_or_preferred(candidate: &Candidate, arguments: &[Type]) -> usize {
    let pairs = candidate.parameters.iter().zip(arguments);
    pairs
        .filter(|(parameter, argument)| {
            **argument != Type::Unknown
                && (**parameter == Parameter::Of(**argument)
                    || (is_preferred(**parameter) && category(**parameter) == argument.category()))
        })
        .count()
}

fn settle_unknown(candidates: &mut Vec<Candidate>, arguments: &[Type]) {
    let unknown = || (0..arguments.len()).filter(|position| arguments[*position] == Type::Unknown);
    let mut chosen = Vec::new();
    for position in unknown() {
        let mut categories = candidates
            .iter()
            .map(|candidate| category(candidate.parameters[position]));
        let first = categories.next().unwrap_or(Category::Unknown);
        let all_same = categories.all(|category| category == first);
        let has_string = candidates
            .iter()
            .any(|candidate| category(candidate.parameters[position]) == Category::String);
        let category_here = if has_string {
            Category::String
        } else if all_same {
            first
        } else {
            return assume_same(candidates, arguments);
        };
        let preferred = candidates.iter().any(|candidate| {
            category(candidate.parameters[position]) == category_here
                && is_preferred(candidate.parameters[position])
        });
        chosen.push((position, category_here, preferred));
    }
    let agrees = |candidate: &Candidate| {
        chosen.iter().all(|(position, category_here, preferred)| {
            let parameter = candidate.parameters[*position];
            category(parameter) == *category_here && (!preferred || is_preferred(parameter))
        })
    };
    if candidates.iter().any(agrees) {
        candidates.retain(agrees);
    }
    if candidates.len() > 1 {
        assume_same(candidates, arguments);
    }
}

/// Assumes that unknown arguments have the type of the known ones, if these have one.
fn assume_same(candidates: &mut Vec<Candidate>, arguments: &[Type]) {
    let mut known = arguments.iter().filter(|ty| **ty != Type::Unknown);
    let Some(first) = known.next() else { return };
    if !known.all(|ty| ty == first) {
        return;
    }
    let same = vec![*first; arguments.len()];
    if candidates
        .iter()
        .filter(|candidate| candidate.fits(&same))
        .count()
        == 1
    {
        candidates.retain(|candidate| candidate.fits(&same));
    }
}
