//! Memory use of states, and properties that expressions with PostgreSQL's answers cannot
//! show.

use types::{Array, NoNames, Result, Scalar, Scratch, Settings, SqlState, Type, Value};

use super::State;
use crate::{Body, Context, Environment, Parameter, Patterns, resolve_function};

struct Nobody;

impl Environment for Nobody {
    fn transaction_time(&self) -> i64 {
        0
    }

    fn statement_time(&self) -> i64 {
        0
    }

    fn clock_time(&self) -> i64 {
        0
    }

    fn random(&self) -> u64 {
        0
    }

    fn seed(&self, _: f64) {}

    fn current_user(&self) -> &str {
        ""
    }

    fn database(&self) -> &str {
        ""
    }

    fn schema(&self) -> Option<&str> {
        None
    }

    fn version(&self) -> &str {
        ""
    }

    fn process_id(&self) -> i32 {
        0
    }
}

/// Accumulates the values, each in memory that is gone afterwards, and returns the result.
fn over(
    name: &str,
    ty: Type,
    values: &[fn(&Scratch) -> Value<'_>],
    look: impl FnOnce(Result<Value<'_>>, &State),
) {
    let resolved = resolve_function(name, &[ty], false, &NoNames).expect("an aggregate");
    let Body::Aggregate(aggregate) = resolved.function.body else {
        panic!("{name} is no aggregate");
    };
    let (settings, patterns, types) = (Settings::default(), Patterns::new(), [ty]);
    let mut state = (aggregate.start)();
    let mut failed = Ok(());
    for value in values {
        let scratch = Scratch::new();
        let context = Context {
            scratch: &scratch,
            settings: &settings,
            environment: &Nobody,
            patterns: &patterns,
            argument_types: &types,
        };
        failed =
            failed.and_then(|()| (aggregate.accumulate)(&context, &mut state, &[value(&scratch)]));
    }
    let scratch = Scratch::new();
    let context = Context {
        scratch: &scratch,
        settings: &settings,
        environment: &Nobody,
        patterns: &patterns,
        argument_types: &types,
    };
    let result = failed.and_then(|()| (aggregate.finish)(&context, &state, &[]));
    look(result, &state);
}

fn array<'a>(numbers: &[i32], scratch: &'a Scratch) -> Value<'a> {
    let values: Vec<_> = numbers.iter().copied().map(Value::Int4).collect();
    Value::Array(Array::of(Scalar::Int4, &values, scratch).expect("an array"))
}

