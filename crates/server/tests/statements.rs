//! Statements over a socket: simple queries, the extended protocol, pipelines, portals.

#![allow(dead_code, reason = "the common files are shared by several tests")]

#[path = "common/backend.rs"]
mod backend;
#[path = "common/client.rs"]
mod client;

use client::*;
use server::Config;

fn served(test: impl FnOnce(&mut Client)) {
    let running = backend::start(2, Config::default(), &[]);
    test(&mut Client::connect(running.server.addresses()[0]));
    assert_eq!(running.server.stop(std::time::Duration::from_secs(30)), 0);
}

const ROW: &str = "columns ?column?:23:0";
const FAILURE: &str = "ERROR 23505 it failed | D All of it. | H Do not. | P 3 | t yarn | c colour \
                       | n yarn_pkey";
const ABORTED: &str = "ERROR 25P02 current transaction is aborted, commands ignored until end of \
                       transaction block";

#[test]
fn several_statements_in_one_text() {
    served(|client| {
        assert_eq!(
            client.query("select 1; rows 2; begin"),
            [
                ROW, "row 1", "SELECT 1", ROW, "row 1", "row 2", "SELECT 2", "BEGIN", "ready T"
            ]
        );
        assert_eq!(client.query("commit"), ["COMMIT", "ready I"]);
        assert_eq!(client.query(" ; "), ["empty", "ready I"]);
    });
}

#[test]
fn an_error_ends_the_text_and_the_transaction() {
    served(|client| {
        assert_eq!(
            client.query("select 1; fail; select 2"),
            [ROW, "row 1", "SELECT 1", FAILURE, "ready I"]
        );
        assert_eq!(client.query("begin; fail"), ["BEGIN", FAILURE, "ready E"]);
        assert_eq!(client.query("select 1"), [ROW, ABORTED, "ready E"]);
        assert_eq!(client.query("commit"), ["ROLLBACK", "ready I"]);
        assert_eq!(
            client.query("WOOL"),
            [
                "ERROR 42601 syntax error at or near \"WOOL\" | P 1",
                "ready I"
            ]
        );
    });
}

#[test]
fn an_error_in_a_row_leaves_nothing_of_it() {
    served(|client| {
        assert_eq!(
            client.query("break"),
            [ROW, "ERROR 22012 division by zero", "ready I"]
        );
        assert_eq!(client.query("select 1").len(), 4);
    });
}

#[test]
fn notices_and_settings_come_beside_results() {
    served(|client| {
        assert_eq!(
            client.query("notice"),
            [
                "WARNING 01000 it is getting late",
                "set application_name=noticed",
                "NOTICE",
                "ready I"
            ]
        );
    });
}

#[test]
fn a_statement_is_prepared_once_and_run_often() {
    served(|client| {
        let answers = client.ask(&[parse("echo", "echo 2"), describe(b'S', "echo"), sync()]);
        assert_eq!(
            answers,
            [
                "parsed",
                "parameters [25, 25]",
                "columns echo:25:0 echo:25:0",
                "ready I"
            ]
        );
        for parameter in ["a", "b"] {
            let answers = client.ask(&[
                bind("", "echo", &[Some(parameter), None]),
                execute("", 0),
                sync(),
            ]);
            assert_eq!(
                answers,
                [
                    "bound",
                    &format!("row {parameter} NULL"),
                    "SELECT 1",
                    "ready I"
                ]
            );
        }
        let again = client.ask(&[parse("echo", "select 1"), sync()]);
        assert_eq!(
            again,
            [
                "ERROR 42P05 prepared statement \"echo\" already exists",
                "ready I"
            ]
        );
        let closed = client.ask(&[close(b'S', "echo"), close(b'S', "none"), sync()]);
        assert_eq!(closed, ["closed", "closed", "ready I"]);
        let gone = client.ask(&[bind("", "echo", &[]), sync()]);
        assert_eq!(
            gone,
            [
                "ERROR 26000 prepared statement \"echo\" does not exist",
                "ready I"
            ]
        );
    });
}

