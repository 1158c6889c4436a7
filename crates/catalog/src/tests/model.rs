//! Random DDL in transactions, with rollbacks, returns to marks and crashes, against a model.

use std::collections::BTreeMap;

use engine::{Isolation, OnConflict};

use super::bed::{Bed, TEXT, column, new_index, new_table, put};
use crate::{Behavior, Changes, Ddl, NameClass, Object, ObjectId, Target, failure::from_engine};

/// The expected content of the catalog: tables by name.
type Model = BTreeMap<String, Definition>;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Definition {
    columns: Vec<String>,
    /// Names of the indexes, and whether each is unique.
    indexes: BTreeMap<String, bool>,
    rows: BTreeMap<String, String>,
}

#[derive(Debug, Clone)]
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % bound
    }
}

/// Returns the content of the catalog and of the tables. Checks that all indexes agree with them.
fn found(bed: &mut Bed) -> Model {
    let catalog = bed.catalogs.current();
    let mut model = Model::default();
    for object in catalog.objects() {
        let Object::Table(table) = object else {
            continue;
        };
        let columns = table
            .live_columns()
            .map(|(_, column)| column.name.to_string());
        let indexes = table.indexes.iter();
        let (columns, storage) = (columns.collect(), table.storage().clone());
        let mut definition = Definition {
            columns,
            indexes: indexes
                .map(|index| (index.name.to_string(), index.unique))
                .collect(),
            ..Definition::default()
        };
        definition.rows = bed.run(async move |session, _| {
            use std::ops::{Bound, ControlFlow};
            let transaction = session.begin(Isolation::Snapshot).unwrap();
            let mut rows = BTreeMap::new();
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let all = (Bound::Unbounded, Bound::Unbounded);
            let forward = engine::Direction::Forward;
            let scan = transaction.scan::<interleave::Interleaved>(
                &storage,
                all,
                forward,
                |key, value| {
                    rows.insert(text(key), text(value));
                    ControlFlow::Continue(())
                },
            );
            scan.await.unwrap();
            rows
        });
        bed.check_indexes(table.id);
        model.insert(table.name.to_string(), definition);
    }
    model
}

/// Returns whether a row's first field is that of another row, where a unique index forbids it.
fn violates(definition: &Definition, key: &str, value: &str) -> bool {
    definition.indexes.values().any(|unique| *unique)
        && definition
            .rows
            .iter()
            .any(|(other, row)| other != key && row == value)
}

