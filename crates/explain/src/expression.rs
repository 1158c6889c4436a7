//! Expressions as SQL, with brackets wherever they could be needed.

use types::{Type, Value};

use super::names::{Named, Names};
use logical::expression::{ColumnId, Expression, Kind};
use planner::plan::is_of_list;

/// Greatest depth of columns within columns that is shown: a relation that reads itself names
/// itself.
const DEPTH_MAX: usize = 16;

/// A writer of expressions with the names of `names`.
pub(super) struct Writer<'w> {
    pub(super) names: &'w Names,
    /// Names of objects that users have made, types among them.
    pub(super) catalog: &'w dyn types::Names,
    pub(super) qualifies: bool,
}

impl Writer<'_> {
    pub(super) fn show(&self, expression: &Expression) -> String {
        self.at_depth(expression, 0)
    }

    pub(super) fn list<'e>(
        &self,
        expressions: impl IntoIterator<Item = &'e Expression>,
        depth: usize,
    ) -> String {
        let shown = expressions
            .into_iter()
            .map(|expression| self.at_depth(expression, depth));
        shown.collect::<Vec<_>>().join(", ")
    }

    fn at_depth(&self, expression: &Expression, depth: usize) -> String {
        let show = |expression: &Expression| self.at_depth(expression, depth);
        match &expression.kind {
            Kind::Constant(value) => self.constant(value.value(), expression.ty),
            Kind::Parameter(number) => format!("${}", number + 1),
            Kind::Column(id) => self.column(*id, depth),
            Kind::Call {
                function,
                arguments,
            } => self.call(function.0.name, arguments, depth),
            Kind::Convert { operand, .. } | Kind::Fit { operand, .. } => {
                format!("({})::{}", show(operand), expression.ty.name(self.catalog))
            }
            Kind::And(parts) => self.joined(parts, " AND ", depth),
            Kind::Or(parts) => self.joined(parts, " OR ", depth),
            Kind::Not(operand) => format!("(NOT {})", show(operand)),
            Kind::IsNull { operand, negated } => {
                format!("({} IS {}NULL)", show(operand), not(*negated))
            }
            Kind::Is {
                operand,
                value,
                negated,
            } => {
                let value = if *value { "TRUE" } else { "FALSE" };
                format!("({} IS {}{value})", show(operand), not(*negated))
            }
            Kind::Distinct {
                left,
                right,
                negated,
                ..
            } => {
                let negated = not(*negated);
                format!("({} IS {negated}DISTINCT FROM {})", show(left), show(right))
            }
            Kind::Case {
                branches,
                otherwise,
            } => {
                let branches = branches.iter().map(|(condition, result)| {
                    format!("WHEN {} THEN {} ", show(condition), show(result))
                });
                let branches: String = branches.collect();
                format!("CASE {branches}ELSE {} END", show(otherwise))
            }
            Kind::Coalesce(items) => format!("COALESCE({})", self.list(items, depth)),
            Kind::Extreme { greatest, items } => {
                let name = if *greatest { "GREATEST" } else { "LEAST" };
                format!("{name}({})", self.list(items, depth))
            }
            Kind::Quantified {
                left,
                operator,
                array,
                all,
            } => {
                let word = if *all { "ALL" } else { "ANY" };
                let operator = operator.0.name;
                format!("({} {operator} {word} ({}))", show(left), show(array))
            }
            // The chain is too long to be shown.
            Kind::Previous => "...".to_owned(),
            Kind::Steps(steps) => steps.last().map_or_else(String::new, show),
            Kind::Array(items) => format!("ARRAY[{}]", self.list(items, depth)),
            Kind::Row { items, .. } => format!("ROW({})", self.list(items, depth)),
            Kind::Field { record, position } => format!("({}).f{}", show(record), position + 1),
            Kind::Element { array, indexes } => {
                let indexes = indexes.iter().map(|index| format!("[{}]", show(index)));
                format!("({}){}", show(array), indexes.collect::<String>())
            }
            Kind::Slice { array, bounds } => {
                let bound = |side: &Option<Expression>| side.as_ref().map(&show);
                let bounds = bounds.iter().map(|(lower, upper)| {
                    let (lower, upper) = (bound(lower), bound(upper));
                    format!(
                        "[{}:{}]",
                        lower.unwrap_or_default(),
                        upper.unwrap_or_default()
                    )
                });
                format!("({}){}", show(array), bounds.collect::<String>())
            }
        }
    }

    fn column(&self, id: ColumnId, depth: usize) -> String {
        match self.names.get(id) {
            Some(Named::Column { table, column }) if self.qualifies => format!("{table}.{column}"),
            Some(Named::Column { column, .. }) => column.clone(),
            Some(Named::Computed(value)) if depth < DEPTH_MAX => self.at_depth(value, depth + 1),
            Some(Named::Call(name, arguments)) if depth < DEPTH_MAX => {
                self.call(name, arguments, depth + 1)
            }
            None if is_of_list(id) => "value of the list".to_owned(),
            // The column is the result of a subquery, or lies too deep.
            _ => format!("column{}", id.0),
        }
    }

    fn call(&self, name: &str, arguments: &[Expression], depth: usize) -> String {
        let is_symbol = !name.starts_with(|first: char| first.is_alphabetic() || first == '_');
        match arguments {
            [operand] if is_symbol => format!("({name} {})", self.at_depth(operand, depth)),
            [left, right] if is_symbol => {
                let (left, right) = (self.at_depth(left, depth), self.at_depth(right, depth));
                format!("({left} {name} {right})")
            }
            [] if name == "count" => "count(*)".to_owned(),
            _ => format!("{name}({})", self.list(arguments, depth)),
        }
    }

    fn joined(&self, parts: &[Expression], between: &str, depth: usize) -> String {
        let parts = parts.iter().map(|part| self.at_depth(part, depth));
        format!("({})", parts.collect::<Vec<_>>().join(between))
    }

    fn constant(&self, value: Value<'_>, ty: Type) -> String {
        let name = || ty.name(self.catalog);
        if value.is_null() {
            return format!("NULL::{}", name());
        }
        let settings = types::Settings::default();
        let context = types::Context {
            settings: &settings,
            names: self.catalog,
            now: 0,
        };
        let mut text = Vec::new();
        if types::text::write(value, ty, &context, &mut text).is_err() {
            return format!("?::{}", name());
        }
        let text = String::from_utf8_lossy(&text);
        match value {
            Value::Bool(value) => value.to_string(),
            Value::Int4(_) | Value::Numeric(_) => text.into_owned(),
            _ => format!("'{}'::{}", text.replace('\'', "''"), name()),
        }
    }
}

fn not(negated: bool) -> &'static str {
    if negated { "NOT " } else { "" }
}
