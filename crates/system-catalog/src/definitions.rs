//! Objects as the statements that make them: indexes, statistics objects, constraints, views.
//!
//! Queries are shown as the catalog keeps them.

use functions::quoted_identifier;

use super::{
    expressions,
    keys::{self, Key},
};
use catalog::{
    Catalog, ForeignKey, IndexColumn, IndexKey, MatchKind, ObjectId, ReferentialAction,
    StatisticsKinds, StatisticsObject, Table, View,
};

/// Returns the `CREATE INDEX` statement of an index.
pub(super) fn index(catalog: &Catalog, table: &Table, key: &Key<'_>, pretty: bool) -> String {
    let unique = if key.is_unique { "UNIQUE " } else { "" };
    let schema = quoted_identifier(catalog.schema_name(table.schema));
    let columns: Vec<_> = key
        .columns
        .iter()
        .map(|column| ordered(catalog, table, column, pretty))
        .collect();
    let mut text = format!(
        "CREATE {unique}INDEX {} ON {schema}.{} USING btree ({})",
        quoted_identifier(key.name),
        quoted_identifier(&table.name),
        columns.join(", "),
    );
    if !key.included.is_empty() {
        text += &format!(" INCLUDE ({})", names(table, key.included));
    }
    if key.nulls_not_distinct {
        text += " NULLS NOT DISTINCT";
    }
    if let Some(predicate) = key.predicate {
        let shown = expressions::shown(catalog, table, predicate, None);
        text += &format!(" WHERE {}", shown.form(pretty));
    }
    text
}

/// Returns the `CREATE STATISTICS` statement of a statistics object.
pub(super) fn statistics(catalog: &Catalog, table: &Table, object: &StatisticsObject) -> String {
    let schema = quoted_identifier(catalog.schema_name(table.schema));
    let StatisticsKinds {
        ndistinct,
        dependencies,
        mcv,
    } = object.kinds;
    let named = [
        (ndistinct, "ndistinct"),
        (dependencies, "dependencies"),
        (mcv, "mcv"),
    ];
    let kinds = match object.kinds == StatisticsKinds::ALL {
        true => String::new(),
        false => {
            let named = named.into_iter().filter(|(is_there, _)| *is_there);
            let named: Vec<&str> = named.map(|(_, name)| name).collect();
            format!(" ({})", named.join(", "))
        }
    };
    let relation = quoted_identifier(&table.name);
    let relation = match table.schema {
        ObjectId::PUBLIC => relation.into_owned(),
        _ => format!("{schema}.{relation}"),
    };
    format!(
        "CREATE STATISTICS {schema}.{}{kinds} ON {} FROM {relation}",
        quoted_identifier(&object.name),
        names(table, &object.columns),
    )
}

/// Returns the text of the column or expression at position `number` of an index, counted from 1.
pub(super) fn index_column(
    catalog: &Catalog,
    table: &Table,
    key: &Key<'_>,
    number: u32,
    pretty: bool,
) -> Option<String> {
    let at = usize::try_from(number).ok()?.checked_sub(1)?;
    match key.columns.get(at) {
        Some(column) => Some(plain(catalog, table, column, pretty)),
        None => {
            let position = key.included.get(at - key.columns.len());
            Some(position.map_or_else(String::new, |position| names(table, &[*position])))
        }
    }
}

fn plain(catalog: &Catalog, table: &Table, column: &IndexColumn, pretty: bool) -> String {
    match &column.key {
        IndexKey::Column(position) => names(table, &[*position]),
        IndexKey::Expression(expression) => {
            let shown = expressions::shown(catalog, table, expression, None);
            let text = shown.form(pretty);
            if is_call(text) {
                text.to_owned()
            } else {
                format!("({text})")
            }
        }
    }
}

