//! Every function and operator over extreme values of its parameters' types: it may answer with an
//! error, but must neither panic nor ask for endless memory.

use functions::{
    Body, Context, Environment, Function, Parameter, Partition, Patterns, Volatility,
    all_functions, all_operators,
};
use types::{
    Array, Interval, Jsonb, Names, NoNames, Numeric, Result, Scalar, Scratch, Settings, SqlState,
    TimeZone, Type, Value,
};

/// A session in a zone whose clock changes.
struct Session;

impl Environment for Session {
    fn names(&self) -> &dyn Names {
        &NoNames
    }

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
        u64::MAX
    }

    fn seed(&self, _: f64) {}

    fn current_user(&self) -> &str {
        "somebody"
    }

    fn database(&self) -> &str {
        "database"
    }

    fn schema(&self) -> Option<&str> {
        None
    }

    fn version(&self) -> &str {
        "version"
    }

    fn process_id(&self) -> i32 {
        1
    }
}

const TEXTS: &[&str] = &[
    "",
    "a",
    "äöü€",
    "YYYY-MM-DD HH24:MI:SS.US TZH",
    "FM999,990.99PR",
    "%1$s %*2$L",
    "[",
    "(a|b)*?\\",
    "\\",
    "%_\\%",
    "{\"a\": [1]}",
    "base64",
    "UTC",
    "month",
    "2024-02-30",
    "=",
    "12:34",
    "-1",
    "#\"x#\"",
    "(((",
    "a{0,255}",
];

fn numbers<'a>(scratch: &'a Scratch) -> Vec<Value<'a>> {
    let texts = [
        "0",
        "-1",
        "1e-1000",
        "123456789012345678901234567890.12345",
        "-0.5",
        "99999",
    ];
    let mut all: Vec<_> = texts
        .iter()
        .filter_map(|text| Numeric::parse(text, scratch).ok())
        .collect();
    all.extend([Numeric::NAN, Numeric::INFINITY, Numeric::NEGATIVE_INFINITY]);
    all.into_iter().map(Value::Numeric).collect()
}

fn interval(months: i32, days: i32, microseconds: i64) -> Value<'static> {
    Value::Interval(Interval {
        microseconds,
        days,
        months,
    })
}

fn samples<'a>(scalar: Scalar, scratch: &'a Scratch) -> Vec<Value<'a>> {
    let times = [
        0,
        1,
        -1,
        i64::MIN,
        i64::MAX,
        -211_813_488_000_000_000,
        9_223_371_331_199_999_999,
    ];
    match scalar {
        Scalar::Bool => vec![Value::Bool(false), Value::Bool(true)],
        Scalar::Int2 => [0, 1, -1, i16::MIN, i16::MAX].map(Value::Int2).to_vec(),
        Scalar::Int4 => [0, 1, -1, 7, i32::MIN, i32::MAX].map(Value::Int4).to_vec(),
        Scalar::Int8 => [0, 1, -1, i64::MIN, i64::MAX].map(Value::Int8).to_vec(),
        Scalar::Float4 => [0.0, -1.5, f32::NAN, f32::MAX, f32::NEG_INFINITY]
            .map(Value::Float4)
            .to_vec(),
        Scalar::Float8 => [
            0.0,
            -0.0,
            0.5,
            f64::NAN,
            f64::MAX,
            f64::MIN_POSITIVE,
            f64::INFINITY,
        ]
        .map(Value::Float8)
        .to_vec(),
        Scalar::Numeric => numbers(scratch),
        Scalar::Text | Scalar::Varchar | Scalar::Bpchar | Scalar::Name => {
            TEXTS.iter().map(|text| Value::Text(text)).collect()
        }
        Scalar::Char => vec![Value::Char(0), Value::Char(255)],
        Scalar::Bytea => vec![Value::Bytea(b""), Value::Bytea(b"\0\xff%\\")],
        Scalar::Uuid => vec![Value::Uuid(&[255; 16])],
        Scalar::Json => ["1", "[]", "{\"a\\n\": [null, \"\\u00e9\"]}", " \"x\" "]
            .map(Value::Json)
            .to_vec(),
        Scalar::Jsonb => [
            "1",
            "[]",
            "{}",
            "{\"a\": [null, \"x\", {\"b\": 1e10}]}",
            "[[[1]], \"a\"]",
        ]
        .iter()
        .filter_map(|text| Jsonb::parse(text, scratch).ok().map(Value::Jsonb))
        .collect(),
        Scalar::Date => [0, i32::MIN, i32::MAX, -2_451_545, 2_145_031_948]
            .map(Value::Date)
            .to_vec(),
        Scalar::Time => [0, 1, 86_400_000_000].map(Value::Time).to_vec(),
        Scalar::TimeTz => vec![
            Value::TimeTz(0, 57_599),
            Value::TimeTz(86_400_000_000, -57_599),
        ],
        Scalar::Timestamp => times.map(Value::Timestamp).to_vec(),
        Scalar::TimestampTz => times.map(Value::TimestampTz).to_vec(),
        Scalar::Interval => vec![
            interval(0, 0, 0),
            interval(i32::MIN, i32::MIN, i64::MIN),
            interval(i32::MAX, i32::MAX, i64::MAX),
            interval(1, -1, 1),
            interval(0, 0, -1),
        ],
        Scalar::Oid
        | Scalar::Regclass
        | Scalar::Regtype
        | Scalar::Regproc
        | Scalar::Regnamespace
        | Scalar::Regrole => [0, 23, u32::MAX].map(Value::Oid).to_vec(),
        Scalar::Enum(_) => Vec::new(),
    }
}

