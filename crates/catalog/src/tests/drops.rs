//! Drops: objects that are in the way, and objects that go along. Messages are PostgreSQL 15's.

use std::sync::Arc;

use engine::TableLockMode;
use types::{Result, Scalar, SqlError, Type};

use super::bed::{Bed, TEXT, column, expression, new_index, new_table, said};
use crate::{
    Behavior::{self, Cascade, Restrict},
    Comments, Dependency, Dropped, ForeignKey, MatchKind, NewCheck, NewUnique, ObjectId, OwnedBy,
    ReferentialAction, Sequence, SequenceOptions, Target, View,
};

const HINT: &str = "Use DROP ... CASCADE to drop the dependent objects too.";

impl Bed {
    pub(super) fn drop(&mut self, targets: &[Target], behavior: Behavior) -> Result<Dropped> {
        let targets = targets.to_vec();
        self.ddl(async move |ddl| ddl.drop(&targets, behavior).await)
    }

    fn view(&mut self, name: &str, on: &[Dependency]) -> ObjectId {
        let view = View {
            id: ObjectId::default(),
            schema: ObjectId::PUBLIC,
            name: Arc::from(name),
            text: Arc::from("select"),
            search_path: Arc::default(),
            columns: Arc::default(),
            dependencies: on.into(),
            names_columns: on.iter().any(|on| on.column.is_some()),
            grouped_by: [].into(),
            comments: Comments::default(),
        };
        self.ddl(async move |ddl| ddl.create_view(view).await)
            .unwrap()
    }

    fn refer(&mut self, from: ObjectId, to: ObjectId, name: &str) -> Result<()> {
        let key = foreign_key(name, to);
        self.ddl(async move |ddl| ddl.add_foreign_key(from, key).await)
            .map(drop)
    }
}

fn foreign_key(name: &str, to: ObjectId) -> ForeignKey {
    ForeignKey {
        name: Arc::from(name),
        id: ObjectId::default(),
        columns: [0].into(),
        referenced: to,
        referenced_columns: [0].into(),
        referenced_index: None,
        on_delete: ReferentialAction::Cascade,
        on_delete_columns: Arc::default(),
        on_update: ReferentialAction::NoAction,
        match_kind: MatchKind::Simple,
        is_deferrable: false,
        is_deferred: false,
        is_valid: true,
    }
}

fn refused<T>(result: Result<T>) -> (String, String) {
    let error: SqlError = result.err().expect("it is refused");
    assert_eq!(error.state().code(), "2BP01");
    assert_eq!(error.hint_text(), Some(HINT));
    (
        error.message().to_owned(),
        error.detail_text().unwrap_or_default().to_owned(),
    )
}

#[test]
fn views_are_in_a_tables_way_and_go_when_it_cascades() {
    let mut bed = Bed::new();
    let table = bed.table("t", &["a", "b"]);
    let view = bed.view(
        "v",
        &[Dependency::on(table), Dependency::on_column(table, 0)],
    );
    let above = bed.view("w", &[Dependency::on(view)]);
    let target = [Target::Object(table)];
    let (message, detail) = refused(bed.drop(&target, Restrict));
    assert_eq!(
        message,
        "cannot drop table t because other objects depend on it"
    );
    assert_eq!(
        detail,
        "view v depends on table t\nview w depends on view v"
    );
    let (message, detail) = refused(bed.drop(&[Target::Column(table, 0)], Restrict));
    assert_eq!(
        message,
        "cannot drop column a of table t because other objects depend on it"
    );
    assert_eq!(
        detail,
        "view v depends on column a of table t\nview w depends on view v"
    );
    // No object depends on column b.
    bed.drop(&[Target::Column(table, 1)], Restrict).unwrap();
    // Views that are named together do not prevent each other's drop.
    let dropped = bed
        .drop(&[Target::Object(above), Target::Object(view)], Restrict)
        .unwrap();
    assert!(dropped.cascaded.is_empty());
    let view = bed.view("v", &[Dependency::on(table)]);
    let dropped = bed.drop(&target, Cascade).unwrap();
    assert_eq!(dropped.cascaded, ["view v"]);
    bed = bed.crash();
    let catalog = bed.catalogs.current();
    assert!(catalog.object(table).is_none() && catalog.object(view).is_none());
    assert!(
        !bed.database
            .table_names()
            .iter()
            .any(|name| name.starts_with("sql.table."))
    );
}

