//! FROM clauses: tables, views, subqueries, functions, and their joins.

use types::{Result, Scalar, SqlError, SqlState, Type, TypeModifier};

use super::{
    Binder,
    clause::Clause,
    scalar::place,
    scope::{Reach, Scope, Source, SourceColumn},
};
use crate::{
    expression::{ColumnId, Expression, Kind},
    relation::{Join, JoinKind, Output, Relation, Scan},
};
use syntax::{
    expression::{self, Refused},
    name::{DottedName, Name},
    query::{self, Alias, FromItem, JoinCondition, Query, TableReference},
};

/// The condition of a join, and columns that it makes.
#[derive(Default)]
struct Joined {
    on: Vec<Expression>,
    computed: Vec<(ColumnId, Expression)>,
}

impl Binder<'_> {
    /// The rows of a FROM clause; a single one without columns where there is none. What it names
    /// is added to the scope.
    pub(super) fn from(&mut self, from: &[FromItem], scope: &mut Scope<'_>) -> Result<Relation> {
        let mut bound: Option<Relation> = None;
        for item in from {
            let (relation, lateral) = self.item_of_from(item, scope)?;
            bound = Some(match bound {
                None => relation,
                Some(left) => join(JoinKind::Inner, left, relation, Vec::new(), lateral),
            });
        }
        Ok(bound.unwrap_or_else(no_columns))
    }

    /// A factor and what is joined to it; whether it refers to what stands left of it.
    fn item_of_from(&mut self, item: &FromItem, scope: &mut Scope<'_>) -> Result<(Relation, bool)> {
        // Names within a join are those of its own parts; others see them all.
        let first = scope.sources.len();
        let merged = scope.merged.len();
        let (mut left, mut lateral) = self.table_reference(&item.first, scope)?;
        // Sources from here on are not marked yet as those of a join.
        let mut unmarked = first;
        for next in &item.joins {
            let middle = scope.sources.len();
            let (right, refers) = self.table_reference(&next.table, scope)?;
            next.supported()?;
            let kind = join_kind(next.kind);
            // It may refer to this join's left side, and to what stands left of all of it.
            let right_lateral = refers && refers_to(&right, &scope.sources[first..middle]);
            lateral |= refers && refers_to(&right, &scope.sources[..first]);
            if right_lateral && matches!(kind, JoinKind::Right | JoinKind::Full) {
                return Err(SqlError::new(
                    SqlState::INVALID_COLUMN_REFERENCE,
                    "the combining JOIN type must be INNER or LEFT for a LATERAL reference",
                ));
            }
            let Joined { on, computed } =
                self.join_condition(kind, &next.condition, scope, first..middle, merged)?;
            let new = &mut scope.sources[unmarked..];
            new.iter_mut().for_each(|source| source.below_join = true);
            unmarked = scope.sources.len();
            self.note_null_extended(kind, &scope.sources[first..], middle - first);
            left = join(kind, left, right, on, right_lateral);
            if !computed.is_empty() {
                left = Relation::Compute {
                    input: Box::new(left),
                    columns: computed,
                };
            }
        }
        Ok((left, lateral))
    }

    fn table_reference(
        &mut self,
        table: &TableReference,
        scope: &mut Scope<'_>,
    ) -> Result<(Relation, bool)> {
        match table {
            TableReference::Named { name, alias } => {
                let relation = self.named(name, alias.as_ref(), scope)?;
                Ok((relation, false))
            }
            TableReference::Functions {
                calls,
                alias,
                ordinality,
            } => self.table_functions(calls, alias.as_ref(), *ordinality, scope),
            TableReference::Subquery {
                query,
                alias,
                lateral,
            } => self.derived(*lateral, query, alias.as_ref(), scope),
            TableReference::Joined { item, alias } => self.nested_join(item, alias.as_ref(), scope),
            TableReference::Refused(Refused(error)) => Err(error.clone()),
        }
    }

    fn nested_join(
        &mut self,
        inner: &FromItem,
        alias: Option<&Alias>,
        scope: &mut Scope<'_>,
    ) -> Result<(Relation, bool)> {
        let Some(alias) = alias else {
            return self.item_of_from(inner, scope);
        };
        let mut own = Scope::within(scope.parent);
        let (relation, lateral) = self.item_of_from(inner, &mut own)?;
        let columns = own.all_columns().cloned().collect();
        let source = self.aliased(
            Source {
                name: None,
                schema: None,
                columns,
                table: None,
                below_join: false,
            },
            Some(alias),
        )?;
        scope.add(source)?;
        Ok((relation, lateral))
    }

    /// A table, a view, or a common table expression.
    fn named(
        &mut self,
        name: &DottedName,
        alias: Option<&Alias>,
        scope: &mut Scope<'_>,
    ) -> Result<Relation> {
        let position = self.at(name.span());
        let qualified = name.qualified(self.database());
        let qualified = qualified.map_err(|error| place(error, position))?;
        if qualified.schema.is_none()
            && let Some((relation, source)) = self.common_table(&qualified.name, position)?
        {
            scope.reads_itself |= self.is_recursion(&qualified.name);
            scope.add(self.aliased(source, alias)?)?;
            return Ok(relation);
        }
        let (mut relation, source) = self.stored(&qualified, position)?;
        let source = self.aliased(source, alias)?;
        name_scans(&mut relation, &source);
        scope.add(source).map_err(|error| place(error, position))?;
        Ok(relation)
    }

    /// The records of a table, with a source that is named after it.
    pub(super) fn scan(&mut self, table: &std::sync::Arc<catalog::Table>) -> (Scan, Source) {
        let mut columns = Vec::with_capacity(table.columns.len());
        let mut source = Vec::with_capacity(table.columns.len());
        for (attribute, column) in table
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| !column.dropped)
        {
            let id = self.new_column();
            columns.push((id, attribute));
            source.push(SourceColumn {
                attribute: Some(attribute),
                ..SourceColumn::new(column.name.to_string(), id, column.ty, column.modifier)
            });
        }
        let scan = Scan {
            id: self.new_scan(),
            name: Some(table.name.to_string()),
            table: table.clone(),
            indexes: self.scan_indexes(table, &columns),
            columns,
            key: self.new_column(),
        };
        self.note_scanned(&scan);
        let source = Source {
            name: Some(table.name.to_string()),
            schema: Some(self.catalog.schema_name(table.schema).to_owned()),
            columns: source,
            table: Some(table.clone()),
            below_join: false,
        };
        (scan, source)
    }

    fn derived(
        &mut self,
        lateral: bool,
        query: &Query,
        alias: Option<&Alias>,
        scope: &mut Scope<'_>,
    ) -> Result<(Relation, bool)> {
        let own = if lateral {
            Scope::within(Some(scope))
        } else {
            Scope::within(scope.parent)
        };
        let (mut relation, outputs) = self.query(query, &own)?;
        let lateral = lateral && refers_to(&relation, &scope.sources);
        let source = Source {
            name: None,
            schema: None,
            columns: output_columns(&outputs),
            table: None,
            below_join: false,
        };
        let source = self.aliased(source, alias)?;
        name_scans(&mut relation, &source);
        scope.add(source)?;
        Ok((relation, lateral))
    }

    /// Functions in FROM can always refer to what stands left of them.
    fn table_functions(
        &mut self,
        calls: &[expression::FunctionCall],
        alias: Option<&Alias>,
        ordinality: bool,
        scope: &mut Scope<'_>,
    ) -> Result<(Relation, bool)> {
        let mut bound = Vec::with_capacity(calls.len());
        let mut columns = Vec::new();
        for call in calls {
            let own = Scope::within(Some(scope));
            let mut clause = Clause::plain("functions in FROM");
            let (call, names) = self.table_function(call, &own, &mut clause)?;
            let single = call.columns.len() == 1;
            // The column has a name of its own.
            let is_named = !call.function.0.columns.is_empty();
            for (id, (name, ty)) in call.columns.iter().zip(names) {
                // A function that returns one column without a name gives it the alias.
                let name = match alias {
                    Some(alias) if single && calls.len() == 1 && !is_named => {
                        alias.name.as_str().to_owned()
                    }
                    _ => name,
                };
                columns.push(SourceColumn::new(name, *id, ty, TypeModifier::NONE));
            }
            if !clause.subqueries.is_empty() {
                return Err(SqlError::unsupported(
                    "a subquery in the arguments of a function in FROM",
                ));
            }
            bound.push(call);
        }
        let ordinality = ordinality.then(|| self.new_column());
        if let Some(id) = ordinality {
            let ty = Type::Scalar(Scalar::Int8);
            columns.push(SourceColumn::new(
                "ordinality".to_owned(),
                id,
                ty,
                TypeModifier::NONE,
            ));
        }
        let name = calls.first().and_then(|call| call.name.parts().last());
        let name = name.map(|name| name.as_str().to_owned());
        let relation = Relation::Functions {
            calls: bound,
            ordinality,
        };
        let lateral = refers_to(&relation, &scope.sources);
        let source = Source {
            name,
            schema: None,
            columns,
            table: None,
            below_join: false,
        };
        scope.add(self.aliased(source, alias)?)?;
        Ok((relation, lateral))
    }

    /// A source under its alias.
    fn aliased(&mut self, mut source: Source, alias: Option<&Alias>) -> Result<Source> {
        let Some(alias) = alias else {
            return Ok(source);
        };
        source.name = Some(alias.name.as_str().to_owned());
        source.schema = None;
        let available = source.named_columns().count();
        if alias.columns.len() > available {
            let message = format!(
                "table \"{}\" has {available} columns available but {} columns specified",
                alias.name.as_str(),
                alias.columns.len()
            );
            let error = SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, message);
            return Err(place(error, self.at(alias.name.span())));
        }
        // Other names are given by position, which columns that are dropped would change.
        if !alias.columns.is_empty() {
            self.note_all(&source.columns);
        }
        let columns = source.columns.iter_mut();
        let named = columns.filter(|column| column.reach <= Reach::Relation);
        for (column, alias) in named.zip(&alias.columns) {
            column.name = alias.as_str().to_owned();
        }
        Ok(source)
    }

    /// Binds the condition of a join, and the columns that `USING` makes of two.
    fn join_condition(
        &mut self,
        kind: JoinKind,
        condition: &JoinCondition,
        scope: &mut Scope<'_>,
        left: std::ops::Range<usize>,
        merged_before: usize,
    ) -> Result<Joined> {
        match condition {
            JoinCondition::None => Ok(Joined::default()),
            JoinCondition::On(on) => {
                let mut clause = Clause::plain("JOIN/ON");
                let own = Scope {
                    parent: scope.parent,
                    sources: scope.sources[left.start..].to_vec(),
                    merged: scope.merged[merged_before..].to_vec(),
                    ..Scope::default()
                };
                let on = self.condition(on, &own, &mut clause)?;
                if !clause.subqueries.is_empty() {
                    return Err(SqlError::unsupported("a subquery in JOIN/ON")
                        .hint("Join with the subquery in FROM, or put the condition into WHERE."));
                }
                Ok(Joined {
                    on: on.into_conjuncts(),
                    ..Joined::default()
                })
            }
            JoinCondition::Using(names) => {
                let names = names.iter().map(Name::as_str).map(str::to_owned);
                let names: Vec<String> = names.collect();
                self.using(kind, &names, scope, left, merged_before)
            }
            JoinCondition::Natural => {
                let right = &scope.sources[left.end..];
                let right: Vec<_> = right.iter().flat_map(|source| &source.columns).collect();
                let is_common = |column: &&SourceColumn| {
                    column.reach == Reach::Name
                        && right
                            .iter()
                            .any(|other| other.reach == Reach::Name && other.name == column.name)
                };
                let merged = scope.merged[merged_before..].iter();
                let others = scope.sources[left.clone()]
                    .iter()
                    .flat_map(|source| &source.columns);
                let names: Vec<_> = merged
                    .chain(others)
                    .filter(is_common)
                    .map(|c| c.name.clone())
                    .collect();
                self.using(kind, &names, scope, left, merged_before)
            }
        }
    }

    fn using(
        &mut self,
        kind: JoinKind,
        names: &[String],
        scope: &mut Scope<'_>,
        left: std::ops::Range<usize>,
        merged_before: usize,
    ) -> Result<Joined> {
        let mut on = Vec::with_capacity(names.len());
        let mut computed = Vec::new();
        let mut merged = Vec::with_capacity(names.len());
        for name in names {
            let earlier = scope.merged[merged_before..]
                .iter()
                .position(|column| column.name == *name);
            let left_value = match earlier {
                Some(at) => scope.merged[merged_before + at].value.clone(),
                None => merge(&mut scope.sources[left.clone()], name, "left")?,
            };
            let right_value = merge(&mut scope.sources[left.end..], name, "right")?;
            self.note_columns(&left_value);
            self.note_columns(&right_value);
            on.push(self.operator("=", Some(left_value.clone()), right_value.clone(), None)?);
            let value = match kind {
                JoinKind::Right => right_value,
                JoinKind::Full => {
                    let mut both = vec![left_value, right_value];
                    let ty = self.unify(&mut both, "JOIN/USING", None)?;
                    let id = self.new_column();
                    computed.push((id, Expression::new(Kind::Coalesce(both), ty)));
                    Expression::column(id, ty, TypeModifier::NONE)
                }
                _ => left_value,
            };
            merged.push(SourceColumn {
                name: name.clone(),
                value,
                reach: Reach::Name,
                attribute: None,
            });
        }
        // The newest come first; what was merged before and is not merged again comes after.
        let rest = scope.merged.split_off(merged_before);
        let rest = rest
            .into_iter()
            .filter(|column| !names.contains(&column.name));
        scope
            .merged
            .extend(merged.into_iter().chain(rest).collect::<Vec<_>>());
        Ok(Joined { on, computed })
    }
}

