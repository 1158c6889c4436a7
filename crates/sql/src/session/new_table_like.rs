//! LIKE in CREATE TABLE: the columns of another relation, and the other properties that INCLUDING
//! asks for.
//!
//! Expressions name columns, and therefore mean the new table's without a change. A default that
//! advances a sequence goes on advancing the same one; an identity gets a sequence of its own.

use std::sync::Arc;

use types::{Result, SqlError, SqlState};

use super::{
    Session,
    new_table::{set_primary_key, unique_name},
    sequence::ColumnSequence,
};
use catalog::{
    Catalog, Column, Comments, Generation, Index, IndexColumn, IndexKey, NewCheck, NewIndex,
    NewTable, NewUnique, Part, Relation, StoredExpression, Table,
};
use logical::bind::{Binder, Parameters};
use syntax::{
    phase,
    table_like::{Included, TableLike},
};

/// A relation whose columns a new table has got.
pub(super) struct Copied {
    included: Included,
    comments: Comments,
    /// Positions of its columns, each with that of the new one.
    positions: Vec<(u16, u16)>,
    /// Table that was copied; `None` for a view.
    table: Option<Arc<Table>>,
    /// Positions of its unique constraints, with the names of the new ones.
    uniques: Vec<(usize, String)>,
}

impl Copied {
    fn new_position(&self, old: u16) -> Result<u16> {
        let mut positions = self.positions.iter();
        let found = positions.find(|(from, _)| *from == old);
        found.map(|(_, to)| *to).ok_or_else(|| {
            let message = "a key over a column that is not there";
            SqlError::new(SqlState::INTERNAL_ERROR, message)
        })
    }

    fn new_positions(&self, old: &[u16]) -> Result<Vec<u16>> {
        old.iter().map(|at| self.new_position(*at)).collect()
    }
}

