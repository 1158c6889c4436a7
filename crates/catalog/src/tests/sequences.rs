//! Values of sequences: each once, whatever happens.

use std::{
    collections::BTreeSet,
    ops::{Bound, ControlFlow},
    sync::Arc,
};

use engine::{Direction, Transaction};
use interleave::Interleaved;
use types::{Scalar, Type};

use super::bed::{Bed, begin, said};
use crate::{
    Behavior, Catalogs, Comments, CounterState, Ddl, ObjectId, Sequence, SequenceOptions,
    SessionValues, Target, failure::from_engine,
};

fn sequence(name: &str, options: SequenceOptions) -> Sequence {
    Sequence {
        id: ObjectId::default(),
        schema: ObjectId::PUBLIC,
        name: Arc::from(name),
        options,
        owned_by: None,
        counter: ObjectId::default(),
        comments: Comments::default(),
    }
}

async fn next_value(
    catalogs: &Catalogs,
    transaction: &Transaction,
    sequence: &Sequence,
) -> types::Result<i64> {
    let mut values = Vec::new();
    catalogs
        .next_values(transaction, sequence, 1, &mut values)
        .await?;
    Ok(values[0])
}

fn bigint() -> SequenceOptions {
    SequenceOptions::ascending(Type::Scalar(Scalar::Int8))
}

impl Bed {
    fn sequence(&mut self, options: SequenceOptions) -> ObjectId {
        let new = sequence("s", options);
        self.ddl(async move |ddl| ddl.create_sequence(new).await)
            .unwrap()
    }

    /// Takes `count` values in one transaction.
    fn values(&mut self, id: ObjectId, count: usize, commits: bool) -> types::Result<Vec<i64>> {
        self.run(async move |session, catalogs| {
            let (transaction, changes) = begin(&session, &catalogs);
            let sequence = changes.catalog().sequence(id).unwrap().clone();
            let mut values = Vec::new();
            for _ in 0..count {
                values.push(next_value(&catalogs, &transaction, &sequence).await?);
            }
            match commits {
                true => drop(transaction.commit().await.map_err(from_engine)?),
                false => transaction.rollback(),
            }
            Ok(values)
        })
    }

    fn set(&mut self, id: ObjectId, last: i64, is_called: bool) -> types::Result<()> {
        self.run(async move |session, catalogs| {
            let (transaction, changes) = begin(&session, &catalogs);
            let sequence = changes.catalog().sequence(id).unwrap().clone();
            let state = CounterState { last, is_called };
            catalogs.set_value(&transaction, &sequence, state).await?;
            transaction.commit().await.map_err(from_engine)?;
            Ok(())
        })
    }
}

#[test]
fn no_rollback_gives_values_back() {
    let mut bed = Bed::new();
    let id = bed.sequence(bigint());
    assert_eq!(bed.values(id, 3, false).unwrap(), [1, 2, 3]);
    assert_eq!(bed.values(id, 2, true).unwrap(), [4, 5]);
    let all: Vec<i64> = (6..=106).collect();
    assert_eq!(bed.values(id, 101, true).unwrap(), all);
}

#[test]
fn no_crash_gives_a_value_again_that_was_acknowledged() {
    let mut bed = Bed::new();
    let id = bed.sequence(bigint());
    let mut given = BTreeSet::new();
    for round in 0..12 {
        for value in bed.values(id, round * 7 + 1, true).unwrap() {
            assert!(given.insert(value), "{value} again");
        }
        bed = bed.crash();
    }
    // At most 32 values are lost each time.
    assert!(*given.last().unwrap() <= given.len() as i64 + 12 * 32);
}

#[test]
fn one_that_is_set_goes_on_from_there_after_a_crash_too() {
    let mut bed = Bed::new();
    let id = bed.sequence(bigint());
    bed.values(id, 2, true).unwrap();
    bed.set(id, 100, true).unwrap();
    assert_eq!(bed.values(id, 1, true).unwrap(), [101]);
    bed.set(id, 50, false).unwrap();
    bed = bed.crash();
    assert_eq!(bed.values(id, 2, true).unwrap(), [50, 51]);
    let message = "setval: value 0 is out of bounds for sequence \"s\" (1..9223372036854775807)";
    assert_eq!(said(bed.set(id, 0, true)), ("22003".into(), message.into()));
}

#[test]
fn they_end_or_begin_again() {
    let mut bed = Bed::new();
    let options = SequenceOptions {
        maximum: 3,
        ..bigint()
    };
    let id = bed.sequence(options);
    assert_eq!(bed.values(id, 3, true).unwrap(), [1, 2, 3]);
    let message = "nextval: reached maximum value of sequence \"s\" (3)";
    assert_eq!(
        said(bed.values(id, 1, true)),
        ("2200H".into(), message.into())
    );
    let mut bed = Bed::new();
    let id = bed.sequence(SequenceOptions {
        cycle: true,
        ..options
    });
    assert_eq!(bed.values(id, 7, true).unwrap(), [1, 2, 3, 1, 2, 3, 1]);
    let mut bed = Bed::new();
    let down = SequenceOptions {
        start: -1,
        increment: -2,
        minimum: -5,
        maximum: -1,
        ..options
    };
    let id = bed.sequence(down);
    assert_eq!(bed.values(id, 3, true).unwrap(), [-1, -3, -5]);
    let message = "nextval: reached minimum value of sequence \"s\" (-5)";
    assert_eq!(
        said(bed.values(id, 1, true)),
        ("2200H".into(), message.into())
    );
    let mut bed = Bed::new();
    let edge = SequenceOptions {
        start: i64::MAX - 1,
        ..bigint()
    };
    let id = bed.sequence(edge);
    assert_eq!(bed.values(id, 2, true).unwrap(), [i64::MAX - 1, i64::MAX]);
    assert_eq!(said(bed.values(id, 1, true)).0, "2200H");
}

