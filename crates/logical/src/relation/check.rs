//! A check of bound statements: each column that a relation names has to be in the rows of its
//! input, or in those of a query around it.
//!
//! The binder decides where each part of a query is computed, and the planner only moves parts to
//! where their columns are. A combination of clauses whose parts the binder puts in no order that
//! works is refused here, by name, and never reaches the planner.

use std::collections::HashSet;

use types::{Result, SqlError};

use super::{JoinKind, Output, Relation, SetOperation, SharedBody, SubqueryKind};
use crate::expression::{ColumnId, Expression, Kind};

/// Checks a bound statement.
///
/// # Errors
/// 0A000 for a column that is named where it is missing; the message names the clause.
pub fn check(relation: &mut Relation, outputs: &[Output]) -> Result<()> {
    let given = Check::default().relation(relation)?;
    let is_there = |output: &Output| given.contains(&output.column);
    match outputs.iter().all(is_there) {
        true => Ok(()),
        false => Err(refused("the output")),
    }
}

/// The columns of the rows around the relation that is checked, the innermost last.
#[derive(Default)]
struct Check {
    outer: Vec<HashSet<ColumnId>>,
}

impl Check {
    /// Checks a relation; returns the columns of its rows.
    fn relation(&mut self, relation: &mut Relation) -> Result<HashSet<ColumnId>> {
        let mut given = match relation {
            Relation::Join(join) => {
                let left = self.relation(&mut join.left)?;
                let mut both = left.clone();
                match join.lateral {
                    true => both.extend(self.within(left.clone(), &mut join.right)?),
                    false => both.extend(self.relation(&mut join.right)?),
                }
                self.expressions(relation, &both)?;
                let is_filter = matches!(
                    relation,
                    Relation::Join(join) if matches!(join.kind, JoinKind::Semi | JoinKind::Anti)
                );
                return Ok(if is_filter { left } else { both });
            }
            Relation::Apply { input, subquery } => {
                let mut given = self.relation(input)?;
                let own = self.within(given.clone(), &mut subquery.relation)?;
                let is_there = match &subquery.kind {
                    SubqueryKind::Scalar(column) | SubqueryKind::Array { column, .. } => {
                        own.contains(column)
                    }
                    SubqueryKind::Exists => true,
                    SubqueryKind::Any(tests) => {
                        let both = given.union(&own).copied().collect();
                        tests.iter().all(|test| self.is_there(test, &both))
                    }
                };
                if !is_there {
                    return Err(refused("a subquery"));
                }
                given.insert(subquery.column);
                return Ok(given);
            }
            Relation::Set(set) => return self.set(set),
            Relation::With { definitions, body } => {
                for shared in definitions {
                    let parts = match &mut shared.body {
                        SharedBody::Query(query) => vec![(query, &shared.columns)],
                        SharedBody::Recursive {
                            initial,
                            initial_columns,
                            step,
                            step_columns,
                            ..
                        } => vec![(initial, &*initial_columns), (step, &*step_columns)],
                    };
                    for (query, columns) in parts {
                        let given = self.relation(query)?;
                        if !columns.iter().all(|id| given.contains(id)) {
                            return Err(refused("WITH"));
                        }
                    }
                }
                return self.relation(body);
            }
            Relation::Calls { input, calls } => {
                // A call may use the answers of the calls before it.
                let mut given = self.relation(input)?;
                for call in calls {
                    let mut arguments = call.arguments.iter();
                    if !arguments.all(|argument| self.is_there(argument, &given)) {
                        return Err(refused("a function that waits"));
                    }
                    given.insert(call.column);
                }
                return Ok(given);
            }
            Relation::Aggregate(aggregate) => {
                let given = self.relation(&mut aggregate.input)?;
                self.expressions(relation, &given)?;
                return Ok(relation.columns().into_iter().collect());
            }
            _ => {
                let mut given = HashSet::new();
                let mut failed = Ok(());
                relation.for_each_input_mut(&mut |input| match self.relation(input) {
                    Ok(columns) => given.extend(columns),
                    Err(error) => failed = Err(error),
                });
                failed?;
                given
            }
        };
        given.extend(seen_by_changes(relation));
        self.expressions(relation, &given)?;
        given.extend(relation.own_columns());
        Ok(given)
    }

    /// Checks a relation whose expressions may name columns of a row around it.
    fn within(
        &mut self,
        row: HashSet<ColumnId>,
        relation: &mut Relation,
    ) -> Result<HashSet<ColumnId>> {
        self.outer.push(row);
        let given = self.relation(relation);
        self.outer.pop();
        given
    }

    fn set(&mut self, set: &mut SetOperation) -> Result<HashSet<ColumnId>> {
        let left = self.relation(&mut set.left)?;
        let right = self.relation(&mut set.right)?;
        let mut columns = set.columns.iter();
        if !columns.all(|(_, of_left, of_right)| left.contains(of_left) && right.contains(of_right))
        {
            return Err(refused("UNION, INTERSECT or EXCEPT"));
        }
        Ok(set.columns.iter().map(|(id, _, _)| *id).collect())
    }

    /// Returns whether all columns of an expression are in a row or around it.
    fn is_there(&self, expression: &Expression, given: &HashSet<ColumnId>) -> bool {
        let is_there = |id: &ColumnId| {
            given.contains(id) || self.outer.iter().rev().any(|row| row.contains(id))
        };
        !expression.any(&mut |part| matches!(&part.kind, Kind::Column(id) if !is_there(id)))
    }

    /// Checks the relation's own expressions.
    fn expressions(&self, relation: &mut Relation, given: &HashSet<ColumnId>) -> Result<()> {
        let mut all_there = true;
        relation.for_each_own_expression_mut(&mut |expression| {
            all_there &= self.is_there(expression, given);
        });
        match all_there {
            true => Ok(()),
            false => Err(refused(place(relation))),
        }
    }
}

/// Returns the columns that expressions of a change may name besides those of its input.
fn seen_by_changes(relation: &Relation) -> Vec<ColumnId> {
    match relation {
        Relation::Insert(insert) => {
            let update = insert.on_conflict.as_ref();
            let update = update.and_then(|conflict| conflict.update.as_ref());
            let columns = update.into_iter();
            let columns = columns.flat_map(|update| update.old.iter().chain(&update.excluded));
            columns.copied().collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the clause that a relation's expressions stand in.
fn place(relation: &Relation) -> &'static str {
    match relation {
        Relation::Filter { .. } => "WHERE or HAVING",
        Relation::Compute { .. } => "the select list",
        Relation::Expand { .. } => "a set-returning function",
        Relation::Functions { .. } => "a function in FROM",
        Relation::Join(_) => "JOIN",
        Relation::Aggregate(_) => "GROUP BY or an aggregate",
        Relation::Window { .. } => "a window function",
        Relation::Distinct { .. } => "DISTINCT",
        Relation::Sort { .. } => "ORDER BY",
        Relation::Limit { .. } => "LIMIT",
        Relation::Rows { .. } => "VALUES",
        Relation::Insert(_) => "INSERT",
        Relation::Change(_) => "UPDATE",
        Relation::Merge(_) => "MERGE",
        _ => "this place",
    }
}

fn refused(place: &str) -> SqlError {
    SqlError::unsupported(format_args!(
        "a column in {place} that is computed only later"
    ))
    .hint("Compute the column in a subquery in FROM.")
}