#[test]
fn a_schema_goes_with_all_that_lies_in_it_or_not_at_all() {
    let mut bed = Bed::new();
    let schema = bed.ddl(async |ddl| ddl.create_schema("s").await).unwrap();
    let mut inner = new_table("t", &["a"]);
    inner.schema = schema;
    let inner = bed
        .ddl(async move |ddl| ddl.create_table(inner).await)
        .unwrap()
        .id;
    let outer = bed.table("o", &["a"]);
    bed.view("v", &[Dependency::on(inner), Dependency::on(outer)]);
    let (message, detail) = refused(bed.drop(&[Target::Object(schema)], Restrict));
    assert_eq!(
        message,
        "cannot drop schema s because other objects depend on it"
    );
    assert_eq!(
        detail,
        "table s.t depends on schema s\nview v depends on table s.t"
    );
    let dropped = bed.drop(&[Target::Object(schema)], Cascade).unwrap();
    assert_eq!(dropped.cascaded, ["table s.t", "view v"]);
    assert!(bed.find("o").is_some() && bed.find("v").is_none());
    let required = bed.drop(&[Target::Object(ObjectId::PG_CATALOG)], Cascade);
    assert_eq!(said(required).0, "2BP01");
}

#[test]
fn foreign_keys_are_known_at_both_ends_and_go_with_either() {
    let mut bed = Bed::new();
    let mut parent = new_table("p", &["a", "b"]);
    parent.primary_key = Some(("p_pkey".to_owned(), vec![0]));
    let parent = bed
        .ddl(async move |ddl| ddl.create_table(parent).await)
        .unwrap()
        .id;
    let child = bed.table("c", &["a"]);
    let plain = bed.table("plain", &["a"]);
    let refused_reference = bed.refer(child, plain, "c_fk");
    let message =
        "there is no unique constraint matching given keys for referenced table \"plain\"";
    assert_eq!(said(refused_reference), ("42830".into(), message.into()));
    bed.refer(child, parent, "c_a_fkey").unwrap();
    let twice = bed.refer(child, parent, "c_a_fkey");
    let message = "constraint \"c_a_fkey\" for relation \"c\" already exists";
    assert_eq!(said(twice), ("42710".into(), message.into()));
    bed.refer(child, parent, "c_a_fkey1").unwrap();
    bed = bed.crash();
    assert_eq!(&*bed.current(parent).referenced_by, [child]);
    assert_eq!(bed.current(child).foreign_keys.len(), 2);
    let (_, detail) = refused(bed.drop(&[Target::Object(parent)], Restrict));
    let lines: Vec<_> = detail.lines().collect();
    assert_eq!(
        lines,
        [
            "constraint c_a_fkey on table c depends on table p",
            "constraint c_a_fkey1 on table c depends on table p"
        ]
    );
    // One of the two references goes; the other is still there.
    let first = bed.current(child).foreign_keys[0].id;
    bed.drop(&[Target::Constraint(child, first)], Restrict)
        .unwrap();
    assert_eq!(&*bed.current(parent).referenced_by, [child]);
    // Truncation looks at both ends.
    let truncated = bed.ddl(async move |ddl| ddl.truncate(&[parent], false, Restrict).await);
    let message = "cannot truncate a table referenced in a foreign key constraint";
    assert_eq!(said(truncated), ("0A000".into(), message.into()));
    bed.write(child, &[("1", "x")]).unwrap();
    let both = bed
        .ddl(async move |ddl| ddl.truncate(&[parent], false, Cascade).await)
        .unwrap();
    assert_eq!(both, [parent, child]);
    bed.write(child, &[("1", "y")]).unwrap();
    let dropped = bed.drop(&[Target::Object(parent)], Cascade).unwrap();
    assert_eq!(dropped.cascaded, ["constraint c_a_fkey1 on table c"]);
    assert!(bed.current(child).foreign_keys.is_empty());
    bed.drop(&[Target::Object(child)], Restrict).unwrap();
}

