use std::hash::{BuildHasher, RandomState};

use super::{Fingerprint, FingerprintKind};
use crate::split;

/// Returns whether two statements have one fingerprint of a kind, for a map.
fn are_one(first: &str, second: &str, kind: FingerprintKind) -> bool {
    let (first, second) = (split(first).unwrap(), split(second).unwrap());
    let (first, second) = (
        Fingerprint::of(&first[0], kind),
        Fingerprint::of(&second[0], kind),
    );
    let is_one = first.to_owned_fingerprint() == second;
    assert_eq!(is_one, second.to_owned_fingerprint() == first);
    let hasher = RandomState::new();
    assert!(!is_one || hasher.hash_one(first) == hasher.hash_one(second));
    is_one
}

#[test]
fn literals_alone_differ_under_a_normalised_fingerprint() {
    for (first, second) in [
        ("select a from t where b = 1", "SELECT 1"),
        (
            r"select 1 where x = E'a\' or x = E\'c'",
            "select 1 where x = E'a' or x = E'c'",
        ),
        (r#"select "a"" , ""b" from t"#, r#"select "a" , "b" from t"#),
        ("select 1", "select 3000000000"),
        ("select 1", "select 1.5"),
        ("select 1", "select '1'"),
        ("select x'10'", "select b'10'"),
        ("select $$a$$", "select $q$a$q$"),
        ("select a", "select \"a\""),
        ("select $1", "select $2"),
    ] {
        assert!(
            !are_one(first, second, FingerprintKind::Normalised),
            "{first} {second}"
        );
        assert!(
            !are_one(first, second, FingerprintKind::Exact),
            "{first} {second}"
        );
    }
    for (first, second) in [
        ("select 1, 'a'", "select 2, 'it''s'"),
        ("select 1.5", "select 1e400"),
        (
            "insert into t values (1, 'x')",
            "insert into t values (2, '')",
        ),
    ] {
        assert!(
            are_one(first, second, FingerprintKind::Normalised),
            "{first} {second}"
        );
        assert!(
            !are_one(first, second, FingerprintKind::Exact),
            "{first} {second}"
        );
    }
    // What is between tokens means nothing.
    let spaced = "select/* x */1 -- y\n,\t'a'";
    assert!(are_one("select 1, 'a'", spaced, FingerprintKind::Exact));
}

#[test]
fn literals_are_in_the_order_of_their_parameters() {
    let sources = split("select 'a', 1 from t where b > 2.5 and c = 'it''s'").unwrap();
    let literals = sources[0].literals();
    let texts: Vec<&str> = literals.iter().map(|literal| &*literal.text).collect();
    assert_eq!(texts, ["a", "1", "2.5", "it's"]);
    let tokens = sources[0].without_literals();
    let text: Vec<String> = tokens.iter().map(|token| token.token.to_string()).collect();
    assert_eq!(
        text.join(" "),
        "select $1 , $2 from t where b > $3 and c = $4"
    );
}
