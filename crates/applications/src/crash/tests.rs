//! Losses and damage are planted, and must be told.

use std::process::Command;
use std::time::Duration;

use weft::{Database, Durability, Options, Transaction};

use super::ledger::{Compared, Ledger, Promises};
use super::moment::Moment;
use super::verify::{Verified, look};
use super::watched::Watched;
use super::word::{Entry, Word};
use crate::application::trial::{execute, inconsistencies, loaded, options};
use crate::application::{Application, Reads, Request as _};
use crate::smallbank::SmallBank;
use crate::tatp::Tatp;
use crate::tpcc::{self, Mix, Scale, Tpcc};
use crate::{smallbank, tatp};

fn entry(client: u32, kind: u32, number: u64) -> Entry {
    Entry {
        client,
        kind,
        number,
    }
}

fn promised(entries: &[Entry]) -> Promises {
    let mut promises = Promises::default();
    entries.iter().for_each(|&entry| promises.take_in(entry));
    promises
}

#[test]
fn words_are_read_as_they_are_said() {
    for word in [
        Word::Opening,
        Word::Found(entry(1, 2, 3)),
        Word::Working,
        Word::Done(entry(4, 5, u64::MAX)),
        Word::Checkpoint,
        Word::Checkpointed,
    ] {
        assert_eq!(word.to_string().parse(), Ok(word));
    }
    for line in ["", "done", "done 1 2", "done 1 2 many", "sleeping"] {
        assert!(line.parse::<Word>().unwrap_err().contains(line));
    }
}

#[test]
fn what_was_promised_must_be_there_and_little_more() {
    let kinds = &["deposit", "check"];
    let promises = promised(&[
        entry(0, 0, 5),
        entry(0, 1, 2),
        entry(0, 0, 4),
        entry(1, 0, 1),
    ]);
    let compared = |entries: &[Entry]| promises.compare(entries, kinds);
    let all = [entry(0, 0, 5), entry(0, 1, 2), entry(1, 0, 1)];
    assert_eq!(compared(&all), Compared::default());
    let one_under_way = [entry(0, 0, 6), all[1], all[2], entry(2, 1, 1)];
    assert_eq!(compared(&one_under_way), Compared::default());

    let lost = compared(&[entry(0, 0, 3), all[1]]);
    assert_eq!(lost.lost, 3);
    assert!(
        lost.sentences[0].contains("5 transactions deposit"),
        "{lost:?}"
    );
    assert!(lost.sentences[1].contains("client 1"), "{lost:?}");
    let more = compared(&[entry(0, 0, 6), entry(0, 1, 3), all[2]]);
    assert_eq!((more.lost, more.sentences.len()), (0, 1));
    assert!(more.sentences[0].contains("more than"), "{more:?}");
}

/// Returns a bank in which client 0 has made some deposits, and the promises that it was given.
fn bank() -> (Database, SmallBank, Promises) {
    let settings = smallbank::Settings {
        accounts: 20,
        ..smallbank::Settings::default()
    };
    let (database, bank) = loaded::<SmallBank>(&settings, options());
    let ledger = Ledger::create(&database).unwrap();
    for number in 1..=3 {
        let (bank, ledger) = (bank.clone(), ledger.clone());
        let request = smallbank::Request::DepositChecking {
            customer: number,
            cents: 1,
            stripe: (0, 0),
        };
        let deposit = async move |txn: &Transaction| {
            bank.execute(txn, &request, Reads::Single).await?;
            ledger.enter(txn, entry(0, 1, number)).await
        };
        database.run_blocking(deposit).unwrap();
    }
    (database, bank, promised(&[entry(0, 1, 3)]))
}

fn found(database: &Database, bank: &SmallBank, promises: &Promises) -> Verified {
    let mut verified = Verified::default();
    look(database, bank, promises, &mut verified).unwrap();
    verified
}

#[test]
fn a_bank_that_kept_all_has_nothing_to_be_told() {
    let (database, bank, promises) = bank();
    let verified = found(&database, &bank, &promises);
    assert_eq!((verified.lost, verified.sentences), (0, Vec::new()));
}

#[test]
fn an_acknowledged_transaction_that_is_gone_is_told() {
    let (database, bank, mut promises) = bank();
    promises.take_in(entry(0, 1, 4));
    let verified = found(&database, &bank, &promises);
    assert_eq!(verified.lost, 1);
    assert_eq!(verified.sentences.len(), 1, "{verified:?}");
    assert!(verified.sentences[0].contains("4 transactions deposit_checking"));
}

