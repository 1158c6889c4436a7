//! PostgreSQL's own types, functions and operators, which clients look up by number.
//!
//! Each list is read once from a file whose header says what its columns are.

use std::{collections::HashMap, sync::LazyLock};

use functions::ObjectClass;
use types::{Scalar, Type};

/// The properties of a type.
#[derive(Debug, Clone, Copy)]
pub struct TypeFacts {
    /// `oid`: number of the type; 0 in [`ENUM`] and [`ARRAY`], which stand for many types.
    pub oid: u32,
    /// `typname`: name of the type, without its schema; empty in [`ENUM`] and [`ARRAY`].
    pub name: &'static str,
    /// `typlen`: bytes of a value; negative if values vary in length.
    pub length: i16,
    /// `typbyval`: whether PostgreSQL passes a value itself, not a pointer to it.
    pub by_value: bool,
    /// `typtype`: `b` for a base type, `e` for an enum, `p` for a pseudo-type.
    pub kind: char,
    /// `typcategory`: group of types for implicit conversions, such as `N` for numbers.
    pub category: char,
    /// `typispreferred`: whether implicit conversions within the category prefer the type.
    pub preferred: bool,
    /// `typsubscript`: number of the function for subscripts; 0 if values have none.
    pub subscript: u32,
    /// `typelem`: number of the type of the elements; 0 if there are none.
    pub element: u32,
    /// `typarray`: number of the type of arrays of this one; 0 if there is none.
    pub array: u32,
    /// `typinput`, `typoutput`, `typreceive`, `typsend`, `typmodin`, `typmodout`, `typanalyze`.
    pub functions: [u32; 7],
    /// `typalign`: alignment of stored values, from `c` (1 byte) to `d` (8 bytes).
    pub align: char,
    /// `typstorage`: storage of large values, such as `p` (plain) or `x` (extended).
    pub storage: char,
    /// `typcollation`: number of the default collation; 0 if the type has no collation.
    pub collation: u32,
    /// Number of the default operator class of btree.
    pub operator_class: u32,
}

/// Properties that all enums have in common.
pub const ENUM: TypeFacts = TypeFacts {
    oid: 0,
    name: "",
    length: 4,
    by_value: true,
    kind: 'e',
    category: 'E',
    preferred: false,
    subscript: 0,
    element: 0,
    array: 0,
    functions: [3506, 3507, 3532, 3533, 0, 0, 0],
    align: 'i',
    storage: 'p',
    collation: 0,
    operator_class: 10069,
};

/// Properties that arrays of enums have in common.
pub const ARRAY: TypeFacts = TypeFacts {
    oid: 0,
    name: "",
    length: -1,
    by_value: false,
    kind: 'b',
    category: 'A',
    preferred: false,
    subscript: 6179,
    element: 0,
    array: 0,
    functions: [750, 751, 2400, 2401, 0, 0, 3816],
    align: 'i',
    storage: 'x',
    collation: 0,
    operator_class: 10000,
};

/// A function.
#[derive(Debug, Clone)]
pub struct Procedure {
    /// `oid`: number of the function.
    pub oid: u32,
    /// `proname`: name of the function, without its schema.
    pub name: &'static str,
    /// `prokind`: `f` for a function, `a` for an aggregate, `w` for a window function.
    pub kind: char,
    /// `prorettype`: number of the type of the result.
    pub result: u32,
    /// `proargtypes`: numbers of the types of the parameters, in order.
    pub parameters: Vec<u32>,
    /// `provolatile`: `i` for immutable, `s` for stable, `v` for volatile.
    pub volatility: char,
    /// `proisstrict`: whether the result is NULL if any argument is.
    pub strict: bool,
    /// `proretset`: whether the function returns rows.
    pub returns_set: bool,
    /// `provariadic`: number of the element type of the variadic parameter; 0 if there is none.
    pub variadic: u32,
}

/// An operator.
#[derive(Debug, Clone, Copy)]
pub struct Operator {
    /// `oid`: number of the operator.
    pub oid: u32,
    /// `oprname`: symbol of the operator, such as `<=`.
    pub name: &'static str,
    /// `oprkind`: `b` for an infix operator, `l` for a prefix operator.
    pub kind: char,
    /// `oprcanmerge`: whether a merge join can use the operator.
    pub can_merge: bool,
    /// `oprcanhash`: whether a hash join can use the operator.
    pub can_hash: bool,
    /// Numbers of the left, right and result types, the commutator, the negator, and the function.
    pub numbers: [u32; 6],
}

static TYPES: LazyLock<Vec<TypeFacts>> = LazyLock::new(|| {
    let lines = lines(include_str!("postgres/types.txt"));
    lines.map(|words| type_facts(&mut Words(words))).collect()
});

