//! Names of a statement's columns, after binding has removed the names from its plan.

use std::collections::HashMap;

use logical::{
    expression::{ColumnId, Expression},
    relation::{Relation, Scan},
};

/// Name of each column, or what the column is computed from.
#[derive(Default)]
pub struct Names(HashMap<ColumnId, Named>);

pub(super) enum Named {
    Column {
        table: String,
        column: String,
    },
    Computed(Expression),
    /// An aggregate, or a function over a window or a set.
    Call(&'static str, Vec<Expression>),
}

impl Names {
    /// Returns the names of the columns of `relation`.
    pub fn of(relation: &Relation) -> Names {
        let mut names = Names::default();
        // The relation is only walked; the copy is needed because the walk takes it mutably.
        names.collect(&mut relation.clone());
        names
    }

    /// Adds columns that the planner has made, with what they are.
    pub fn add(&mut self, columns: Vec<(ColumnId, Expression)>) {
        let columns = columns.into_iter();
        self.0
            .extend(columns.map(|(id, value)| (id, Named::Computed(value))));
    }

    pub(super) fn get(&self, id: ColumnId) -> Option<&Named> {
        self.0.get(&id)
    }

    /// Returns whether there are several tables. With a single table, its columns need no more than
    /// their own names.
    pub(super) fn has_several_tables(&self) -> bool {
        let mut tables = self.0.values().filter_map(|named| match named {
            Named::Column { table, .. } => Some(table),
            _ => None,
        });
        let first = tables.next();
        tables.any(|table| Some(table) != first)
    }

    fn collect(&mut self, relation: &mut Relation) {
        match relation {
            Relation::Scan(scan) => self.scan(scan),
            Relation::Compute { columns, .. } => {
                for (id, value) in columns {
                    self.0.insert(*id, Named::Computed(value.clone()));
                }
            }
            Relation::Aggregate(aggregate) => {
                for (id, key) in &aggregate.keys {
                    self.0.insert(*id, Named::Computed(key.clone()));
                }
                for call in &aggregate.calls {
                    let named = Named::Call(call.function.0.name, call.arguments.clone());
                    self.0.insert(call.column, named);
                }
            }
            Relation::Window { calls, .. } => {
                for call in calls {
                    let named = Named::Call(call.function.0.name, call.arguments.clone());
                    self.0.insert(call.column, named);
                }
            }
            Relation::Functions { calls, .. } | Relation::Expand { calls, .. } => {
                for call in calls {
                    for id in &call.columns {
                        let named = Named::Call(call.function.0.name, call.arguments.clone());
                        self.0.insert(*id, named);
                    }
                }
            }
            Relation::Shared { columns, .. } => {
                columns
                    .iter()
                    .for_each(|(id, source)| self.same(*id, *source));
            }
            // The columns of a set operation are called as on the left, as in PostgreSQL.
            Relation::Set(set) => {
                let columns = set.columns.iter();
                columns.for_each(|(id, left, _)| self.same(*id, *left));
            }
            _ => {}
        }
        relation.for_each_input_mut(&mut |input| self.collect(input));
    }

    /// Notes that the column `id` is the column `source` under a new number.
    fn same(&mut self, id: ColumnId, source: ColumnId) {
        let value = Expression::column(source, types::Type::Unknown, types::TypeModifier::NONE);
        self.0.insert(id, Named::Computed(value));
    }

    fn scan(&mut self, scan: &Scan) {
        for (id, at) in &scan.columns {
            let named = Named::Column {
                table: scan.table.name.to_string(),
                column: scan.table.columns[*at].name.to_string(),
            };
            self.0.insert(*id, named);
        }
    }
}
