//! Indexes in the catalog: after a database was opened again, no transaction writes a table without
//! the indexes that it had, until they are attached or dropped.

use crate::durable;
use crate::index_kinds::{UNIQUE, by_value};

use std::{future::Future, pin::pin, rc::Rc, sync::Arc, task::Poll};

use durable::{Durable, open};
use engine::{
    BuildError, BuildStep, Error, Extractor, Index, IndexOptions, IndexState, Isolation, Session,
    Table, Transaction,
};
use interleave::Interleaved;
use io::{Faults, SimulatedDisk};

/// A database whose disk can crash.
struct Setup {
    disk: SimulatedDisk,
    durable: Durable,
    crashes: u64,
}

impl Setup {
    /// Makes a database with a table `t` in which `a` is `1`.
    fn new() -> Setup {
        let disk = SimulatedDisk::new(1, Faults::default());
        let durable = open(disk.directory()).unwrap();
        let mut setup = Setup {
            disk,
            durable,
            crashes: 0,
        };
        setup.durable.create_table("t", &[]).unwrap();
        setup.put("a", "1").unwrap();
        setup
    }

    fn crash(self) -> Setup {
        let crashes = self.crashes + 1;
        self.disk.crash();
        drop(self.durable);
        let disk = self.disk.after_crash(crashes);
        let durable = open(disk.directory()).unwrap();
        Setup {
            disk,
            durable,
            crashes,
        }
    }

    fn table(&self) -> Arc<Table> {
        self.durable.database.table("t").unwrap()
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), Error> {
        let record = (key.into(), Some(value.into()));
        let table = self.table();
        self.durable.write(&table, vec![record]).map(drop)
    }

    fn delete(&mut self, key: &str) -> Result<(), Error> {
        let table = self.table();
        self.durable
            .write(&table, vec![(key.into(), None)])
            .map(drop)
    }

    fn create(&mut self, name: &str, options: IndexOptions) -> Result<Index, BuildError> {
        self.create_described(name, b"", options)
    }

    fn create_described(
        &mut self,
        name: &str,
        description: &'static [u8],
        options: IndexOptions,
    ) -> Result<Index, BuildError> {
        let (table, name) = (self.table(), name.to_owned());
        self.durable.run(async move |session: Rc<Session>| {
            let build =
                session.begin_index_described(&table, &name, description, options, by_value())?;
            build.run(|_| {}).await
        })
    }

    /// Runs an operation in a transaction of its own.
    fn ddl<T: Send + 'static>(
        &mut self,
        what: impl AsyncFnOnce(&Transaction) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.durable.run(async move |session: Rc<Session>| {
            let transaction = session.begin(Isolation::Snapshot)?;
            let done = what(&transaction).await?;
            transaction.commit().await?;
            Ok(done)
        })
    }

    /// Returns the names of the indexes, and whether they are attached.
    fn indexes(&mut self) -> Vec<(String, bool)> {
        let listed = self.ddl(async |txn: &Transaction| txn.list_indexes::<Interleaved>("t").await);
        let listed = listed.unwrap().into_iter();
        listed
            .map(|index| (index.name, index.is_attached))
            .collect()
    }

    fn is_refused(&mut self, by: &str) -> bool {
        let refusal = |result| match result {
            Err(Error::IndexNotAttached { index }) => Some(index),
            Ok(()) => None,
            Err(other) => panic!("{other}"),
        };
        let (put, delete) = (self.put("a", "1"), self.delete("none"));
        let refusals = [refusal(put), refusal(delete)];
        assert_eq!(refusals[0], refusals[1]);
        match refusals[0] {
            Some(index) => {
                assert_eq!(self.table().index_name(index).as_deref(), Some(by));
                true
            }
            None => false,
        }
    }
}

