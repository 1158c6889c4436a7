use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use super::*;

/// Returns the input of a seed, from the high bits of a linear congruential generator's states.
fn input(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut byte = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    for _ in 0..4 {
        byte();
    }
    let length = 8 + usize::from(byte());
    (0..length).map(|_| byte()).collect()
}

/// `WEFT_FUZZ_FIRST` and `WEFT_FUZZ_INPUTS` choose other inputs, and more.
#[test]
#[allow(clippy::print_stdout, reason = "a seed that has no end is found by it")]
fn edited_statements_end_in_an_answer_or_a_proper_error() {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let first = number("WEFT_FUZZ_FIRST", 0);
    let codes = Arc::new(Mutex::new(BTreeSet::new()));
    let mut found = Vec::new();
    for seed in first..first + number("WEFT_FUZZ_INPUTS", 300) {
        println!("seed {seed}");
        let codes = codes.clone();
        let observe = move |code: &str| {
            codes.lock().unwrap().insert(code.to_owned());
        };
        if let Err(message) = try_statements(&input(seed), observe) {
            let shown: String = message.chars().take(2000).collect();
            found.push(format!("seed {seed}: {shown}"));
        }
    }
    assert!(found.is_empty(), "{}\n{}", found.len(), found.join("\n"));
    // The edits get past the parser: errors of binding and of running are among the answers.
    let codes = codes.lock().unwrap();
    for code in ["42601", "42703", "42883"] {
        assert!(codes.contains(code), "{code} never came: {codes:?}");
    }
}

/// A seed that is itself refused would be a poor one. One seed is meant to be refused.
#[test]
fn the_seeds_work() {
    let refused = Arc::new(Mutex::new(Vec::new()));
    let mut expected = 0;
    for (at, seed) in seeds::SEEDS.iter().enumerate() {
        let [high, low] = u16::try_from(at).unwrap().to_be_bytes();
        let found = refused.clone();
        // The time limit is short, and machines are busy.
        let observe = move |code: &str| match code {
            "57014" => {}
            _ => found.lock().unwrap().push((code.to_owned(), *seed)),
        };
        // The input has no edits.
        try_statements(&[0, high, low, 0], observe).unwrap();
        expected += usize::from(seed.contains("$1, ?"));
    }
    let refused = refused.lock().unwrap();
    assert_eq!(refused.len(), expected, "{refused:#?}");
}