static PROCEDURES: LazyLock<Vec<Procedure>> = LazyLock::new(|| {
    let lines = lines(include_str!("postgres/procedures.txt"));
    lines.map(|words| procedure(&mut Words(words))).collect()
});

static OPERATORS: LazyLock<Vec<Operator>> = LazyLock::new(|| {
    let lines = lines(include_str!("postgres/operators.txt"));
    lines.map(|words| operator(&mut Words(words))).collect()
});

/// Number of the first function of each name, and how many there are.
static NAMES: LazyLock<HashMap<&'static str, (u32, usize)>> = LazyLock::new(|| {
    let mut names = HashMap::new();
    for procedure in PROCEDURES.iter() {
        names.entry(procedure.name).or_insert((procedure.oid, 0)).1 += 1;
    }
    names
});

/// Returns PostgreSQL's types that Weft has too, as `pg_type` lists them.
pub fn types() -> &'static [TypeFacts] {
    &TYPES
}

/// Returns PostgreSQL's functions that Weft has too, or that its types name, by ascending number.
pub fn procedures() -> &'static [Procedure] {
    &PROCEDURES
}

/// Returns PostgreSQL's operators that Weft has too, as `pg_operator` lists them.
pub fn operators() -> &'static [Operator] {
    &OPERATORS
}

/// Returns the properties of a type; enums have theirs in common.
pub fn facts_of(ty: Type) -> TypeFacts {
    match ty {
        Type::Scalar(Scalar::Enum(_)) => ENUM,
        Type::Array(Scalar::Enum(_)) => ARRAY,
        _ => {
            let number = ty.oid();
            let mut found = TYPES.iter().filter(|facts| facts.oid == number);
            found.next().copied().unwrap_or(ARRAY)
        }
    }
}

/// Returns the function with a number.
pub fn procedure_of(number: u32) -> Option<&'static Procedure> {
    let at = PROCEDURES.binary_search_by_key(&number, |procedure| procedure.oid);
    PROCEDURES.get(at.ok()?)
}

/// Returns the name of a function, by its number.
pub(crate) fn procedure_name(number: u32) -> Option<&'static str> {
    procedure_of(number).map(|procedure| procedure.name)
}

/// Returns the number of the function with a name, if it is the only one.
pub fn procedure_named(name: &str) -> Option<u32> {
    let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
    match NAMES.get(name) {
        Some((number, 1)) => Some(*number),
        _ => None,
    }
}

/// Returns whether PostgreSQL has an object with this number, among those that are listed here.
pub fn is_known(class: ObjectClass, number: u32) -> bool {
    match class {
        ObjectClass::Type => TYPES.iter().any(|facts| facts.oid == number),
        ObjectClass::Routine => procedure_of(number).is_some(),
        ObjectClass::Operator => OPERATORS.iter().any(|operator| operator.oid == number),
        _ => false,
    }
}

fn lines(text: &'static str) -> impl Iterator<Item = std::str::SplitAsciiWhitespace<'static>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(str::split_ascii_whitespace)
}

/// The words of a line, which are read as the values they stand for.
struct Words(std::str::SplitAsciiWhitespace<'static>);

impl Words {
    fn text(&mut self) -> &'static str {
        self.0.next().unwrap_or_default()
    }

    fn number(&mut self) -> u32 {
        self.text().parse().unwrap_or(0)
    }

    fn numbers<const N: usize>(&mut self) -> [u32; N] {
        std::array::from_fn(|_| self.number())
    }

    fn letter(&mut self) -> char {
        self.text().chars().next().unwrap_or(' ')
    }

    fn flag(&mut self) -> bool {
        self.text() == "t"
    }
}

fn type_facts(words: &mut Words) -> TypeFacts {
    TypeFacts {
        oid: words.number(),
        name: words.text(),
        length: words.text().parse().unwrap_or(-1),
        by_value: words.flag(),
        kind: words.letter(),
        category: words.letter(),
        preferred: words.flag(),
        subscript: words.number(),
        element: words.number(),
        array: words.number(),
        functions: words.numbers(),
        align: words.letter(),
        storage: words.letter(),
        collation: words.number(),
        operator_class: words.number(),
    }
}

fn procedure(words: &mut Words) -> Procedure {
    Procedure {
        oid: words.number(),
        name: words.text(),
        kind: words.letter(),
        result: words.number(),
        parameters: words
            .text()
            .split(',')
            .filter_map(|word| word.parse().ok())
            .collect(),
        volatility: words.letter(),
        strict: words.flag(),
        returns_set: words.flag(),
        variadic: words.number(),
    }
}

fn operator(words: &mut Words) -> Operator {
    Operator {
        oid: words.number(),
        name: words.text(),
        kind: words.letter(),
        can_merge: words.flag(),
        can_hash: words.flag(),
        numbers: words.numbers(),
    }
}

#[cfg(test)]
mod tests;
