use std::sync::OnceLock;

use types::{Scalar, Type, TypeModifier};

use super::*;
use catalog::{
    Catalog, Column, Index, IndexColumn, IndexKey, ObjectId, RowKey, StoredExpression, Table,
    TableKind,
};
use logical::bind::{BindContext, Binder, Inputs, Parameters};

fn column(name: &str, scalar: Scalar) -> Column {
    Column {
        name: name.into(),
        ty: Type::Scalar(scalar),
        modifier: TypeModifier::NONE,
        not_null: false,
        default: None,
        generation: None,
        dropped: false,
        missing: None,
    }
}

fn table() -> Table {
    let columns = [
        column("a", Scalar::Int4),
        column("b", Scalar::Text),
        column("c", Scalar::Bool),
        column("d", Scalar::Int8),
    ];
    Table {
        id: ObjectId(20000),
        schema: ObjectId::PUBLIC,
        name: "t".into(),
        kind: TableKind::Ordinary,
        version: 1,
        columns: columns.into(),
        row_key: RowKey::Hidden,
        primary_key: None,
        indexes: [].into(),
        uniques: [].into(),
        checks: [].into(),
        foreign_keys: [].into(),
        referenced_by: [].into(),
        statistics_objects: [].into(),
        comments: catalog::Comments::default(),
        storage_name: "t".into(),
        storage: OnceLock::new(),
        statistics: Default::default(),
    }
}

/// Binds conditions over the columns of one table.
fn bound(texts: &[&str]) -> Vec<Expression> {
    let column = |text: &&str| IndexColumn {
        key: IndexKey::Expression(StoredExpression {
            text: (*text).into(),
            search_path: [].into(),
            dependencies: [].into(),
        }),
        ty: Type::Scalar(Scalar::Bool),
        descending: false,
        nulls_first: false,
    };
    let index = Index {
        id: ObjectId(20001),
        name: "i".into(),
        unique: false,
        nulls_not_distinct: false,
        columns: texts.iter().map(column).collect(),
        included: [].into(),
        predicate: None,
        is_valid: true,
        storage_name: None,
        handle: None,
    };
    let (catalog, inputs) = (Catalog::default(), Inputs::default());
    let bind_context = BindContext {
        catalog: &catalog,
        inputs: &inputs,
        database: "",
        now: 0,
    };
    let mut parameters = Parameters::default();
    let mut binder = Binder::for_definitions(&bind_context, &mut parameters);
    binder.index_entries(&table(), &index).unwrap().keys
}

fn is_found(condition: &str, predicate: &str) -> bool {
    let mut both = bound(&[condition, predicate]);
    let predicate = both.pop().unwrap().into_conjuncts();
    let conditions = both.pop().unwrap().into_conjuncts();
    is_all_implied(&conditions, &predicate)
}

#[test]
fn what_follows_is_found() {
    for (condition, predicate) in [
        ("a > 5", "a > 5"),
        ("a > 5 and b = 'x'", "a > 5"),
        ("5 < a", "a > 5"),
        ("a > 6", "a > 5"),
        ("a >= 6", "a > 5"),
        ("a > 5", "a >= 5"),
        ("a = 7", "a > 5 and a < 10"),
        ("a = 7", "a >= 7"),
        ("a < 4", "a <= 4"),
        ("a < 4", "a <> 4"),
        ("a = 3", "a <> 4"),
        ("d = 9", "d > 3000000000 or d < 10"),
        ("b = 'x'", "b >= 'a'"),
        ("b = 'x'", "b is not null"),
        ("lower(b) = 'x'", "b is not null"),
        ("a + 1 > 3", "a is not null"),
        ("c", "c"),
        ("c = true", "c"),
        ("c", "c is true"),
        ("not c", "c = false"),
        ("c is false", "not c"),
        ("a = 1 or a = 2", "a > 0"),
        ("a = 1", "a = 1 or a = 2"),
        ("a = 1 or a = 2", "a = 1 or a = 2"),
        ("a in (1, 2)", "a is not null"),
    ] {
        assert!(
            is_found(condition, predicate),
            "{condition} has {predicate}"
        );
    }
}

#[test]
fn what_does_not_follow_is_not() {
    for (condition, predicate) in [
        ("a > 5", "a > 6"),
        ("a >= 5", "a > 5"),
        ("a > 5", "d > 5"),
        ("a = 5", "a > 5"),
        ("a <> 4", "a > 4"),
        ("a > 5", "a < 10"),
        ("b = 'x'", "b = 'X'"),
        ("a > 5", "b is not null"),
        ("b is null", "b is not null"),
        ("coalesce(b, 'x') = 'x'", "b is not null"),
        ("c", "not c"),
        ("c is not true", "not c"),
        ("c is not false", "c"),
        ("a = 1 or a = 20", "a < 10"),
        ("a = 1 or b = 'x'", "a = 1"),
        ("a > 5", "a > null"),
        ("a = all ('{}'::int[])", "a is not null"),
        // Conditions that tell whether a value is NULL are true of NULL if they are denied.
        ("(a is not null) = false", "a is not null"),
        ("not (a is not null)", "a is not null"),
        ("(a is not null) is false", "a is not null"),
        ("not (a = any ('{}'::int[]))", "a is not null"),
        ("(a is null) is not false", "a is not null"),
    ] {
        assert!(
            !is_found(condition, predicate),
            "{condition} has not {predicate}"
        );
    }
}
