//! Indexes of the catalog: of expressions, partial ones, built in a transaction or beside writers.

use futures_lite::future::zip;

use super::bed::{Bed, begin, by, expression, new_index, new_table, put, said};
use crate::{
    Behavior, Constraint, Ddl, Dependency, IndexKey, NewIndex, ObjectId, Target,
    create_index_concurrently, failure::from_engine,
};

/// Returns `create unique index on (lower(a)) where b is not null`.
fn expression_index(table: ObjectId, name: &str) -> NewIndex {
    let lower = expression("lower(0)", &[Dependency::on_column(table, 0)]);
    NewIndex {
        columns: vec![by(IndexKey::Expression(lower))],
        predicate: Some(expression(
            "1 is not null",
            &[Dependency::on_column(table, 1)],
        )),
        ..new_index(name, true, 0)
    }
}

impl Bed {
    fn create_index(&mut self, table: ObjectId, new: NewIndex) -> types::Result<()> {
        self.ddl(async move |ddl| ddl.create_index(table, new).await)
            .map(drop)
    }

    fn create_concurrently(&mut self, table: ObjectId, new: NewIndex) -> types::Result<()> {
        self.run(async move |session, catalogs| {
            create_index_concurrently(&session, &catalogs, catalogs.current(), table, new).await
        })
    }

    fn valid(&self, table: ObjectId) -> Vec<(String, bool)> {
        let table = self.current(table);
        let indexes = table.indexes.iter();
        indexes
            .map(|index| (index.name.to_string(), index.is_valid))
            .collect()
    }
}

#[test]
fn an_expression_and_a_predicate_say_which_rows_are_equal() {
    let mut bed = Bed::new();
    let id = bed.table("t", &["a", "b"]);
    bed.write(
        id,
        &[
            ("1", "Ann,x"),
            ("2", "ann,"),
            ("3", "ANN,"),
            ("4", ",y"),
            ("5", ",y"),
        ],
    )
    .unwrap();
    bed.create_index(id, expression_index(id, "i")).unwrap();
    for _ in 0..2 {
        assert_eq!(
            said(bed.write(id, &[("6", "aNN,z")])).0,
            "23505",
            "the key is taken"
        );
        bed.write(id, &[("6", "aNN,")]).unwrap();
        assert_eq!(said(bed.write(id, &[("6", "ann,x")])).0, "23505");
        bed.check_indexes(id);
        // The index is built again when the database is opened.
        bed = bed.crash();
    }
    let handle = bed.current(id).indexes[0].handle.clone().unwrap();
    let rows = bed.run(async move |session, _| {
        let transaction = session.begin(engine::Isolation::Snapshot).unwrap();
        let found =
            transaction
                .get_by::<interleave::Interleaved, _>(&handle, b"ann\0", |key, _| key.to_vec());
        found.await.unwrap()
    });
    assert_eq!(rows.as_deref(), Some(&b"1"[..]));
    // An index is dropped along with a column that its expression, or its predicate, uses.
    bed.ddl(async move |ddl| ddl.drop(&[Target::Column(id, 1)], Behavior::Restrict).await)
        .unwrap();
    assert!(bed.valid(id).is_empty());
    bed.write(id, &[("7", "ann,x")]).unwrap();
}

#[test]
fn rows_with_equal_keys_are_reported_and_nothing_is_left() {
    let mut bed = Bed::new();
    let id = bed.table("t", &["a", "b"]);
    bed.write(id, &[("1", "Ann,x"), ("2", "ann,y")]).unwrap();
    let refused = bed.create_index(id, expression_index(id, "i"));
    assert_eq!(
        said(refused),
        ("23505".into(), "could not create unique index \"i\"".into())
    );
    assert!(bed.valid(id).is_empty() && bed.current(id).storage().indexes().is_empty());
    bed.write(id, &[("3", "ann,z")]).unwrap();
    bed.create_index(id, new_index("i", false, 0)).unwrap();
    let taken = bed.create_index(id, new_index("t", false, 0));
    assert_eq!(
        said(taken),
        ("42P07".into(), "relation \"t\" already exists".into())
    );
    assert_eq!(bed.current(id).storage().indexes().len(), 1);
    bed = bed.crash();
    assert_eq!(bed.valid(id), [("i".to_owned(), true)]);
}

