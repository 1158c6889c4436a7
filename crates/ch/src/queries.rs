//! The 22 queries of CH-benCHmark: those of TPC-H over the tables of TPC-C, with suppliers, nations and regions beside
//! them (Cole et al., "The mixed workload CH-benCHmark", DBTest 2011, and the definition that the authors published).
//!
//! Two things differ from the definition. Orders are of 2026 here, so the last dates of ranges are later: `2012` is
//! 2032 and `2020` is 2040. The quotient of query 8 is NULL where its divisor is zero, as it is as long as all orders
//! of its group are delivered ones that were loaded.

/// Number of the queries, the first of which is 1.
pub const QUERIES: u8 = 22;

/// Returns the text of a query.
///
/// # Panics
/// Panics for a number that no query has.
pub(crate) fn text(number: u8) -> &'static str {
    match number {
        1 => include_str!("queries/01.sql"),
        2 => include_str!("queries/02.sql"),
        3 => include_str!("queries/03.sql"),
        4 => include_str!("queries/04.sql"),
        5 => include_str!("queries/05.sql"),
        6 => include_str!("queries/06.sql"),
        7 => include_str!("queries/07.sql"),
        8 => include_str!("queries/08.sql"),
        9 => include_str!("queries/09.sql"),
        10 => include_str!("queries/10.sql"),
        11 => include_str!("queries/11.sql"),
        12 => include_str!("queries/12.sql"),
        13 => include_str!("queries/13.sql"),
        14 => include_str!("queries/14.sql"),
        15 => include_str!("queries/15.sql"),
        16 => include_str!("queries/16.sql"),
        17 => include_str!("queries/17.sql"),
        18 => include_str!("queries/18.sql"),
        19 => include_str!("queries/19.sql"),
        20 => include_str!("queries/20.sql"),
        21 => include_str!("queries/21.sql"),
        22 => include_str!("queries/22.sql"),
        _ => panic!("CH-benCHmark has no query {number}"),
    }
}
