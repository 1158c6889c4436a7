//! Expressions and predicates of indexes: what they may be, and what they are over a table's columns.
//!
//! The catalog keeps them as text. They are bound
//! - when an index is created, to be checked ([`Binder::index_key`], [`Binder::index_predicate`]);
//! - where its entries are made (`planner/index_keys.rs`; [`Binder::index_entries`]);
//! - with each scan of the table, whose conditions are compared with them (`planner/plan/access.rs`);
//! - with each row that is written ([`Binder::index_checks`]): the engine asks for entries where
//!   nothing can fail any more, so what an expression raises is raised before.

use types::{Result, Scalar, SqlError, SqlState, Type};

use super::{
    Binder,
    clause::Clause,
    scalar::BOOL,
    scope::{Scope, Source, SourceColumn},
};
use crate::{
    expression::{ColumnId, Expression, Kind},
    relation::{Check, ScanIndex},
};
use catalog::{Dependency, Index, IndexKey, StoredExpression, Table};
use syntax::position::Lines;

const EXPRESSIONS: &str = "index expressions";
const PREDICATES: &str = "index predicates";

/// The parts of an index, in columns of its table.
pub struct IndexEntries {
    /// Those columns, by position in the table.
    pub columns: Vec<(ColumnId, usize)>,
    /// Index keys, in the order of the index's columns.
    pub keys: Vec<Expression>,
    /// Condition of a partial index; `None` if all rows have entries.
    pub predicate: Option<Expression>,
}

