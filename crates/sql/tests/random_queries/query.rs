//! Queries: their sources, groups and output.

use super::choices::Choices;
use super::expression::{Scope, condition, expression, literal};
use super::tables::{TABLES, Type};

/// A statement, and whether its rows have an order.
pub(crate) struct Statement {
    pub(crate) text: String,
    pub(crate) is_ordered: bool,
}

/// Depth of expressions.
const DEPTH: usize = 3;
/// Depth of queries within queries.
const NESTING: usize = 2;

/// A query, with its columns' types, in a scope around it.
struct Query {
    text: String,
    types: Vec<Type>,
}

/// Returns a whole statement.
pub(crate) fn statement(choices: &mut Choices) -> Statement {
    let mut text = String::new();
    let mut outer = Scope::default();
    let with = choices.one_in(6);
    let mut extra = Vec::new();
    if with {
        let inner = select(choices, &outer, NESTING - 1);
        let names: Vec<String> = (0..inner.types.len()).map(|at| format!("w{at}")).collect();
        let materialised = choices.pick(&["", "materialized ", "not materialized "]);
        text.push_str(&format!(
            "with w({}) as {materialised}({}) ",
            names.join(", "),
            inner.text
        ));
        extra.extend(names.into_iter().zip(inner.types));
    }
    let query = match with {
        true => {
            // The query reads the named query, so that it is used.
            outer.columns.clear();
            let scope = Scope {
                columns: extra
                    .iter()
                    .map(|(name, ty)| (format!("w.{name}"), *ty))
                    .collect(),
            };
            over(choices, &scope, "w", NESTING - 1)
        }
        false => combined(choices, &outer, NESTING),
    };
    text.push_str(&query.text);
    let is_ordered = choices.one_in(3);
    if is_ordered {
        let keys = (1..=query.types.len()).map(|at| {
            let direction = choices.pick(&["", " desc", " nulls first", " desc nulls last"]);
            format!("{at}{direction}")
        });
        let keys: Vec<String> = keys.collect();
        text.push_str(&format!(" order by {}", keys.join(", ")));
        if choices.one_in(2) {
            text.push_str(&format!(" limit {}", choices.of(6)));
        }
        if choices.one_in(4) {
            text.push_str(&format!(" offset {}", choices.of(4)));
        }
    }
    Statement { text, is_ordered }
}

/// Returns a query of one column, for `IN` and `EXISTS`.
pub(crate) fn column(choices: &mut Choices, outer: &Scope, ty: Type) -> String {
    let (from, scope) = source(choices, outer, 0, 'i');
    let shown = expression(choices, &scope, ty, 1);
    let filter = match choices.one_in(2) {
        true => correlation(choices, &scope, outer),
        false => filter(choices, &scope),
    };
    format!("select {shown} from {from}{filter}")
}

/// Returns conditions for rows that share a value with a row around the query, by which they can be
/// found, and perhaps satisfy another condition.
fn correlation(choices: &mut Choices, scope: &Scope, outer: &Scope) -> String {
    let own = scope.columns.len() - outer.columns.len();
    let own = &scope.columns[..own];
    let pairs: Vec<(&str, &str)> = own
        .iter()
        .flat_map(|(one, ty)| {
            let others = outer.columns.iter().filter(move |(_, other)| other == ty);
            others.map(move |(other, _)| (one.as_str(), other.as_str()))
        })
        .collect();
    if pairs.is_empty() {
        return String::new();
    }
    let (one, other) = *choices.pick(&pairs);
    match choices.one_in(3) {
        true => format!(
            " where {one} = {other} and {}",
            condition(choices, scope, 1)
        ),
        false => format!(" where {one} = {other}"),
    }
}

/// Returns a query of one row and column.
pub(crate) fn scalar(choices: &mut Choices, outer: &Scope, ty: Type) -> String {
    let (from, scope) = source(choices, outer, 0, 's');
    let filter = filter(choices, &scope);
    let shown = aggregate(choices, &scope, ty);
    format!("select {shown} from {from}{filter}")
}

/// Returns a query, or several combined.
fn combined(choices: &mut Choices, outer: &Scope, nesting: usize) -> Query {
    if !choices.one_in(6) {
        return select(choices, outer, nesting);
    }
    let types: Vec<Type> = (0..choices.of(3) + 1)
        .map(|_| Type::ALL[choices.of(5)])
        .collect();
    let operation = *choices.pick(&[
        "union all",
        "union",
        "intersect",
        "except",
        "intersect all",
        "except all",
    ]);
    let side = |choices: &mut Choices, alias: char| {
        let (from, scope) = source(choices, outer, 0, alias);
        let shown = types.iter().map(|&ty| expression(choices, &scope, ty, 1));
        let shown: Vec<String> = shown.collect();
        let filter = filter(choices, &scope);
        format!("select {} from {from}{filter}", shown.join(", "))
    };
    let text = format!(
        "({}) {operation} ({})",
        side(choices, 'l'),
        side(choices, 'm')
    );
    Query { text, types }
}

