//! The registry, which finds functions and operators by name.
//!
//! The tables are static and belong to the modules that have the bodies; this module has only the
//! index over them, made at the first look. Statements look when they are bound, never later.

use std::{collections::HashMap, sync::LazyLock};

use crate::Function;

type Index = HashMap<&'static str, Vec<&'static Function>>;

static FUNCTIONS: LazyLock<Index> = LazyLock::new(|| index(crate::tables::FUNCTIONS));
static OPERATORS: LazyLock<Index> = LazyLock::new(|| index(crate::tables::OPERATORS));

fn index(tables: &[&'static [&'static [Function]]]) -> Index {
    let mut index = Index::new();
    for function in tables.iter().copied().flatten().copied().flatten() {
        index.entry(function.name).or_default().push(function);
    }
    index
}

/// Returns the functions of a name, in no order; none if there is no such name.
pub fn functions(name: &str) -> &'static [&'static Function] {
    FUNCTIONS.get(name).map_or(&[], Vec::as_slice)
}

/// Returns the operators of a symbol, in no order; prefix operators have one parameter.
pub fn operators(symbol: &str) -> &'static [&'static Function] {
    OPERATORS.get(symbol).map_or(&[], Vec::as_slice)
}

/// Returns all functions, for `pg_proc`.
pub fn all_functions() -> impl Iterator<Item = &'static Function> {
    crate::tables::FUNCTIONS
        .iter()
        .copied()
        .flatten()
        .copied()
        .flatten()
}

/// Returns all operators, for `pg_operator`.
pub fn all_operators() -> impl Iterator<Item = &'static Function> {
    crate::tables::OPERATORS
        .iter()
        .copied()
        .flatten()
        .copied()
        .flatten()
}