impl Binder<'_> {
    /// Binds a key that a new index is to be ordered by, and returns its type too.
    ///
    /// # Errors
    /// Those of binding; 42P17 if the expression may have other values later; 0A000 for subqueries.
    pub fn index_key(
        &mut self,
        table: &Table,
        written: &syntax::Expression,
    ) -> Result<(IndexKey, Type)> {
        let columns = self.table_columns(table);
        let scope = index_scope(table, &columns)?;
        let bound = self.index_part(written, &scope, EXPRESSIONS)?;
        let bound = self.known(bound)?;
        let uses = self.take_uses();
        if let Kind::Column(id) = bound.kind
            && let Some(at) = position(&columns, id)
        {
            let key = IndexKey::Column(u16::try_from(at).unwrap_or(u16::MAX));
            return Ok((key, table.columns[at].ty));
        }
        if !is_immutable(&bound) {
            let message = "functions in index expression must be marked IMMUTABLE";
            return Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, message));
        }
        let ty = bound.ty;
        Ok((
            IndexKey::Expression(self.kept(written, &bound, table, &columns, uses)),
            ty,
        ))
    }

    /// Returns the name of an expression within the name of its index.
    pub fn index_key_name(&self, written: &syntax::Expression) -> String {
        match self.output_name(written.tree()) {
            name if name == "?column?" => "expr".to_owned(),
            name => name,
        }
    }

    /// Binds the predicate of a new index.
    ///
    /// # Errors
    /// Those of binding; 42804 if it is no condition; 42P17 if it may have other values later;
    /// 0A000 for subqueries.
    pub fn index_predicate(
        &mut self,
        table: &Table,
        written: &syntax::Expression,
    ) -> Result<StoredExpression> {
        let columns = self.table_columns(table);
        let scope = index_scope(table, &columns)?;
        let bound = self.index_part(written, &scope, PREDICATES)?;
        if bound.ty != BOOL && bound.ty != Type::Unknown {
            let message = format!(
                "argument of WHERE must be type boolean, not type {}",
                self.type_name(bound.ty)
            );
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
        }
        if !is_immutable(&bound) {
            let message = "functions in index predicate must be marked IMMUTABLE";
            return Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, message));
        }
        let uses = self.take_uses();
        Ok(self.kept(written, &bound, table, &columns, uses))
    }

    /// Binds the parts that entries of an index are made of.
    ///
    /// # Errors
    /// Those of binding.
    pub fn index_entries(&mut self, table: &Table, index: &Index) -> Result<IndexEntries> {
        let columns = self.table_columns(table);
        let (keys, predicate) = self.index_over(table, index, &columns)?;
        Ok(IndexEntries {
            columns,
            keys,
            predicate,
        })
    }

    /// The indexes by which a scan can read, over its columns.
    pub(super) fn scan_indexes(
        &mut self,
        table: &Table,
        columns: &[(ColumnId, usize)],
    ) -> Vec<ScanIndex> {
        // Their names are no part of a query that reads the table.
        let uses = self.uses.take();
        let mut found = Vec::with_capacity(table.indexes.len());
        for (at, index) in table.indexes.iter().enumerate() {
            // One whose text means nothing here, as a type under another search path, finds nothing.
            if index.is_valid
                && let Ok((keys, predicate)) = self.index_over(table, index, columns)
            {
                found.push(ScanIndex {
                    at,
                    keys,
                    predicate: predicate.map_or_else(Vec::new, Expression::into_conjuncts),
                });
            }
        }
        self.uses = uses;
        found
    }

    /// Conditions that every new row of a table satisfies, and that raise what its indexes'
    /// expressions do.
    ///
    /// # Errors
    /// Those of binding.
    pub(super) fn index_checks(
        &mut self,
        table: &Table,
        columns: &[ColumnId],
    ) -> Result<Vec<Check>> {
        let mut checks = Vec::new();
        for index in table.indexes.iter().filter(|index| index.is_computed()) {
            let numbered: Vec<_> = columns.iter().copied().zip(0..).collect();
            let (keys, predicate) = self.index_over(table, index, &numbered)?;
            let computed = keys
                .into_iter()
                .filter(|key| !matches!(key.kind, Kind::Column(_)))
                .map(always_true);
            let mut all: Vec<Expression> = computed.collect();
            all.push(Expression::bool(true));
            let all = Expression::all(all);
            let predicate = match predicate {
                None => all,
                Some(predicate) => Expression::new(
                    Kind::Case {
                        branches: vec![(predicate, all)],
                        otherwise: Box::new(Expression::bool(true)),
                    },
                    BOOL,
                ),
            };
            checks.push(Check {
                name: index.name.clone(),
                predicate,
            });
        }
        Ok(checks)
    }

    fn table_columns(&mut self, table: &Table) -> Vec<(ColumnId, usize)> {
        let live = table.live_columns();
        live.map(|(at, _)| (self.new_column(), at)).collect()
    }

    fn index_over(
        &mut self,
        table: &Table,
        index: &Index,
        columns: &[(ColumnId, usize)],
    ) -> Result<(Vec<Expression>, Option<Expression>)> {
        let scope = match index.is_computed() {
            true => index_scope(table, columns)?,
            false => Scope::default(),
        };
        let mut keys = Vec::with_capacity(index.columns.len());
        for column in index.columns.iter() {
            keys.push(match &column.key {
                IndexKey::Column(at) => {
                    let found = columns.iter().find(|(_, other)| *other == usize::from(*at));
                    let (id, at) = found.ok_or_else(|| {
                        SqlError::new(SqlState::INTERNAL_ERROR, "an index over no column")
                    })?;
                    let column = &table.columns[*at];
                    Expression::column(*id, column.ty, column.modifier)
                }
                IndexKey::Expression(stored) => {
                    let bound = self.stored_part(stored, &scope, EXPRESSIONS)?;
                    self.known(bound)?
                }
            });
        }
        let predicate = match &index.predicate {
            None => None,
            Some(stored) => {
                let bound = self.stored_part(stored, &scope, PREDICATES)?;
                Some(self.coerce(bound, BOOL, types::TypeModifier::NONE, None)?)
            }
        };
        Ok((keys, predicate))
    }

    fn stored_part(
        &mut self,
        stored: &StoredExpression,
        scope: &Scope<'_>,
        place: &'static str,
    ) -> Result<Expression> {
        let parsed = syntax::parse_expression(&stored.text)?;
        self.under(&stored.search_path, |binder| {
            binder.index_part(&parsed, scope, place)
        })
    }

    /// Returns an expression as a definition keeps it. Beside columns of the table it refers to
    /// what was noted.
    fn kept(
        &self,
        written: &syntax::Expression,
        bound: &Expression,
        table: &Table,
        columns: &[(ColumnId, usize)],
        uses: Vec<Dependency>,
    ) -> StoredExpression {
        let used = bound.columns().into_iter();
        let used = used.filter_map(|id| u16::try_from(position(columns, id)?).ok());
        let used = used.map(|at| Dependency::on_column(table.id, at));
        StoredExpression {
            text: written.to_string().into(),
            search_path: self.schemas(),
            dependencies: used.chain(uses).collect(),
        }
    }

    fn index_part(
        &mut self,
        written: &syntax::Expression,
        scope: &Scope<'_>,
        place: &'static str,
    ) -> Result<Expression> {
        let mut clause = Clause::plain(place);
        // Positions in it are none of the statement's.
        let outer = std::mem::replace(&mut self.lines, Lines::none());
        let bound = self.scalar(written.tree(), scope, &mut clause);
        self.lines = outer;
        if !clause.subqueries.is_empty() {
            let message = format!("cannot use subquery in {}", place.trim_end_matches('s'));
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        bound
    }
}

