//! Definitions are transactional: they come and go with the rows.

use std::sync::Arc;

use engine::LogConfig;
use futures_lite::future::zip;

use super::bed::{Bed, LOG, TEXT, begin, column, find, new_table, put, said};
use crate::{
    Comments, Ddl, Dependency, LabelPlace, Object, ObjectId, Role, View, ViewColumn,
    failure::from_engine,
};

#[test]
fn a_table_is_its_makers_until_it_is_committed_and_nobodys_after_a_rollback() {
    let mut bed = Bed::new();
    for commits in [false, true] {
        let before = bed.catalogs.current();
        let (own, others) = bed.run(async move |session, catalogs| {
            let (transaction, changes) = begin(&session, &catalogs);
            let ddl = Ddl::new(&transaction, &changes);
            let table = ddl.create_table(new_table("t", &["a"])).await.unwrap();
            put(&transaction, &changes, table.id, "1", "x")
                .await
                .unwrap();
            let own = changes.catalog();
            assert!(own.is_private() && !catalogs.current().is_private());
            let found = (find(&own, "t"), find(&catalogs.current(), "t"));
            match commits {
                true => drop(transaction.commit().await.unwrap()),
                false => transaction.rollback(),
            }
            found
        });
        assert!(own.is_some() && others.is_none());
        assert_eq!(bed.find("t").is_some(), commits);
        assert_eq!(bed.catalogs.is_current(&before), !commits);
    }
    let id = bed.find("t").unwrap();
    bed = bed.crash();
    assert_eq!(bed.find("t"), Some(id));
    bed.write(id, &[("2", "y")]).unwrap();
    // Numbers are not used again.
    let another = bed.table("u", &["a"]);
    assert!(another > id);
}

#[test]
fn a_mark_undoes_definitions_with_the_rows() {
    let mut bed = Bed::new();
    bed.run(async move |session, catalogs| {
        let (transaction, changes) = begin(&session, &catalogs);
        let ddl = Ddl::new(&transaction, &changes);
        let first = ddl.create_table(new_table("first", &["a"])).await.unwrap();
        let mark = changes.mark(&transaction).unwrap();
        ddl.create_table(new_table("second", &["a"])).await.unwrap();
        ddl.add_column(first.id, column("b", TEXT)).await.unwrap();
        ddl.rename(first.id, "renamed").await.unwrap();
        let taken = ddl.create_table(new_table("second", &["a"])).await;
        assert_eq!(
            said(taken),
            ("42P07".into(), "relation \"second\" already exists".into())
        );
        changes.return_to(&transaction, &mark).await.unwrap();
        let own = changes.catalog();
        assert_eq!(find(&own, "first"), Some(first.id));
        assert!(find(&own, "second").is_none() && find(&own, "renamed").is_none());
        assert_eq!(own.table(first.id).unwrap().columns.len(), 1);
        ddl.create_table(new_table("second", &["a", "b"]))
            .await
            .unwrap();
        transaction.commit().await.unwrap();
    });
    let second = bed.current(bed.find("second").unwrap());
    assert_eq!(second.columns.len(), 2);
    assert_eq!(bed.current(bed.find("first").unwrap()).columns.len(), 1);
}

/// The transaction has committed or not, whether or not a client awaits the answer; the catalog and
/// the engine agree about it at once. Some commits find no room in the log.
#[test]
fn a_commit_that_nobody_awaits_is_seen_by_both_or_by_neither() {
    let log = LogConfig {
        buffer_bytes: 8 << 10,
        ..LOG
    };
    let mut bed = Bed::with(log);
    let outcomes = bed.run(async move |session, catalogs| {
        let large = "x".repeat(5 << 10);
        let mut open = Vec::new();
        for number in 0..8 {
            let (transaction, changes) = begin(&session, &catalogs);
            let ddl = Ddl::new(&transaction, &changes);
            let new = new_table(&format!("t{number}"), &["a"]);
            let table = ddl.create_table(new).await.unwrap();
            put(&transaction, &changes, table.id, "1", &large)
                .await
                .unwrap();
            open.push((transaction, table));
        }
        // All commits begin at once: the worker has no time to write in between.
        let mut outcomes = Vec::new();
        for (transaction, table) in open {
            drop(transaction.commit());
            let is_listed = find(&catalogs.current(), &table.name).is_some();
            let is_there = session.database().table(&table.storage_name).is_some();
            assert_eq!(is_listed, is_there, "{}", table.name);
            outcomes.push(is_there);
        }
        outcomes
    });
    assert!(
        outcomes.contains(&true) && outcomes.contains(&false),
        "{outcomes:?}"
    );
    let again = bed.table("another", &["a"]);
    bed = bed.crash();
    assert!(bed.catalogs.current().table(again).is_some());
    for (number, there) in outcomes.into_iter().enumerate() {
        assert_eq!(
            bed.find(&format!("t{number}")).is_some(),
            there,
            "t{number}"
        );
    }
}

