//! Values of settings, and how long they last.

use super::{
    Values,
    known::{DEFINITIONS, Definition, REPORTED},
};
use syntax::command::Scope;

fn shown(name: &str, value: &str) -> String {
    let read = Definition::expect(name).unwrap().read(value);
    match read {
        Ok(read) => read.shown,
        Err(error) => error.message().to_owned(),
    }
}

#[test]
fn each_is_found_by_its_name_and_has_a_default_that_it_can_have() {
    for definition in DEFINITIONS {
        let upper = definition.name.to_uppercase();
        let found = Definition::expect(&upper).unwrap();
        assert_eq!(found.name, definition.name);
        assert_eq!(
            shown(definition.name, definition.default),
            definition.default
        );
    }
    for name in REPORTED {
        assert_eq!(Definition::expect(name).unwrap().name, *name);
    }
}

#[test]
fn numbers_have_units_and_bounds() {
    assert_eq!(shown("statement_timeout", "1.5s"), "1500ms");
    assert_eq!(shown("statement_timeout", "90 min"), "90min");
    assert_eq!(shown("statement_timeout", "3600000"), "1h");
    assert_eq!(shown("work_mem", "8192"), "8MB");
    assert_eq!(shown("effective_cache_size", "1GB"), "1GB");
    assert_eq!(
        shown("statement_timeout", "-1"),
        "-1 ms is outside the valid range for parameter \"statement_timeout\" (0 .. 2147483647)"
    );
    assert_eq!(
        shown("work_mem", "1 h"),
        "invalid value for parameter \"work_mem\": \"1 h\""
    );
}

#[test]
fn words_are_taken_in_any_case_and_cut_off_where_they_are_clear() {
    assert_eq!(shown("default_transaction_read_only", "TR"), "on");
    assert_eq!(
        shown("default_transaction_read_only", "o"),
        "parameter \"default_transaction_read_only\" requires a Boolean value"
    );
    assert_eq!(shown("synchronous_commit", "no"), "off");
    assert_eq!(shown("client_min_messages", "WARNING"), "warning");
    assert_eq!(
        shown("bytea_output", "escape"),
        "bytea_output = escape is not supported"
    );
}

#[test]
fn a_value_of_the_transaction_goes_before_that_of_the_session_until_it_ends() {
    let definition = Definition::expect("work_mem").unwrap();
    let mut values = Values::default();
    let before = values.clone();
    let put = |values: &mut Values, scope, value: &str| {
        values.put("work_mem".to_owned(), scope, Some(value.to_owned()), "4MB");
    };
    put(&mut values, Scope::Session, "1MB");
    put(&mut values, Scope::Local, "2MB");
    let get = |values: &Values| values.get(definition, "work_mem").unwrap();
    assert_eq!(get(&values), "2MB");
    assert_eq!(values.differences(&before), ["work_mem"]);
    assert_eq!(values.end_transaction(), ["work_mem"]);
    assert_eq!(get(&values), "1MB");
    assert_eq!(get(&before), "4MB");
    put(&mut values, Scope::Local, "2MB");
    put(&mut values, Scope::Session, "3MB");
    assert_eq!(get(&values), "3MB");
}