fn select(choices: &mut Choices, outer: &Scope, nesting: usize) -> Query {
    let (from, scope) = source(choices, outer, nesting, 'p');
    over(choices, &scope, &from, nesting)
}

/// Returns a query over a FROM clause.
fn over(choices: &mut Choices, scope: &Scope, from: &str, _nesting: usize) -> Query {
    match choices.of(6) {
        0..=2 => plain(choices, scope, from),
        3 | 4 => grouped(choices, scope, from),
        _ => windowed(choices, scope, from),
    }
}

fn types(choices: &mut Choices) -> Vec<Type> {
    (0..choices.of(3) + 1)
        .map(|_| Type::ALL[choices.of(5)])
        .collect()
}

fn plain(choices: &mut Choices, scope: &Scope, from: &str) -> Query {
    let types = types(choices);
    let shown = types
        .iter()
        .map(|&ty| expression(choices, scope, ty, DEPTH));
    let shown: Vec<String> = shown.collect();
    let distinct = if choices.one_in(6) { "distinct " } else { "" };
    let filter = filter(choices, scope);
    Query {
        text: format!("select {distinct}{} from {from}{filter}", shown.join(", ")),
        types,
    }
}

fn grouped(choices: &mut Choices, scope: &Scope, from: &str) -> Query {
    let count = choices.of(3);
    // Keys contain columns: PostgreSQL takes the order by a constant key for no order at all.
    let mut keys = Vec::new();
    let mut types = Vec::new();
    for _ in 0..count {
        let (column, ty) = choices.pick(&scope.columns).clone();
        keys.push(match choices.one_in(2) {
            true => format!("coalesce({column}, {})", literal(choices, ty)),
            false => column,
        });
        types.push(ty);
    }
    let mut shown = keys.clone();
    for _ in 0..=choices.of(3) {
        let ty = Type::ALL[choices.of(5)];
        shown.push(aggregate(choices, scope, ty));
        types.push(ty);
    }
    let filter = filter(choices, scope);
    let group = match (count, choices.of(4)) {
        (0, _) => String::new(),
        (_, 0 | 1) => format!(" group by {}", keys.join(", ")),
        (_, 2) => format!(" group by rollup ({})", keys.join(", ")),
        _ => format!(
            " group by grouping sets (({}), ({}), ())",
            keys.join(", "),
            keys[0]
        ),
    };
    let having = match choices.one_in(4) {
        true => format!(" having count(*) > {}", choices.of(3)),
        false => String::new(),
    };
    Query {
        text: format!(
            "select {} from {from}{filter}{group}{having}",
            shown.join(", ")
        ),
        types,
    }
}

/// Returns an aggregate of the type that does not depend on the order of rows.
fn aggregate(choices: &mut Choices, scope: &Scope, ty: Type) -> String {
    let some = |choices: &mut Choices, ty| expression(choices, scope, ty, 1);
    let distinct = |choices: &mut Choices| if choices.one_in(4) { "distinct " } else { "" };
    let call = match ty {
        Type::Int => match choices.of(4) {
            0 => "count(*)".to_owned(),
            1 => format!("count({}{})", distinct(choices), some(choices, Type::Text)),
            2 => format!("sum({}{})", distinct(choices), some(choices, Type::Int)),
            _ => format!("max({})", some(choices, Type::Int)),
        },
        Type::Text => match choices.of(2) {
            0 => format!("min({})", some(choices, Type::Text)),
            _ => {
                let shown = some(choices, Type::Text);
                format!("string_agg({shown}, ',' order by {shown})")
            }
        },
        Type::Bool => match choices.of(2) {
            0 => format!("bool_or({})", some(choices, Type::Bool)),
            _ => format!("every({})", some(choices, Type::Bool)),
        },
        Type::Numeric => match choices.of(3) {
            0 => format!("sum({})", some(choices, Type::Numeric)),
            1 => format!("avg({})", some(choices, Type::Int)),
            _ => format!("min({})", some(choices, Type::Numeric)),
        },
        Type::Date => format!("max({})", some(choices, Type::Date)),
    };
    let call = match choices.one_in(6) {
        true => format!("{call} filter (where {})", condition(choices, scope, 1)),
        false => call,
    };
    match ty {
        // Counts and sums are bigint.
        Type::Int => format!("({call})::int"),
        _ => call,
    }
}

