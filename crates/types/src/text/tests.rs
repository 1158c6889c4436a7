use super::*;
use crate::{EnumId, Names, Settings};
use std::borrow::Cow;

/// A catalog with an enum `mood` and a table `people`.
struct Catalog;

const MOOD: EnumId = EnumId(20_000);
const PEOPLE: u32 = 20_010;

impl Names for Catalog {
    fn enum_name(&self, id: EnumId) -> Option<&str> {
        (id == MOOD).then_some("mood")
    }

    fn enum_label(&self, id: EnumId, position: u32) -> Option<&str> {
        (id == MOOD).then(|| ["sad", "happy"].get(position as usize).copied())?
    }

    fn enum_position(&self, id: EnumId, label: &str) -> Option<u32> {
        let position = ["sad", "happy"].iter().position(|known| *known == label)?;
        (id == MOOD).then_some(position as u32)
    }

    fn relation_name(&self, oid: u32) -> Option<Cow<'_, str>> {
        (oid == PEOPLE).then_some("people".into())
    }

    fn relation_named(&self, name: &str) -> Option<u32> {
        (name == "people").then_some(PEOPLE)
    }
}

fn with<R>(test: impl FnOnce(&Context<'_>, &Scratch) -> R) -> R {
    let settings = Settings {
        time_zone: crate::TimeZone::named("Europe/Berlin").unwrap(),
        ..Settings::default()
    };
    let context = Context {
        settings: &settings,
        names: &Catalog,
        // 2024-06-30 22:30:15 UTC, when it is July in Berlin.
        now: (crate::datetime::days_from_civil(2024, 7, 1) * 86_400 - 5385) * 1_000_000,
    };
    test(&context, &Scratch::new())
}

fn again(input: &str, scalar: Scalar) -> Result<String> {
    with(|context, scratch| {
        let value = read(input, scalar.into(), context, scratch)?;
        let mut out = Vec::new();
        write(value, scalar.into(), context, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    })
}

#[test]
fn the_clock_says_when_now_is() {
    let now = |input, scalar| again(input, scalar).unwrap();
    assert_eq!(now("now", Scalar::TimestampTz), "2024-07-01 00:30:15+02");
    assert_eq!(now("now", Scalar::Timestamp), "2024-07-01 00:30:15");
    assert_eq!(now("NOW", Scalar::Date), "2024-07-01");
    assert_eq!(now("now", Scalar::Time), "00:30:15");
    assert_eq!(now("today", Scalar::TimestampTz), "2024-07-01 00:00:00+02");
    assert_eq!(now("yesterday", Scalar::Date), "2024-06-30");
    assert_eq!(
        now("tomorrow 10:30", Scalar::Timestamp),
        "2024-07-02 10:30:00"
    );
}

#[test]
fn names_are_the_catalogs() {
    let mood = Scalar::Enum(MOOD);
    assert_eq!(again("happy", mood).unwrap(), "happy");
    let error = again("angry", mood).unwrap_err();
    assert_eq!(error.state(), SqlState::INVALID_TEXT_REPRESENTATION);
    assert_eq!(
        error.message(),
        "invalid input value for enum mood: \"angry\""
    );
    assert_eq!(again("people", Scalar::Regclass).unwrap(), "people");
    assert_eq!(again("20010", Scalar::Regclass).unwrap(), "people");
    assert_eq!(again("17", Scalar::Regclass).unwrap(), "17");
    let error = again("nobody", Scalar::Regclass).unwrap_err();
    assert_eq!(error.state(), SqlState::UNDEFINED_TABLE);
}

#[test]
fn rows_are_written_with_quotes_where_needed() {
    with(|context, scratch| {
        let inner = [Value::Int4(1), Value::Null];
        let array = crate::Array::of(Scalar::Int4, &inner, scratch).unwrap();
        let row = [
            Value::Int4(1),
            Value::Null,
            Value::Text("a b"),
            Value::Text(""),
            Value::Text("say \"hi\"\\"),
            Value::Array(array),
            crate::Record::plain(&inner, scratch),
        ];
        let text = to_text(
            crate::Record::plain(&row, scratch),
            Type::Record,
            context,
            scratch,
        )
        .unwrap();
        assert_eq!(
            text,
            "(1,,\"a b\",\"\",\"say \"\"hi\"\"\\\\\",\"{1,NULL}\",\"(1,)\")"
        );
    });
}

#[test]
fn casts_to_text_say_truth_in_words() {
    with(|context, scratch| {
        let shown = to_text(Value::Bool(true), Scalar::Bool.into(), context, scratch);
        assert_eq!(shown.unwrap(), "true");
    });
}

#[test]
fn assignments_of_text_mind_the_modifier() {
    with(|context, scratch| {
        let modifier = TypeModifier::new(Scalar::Varchar, &[2]).unwrap();
        let ty = Scalar::Varchar.into();
        let error = read_with_modifier("abc", ty, modifier, Coercion::Assignment, context, scratch)
            .unwrap_err();
        assert_eq!(error.state(), SqlState::STRING_DATA_RIGHT_TRUNCATION);
    });
}