/// Carries out one operation on the catalog and the model; returns whether the catalog refused it,
/// as the model says it must.
async fn step(
    ddl: &Ddl<'_>,
    transaction: &engine::Transaction,
    changes: &Changes,
    model: &mut Model,
    random: &mut Random,
) {
    let catalog = changes.catalog();
    let name = format!("t{}", random.below(5));
    let id = catalog.named(NameClass::Relation, ObjectId::PUBLIC, &name);
    assert_eq!(id.is_some(), model.contains_key(&name), "{name}");
    let mark = changes.mark(transaction).unwrap();
    let outcome = match (id, random.below(9)) {
        (None, _) => {
            let made = ddl.create_table(new_table(&name, &["a"])).await.map(drop);
            let columns = vec!["a".to_owned()];
            model.insert(
                name,
                Definition {
                    columns,
                    ..Definition::default()
                },
            );
            made
        }
        (Some(_), 0) => {
            let again = ddl.create_table(new_table(&name, &["b"])).await;
            assert_eq!(again.unwrap_err().state().code(), "42P07");
            changes.return_to(transaction, &mark).await
        }
        (Some(id), 1) => {
            model.remove(&name);
            ddl.drop(&[Target::Object(id)], Behavior::Restrict)
                .await
                .map(drop)
        }
        (Some(id), 2) => {
            let new = format!("t{}", random.below(5));
            match model.contains_key(&new) {
                // The table gets its own name.
                true if new == name => Ok(()),
                true => {
                    let refused = ddl.rename(id, &new).await;
                    assert_eq!(refused.unwrap_err().state().code(), "42P07");
                    changes.return_to(transaction, &mark).await
                }
                false => {
                    let definition = model.remove(&name).unwrap();
                    model.insert(new.clone(), definition);
                    ddl.rename(id, &new).await
                }
            }
        }
        (Some(id), 3) => {
            let definition = model.get_mut(&name).unwrap();
            let column_name = format!("c{}", catalog.table(id).unwrap().columns.len());
            definition.columns.push(column_name.clone());
            ddl.add_column(id, column(&column_name, TEXT))
                .await
                .map(drop)
        }
        (Some(id), 4) => {
            model.get_mut(&name).unwrap().rows.clear();
            ddl.truncate(&[id], false, Behavior::Restrict)
                .await
                .map(drop)
        }
        (Some(id), 5) => {
            let (unique, index) = (random.below(2) == 0, format!("i{}", random.below(8)));
            let is_taken = model
                .values()
                .any(|table| table.indexes.contains_key(&index));
            let definition = model.get_mut(&name).unwrap();
            let mut values: Vec<_> = definition.rows.values().collect();
            values.sort();
            let repeats = values.windows(2).any(|pair| pair[0] == pair[1]);
            let made = ddl.create_index(id, new_index(&index, unique, 0)).await;
            match (unique && repeats, is_taken) {
                (true, _) => {
                    assert_eq!(made.unwrap_err().state().code(), "23505");
                    changes.return_to(transaction, &mark).await
                }
                (false, true) => {
                    assert_eq!(made.unwrap_err().state().code(), "42P07");
                    changes.return_to(transaction, &mark).await
                }
                (false, false) => {
                    definition.indexes.insert(index, unique);
                    made.map(drop)
                }
            }
        }
        (Some(id), 6) => match catalog.table(id).unwrap().indexes.first() {
            Some(index) => {
                model.get_mut(&name).unwrap().indexes.remove(&*index.name);
                ddl.drop(&[Target::Index(id, index.id)], Behavior::Restrict)
                    .await
                    .map(drop)
            }
            None => Ok(()),
        },
        (Some(id), _) => {
            let (key, value) = (
                format!("k{}", random.below(6)),
                format!("v{}", random.below(4)),
            );
            let definition = model.get_mut(&name).unwrap();
            let violates = violates(definition, &key, &value);
            let written = put(transaction, changes, id, &key, &value).await;
            assert_eq!(written.is_err(), violates, "{written:?}");
            match violates {
                true => changes.return_to(transaction, &mark).await,
                false => {
                    definition.rows.insert(key, value);
                    written
                }
            }
        }
    };
    outcome.unwrap();
    changes.release(transaction, &mark).unwrap();
}

/// Runs one transaction; returns the model that it leaves.
async fn transaction(
    session: std::rc::Rc<engine::Session>,
    catalogs: std::sync::Arc<crate::Catalogs>,
    before: Model,
    mut random: Random,
) -> (Model, Random) {
    let isolation = match random.below(3) {
        0 => Isolation::Snapshot,
        _ => Isolation::ReadCommitted,
    };
    let transaction = session.begin(isolation).unwrap();
    transaction.set_on_conflict(OnConflict::Wait);
    let changes = Changes::new(&catalogs);
    let ddl = Ddl::new(&transaction, &changes);
    let mut model = before.clone();
    for _ in 0..random.below(8) {
        if random.below(4) == 0 {
            let (mark, kept) = (changes.mark(&transaction).unwrap(), model.clone());
            for _ in 0..random.below(6) {
                step(&ddl, &transaction, &changes, &mut model, &mut random).await;
            }
            if random.below(2) == 0 {
                changes.return_to(&transaction, &mark).await.unwrap();
                model = kept;
            }
            changes.release(&transaction, &mark).unwrap();
        }
        step(&ddl, &transaction, &changes, &mut model, &mut random).await;
    }
    match random.below(4) {
        0 => {
            transaction.rollback();
            (before, random)
        }
        _ => {
            transaction.commit().await.map_err(from_engine).unwrap();
            (model, random)
        }
    }
}

#[test]
fn the_catalog_is_as_the_model_says() {
    for seed in 1..=6 {
        let mut bed = Bed::new();
        let (mut model, mut random) = (
            Model::default(),
            Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed)),
        );
        for round in 0..25 {
            let (before, own) = (model.clone(), random.clone());
            (model, random) = bed.run(async move |session, catalogs| {
                transaction(session, catalogs, before, own).await
            });
            if round % 6 == 5 {
                bed = bed.crash();
            }
            assert_eq!(found(&mut bed), model, "seed {seed}, transaction {round}");
        }
    }
}
