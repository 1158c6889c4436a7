//! Relations of FROM, and their joins.

use sqlparser::{
    ast::{self, JoinConstraint, JoinOperator, TableFactor},
    keywords::Keyword,
};

use super::{Conversion, unsupported};
use crate::{
    name::DottedName,
    query::{Alias, FromItem, Join, JoinCondition, JoinKind, TableReference},
    refusal::Misplaced,
};

impl Conversion {
    /// Converts the items of FROM.
    pub(super) fn from(&mut self, items: Vec<ast::TableWithJoins>) -> Vec<FromItem> {
        items
            .into_iter()
            .map(|item| self.item_of_from(item))
            .collect()
    }

    fn item_of_from(&mut self, item: ast::TableWithJoins) -> FromItem {
        FromItem {
            first: self.table_reference(item.relation),
            joins: item.joins.into_iter().map(|join| self.join(join)).collect(),
        }
    }

    fn join(&mut self, join: ast::Join) -> Join {
        let outer = std::mem::take(&mut self.span);
        let table = self.table_reference(join.relation);
        let place = self.span;
        self.see(outer);
        let (kind, constraint) = match join.join_operator {
            JoinOperator::CrossJoin(JoinConstraint::None) => {
                return Join {
                    table,
                    kind: JoinKind::Inner,
                    condition: JoinCondition::None,
                    refused: None,
                };
            }
            JoinOperator::Join(constraint)
            | JoinOperator::Inner(constraint)
            | JoinOperator::CrossJoin(constraint) => (JoinKind::Inner, constraint),
            JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => {
                (JoinKind::Left, constraint)
            }
            JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => {
                (JoinKind::Right, constraint)
            }
            JoinOperator::FullOuter(constraint) => (JoinKind::Full, constraint),
            _ => {
                return Join {
                    table,
                    kind: JoinKind::Inner,
                    condition: JoinCondition::None,
                    refused: Some(unsupported("this kind of join")),
                };
            }
        };
        let condition = match constraint {
            JoinConstraint::None => {
                self.misplace(Misplaced::Behind(place));
                JoinCondition::None
            }
            JoinConstraint::On(on) => JoinCondition::On(self.expr(on)),
            JoinConstraint::Using(names) => {
                let names = self.dotted_names(names);
                if names.iter().any(|name| name.parts().len() != 1) {
                    self.misplace_with("a column of USING has a name without dots");
                }
                let names = names.into_iter();
                JoinCondition::Using(names.flat_map(DottedName::into_parts).collect())
            }
            JoinConstraint::Natural => JoinCondition::Natural,
        };
        Join {
            table,
            kind,
            condition,
            refused: None,
        }
    }

    /// Converts a relation of FROM.
    pub(super) fn table_reference(&mut self, factor: TableFactor) -> TableReference {
        match factor {
            TableFactor::Table {
                sample: Some(_), ..
            }
            | TableFactor::Derived {
                sample: Some(_), ..
            } => TableReference::Refused(unsupported("TABLESAMPLE")),
            TableFactor::Table {
                name,
                alias,
                args: None,
                with_hints,
                with_ordinality,
                ..
            } => {
                if with_ordinality {
                    self.misplace_with("WITH ORDINALITY stands behind functions alone");
                }
                let name = self.dotted_name(name);
                self.misplace_hints(&name, &with_hints);
                TableReference::Named {
                    name,
                    alias: self.alias(alias),
                }
            }
            TableFactor::Table {
                name,
                alias,
                args: Some(ast::TableFunctionArgs { args, .. }),
                with_ordinality,
                ..
            }
            | TableFactor::Function {
                name,
                args,
                alias,
                with_ordinality,
                ..
            } => {
                let name = self.dotted_name(name);
                TableReference::Functions {
                    calls: vec![self.table_function(name, args)],
                    alias: self.alias(alias),
                    ordinality: with_ordinality,
                }
            }
            TableFactor::UNNEST {
                alias,
                array_exprs,
                with_offset,
                with_offset_alias: _,
                with_ordinality,
            } => {
                if with_offset {
                    self.misplace(Misplaced::Keyword(Keyword::OFFSET));
                }
                let calls = array_exprs.into_iter().map(|array| {
                    let name = DottedName::from(vec![ast::Ident::new("unnest").into()]);
                    let array = ast::FunctionArgExpr::Expr(array);
                    self.table_function(name, vec![ast::FunctionArg::Unnamed(array)])
                });
                TableReference::Functions {
                    calls: calls.collect(),
                    alias: self.alias(alias),
                    ordinality: with_ordinality,
                }
            }
            TableFactor::Derived {
                lateral,
                subquery,
                alias,
                ..
            } => TableReference::Subquery {
                query: Box::new(self.query(*subquery)),
                alias: self.alias(alias),
                lateral,
            },
            TableFactor::NestedJoin {
                table_with_joins,
                alias,
            } => TableReference::Joined {
                item: Box::new(self.item_of_from(*table_with_joins)),
                alias: self.alias(alias),
            },
            other => TableReference::Refused(unsupported(match other {
                TableFactor::TableFunction { .. } => "TABLE (...) in FROM",
                TableFactor::JsonTable { .. } => "JSON_TABLE in FROM",
                TableFactor::XmlTable { .. } => "XMLTABLE in FROM",
                TableFactor::Pivot { .. } => "PIVOT in FROM",
                TableFactor::Unpivot { .. } => "UNPIVOT in FROM",
                TableFactor::MatchRecognize { .. } => "MATCH_RECOGNIZE in FROM",
                _ => "this relation in FROM",
            })),
        }
    }

    /// Notes `WITH (NOLOCK)` and the like behind a table, which are hints of another system.
    pub(super) fn misplace_hints(&mut self, name: &DottedName, hints: &[ast::Expr]) {
        if !hints.is_empty() {
            self.misplace(Misplaced::Behind(name.span()));
        }
    }

    fn alias(&mut self, alias: Option<ast::TableAlias>) -> Option<Alias> {
        alias.map(|alias| self.table_alias(alias))
    }

    /// Converts the name of a relation, with those of its columns.
    pub(super) fn table_alias(&mut self, alias: ast::TableAlias) -> Alias {
        let columns = alias.columns.into_iter();
        Alias {
            name: self.name(alias.name),
            columns: columns.map(|column| self.name(column.name)).collect(),
        }
    }
}
