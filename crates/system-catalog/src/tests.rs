//! Each relation of the system's has rows that match its columns, and each view has the columns
//! that are declared for it.

use functions::{Environment, Objects};
use types::{Names, Scratch, Settings, Type, Value};

use super::{Source, rows};
use catalog::{Catalog, Object, system};
use logical::bind::{BindContext, Binder, Inputs, Parameters};

struct Nobody(Catalog);

impl Environment for Nobody {
    fn names(&self) -> &dyn Names {
        &self.0
    }

    fn objects(&self) -> &dyn Objects {
        &functions::NoObjects
    }

    fn transaction_time(&self) -> i64 {
        0
    }

    fn statement_time(&self) -> i64 {
        0
    }

    fn clock_time(&self) -> i64 {
        0
    }

    fn random(&self) -> u64 {
        0
    }

    fn seed(&self, _seed: f64) {}

    fn current_user(&self) -> &str {
        "nobody"
    }

    fn database(&self) -> &str {
        "nothing"
    }

    fn schema(&self) -> Option<&str> {
        None
    }

    fn version(&self) -> &str {
        "0"
    }

    fn process_id(&self) -> i32 {
        0
    }
}

/// Returns whether a value can be written and read as the type: its form is the type's.
fn is_of(value: Value<'_>, ty: Type, catalog: &Catalog) -> bool {
    let settings = Settings::default();
    let context = types::Context {
        settings: &settings,
        names: catalog,
        now: 0,
    };
    let mut text = Vec::new();
    types::text::write(value, ty, &context, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let scratch = Scratch::new();
    let read = types::text::read(&text, ty, &context, &scratch);
    read.is_ok_and(|read| std::mem::discriminant(&read) == std::mem::discriminant(&value))
}

#[test]
fn rows_are_as_columns_say() {
    let environment = Nobody(Catalog::default());
    let scratch = Scratch::new();
    let source = Source {
        catalog: &environment.0,
        environment: &environment,
        scratch: &scratch,
    };
    let mut filled = 0;
    for relation in system::all_relations() {
        let Object::Table(table) = &relation.object else {
            continue;
        };
        let columns: Vec<usize> = (0..table.columns.len()).collect();
        let found = rows(table.id, &columns, &source).unwrap();
        filled += usize::from(!found.is_empty());
        for row in found.iter() {
            for (value, column) in row.iter().zip(table.columns.iter()) {
                let name = format!("{}.{}", table.name, column.name);
                if value.is_null() {
                    assert!(!column.not_null, "{name} is NULL");
                } else {
                    assert!(
                        is_of(*value, column.ty, &environment.0),
                        "{name}: {value:?}"
                    );
                }
            }
        }
    }
    // Even without any object of a user's there are rows of types, functions, fixed relations and
    // the session.
    assert!(filled >= 12, "{filled}");
}

#[test]
fn views_have_the_columns_that_they_are_said_to_have() {
    let catalog = Catalog::default();
    let bind_context = BindContext {
        catalog: &catalog,
        inputs: &Inputs::default(),
        database: "nothing",
        now: 0,
    };
    let mut views = 0;
    for relation in system::all_relations() {
        let Object::View(view) = &relation.object else {
            continue;
        };
        views += 1;
        let source = syntax::kept(&view.text).unwrap();
        let statement = source.statement();
        let statement = statement.unwrap_or_else(|error| panic!("{}: {error:?}", view.name));
        let syntax::Statement::Rows(statement) = &*statement else {
            panic!("{}: no query", view.name);
        };
        let mut parameters = Parameters::default();
        let bound = Binder::bind(&bind_context, source.lines(), statement, &mut parameters);
        let bound = bound.unwrap_or_else(|error| panic!("{}: {error}", view.name));
        assert_eq!(bound.outputs.len(), view.columns.len(), "{}", view.name);
    }
    assert!(views >= 30, "{views}");
}
