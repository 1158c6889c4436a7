//! All tables of entries, for the registry.

use crate::{
    Function, aggregate, array, comparison, datetime, decimal, enumeration, float, formatting,
    integer, json, objects, pattern, sequence, series, string, system, waiting, window,
};

/// Tables of a module that has several.
type Tables = &'static [&'static [Function]];

pub(crate) static FUNCTIONS: &[Tables] = &[
    &[
        integer::FUNCTIONS,
        float::FUNCTIONS,
        float::TRIGONOMETRY,
        decimal::FUNCTIONS,
        enumeration::FUNCTIONS,
        pattern::FUNCTIONS,
        pattern::SETS,
        pattern::SQL_FUNCTIONS,
        pattern::SUBSTRING_FUNCTIONS,
        sequence::FUNCTIONS,
        series::FUNCTIONS,
        system::FUNCTIONS,
        waiting::FUNCTIONS,
        waiting::LOCKS,
        window::FUNCTIONS,
    ],
    string::TABLES,
    datetime::FUNCTIONS,
    formatting::FUNCTIONS,
    aggregate::TABLES,
    array::FUNCTIONS,
    json::FUNCTIONS,
    objects::FUNCTIONS,
    objects::PRIVILEGES,
];

pub(crate) static OPERATORS: &[Tables] = &[
    &[
        comparison::OPERATORS,
        comparison::MIXED,
        integer::OPERATORS,
        float::OPERATORS,
        decimal::OPERATORS,
        string::OPERATORS,
        string::BYTES_OPERATORS,
        pattern::OPERATORS,
        pattern::SQL_OPERATORS,
    ],
    datetime::OPERATORS,
    array::OPERATORS,
    json::OPERATORS,
];
