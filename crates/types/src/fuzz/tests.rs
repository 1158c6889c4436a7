use super::*;

/// Returns bytes from a seed: the high bits of the states of a linear congruential generator.
fn input(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut byte = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    for _ in 0..4 {
        byte();
    }
    let length = usize::from(byte()) * 2;
    (0..length).map(|_| byte()).collect()
}

#[test]
fn random_values_find_nothing() {
    for seed in 0..5_000 {
        if std::panic::catch_unwind(|| run(&input(seed))).is_err() {
            panic!("input of seed {seed}");
        }
    }
}

/// A wrong order, which ignores differences between texts, is found, so the checks are
/// effective.
#[test]
fn a_wrong_order_is_found() {
    let wrong = std::panic::catch_unwind(|| {
        let scratch = Scratch::new();
        check_order(
            Value::Text("a"),
            Value::Text("a "),
            Type::Scalar(Scalar::Int4),
            &scratch,
        );
    });
    assert!(wrong.is_err(), "text is no integer");
    let wrong = std::panic::catch_unwind(|| {
        assert_same(
            Value::Int4(1),
            Value::Int4(2),
            Type::Scalar(Scalar::Int4),
            "a planted bug",
        );
    });
    assert!(wrong.is_err(), "1 is not 2");
}
