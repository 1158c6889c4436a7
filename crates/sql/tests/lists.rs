//! Long lists in conditions: each row was compared with each element, which took minutes for 20,000
//! elements and 100,000 rows.

use crate::bed::Bed;

/// Returns numbers as a list: each second one, the first elements twice.
fn numbers(most: usize) -> String {
    let numbers = (1..=most).step_by(2).chain([1, 3, 5]);
    let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
    numbers.join(",")
}

#[test]
fn long_lists_are_searched_by_hash() {
    let mut bed = Bed::new();
    bed.run(
        "create table item (id int, big bigint, name text);
         insert into item select i, i, i::text from generate_series(1, 100000) i;
         insert into item values (null, null, null);
         prepare p(int[]) as select count(*) from item where id = any ($1) and big <> all ($1[1:3])",
    )
    .unwrap();
    let list = numbers(200_000);
    let texts = format!("'{}'", list.replace(',', "','"));
    for (statement, expected) in [
        (
            format!("select count(*) from item where id in ({list})"),
            "50000",
        ),
        (
            format!("select count(*) from item where id not in ({list})"),
            "50000",
        ),
        (
            format!("select count(*) from item where id not in ({list}, null)"),
            "0",
        ),
        (
            format!("select count(*) from item where name in ({texts}) or id = 2"),
            "50001",
        ),
        (
            format!("select count(big = any ('{{{list}}}')) from item"),
            "100000",
        ),
        (format!("execute p('{{{list}}}')"), "49997"),
    ] {
        let answer = bed.run(&statement).unwrap();
        assert_eq!(answer.rows, [[expected]], "{}", &statement[..60]);
    }
}

/// The hash table of a list is charged to its statement, and given back.
#[test]
fn lists_are_within_the_limit_of_memory() {
    let mut bed = Bed::with_memory(32 << 20);
    bed.run("create table item (id int); insert into item select generate_series(1, 10)")
        .unwrap();
    let statement = |most: usize| {
        format!(
            "select count(*) from item where id = any ('{{{}}}')",
            numbers(most)
        )
    };
    bed.run("set weft.statement_memory = '8MB'").unwrap();
    let before = bed.statement_bytes();
    assert_eq!(bed.run(&statement(20_000)).unwrap().rows, [["5"]]);
    let array = format!("select cardinality('{{{}}}'::int[])", numbers(600_000));
    assert_eq!(bed.run(&array).unwrap().rows, [["300003"]]);
    assert_eq!(
        bed.run(&statement(600_000)).unwrap_err().state().code(),
        "53200"
    );
    assert_eq!(bed.statement_bytes(), before);
}
