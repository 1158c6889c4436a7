use super::*;
use crate::SqlState;

fn text(json: Jsonb<'_>) -> String {
    let mut out = Vec::new();
    json.write_text(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn keys_are_found_and_elements_reached_without_reading_the_others() {
    let scratch = Scratch::new();
    let json = Jsonb::parse(
        "{\"bb\": [10, \"x\", null], \"a\": {\"deep\": true}, \"ccc\": 1.50, \"a\": 7}",
        &scratch,
    )
    .unwrap();
    let JsonbView::Object(object) = json.view().unwrap() else {
        panic!("it is an object");
    };
    assert_eq!(object.len(), 3);
    assert_eq!(text(object.get("a").unwrap().unwrap()), "7");
    assert_eq!(text(object.get("ccc").unwrap().unwrap()), "1.50");
    assert!(object.get("b").unwrap().is_none());
    let JsonbView::Array(array) = object.get("bb").unwrap().unwrap().view().unwrap() else {
        panic!("it is an array");
    };
    assert_eq!(text(array.get(1).unwrap().unwrap()), "\"x\"");
    assert!(array.get(3).unwrap().is_none());
}

#[test]
fn builders_make_what_parsing_makes() {
    let scratch = Scratch::new();
    let mut builder = JsonbBuilder::new(&scratch);
    builder.begin_object().unwrap();
    builder.key("list");
    builder.begin_array().unwrap();
    builder.number(Numeric::small(5, 1));
    builder.value(Jsonb::parse("{\"k\": [true]}", &scratch).unwrap());
    builder.end().unwrap();
    builder.key("a");
    builder.null();
    builder.end().unwrap();
    let built = builder.finish().unwrap();
    let parsed = Jsonb::parse("{\"a\": null, \"list\": [0.5, {\"k\": [true]}]}", &scratch).unwrap();
    assert_eq!(built.as_stored(), parsed.as_stored());
    built.check().unwrap();
}

#[test]
fn incomplete_builders_are_errors() {
    let scratch = Scratch::new();
    let mut builder = JsonbBuilder::new(&scratch);
    assert!(builder.end().is_err());
    builder.begin_array().unwrap();
    assert_eq!(
        builder.finish().unwrap_err().state(),
        SqlState::INTERNAL_ERROR
    );
}

#[test]
fn nesting_is_limited() {
    let scratch = Scratch::new();
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let deepest = Jsonb::parse(&nested(DEPTH_MAX), &scratch).unwrap();
    deepest.check().unwrap();
    assert_eq!(text(deepest), nested(DEPTH_MAX));
    let error = Jsonb::parse(&nested(DEPTH_MAX + 1), &scratch).unwrap_err();
    assert_eq!(error.state(), SqlState::STATEMENT_TOO_COMPLEX);
    assert!(crate::json::check(&nested(DEPTH_MAX + 1)).is_err());
}

#[test]
fn damaged_documents_are_errors() {
    let scratch = Scratch::new();
    let json = Jsonb::parse("{\"a\": [1, \"é\"], \"b\": {\"c\": null}}", &scratch).unwrap();
    let stored = json.as_stored();
    for length in 0..stored.len() {
        let cut = Jsonb::from_stored(&stored[..length]).and_then(Jsonb::check);
        assert_eq!(cut.unwrap_err().state(), SqlState::DATA_CORRUPTED);
    }
}

/// Bytes whose only content is that they contain each other, deeper than any
/// stack.
#[test]
fn damage_that_nests_without_end_exhausts_no_stack() {
    let mut stored = vec![NULL];
    for _ in 0..200_000 {
        let mut outer = vec![ARRAY];
        outer.extend_from_slice(&1u32.to_le_bytes());
        outer.extend_from_slice(&(stored.len() as u32).to_le_bytes());
        // Built from the inside, and turned at the end.
        outer.reverse();
        stored.extend_from_slice(&outer);
    }
    stored.reverse();
    let json = Jsonb::from_stored(&stored).unwrap();
    assert!(json.check().is_err());
    assert!(json.write_text(&mut Vec::new()).is_err());
    assert!(json.compare(json).is_eq());
    let value = crate::Value::Jsonb(json);
    crate::compare::hash_values(&[crate::Scalar::Jsonb.into()], &[value], 1);
}