#[test]
fn a_failed_statement_leaves_the_transaction_to_go_on() {
    let mut bed = Bed::new();
    let id = bed.table("t", &["a"]);
    bed.run(async move |session, catalogs| {
        let (transaction, changes) = begin(&session, &catalogs);
        let ddl = Ddl::new(&transaction, &changes);
        put(&transaction, &changes, id, "1", "x").await.unwrap();
        put(&transaction, &changes, id, "2", "x").await.unwrap();
        let mark = changes.mark(&transaction).unwrap();
        ddl.create_index(id, new_index("u", true, 0))
            .await
            .unwrap_err();
        changes.return_to(&transaction, &mark).await.unwrap();
        put(&transaction, &changes, id, "2", "y").await.unwrap();
        ddl.create_index(id, new_index("u", true, 0)).await.unwrap();
        ddl.rename(changes.catalog().table(id).unwrap().indexes[0].id, "v")
            .await
            .unwrap();
        let dropped = changes.mark(&transaction).unwrap();
        let index = changes.catalog().table(id).unwrap().indexes[0].id;
        ddl.drop(&[Target::Index(id, index)], Behavior::Restrict)
            .await
            .unwrap();
        put(&transaction, &changes, id, "3", "y").await.unwrap();
        changes.return_to(&transaction, &dropped).await.unwrap();
        put(&transaction, &changes, id, "3", "y").await.unwrap_err();
        transaction.commit().await.unwrap();
    });
    assert_eq!(bed.valid(id), [("v".to_owned(), true)]);
    bed.check_indexes(id);
}

#[test]
fn of_a_table_of_the_same_transaction_with_constraints_and_a_truncation() {
    let mut bed = Bed::new();
    let id = bed.run(async |session, catalogs| {
        let (transaction, changes) = begin(&session, &catalogs);
        let ddl = Ddl::new(&transaction, &changes);
        let table = ddl.create_table(new_table("t", &["a", "b"])).await.unwrap();
        put(&transaction, &changes, table.id, "1", "x,y")
            .await
            .unwrap();
        let key = NewIndex {
            constraint: Some(Constraint::PrimaryKey),
            ..new_index("t_pkey", true, 0)
        };
        ddl.create_index(table.id, key.clone()).await.unwrap();
        let mark = changes.mark(&transaction).unwrap();
        let second = NewIndex {
            name: "second".to_owned(),
            ..key
        };
        let second = ddl.create_index(table.id, second).await;
        let message = "multiple primary keys for table \"t\" are not allowed";
        assert_eq!(said(second), ("42P16".into(), message.into()));
        changes.return_to(&transaction, &mark).await.unwrap();
        ddl.truncate(&[table.id], true, Behavior::Restrict)
            .await
            .unwrap();
        put(&transaction, &changes, table.id, "2", "x,y")
            .await
            .unwrap();
        put(&transaction, &changes, table.id, "3", "x,z")
            .await
            .unwrap_err();
        transaction.commit().await.unwrap();
        table.id
    });
    bed.check_indexes(id);
    bed = bed.crash();
    let table = bed.current(id);
    let key = table.primary_key.as_ref().unwrap();
    assert_eq!(
        (&*key.columns, key.index),
        (&[0][..], Some(table.indexes[0].id))
    );
    assert!(table.columns[0].not_null);
    assert_eq!(said(bed.write(id, &[("4", "x,z")])).0, "23505");
    bed.write(id, &[("2", "w,y"), ("4", "x,z")]).unwrap();
    bed.check_indexes(id);
}

#[test]
fn built_beside_writers_it_is_as_complete() {
    let mut bed = Bed::new();
    let id = bed.table("t", &["a", "b"]);
    let rows: Vec<_> = (0..500)
        .map(|n| (format!("{n:03}"), format!("v{n},x")))
        .collect();
    let rows: Vec<_> = rows.iter().map(|(key, value)| (&**key, &**value)).collect();
    bed.write(id, &rows).unwrap();
    bed.run(async move |session, catalogs| {
        let build = create_index_concurrently(
            &session,
            &catalogs,
            catalogs.current(),
            id,
            expression_index(id, "i"),
        );
        let writers = async {
            for n in 0..200 {
                let (transaction, changes) = begin(&session, &catalogs);
                let key = format!("{:03}", n * 7 % 600);
                put(&transaction, &changes, id, &key, &format!("w{n},y")).await?;
                transaction.commit().await.map_err(from_engine)?;
            }
            Ok::<_, types::SqlError>(())
        };
        let (built, written) = zip(build, writers).await;
        built.unwrap();
        written.unwrap();
    });
    assert_eq!(bed.valid(id), [("i".to_owned(), true)]);
    bed.check_indexes(id);
    bed = bed.crash();
    bed.check_indexes(id);
    assert_eq!(said(bed.write(id, &[("a", "W1,q")])).0, "23505");
}

