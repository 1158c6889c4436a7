//! The tables of the statements: few rows, many equal values, nulls everywhere.

/// The types of expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Int,
    Text,
    Bool,
    Numeric,
    Date,
}

impl Type {
    pub(crate) const ALL: [Type; 5] =
        [Type::Int, Type::Text, Type::Bool, Type::Numeric, Type::Date];
}

/// A table's name and columns.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [(&'static str, Type)],
}

pub(crate) const TABLES: [Table; 3] = [
    Table {
        name: "t",
        columns: &[
            ("a", Type::Int),
            ("b", Type::Int),
            ("c", Type::Text),
            ("d", Type::Numeric),
            ("e", Type::Bool),
            ("f", Type::Date),
        ],
    },
    Table {
        name: "u",
        columns: &[
            ("a", Type::Int),
            ("g", Type::Int),
            ("c", Type::Text),
            ("h", Type::Date),
        ],
    },
    Table {
        name: "v",
        columns: &[("b", Type::Int), ("k", Type::Text), ("d", Type::Numeric)],
    },
];

/// Statements that make and fill the tables. `u` has a key of two columns and `t` an index, so that
/// there is more than one way to their rows; `v` has neither.
pub(crate) const SETUP: &str = "\
create table t (a int primary key, b int, c text, d numeric(8, 2), e bool, f date);
create index t_b on t (b, c);
create table u (a int, g int, c text not null, h date, primary key (a, c));
create table v (b int, k text, d numeric(8, 2));
insert into t values
    (1, 1, 'a', 1.50, true, '2024-01-01'), (2, 1, 'b', null, false, '2024-02-29'),
    (3, 2, 'a', 0.00, null, null), (4, null, 'Abc', -2.25, true, '2023-12-31'),
    (5, 3, null, 10.00, false, '2024-01-01'), (6, 3, '', 1.50, true, '2025-06-15'),
    (7, null, null, null, null, null), (8, -1, 'b c', 99.99, false, '2024-02-29'),
    (9, 0, 'a%', 0.01, true, '2000-02-29'), (10, 2, 'ab', 2.50, false, '2023-12-31');
insert into u values
    (1, 1, 'a', '2024-01-01'), (1, 2, 'b', null), (2, 2, 'a', '2024-02-29'),
    (3, null, 'ab', '2023-12-31'), (5, 3, '', null), (5, 1, 'b c', '2024-01-01'),
    (11, 0, 'zz', '2000-01-01'), (12, -1, 'a', null);
insert into v values
    (1, 'a', 1.50), (1, 'a', 1.50), (2, null, null), (null, 'b', -2.25), (3, 'ab', 0.00),
    (null, null, null), (0, '', 10.00)";

/// Statement that drops the tables, where they exist.
pub(crate) const DROPS: &str = "drop table if exists t, u, v";
