//! Set operations one after the other: `a UNION ALL b UNION ALL c`.
//!
//! The parser makes a tree of them that is as deep as the chain is long. The binder goes down its
//! left side in a loop. Queries that one operation combines, more than [`PLAIN_RUN`] of them, become
//! a balanced tree: its depth is the logarithm of their number. That is the same for UNION and
//! INTERSECT, which are associative, and for EXCEPT once all that is taken away is united.

use types::{Result, SqlError, SqlState, Type, TypeModifier};

use super::{Binder, query::computed, scope::Scope};
use crate::{
    expression::{ColumnId, Expression},
    relation::{Output, Relation, SetKind, SetOperation},
};
use syntax::{
    phase,
    query::{self, QueryBody},
};

/// So many queries are combined as they are written.
const PLAIN_RUN: usize = 16;

/// Queries, and what combines each with those before it.
type Chain<'q> = Vec<(SetKind, bool, &'q QueryBody)>;

type Bound = (Relation, Vec<Output>);

impl Binder<'_> {
    /// Binds a chain of set operations.
    pub(super) fn set_operations(
        &mut self,
        last: &query::SetOperation,
        scope: &Scope<'_>,
    ) -> Result<Bound> {
        let mut chain: Chain<'_> = Vec::new();
        let mut operation = last;
        let first = loop {
            phase::pause();
            operation.supported()?;
            chain.push((set_kind(operation.kind), operation.all, &operation.right));
            match &operation.left {
                QueryBody::SetOperation(before) => operation = before,
                first => break first,
            }
        };
        chain.reverse();
        // The first two may take the types of each other's literals.
        let Some(((kind, all, second), others)) = chain.split_first() else {
            return self.body(first, scope);
        };
        let (left, right) = self.sides(first, second, scope)?;
        let mut types = types_of(&left.1);
        self.widen(&mut types, &right.1, *kind);
        let (mut run, mut of) = (vec![left, right], (*kind, *all));
        for (kind, all, next) in others {
            phase::pause();
            if (*kind, *all) != of {
                run = vec![self.combined(of, run)?];
                of = (*kind, *all);
            }
            let side = self.side(next, types.clone(), scope)?;
            self.widen(&mut types, &side.1, *kind);
            run.push(side);
        }
        self.combined(of, run)
    }

    /// The types that columns have together with those of one more query, as far as there are some.
    fn widen(&self, types: &mut [Type], outputs: &[Output], kind: SetKind) {
        for (ty, output) in types.iter_mut().zip(outputs) {
            let both = [*ty, output.ty];
            *ty = functions::common_type(&both, name(kind), self.catalog).unwrap_or(*ty);
        }
    }

    /// The queries of a run, combined.
    fn combined(&mut self, (kind, all): (SetKind, bool), mut run: Vec<Bound>) -> Result<Bound> {
        if run.len() <= PLAIN_RUN {
            let mut run = run.into_iter();
            let first = run.next().ok_or_else(nothing_to_combine)?;
            return run.try_fold(first, |left, right| {
                self.set_operation(kind, all, left, right)
            });
        }
        self.give_common_types(kind, &mut run)?;
        if kind != SetKind::Except {
            return self.balanced(kind, all, run);
        }
        let taken_away = run.split_off(1);
        let taken_away = self.balanced(SetKind::Union, all, taken_away)?;
        let first = run.pop().ok_or_else(nothing_to_combine)?;
        self.set_operation(kind, all, first, taken_away)
    }

    /// Brings the columns of all queries to the types that they have one after the other.
    fn give_common_types(&mut self, kind: SetKind, run: &mut [Bound]) -> Result<()> {
        let Some((_, first)) = run.first() else {
            return Ok(());
        };
        let mut types = types_of(first);
        let names: Vec<String> = first.iter().map(|output| output.name.clone()).collect();
        let mut modifiers: Vec<TypeModifier> = first.iter().map(|output| output.modifier).collect();
        for (_, outputs) in run.iter().skip(1) {
            phase::pause();
            if outputs.len() != types.len() {
                return Err(unequal(kind));
            }
            for (at, output) in outputs.iter().enumerate() {
                let both = [types[at], output.ty];
                let common = functions::common_type(&both, name(kind), self.catalog)?;
                if both[0] != both[1] || modifiers[at] != output.modifier {
                    modifiers[at] = TypeModifier::NONE;
                }
                types[at] = common;
            }
        }
        for (relation, outputs) in run.iter_mut() {
            phase::pause();
            let mut columns = Vec::new();
            for (at, output) in outputs.iter_mut().enumerate() {
                output.origin = None;
                if output.ty != types[at] {
                    let value = Expression::column(output.column, output.ty, output.modifier);
                    let value = self.coerce(value, types[at], TypeModifier::NONE, None)?;
                    output.column = self.new_column();
                    columns.push((output.column, value));
                    output.ty = types[at];
                }
                output.modifier = modifiers[at];
                output.name.clone_from(&names[at]);
            }
            let taken = std::mem::replace(relation, super::from::no_columns());
            *relation = computed(taken, columns);
        }
        Ok(())
    }

    /// Queries whose columns have the same types, combined pair by pair.
    fn balanced(&mut self, kind: SetKind, all: bool, mut run: Vec<Bound>) -> Result<Bound> {
        while run.len() > 1 {
            let mut pairs = Vec::with_capacity(run.len().div_ceil(2));
            let mut rest = run.into_iter();
            while let Some((left, outputs)) = rest.next() {
                phase::pause();
                let Some((right, right_outputs)) = rest.next() else {
                    pairs.push((left, outputs));
                    break;
                };
                let outputs: Vec<(Output, ColumnId)> = outputs
                    .into_iter()
                    .map(|output| {
                        let of_left = output.column;
                        let column = self.new_column();
                        (Output { column, ..output }, of_left)
                    })
                    .collect();
                let columns = outputs.iter().zip(&right_outputs);
                let columns = columns
                    .map(|((output, of_left), right)| (output.column, *of_left, right.column));
                let set = SetOperation {
                    kind,
                    all,
                    columns: columns.collect(),
                    types: outputs.iter().map(|(output, _)| output.ty).collect(),
                    left: Box::new(left),
                    right: Box::new(right),
                };
                let outputs = outputs.into_iter().map(|(output, _)| output).collect();
                pairs.push((Relation::Set(set), outputs));
            }
            run = pairs;
        }
        run.pop().ok_or_else(nothing_to_combine)
    }
}

pub(super) fn types_of(outputs: &[Output]) -> Vec<Type> {
    outputs.iter().map(|output| output.ty).collect()
}

fn set_kind(kind: query::SetKind) -> SetKind {
    match kind {
        query::SetKind::Union => SetKind::Union,
        query::SetKind::Intersect => SetKind::Intersect,
        query::SetKind::Except => SetKind::Except,
    }
}

/// Returns the name of an operation in messages.
pub(super) fn name(kind: SetKind) -> &'static str {
    match kind {
        SetKind::Union => "UNION",
        SetKind::Intersect => "INTERSECT",
        SetKind::Except => "EXCEPT",
    }
}

pub(super) fn unequal(kind: SetKind) -> SqlError {
    let message = format!(
        "each {} query must have the same number of columns",
        name(kind)
    );
    SqlError::new(SqlState::SYNTAX_ERROR, message)
}

fn nothing_to_combine() -> SqlError {
    SqlError::new(SqlState::INTERNAL_ERROR, "a set operation without queries")
}
