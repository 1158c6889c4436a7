use super::*;

fn parse<'a>(text: &str, scratch: &'a Scratch) -> Numeric<'a> {
    Numeric::parse(text, scratch).unwrap()
}

#[test]
fn what_fits_is_small_and_what_does_not_is_stored_as_it_is() {
    let scratch = Scratch::new();
    for (text, is_small) in [
        ("0", true),
        ("9223372036854775807", true),
        ("-9223372036854775808", true),
        ("9223372036854775808", false),
        ("-92233720368547758.09", false),
        ("1e100", false),
    ] {
        let number = parse(text, &scratch);
        assert_eq!(number.as_small().is_some(), is_small, "{text}");
        let mut stored = Vec::new();
        number.write_stored(&mut stored);
        let back = Numeric::from_stored(&stored).unwrap();
        assert_eq!(back.as_small().is_some(), is_small, "{text}");
        assert!(back.compare(number).is_eq(), "{text}");
        assert_eq!(back.to_string(), number.to_string());
    }
}

#[test]
fn the_least_small_number_is_negated_to_a_large_one_and_back() {
    let scratch = Scratch::new();
    let least = Numeric::small(i64::MIN, 3);
    let negated = least.negate(&scratch);
    assert!(negated.as_small().is_none());
    assert_eq!(negated.to_string(), "9223372036854775.808");
    assert_eq!(negated.negate(&scratch).as_small(), Some((i64::MIN, 3)));
}

#[test]
fn limits_of_size_are_errors() {
    let scratch = Scratch::new();
    let largest = parse("9e131071", &scratch);
    assert_eq!(largest.to_string().len(), 131_072);
    for error in [
        Numeric::parse("1e131072", &scratch).unwrap_err(),
        largest.add(largest, &scratch).unwrap_err(),
        largest
            .multiply(Numeric::small(10, 0), &scratch)
            .unwrap_err(),
        Numeric::parse("1e-16384", &scratch).unwrap_err(),
    ] {
        assert_eq!(error.state(), SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
    }
    let smallest = parse("1e-16383", &scratch);
    assert_eq!(smallest.scale(), Some(SCALE_MAX));
    // The product has too many digits after the point, so that none of them is
    // left.
    let product = smallest.multiply(smallest, &scratch).unwrap();
    assert_eq!((product.signum(), product.scale()), (0, Some(SCALE_MAX)));
}

#[test]
fn roots_have_the_scale_that_is_asked_for() {
    let scratch = Scratch::new();
    for (text, scale, expected) in [
        ("2", 5, "1.41421"),
        ("2", 0, "1"),
        ("15", 1, "3.9"),
        ("0", 2, "0.00"),
    ] {
        let root = parse(text, &scratch)
            .sqrt_to_scale(scale, &scratch)
            .unwrap();
        assert_eq!(root.to_string(), expected);
    }
    assert!(parse("-1", &scratch).sqrt_to_scale(2, &scratch).is_err());
}

#[test]
fn damaged_numbers_are_errors() {
    for stored in [
        &[][..],
        &[0],
        &[0, 0, 1, 0],
        &[2, 0x40],
        &[0, 0x40, 1],
        &[0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0],
    ] {
        let error = Numeric::from_stored(stored).unwrap_err();
        assert_eq!(error.state(), SqlState::DATA_CORRUPTED, "{stored:?}");
    }
}

#[test]
fn numbers_of_about_one_size_are_ordered_whatever_their_scales() {
    let scratch = Scratch::new();
    let near = |number: i128| [number - 1, number, number + 1];
    let powers = (0..20).flat_map(|power| [10i128.pow(power), 1 << (3 * power)]);
    let numbers: Vec<_> = powers.flat_map(near).filter(|one| *one != 0).collect();
    for one in &numbers {
        for two in &numbers {
            for (of_one, of_two) in [(0, 0), (0, 3), (5, 0), (2, 7), (16, 16), (0, 17)] {
                let left = Numeric::from_i128(*one, of_one, &scratch).unwrap();
                let right = Numeric::from_i128(-*two, of_two, &scratch).unwrap();
                assert!(left.compare(right).is_gt() && right.compare(left).is_lt());
                let right = Numeric::from_i128(*two, of_two, &scratch).unwrap();
                let scale = u32::from(of_one.max(of_two));
                let aligned =
                    |number: i128, of: u16| number.checked_mul(10i128.pow(scale - u32::from(of)));
                let (Some(one), Some(two)) = (aligned(*one, of_one), aligned(*two, of_two)) else {
                    continue;
                };
                assert_eq!(left.compare(right), one.cmp(&two), "{one} {two} {scale}");
            }
        }
    }
}
