//! The forms that are read, and the places of errors.

use super::{Assigned, Command, Level, Modes, Scope};
use crate::split;

fn read(text: &str) -> Command {
    let sources = split(text).unwrap();
    sources[0].command().unwrap().unwrap()
}

fn error(text: &str) -> (String, Option<u32>) {
    let sources = split(text).unwrap();
    let error = sources[0].command().unwrap_err();
    (error.message().to_owned(), error.position())
}

fn set(name: &str, scope: Scope, values: &[&str]) -> Command {
    Command::Set {
        name: name.to_owned(),
        scope,
        value: Assigned::Values(values.iter().map(|value| (*value).to_owned()).collect()),
    }
}

#[test]
fn modes_may_have_commas_between_them() {
    let expected = Modes {
        level: Some(Level::Serializable),
        read_only: Some(true),
        deferrable: Some(false),
    };
    for text in [
        "set transaction isolation level serializable, read only, not deferrable",
        "set transaction isolation level serializable read only not deferrable",
    ] {
        assert_eq!(read(text), Command::SetTransaction(expected));
    }
    assert_eq!(
        error("begin read only,"),
        ("syntax error at end of input".to_owned(), Some(17))
    );
}

/// SET TRANSACTION may name a scope, which changes nothing. SESSION was once taken for that of a
/// setting called `transaction`.
#[test]
fn set_transaction_may_name_a_scope() {
    for scope in ["", "local", "session"] {
        let expected = Modes {
            read_only: Some(true),
            ..Modes::default()
        };
        let text = format!("set {scope} transaction read only");
        assert_eq!(read(&text), Command::SetTransaction(expected));
        let (message, position) = error(&format!("set {scope} transaction snapshot 'a'"));
        assert!(
            message.ends_with("TRANSACTION SNAPSHOT is not supported"),
            "{message}"
        );
        assert_eq!(position, Some(1));
    }
}

#[test]
fn settings_are_set_to_words_numbers_and_strings() {
    assert_eq!(
        read("set local a.b to 'x y', Off, -1.5"),
        set("a.b", Scope::Local, &["x y", "off", "-1.5"])
    );
    assert_eq!(
        read("set session time zone 'UTC'"),
        set("TimeZone", Scope::Session, &["UTC"])
    );
    assert_eq!(read("set role \"X\""), set("role", Scope::Session, &["X"]));
    assert_eq!(read("set role = x"), set("role", Scope::Session, &["x"]));
    assert_eq!(
        read("set session authorization x"),
        set("session_authorization", Scope::Session, &["x"])
    );
    assert_eq!(
        error("set a 1"),
        ("syntax error at or near \"1\"".to_owned(), Some(7))
    );
}
