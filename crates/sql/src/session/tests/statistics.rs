//! Estimates by the common values of two columns and by statistics objects, and statistics that stay fresh.

use std::sync::Arc;

use catalog::StatisticsSlot;

use super::{Session, expect_near, with_session, with_sessions};
use crate::session::maintenance::Failed;

/// Returns the statistics of a table.
fn slot(session: &Session, name: &str) -> Arc<StatisticsSlot> {
    let catalog = session.database.catalogs.current();
    let table = catalog.tables().find(|table| &*table.name == name);
    table.unwrap().statistics.clone()
}

/// Half of the calls and half of the visits are of one person: by numbers of different values alone, a join of the two
/// was thought to give 8,000 rows instead of a million.
#[test]
fn common_values_of_two_columns_are_compared() {
    with_session(async |session| {
        let setup = "
            create table calls (caller int);
            create table visits (visitor bigint);
            create table members (member int);
            insert into calls select case when i % 2 = 0 then 0 else i / 2 % 500 + 1 end from generate_series(1, 2000) i;
            insert into visits select caller from calls;
            insert into visits select null from generate_series(1, 2000) i;
            insert into members select case when i % 50 = 0 then 0 else 1000 + i % 50 end from generate_series(1, 500) i;
            analyze";
        session.count(setup).await;
        for text in [
            "select * from calls, visits where caller = visitor",
            "select * from visits, calls where visitor = caller",
            "select * from calls one, calls two where one.caller = two.caller",
            // All members but one have never called, and that one has made half of all calls.
            "select * from calls where exists (select from members where member = caller)",
            "select * from calls where not exists (select from members where member = caller)",
        ] {
            expect_near(session, text, 1.2).await;
        }
    });
}

#[test]
fn nulls_are_not_among_the_others() {
    with_session(async |session| {
        let setup = "
            create table t (a int);
            insert into t select case when i % 4 <> 0 then i % 10 end from generate_series(1, 2000) i;
            analyze t";
        session.count(setup).await;
        expect_near(session, "select * from t where a not in (1, 2, 3)", 1.1).await;
        expect_near(session, "select * from t where a <> 1", 1.1).await;
    });
}

/// A place's ZIP code says its city, and its colour says its kind.
const PLACES: &str = "
    create table places (id int primary key, zip int, city int, other int, colour int, kind int);
    insert into places select i, i % 200, i % 200 / 10, i % 7, i % 10, i % 5 from generate_series(1, 10000) i;
    analyze places";

const OF_ZIP: &str = "select * from places where zip = 15 and city = 1";
const GROUPS: &str = "select zip, city from places group by zip, city";
const OF_KIND: &str = "select * from places where kind = 3 and colour in (3, 8)";
const OF_NO_KIND: &str = "select * from places where kind = 3 and colour = 4";

#[test]
fn statistics_objects_tell_of_columns_that_depend_on_each_other() {
    with_session(async |session| {
        session.count(PLACES).await;
        // Without an object, all columns are thought to be independent.
        assert!(session.estimated(OF_ZIP) < 5.0);
        assert!(session.estimated(GROUPS) > 3000.0);
        assert!(session.estimated(OF_KIND) < 500.0);
        assert!(session.estimated(OF_NO_KIND) > 150.0);

        let create = "create statistics of_zip (dependencies) on zip, city from places";
        session.count(create).await;
        assert!(session.estimated(OF_ZIP) < 5.0, "nobody has looked");
        session.count("analyze places").await;
        expect_near(session, OF_ZIP, 1.2).await;
        expect_near(
            session,
            "select * from places where city = 1 and zip = 15 and other = 3",
            1.5,
        )
        .await;
        expect_near(
            session,
            "select * from places where city in (1, 2) and zip in (15, 25)",
            1.2,
        )
        .await;
        assert!(session.estimated(GROUPS) > 3000.0, "not asked for");

        session.count("create statistics groups (ndistinct) on city, zip, other from places; analyze places").await;
        expect_near(session, GROUPS, 1.2).await;
        expect_near(session, "select distinct zip, other, city from places", 1.2).await;
        expect_near(
            session,
            "select zip, colour, city from places group by zip, city, colour",
            10.1,
        )
        .await;
        let twice =
            "select a.zip, b.city from places a join places b using (id) group by a.zip, b.city";
        assert!(
            session.estimated(twice) > 3000.0,
            "the columns are of two rows"
        );

        session
            .count("create statistics kinds (mcv) on kind, colour from places; analyze places")
            .await;
        expect_near(session, OF_KIND, 1.2).await;
        assert!(session.estimated(OF_NO_KIND) <= 1.0);

        session
            .count("drop statistics of_zip, groups; alter table places drop column kind")
            .await;
        assert!(session.estimated(OF_ZIP) < 5.0);
        assert!(session.estimated(GROUPS) > 3000.0);
    });
}

/// A value that is too long to be kept is none of the common ones, and is not NULL.
#[test]
fn long_values_are_in_no_common_group() {
    with_session(async |session| {
        let setup = "
            create table t (a text, b text);
            insert into t select case i % 2 when 0 then 'x' else repeat('long', 100) || i % 4 end,
                case i % 2 when 0 then 'y' else null end from generate_series(1, 1000) i;
            create statistics s on a, b from t;
            analyze t";
        session.count(setup).await;
        expect_near(session, "select * from t where a = 'x' and b = 'y'", 1.1).await;
        let statistics = slot(session, "t").newest().unwrap();
        let group = statistics.groups.values().next().unwrap();
        assert_eq!(group.common.len(), 1);
        assert!(group.common[0].values.iter().all(Option::is_some));
    });
}

