//! Values compared with PostgreSQL 15's; see `postgres/regenerate.sh`.
//!
//! The files are in the text form of PostgreSQL's COPY: columns with tabs between them, `\N` for
//! NULL. Each test prints all lines that differ.

use std::{cmp::Ordering, fmt::Write as _};

use types::{
    Coercion, Context, DateOrder, IntervalFields, NoNames, Numeric, Scalar, Scratch, Settings,
    SqlError, TimeZone, Type, TypeModifier, Value, binary, compare, key, text,
};

/// Returns lines, each of them columns.
fn lines(file: &str) -> impl Iterator<Item = Vec<Option<String>>> {
    file.lines()
        .map(|line| line.split('\t').map(unescaped).collect())
}

fn unescaped(column: &str) -> Option<String> {
    if column == "\\N" {
        return None;
    }
    let mut out = String::new();
    let mut characters = column.chars();
    while let Some(character) = characters.next() {
        out.push(match character {
            '\\' => match characters.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some(escaped) => escaped,
                None => '\\',
            },
            character => character,
        });
    }
    Some(out)
}

/// Returns a type with its modifier: `character varying(3)[]`.
fn type_of(name: &str) -> (Type, TypeModifier) {
    if let Some(fields) = name.strip_prefix("interval ") {
        let (fields, digits) = match fields.split_once('(') {
            Some((fields, digits)) => (fields, digits.trim_end_matches(')').parse().ok()),
            None => (fields, None),
        };
        let fields = IntervalFields::named(fields).unwrap();
        let modifier = TypeModifier::interval(fields, digits).unwrap();
        assert_eq!(
            Type::Scalar(Scalar::Interval).format(modifier, &NoNames),
            name
        );
        return (Scalar::Interval.into(), modifier);
    }
    let (plain, arguments) = match (name.find('('), name.find(')')) {
        (Some(open), Some(close)) => {
            let arguments = name[open + 1..close]
                .split(',')
                .map(|argument| argument.parse().unwrap())
                .collect();
            (
                format!("{}{}", &name[..open], &name[close + 1..]),
                arguments,
            )
        }
        // SQL's `character` is `character(1)`.
        _ if name == "character" => (name.to_owned(), vec![1]),
        _ => (name.to_owned(), vec![]),
    };
    let ty = Type::named(&plain).unwrap();
    let scalar = ty.scalar().or(ty.element()).unwrap();
    (ty, TypeModifier::new(scalar, &arguments).unwrap())
}

fn settings(setting: &str) -> Settings {
    let mut settings = Settings::default();
    match setting.split_once('=') {
        None => {}
        Some(("TimeZone", zone)) => settings.time_zone = TimeZone::named(zone).unwrap(),
        Some(("DateStyle", style)) => {
            settings.date_order = DateOrder::default().with_style(style).unwrap();
        }
        Some((name, _)) => panic!("{name} is no setting here"),
    }
    settings
}

fn context(settings: &Settings) -> Context<'_> {
    Context {
        settings,
        names: &NoNames,
        now: 0,
    }
}

/// Returns the outside forms of a value: text and binary form, or the error.
fn outside(
    input: &str,
    (ty, modifier): (Type, TypeModifier),
    context: &Context<'_>,
) -> Result<(String, String), SqlError> {
    let scratch = Scratch::new();
    let coercion = Coercion::Explicit;
    let value = text::read_with_modifier(input, ty, modifier, coercion, context, &scratch)?;
    let (mut written, mut sent) = (Vec::new(), Vec::new());
    text::write(value, ty, context, &mut written)?;
    binary::write(value, ty, context, &mut sent)?;
    let back = binary::read(&sent, ty, context, &scratch)?;
    let mut again = Vec::new();
    text::write(back, ty, context, &mut again)?;
    assert_eq!(written, again, "what was sent is received: {input}");
    let hex = sent.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    Ok((String::from_utf8(written).unwrap(), hex))
}

#[test]
fn text_and_binary_forms_are_postgres_own() {
    let mut differences = Vec::new();
    for line in lines(include_str!("postgres/forms.tsv")) {
        let column = |index: usize| line[index].clone().unwrap_or_default();
        let (name, input, state) = (column(1), column(2), column(3));
        let settings = settings(&column(0));
        let ours = outside(&input, type_of(&name), &context(&settings));
        let same = match &ours {
            Ok((written, sent)) => state == "00000" && *written == column(7) && *sent == column(8),
            Err(error) => {
                error.state().code() == state
                    && error.message() == column(4)
                    && error.detail_text().unwrap_or_default() == column(5)
                    && error.hint_text().unwrap_or_default() == column(6)
            }
        };
        if !same {
            differences.push(format!("{:?}\n    ours: {ours:?}", line));
        }
    }
    assert!(
        differences.is_empty(),
        "{} differences\n{}",
        differences.len(),
        differences.join("\n")
    );
}

/// Returns the result of an operation, or `!` and the SQLSTATE.
fn calculate(operation: &str, one: &str, two: &str) -> String {
    calculated(operation, one, two).unwrap_or_else(|error| format!("!{}", error.state().code()))
}