#[test]
fn a_table_is_read_and_not_written_until_its_index_is_attached() {
    let mut s = Setup::new();
    s.create("i", UNIQUE).unwrap();
    for attaches in [false, true] {
        s = s.crash();
        assert_eq!(s.indexes(), [("i".to_owned(), false)]);
        assert!(s.is_refused("i"));
        let table = s.table();
        assert_eq!(s.durable.read(&table).len(), 1);
        if attaches {
            let index = s.create("i", UNIQUE).unwrap();
            assert_eq!(index.state(), IndexState::Ready);
        }
    }
    assert_eq!(s.indexes(), [("i".to_owned(), true)]);
    s.put("b", "2").unwrap();
    let duplicate = s.put("c", "1");
    assert!(matches!(duplicate, Err(Error::DuplicateIndexKey { .. })));
    // The index was not recorded a second time.
    s = s.crash();
    assert_eq!(s.indexes(), [("i".to_owned(), false)]);
}

#[test]
fn all_indexes_must_be_there_before_a_table_is_written() {
    let mut s = Setup::new();
    s.create("i", UNIQUE).unwrap();
    s.create("j", IndexOptions::default()).unwrap();
    s.durable
        .run(async |s: Rc<Session>| s.checkpoint().await)
        .unwrap();
    s = s.crash();
    s.create("i", UNIQUE).unwrap();
    assert!(s.is_refused("j"));
    s.create("j", IndexOptions::default()).unwrap();
    assert!(!s.is_refused("j"));
}

#[test]
fn an_attached_index_must_be_the_recorded_one() {
    let mut s = Setup::new();
    s.create_described("i", b"text", UNIQUE).unwrap();
    s = s.crash();
    let options = IndexOptions::default();
    let differs = s.create_described("i", b"text", options);
    assert_eq!(differs.unwrap_err(), BuildError::Different);
    let differs = s.create_described("i", b"number", UNIQUE);
    assert_eq!(differs.unwrap_err(), BuildError::Different);
    assert!(s.is_refused("i"));
    s.create_described("i", b"text", UNIQUE).unwrap();
    assert!(!s.is_refused("i"));
}

/// An attachment that fails, or is given up, leaves the table as it was: it refuses writes.
#[test]
fn a_build_that_is_given_up_attaches_nothing() {
    let mut s = Setup::new();
    s.put("b", "2").unwrap();
    s.create("i", UNIQUE).unwrap();
    s = s.crash();
    let table = s.table();
    // The extracting function is not the original one.
    let failed = s.durable.run(async move |session: Rc<Session>| {
        let constant: Extractor = Arc::new(|_, _, keys| keys.push(b"x"));
        let build = session.begin_index(&table, "i", UNIQUE, constant)?;
        build.run(|_| {}).await
    });
    assert!(matches!(failed, Err(BuildError::Duplicate { .. })));
    assert!(s.is_refused("i"));
    let table = s.table();
    let build = s.durable.session();
    let build = build.begin_index(&table, "i", UNIQUE, by_value()).unwrap();
    assert!(s.is_refused("i"));
    drop(build);
    assert!(s.is_refused("i"));
    s.create("i", UNIQUE).unwrap();
    assert!(!s.is_refused("i"));
}

#[test]
fn an_index_is_dropped_and_renamed_without_being_attached() {
    let mut s = Setup::new();
    s.create("i", UNIQUE).unwrap();
    s = s.crash();
    s.ddl(async |txn: &Transaction| txn.rename_index::<Interleaved>("i", "j").await)
        .unwrap();
    assert!(s.is_refused("j"));
    s = s.crash();
    assert!(s.is_refused("j"));
    // Without a commit, nothing changes.
    let failed = s.ddl(async |txn: &Transaction| {
        txn.drop_index_named::<Interleaved>("j").await?;
        Err::<(), _>(Error::DuplicateKey)
    });
    assert_eq!(failed, Err(Error::DuplicateKey));
    assert!(s.is_refused("j"));
    s.ddl(async |txn: &Transaction| txn.drop_index_named::<Interleaved>("j").await)
        .unwrap();
    assert!(!s.is_refused("j"));
    s.put("b", "1").unwrap();
    let again = s.ddl(async |txn: &Transaction| txn.drop_index_named::<Interleaved>("j").await);
    assert_eq!(again, Err(Error::NoSuchTable));
    s = s.crash();
    assert_eq!(s.indexes(), []);
    s.put("c", "1").unwrap();
}