fn position(columns: &[(ColumnId, usize)], id: ColumnId) -> Option<usize> {
    let mut columns = columns.iter();
    columns.find(|(other, _)| *other == id).map(|(_, at)| *at)
}

fn index_scope(table: &Table, columns: &[(ColumnId, usize)]) -> Result<Scope<'static>> {
    let live = columns.iter().filter(|(_, at)| !table.columns[*at].dropped);
    let columns = live.map(|(id, at)| {
        let column = &table.columns[*at];
        SourceColumn::new(column.name.to_string(), *id, column.ty, column.modifier)
    });
    let mut scope = Scope::default();
    scope.add(Source {
        name: Some(table.name.to_string()),
        schema: None,
        columns: columns.collect(),
        table: None,
        below_join: false,
    })?;
    Ok(scope)
}

/// A condition that is true whatever the value, which is computed nevertheless.
fn always_true(value: Expression) -> Expression {
    let is_null = Kind::IsNull {
        operand: Box::new(value),
        negated: false,
    };
    let either = vec![Expression::new(is_null, BOOL), Expression::bool(true)];
    Expression::new(Kind::Or(either), BOOL)
}

/// Whether it has the same value for the same row for ever, in every session.
pub(super) fn is_immutable(expression: &Expression) -> bool {
    let is_fixed = |function: &crate::expression::Function| {
        function.0.volatility == functions::Volatility::Immutable
    };
    !expression.any(&mut |part| match &part.kind {
        Kind::Convert { conversion, .. } => !is_fixed_cast(conversion.0.from(), conversion.0.to()),
        Kind::Parameter(_) => true,
        kind => kind.function().is_some_and(|function| !is_fixed(function)),
    })
}

/// Whether a cast asks for no setting and no name: neither the time zone, nor how dates are
/// written, nor labels.
fn is_fixed_cast(from: Type, to: Type) -> bool {
    let (from, to) = match (from, to) {
        (Type::Scalar(from), Type::Scalar(to)) | (Type::Array(from), Type::Array(to)) => (from, to),
        // An array's text, and all else that is written and read.
        _ => return false,
    };
    let is_text = |scalar| {
        matches!(
            scalar,
            Scalar::Text | Scalar::Varchar | Scalar::Bpchar | Scalar::Name | Scalar::Char
        )
    };
    let depends = |scalar| {
        matches!(
            scalar,
            Scalar::TimestampTz
                | Scalar::TimeTz
                | Scalar::Regclass
                | Scalar::Regnamespace
                | Scalar::Regproc
                | Scalar::Regrole
                | Scalar::Regtype
                | Scalar::Enum(_)
        )
    };
    let is_written_by_setting =
        |scalar| depends(scalar) || matches!(scalar, Scalar::Date | Scalar::Timestamp);
    if is_text(from) && !is_text(to) {
        return !is_written_by_setting(to) && !matches!(to, Scalar::Time | Scalar::Interval);
    }
    if is_text(to) && !is_text(from) {
        return !is_written_by_setting(from);
    }
    !depends(from) && !depends(to)
}
