//! Names of the columns of a select list that have no alias.

use super::Binder;
use syntax::{
    expression::{Expr, ExprKind},
    name::{DottedName, Name},
    query::SelectItem,
};

/// The name that an expression suggests for its column.
enum SuggestedName {
    No,
    /// By its type or its form.
    Weak(String),
    /// By a column or a function.
    Strong(String),
}

impl Binder<'_> {
    /// Returns the name of an item of a list.
    pub(super) fn item_name(&self, value: &Expr, alias: Option<&Name>) -> String {
        match alias {
            Some(alias) => alias.as_str().to_owned(),
            None => self.output_name(value),
        }
    }

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
        let name = |name: &Name| word(name.as_str());
        let last = |name: &DottedName| word(name.parts().last().map_or("", Name::as_str));
        match &expr.kind {
            ExprKind::Name(column) => name(column),
            ExprKind::QualifiedName(column) => last(column),
            ExprKind::Collate { operand, .. } => self.suggested_name(operand),
            ExprKind::Subscripted { array, .. } => self.suggested_name(array),
            ExprKind::Field { field, .. } => name(field),
            ExprKind::Call(call) => last(&call.name),
            ExprKind::Cast { operand, data_type } => match self.suggested_name(operand) {
                SuggestedName::Strong(name) => SuggestedName::Strong(name),
                SuggestedName::No | SuggestedName::Weak(_) => {
                    SuggestedName::Weak(self.cast_name(data_type))
                }
            },
            ExprKind::TypedLiteral { data_type, .. } => {
                SuggestedName::Weak(self.cast_name(data_type))
            }
            ExprKind::Interval { .. } => SuggestedName::Weak("interval".to_owned()),
            ExprKind::Case { otherwise, .. } => {
                match otherwise.as_deref().map(|e| self.suggested_name(e)) {
                    Some(SuggestedName::Strong(name)) => SuggestedName::Strong(name),
                    _ => SuggestedName::Weak("case".to_owned()),
                }
            }
            ExprKind::Exists { negated: false, .. } => word("exists"),
            ExprKind::Array(_) | ExprKind::ArrayQuery(_) => word("array"),
            ExprKind::Row { .. } => word("row"),
            ExprKind::Extract { .. } => word("extract"),
            ExprKind::SpecialCall { function, .. } => word(function),
            ExprKind::AtTimeZone { .. } => word("timezone"),
            ExprKind::Subquery(query) => match query.body.first_item() {
                Some(SelectItem::Value { value, alias: None }) => {
                    SuggestedName::Strong(self.output_name(value))
                }
                Some(SelectItem::Value {
                    alias: Some(alias), ..
                }) => name(alias),
                _ => SuggestedName::No,
            },
            _ => SuggestedName::No,
        }
    }
}