#[test]
fn columns_come_in_the_form_that_was_asked_for() {
    served(|client| {
        let answers = client.ask(&[
            parse("", "select 258"),
            bind_as("", "", &[], &[1]),
            describe(b'P', ""),
            execute("", 0),
            sync(),
        ]);
        assert_eq!(
            answers,
            [
                "parsed",
                "bound",
                "columns ?column?:23:1",
                "row \\x00\\x00\\x01\\x02",
                "SELECT 1",
                "ready I"
            ]
        );
        let mixed = client.ask(&[
            parse("", "echo 2"),
            bind_as("", "", &[None, None], &[0, 1]),
            describe(b'P', ""),
            sync(),
        ]);
        assert_eq!(mixed[2], "columns echo:25:0 echo:25:1");
        for (formats, message) in [
            (
                &[0, 1, 0][..],
                "ERROR 08P01 bind message has 3 result formats but query has 2 columns",
            ),
            (&[2], "ERROR 22023 unsupported format code: 2"),
        ] {
            let answers = client.ask(&[bind_as("", "", &[None, None], formats), sync()]);
            assert_eq!(answers, [message, "ready I"]);
        }
    });
}

#[test]
fn wrong_numbers_of_parameters_are_refused() {
    served(|client| {
        let answers = client.ask(&[parse("s", "echo 2"), bind("", "s", &[None]), sync()]);
        assert_eq!(
            answers[1],
            "ERROR 08P01 bind message supplies 1 parameters, but prepared statement \"s\" requires 2"
        );
    });
}

#[test]
fn after_an_error_everything_up_to_the_sync_is_skipped() {
    served(|client| {
        let answers = client.ask(&[
            parse("", "fail"),
            bind("", "", &[]),
            execute("", 0),
            parse("later", "select 1"),
            query("select 3"),
            flush(),
            sync(),
        ]);
        assert_eq!(answers, ["parsed", "bound", FAILURE, "ready I"]);
        let later = client.ask(&[bind("", "later", &[]), sync()]);
        assert_eq!(
            later,
            [
                "ERROR 26000 prepared statement \"later\" does not exist",
                "ready I"
            ]
        );
    });
}

#[test]
fn a_pipeline_has_several_syncs() {
    served(|client| {
        let one = |text| [parse("", text), bind("", "", &[]), execute("", 0), sync()];
        client.send(&one("select 1"));
        client.send(&one("fail"));
        client.send(&one("select 2"));
        assert_eq!(client.until_ready()[2..], ["row 1", "SELECT 1", "ready I"]);
        assert_eq!(client.until_ready()[2..], [FAILURE, "ready I"]);
        assert_eq!(client.until_ready()[2..], ["row 2", "SELECT 1", "ready I"]);
    });
}

#[test]
fn a_flush_brings_what_there_is() {
    served(|client| {
        client.send(&[parse("", "select 1"), flush()]);
        assert_eq!(client.next(), "parsed");
        assert_eq!(client.ask(&[sync()]), ["ready I"]);
    });
}

#[test]
fn a_portal_is_run_bit_by_bit() {
    served(|client| {
        let begun = client.ask(&[
            parse("", "begin"),
            bind("", "", &[]),
            execute("", 0),
            parse("", "rows 5"),
            bind("p", "", &[]),
            execute("p", 2),
            sync(),
        ]);
        assert_eq!(begun[5..], ["row 1", "row 2", "suspended", "ready T"]);
        let twice = client.ask(&[bind("p", "", &[]), sync()]);
        assert_eq!(
            twice,
            ["ERROR 42P03 cursor \"p\" already exists", "ready E"]
        );
        // The transaction has failed, but the portal is still there, and says so.
        let on = client.ask(&[execute("p", 2), sync()]);
        assert_eq!(on, [ABORTED, "ready E"]);
        assert_eq!(client.query("rollback"), ["ROLLBACK", "ready I"]);
        let gone = client.ask(&[execute("p", 2), sync()]);
        assert_eq!(gone, ["ERROR 34000 portal \"p\" does not exist", "ready I"]);
    });
}

#[test]
fn a_portal_runs_to_its_end() {
    served(|client| {
        client.query("begin");
        let bound = client.ask(&[parse("", "rows 5"), bind("p", "", &[]), sync()]);
        assert_eq!(bound, ["parsed", "bound", "ready T"]);
        let run = |client: &mut Client| client.ask(&[execute("p", 2), sync()]);
        assert_eq!(run(client), ["row 1", "row 2", "suspended", "ready T"]);
        assert_eq!(run(client), ["row 3", "row 4", "suspended", "ready T"]);
        assert_eq!(run(client), ["row 5", "SELECT 1", "ready T"]);
        assert_eq!(run(client), ["SELECT 0", "ready T"]);
        let closed = client.ask(&[close(b'P', "p"), describe(b'P', "p"), sync()]);
        assert_eq!(
            closed,
            [
                "closed",
                "ERROR 34000 portal \"p\" does not exist",
                "ready E"
            ]
        );
    });
}