#[test]
fn an_index_that_is_there_is_dropped_and_renamed_with_its_record() {
    let mut s = Setup::new();
    let index = s.create("i", UNIQUE).unwrap();
    s.ddl(async |txn: &Transaction| txn.rename_index::<Interleaved>("i", "j").await)
        .unwrap();
    assert_eq!(*index.name(), *"j");
    assert_eq!(s.create("j", UNIQUE).unwrap_err(), BuildError::Exists);
    let dropped = index.clone();
    let drops = async move |session: Rc<Session>| session.drop_index(&dropped).await;
    assert_eq!(s.durable.run(drops.clone()), Ok(true));
    assert_eq!(index.state(), IndexState::Dropped);
    assert_eq!(s.durable.run(drops), Ok(false));
    s.put("b", "1").unwrap();
    s = s.crash();
    assert_eq!(s.indexes(), []);
    s.put("c", "1").unwrap();
}

/// A transaction that truncates a table, before or after it drops an index, leaves the new storage
/// without it; after a truncation alone, the new storage still refuses writes.
#[test]
fn missing_indexes_follow_their_table_through_a_truncation() {
    let mut s = Setup::new();
    s.create("i", UNIQUE).unwrap();
    s.create("j", UNIQUE).unwrap();
    s = s.crash();
    s.ddl(async |txn: &Transaction| {
        txn.truncate_table::<Interleaved>("t").await?;
        txn.drop_index_named::<Interleaved>("i").await
    })
    .unwrap();
    assert!(s.is_refused("j"));
    s.ddl(async |txn: &Transaction| {
        txn.drop_index_named::<Interleaved>("j").await?;
        txn.truncate_table::<Interleaved>("t").await
    })
    .unwrap();
    assert!(!s.is_refused("j"));
}

/// Tables and indexes share names; a name that is taken is found at the end of the build.
#[test]
fn an_index_with_the_name_of_a_table_is_not_made() {
    let mut s = Setup::new();
    assert_eq!(s.create("t", UNIQUE).unwrap_err(), BuildError::Exists);
    assert_eq!(s.table().indexes().len(), 0);
    s.put("b", "1").unwrap();
    assert_eq!(s.indexes(), []);
}

/// Runs the steps of a build up to a crash. After any number of steps: without a record there is no
/// index, and with a record no transaction writes without it.
#[test]
fn an_index_is_recorded_or_not_wherever_its_build_meets_a_crash() {
    let (mut recorded, mut steps) = (false, 0);
    while !recorded {
        // Whether the last step, which may be the one that writes the record, has waited for the
        // disk.
        for waits in [false, true] {
            let mut s = Setup::new();
            let table = s.table();
            let is_ready = s.durable.run(async move |session: Rc<Session>| {
                let mut build = session
                    .begin_index(&table, "i", UNIQUE, by_value())
                    .unwrap();
                for step in 0..=steps {
                    let mut next = pin!(build.step::<Interleaved>());
                    let done = match waits || step < steps {
                        true => next.await,
                        false => {
                            let once = std::future::poll_fn(|cx| match next.as_mut().poll(cx) {
                                Poll::Ready(done) => Poll::Ready(Some(done)),
                                Poll::Pending => Poll::Ready(None),
                            });
                            match once.await {
                                Some(done) => done,
                                None => return false,
                            }
                        }
                    };
                    match done.unwrap() {
                        BuildStep::Ready => return true,
                        BuildStep::Waits => {
                            interleave::sleep(std::time::Duration::from_micros(10)).await;
                        }
                        _ => {}
                    }
                }
                false
            });
            s = s.crash();
            let is_recorded = !s.indexes().is_empty();
            assert!(is_recorded || !is_ready, "step {steps}");
            assert_eq!(s.is_refused("i"), is_recorded, "step {steps}");
            s.create("i", UNIQUE).unwrap();
            let duplicate = s.put("b", "1");
            assert!(matches!(duplicate, Err(Error::DuplicateIndexKey { .. })));
            recorded = is_recorded;
        }
        steps += 1;
    }
}