/// Marks the one column of a name among some sources as merged; its value.
fn merge(sources: &mut [Source], name: &str, side: &str) -> Result<Expression> {
    let columns = sources.iter_mut().flat_map(|source| &mut source.columns);
    let mut found = columns.filter(|column| column.reach == Reach::Name && column.name == name);
    match (found.next(), found.next()) {
        (Some(column), None) => {
            column.reach = Reach::Relation;
            Ok(column.value.clone())
        }
        (Some(_), Some(_)) => Err(SqlError::new(
            SqlState::AMBIGUOUS_COLUMN,
            format!("common column name \"{name}\" appears more than once in {side} table"),
        )),
        (None, _) => Err(SqlError::new(
            SqlState::UNDEFINED_COLUMN,
            format!("column \"{name}\" specified in USING clause does not exist in {side} table"),
        )),
    }
}

/// A single row without columns.
pub(super) fn no_columns() -> Relation {
    Relation::Rows {
        columns: Vec::new(),
        rows: vec![Vec::new()],
    }
}

fn join(
    kind: JoinKind,
    left: Relation,
    right: Relation,
    on: Vec<Expression>,
    lateral: bool,
) -> Relation {
    Relation::Join(Join {
        kind,
        left: Box::new(left),
        right: Box::new(right),
        on,
        lateral,
    })
}

/// The columns of a query's result, as others see them.
pub(super) fn output_columns(outputs: &[Output]) -> Vec<SourceColumn> {
    let column = |output: &Output| {
        SourceColumn::new(
            output.name.clone(),
            output.column,
            output.ty,
            output.modifier,
        )
    };
    outputs.iter().map(column).collect()
}

fn join_kind(kind: query::JoinKind) -> JoinKind {
    match kind {
        query::JoinKind::Inner => JoinKind::Inner,
        query::JoinKind::Left => JoinKind::Left,
        query::JoinKind::Right => JoinKind::Right,
        query::JoinKind::Full => JoinKind::Full,
    }
}

/// Whether a relation names columns of these sources.
fn refers_to(relation: &Relation, sources: &[Source]) -> bool {
    let outer = relation.outer_columns();
    let columns = sources.iter().flat_map(|source| &source.columns);
    let mut columns = columns.flat_map(|column| column.value.columns());
    columns.any(|id| outer.contains(&id))
}

/// The scans of a part of FROM are called as that is.
fn name_scans(relation: &mut Relation, source: &Source) {
    relation.for_each_scan_mut(&mut |scan| scan.name.clone_from(&source.name));
}
