use super::*;

/// Returns the verifier of RFC 7677, section 3.
fn example() -> Verifier {
    let salt = BASE64_STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
    Verifier::derive("pencil", salt, 4096)
}

fn initial(message: &str) -> Vec<u8> {
    let mut body = b"SCRAM-SHA-256\0".to_vec();
    body.extend((message.len() as u32).to_be_bytes());
    body.extend(message.as_bytes());
    body
}

fn begun() -> Exchange {
    let first = initial("n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
    let nonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
    let (exchange, answer) = Exchange::begin_with(example(), &first, nonce).unwrap();
    assert_eq!(
        answer,
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    );
    exchange
}

const LAST: &str = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                    p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";

#[test]
fn the_example_of_the_specification() {
    assert_eq!(
        begun().finish(LAST.as_bytes()).unwrap().unwrap(),
        "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    );
}

#[test]
fn another_proof_proves_nothing() {
    let wrong = LAST.replace("p=dHzb", "p=dHzc");
    assert_eq!(begun().finish(wrong.as_bytes()).unwrap(), None);
    let first = initial("n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
    let nobody = Verifier::nobody(b"secret", "user");
    let nonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
    let (exchange, _) = Exchange::begin_with(nobody, &first, nonce).unwrap();
    assert_eq!(exchange.finish(LAST.as_bytes()).unwrap(), None);
}

#[test]
fn bytes_that_are_no_proof_are_an_error() {
    for first in [
        "",
        "n,",
        "p=tls-unique,,n=,r=x",
        "n,,r=x",
        "n,,n=",
        "n,,n=,r=",
        "n,a=b,n=,r=x",
    ] {
        assert!(
            Exchange::begin(example(), &initial(first)).is_err(),
            "{first}"
        );
    }
    assert!(Exchange::begin(example(), b"SCRAM-SHA-256-PLUS\0").is_err());
    assert!(Exchange::begin(example(), b"SCRAM-SHA-256\0\x7f\xff\xff\xff").is_err());
    let replaced = LAST.replace("r=r", "r=s");
    let bound = LAST.replace("biws", "eSws");
    let short = LAST.replace("p=dHzbZapW", "p=");
    for last in ["", "p=", "c=biws", &replaced, &bound, &short] {
        assert!(begun().finish(last.as_bytes()).is_err(), "{last}");
    }
}

/// Made by PostgreSQL 15. The second password is normalised before it is hashed: its space is
/// a no-break space.
#[test]
fn verifiers_of_postgresql_are_understood() {
    for (password, kept) in [
        (
            "pencil",
            "SCRAM-SHA-256$4096:hs7MKKUBBCYep2/fJRd42w==\
             $tAG25FpG2CgLD3ZhH4eokLg4PVYbkj2godNDCTNjSyw=\
             :2Hy3bT8few+nQqBC+PtnFgCsAE9lqbvtIFFTGgtIqfk=",
        ),
        (
            "p\u{e9}n\u{a0}cil",
            "SCRAM-SHA-256$4096:M3pf+x3f30XpFL7LSBWi9A==\
             $xs4pVnEYqTBPOw338y27+F0RoYFyM7pwiho3IpYpJ4w=\
             :4Psl2rxlnvVddMSKDs6qxuQQiIpox9gZLxFfL66WRrA=",
        ),
    ] {
        let verifier: Verifier = kept.parse().unwrap();
        let salt = verifier.salt.clone();
        assert_eq!(verifier, Verifier::derive(password, salt, 4096));
        assert_eq!(verifier.to_string(), kept);
    }
    for other in [
        "",
        "md5abc",
        "SCRAM-SHA-256$0:AA==$AA==:AA==",
        "SCRAM-SHA-256$4096:!$:",
    ] {
        assert_eq!(other.parse::<Verifier>(), Err(InvalidVerifier), "{other}");
    }
}