#[test]
fn a_table_that_refers_to_itself_or_to_its_referrer_can_be_dropped() {
    let mut bed = Bed::new();
    let mut tables = Vec::new();
    for name in ["p", "q"] {
        let mut new = new_table(name, &["a"]);
        let columns = vec![0];
        let name = format!("{name}_a_key");
        new.uniques = vec![NewUnique {
            name,
            columns,
            nulls_not_distinct: false,
        }];
        tables.push(
            bed.ddl(async move |ddl| ddl.create_table(new).await)
                .unwrap()
                .id,
        );
    }
    let [p, q] = tables.try_into().unwrap();
    bed.refer(p, p, "self").unwrap();
    bed.refer(p, q, "there").unwrap();
    bed.refer(q, p, "back").unwrap();
    assert_eq!(&*bed.current(p).referenced_by, [p, q]);
    // A key that serves a reference cannot be dropped.
    let unique = bed.current(q).uniques[0].id;
    let (message, detail) = refused(bed.drop(&[Target::Constraint(q, unique)], Restrict));
    let expected = "cannot drop constraint q_a_key on table q because other objects depend on it";
    assert_eq!(message, expected);
    assert_eq!(
        detail,
        "constraint there on table p depends on index q_a_key"
    );
    bed.drop(&[Target::Object(p), Target::Object(q)], Restrict)
        .unwrap();
    assert!(bed.find("p").is_none() && bed.find("q").is_none());
}

#[test]
fn a_column_takes_its_indexes_checks_and_sequences_along() {
    let mut bed = Bed::new();
    let id = bed.table("t", &["a", "b"]);
    bed.ddl(async move |ddl| ddl.create_index(id, new_index("t_a_idx", false, 0)).await)
        .unwrap();
    bed.ddl(async move |ddl| ddl.create_index(id, new_index("t_b_idx", true, 1)).await)
        .unwrap();
    let check = |name: &str, column| NewCheck {
        name: name.to_owned(),
        expression: expression("?", &[Dependency::on_column(id, column)]),
        is_valid: true,
    };
    let (one, other) = (check("t_a_check", 0), check("t_b_check", 1));
    bed.ddl(async move |ddl| ddl.add_check(id, one).await)
        .unwrap();
    bed.ddl(async move |ddl| ddl.add_check(id, other).await)
        .unwrap();
    let owned = Sequence {
        id: ObjectId::default(),
        schema: ObjectId::PUBLIC,
        name: Arc::from("t_a_seq"),
        options: SequenceOptions::ascending(Type::Scalar(Scalar::Int8)),
        owned_by: Some(OwnedBy {
            table: id,
            column: 0,
            is_identity: true,
        }),
        counter: ObjectId::default(),
        comments: Comments::default(),
    };
    let owned = bed
        .ddl(async move |ddl| ddl.create_sequence(owned).await)
        .unwrap();
    bed.ddl(async move |ddl| {
        let default = expression("nextval", &[Dependency::on(owned)]);
        ddl.alter_column(id, 0, |column| column.default = Some(default))
            .await
    })
    .unwrap();
    let alone = bed.drop(&[Target::Object(owned)], Cascade);
    let message = "cannot drop sequence t_a_seq because column a of table t requires it";
    assert_eq!(said(alone), ("2BP01".into(), message.into()));
    bed.drop(&[Target::Column(id, 0)], Restrict).unwrap();
    bed = bed.crash();
    let table = bed.current(id);
    let names: Vec<_> = table.indexes.iter().map(|index| &*index.name).collect();
    assert_eq!(names, ["t_b_idx"]);
    let checks: Vec<_> = table.checks.iter().map(|check| &*check.name).collect();
    assert_eq!(checks, ["t_b_check"]);
    assert!(bed.find("t_a_seq").is_none() && bed.find("t_a_idx").is_none());
    assert!(table.columns[0].dropped && table.column("a").is_none());
    bed.write(id, &[("1", ",x")]).unwrap();
    bed.check_indexes(id);
}

#[test]
fn a_sequence_has_defaults_in_its_way_and_a_type_has_columns() {
    let mut bed = Bed::new();
    let free = Sequence {
        id: ObjectId::default(),
        schema: ObjectId::PUBLIC,
        name: Arc::from("s"),
        options: SequenceOptions::ascending(Type::Scalar(Scalar::Int8)),
        owned_by: None,
        counter: ObjectId::default(),
        comments: Comments::default(),
    };
    let free = bed
        .ddl(async move |ddl| ddl.create_sequence(free).await)
        .unwrap();
    let labels = ["x", "y"];
    let ty = bed
        .ddl(async move |ddl| ddl.create_enum(ObjectId::PUBLIC, "mood", &labels).await)
        .unwrap();
    let mut new = new_table("t", &["a"]);
    new.columns[0].default = Some(expression("nextval", &[Dependency::on(free)]));
    new.columns
        .push(column("m", Type::Array(Scalar::Enum(types::EnumId(ty.0)))));
    let id = bed
        .ddl(async move |ddl| ddl.create_table(new).await)
        .unwrap()
        .id;
    let (message, detail) = refused(bed.drop(&[Target::Object(free)], Restrict));
    assert_eq!(
        message,
        "cannot drop sequence s because other objects depend on it"
    );
    assert_eq!(
        detail,
        "default value for column a of table t depends on sequence s"
    );
    let (message, detail) = refused(bed.drop(&[Target::Object(ty)], Restrict));
    assert_eq!(
        message,
        "cannot drop type mood because other objects depend on it"
    );
    assert_eq!(detail, "column m of table t depends on type mood[]");
    let dropped = bed
        .drop(&[Target::Object(free), Target::Object(ty)], Cascade)
        .unwrap();
    assert_eq!(dropped.cascaded.len(), 2);
    let table = bed.current(id);
    assert!(table.columns[0].default.is_none() && table.columns[1].dropped);
    assert_eq!(table.columns[0].ty, TEXT);
}

