//! COPY over a socket.

#![allow(dead_code, reason = "the common files are shared by several tests")]

#[path = "common/backend.rs"]
mod backend;
#[path = "common/client.rs"]
mod client;

use client::*;
use server::Config;

fn served(test: impl FnOnce(&mut Client)) {
    let running = backend::start(1, Config::default(), &[]);
    test(&mut Client::connect(running.server.addresses()[0]));
}

#[test]
fn data_comes_in() {
    served(|client| {
        client.send(&[query("copyin; select 1")]);
        assert_eq!(client.next(), "wants data 0 [0]");
        let answers = client.ask(&[
            copy_data("a\nb"),
            copy_data(""),
            copy_data("\nc\n"),
            copy_done(),
        ]);
        assert_eq!(
            answers,
            [
                "COPY 3",
                "columns ?column?:23:0",
                "row 1",
                "SELECT 1",
                "ready I"
            ]
        );
    });
}

#[test]
fn the_client_gives_it_up() {
    served(|client| {
        client.send(&[query("copyin")]);
        client.next();
        let answers = client.ask(&[copy_data("a\n"), copy_fail("no more wool")]);
        assert_eq!(
            answers,
            [
                "ERROR 57014 COPY from stdin failed: no more wool",
                "ready I"
            ]
        );
        // Data that was on its way when the COPY failed is discarded.
        let answers = client.ask(&[copy_data("b\n"), copy_done(), query("select 1")]);
        assert_eq!(answers.last().unwrap(), "ready I");
        assert_eq!(answers.len(), 4);
    });
}

#[test]
fn messages_that_are_no_data_end_a_copy() {
    served(|client| {
        client.send(&[query("copyin")]);
        client.next();
        let answers = client.ask(&[query("select 1")]);
        assert_eq!(
            answers,
            [
                "ERROR 08P01 unexpected message type 0x51 during COPY from stdin",
                "ready I"
            ]
        );
    });
}

/// A client of the extended protocol sends its Sync before it knows that the statement
/// is a COPY.
#[test]
fn a_sync_amid_data_is_passed_over() {
    served(|client| {
        client.send(&[
            parse("", "copyin"),
            bind("", "", &[]),
            execute("", 0),
            sync(),
        ]);
        assert_eq!(client.next(), "parsed");
        assert_eq!(client.next(), "bound");
        assert_eq!(client.next(), "wants data 0 [0]");
        let answers = client.ask(&[copy_data("a\n"), flush(), copy_done(), sync()]);
        assert_eq!(answers, ["COPY 1", "ready I"]);
    });
}

#[test]
fn a_failed_copy_of_the_extended_protocol_skips_to_the_sync() {
    served(|client| {
        let messages = [
            parse("", "copyin"),
            bind("", "", &[]),
            execute("", 0),
            flush(),
        ];
        client.send(&messages);
        for _ in 0..3 {
            client.next();
        }
        let answers = client.ask(&[
            copy_fail("enough"),
            copy_data("a\n"),
            parse("", "select 1"),
            sync(),
        ]);
        assert_eq!(
            answers,
            ["ERROR 57014 COPY from stdin failed: enough", "ready I"]
        );
    });
}

#[test]
fn data_goes_out() {
    served(|client| {
        assert_eq!(
            client.query("copyout 2"),
            [
                "gives data 0 [0]",
                "data 1\\n",
                "data 2\\n",
                "data ends",
                "COPY 2",
                "ready I"
            ]
        );
        assert_eq!(client.query("copyout 200000").len(), 200_004);
    });
}