#[test]
fn numbers_take_no_memory_beside_the_state() {
    let two: &[fn(&Scratch) -> Value<'_>] = &[|_| Value::Int4(3), |_| Value::Int4(4)];
    for name in ["count", "sum", "avg", "min", "max"] {
        over(name, Scalar::Int4.into(), two, |result, state| {
            assert!(result.is_ok());
            assert_eq!(state.heap_bytes(), 0, "{name}");
        });
    }
}

#[test]
fn a_maximum_keeps_one_value() {
    let rising: &[fn(&Scratch) -> Value<'_>] = &[
        |scratch| Value::Text(scratch.alloc_str(&"a".repeat(100))),
        |scratch| Value::Text(scratch.alloc_str(&"b".repeat(100))),
        |scratch| Value::Text(scratch.alloc_str(&"c".repeat(100))),
        |scratch| Value::Text(scratch.alloc_str("bbb")),
    ];
    over("max", Scalar::Text.into(), rising, |result, state| {
        assert!(matches!(result, Ok(Value::Text(text)) if text == "c".repeat(100)));
        assert!(state.heap_bytes() < 200, "{}", state.heap_bytes());
    });
}

#[test]
fn arrays_of_arrays() {
    let ty = Type::Array(Scalar::Int4);
    let equal: &[fn(&Scratch) -> Value<'_>] = &[
        |scratch| array(&[1, 2], scratch),
        |scratch| array(&[3, 4], scratch),
    ];
    over("array_agg", ty, equal, |result, _| {
        let Ok(Value::Array(result)) = result else {
            panic!("an array");
        };
        let lengths: Vec<_> = result
            .dimensions()
            .map(|dimension| dimension.length)
            .collect();
        assert_eq!(lengths, [2, 2]);
        assert!(matches!(result.get(3), Ok(Value::Int4(4))));
    });
    let state_of = |values| {
        let mut state = None;
        over("array_agg", ty, values, |result, _| {
            state = result.err().map(|error| error.state());
        });
        state
    };
    assert_eq!(
        state_of(&[
            |scratch| array(&[1, 2], scratch),
            |scratch| array(&[3], scratch)
        ]),
        Some(SqlState::ARRAY_SUBSCRIPT_ERROR)
    );
    assert_eq!(
        state_of(&[|scratch| array(&[], scratch)]),
        Some(SqlState::ARRAY_SUBSCRIPT_ERROR)
    );
    assert_eq!(
        state_of(&[|_| Value::Null]),
        Some(SqlState::NULL_VALUE_NOT_ALLOWED)
    );
}

/// Texts of values of a parameter's type; among them equal ones.
fn texts(parameter: Parameter) -> (Type, [&'static str; 6]) {
    let ty = match parameter {
        Parameter::Of(ty) => ty,
        Parameter::AnyArray => Type::Array(Scalar::Int4),
        _ => Scalar::Int4.into(),
    };
    let texts = match ty {
        Type::Array(_) => ["{2}", "{1,2}", "{}", "{3}", "{1,2}", "{0}"],
        Type::Scalar(Scalar::Bool) => ["t", "f", "t", "t", "f", "t"],
        Type::Scalar(Scalar::Float4 | Scalar::Float8) => ["1.5", "-2.25", "0", "1000", "8", "8"],
        Type::Scalar(Scalar::Numeric) => ["1.5", "-2.25", "1e45", "0.001", "7", "1.500"],
        Type::Scalar(Scalar::Interval) => ["1 day", "-3 hours", "2 months", "24:00", "0", "1 s"],
        Type::Scalar(Scalar::Date) => [
            "2020-02-29",
            "1999-01-01",
            "infinity",
            "2000-01-01",
            "2020-02-29",
            "1999-01-02",
        ],
        Type::Scalar(Scalar::Timestamp | Scalar::TimestampTz) => [
            "2020-02-29 12:00",
            "1999-01-01",
            "-infinity",
            "2000-01-01",
            "1999-01-01",
            "1900-01-01",
        ],
        Type::Scalar(Scalar::Time | Scalar::TimeTz) => {
            ["12:00", "11:59", "00:00", "24:00", "12:00", "01:00"]
        }
        Type::Scalar(Scalar::Text | Scalar::Bpchar) => ["b", "a", "", "ab", "b", "c"],
        _ => ["3", "7", "0", "12", "12", "5"],
    };
    (ty, texts)
}

/// States that have accumulated parts of the rows, in all ways to cut them in three, have the result of all rows.
#[test]
fn combined_states_have_the_result_of_all_rows() {
    let mut combined = std::collections::BTreeSet::new();
    let (settings, patterns) = (Settings::default(), Patterns::new());
    for function in super::TABLES.iter().copied().flatten() {
        let Body::Aggregate(aggregate) = function.body else {
            panic!("{} is no aggregate", function.name);
        };
        let Some(combine) = aggregate.combine else {
            continue;
        };
        let parameter = function.parameters.first().copied();
        if parameter == Some(Parameter::AnyEnum) {
            continue;
        }
        combined.insert(function.name);
        let (ty, texts) = texts(parameter.unwrap_or(Parameter::Any));
        let (scratch, types) = (Scratch::new(), [ty]);
        let context = Context {
            scratch: &scratch,
            settings: &settings,
            environment: &Nobody,
            patterns: &patterns,
            argument_types: &types,
        };
        let read = |text| types::text::read(text, ty, &context.types(), &scratch).expect(text);
        let values = texts.map(read);
        let over = |values: &[Value<'_>]| {
            let mut state = (aggregate.start)();
            for value in values {
                let arguments = &[*value][..function.parameters.len()];
                (aggregate.accumulate)(&context, &mut state, arguments).expect(function.name);
            }
            state
        };
        let finish = |state: &State| {
            let result = (aggregate.finish)(&context, state, &[]).expect(function.name);
            match result {
                // The rounding of floats depends on the order of additions.
                Value::Float8(float) => format!("{float:.9}"),
                other => format!("{other:?}"),
            }
        };
        for end in 0..=values.len() {
            let expected = finish(&over(&values[..end]));
            for first in 0..=end {
                for second in first..=end {
                    let mut state = (aggregate.start)();
                    let parts = [
                        &values[..first],
                        &values[first..second],
                        &values[second..end],
                    ];
                    for part in parts {
                        combine(&context, &mut state, &over(part)).expect(function.name);
                    }
                    let found = finish(&state);
                    assert_eq!(found, expected, "{}({ty:?}), {parts:?}", function.name);
                }
            }
        }
    }
    assert!(combined.len() >= 16, "{combined:?}");
    for kept in ["array_agg", "string_agg", "mode", "percentile_cont"] {
        assert!(
            !combined.contains(kept),
            "{kept} depends on the order of rows"
        );
    }
}