/// Returns the values that a parameter may get, and the type it then has.
fn choices<'a>(parameter: Parameter, scratch: &'a Scratch) -> (Type, Vec<Value<'a>>) {
    let arrays = |scalar: Scalar| {
        let all = samples(scalar, scratch);
        let some = [&all[..1], &[], &all[..], &[Value::Null][..]];
        let arrays = some
            .iter()
            .filter_map(|values| Array::of(scalar, values, scratch).ok().map(Value::Array))
            .collect();
        (Type::Array(scalar), arrays)
    };
    match parameter {
        Parameter::Of(Type::Scalar(scalar)) => (scalar.into(), samples(scalar, scratch)),
        Parameter::Of(Type::Array(scalar)) => arrays(scalar),
        Parameter::Of(ty) => (ty, vec![types::Record::plain(&[Value::Int4(1)], scratch)]),
        Parameter::AnyArray | Parameter::AnyCompatibleArray => arrays(Scalar::Int4),
        Parameter::AnyEnum => (Type::Unknown, Vec::new()),
        _ => (Scalar::Int4.into(), samples(Scalar::Int4, scratch)),
    }
}

/// Returns every combination, with as few values of each parameter as keep their number bounded.
fn combinations<'a>(choices: &[Vec<Value<'a>>]) -> Vec<Vec<Value<'a>>> {
    const MOST: usize = 20_000;
    let mut all = vec![Vec::new()];
    for values in choices {
        let take = (MOST / all.len().max(1)).max(2);
        all = all
            .iter()
            .flat_map(|before: &Vec<Value<'a>>| {
                values.iter().take(take).map(|value| {
                    let mut next = before.clone();
                    next.push(*value);
                    next
                })
            })
            .collect();
    }
    all
}

/// A partition of one row with these arguments.
struct Single<'v, 'a>(&'v [Value<'a>]);

impl<'a> Partition<'a> for Single<'_, 'a> {
    fn rows(&self) -> usize {
        1
    }

    fn row(&self) -> usize {
        0
    }

    fn peers(&self) -> (usize, usize) {
        (0, 1)
    }

    fn groups_before(&self) -> usize {
        0
    }

    fn framed(&self, number: usize) -> Option<usize> {
        (number == 0).then_some(0)
    }

    fn frame_rows(&self) -> usize {
        1
    }

    fn argument(&self, _: usize, position: usize) -> Result<Value<'a>> {
        Ok(self.0[position])
    }

    fn arguments(&self) -> usize {
        self.0.len()
    }
}

fn exercise<'a>(context: &Context<'a>, function: &Function, values: &[Value<'a>]) -> Result<()> {
    match function.body {
        Body::Scalar(body) => body(context, values).map(drop),
        Body::Set(body) => {
            for row in body(context, values)?.take(100) {
                row?;
            }
            Ok(())
        }
        Body::Aggregate(aggregate) => {
            let direct = aggregate.direct.unwrap_or(0).min(values.len());
            let (direct, rows) = values.split_at(direct);
            let mut state = (aggregate.start)();
            for _ in 0..3 {
                (aggregate.accumulate)(context, &mut state, rows)?;
            }
            (aggregate.finish)(context, &state, direct).map(drop)
        }
        Body::Window(body) => body(&Single(values)).map(drop),
    }
}

#[test]
fn extreme_arguments_are_answered() {
    let settings = Settings {
        time_zone: TimeZone::named("Europe/Berlin").expect("a zone of the database"),
        ..Settings::default()
    };
    let patterns = Patterns::new();
    let mut calls = 0;
    for function in all_functions().chain(all_operators()) {
        if function.volatility == Volatility::Volatile {
            continue;
        }
        let scratch = Scratch::new();
        let (types, choices): (Vec<_>, Vec<_>) = function
            .parameters
            .iter()
            .map(|parameter| choices(*parameter, &scratch))
            .unzip();
        for mut values in combinations(&choices) {
            let memory = Scratch::new();
            let context = Context {
                scratch: &memory,
                settings: &settings,
                environment: &Session,
                patterns: &patterns,
                argument_types: &types,
            };
            // Functions that make a gigabyte on demand, by name.
            if matches!(
                function.name,
                "repeat" | "lpad" | "rpad" | "array_fill" | "format" | "to_char"
            ) && values
                .iter()
                .any(|value| matches!(value, Value::Int4(i32::MAX)))
            {
                continue;
            }
            calls += 1;
            let outcome = exercise(&context, function, &values);
            if let Err(error) = outcome {
                assert_ne!(
                    error.state(),
                    SqlState::INTERNAL_ERROR,
                    "{} of {values:?}: {error}",
                    function.name
                );
            }
            if !function.strict {
                values.fill(Value::Null);
                let _ = exercise(&context, function, &values);
            }
        }
    }
    assert!(calls > 50_000, "there are calls");
}