#[test]
fn names_are_of_a_schema_and_a_class() {
    let mut bed = Bed::new();
    let (schema, ty) = bed
        .ddl(async |ddl| {
            let schema = ddl.create_schema("s").await?;
            let mut table = new_table("x", &["a"]);
            ddl.create_table(table.clone()).await?;
            table.schema = schema;
            ddl.create_table(table).await?;
            // A type may have the name of a table.
            let ty = ddl
                .create_enum(ObjectId::PUBLIC, "x", &["low", "high"])
                .await?;
            ddl.add_label(ty, "middle", LabelPlace::Before("high"), false)
                .await?;
            Ok((schema, ty))
        })
        .unwrap();
    let catalog = bed.catalogs.current();
    assert_eq!(catalog.schema_name(schema), "s");
    let found = catalog.enum_type(ty).unwrap();
    let labels: Vec<_> = found.labels.iter().map(|label| &**label).collect();
    assert_eq!(&labels[..], ["low", "middle", "high"]);
    assert!(found.ranks.is_sorted_by(|one, two| one < two));
    let label = bed.ddl(async move |ddl| ddl.add_label(ty, "high", LabelPlace::Last, false).await);
    assert_eq!(said(label).0, "42710");
    let taken = bed.ddl(async |ddl| ddl.create_schema("s").await);
    assert_eq!(
        said(taken),
        ("42P06".into(), "schema \"s\" already exists".into())
    );
    let reserved = bed.ddl(async |ddl| ddl.create_schema("pg_x").await);
    assert_eq!(
        said(reserved),
        ("42939".into(), "unacceptable schema name \"pg_x\"".into())
    );
    bed = bed.crash();
    assert_eq!(bed.catalogs.current().enum_type(ty), Some(found));
}

#[test]
fn columns_are_added_renamed_and_never_twice() {
    let mut bed = Bed::new();
    let id = bed.table("t", &["a"]);
    let version = bed.current(id).version;
    bed.ddl(async move |ddl| ddl.add_column(id, column("b", TEXT)).await)
        .unwrap();
    bed.ddl(async move |ddl| ddl.rename_column(id, 0, "c").await)
        .unwrap();
    let twice = bed.ddl(async move |ddl| ddl.add_column(id, column("b", TEXT)).await);
    let message = "column \"b\" of relation \"t\" already exists";
    assert_eq!(said(twice), ("42701".into(), message.into()));
    bed = bed.crash();
    let table = bed.current(id);
    assert!(table.version > version);
    let names: Vec<_> = table
        .live_columns()
        .map(|(_, column)| &*column.name)
        .collect();
    assert_eq!(names, ["c", "b"]);
}

#[test]
fn views_and_roles_are_kept() {
    let mut bed = Bed::new();
    let view = |columns: &[&str]| View {
        id: ObjectId::default(),
        schema: ObjectId::PUBLIC,
        name: Arc::from("v"),
        text: Arc::from("select"),
        search_path: Arc::default(),
        columns: columns
            .iter()
            .map(|name| ViewColumn {
                name: Arc::from(*name),
                ty: TEXT,
                modifier: types::TypeModifier::NONE,
            })
            .collect(),
        dependencies: Arc::default(),
        names_columns: false,
        grouped_by: Arc::default(),
        comments: Comments::default(),
    };
    let first = view(&["a"]);
    let id = bed
        .ddl(async move |ddl| ddl.create_view(first).await)
        .unwrap();
    let wider = View {
        id,
        ..view(&["a", "b"])
    };
    let expected = Arc::new(wider.clone());
    bed.ddl(async move |ddl| ddl.replace_view(wider).await)
        .unwrap();
    let narrower = View { id, ..view(&["a"]) };
    let refused = bed.ddl(async move |ddl| ddl.replace_view(narrower).await);
    assert_eq!(
        said(refused),
        ("42P16".into(), "cannot drop columns from view".into())
    );
    let role = Role {
        id: ObjectId::default(),
        name: Arc::from("r"),
        verifier: Some(Arc::from("SCRAM-SHA-256$4096:salt$stored:server")),
        can_login: true,
        is_superuser: false,
        can_create_roles: true,
        can_create_databases: false,
        inherits: true,
        comments: Comments::default(),
    };
    let added = role.clone();
    bed.ddl(async move |ddl| ddl.create_role(added).await)
        .unwrap();
    bed = bed.crash();
    let catalog = bed.catalogs.current();
    assert_eq!(catalog.view(id), Some(&expected));
    let found = catalog.role_named("r").unwrap();
    assert_eq!(found.verifier, role.verifier);
    assert!(catalog.role_named("weft").unwrap().is_superuser);
    assert!(
        catalog
            .objects()
            .all(|object| !matches!(object, Object::Table(_)))
    );
}