fn windowed(choices: &mut Choices, scope: &Scope, from: &str) -> Query {
    let mut types = types(choices);
    let shown = types.iter().map(|&ty| expression(choices, scope, ty, 1));
    let mut shown: Vec<String> = shown.collect();
    for _ in 0..=choices.of(2) {
        let ty = Type::ALL[choices.of(5)];
        let partition = match choices.one_in(2) {
            true => format!("partition by {}", expression(choices, scope, ty, 1)),
            false => String::new(),
        };
        // Ties are peers, and these functions do not tell peers apart.
        let key = Type::ALL[choices.of(5)];
        let order = format!(
            "order by {} nulls first",
            expression(choices, scope, key, 1)
        );
        let call = match choices.of(9) {
            0 => "rank()".to_owned(),
            1 => "dense_rank()".to_owned(),
            2 => format!("count({})", expression(choices, scope, Type::Text, 1)),
            3 => format!("sum({})", expression(choices, scope, Type::Int, 1)),
            4 => format!("max({})", expression(choices, scope, Type::Int, 1)),
            5 => format!("sum({})", expression(choices, scope, Type::Numeric, 1)),
            6 => format!("avg({})", expression(choices, scope, Type::Int, 1)),
            7 => format!("min({})", expression(choices, scope, Type::Numeric, 1)),
            _ => format!("every({})", expression(choices, scope, Type::Bool, 1)),
        };
        let frame = frame(choices, key);
        shown.push(format!("({call} over ({partition} {order}{frame}))::int"));
        types.push(Type::Int);
    }
    let filter = filter(choices, scope);
    Query {
        text: format!("select {} from {from}{filter}", shown.join(", ")),
        types,
    }
}

/// Returns a frame that has all peers of a row or none.
fn frame(choices: &mut Choices, key: Type) -> String {
    let units = match (choices.of(4), key) {
        (0 | 1, _) => return String::new(),
        (2, Type::Int | Type::Numeric) => "range",
        _ => "groups",
    };
    let bounds = match choices.of(6) {
        0 => "between unbounded preceding and 1 following",
        1 => "between 1 preceding and 1 following",
        2 => "between 3 preceding and 1 preceding",
        3 => "between 1 following and 2 following",
        4 => "between current row and unbounded following",
        _ => "between 2 preceding and current row",
    };
    format!(" {units} {bounds}")
}

fn filter(choices: &mut Choices, scope: &Scope) -> String {
    match choices.of(3) {
        0 => String::new(),
        _ => format!(" where {}", condition(choices, scope, DEPTH)),
    }
}

/// Returns a FROM clause, and the columns in sight behind it.
pub(crate) fn source(
    choices: &mut Choices,
    outer: &Scope,
    nesting: usize,
    alias: char,
) -> (String, Scope) {
    let mut scope = outer.clone();
    let mut text = item(choices, &mut scope, nesting, &format!("{alias}0"), false);
    let more = match choices.of(6) {
        0..=2 => 0,
        3 | 4 => 1,
        _ => 2,
    };
    for at in 1..=more {
        let before = scope.clone();
        let kind = *choices.pick(&["join", "left join", "right join", "full join", "cross join"]);
        let is_lateral = matches!(kind, "join" | "left join") && choices.one_in(5);
        let own = scope.columns.len();
        let right = item(
            choices,
            &mut scope,
            nesting,
            &format!("{alias}{at}"),
            is_lateral,
        );
        let on = match kind {
            "cross join" => String::new(),
            // Other conditions are not supported there.
            "full join" => on_equal(choices, &before, &scope, outer.columns.len(), own),
            _ => match choices.of(3) {
                0 | 1 => on_equal(choices, &before, &scope, outer.columns.len(), own),
                _ => {
                    let visible = Scope {
                        columns: scope.columns.clone(),
                    };
                    format!(" on {}", condition(choices, &visible, 2))
                }
            },
        };
        text = format!("{text} {kind} {right}{on}");
    }
    // The query's own columns are found first.
    let own = scope.columns.split_off(outer.columns.len());
    let around = scope.columns;
    scope = Scope { columns: own };
    scope.columns.extend(around);
    (text, scope)
}

/// Returns a condition that a column of one side equals one of the other.
fn on_equal(choices: &mut Choices, left: &Scope, all: &Scope, from: usize, own: usize) -> String {
    let right = &all.columns[own..];
    let left = &left.columns[from..];
    let pairs: Vec<(&str, &str)> = left
        .iter()
        .flat_map(|(one, ty)| {
            let others = right.iter().filter(move |(_, other)| other == ty);
            others.map(move |(other, _)| (one.as_str(), other.as_str()))
        })
        .collect();
    match pairs.is_empty() {
        true => " on true".to_owned(),
        false => {
            let (one, other) = choices.pick(&pairs);
            format!(" on {one} = {other}")
        }
    }
}

/// Adds a table or a query with a name.
fn item(
    choices: &mut Choices,
    scope: &mut Scope,
    nesting: usize,
    alias: &str,
    is_lateral: bool,
) -> String {
    if nesting > 0 && (is_lateral || choices.one_in(5)) {
        let around = match is_lateral {
            true => scope.clone(),
            false => Scope::default(),
        };
        let inner = combined(choices, &around, nesting - 1);
        let names: Vec<String> = (0..inner.types.len()).map(|at| format!("x{at}")).collect();
        let columns = names.iter().zip(&inner.types);
        scope
            .columns
            .extend(columns.map(|(name, ty)| (format!("{alias}.{name}"), *ty)));
        let lateral = if is_lateral { "lateral " } else { "" };
        return format!("{lateral}({}) {alias}({})", inner.text, names.join(", "));
    }
    let table = choices.pick(&TABLES);
    let columns = table.columns.iter();
    scope
        .columns
        .extend(columns.map(|(name, ty)| (format!("{alias}.{name}"), *ty)));
    format!("{} {alias}", table.name)
}
