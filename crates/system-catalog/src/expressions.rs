//! Expressions that the catalog keeps as text, as PostgreSQL shows them: with the types of
//! literals, implicit casts, and parentheses.
//!
//! Each expression has two forms, as with `pg_get_expr`: a plain one with parentheses around every
//! operator, and a pretty one with only those that are needed. An expression that cannot be shown
//! in these forms is shown as it was written.

use std::collections::HashMap;

use types::{Scalar, Type, TypeModifier, Value};

use catalog::{Catalog, StoredExpression, Table};
use logical::{
    bind::{BindContext, Binder, Inputs, Parameters, WrittenColumn},
    expression::{ColumnId, Expression, Kind},
};
use syntax::phase;

/// Separator of the two forms in `pg_attrdef.adbin` and its like, which only `pg_get_expr` reads.
const BETWEEN: char = functions::BETWEEN_FORMS;

/// The two forms of an expression.
pub(super) struct Shown {
    pub(super) plain: String,
    pub(super) pretty: String,
    /// Positions of the columns that the expression names, in the order in which it names them.
    pub(super) columns: Vec<u16>,
}

impl Shown {
    pub(super) fn form(&self, pretty: bool) -> &str {
        if pretty { &self.pretty } else { &self.plain }
    }

    /// Returns both forms as catalogs have them.
    pub(super) fn stored(&self) -> String {
        format!("{}{BETWEEN}{}", self.plain, self.pretty)
    }

    /// Returns several expressions as catalogs have them; `None`, if there are none.
    pub(super) fn all(several: impl Iterator<Item = Shown>) -> Option<String> {
        let (plain, pretty): (Vec<_>, Vec<_>) =
            several.map(|shown| (shown.plain, shown.pretty)).unzip();
        let stored = format!("{}{BETWEEN}{}", plain.join(", "), pretty.join(", "));
        (!plain.is_empty()).then_some(stored)
    }
}

/// Returns both forms of an expression over a table's columns; a default has the type of its
/// column.
pub(super) fn shown(
    catalog: &Catalog,
    table: &Table,
    expression: &StoredExpression,
    ty: Option<Type>,
) -> Shown {
    // Keywords such as `CURRENT_DATE` are calls of functions everywhere else.
    let is_keyword = expression.text.to_ascii_uppercase().starts_with("CURRENT_");
    let printed = match is_keyword {
        true => None,
        false => phase::at_once(|| Ok(printed(catalog, table, expression, ty))).unwrap_or_default(),
    };
    printed.unwrap_or_else(|| Shown {
        plain: with_names(catalog, &expression.text),
        pretty: with_names(catalog, &expression.text),
        columns: Vec::new(),
    })
}

/// Returns the two forms, if the expression has them.
fn printed(
    catalog: &Catalog,
    table: &Table,
    expression: &StoredExpression,
    ty: Option<Type>,
) -> Option<Shown> {
    let bind_context = BindContext {
        catalog,
        inputs: &Inputs::default(),
        database: "",
        now: 0,
    };
    let mut parameters = Parameters::default();
    let mut binder = Binder::for_definitions(&bind_context, &mut parameters);
    let (bound, columns) = binder.as_written(table, &expression.text, ty).ok()?;
    let mut named = Vec::new();
    bound.walk(&mut |part| {
        if let Kind::Column(id) = part.kind
            && let Some(column) = columns.get(&id)
            && !named.contains(&column.position)
        {
            named.push(column.position);
        }
    });
    let form = |pretty| {
        let printer = Printer {
            catalog,
            columns: &columns,
            pretty,
        };
        printer.top(&bound)
    };
    Some(Shown {
        plain: form(false)?,
        pretty: form(true)?,
        columns: named,
    })
}

/// Returns a text with the names of relations, which are kept as numbers
/// (`sql/session/stored_text.rs`).
fn with_names(catalog: &Catalog, text: &str) -> String {
    const CAST: &str = "'::regclass";
    let mut named = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(end) = rest.find(CAST) {
        let (before, after) = rest.split_at(end);
        let start = before.rfind('\'').map_or(0, |quote| quote + 1);
        let (before, kept) = before.split_at(start);
        let name = kept.parse().ok();
        let name = name.and_then(|number| types::Names::relation_name(catalog, number));
        named.push_str(before);
        match name {
            Some(name) => named.push_str(&name.replace('\'', "''")),
            None => named.push_str(kept),
        }
        named.push_str(CAST);
        rest = &after[CAST.len()..];
    }
    named.push_str(rest);
    named
}

