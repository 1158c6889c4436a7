//! psql, if it is installed: libpq's view of the server's messages.

#![allow(dead_code, reason = "the common files are shared by several tests")]

#[path = "common/backend.rs"]
mod backend;

use std::{net::SocketAddr, process::Command};

use server::Config;

/// Returns the output of psql, and whether it succeeded; `None` if there is no
/// psql.
fn psql(
    address: SocketAddr,
    user: &str,
    password: &str,
    commands: &[&str],
) -> Option<(bool, String)> {
    let mut psql = Command::new("psql");
    psql.args(["-X", "-A", "-t", "-h", "127.0.0.1", "-p"]);
    psql.arg(address.port().to_string())
        .args(["-U", user, "-d", "weft"]);
    psql.env("PGPASSWORD", password).env("PGSSLMODE", "prefer");
    for command in commands {
        psql.args(["-c", command]);
    }
    match psql.output() {
        Ok(output) => {
            let mut printed = String::from_utf8(output.stdout).unwrap();
            printed.push_str(&String::from_utf8(output.stderr).unwrap());
            Some((output.status.success(), printed))
        }
        Err(error) => {
            #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
            {
                eprintln!("skipped: psql cannot be run here: {error}");
            }
            None
        }
    }
}

#[test]
fn psql_understands_the_server() {
    let running = backend::start(1, Config::default(), &[("penelope", "loom")]);
    let address = running.server.addresses()[0];
    let ask = |commands: &[&str]| psql(address, "weft", "", commands);
    let Some(printed) = ask(&["select 7", "rows 2", "begin", "notice"]) else {
        return;
    };
    assert_eq!(
        printed,
        (
            true,
            "7\n1\n2\nBEGIN\nNOTICE\nWARNING:  it is getting late\n".to_owned()
        )
    );
    let (content, printed) = ask(&["fail"]).unwrap();
    assert!(!content);
    assert_eq!(
        printed,
        "ERROR:  it failed\nLINE 1: fail\n          ^\nDETAIL:  All of it.\nHINT:  Do not.\n"
    );
    let (content, printed) = psql(address, "penelope", "loom", &["select 7"]).unwrap();
    assert!(content, "{printed}");
    assert_eq!(printed, "7\n");
    let (content, printed) = psql(address, "penelope", "wool", &["select 7"]).unwrap();
    assert!(!content);
    let refused = "FATAL:  password authentication failed for user \"penelope\"";
    assert!(printed.contains(refused), "{printed}");
}