#[test]
fn what_could_not_be_built_beside_writers_stays_until_it_is_dropped() {
    let mut bed = Bed::new();
    let id = bed.table("t", &["a", "b"]);
    bed.write(id, &[("1", "Ann,x"), ("2", "ann,y")]).unwrap();
    let refused = bed.create_concurrently(id, expression_index(id, "i"));
    assert_eq!(said(refused).0, "23505");
    assert_eq!(bed.valid(id), [("i".to_owned(), false)]);
    for _ in 0..2 {
        // The index is in the way of no write.
        bed.write(id, &[("3", "ann,z")]).unwrap();
        let taken = bed.create_concurrently(id, new_index("i", false, 0));
        assert_eq!(said(taken).0, "42P07");
        bed = bed.crash();
    }
    let index = bed.current(id).indexes[0].id;
    bed.ddl(async move |ddl| {
        ddl.drop(&[Target::Index(id, index)], Behavior::Restrict)
            .await
    })
    .unwrap();
    bed.create_concurrently(id, new_index("i", false, 0))
        .unwrap();
    assert_eq!(bed.valid(id), [("i".to_owned(), true)]);
}

/// The engine has the index and the catalog does not call it valid, as after a crash in between.
#[test]
fn an_index_that_only_the_engine_finished_goes_when_the_database_is_opened() {
    let mut bed = Bed::new();
    let id = bed.table("t", &["a"]);
    bed.create_concurrently(id, new_index("i", true, 0))
        .unwrap();
    bed.ddl(async move |ddl| {
        let forget = |table: &mut crate::Table| {
            let mut indexes = table.indexes.to_vec();
            indexes[0].is_valid = false;
            table.indexes = indexes.into();
            Ok(())
        };
        ddl.alter_table(id, engine::TableLockMode::ShareUpdateExclusive, forget)
            .await
    })
    .unwrap();
    bed = bed.crash();
    assert_eq!(bed.valid(id), [("i".to_owned(), false)]);
    bed.write(id, &[("1", "x"), ("2", "x")]).unwrap();
}

/// The table is dropped, or emptied, while its index is built.
#[test]
fn a_table_that_is_dropped_or_truncated_meanwhile_ends_the_build() {
    for drops in [true, false] {
        let mut bed = Bed::new();
        let id = bed.table("t", &["a"]);
        let rows: Vec<_> = (0..2000)
            .map(|n| (format!("{n:04}"), format!("{n}")))
            .collect();
        let rows: Vec<_> = rows.iter().map(|(key, value)| (&**key, &**value)).collect();
        bed.write(id, &rows).unwrap();
        let built = bed.run(async move |session, catalogs| {
            let build = create_index_concurrently(
                &session,
                &catalogs,
                catalogs.current(),
                id,
                new_index("i", false, 0),
            );
            let change = async {
                let (transaction, changes) = begin(&session, &catalogs);
                // The build is under way once its index is listed.
                while catalogs.current().table(id).unwrap().indexes.is_empty() {
                    interleave::sleep(std::time::Duration::from_micros(20)).await;
                }
                let ddl = Ddl::new(&transaction, &changes);
                match drops {
                    true => ddl
                        .drop(&[Target::Object(id)], Behavior::Restrict)
                        .await
                        .map(drop)?,
                    false => ddl
                        .truncate(&[id], false, Behavior::Restrict)
                        .await
                        .map(drop)?,
                }
                transaction.commit().await.map_err(from_engine)
            };
            let (built, changed) = zip(build, change).await;
            changed.unwrap();
            built
        });
        if drops {
            assert!(built.is_err() && bed.find("t").is_none() && bed.find("i").is_none());
        } else if built.is_err() {
            assert_eq!(bed.valid(id), [("i".to_owned(), false)]);
        }
        bed = bed.crash();
        if !drops {
            bed.write(id, &[("1", "x"), ("2", "x")]).unwrap();
            bed.check_indexes(id);
        }
    }
}