/// A text that was bound before its type's label, or its table's column, was renamed was once
/// stored after that, and could not be read any more.
#[test]
fn texts_are_not_kept_whose_names_are_others_by_then() {
    let mut bed = Bed::new();
    let ty = bed
        .ddl(async move |ddl| ddl.create_enum(ObjectId::PUBLIC, "mood", &["x", "y"]).await)
        .unwrap();
    let table = bed.table("t", &["a", "b"]);
    for (nth, spoils) in [false, true].into_iter().cycle().take(4).enumerate() {
        let on_type = nth < 2;
        let refused = bed.run(async move |session, catalogs| {
            let (first, its) = begin(&session, &catalogs);
            let ddl = Ddl::new(&first, &its);
            let changed = match (on_type, spoils) {
                (true, true) => ddl.rename_label(ty, "x", "z").await,
                (true, false) => ddl
                    .add_label(ty, "w", LabelPlace::Last, false)
                    .await
                    .map(drop),
                (false, true) => ddl.rename_column(table, 1, "c").await.map(drop),
                (false, false) => ddl.add_column(table, column("d", TEXT)).await.map(drop),
            };
            changed.unwrap();
            let (second, others) = begin(&session, &catalogs);
            others.begin_definition();
            let depends = match on_type {
                true => Dependency::on(ty),
                false => Dependency::on_column(table, 1),
            };
            let view = View {
                id: ObjectId::default(),
                schema: ObjectId::PUBLIC,
                name: format!("v{nth}").into(),
                text: Arc::from("select"),
                search_path: Arc::default(),
                columns: Arc::default(),
                dependencies: [depends].into(),
                names_columns: true,
                grouped_by: Arc::default(),
                comments: Comments::default(),
            };
            let ddl = Ddl::new(&second, &others);
            let (created, committed) = zip(ddl.create_view(view), first.commit()).await;
            committed.unwrap();
            second.rollback();
            created
        });
        match (spoils, on_type) {
            (false, _) => drop(refused.unwrap()),
            (true, on_type) => {
                let noun = if on_type {
                    "type \"mood\""
                } else {
                    "table \"t\""
                };
                let message = format!(
                    "could not serialize access: {noun}, or a part of it, was renamed or changed meanwhile"
                );
                assert_eq!(said(refused), ("40001".into(), message));
            }
        }
    }
}

/// Two transactions take one name: the second waits for the first, and is refused if that commits.
#[test]
fn a_name_is_waited_for() {
    for commits in [true, false] {
        let mut bed = Bed::new();
        let second = bed.run(async move |session, catalogs| {
            let (first, changes) = begin(&session, &catalogs);
            Ddl::new(&first, &changes)
                .create_table(new_table("t", &["a"]))
                .await
                .unwrap();
            let (waiter, own) = begin(&session, &catalogs);
            let second = async move {
                let ddl = Ddl::new(&waiter, &own);
                let made = ddl.create_table(new_table("t", &["a", "b"])).await;
                if made.is_ok() {
                    waiter.commit().await.map_err(from_engine)?;
                }
                made
            };
            let mut second = std::pin::pin!(second);
            for _ in 0..50 {
                let polled = interleave_once(second.as_mut()).await;
                assert!(polled.is_none(), "it waits");
            }
            match commits {
                true => drop(first.commit().await.unwrap()),
                false => first.rollback(),
            }
            second.await
        });
        match commits {
            true => assert_eq!(said(second).0, "42P07"),
            false => assert_eq!(second.unwrap().columns.len(), 2),
        }
    }
}

/// Polls a future once, and lets other tasks go on.
async fn interleave_once<F: Future>(mut future: std::pin::Pin<&mut F>) -> Option<F::Output> {
    let polled = std::future::poll_fn(|context| {
        std::task::Poll::Ready(match future.as_mut().poll(context) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        })
    });
    let output = polled.await;
    interleave::sleep(std::time::Duration::from_micros(20)).await;
    output
}