#[test]
fn half_of_a_transaction_is_told() {
    let (database, bank, promises) = bank();
    let ledger = Ledger::open(&database).unwrap();
    let half = async move |txn: &Transaction| ledger.enter(txn, entry(0, 1, 4)).await;
    database.run_blocking(half).unwrap();
    let verified = found(&database, &bank, &promises);
    assert_eq!(
        (verified.lost, verified.sentences.len()),
        (0, 1),
        "{verified:?}"
    );
    let told = "the tables have 3 changes of checking, where transactions that committed made 4";
    assert_eq!(verified.sentences[0], told);
}

#[test]
fn a_condition_that_does_not_hold_is_told() {
    let (database, bank, promises) = bank();
    // The deposit is in no row of the ledger.
    let ledger = database.open_table::<(u32, u32), i64>("ledger").unwrap();
    let forget = async move |txn: &Transaction| txn.update(&ledger, &(0, 0), &0).await;
    database.run_blocking(forget).unwrap();
    let verified = found(&database, &bank, &promises);
    assert_eq!(verified.sentences.len(), 1, "{verified:?}");
    assert!(
        verified.sentences[0].starts_with("condition money: "),
        "{verified:?}"
    );
}

/// Checks that the tables' counts agree with the committed transactions, also after the database
/// was opened again, and that the counts go on then.
fn counts_and_opens<A: Application>(settings: &A::Settings)
where
    A::Request: Send,
{
    let place = tempfile::tempdir().unwrap();
    let durable = || Options {
        data_dir: Some(place.path().to_owned()),
        durability: Durability::Relaxed,
        ..options()
    };
    let mut committed = vec![0; A::KINDS.len()];
    let mut some_more = |database: &Database, application: &A, seed| {
        let mut source = application.source(0, 1, seed);
        for _ in 0..300 {
            let request = source();
            let kind = request.kind();
            let done = execute(database, application, request, Reads::Single);
            committed[kind] += u64::from(done);
        }
        committed.clone()
    };
    let compare = |database: &Database, application: &A, committed: &[u64]| {
        let ours = application.clone();
        let tallies = async move |txn: &Transaction| ours.tallies(txn).await;
        for tally in database.run_blocking(tallies).unwrap() {
            let added = committed.iter().zip(tally.added);
            let expected: u64 = added.map(|(count, added)| count * added).sum();
            assert!(expected > 0, "{tally:?}");
            assert_eq!(tally.count, expected, "{tally:?}");
        }
        let found = inconsistencies(database, application);
        assert_eq!(found, Vec::<String>::new());
    };
    let (database, application) = loaded::<A>(settings, durable());
    let committed = some_more(&database, &application, 1);
    compare(&database, &application, &committed);
    database.close();

    let database = Database::open(durable()).unwrap();
    let application = A::open(settings, &database).unwrap();
    compare(&database, &application, &committed);
    let committed = some_more(&database, &application, 2);
    compare(&database, &application, &committed);
}

#[test]
fn applications_count_what_committed_and_open_again() {
    counts_and_opens::<Tpcc>(&tpcc::Settings {
        scale: Scale {
            items: 100,
            districts: 2,
            customers: 10,
        },
        ..tpcc::Settings::standard(Mix::Tpcc, 1)
    });
    counts_and_opens::<SmallBank>(&smallbank::Settings {
        accounts: 100,
        ..smallbank::Settings::default()
    });
    counts_and_opens::<Tatp>(&tatp::Settings {
        subscribers: 100,
        ..tatp::Settings::default()
    });
}

fn child(script: &str) -> Watched {
    Watched::start(Command::new("sh").args(["-c", script])).unwrap()
}

#[test]
fn all_that_a_child_has_said_counts_but_half_a_line() {
    let mut promises = Promises::default();
    let mut child = child(
        "echo opening; echo found 0 0 7; echo working; echo done 0 0 8; echo checkpoint; \
         printf 'done 0 0 9'; exec sleep 600",
    );
    child
        .kill_at(
            Moment::Checkpoint(0, Duration::from_millis(20)),
            &mut promises,
        )
        .unwrap();
    assert!(child.opening_took.is_some() && child.is_checkpointing);
    assert_eq!(child.acknowledged, 1);
    let there = [entry(0, 0, 8)];
    assert_eq!(promises.compare(&there, &["kind"]), Compared::default());
    assert_eq!(promises.compare(&[], &["kind"]).lost, 8);
}

#[test]
fn a_child_that_ends_by_itself_or_talks_nonsense_is_told() {
    for (script, told) in [
        (
            "echo opening; echo it broke >&2; exit 1",
            "a child failed: it broke",
        ),
        ("echo nonsense; exec sleep 600", "a child says \"nonsense\""),
    ] {
        let killed = child(script).kill_at(Moment::Checkpointed(0), &mut Promises::default());
        assert_eq!(killed, Err(told.to_owned()));
    }
}
