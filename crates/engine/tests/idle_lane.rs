//! A lane that has written nothing since the last checkpoint needs no log files, and
//! one that has needs all of them.
//!
//! Recovery used to note how many blocks a lane had ever had, although a checkpoint had made them
//! superfluous, and freed its files. Once one was used again, the next opening missed those blocks
//! and refused the directory. On the other hand, recovery looked for missing files only in
//! incarnations of which some file was left: the loss of all files went unnoticed.

use crate::durable;

use std::rc::Rc;

use durable::{Durable, open};
use engine::{Isolation, OpenError, Session, Table};
use interleave::{Clock, Interleaved, Worker, WorkerConfig};
use io::{Faults, SimulatedDisk};

fn write(durable: &mut Durable, key: u8) {
    let table = durable.database.table("t").expect("there");
    let record = (vec![key], Some(vec![key; 100]));
    durable.write(&table, vec![record]).expect("commits");
}

/// Writes a record in a lane of its own.
fn write_in_another_lane(durable: &Durable, key: u8) {
    let table: std::sync::Arc<Table> = durable.database.table("t").expect("there");
    let session = Session::new(&durable.database).expect("a session");
    let mut worker = Worker::new(WorkerConfig::default(), session, Clock::real());
    let task = worker.handle().submit(move |session: &Rc<Session>| {
        let session = session.clone();
        async move {
            let transaction = session.begin(Isolation::Snapshot)?;
            transaction
                .upsert::<Interleaved>(&table, &[key], &[key])
                .await?;
            transaction.commit().await
        }
    });
    let committed = worker.run_until(task).expect("the task ends");
    committed.expect("commits");
}

fn checkpoint(durable: &mut Durable) {
    let taken = durable.run(async |session: Rc<Session>| session.checkpoint().await);
    taken.expect("a checkpoint");
}

#[test]
fn files_of_an_idle_lane_may_be_used_again() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open(disk.directory()).unwrap();
    durable.create_table("t", b"").unwrap();
    write(&mut durable, 1);
    write_in_another_lane(&durable, 2);
    checkpoint(&mut durable);
    // The other lane is idle from now on, this one is not.
    for key in 3..8 {
        write(&mut durable, key);
        drop(durable);
        durable = open(disk.directory()).unwrap();
    }
    let table = durable.database.table("t").unwrap();
    assert_eq!(durable.read(&table).len(), 7);
}

#[test]
fn a_missing_file_is_noticed_though_it_was_the_only_one() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open(disk.directory()).unwrap();
    durable.create_table("t", b"").unwrap();
    write(&mut durable, 1);
    drop(durable);
    drop(open(disk.directory()).unwrap());
    disk.directory().remove("log-00000000").unwrap();
    assert!(matches!(
        open(disk.directory()),
        Err(OpenError::Lost { lane: 0, .. })
    ));
}
