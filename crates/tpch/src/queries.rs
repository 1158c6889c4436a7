//! The 22 queries, with the parameters by which implementations are validated (TPC-H specification, section 2.4).

/// Number of the queries, the first of which is 1.
pub const QUERIES: u8 = 22;

/// Returns the text of a query, for tables of a scale.
///
/// # Panics
/// Panics for a number that no query has.
pub(crate) fn text(number: u8, scale: f64) -> String {
    let text = match number {
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
        _ => panic!("TPC-H has no query {number}"),
    };
    // The only parameter that depends on the scale.
    text.replace("{fraction}", &format!("{:.10}", 0.0001 / scale))
}
