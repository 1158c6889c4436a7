//! Volatile functions are called for each reading of the relation that they are part of, whatever its plan.

use crate::bed::Bed;

/// Rows that a join reads again for each row of a query around it are kept from one reading to the next where they are
/// the same. Functions in FROM were taken to have the same rows, also where they were called anew with volatile
/// arguments, since others of them are columns beside them: a join by hash kept the first reading's rows, and one by
/// nesting had others each time.
#[test]
fn functions_beside_their_arguments_are_called_for_each_reading() {
    let mut bed = Bed::new();
    // The table of many rows is looked up in the rows of the functions, not the other way round.
    bed.run(
        "create table t (i int); insert into t values (1), (2), (3);
         create table many (i int); insert into many select i from generate_series(1, 10000) i;
         analyze t, many",
    )
    .unwrap();
    let distinct = |bed: &mut Bed, items: &str, on: &str| {
        let query = format!(
            "select count(distinct (
                 select max(s.u) from many c join (select b.i, f.u from {items} offset 0) s on {on}
                 where c.i + a.i > 0
             )) from t a"
        );
        bed.run(&query).unwrap().rows[0][0].clone()
    };
    for on in ["s.i = c.i", "s.i <= c.i and s.i >= c.i"] {
        let anew = "t b, unnest(array[random() + b.i]) f(u)";
        assert_eq!(distinct(&mut bed, anew, on), "3", "{on}");
        // Functions whose arguments are no columns are called once for the statement.
        let once = "t b, unnest(array[random() + 1]) f(u)";
        assert_eq!(distinct(&mut bed, once, on), "1", "{on}");
    }
}

/// A batch that columns could not do, since its values were large, was begun again row by row, and functions with an
/// effect were called twice for some of its rows.
#[test]
fn functions_with_an_effect_are_called_once_for_a_row() {
    let mut bed = Bed::new();
    bed.run(
        "create table t (i int); insert into t select i from generate_series(1, 5000) i;
         set x.calls = '0'",
    )
    .unwrap();
    let call = "set_config('x.calls', (current_setting('x.calls')::int + 1)::text, false)";
    let large = "length(repeat('x' || i, 3000))";
    for (statement, calls) in [
        (
            format!("select max(length({call}) + 0 * {large}) from t"),
            "5000",
        ),
        (
            format!("select count(*) from t where {call} is not null and {large} > 0"),
            "10000",
        ),
        (
            format!("select sum({large}) filter (where {call} is not null) from t"),
            "15000",
        ),
    ] {
        bed.run(&statement).unwrap();
        let answer = bed.run("select current_setting('x.calls')").unwrap();
        assert_eq!(answer.rows[0][0], calls, "{statement}");
    }
}
