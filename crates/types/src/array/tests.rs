use super::*;
use crate::Scratch;

#[test]
fn subscripts_count_from_the_lower_bounds() {
    let scratch = Scratch::new();
    let values: Vec<_> = (0..6).map(Value::Int4).collect();
    let dimensions = [
        Dimension {
            length: 2,
            lower: -1,
        },
        Dimension {
            length: 3,
            lower: 5,
        },
    ];
    let array = Array::build(Scalar::Int4, &dimensions, &values, &scratch).unwrap();
    assert!(matches!(array.at(&[-1, 5]), Ok(Some(Value::Int4(0)))));
    assert!(matches!(array.at(&[0, 6]), Ok(Some(Value::Int4(4)))));
    for outside in [&[1, 5][..], &[0, 8], &[0, 4], &[0], &[]] {
        assert!(matches!(array.at(outside), Ok(None)), "{outside:?}");
    }
    assert_eq!(array.dimensions().collect::<Vec<_>>(), dimensions);
    assert!(array.get(6).is_err());
}

#[test]
fn values_must_be_as_many_as_the_dimensions_say_and_of_the_type() {
    let scratch = Scratch::new();
    let dimension = Dimension {
        length: 2,
        lower: 1,
    };
    let build = |values: &[Value<'_>], dimensions: &[Dimension]| {
        Array::build(Scalar::Int4, dimensions, values, &scratch)
            .unwrap_err()
            .state()
    };
    let one = Value::Int4(1);
    assert_eq!(build(&[one], &[dimension]), SqlState::INTERNAL_ERROR);
    assert_eq!(
        build(&[one, Value::Bool(true)], &[dimension]),
        SqlState::INTERNAL_ERROR
    );
    assert_eq!(
        build(&[one], &[dimension; 7]),
        SqlState::PROGRAM_LIMIT_EXCEEDED
    );
    let huge = Dimension {
        length: u32::MAX,
        lower: 1,
    };
    assert_eq!(build(&[one], &[huge; 2]), SqlState::PROGRAM_LIMIT_EXCEEDED);
}

/// An earlier version wrote `array[a, a, ...]` of a large value wholly before it asked the
/// statement for memory.
#[test]
fn an_array_is_no_larger_than_what_is_asked_for() {
    let memory = crate::Memory::new(&crate::Allowance::unlimited(), 4 << 20);
    let scratch = Scratch::new();
    scratch.charge_to(&memory);
    let large = "x".repeat(1 << 20);
    let values = [Value::Text(&large); 100];
    let error = Array::of(Scalar::Text, &values, &scratch).unwrap_err();
    assert_eq!(error.state(), SqlState::OUT_OF_MEMORY);
    assert!(scratch.allocated_bytes() < 16 << 20);
    assert!(Array::of(Scalar::Text, &values[..1], &Scratch::new()).is_ok());
}

#[test]
fn damaged_arrays_are_errors() {
    let scratch = Scratch::new();
    let values = [Value::Text("ab"), Value::Null, Value::Text("c")];
    let array = Array::of(Scalar::Text, &values, &scratch).unwrap();
    let stored = array.as_stored();
    for length in 0..stored.len() {
        let error = Array::from_stored(&stored[..length]).unwrap_err();
        assert_eq!(error.state(), SqlState::DATA_CORRUPTED);
    }
    let mut damaged = stored.to_vec();
    // An end before its beginning.
    let last = damaged.len() - 3 - 4;
    damaged[last - 4..last].copy_from_slice(&9u32.to_le_bytes());
    let array = Array::from_stored(&damaged).unwrap();
    assert!(array.get(1).is_ok(), "it is NULL");
    assert_eq!(array.get(2).unwrap_err().state(), SqlState::DATA_CORRUPTED);
}