/// Returns whether an expression is a call as a whole, which needs no parentheses.
fn is_call(text: &str) -> bool {
    let Some((name, rest)) = text.split_once('(') else {
        return false;
    };
    let is_name = |character: char| character.is_alphanumeric() || "_.".contains(character);
    let mut depth = 1_u32;
    let end = rest.char_indices().find_map(|(at, character)| {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    });
    !name.is_empty() && name.chars().all(is_name) && end == rest.len().checked_sub(1)
}

fn ordered(catalog: &Catalog, table: &Table, column: &IndexColumn, pretty: bool) -> String {
    let mut text = plain(catalog, table, column, pretty);
    if column.descending {
        text += " DESC";
    }
    if column.nulls_first != column.descending {
        text += if column.nulls_first {
            " NULLS FIRST"
        } else {
            " NULLS LAST"
        };
    }
    text
}

/// Returns the names of the columns at `positions`, with commas between them.
pub(super) fn names(table: &Table, positions: &[u16]) -> String {
    let columns = positions
        .iter()
        .filter_map(|at| table.columns.get(usize::from(*at)));
    let names: Vec<_> = columns
        .map(|column| quoted_identifier(&column.name))
        .collect();
    names.join(", ")
}

/// Returns the definition of the constraint with a number, if the table has it.
pub(super) fn constraint(
    catalog: &Catalog,
    table: &Table,
    id: ObjectId,
    pretty: bool,
) -> Option<String> {
    if let Some(key) = table.primary_key.as_ref().filter(|key| key.id == id) {
        return Some(format!("PRIMARY KEY ({})", names(table, &key.columns)));
    }
    if let Some(unique) = table.uniques.iter().find(|unique| unique.id == id) {
        let index = keys::keys(table).find(|key| key.id == unique.index);
        let nulls = match index {
            Some(index) if index.nulls_not_distinct => "NULLS NOT DISTINCT ",
            _ => "",
        };
        return Some(format!("UNIQUE {nulls}({})", names(table, &unique.columns)));
    }
    if let Some(check) = table.checks.iter().find(|check| check.id == id) {
        let shown = expressions::shown(catalog, table, &check.expression, None);
        let text = format!("CHECK ({})", shown.form(pretty));
        return Some(text + if check.is_valid { "" } else { " NOT VALID" });
    }
    let foreign = table.foreign_keys.iter().find(|key| key.id == id)?;
    reference(catalog, table, foreign)
}

fn reference(catalog: &Catalog, table: &Table, key: &ForeignKey) -> Option<String> {
    let referenced = catalog.table(key.referenced)?;
    let mut text = format!(
        "FOREIGN KEY ({}) REFERENCES {}({})",
        names(table, &key.columns),
        catalog.qualified_name(referenced.schema, &referenced.name),
        names(referenced, &key.referenced_columns),
    );
    if key.match_kind == MatchKind::Full {
        text += " MATCH FULL";
    }
    if let Some(action) = action(key.on_update) {
        text += &format!(" ON UPDATE {action}");
    }
    if let Some(action) = action(key.on_delete) {
        text += &format!(" ON DELETE {action}");
        if !key.on_delete_columns.is_empty() {
            text += &format!(" ({})", names(table, &key.on_delete_columns));
        }
    }
    if key.is_deferrable {
        text += " DEFERRABLE";
    }
    if key.is_deferred {
        text += " INITIALLY DEFERRED";
    }
    if !key.is_valid {
        text += " NOT VALID";
    }
    Some(text)
}

fn action(action: ReferentialAction) -> Option<&'static str> {
    match action {
        ReferentialAction::NoAction => None,
        ReferentialAction::Restrict => Some("RESTRICT"),
        ReferentialAction::Cascade => Some("CASCADE"),
        ReferentialAction::SetNull => Some("SET NULL"),
        ReferentialAction::SetDefault => Some("SET DEFAULT"),
    }
}

/// Returns the query of a view, ended as by `pg_get_viewdef`.
pub(super) fn view(view: &View) -> String {
    format!(" {};", view.text.trim_end_matches(';'))
}