#[test]
fn portals_end_with_their_transaction() {
    served(|client| {
        let answers = client.ask(&[
            parse("", "rows 2"),
            bind("p", "", &[]),
            parse("", "begin"),
            bind("", "", &[]),
            execute("", 0),
            parse("", "commit"),
            bind("", "", &[]),
            execute("", 0),
            execute("p", 0),
            sync(),
        ]);
        assert_eq!(answers[8], "ERROR 34000 portal \"p\" does not exist");
        let bound = client.ask(&[parse("", "rows 2"), bind("p", "", &[]), sync()]);
        assert_eq!(bound, ["parsed", "bound", "ready I"]);
        let gone = client.ask(&[execute("p", 0), sync()]);
        assert_eq!(gone, ["ERROR 34000 portal \"p\" does not exist", "ready I"]);
    });
}

#[test]
fn statements_without_a_result_say_so() {
    served(|client| {
        let answers = client.ask(&[
            parse("", "begin"),
            describe(b'S', ""),
            bind("", "", &[]),
            describe(b'P', ""),
            parse("", ""),
            bind("", "", &[]),
            execute("", 0),
            sync(),
        ]);
        assert_eq!(
            answers,
            [
                "parsed",
                "parameters []",
                "no data",
                "bound",
                "no data",
                "parsed",
                "bound",
                "empty",
                "ready I"
            ]
        );
        // A simple query takes the unnamed statement away.
        client.query("select 1");
        let answers = client.ask(&[bind("", "", &[]), sync()]);
        assert_eq!(
            answers,
            [
                "ERROR 26000 unnamed prepared statement does not exist",
                "ready I"
            ]
        );
    });
}

#[test]
fn messages_that_are_malformed_do_no_harm() {
    served(|client| {
        // A Parse whose parameter types are missing; then a query that is not UTF-8.
        client.send_bytes(b"P\0\0\0\x0b\0rows\0\0S\0\0\0\x04");
        assert_eq!(
            client.until_ready(),
            ["ERROR 08P01 insufficient data left in message", "ready I"]
        );
        client.send_bytes(b"Q\0\0\0\x08\xc3\x28a\0");
        assert_eq!(
            client.until_ready(),
            [
                "ERROR 22021 invalid byte sequence for encoding \"UTF8\": 0xc3 0x28",
                "ready I"
            ]
        );
        client.send_bytes(b"F\0\0\0\x04");
        assert_eq!(
            client.until_ready(),
            [
                "ERROR 0A000 the function call protocol is not supported",
                "ready I"
            ]
        );
        // A body that is longer than its contents.
        client.send_bytes(b"S\0\0\0\x05x");
        assert_eq!(
            client.until_ready(),
            ["ERROR 08P01 invalid message format", "ready I"]
        );
        assert_eq!(client.query("select 1").len(), 4);
    });
}

#[test]
fn a_large_result_waits_for_its_client() {
    served(|client| {
        client.send(&[query("rows 300000")]);
        let answers = client.until_ready();
        assert_eq!(answers.len(), 300_003);
        assert_eq!(answers[300_000], "row 300000");
        assert_eq!(answers[300_001], "SELECT 300000");
        let wide = client.query("wide 5000000");
        assert_eq!(wide[1].len(), "row ".len() + 5_000_000);
    });
}

#[test]
fn a_pipeline_longer_than_any_buffer() {
    served(|client| {
        const COUNT: usize = 5000;
        let mut messages = vec![parse("s", "echo 1")];
        for _ in 0..COUNT {
            messages.extend([bind("", "s", &[Some("thread")]), execute("", 0)]);
        }
        messages.push(sync());
        let answers = client.ask(&messages);
        assert_eq!(
            answers
                .iter()
                .filter(|answer| *answer == "row thread")
                .count(),
            COUNT
        );
        assert_eq!(answers.len(), 1 + 3 * COUNT + 1);
    });
}