/// Surroundings of an expression, as far as they ask for parentheses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around<'p> {
    /// Nothing, or a comma.
    Nothing,
    /// An operator, and whether the expression is its left side.
    Operator(&'p str, bool),
    And,
    Or,
    Not,
    /// A cast or a test.
    Postfix,
}

struct Printer<'p> {
    catalog: &'p Catalog,
    columns: &'p HashMap<ColumnId, WrittenColumn>,
    pretty: bool,
}

impl Printer<'_> {
    /// Writes a whole expression. An implicit cast at its top is not shown.
    fn top(&self, expression: &Expression) -> Option<String> {
        match &expression.kind {
            Kind::Column(id) => Some(self.columns.get(id)?.name.clone()),
            _ => self.print(expression, Around::Nothing),
        }
    }

    fn print(&self, expression: &Expression, around: Around<'_>) -> Option<String> {
        let text = match &expression.kind {
            Kind::Constant(value) => return self.constant(value.value(), expression.ty),
            Kind::Column(id) => {
                let WrittenColumn { name, ty, .. } = self.columns.get(id)?;
                return Some(match *ty == expression.ty {
                    true => name.clone(),
                    false => self.cast(name, expression.ty, TypeModifier::NONE),
                });
            }
            Kind::Convert { operand, .. } => {
                let operand = self.print(operand, Around::Postfix)?;
                return Some(self.cast(&operand, expression.ty, TypeModifier::NONE));
            }
            Kind::Fit {
                operand, modifier, ..
            } => {
                let inner = match &operand.kind {
                    Kind::Constant(value) => self.bare(value.value(), operand.ty)?,
                    _ => self.print(operand, Around::Postfix)?,
                };
                return Some(self.cast(&inner, expression.ty, *modifier));
            }
            Kind::Call {
                function,
                arguments,
            } => {
                let name = function.0.name;
                let is_symbol =
                    !name.starts_with(|first: char| first.is_alphanumeric() || first == '_');
                match arguments.as_slice() {
                    [left, right] if is_symbol => {
                        let left = self.print(left, Around::Operator(name, true))?;
                        let right = self.print(right, Around::Operator(name, false))?;
                        format!("{left} {name} {right}")
                    }
                    [operand] if is_symbol => {
                        format!(
                            "{name} {}",
                            self.print(operand, Around::Operator(name, false))?
                        )
                    }
                    arguments => return Some(format!("{name}({})", self.list(arguments)?)),
                }
            }
            Kind::And(parts) => self.joined(parts, " AND ", Around::And)?,
            Kind::Or(parts) => self.joined(parts, " OR ", Around::Or)?,
            Kind::Not(operand) => match &operand.kind {
                // PostgreSQL writes `NOT IN` in this form.
                Kind::Quantified {
                    left,
                    operator,
                    array,
                    all: false,
                } if operator.0.name == "=" => {
                    let left = self.print(left, Around::Operator("<>", true))?;
                    format!("{left} <> ALL ({})", self.print(array, Around::Nothing)?)
                }
                _ => format!("NOT {}", self.print(operand, Around::Not)?),
            },
            Kind::IsNull { operand, negated } => {
                let test = if *negated { "IS NOT NULL" } else { "IS NULL" };
                format!("{} {test}", self.print(operand, Around::Postfix)?)
            }
            Kind::Is {
                operand,
                value,
                negated,
            } => {
                let not = if *negated { "NOT " } else { "" };
                let value = if *value { "TRUE" } else { "FALSE" };
                format!("{} IS {not}{value}", self.print(operand, Around::Postfix)?)
            }
            Kind::Quantified {
                left,
                operator,
                array,
                all,
            } => {
                let left = self.print(left, Around::Operator(operator.0.name, true))?;
                let word = if *all { "ALL" } else { "ANY" };
                let array = self.print(array, Around::Nothing)?;
                format!("{left} {} {word} ({array})", operator.0.name)
            }
            Kind::Coalesce(items) => return Some(format!("COALESCE({})", self.list(items)?)),
            Kind::Extreme { greatest, items } => {
                let name = if *greatest { "GREATEST" } else { "LEAST" };
                return Some(format!("{name}({})", self.list(items)?));
            }
            Kind::Array(items) => return Some(format!("ARRAY[{}]", self.list(items)?)),
            _ => return None,
        };
        Some(
            match self.pretty && !needs_parentheses(expression, around) {
                true => text,
                false => format!("({text})"),
            },
        )
    }

    fn list(&self, items: &[Expression]) -> Option<String> {
        let items = items.iter().map(|item| self.print(item, Around::Nothing));
        Some(items.collect::<Option<Vec<_>>>()?.join(", "))
    }

    fn joined(&self, parts: &[Expression], word: &str, around: Around<'_>) -> Option<String> {
        let parts = parts.iter().map(|part| self.print(part, around));
        Some(parts.collect::<Option<Vec<_>>>()?.join(word))
    }

    fn cast(&self, operand: &str, ty: Type, modifier: TypeModifier) -> String {
        let ty = ty.format(modifier, self.catalog);
        match self.pretty {
            true => format!("{operand}::{ty}"),
            false => format!("({operand})::{ty}"),
        }
    }

    /// Writes a literal, with its type where it would have another one without.
    fn constant(&self, value: Value<'_>, ty: Type) -> Option<String> {
        let name = ty.format(TypeModifier::NONE, self.catalog);
        if value.is_null() {
            return Some(format!("NULL::{name}"));
        }
        let text = self.bare(value, ty)?;
        let is_plain = match ty {
            Type::Scalar(Scalar::Bool) => true,
            Type::Scalar(Scalar::Int4) => !text.starts_with('\''),
            Type::Scalar(Scalar::Numeric) => text.contains('.') && !text.starts_with('\''),
            _ => false,
        };
        Some(if is_plain {
            text
        } else {
            format!("{text}::{name}")
        })
    }

    /// Writes a literal alone, quoted unless it is a number that looks like one of its type.
    fn bare(&self, value: Value<'_>, ty: Type) -> Option<String> {
        if let Value::Bool(value) = value {
            return Some(value.to_string());
        }
        let settings = types::Settings::default();
        let context = types::Context {
            settings: &settings,
            names: self.catalog,
            now: 0,
        };
        let mut text = Vec::new();
        types::text::write(value, ty, &context, &mut text).ok()?;
        let text = String::from_utf8(text).ok()?;
        let is_number = matches!(
            ty,
            Type::Scalar(Scalar::Int4 | Scalar::Numeric | Scalar::Float4 | Scalar::Float8)
        ) && text.starts_with(|first: char| first.is_ascii_digit());
        Some(if is_number {
            text
        } else {
            // PostgreSQL uses no `E'...'` here, whatever the text contains.
            format!("'{}'", text.replace('\'', "''"))
        })
    }
}

/// Returns how tightly an operator binds, for operators whose precedence the pretty form relies on.
fn arithmetic(name: &str) -> Option<u8> {
    match name {
        "+" | "-" => Some(1),
        "*" | "/" | "%" => Some(2),
        _ => None,
    }
}

fn needs_parentheses(expression: &Expression, around: Around<'_>) -> bool {
    match (&expression.kind, around) {
        (_, Around::Nothing) => false,
        (Kind::And(_) | Kind::Not(_), Around::And | Around::Or) => false,
        (Kind::Or(_), Around::Or) => false,
        (Kind::And(_) | Kind::Or(_) | Kind::Not(_), _) => true,
        (_, Around::And | Around::Or | Around::Not) => false,
        (Kind::Call { function, .. }, Around::Operator(outer, is_left)) => {
            match (arithmetic(function.0.name), arithmetic(outer)) {
                (Some(inner), Some(outer)) => inner < outer || inner == outer && !is_left,
                _ => true,
            }
        }
        _ => true,
    }
}
