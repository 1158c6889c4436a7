//! Tables in the change stream: the table of each record, and the events of tables, in their
//! places. Random transactions create, drop, truncate, rename and write tables, and a model
//! predicts the changes of each; from every position, across checkpoints, crashes and openings.

use crate::durable;
use crate::rng;

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use durable::{Durable, LOG, open_with};
use engine::{
    Change, ChangedTransaction, ChangesError, ChangesFrom, Error, Isolation, LogConfig,
    RecoveryConfig, Session, TableEventKind, TableOptions, Timestamp, Transaction,
};
use interleave::{Clock, Interleaved, Worker, WorkerConfig};
use io::{Faults, SimulatedDisk};
use rng::Rng;

#[derive(Clone, Debug)]
enum Step {
    Create(&'static str),
    Drop(&'static str),
    Truncate(&'static str),
    Rename(&'static str, &'static str),
    /// Write of a key, with the length of its value; `None` deletes.
    Write(&'static str, u8, Option<usize>),
    /// Steps that are all undone.
    Undone(Vec<Step>),
}

/// Table, by the number that it keeps and its current name.
type Named = (u32, String);

/// Change that a transaction must have in the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    Created(Named),
    Dropped(Named),
    Truncated(Named),
    Renamed(Named, String),
    Record(Named, u8, Option<usize>),
}

/// Tables as transactions see them: name to number.
type Tables = BTreeMap<String, u32>;

/// Changes that the stream must have for the steps of one transaction, and the state that the steps
/// leave.
#[derive(Clone, Default)]
struct Expected {
    tables: Tables,
    /// Live records: deleting others changes nothing.
    live: BTreeSet<(u32, u8)>,
    /// Numbers of the tables that the transaction has made, in the order of their making.
    made: std::vec::IntoIter<u32>,
    told: Vec<Told>,
    /// Writes to records that their tables still have: by table, in the order of their first
    /// change.
    written: Vec<(u32, u8, Option<usize>)>,
}

impl Expected {
    fn step(&mut self, step: &Step) {
        match step {
            Step::Create(name) => {
                if !self.tables.contains_key(*name) {
                    let number = self.made.next().expect("it was made");
                    self.tables.insert((*name).to_owned(), number);
                    self.told.push(Told::Created((number, (*name).to_owned())));
                }
            }
            Step::Drop(name) => {
                if let Some(number) = self.tables.remove(*name) {
                    let table = (number, (*name).to_owned());
                    self.tell_records(&table);
                    self.told.push(Told::Dropped(table));
                }
            }
            Step::Truncate(name) => {
                if let Some(&number) = self.tables.get(*name) {
                    let table = (number, (*name).to_owned());
                    self.tell_records(&table);
                    self.told.push(Told::Truncated(table));
                }
            }
            Step::Rename(from, to) => {
                if self.tables.contains_key(*to) {
                    return;
                }
                if let Some(number) = self.tables.remove(*from) {
                    self.tables.insert((*to).to_owned(), number);
                    let table = (number, (*to).to_owned());
                    self.told.push(Told::Renamed(table, (*from).to_owned()));
                }
            }
            Step::Write(name, key, value) => {
                if let Some(&number) = self.tables.get(*name) {
                    let was_there = match value {
                        Some(_) => !self.live.insert((number, *key)),
                        None => self.live.remove(&(number, *key)),
                    };
                    if !was_there && value.is_none() {
                        return;
                    }
                    let mut written = self.written.iter_mut();
                    match written.find(|record| (record.0, record.1) == (number, *key)) {
                        Some(record) => record.2 = *value,
                        None => self.written.push((number, *key, *value)),
                    }
                }
            }
            Step::Undone(steps) => {
                let before = self.clone();
                steps.iter().for_each(|step| self.step(step));
                // The numbers of the undone tables stay used: numbers are not used again.
                let made = std::mem::take(&mut self.made);
                *self = Expected { made, ..before };
            }
        }
    }

    /// Adds the changes of a table's records to the changes, since the table loses them.
    fn tell_records(&mut self, table: &Named) {
        let of_table = |record: &mut (u32, u8, Option<usize>)| record.0 == table.0;
        let records: Vec<_> = self.written.extract_if(.., of_table).collect();
        let told = records.into_iter();
        let told = told.map(|(_, key, value)| Told::Record(table.clone(), key, value));
        self.told.extend(told);
        self.live.retain(|record| record.0 != table.0);
    }

    fn end(&mut self) -> Vec<Told> {
        let names: BTreeMap<u32, &String> = self.tables.iter().map(|(n, &t)| (t, n)).collect();
        for (number, key, value) in std::mem::take(&mut self.written) {
            let table = (number, names[&number].clone());
            self.told.push(Told::Record(table, key, value));
        }
        std::mem::take(&mut self.told)
    }
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

fn steps(rng: &mut Rng, count: u64, may_undo: bool) -> Vec<Step> {
    let count = 1 + rng.below(count);
    let step = |_| {
        let name = NAMES[rng.below(4) as usize];
        match rng.below(if may_undo { 14 } else { 12 }) {
            0 | 1 => Step::Create(name),
            2 => Step::Drop(name),
            3 => Step::Truncate(name),
            4 => Step::Rename(name, NAMES[rng.below(4) as usize]),
            5 => Step::Write(name, rng.below(5) as u8, None),
            // A few such writes fill a file of the log.
            6 => Step::Write(name, rng.below(5) as u8, Some(60_000)),
            7..12 => Step::Write(name, rng.below(5) as u8, Some(rng.below(50) as usize)),
            _ => Step::Undone(steps(rng, 4, false)),
        }
    };
    (0..count).map(step).collect()
}

/// Runs steps in a transaction; adds the numbers of the tables that it makes to `made`.
async fn run(txn: &Transaction, steps: &[Step], made: &mut Vec<u32>) -> Result<(), Error> {
    for step in steps {
        let done = match step {
            Step::Create(name) => {
                let table = txn.create_table::<Interleaved>(name, b"of the test").await;
                table.map(|table| made.push(table.object_number()))
            }
            Step::Drop(name) => txn.drop_table::<Interleaved>(name).await,
            Step::Truncate(name) => txn.truncate_table::<Interleaved>(name).await.map(drop),
            Step::Rename(from, to) => txn.rename_table::<Interleaved>(from, to).await,
            Step::Write(name, key, value) => match txn.open_table::<Interleaved>(name).await {
                Ok(table) => match value {
                    Some(bytes) => {
                        let value = vec![*key; *bytes];
                        txn.upsert::<Interleaved>(&table, &[*key], &value).await
                    }
                    None => txn.delete::<Interleaved>(&table, &[*key]).await.map(drop),
                },
                Err(error) => Err(error),
            },
            Step::Undone(steps) => {
                let savepoint = txn.savepoint()?;
                Box::pin(run(txn, steps, made)).await?;
                txn.rollback_to(&savepoint)
            }
        };
        match done {
            Err(Error::NoSuchTable | Error::TableExists) => {}
            done => done?,
        }
    }
    Ok(())
}

type Commits = Vec<(Timestamp, Vec<Told>)>;

/// Commits one transaction, in the lane of `durable` or in another; returns the changes that the
/// stream must have.
fn commit(
    durable: &mut Durable,
    elsewhere: bool,
    steps: Vec<Step>,
    model: &mut Expected,
) -> (Timestamp, Vec<Told>) {
    let ours = steps.clone();
    let task = move |session: Rc<Session>| async move {
        let txn = session.begin(Isolation::Snapshot)?;
        let mut made = Vec::new();
        run(&txn, &ours, &mut made).await?;
        Ok::<_, Error>((txn.commit().await?, made))
    };
    let committed = if elsewhere {
        let database = durable.database.clone();
        let other = std::thread::spawn(move || {
            let session = Session::new(&database).expect("a session");
            let mut worker = Worker::new(WorkerConfig::default(), session, Clock::real());
            let task = worker
                .handle()
                .submit(move |session: &Rc<Session>| task(session.clone()));
            worker.run_until(task).expect("the task ends")
        });
        // The frontier may need transactions of this lane too.
        while !other.is_finished() {
            durable.run(async |_| interleave::yield_now().await);
        }
        other.join().expect("it does not panic")
    } else {
        durable.run(task)
    };
    let (at, made) = committed.expect("no transaction is in the way");
    model.made = made.into_iter();
    steps.iter().for_each(|step| model.step(step));
    (at, model.end())
}

fn told(transaction: &ChangedTransaction) -> (Timestamp, Vec<Told>) {
    let mut records = 0;
    let mut events = Vec::new();
    let told = transaction.changes().map(|change| match change {
        Change::Record(record) => {
            records += 1;
            assert_eq!(&*record.table.description, b"of the test");
            let table = (record.table.number, record.table.name.to_string());
            Told::Record(table, record.key[0], record.value.map(<[u8]>::len))
        }
        Change::Table(event) => {
            events.push(event.clone());
            assert_eq!(&*event.table.description, b"of the test");
            let table = (event.table.number, event.table.name.to_string());
            match &event.kind {
                TableEventKind::Created => Told::Created(table),
                TableEventKind::Dropped => Told::Dropped(table),
                TableEventKind::Truncated { .. } => Told::Truncated(table),
                TableEventKind::Renamed { from, .. } => Told::Renamed(table, from.to_string()),
            }
        }
    });
    let told: Vec<Told> = told.collect();
    assert_eq!(
        (records, &events[..]),
        (transaction.len(), transaction.events())
    );
    (transaction.timestamp(), told)
}

fn stream(
    durable: &mut Durable,
    from: ChangesFrom,
    up_to: Timestamp,
) -> Result<Commits, ChangesError> {
    durable.run(async move |session: Rc<Session>| {
        let mut reader = session.changes(from).await?;
        let mut all = Vec::new();
        while reader.position() < up_to {
            all.extend(reader.next(&session).await?.iter().map(told));
        }
        Ok(all)
    })
}

/// Checks that the stream from every position that is kept has the changes that follow; returns how
/// many there are.
fn assert_streams(durable: &mut Durable, commits: &Commits) -> usize {
    let up_to = commits.last().expect("something was committed").0;
    let oldest = match stream(durable, ChangesFrom::Beginning, Timestamp(1)) {
        Ok(_) => Timestamp(0),
        Err(ChangesError::NotKept { oldest, .. }) => oldest,
        Err(other) => panic!("{other}"),
    };
    let mut positions = vec![(Timestamp(0), 0)];
    positions.extend(commits.iter().zip(1..).map(|((at, _), next)| (*at, next)));
    positions.retain(|&(position, _)| position >= oldest);
    for &(position, next) in &positions {
        let from = ChangesFrom::After(position);
        let found = stream(durable, from, up_to).expect("it is kept");
        let rest = commits[next..].iter().filter(|(_, told)| !told.is_empty());
        let rest: Commits = rest.cloned().collect();
        for (found, expected) in found.iter().zip(&rest) {
            assert_eq!(found, expected, "after {position:?}");
        }
        assert_eq!(found.len(), rest.len(), "after {position:?}");
    }
    positions.len()
}

fn transactions_tell_what_they_did(seed: u64, log: LogConfig) {
    let mut rng = Rng(seed + 1);
    let mut disk = SimulatedDisk::new(seed, Faults::default());
    let open =
        |disk: &SimulatedDisk| open_with(disk.directory(), log, RecoveryConfig::default()).unwrap();
    let mut durable = open(&disk);
    let (mut commits, mut model) = (Commits::new(), Expected::default());
    let mut kept_some = false;
    for round in 0..12 {
        for _ in 0..5 + rng.below(10) {
            let steps = steps(&mut rng, 8, true);
            let elsewhere = rng.below(3) == 0;
            let committed = commit(&mut durable, elsewhere, steps, &mut model);
            // A transaction that found nothing to do has no place of its own.
            if !committed.1.is_empty() {
                commits.push(committed);
            }
        }
        if rng.below(3) == 0 {
            let taken = durable.run(async |session: Rc<Session>| session.checkpoint().await);
            taken.expect("a checkpoint");
        }
        let positions = assert_streams(&mut durable, &commits);
        kept_some |= positions > 1 && positions <= commits.len();
        match rng.below(3) {
            0 => {
                disk.crash();
                drop(durable);
                disk = disk.after_crash(round);
                durable = open(&disk);
            }
            1 => {
                drop(durable);
                durable = open(&disk);
            }
            _ => {}
        }
        assert_eq!(assert_streams(&mut durable, &commits), positions);
    }
    let keeps_all = log.change_retention_bytes > 1 << 30;
    assert!(
        keeps_all || kept_some,
        "seed {seed}: there was no history in part"
    );
}

#[test]
fn all_of_it_is_kept() {
    for seed in 0..6 {
        let change_retention_bytes = 1 << 40;
        transactions_tell_what_they_did(
            seed,
            LogConfig {
                change_retention_bytes,
                ..LOG
            },
        );
    }
}

#[test]
fn a_part_of_it_is_kept() {
    for seed in 0..6 {
        let change_retention_bytes = seed % 3 * (1 << 20);
        transactions_tell_what_they_did(
            seed + 100,
            LogConfig {
                change_retention_bytes,
                ..LOG
            },
        );
    }
}

/// A consumer keeps copies of tables, by number and by name.
#[test]
fn followers_of_a_table_by_number_or_name_stay_right() {
    let disk = SimulatedDisk::new(7, Faults::default());
    let mut durable = open_with(disk.directory(), LOG, RecoveryConfig::default()).unwrap();
    let mut model = Expected::default();
    let all = [
        vec![Step::Create("a"), Step::Write("a", 1, Some(1))],
        vec![
            Step::Write("a", 2, Some(2)),
            Step::Truncate("a"),
            Step::Write("a", 3, Some(3)),
        ],
        vec![Step::Rename("a", "b"), Step::Write("b", 4, Some(4))],
        vec![Step::Create("a"), Step::Write("a", 5, Some(5))],
        vec![
            Step::Drop("a"),
            Step::Create("a"),
            Step::Write("a", 6, Some(6)),
        ],
    ];
    let mut commits = Commits::new();
    for steps in all {
        commits.push(commit(&mut durable, false, steps, &mut model));
    }
    let up_to = commits[4].0;
    let found = stream(&mut durable, ChangesFrom::Beginning, up_to).unwrap();
    // The copy by number reads no names. The copy by name follows names that are given, taken over
    // and given up.
    let mut by_number: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    let mut by_name: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for told in found.into_iter().flat_map(|(_, told)| told) {
        match told {
            Told::Created((number, name)) => {
                assert!(by_number.insert(number, Vec::new()).is_none());
                assert!(by_name.insert(name, Vec::new()).is_none());
            }
            Told::Dropped((number, name)) => {
                by_number.remove(&number).expect("it is known");
                by_name.remove(&name).expect("it is known");
            }
            Told::Truncated((number, name)) => {
                by_number.get_mut(&number).expect("it is known").clear();
                by_name.get_mut(&name).expect("it is known").clear();
            }
            Told::Renamed((number, name), from) => {
                assert!(by_number.contains_key(&number));
                let records = by_name.remove(&from).expect("it is known");
                assert!(by_name.insert(name, records).is_none());
            }
            Told::Record((number, name), key, _) => {
                by_number.get_mut(&number).expect("it is known").push(key);
                by_name.get_mut(&name).expect("it is known").push(key);
            }
        }
    }
    let numbers = |name: &str| model.tables[name];
    let expected = [("a", vec![6]), ("b", vec![3, 4])];
    assert_eq!(
        by_name,
        expected.clone().map(|(n, r)| (n.to_owned(), r)).into()
    );
    assert_eq!(by_number, expected.map(|(n, r)| (numbers(n), r)).into());
}

/// The records of a table in the stream can be used without the table: the stream of a dropped
/// table tells when its records would have expired.
#[test]
fn the_time_to_live_of_a_table_that_was_dropped_is_known() {
    let disk = SimulatedDisk::new(8, Faults::default());
    let mut durable = open_with(disk.directory(), LOG, RecoveryConfig::default()).unwrap();
    let ttl = std::time::Duration::from_secs(60);
    let before = durable.run(async move |session: Rc<Session>| {
        let options = TableOptions { ttl: Some(ttl) };
        let made = session.create_table_with("t", b"of the test", options);
        let table = made.await.unwrap();
        let before = session.database().now();
        let txn = session.begin(Isolation::Snapshot).unwrap();
        txn.upsert::<Interleaved>(&table, b"k", b"value")
            .await
            .unwrap();
        txn.commit().await.unwrap();
        session.drop_table("t").await.unwrap();
        before
    });
    drop(durable);
    let mut durable = open_with(disk.directory(), LOG, RecoveryConfig::default()).unwrap();
    let found = durable.run(async move |session: Rc<Session>| {
        let from = ChangesFrom::After(before);
        let mut reader = session.changes(from).await.unwrap();
        reader.next(&session).await.unwrap()
    });
    let record = found[0].records().next().unwrap();
    assert_eq!(record.table.ttl(), Some(ttl));
    let (expires, value) = record.table.split(record.value.unwrap());
    assert!(expires.is_some());
    assert_eq!(value, b"value");
}

/// The memory of a table comes back behind a moment of its own on the clock, also if the table was
/// never there because its transaction rolled back. The moment was no transaction's: a checkpoint,
/// or a change stream that began then, waited for everything so far to be durable until another
/// transaction committed.
#[test]
fn commits_that_move_the_clock_become_durable() {
    let disk = SimulatedDisk::new(9, Faults::default());
    let mut durable = open_with(disk.directory(), LOG, RecoveryConfig::default()).unwrap();
    durable.create_table("t", &[]).unwrap();
    let before = durable.database.now();
    durable.run(async |session: Rc<Session>| {
        let txn = session.begin(Isolation::Snapshot).unwrap();
        let made = txn.create_table::<Interleaved>("never", &[]).await;
        made.unwrap();
    });
    while durable.database.now() == before {
        durable.session().tend();
    }
    let (taken, position) = durable.run(async |session: Rc<Session>| {
        let taken = session.checkpoint().await;
        let reader = session.changes(ChangesFrom::Now).await;
        (taken, reader.unwrap().position())
    });
    taken.expect("a checkpoint");
    assert!(position > before);
    assert!(durable.database.durable_up_to() >= Some(position));
}
