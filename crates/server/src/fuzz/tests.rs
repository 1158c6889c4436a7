//! The fuzz target on random bytes, and on some chosen ones.

use types::SqlError;

use super::*;

const INPUTS: u64 = 3000;

fn input(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    let bytes = usize::from(next());
    (0..bytes).map(|_| next()).collect()
}

#[test]
fn random_clients_do_no_harm() {
    for seed in 0..INPUTS {
        let input = input(seed);
        if std::panic::catch_unwind(|| connection(&input)).is_err() {
            panic!("input of seed {seed}");
        }
    }
}

/// Without this, the target could find nothing because it does nothing.
#[test]
fn random_clients_get_rows_errors_and_copies() {
    let mut seen = [0; 256];
    for seed in 0..INPUTS {
        let answers = answers(&compose(&input(seed)), usize::MAX, HERE);
        let mut rest = &answers[..];
        while let [tag, a, b, c, d, ..] = *rest {
            seen[usize::from(tag)] += 1;
            let length = 1 + u32::from_be_bytes([a, b, c, d]) as usize;
            rest = rest.get(length..).unwrap_or_default();
        }
    }
    for tag in *b"RSKZE123CDTtnsIG" {
        let count = seen[usize::from(tag)];
        assert!(count > 10, "too few answers {}: {count}", tag as char);
    }
}

/// A check that accepts everything would be useless.
#[test]
#[should_panic(expected = "after an error")]
fn an_answer_that_should_not_be_there_is_found() {
    let mut output = crate::protocol::Output::default();
    output.error(crate::Severity::Error, &SqlError::unsupported("this"));
    output.parse_complete();
    check(output.unsent());
}

/// A user without a password is trusted on the machine itself, and nowhere
/// else.
#[test]
fn strangers_have_to_prove_who_they_are() {
    let startup = compose(&[1]);
    let tag = |peer: &str| {
        let answers = answers(&startup, usize::MAX, peer.parse().unwrap());
        // The message of authentication that comes first, by its number.
        (answers[0], answers[8])
    };
    for here in ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"] {
        assert_eq!(tag(here), (b'R', 0), "{here}");
    }
    for elsewhere in ["10.0.0.1", "128.0.0.1", "::2", "::ffff:10.0.0.1"] {
        assert_eq!(tag(elsewhere), (b'R', 10), "{elsewhere}");
    }
}
