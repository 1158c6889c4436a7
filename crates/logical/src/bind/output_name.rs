//! Names of the columns of a select list that have no alias.

use sqlparser::ast::{self, Expr, SelectItem};

use super::Binder;
use syntax::name;

/// The name that an expression suggests for its column.
enum SuggestedName {
    No,
    /// By its type or its form.
    Weak(String),
    /// By a column or a function.
    Strong(String),
}

impl Binder<'_> {
    /// Returns the name of an item without an alias, as PostgreSQL chooses it.
    pub(super) fn output_name(&self, expr: &Expr) -> String {
        match self.suggested_name(expr) {
            SuggestedName::No => "?column?".to_owned(),
            SuggestedName::Weak(name) | SuggestedName::Strong(name) => name,
        }
    }

    /// Returns the name that an expression suggests. A cast gives way to what it casts, unless that has a
    /// weak name only: another cast, CASE.
    fn suggested_name(&self, expr: &Expr) -> SuggestedName {
        let word = |word: &str| SuggestedName::Strong(word.to_owned());
        match expr {
            Expr::Identifier(ident) => SuggestedName::Strong(name::fold(ident)),
            Expr::CompoundIdentifier(parts) => {
                SuggestedName::Strong(parts.last().map(name::fold).unwrap_or_default())
            }
            Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => self.suggested_name(inner),
            Expr::CompoundFieldAccess { root, access_chain } => {
                let fields = access_chain.iter().rev();
                let mut fields = fields.filter_map(|access| match access {
                    ast::AccessExpr::Dot(field) => Some(field),
                    ast::AccessExpr::Subscript(_) => None,
                });
                self.suggested_name(fields.next().unwrap_or(root))
            }
            Expr::Function(function) => {
                let last = function.name.0.last().and_then(|part| part.as_ident());
                SuggestedName::Strong(last.map(name::fold).unwrap_or_default())
            }
            Expr::Cast {
                expr: inner,
                data_type,
                ..
            } => match self.suggested_name(inner) {
                SuggestedName::Strong(name) => SuggestedName::Strong(name),
                SuggestedName::No | SuggestedName::Weak(_) => {
                    SuggestedName::Weak(self.cast_name(data_type))
                }
            },
            Expr::TypedString(typed) => SuggestedName::Weak(self.cast_name(&typed.data_type)),
            Expr::Interval(_) => SuggestedName::Weak("interval".to_owned()),
            Expr::Value(value) if matches!(value.value, ast::Value::Boolean(_)) => {
                SuggestedName::Weak("bool".to_owned())
            }
            Expr::Case { else_result, .. } => {
                match else_result.as_deref().map(|e| self.suggested_name(e)) {
                    Some(SuggestedName::Strong(name)) => SuggestedName::Strong(name),
                    _ => SuggestedName::Weak("case".to_owned()),
                }
            }
            Expr::Exists { .. } => word("exists"),
            Expr::Array(_) => word("array"),
            Expr::Tuple(_) => word("row"),
            Expr::Extract { .. } => word("extract"),
            Expr::Ceil { .. } => word("ceil"),
            Expr::Floor { .. } => word("floor"),
            Expr::Position { .. } => word("position"),
            Expr::Substring {
                shorthand: true, ..
            } => word("substr"),
            Expr::Substring { .. } => word("substring"),
            Expr::Overlay { .. } => word("overlay"),
            Expr::AtTimeZone { .. } => word("timezone"),
            Expr::Trim { trim_where, .. } => word(match trim_where {
                Some(ast::TrimWhereField::Leading) => "ltrim",
                Some(ast::TrimWhereField::Trailing) => "rtrim",
                _ => "btrim",
            }),
            Expr::Subquery(query) => match &*query.body {
                ast::SetExpr::Select(select) => match select.projection.first() {
                    Some(SelectItem::UnnamedExpr(expr)) => {
                        SuggestedName::Strong(self.output_name(expr))
                    }
                    Some(SelectItem::ExprWithAlias { alias, .. }) => {
                        SuggestedName::Strong(name::fold(alias))
                    }
                    _ => SuggestedName::No,
                },
                _ => SuggestedName::No,
            },
            _ => SuggestedName::No,
        }
    }
}