/// A column of another type has nothing to do with what was known of it.
#[test]
fn statistics_of_groups_do_not_outlive_a_type() {
    with_session(async |session| {
        session.count(PLACES).await;
        session
            .count("create statistics s on zip, city from places; analyze places")
            .await;
        expect_near(session, OF_ZIP, 1.2).await;
        session
            .count("alter table places alter column city type text")
            .await;
        let text = "select * from places where zip = 15 and city = '1'";
        assert!(session.estimated(text) < 20.0);
        session.count("analyze places").await;
        expect_near(session, text, 1.2).await;
    });
}

/// A statement that is planned after its table has grown looks at some rows, and leaves what is known of groups.
#[test]
fn a_quick_look_keeps_groups() {
    with_session(async |session| {
        session.count(PLACES).await;
        session
            .count("create statistics s on zip, city from places; analyze places (zip, city)")
            .await;
        session.count("analyze places (id)").await;
        expect_near(session, OF_ZIP, 1.2).await;
        session
            .count("insert into places select i, i % 200, i % 200 / 10 from generate_series(10001, 30000) i")
            .await;
        let places = slot(session, "places");
        let looks = places.version();
        session
            .count("select count(*) from places where other = 1")
            .await;
        assert_eq!(places.version(), looks + 1);
        expect_near(session, OF_ZIP, 1.3).await;
    });
}

#[test]
fn tables_are_analysed_when_many_rows_have_changed() {
    with_sessions(async |[session, upkeep]| {
        let mut failed = Failed::default();
        fastrand::seed(7);
        let setup = "
            create table t (id int primary key, a int);
            insert into t select i, 1 from generate_series(1, 10000) i;
            analyze t";
        session.count(setup).await;
        let changes = |session: &Session| slot(session, "t").changes();
        upkeep.analyze_changed(&mut failed).await;
        assert_eq!(changes(session), 0);

        let query = "select * from t where a = 2";
        session.count("begin; update t set a = 2; rollback").await;
        assert_eq!(changes(session), 0, "others see no change");
        // A table is analysed beyond 50 rows and a tenth of all.
        session.count("update t set a = 2 where id <= 1050").await;
        upkeep.analyze_changed(&mut failed).await;
        assert_eq!(changes(session), 1050);
        assert!(session.estimated(query) < 10.0);
        session
            .count("update t set a = 2 where id between 1051 and 1200")
            .await;
        upkeep.analyze_changed(&mut failed).await;
        assert_eq!(changes(session), 0);
        expect_near(session, query, 1.1).await;

        // Rows that are changed one by one are counted by chance.
        for id in 1..=3000 {
            session
                .count(&format!("update t set a = 3 where id = {id}"))
                .await;
        }
        assert!(
            (1500..6000).contains(&changes(session)),
            "{}",
            changes(session)
        );
        upkeep.analyze_changed(&mut failed).await;
        expect_near(session, "select * from t where a = 3", 1.1).await;
    });
}

/// Rows that an action of a foreign key changes, and those of a new table, are counted, too; changes of columns that
/// ANALYZE was not asked for are not forgotten; and an emptied table is known to be empty.
#[test]
fn all_changed_rows_count_until_they_are_looked_at() {
    with_sessions(async |[session, upkeep]| {
        let mut failed = Failed::default();
        fastrand::seed(7);
        let setup = "
            create table parents (id int primary key);
            create table children (id int primary key, parent int references parents on delete cascade);
            create index on children (parent);
            insert into parents select i from generate_series(1, 100) i;
            insert into children select i, i % 100 + 1 from generate_series(1, 5000) i";
        session.count(setup).await;
        session.count("analyze").await;
        session.count("delete from parents where id > 20").await;
        session
            .count("create table copied as select id, 1 as one from children")
            .await;
        let changes = |session: &Session, name: &str| slot(session, name).changes();
        // Few rows at a time are counted by chance.
        let cascaded = changes(session, "children");
        assert!((3000..5000).contains(&cascaded), "{cascaded}");
        assert_eq!(changes(session, "copied"), 1000);
        session.count("analyze children (parent)").await;
        assert_eq!(changes(session, "children"), cascaded);
        upkeep.analyze_changed(&mut failed).await;
        for name in ["parents", "children", "copied"] {
            assert_eq!(changes(session, name), 0, "{name}");
        }
        expect_near(session, "select * from children where id > 0", 1.1).await;
        session.count("delete from children").await;
        upkeep.analyze_changed(&mut failed).await;
        assert_eq!(changes(session, "children"), 0);
        assert!(session.estimated("select * from children where parent = 3") < 2.0);
    });
}

/// A table that cannot be looked at, here since it is locked, is left alone for longer each time.
#[test]
fn a_look_that_fails_is_tried_more_and_more_seldom() {
    with_sessions(async |[session, upkeep]| {
        let mut failed = Failed::default();
        session
            .count("create table t (a int); insert into t select i from generate_series(1, 1000) i")
            .await;
        session.count("begin; lock table t").await;
        let id = *{ session.database.catalogs.current() }
            .tables()
            .find(|table| &*table.name == "t")
            .map(|table| &table.id)
            .unwrap();
        let mut due = 0;
        for _ in 0..20 {
            upkeep.analyze_changed(&mut failed).await;
            due += u32::from(failed.is_due(id));
        }
        assert!((2..8).contains(&due), "{due}");
        session.count("commit").await;
        for _ in 0..40 {
            upkeep.analyze_changed(&mut failed).await;
        }
        expect_near(session, "select * from t where a > 500", 1.1).await;
        assert!(failed.is_due(id));
    });
}