#[test]
fn a_restart_is_undone_with_its_transaction() {
    let mut bed = Bed::new();
    let id = bed.sequence(bigint());
    bed.values(id, 5, true).unwrap();
    bed.run(async move |session, catalogs| {
        let (transaction, changes) = begin(&session, &catalogs);
        let ddl = Ddl::new(&transaction, &changes);
        let restarted = ddl.alter_sequence(id, true, |_| Ok(())).await.unwrap();
        assert_eq!(
            next_value(&catalogs, &transaction, &restarted)
                .await
                .unwrap(),
            1
        );
        transaction.rollback();
    });
    assert_eq!(bed.values(id, 1, true).unwrap(), [6]);
    bed.ddl(async move |ddl| {
        let from_ten = |sequence: &mut Sequence| {
            sequence.options.start = 10;
            Ok(())
        };
        ddl.alter_sequence(id, true, from_ten).await
    })
    .unwrap();
    assert_eq!(bed.values(id, 2, true).unwrap(), [10, 11]);
}

/// Restarts once left a counter and a record each for good, which filled a database that was
/// restarted daily.
#[test]
fn restarts_leave_no_records_and_old_descriptors_take_no_values() {
    let mut bed = Bed::new();
    let id = bed.sequence(bigint());
    let old = bed.catalogs.current().sequence(id).unwrap().clone();
    for _ in 0..100 {
        assert_eq!(bed.values(id, 2, true).unwrap(), [1, 2]);
        bed.ddl(async move |ddl| ddl.alter_sequence(id, true, |_| Ok(())).await)
            .unwrap();
    }
    let straggler = old.clone();
    let (value, stands) = bed.run(async move |session, catalogs| {
        let (transaction, _) = begin(&session, &catalogs);
        let value = next_value(&catalogs, &transaction, &straggler).await;
        let stands = catalogs.state_of(&transaction, &straggler).await;
        (value.unwrap(), stands.unwrap())
    });
    assert_eq!((value, stands.last, stands.is_called), (1, 1, true));
    let records = bed.run(async move |session, catalogs| {
        let (transaction, _) = begin(&session, &catalogs);
        let (mut count, counters) = (0, &catalogs.tables.counters);
        let all = (Bound::Unbounded, Bound::Unbounded);
        let counted = transaction.scan::<Interleaved>(counters, all, Direction::Forward, |_, _| {
            count += 1;
            ControlFlow::Continue(())
        });
        counted.await.unwrap();
        count
    });
    // One record is that of objects' numbers, the other that of the counter in use.
    assert_eq!(records, 2);
    bed.drop(&[Target::Object(id)], Behavior::Restrict).unwrap();
    let gone = bed.run(async move |session, catalogs| {
        let (transaction, _) = begin(&session, &catalogs);
        next_value(&catalogs, &transaction, &old).await.map(drop)
    });
    let message = "relation \"s\" does not exist";
    assert_eq!(said(gone), ("42P01".into(), message.into()));
}

/// Many tasks take values at once, on two threads.
#[test]
fn none_is_given_twice_to_two() {
    let mut bed = Bed::new();
    let id = bed.sequence(bigint());
    let (database, catalogs) = (bed.database.clone(), bed.catalogs.clone());
    let other = std::thread::spawn(move || {
        use interleave::{Clock, Worker, WorkerConfig};
        let session = engine::Session::new(&database).unwrap();
        let mut worker = Worker::new(WorkerConfig::default(), session, Clock::real());
        let task = worker.handle().submit(move |session| {
            let session = session.clone();
            async move { take_many(session, catalogs, id).await }
        });
        worker.run_until(task).unwrap()
    });
    let mine = bed.run(async move |session, catalogs| take_many(session, catalogs, id).await);
    let theirs = other.join().unwrap();
    let all: BTreeSet<_> = mine.iter().chain(&theirs).copied().collect();
    assert_eq!(all.len(), mine.len() + theirs.len());
    assert_eq!(
        *all.last().unwrap(),
        all.len() as i64,
        "none is left out either"
    );
    assert!(mine.is_sorted() && theirs.is_sorted());
}

async fn take_many(
    session: std::rc::Rc<engine::Session>,
    catalogs: Arc<crate::Catalogs>,
    id: ObjectId,
) -> Vec<i64> {
    let mut values = Vec::new();
    for _ in 0..500 {
        let (transaction, changes) = begin(&session, &catalogs);
        let sequence = changes.catalog().sequence(id).unwrap().clone();
        values.push(
            next_value(&catalogs, &transaction, &sequence)
                .await
                .unwrap(),
        );
        transaction.rollback();
    }
    values
}

#[test]
fn a_session_knows_what_it_has_got() {
    let (one, mut other) = (sequence("one", bigint()), sequence("other", bigint()));
    (other.id, other.counter) = (ObjectId(7), ObjectId(7));
    let values = SessionValues::default();
    let message = "currval of sequence \"one\" is not yet defined in this session";
    assert_eq!(said(values.current(&one)), ("55000".into(), message.into()));
    assert_eq!(
        said(values.last(|_| true)).1,
        "lastval is not yet defined in this session"
    );
    values.note(&one, 3, true);
    values.note(&other, 9, false);
    assert_eq!(values.current(&one).unwrap(), 3);
    assert_eq!(values.current(&other).unwrap(), 9);
    assert_eq!(values.last(|_| true).unwrap(), 3);
    assert!(values.last(|_| false).is_err(), "it was dropped");
}
