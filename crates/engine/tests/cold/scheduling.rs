//! The order in which workers read cold records.

use super::*;

/// Makes a table whose records have left memory, on a slow device, for a worker with this scheduling.
fn on_slow_device(scheduling: Scheduling, count: u64) -> (Durable, Arc<Table>) {
    let faults = Faults {
        delay_reaps_min: 2,
        delay_reaps_max: 9,
        ..Faults::default()
    };
    let mut durable = open(SimulatedDisk::new(7, faults).directory());
    let table = demoted_after(&mut durable, count);
    durable.worker.configure(WorkerConfig {
        in_flight: InFlight::Fixed(8),
        scheduling,
        ..WorkerConfig::default()
    });
    (durable, table)
}

const RESERVED: Scheduling = Scheduling::Reserved { device_slots: 1 };
const DUAL: Scheduling = Scheduling::DualQueue {
    cold_slots: 1,
    visit_interval: 2,
};

/// Adds up records, incrementing the first of them, until the transaction commits.
async fn add_up(session: Rc<Session>, table: Arc<Table>, records: Vec<u64>) -> usize {
    loop {
        let attempt = async {
            let transaction = session.begin(Isolation::Snapshot)?;
            let mut sum = 0;
            for &i in &records {
                let key = key(i);
                let bytes = transaction.get::<Interleaved, _>(&table, &key, <[u8]>::len);
                sum += bytes.await?.unwrap_or(0);
            }
            let first = key(records[0]);
            transaction
                .update::<Interleaved>(&table, &first, &vec![0; sum])
                .await?;
            transaction.commit().await?;
            Ok(sum)
        };
        match attempt.await {
            Ok(sum) => return sum,
            Err(Error::Abort(Abort::ReadRefused)) => interleave::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn every_scheduler_runs_the_same_transactions() {
    let schedulers = [
        Scheduling::Sequential,
        Scheduling::StrictBatch,
        RESERVED,
        DUAL,
        Scheduling::Pipelined,
    ];
    for scheduling in schedulers {
        let (mut durable, table) = on_slow_device(scheduling, 1000);
        let tasks: Vec<_> = (0..100)
            .map(|i| {
                let table = table.clone();
                // Some tasks meet records that others have made hot.
                let records = vec![i, 500 + i / 2, 700 + i % 20];
                let add_up = move |session: &Rc<Session>| add_up(session.clone(), table, records);
                durable.worker.handle().submit(add_up)
            })
            .collect();
        for (i, task) in (0..).zip(tasks) {
            let expected = [i, 500 + i / 2, 700 + i % 20].map(|i| value(i).len());
            let sum = durable.worker.run_until(task).unwrap();
            assert_eq!(sum, expected.iter().sum::<usize>(), "{scheduling:?}");
        }
        durable.session().tend();
        let stats = durable.database.stats();
        assert!(stats.device_reads >= 170, "{scheduling:?}");
        assert_eq!(stats.device_reads, stats.device_reads_ended);
        let is_dual = scheduling == DUAL;
        assert_eq!(stats.aborts_read_refused > 0, is_dual, "{scheduling:?}");
        if is_dual || scheduling == RESERVED {
            // Never more than the one read.
            assert_eq!(stats.device_depth_sum, stats.device_reads);
        }
        // The number of reads that the gate itself lets in depends on how fast they come.
        if scheduling != Scheduling::Pipelined {
            let waits = scheduling == RESERVED;
            assert_eq!(stats.device_reads_held_back > 0, waits, "{scheduling:?}");
        }
    }
}

/// Reads a record with that priority.
fn read_as(
    durable: &Durable,
    table: &Arc<Table>,
    i: u64,
    priority: Priority,
    log: &Arc<Mutex<Vec<u64>>>,
) -> JoinHandle<(), Session> {
    let (table, log) = (table.clone(), log.clone());
    let read = move |session: &Rc<Session>| {
        let session = session.clone();
        async move {
            let transaction = session.begin(Isolation::Snapshot).unwrap();
            transaction.set_priority(priority);
            assert_eq!(get(&transaction, &table, i).await, Some(value(i)));
            log.lock().unwrap().push(i);
        }
    };
    durable.worker.handle().submit(read)
}

#[test]
fn reads_of_interactive_transactions_go_first() {
    let (mut durable, table) = on_slow_device(RESERVED, 1000);
    let log = Arc::default();
    let read = |i, priority| read_as(&durable, &table, i, priority, &log);
    let tasks: Vec<_> = (0..4)
        .map(|i| read(i * 100, Priority::Batch))
        .chain((4..8).map(|i| read(i * 100, Priority::Interactive)))
        .collect();
    for task in tasks {
        durable.worker.run_until(task).unwrap();
    }
    let order = [0, 400, 500, 600, 700, 100, 200, 300];
    assert_eq!(*log.lock().unwrap(), order);
}

#[test]
fn a_task_cancelled_in_front_of_the_device_is_not_missed() {
    let (mut durable, table) = on_slow_device(RESERVED, 1000);
    let log = Arc::default();
    let mut tasks: Vec<_> = (0..8)
        .map(|i| read_as(&durable, &table, i * 100, Priority::Interactive, &log))
        .collect();
    durable.worker.step_intake();
    while durable.worker.step_choices() > 0 {
        durable.worker.step(0);
    }
    // Removes the task that reads, and some of those that wait.
    tasks.retain({
        let mut at = 0;
        move |_| {
            at += 1;
            at % 3 != 1
        }
    });
    for task in tasks {
        durable.worker.run_until(task).unwrap();
    }
    assert_eq!(*log.lock().unwrap(), [100, 200, 400, 500, 700]);
    let last = read_as(&durable, &table, 900, Priority::Batch, &log);
    durable.worker.run_until(last).unwrap();
}

#[test]
fn a_reader_of_many_is_not_refused_for_its_own_reads() {
    let (mut durable, table) = on_slow_device(DUAL, 3000);
    let found = durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        let keys: Vec<_> = (0..6).map(|i| key(i * 500)).collect();
        let read = |at: usize, bytes: &[u8]| assert_eq!(bytes, value(at as u64 * 500));
        transaction
            .multi_get::<Interleaved, _>(&table, keys.iter(), read)
            .await
    });
    assert_eq!(found, Ok(6));
    durable.session().tend();
    let stats = durable.database.stats();
    assert_eq!((stats.device_reads, stats.device_depth_sum), (6, 6));
}