fn calculated(operation: &str, one: &str, two: &str) -> Result<String, SqlError> {
    let scratch = &Scratch::new();
    let settings = Settings::default();
    let shown = |value: Value<'_>| {
        let mut out = Vec::new();
        text::write(value, Type::Unknown, &context(&settings), &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    };
    if let Some(from) = operation.strip_prefix("from ") {
        return Ok(match from {
            "real" => Numeric::from_f32(one.parse().unwrap(), scratch)?,
            _ => Numeric::from_f64(one.parse().unwrap(), scratch)?,
        }
        .to_string());
    }
    let first = Numeric::parse(one, scratch)?;
    let second = || Numeric::parse(two, scratch);
    let digits = || two.parse().unwrap();
    let result = match operation {
        "+" => first.add(second()?, scratch)?,
        "-" => first.subtract(second()?, scratch)?,
        "*" => first.multiply(second()?, scratch)?,
        "/" => first.divide(second()?, scratch)?,
        "%" => first.remainder(second()?, scratch)?,
        "div" => first.divide_truncated(second()?, scratch)?,
        "round" => first.round(digits(), scratch)?,
        "trunc" => first.truncate(digits(), scratch)?,
        "ceil" => first.ceil(scratch)?,
        "floor" => first.floor(scratch)?,
        "abs" => first.absolute(scratch),
        "trim_scale" => first.trim_scale(scratch)?,
        "sqrt" => first.sqrt(scratch)?,
        "ln" => first.ln(scratch)?,
        "log" => first.log10(scratch)?,
        "exp" => first.exp(scratch)?,
        "power" => first.power(second()?, scratch)?,
        "<=>" => return Ok((first.compare(second()?) as i8).to_string()),
        "sign" if first.is_nan() => return Ok("NaN".to_owned()),
        "sign" => return Ok(first.signum().to_string()),
        "scale" => {
            return Ok(first
                .scale()
                .map_or("\\N".to_owned(), |scale| scale.to_string()));
        }
        "bigint" => return shown(Value::Int8(first.to_i64()?)),
        "integer" => return shown(Value::Int4(first.to_i32()?)),
        "smallint" => return shown(Value::Int2(first.to_i16()?)),
        "double precision" => return shown(Value::Float8(first.to_f64())),
        "real" => return shown(Value::Float4(first.to_f32())),
        other => panic!("{other} is no operation here"),
    };
    Ok(result.to_string())
}

#[test]
fn arithmetic_of_numeric_is_postgres_own() {
    let mut differences = Vec::new();
    for line in lines(include_str!("postgres/arithmetic.tsv")) {
        let column = |index: usize| line[index].clone().unwrap_or("\\N".to_owned());
        let ours = calculate(&column(0), &column(1), &column(2));
        if ours != column(3) {
            differences.push(format!(
                "{} {} {}: {}\n    ours: {ours}",
                column(0),
                column(1),
                column(2),
                column(3)
            ));
        }
    }
    assert!(
        differences.is_empty(),
        "{} differences\n{}",
        differences.len(),
        differences.join("\n")
    );
}

#[test]
fn values_keys_and_hashes_have_postgres_order() {
    let scratch = Scratch::new();
    let settings = Settings::default();
    let mut ranked: Vec<(String, Type, Value<'_>, u32)> = Vec::new();
    for line in lines(include_str!("postgres/order.tsv")) {
        let column = |index: usize| line[index].clone().unwrap();
        let (ty, modifier) = type_of(&column(0));
        let input = scratch.alloc_str(&column(1));
        let value = text::read(input, ty, &context(&settings), &scratch).unwrap();
        let value = modifier
            .apply(value, ty, Coercion::Explicit, &scratch)
            .unwrap();
        ranked.push((column(0), ty, value, column(2).parse().unwrap()));
    }
    let mut pairs = 0;
    for (name, ty, one, one_rank) in &ranked {
        for (other_name, _, two, two_rank) in &ranked {
            if name != other_name {
                continue;
            }
            pairs += 1;
            let expected = one_rank.cmp(two_rank);
            let shown = format!("{name}: {one:?} {two:?}");
            assert_eq!(compare::compare_as(*ty, *one, *two), expected, "{shown}");
            for descending in [false, true] {
                let keys = [one, two].map(|value| {
                    let column = key::KeyColumn {
                        ty: *ty,
                        descending,
                        nulls: key::Nulls::Never,
                    };
                    let mut out = Vec::new();
                    key::write(column, *value, &mut out).unwrap();
                    out
                });
                let order = keys[0].cmp(&keys[1]);
                let order = if descending { order.reverse() } else { order };
                assert_eq!(order, expected, "{shown}");
            }
            if expected == Ordering::Equal {
                let hash = |value| compare::hash_values(&[*ty], &[value], 1);
                assert_eq!(hash(*one), hash(*two), "{shown}");
            }
        }
    }
    assert!(pairs > 1000, "only {pairs} pairs were compared");
}
