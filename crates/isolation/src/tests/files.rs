//! Histories survive being written and read.

use super::t;
use crate::history::{FORMAT, FileError, Header, read, write};

#[test]
fn what_was_written_is_read() {
    let history = vec![
        t(1).append(1, 11)
            .append_onto(2, &[], 12)
            .insert(3, 13)
            .aborted(),
        t(2).list(1, &[11]).register(3, 13).absent(4).unknown(),
        t(3).scan(0, 10, &[(3, 13)])
            .delete(3)
            .write(4, 31)
            .duplicate(5, 3),
    ];
    let header = Header {
        format: FORMAT,
        made_by: "a test".to_owned(),
        level: Some("snapshot".to_owned()),
    };
    let mut bytes = Vec::new();
    write(&mut bytes, &header, &history).unwrap();
    let (found, transactions) = read(&bytes[..]).unwrap();
    assert_eq!((found, transactions), (header, history));
}

#[test]
fn what_is_not_understood_is_named() {
    assert!(matches!(read(&b""[..]), Err(FileError::Empty)));
    let later = read(&b"{\"weft-history\":2}\n"[..])
        .unwrap_err()
        .to_string();
    assert!(later.contains("format 2"), "{later}");
    let broken = read(&b"{\"weft-history\":1}\n\n{\"number\":\n"[..]).unwrap_err();
    assert!(broken.to_string().contains("line 3"), "{broken}");
}
