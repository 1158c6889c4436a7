//! WITH queries in the place of their only use, where conditions come to their tables, and where they are computed for
//! no more rows than are wanted. PostgreSQL does the same.
//!
//! A query stays where it is, computed once, if it is read in several places or said to be MATERIALIZED; if it might
//! give other rows in another place, by a volatile function; if its use is computed again for rows around it, or for
//! each step of a recursion, and the query itself is not; and if a part of the WITH changes or locks rows. A query that
//! nothing reads is left out.
//!
//! The nesting depth grows by nothing: a shared relation counts where it is read (`logical/relation/depth.rs`).

use std::collections::HashMap;

use types::{Type, TypeModifier};

use super::predicate_pushdown::nothing;
use logical::{
    expression::{ColumnId, Expression},
    relation::{Relation, Shared, SharedBody, SharedId},
};
use syntax::phase;

/// Returns the relation with WITH queries in the place of their uses.
pub(super) fn inlined(mut relation: Relation) -> Relation {
    let mut uses = Uses::default();
    uses.count(&mut relation, 0);
    if uses.found.is_empty() {
        return relation;
    }
    let mut inlining = Inlining {
        uses: uses.found,
        queries: HashMap::new(),
    };
    inlining.replace(&mut relation);
    relation
}

/// The places where a WITH query is read.
#[derive(Default)]
struct Read {
    /// Number of constructs around the definition that compute their content again.
    level: usize,
    times: usize,
    /// Whether the query is read within a construct that computes its content again and has the definition outside.
    is_repeated: bool,
}

#[derive(Default)]
struct Uses {
    found: HashMap<SharedId, Read>,
}

impl Uses {
    /// Counts the uses in a relation that lies within `level` constructs which compute their content again.
    fn count(&mut self, relation: &mut Relation, level: usize) {
        phase::pause();
        match relation {
            Relation::Shared { number, .. } => {
                if let Some(read) = self.found.get_mut(number) {
                    read.times += 1;
                    read.is_repeated |= read.level != level;
                }
            }
            Relation::Apply { input, subquery } => {
                self.count(input, level);
                self.count(&mut subquery.relation, level + 1);
            }
            Relation::Join(join) if join.lateral => {
                self.count(&mut join.left, level);
                self.count(&mut join.right, level + 1);
            }
            Relation::With { definitions, body } => {
                for shared in definitions {
                    match &mut shared.body {
                        SharedBody::Query(query) => {
                            let read = Read {
                                level,
                                ..Read::default()
                            };
                            self.found.insert(shared.number, read);
                            self.count(query, level);
                        }
                        SharedBody::Recursive { initial, step, .. } => {
                            self.count(initial, level);
                            self.count(step, level + 1);
                        }
                    }
                }
                self.count(body, level);
            }
            other => other.for_each_input_mut(&mut |input| self.count(input, level)),
        }
    }
}

struct Inlining {
    uses: HashMap<SharedId, Read>,
    /// Queries that take the place of their only use, with their columns in order.
    queries: HashMap<SharedId, Relation>,
}

impl Inlining {
    fn replace(&mut self, relation: &mut Relation) {
        phase::pause();
        let changes_or_locks =
            matches!(relation, Relation::With { .. }) && changes_or_locks(relation);
        match relation {
            Relation::Shared { number, columns } => {
                if let Some(query) = self.queries.remove(number) {
                    let columns = columns.iter();
                    // The users of a column that is handed on as it is know its type.
                    let handed = columns.map(|(id, source)| (*id, handed_on(*source)));
                    *relation = Relation::Compute {
                        columns: handed.collect(),
                        input: Box::new(query),
                    };
                }
            }
            Relation::With { definitions, body } if !changes_or_locks => {
                let mut kept = Vec::new();
                for mut shared in std::mem::take(definitions) {
                    self.replace_in(&mut shared.body);
                    kept.extend(self.moved(shared));
                }
                self.replace(body);
                *definitions = kept;
                if definitions.is_empty() {
                    *relation = std::mem::replace(body, nothing());
                }
            }
            other => other.for_each_input_mut(&mut |input| self.replace(input)),
        }
    }

    fn replace_in(&mut self, body: &mut SharedBody) {
        match body {
            SharedBody::Query(query) => self.replace(query),
            SharedBody::Recursive { initial, step, .. } => {
                self.replace(initial);
                self.replace(step);
            }
        }
    }

    /// Takes a definition in that can be put in the place of its use, or that has none; returns another one.
    fn moved(&mut self, shared: Shared) -> Option<Shared> {
        let read = self.uses.get(&shared.number);
        let is_wanted_once = read.is_some_and(|read| read.times <= 1 && !read.is_repeated);
        match shared.body {
            SharedBody::Query(query)
                if is_wanted_once && !shared.is_materialized && is_the_same_elsewhere(&query) =>
            {
                self.queries.insert(shared.number, *query);
                None
            }
            body => Some(Shared { body, ..shared }),
        }
    }
}

/// Returns a column as it is, under another number.
fn handed_on(source: ColumnId) -> Expression {
    Expression::column(source, Type::Unknown, TypeModifier::NONE)
}

/// Returns whether a query gives the same rows wherever in its statement it is computed. Shared relations that it reads
/// are computed once.
fn is_the_same_elsewhere(query: &Relation) -> bool {
    let mut query = query.clone();
    query.walk(&mut |part| {
        if matches!(part, Relation::Shared { .. }) {
            *part = nothing();
        }
    });
    query.gives_the_same_again()
}

/// Returns whether a part of a relation changes rows, or locks some.
fn changes_or_locks(relation: &mut Relation) -> bool {
    let mut found = false;
    relation.walk(&mut |part| {
        found |= matches!(
            part,
            Relation::Insert(_) | Relation::Change(_) | Relation::Merge(_) | Relation::Lock { .. }
        );
    });
    found
}