impl Session {
    /// Gives a new table the columns of another relation, and its checks, primary key and unique
    /// constraints if they are asked for.
    ///
    /// # Errors
    /// 42P01 if the relation does not exist; 42809 if it is no table or view; 42P16 if there is a
    /// primary key already.
    pub(super) fn copy_columns(
        &self,
        catalog: &Catalog,
        like: &TableLike,
        new: &mut NewTable,
        sequences: &mut Vec<ColumnSequence>,
    ) -> Result<Copied> {
        let mut copied = Copied {
            included: like.included,
            comments: Comments::default(),
            positions: Vec::new(),
            table: None,
            uniques: Vec::new(),
        };
        let (found, name) = self.relation_written(catalog, &like.name)?;
        match found {
            Relation::Table(table) => {
                copied.comments = table.comments.clone();
                copied.table = Some(table.clone());
                for (at, column) in table.live_columns() {
                    let position = new.columns.len();
                    if let Some(Generation::Identity { mode, sequence }) = column.generation
                        && like.included.identity
                    {
                        let sequence = catalog.expect_sequence(sequence)?;
                        sequences.push(ColumnSequence::like(position, mode, sequence));
                    }
                    copied.positions.push((small(at), small(position)));
                    new.columns.push(column_like(column, like.included));
                }
                copy_constraints(table, new, &mut copied)?;
            }
            Relation::View(view) => {
                copied.comments = view.comments.clone();
                for (at, column) in view.columns.iter().enumerate() {
                    copied.positions.push((small(at), small(new.columns.len())));
                    let (name, modifier) = (column.name.clone(), column.modifier);
                    new.columns.push(Column::new(name, column.ty, modifier));
                }
            }
            other => {
                let kind = match other {
                    Relation::Sequence(_) => "sequences",
                    _ => "indexes",
                };
                let message = format!("relation \"{name}\" is invalid in LIKE clause");
                return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message)
                    .detail(format!("This operation is not supported for {kind}.")));
            }
        }
        Ok(copied)
    }

    /// Gives a table that has been created the indexes that belong to no constraint, and the
    /// comments, if they are asked for.
    ///
    /// # Errors
    /// Errors of the catalog.
    pub(super) async fn copy_indexes(&self, new: &Arc<Table>, copied: &Copied) -> Result<()> {
        let mut new = new.clone();
        // The old indexes with the names of the new ones.
        let mut names = Vec::new();
        if let Some(table) = copied.table.as_ref().filter(|_| copied.included.indexes) {
            let key = table.primary_key.as_ref().and_then(|key| key.index);
            let is_constraint = |index: &Index| {
                key == Some(index.id) || table.uniques.iter().any(|unique| unique.index == index.id)
            };
            for (at, name) in &copied.uniques {
                names.push((table.uniques[*at].index, name.clone()));
            }
            for index in table.indexes.iter().filter(|index| !is_constraint(index)) {
                let like = phase::run(|| self.index_like(&new, index, copied)).await?;
                names.push((index.id, like.name.clone()));
                new = self.transaction.ddl()?.create_index(new.id, like).await?;
            }
        }
        if !copied.included.comments {
            return Ok(());
        }
        let ddl = self.transaction.ddl()?;
        for (part, text) in copied.comments.iter() {
            let part = match part {
                Part::Whole => None,
                Part::Column(at) => copied.new_position(at).ok().map(Part::Column),
                Part::Index(id) => {
                    let mut names = names.iter();
                    let name = names.find(|(old, _)| *old == id);
                    let index = name.and_then(|(_, name)| new.index_named(name));
                    index.map(|index| Part::Index(index.id))
                }
                Part::Constraint(id) => {
                    let table = copied
                        .table
                        .as_ref()
                        .filter(|_| copied.included.constraints);
                    let checks = table.map(|table| table.checks.iter()).into_iter().flatten();
                    let old = checks.clone().find(|check| check.id == id);
                    let found = old.and_then(|check| new.constraint(&check.name));
                    found.map(Part::Constraint)
                }
                // Statistics objects are not copied.
                Part::Statistics(_) => None,
            };
            if let Some(part) = part {
                ddl.comment(new.id, part, Some(text)).await?;
            }
        }
        Ok(())
    }

    /// Returns an index like another one, over the columns that the new table has for its columns.
    fn index_like(&self, new: &Arc<Table>, index: &Index, copied: &Copied) -> Result<NewIndex> {
        let catalog = self.transaction.catalog();
        let bind_context = self.bind_context(&catalog);
        let mut parameters = Parameters::default();
        let mut binder = Binder::for_definitions(&bind_context, &mut parameters);
        let mut columns = Vec::with_capacity(index.columns.len());
        let mut names = Vec::with_capacity(index.columns.len());
        let name_of = |at: u16| new.columns[usize::from(at)].name.to_string();
        for column in index.columns.iter() {
            let (key, wanted) = match &column.key {
                IndexKey::Column(at) => {
                    let at = copied.new_position(*at)?;
                    (IndexKey::Column(at), name_of(at))
                }
                IndexKey::Expression(expression) => {
                    let written = syntax::parse_expression(&expression.text)?;
                    let (key, _) = binder.index_key(new, &written)?;
                    (key, binder.index_key_name(&written))
                }
            };
            names.push(super::new_index::other_name(&names, &wanted));
            columns.push(IndexColumn {
                key,
                ..column.clone()
            });
        }
        let included = copied.new_positions(&index.included)?;
        for at in &included {
            names.push(super::new_index::other_name(&names, &name_of(*at)));
        }
        let predicate = match &index.predicate {
            None => None,
            Some(predicate) => {
                let written = syntax::parse_expression(&predicate.text)?;
                Some(binder.index_predicate(new, &written)?)
            }
        };
        let columns_named = Some(names.join("_"));
        let ddl = self.transaction.ddl()?;
        let name = ddl.choose_name(
            new.schema,
            &new.name,
            columns_named.as_deref(),
            "idx",
            |_| false,
        );
        Ok(NewIndex {
            name,
            unique: index.unique,
            nulls_not_distinct: index.nulls_not_distinct,
            columns,
            included,
            predicate,
            constraint: None,
        })
    }
}

fn small(at: usize) -> u16 {
    u16::try_from(at).unwrap_or(u16::MAX)
}

fn column_like(column: &Column, included: Included) -> Column {
    let is_generated = matches!(column.generation, Some(Generation::Stored(_)));
    Column {
        default: column.default.clone().filter(|_| included.defaults),
        generation: column
            .generation
            .clone()
            .filter(|_| is_generated && included.generated),
        missing: None,
        ..column.clone()
    }
}

/// Copies the constraints that a table has from the beginning.
fn copy_constraints(table: &Table, new: &mut NewTable, copied: &mut Copied) -> Result<()> {
    if copied.included.constraints {
        for check in table.checks.iter() {
            new.checks.push(NewCheck {
                name: check.name.to_string(),
                expression: StoredExpression {
                    text: check.expression.text.clone(),
                    search_path: check.expression.search_path.clone(),
                    dependencies: [].into(),
                },
                is_valid: true,
            });
        }
    }
    if !copied.included.indexes {
        return Ok(());
    }
    if let Some(key) = &table.primary_key {
        let name = format!("{}_pkey", new.name);
        set_primary_key(new, name, copied.new_positions(&key.columns)?)?;
    }
    for (at, unique) in table.uniques.iter().enumerate() {
        let columns = copied.new_positions(&unique.columns)?;
        let name = unique_name(new, &columns);
        let index = table.index(unique.index);
        copied.uniques.push((at, name.clone()));
        new.uniques.push(NewUnique {
            name,
            columns,
            nulls_not_distinct: index.is_some_and(|index| index.nulls_not_distinct),
        });
    }
    Ok(())
}
