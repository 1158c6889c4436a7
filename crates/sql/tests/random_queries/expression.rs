//! Expressions of a type over the columns in sight.

use super::choices::Choices;
use super::query;
use super::tables::Type;

/// The columns in sight, as they are written.
#[derive(Clone, Default)]
pub(crate) struct Scope {
    pub(crate) columns: Vec<(String, Type)>,
}

impl Scope {
    fn of(&self, ty: Type) -> Vec<&str> {
        let columns = self.columns.iter();
        let found = columns.filter(|(_, other)| *other == ty);
        found.map(|(name, _)| name.as_str()).collect()
    }
}

const INTS: [&str; 7] = ["1", "0", "2", "-1", "3", "10", "null::int"];
const TEXTS: [&str; 7] = ["'a'", "''", "'b'", "'ab'", "'Abc'", "'z'", "null::text"];
const BOOLS: [&str; 3] = ["true", "false", "null::bool"];
const NUMERICS: [&str; 6] = ["1.5", "0.0", "-2.25", "10", "0.01", "null::numeric"];
const DATES: [&str; 4] = [
    "date '2024-01-01'",
    "date '2024-02-29'",
    "date '2000-02-29'",
    "null::date",
];
const COMPARISONS: [&str; 8] = [
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "is distinct from",
    "is not distinct from",
];

pub(crate) fn literal(choices: &mut Choices, ty: Type) -> String {
    let all: &[&str] = match ty {
        Type::Int => &INTS,
        Type::Text => &TEXTS,
        Type::Bool => &BOOLS,
        Type::Numeric => &NUMERICS,
        Type::Date => &DATES,
    };
    (*choices.pick(all)).to_owned()
}

/// Returns a column of the type, or a literal if there is none in sight.
fn leaf(choices: &mut Choices, scope: &Scope, ty: Type) -> String {
    let columns = scope.of(ty);
    if columns.is_empty() || choices.one_in(4) {
        return literal(choices, ty);
    }
    (*choices.pick(&columns)).to_owned()
}

/// Returns an expression of the type.
pub(crate) fn expression(choices: &mut Choices, scope: &Scope, ty: Type, depth: usize) -> String {
    if depth == 0 || choices.of(3) == 0 {
        return leaf(choices, scope, ty);
    }
    if choices.one_in(8) {
        return of_any_type(choices, scope, ty, depth - 1);
    }
    match ty {
        Type::Int => int(choices, scope, depth - 1),
        Type::Text => text(choices, scope, depth - 1),
        Type::Bool => condition(choices, scope, depth - 1),
        Type::Numeric => numeric(choices, scope, depth - 1),
        Type::Date => date(choices, scope, depth - 1),
    }
}

fn of_any_type(choices: &mut Choices, scope: &Scope, ty: Type, depth: usize) -> String {
    let some = |choices: &mut Choices| expression(choices, scope, ty, depth);
    match choices.of(6) {
        0 => format!("coalesce({}, {})", some(choices), some(choices)),
        1 => format!("nullif({}, {})", some(choices), some(choices)),
        2 => {
            let when = expression(choices, scope, Type::Bool, depth);
            format!(
                "case when {when} then {} else {} end",
                some(choices),
                some(choices)
            )
        }
        3 => {
            let (of, like) = (leaf(choices, scope, Type::Int), literal(choices, Type::Int));
            format!("case {of} when {like} then {} end", some(choices))
        }
        4 if ty != Type::Bool => {
            format!("greatest({}, {})", some(choices), some(choices))
        }
        _ => format!("({})", query::scalar(choices, scope, ty)),
    }
}

fn int(choices: &mut Choices, scope: &Scope, depth: usize) -> String {
    let some = |choices: &mut Choices, ty| expression(choices, scope, ty, depth);
    match choices.of(8) {
        0 => format!(
            "({} + {})",
            some(choices, Type::Int),
            some(choices, Type::Int)
        ),
        1 => format!(
            "({} - {})",
            some(choices, Type::Int),
            some(choices, Type::Int)
        ),
        2 => format!("({} * {})", some(choices, Type::Int), choices.of(4)),
        3 => format!("abs({})", some(choices, Type::Int)),
        4 => format!("length({})", some(choices, Type::Text)),
        5 => format!("({})::int", some(choices, Type::Bool)),
        6 => format!("({} % {})", some(choices, Type::Int), choices.of(3) + 2),
        _ => format!(
            "({} - {})",
            some(choices, Type::Date),
            some(choices, Type::Date)
        ),
    }
}

