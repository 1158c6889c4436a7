//! Memory use of states, and properties that expressions with PostgreSQL's answers cannot
//! show.

use types::{Array, NoNames, Result, Scalar, Scratch, Settings, SqlState, Type, Value};

use super::State;
use crate::{Body, Context, Environment, Patterns, resolve_function};

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