#[test]
fn the_index_of_a_constraint_is_not_dropped_alone() {
    let mut bed = Bed::new();
    let mut new = new_table("t", &["a"]);
    let (name, columns) = ("t_a_key".to_owned(), vec![0]);
    new.uniques = vec![NewUnique {
        name,
        columns,
        nulls_not_distinct: false,
    }];
    let id = bed
        .ddl(async move |ddl| ddl.create_table(new).await)
        .unwrap()
        .id;
    let (index, unique) = (bed.current(id).indexes[0].id, bed.current(id).uniques[0].id);
    let alone = bed.drop(&[Target::Index(id, index)], Restrict);
    let message = "cannot drop index t_a_key because constraint t_a_key on table t requires it";
    assert_eq!(said(alone), ("2BP01".into(), message.into()));
    bed.write(id, &[("1", "x")]).unwrap();
    let taken = bed.write(id, &[("2", "x")]);
    let message = "duplicate key value violates unique constraint \"t_a_key\"";
    assert_eq!(said(taken), ("23505".into(), message.into()));
    bed.drop(&[Target::Constraint(id, unique)], Restrict)
        .unwrap();
    bed.write(id, &[("2", "x")]).unwrap();
    assert!(bed.current(id).indexes.is_empty());
}

/// A table is not dropped while a reference to it is made: one of the two transactions waits for
/// the other, and then sees its outcome.
#[test]
fn a_reference_and_a_drop_meet() {
    let mut bed = Bed::new();
    let schema = bed.ddl(async |ddl| ddl.create_schema("s").await).unwrap();
    let outcome = bed.run(async move |session, catalogs| {
        let (maker, changes) = super::bed::begin(&session, &catalogs);
        let mut new = new_table("t", &["a"]);
        new.schema = schema;
        crate::Ddl::new(&maker, &changes)
            .create_table(new)
            .await
            .unwrap();
        let (dropper, own) = super::bed::begin(&session, &catalogs);
        dropper.set_lock_timeout(Some(std::time::Duration::from_millis(1)));
        let ddl = crate::Ddl::new(&dropper, &own);
        let early = ddl.drop(&[Target::Object(schema)], Restrict).await;
        maker.commit().await.unwrap();
        let late = ddl.drop(&[Target::Object(schema)], Restrict).await;
        (said(early).0, said(late).0)
    });
    assert_eq!(outcome, ("55P03".to_owned(), "2BP01".to_owned()));
}

/// A lock that is held on a table keeps its definition as it is.
#[test]
fn who_has_a_table_locked_is_waited_for() {
    let mut bed = Bed::new();
    let id = bed.table("t", &["a"]);
    let (refused, then) = bed.run(async move |session, catalogs| {
        let (user, changes) = super::bed::begin(&session, &catalogs);
        super::bed::put(&user, &changes, id, "1", "x")
            .await
            .unwrap();
        let (dropper, own) = super::bed::begin(&session, &catalogs);
        dropper.set_lock_timeout(Some(std::time::Duration::from_millis(1)));
        let ddl = crate::Ddl::new(&dropper, &own);
        let refused = ddl.drop(&[Target::Object(id)], Restrict).await;
        assert!(!dropper.has_table_lock(
            catalogs.current().table(id).unwrap().storage(),
            TableLockMode::AccessExclusive
        ));
        user.commit().await.unwrap();
        (refused, ddl.drop(&[Target::Object(id)], Restrict).await)
    });
    let message = "canceling statement due to lock timeout";
    assert_eq!(said(refused), ("55P03".into(), message.into()));
    assert!(then.is_ok());
}
