//! Aggregates over a table that is read by columns, and over the same rows one by one: an OFFSET in between takes no
//! columns, and a projection below it computes row by row.

use super::choices::Choices;
use super::expression::{Scope, condition, expression};
use super::tables::{TABLES, Type};

/// Statement that makes a table with the columns of `t` whose rows fill several batches, the last in part. Many rows in
/// a row are alike, then many are NULL, and numbers have several scales and lengths.
pub(crate) const SETUP: &str = "\
create table w (a int primary key, b int, c text, d numeric, e bool, f date);
insert into w select i, case when i % 7 > 0 then i % 5 end, case when i % 11 > 2 then t.c end,
    case when i / 1500 = 1 then t.d * i when i % 3 = 0 then t.d * 1.005 when i % 1000 = 1 then 'NaN'
        when i % 1000 = 2 then 12345678901234567890.5 else t.d end,
    case when i / 1100 <> 2 then t.e end, t.f + i % 13
from generate_series(1, 4500) i join t on t.a = i % 10 + 1 order by i";

/// A call of an aggregate: its beginning, its argument, and the condition of its FILTER.
struct Call {
    begin: &'static str,
    argument: Option<String>,
    filter: Option<String>,
}

impl Call {
    /// Returns the call as it is written over these expressions.
    fn over(&self, argument: &str, filter: &str) -> String {
        let argument = match self.argument {
            Some(_) => argument,
            None => "*",
        };
        match self.filter {
            Some(_) => format!("{}{argument}) filter (where {filter})", self.begin),
            None => format!("{}{argument})", self.begin),
        }
    }
}

/// Returns a statement over the table, and one in which all that the aggregates are given is computed before, row by
/// row.
pub(crate) fn statements(choices: &mut Choices) -> [String; 2] {
    let columns = TABLES[0].columns.iter();
    let scope = Scope {
        columns: columns
            .map(|(name, ty)| ((*name).to_owned(), *ty))
            .collect(),
    };
    let calls: Vec<_> = (0..=choices.of(2)).map(|_| call(choices, &scope)).collect();
    let condition = match choices.one_in(4) {
        true => "true".to_owned(),
        false => condition(choices, &scope, 3),
    };
    let key = (!choices.one_in(3)).then(|| {
        let ty = *choices.pick(&Type::ALL);
        expression(choices, &scope, ty, 2)
    });
    let (mut at_once, mut computed, mut after) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(key) = &key {
        at_once.push(format!("{key} as k"));
        computed.push(format!("{key} as k"));
        after.push("k".to_owned());
    }
    for (number, call) in calls.iter().enumerate() {
        let (argument, filter) = (format!("x{number}"), format!("f{number}"));
        for (expression, name) in [(&call.argument, &argument), (&call.filter, &filter)] {
            let some = expression.iter();
            computed.extend(some.map(|expression| format!("{expression} as {name}")));
        }
        after.push(call.over(&argument, &filter));
        let own = |expression: &Option<String>| expression.clone().unwrap_or_default();
        at_once.push(call.over(&own(&call.argument), &own(&call.filter)));
    }
    let group = if key.is_some() { " group by 1" } else { "" };
    let [at_once, computed, after] = [at_once, computed, after].map(|all| all.join(", "));
    [
        format!("select {at_once} from w where {condition}{group}"),
        format!(
            "select {after} from (select {computed} from w where {condition} offset 0) s{group}"
        ),
    ]
}

fn call(choices: &mut Choices, scope: &Scope) -> Call {
    let any = *choices.pick(&Type::ALL);
    let (begin, ty) = match choices.of(10) {
        0 => ("count(", None),
        1 => ("count(", Some(any)),
        2 => ("sum(", Some(Type::Int)),
        3 => ("avg(", Some(Type::Int)),
        4 => ("sum(", Some(Type::Numeric)),
        5 => ("avg(", Some(Type::Numeric)),
        6 => ("sum(0.1::float8 * ", Some(Type::Int)),
        7 => ("max(", Some(any)),
        8 => ("count(distinct ", Some(any)),
        _ => ("array_agg(", Some(any)),
    };
    Call {
        begin,
        argument: ty.map(|ty| {
            let argument = expression(choices, scope, ty, 3);
            match ty {
                // A literal by itself has no type.
                Type::Text => format!("({argument})::text"),
                _ => argument,
            }
        }),
        filter: choices.one_in(6).then(|| condition(choices, scope, 2)),
    }
}