fn text(choices: &mut Choices, scope: &Scope, depth: usize) -> String {
    let some = |choices: &mut Choices, ty| expression(choices, scope, ty, depth);
    match choices.of(7) {
        0 => format!(
            "({} || {})",
            some(choices, Type::Text),
            some(choices, Type::Text)
        ),
        1 => format!("upper({})", some(choices, Type::Text)),
        2 => format!(
            "substr({}, {}, 2)",
            some(choices, Type::Text),
            choices.of(4)
        ),
        3 => format!("({})::text", some(choices, Type::Int)),
        4 => format!("({})::text", some(choices, Type::Numeric)),
        5 => format!("replace({}, 'a', 'xy')", some(choices, Type::Text)),
        _ => format!(
            "concat({}, {})",
            some(choices, Type::Text),
            some(choices, Type::Int)
        ),
    }
}

fn numeric(choices: &mut Choices, scope: &Scope, depth: usize) -> String {
    let some = |choices: &mut Choices, ty| expression(choices, scope, ty, depth);
    match choices.of(5) {
        0 => format!(
            "({} + {})",
            some(choices, Type::Numeric),
            some(choices, Type::Numeric)
        ),
        1 => format!(
            "({} - {})",
            some(choices, Type::Numeric),
            some(choices, Type::Int)
        ),
        2 => format!(
            "({} * {})",
            some(choices, Type::Numeric),
            literal(choices, Type::Numeric)
        ),
        3 => format!("round({}, 1)", some(choices, Type::Numeric)),
        _ => format!("({})::numeric", some(choices, Type::Int)),
    }
}

fn date(choices: &mut Choices, scope: &Scope, depth: usize) -> String {
    let some = expression(choices, scope, Type::Date, depth);
    match choices.of(2) {
        0 => format!("({some} + {})", choices.of(40)),
        _ => format!("({some} - {})", choices.of(40)),
    }
}

/// Returns a condition.
pub(crate) fn condition(choices: &mut Choices, scope: &Scope, depth: usize) -> String {
    let not = |choices: &mut Choices| if choices.one_in(3) { "not " } else { "" };
    let depth = depth.saturating_sub(1);
    let ty = Type::ALL[choices.of(5)];
    let some = |choices: &mut Choices, ty| expression(choices, scope, ty, depth);
    match choices.of(13) {
        0 | 1 => {
            let comparison = choices.pick(&COMPARISONS);
            format!("({} {comparison} {})", some(choices, ty), some(choices, ty))
        }
        2 => format!(
            "({} and {})",
            some(choices, Type::Bool),
            some(choices, Type::Bool)
        ),
        3 => format!(
            "({} or {})",
            some(choices, Type::Bool),
            some(choices, Type::Bool)
        ),
        4 => format!("(not {})", some(choices, Type::Bool)),
        5 => format!("({} is {}null)", some(choices, ty), not(choices)),
        6 => {
            let (of, not) = (some(choices, ty), not(choices));
            format!(
                "({of} {not}between {} and {})",
                some(choices, ty),
                some(choices, ty)
            )
        }
        7 => {
            let (of, not) = (some(choices, ty), not(choices));
            format!(
                "({of} {not}in ({}, {}))",
                literal(choices, ty),
                some(choices, ty)
            )
        }
        8 => {
            let pattern = choices.pick(&["'a%'", "'%b%'", "'_'", "''", "'a\\%'"]);
            format!(
                "({} {}like {pattern})",
                some(choices, Type::Text),
                not(choices)
            )
        }
        9 => {
            let (of, not) = (some(choices, ty), not(choices));
            format!("({of} {not}in ({}))", query::column(choices, scope, ty))
        }
        10 => {
            let comparison = choices.pick(&["<> all", "= any", "= all", "< any"]);
            let of = some(choices, ty);
            format!(
                "({of} {comparison} ({}))",
                query::column(choices, scope, ty)
            )
        }
        11 => {
            let not = not(choices);
            let (one, two) = (some(choices, Type::Int), some(choices, Type::Text));
            let of = choices.pick(&[
                "select b, k from v",
                "select a, c from u",
                "select b, c from t",
            ]);
            format!("(({one}, {two}) {not}in ({of}))")
        }
        _ => format!(
            "({}exists ({}))",
            not(choices),
            query::column(choices, scope, ty)
        ),
    }
}
