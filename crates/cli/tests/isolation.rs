//! Effects of concurrent sessions on each other, over the wire: the anomalies by name at each
//! level, locks, waits, deadlocks.
//!
//! Scenarios are text (`isolation/*.txt`): steps of sessions, and the expected answer to each. The
//! answers are PostgreSQL's: with `WEFT_ISOLATION_SERVER` set to a connection string, the test runs
//! against that server instead.
//!
//! A step is a session's name, a colon and a statement; the line behind it gives the expected
//! answer:
//! - `= 1,2; 3,4` are rows, `= no rows` none of them, `= ok 2` a command that changed two rows,
//!   `= 40001` an error;
//! - `= waits`: nothing comes yet. A later line with the session's name alone takes the answer;
//! - `= perhaps 40001`: that error, or any success; `failed a b` behind it says that at least one
//!   of the two sessions has had the error;
//! - `b> statement` sends the statement and looks at nothing; `deadlock a b` behind it says that
//!   both wait for each other: exactly one gets 40P01, which rolls it back, and the other one goes
//!   on.

#[path = "common/served.rs"]
mod served;

use std::{
    collections::BTreeMap,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

use postgres::{Client, NoTls, SimpleQueryMessage};
use served::Served;

/// Time without an answer after which a statement counts as waiting.
const WAITS: Duration = Duration::from_millis(150);
/// Longest time that an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A session on a thread of its own, which can wait while another goes on.
struct Session {
    statements: Sender<String>,
    answers: Receiver<String>,
    has_failed: bool,
}

impl Session {
    fn start(connection: &str) -> Session {
        let mut client = Client::connect(connection, NoTls).unwrap();
        let (statements, requests) = channel::<String>();
        let (replies, answers) = channel();
        thread::spawn(move || {
            for text in requests {
                if replies.send(answer(&mut client, &text)).is_err() {
                    break;
                }
            }
        });
        Session {
            statements,
            answers,
            has_failed: false,
        }
    }

    fn send(&self, text: &str) {
        self.statements.send(text.to_owned()).unwrap();
    }

    fn receive(&self) -> String {
        self.answers.recv_timeout(PATIENCE).expect("an answer")
    }

    /// Returns the answer, or "waits" if none comes.
    fn look(&self) -> String {
        match self.answers.recv_timeout(WAITS) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => "waits".to_owned(),
            Err(RecvTimeoutError::Disconnected) => panic!("a session is gone"),
        }
    }
}

/// Runs a statement and returns its answer in the notation of the scenarios.
fn answer(client: &mut Client, text: &str) -> String {
    let messages = match client.simple_query(text) {
        Ok(messages) => messages,
        Err(error) => {
            let code = error.code().map(|code| code.code().to_owned());
            return code.unwrap_or_else(|| error.to_string());
        }
    };
    let (mut rows, mut count, mut is_query) = (Vec::new(), 0, false);
    for message in messages {
        match message {
            SimpleQueryMessage::Row(row) => {
                let values = (0..row.len()).map(|at| row.get(at).unwrap_or("null"));
                rows.push(values.collect::<Vec<_>>().join(","));
            }
            SimpleQueryMessage::RowDescription(_) => is_query = true,
            SimpleQueryMessage::CommandComplete(of) => count = of,
            _ => {}
        }
    }
    match (is_query, rows.is_empty()) {
        (true, true) => "no rows".to_owned(),
        (true, false) => rows.join("; "),
        (false, _) => format!("ok {count}"),
    }
}

/// Runs one scenario; fails with the first step whose answer is not the expected one.
fn run(connection: &str, lines: &[&str]) -> Result<(), String> {
    let mut sessions: BTreeMap<&str, Session> = BTreeMap::new();
    let mut lines = lines.iter().copied().peekable();
    while let Some(line) = lines.next() {
        if let Some(names) = line.strip_prefix("failed ") {
            let mut names = names.split(' ');
            if !names.any(|name| sessions[name].has_failed) {
                return Err(format!("`{line}`: none has"));
            }
            continue;
        }
        if let Some(names) = line.strip_prefix("deadlock ") {
            let names: Vec<&str> = names.split(' ').collect();
            deadlock(&sessions[names[0]], &sessions[names[1]])
                .map_err(|why| format!("`{line}`: {why}"))?;
            continue;
        }
        let sent = line
            .split_once("> ")
            .filter(|(name, _)| !name.contains(' '));
        if let Some((name, text)) = sent {
            sessions[name].send(text);
            continue;
        }
        let (name, text) = line.split_once(": ").unwrap_or((line, ""));
        let session = sessions
            .entry(name)
            .or_insert_with(|| Session::start(connection));
        if !text.is_empty() {
            session.send(text);
        }
        let expected = lines.next_if(|line| line.starts_with("= "));
        let expected = expected.map(|line| &line[2..]);
        let found = match (expected, text) {
            (Some("waits"), _) => session.look(),
            _ => session.receive(),
        };
        session.has_failed |= found == "40001";
        let is_right = match expected {
            Some("perhaps 40001") => found == "40001" || found == "25P02" || !is_error(&found),
            Some(expected) => found == expected,
            // A statement without an expected answer need only succeed.
            None => !is_error(&found),
        };
        if !is_right {
            return Err(format!("`{line}` should be {expected:?}, and is {found:?}"));
        }
    }
    Ok(())
}

fn is_error(answer: &str) -> bool {
    answer == "waits"
        || answer.len() == 5
            && answer
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() && !byte.is_ascii_lowercase())
}

/// Checks that one of two sessions that wait for each other gets 40P01, and that the other goes on.
fn deadlock(one: &Session, other: &Session) -> Result<(), String> {
    let answers = [one.receive(), other.receive()];
    let victims = answers.iter().filter(|answer| *answer == "40P01").count();
    let survivors = answers.iter().filter(|answer| !is_error(answer)).count();
    match (victims, survivors) {
        (1, 1) => Ok(()),
        _ => Err(format!("the answers are {answers:?}")),
    }
}

fn scenarios(text: &'static str) {
    let served;
    let connection = match std::env::var("WEFT_ISOLATION_SERVER") {
        Ok(connection) => connection,
        Err(_) => {
            served = Served::start(&["--in-memory"]);
            served.connection()
        }
    };
    let mut failed = Vec::new();
    for scenario in text.split("\n\n") {
        let lines = scenario.lines().filter(|line| !line.is_empty());
        let (names, lines): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with('#'));
        if lines.is_empty() {
            continue;
        }
        if let Err(why) = run(&connection, &lines) {
            failed.push(format!("{}\n  {why}", names.join("\n")));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn anomalies_are_those_of_the_level() {
    scenarios(include_str!("isolation/anomalies.txt"));
}

#[test]
fn writers_wait_and_look_again() {
    scenarios(include_str!("isolation/writers.txt"));
}

#[test]
fn rows_are_locked_by_statements_that_ask_for_it() {
    scenarios(include_str!("isolation/locks.txt"));
}

#[test]
fn rows_are_followed_and_looked_at_again() {
    scenarios(include_str!("isolation/rows.txt"));
}

/// Rows that others refer to are changed, and referred to while they are changed.
#[test]
fn keys_are_held_on_to_beside_changes() {
    scenarios(include_str!("isolation/keys.txt"));
}

/// A restart of a sequence keeps others from its values until it is known.
#[test]
fn sequences_that_are_restarted_give_no_value_twice() {
    scenarios(include_str!("isolation/sequences.txt"));
}

/// Sessions change one definition at once.
#[test]
fn definitions_are_looked_at_when_they_are_locked() {
    scenarios(include_str!("isolation/definitions.txt"));
}
