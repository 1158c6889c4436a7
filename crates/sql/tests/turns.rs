//! The turns that statements give to other tasks, on a clock that stands still: a turn is over
//! after 4096 units, which are rows that are looked at. The work of a statement between two turns
//! therefore has a bound, whatever its operators are.

use std::time::Duration;

use crate::bed::Bed;

/// Rows of the table, all with one key in `b`.
const ROWS: u64 = 20_000;

/// Units of a turn.
const UNITS: u64 = 4096;

fn table() -> Bed {
    let mut bed = Bed::timeless();
    bed.run(&format!(
        "create table t (a int primary key, b int, c text);
         create index t_b on t (b);
         create table few (a int primary key, b int);
         create table pair (b int, a int, c text, primary key (b, a));
         insert into t select i, 7, 'row ' || i from generate_series(1, {ROWS}) i;
         insert into pair select b, a, c from t;
         insert into few values (1, 7), (2, 7), (3, 8)"
    ))
    .unwrap();
    bed
}

/// Returns the turns of a statement, and its answer's first value.
fn turns(bed: &mut Bed, statement: &str) -> (u64, String) {
    let before = bed.turns();
    let answer = bed.run(statement).unwrap();
    let first = answer.rows.first().and_then(|row| row.first().cloned());
    (bed.turns() - before, first.unwrap_or_default())
}

#[track_caller]
fn check(bed: &mut Bed, statement: &str, rows: u64, answer: &str) {
    let (turns, first) = turns(bed, statement);
    assert_eq!(first, answer, "{statement}");
    assert!(turns >= rows / UNITS, "{statement}: {turns} turns");
}

/// Each of three rows has 20,000 matches, or none. The matches of one row are found at once;
/// between rows, and while the table is read and filled, other tasks have turns.
#[test]
fn a_hash_join_over_one_key_gives_turns() {
    let mut bed = table();
    bed.run("set enable_nestloop = off").ok();
    for (statement, answer) in [
        (
            "select count(*) from few f join (select b + 0 as b from t) s on f.b = s.b",
            "40000",
        ),
        (
            "select count(*) from few f join (select b::text as b from t) s on f.b::text = s.b",
            "40000",
        ),
        (
            "select count(*) from few f left join (select b::text as b, c from t) s \
             on f.b::text = s.b and s.c < 'a'",
            "3",
        ),
        (
            "select count(*) from few f full join (select b::text as b, c from t) s \
             on f.b::text = s.b and s.c = 'row 5'",
            "20002",
        ),
        (
            "select count(*) from few f where not exists \
             (select from t where t.b::text = f.b::text and t.c < 'a')",
            "3",
        ),
        (
            "select count(*) from few f where exists \
             (select from t where t.b::text = f.b::text and t.c = 'row 5')",
            "2",
        ),
        (
            "select count(*) from few f where f.b in (select b + 0 from t)",
            "2",
        ),
    ] {
        check(&mut bed, statement, ROWS, answer);
    }
}

/// A scan by index once went on to the end of the key at which its piece ended.
#[test]
fn an_index_scan_ends_among_records_with_one_key() {
    let mut bed = table();
    check(
        &mut bed,
        "select count(*) from t where b = 7 and c <> ''",
        ROWS,
        "20000",
    );
    // As many rows as are wanted are read, not all that have the key. Planning has turns by the
    // clock, more of them where a machine does much else, or where a sample of the rows is read for
    // it.
    let runs = (0..8).map(|_| turns(&mut bed, "select a from t where b = 7 order by b limit 1"));
    let (turns, first) = runs.min().unwrap();
    assert_eq!(first, "1");
    assert!(turns <= 1, "{turns}");
}

/// A hash table that has no room for the next row once moved all entries at once: milliseconds for
/// a million groups. Entries that are moved count in the turn. A table that grows to 20,000 entries
/// moves more than 16,000, beside its buckets; a table of few entries moves none.
#[test]
fn hash_tables_grow_in_turns() {
    const GROWTH: u64 = 16_000 / UNITS;
    let mut bed = table();
    for (statement, few, many) in [
        ("select count(distinct {}) from t", "length(c)", "c"),
        (
            "select count(*) from few where b + 100000 not in (select {} from t)",
            "a % 7",
            "a",
        ),
        (
            "select count(*) from (select b from few intersect select {} from t) s",
            "a % 7",
            "a + 0",
        ),
    ] {
        let mut turns_with = |value| {
            let statement = statement.replace("{}", value);
            bed.run(&statement).unwrap();
            turns(&mut bed, &statement).0
        };
        let (few, many) = (turns_with(few), turns_with(many));
        assert!(many >= few + GROWTH, "{statement}: {few}, {many}");
    }
    let mut turns_of = |statement: &str| {
        bed.run(statement).unwrap();
        turns(&mut bed, statement).0
    };
    let rows = turns_of("select count(*) from (select c from t offset 1) s");
    for statement in [
        "select count(*) from (select distinct c from t offset 1) s",
        "select count(*) from (select c from t group by c offset 1) s",
        "select count(*) from (select c from t except select 'no' offset 1) s",
    ] {
        let grown = turns_of(statement);
        let expected = rows + ROWS / UNITS + GROWTH;
        assert!(grown >= expected, "{statement}: {grown} of {expected}");
    }
}

/// Number of checks of a transaction that has inserted its rows one by one under a deferred key.
const CHECKS: u64 = 2_000;

/// Each check is an execution of its own. The checks once had turns of their own, of which none was
/// long enough to end: a commit was a single slice, however many checks it had.
#[test]
fn checks_that_are_put_off_give_turns() {
    let mut bed = Bed::timeless();
    bed.run(
        "create table p (id int primary key);
         create table c (p int references p deferrable initially deferred);
         insert into p values (1);
         begin",
    )
    .unwrap();
    for _ in 0..CHECKS {
        bed.run("insert into c values (1)").unwrap();
    }
    // Each check counts for 64 units at least.
    check(&mut bed, "commit", 64 * CHECKS, "");
}

/// ANALYZE once sorted the values of each column at once, after it had read 30,000 rows in one go.
#[test]
fn analyze_gives_turns() {
    let mut bed = table();
    // 20,000 rows are read, and the values of three columns gathered and compared.
    check(&mut bed, "analyze t", 3 * ROWS, "");
}

#[test]
fn every_operator_gives_turns() {
    let mut bed = table();
    for (statement, rows, answer) in [
        ("select count(*) from t where c like '%9%'", ROWS, "6878"),
        (
            "select count(*) from (select distinct c from t) s",
            ROWS,
            "20000",
        ),
        (
            "select count(*) from (select c, count(*) from t group by c) s",
            ROWS,
            "20000",
        ),
        (
            "select max(a) from (select a from t order by c desc, a offset 5) s",
            2 * ROWS,
            "20000",
        ),
        (
            "select max(a) from (select a from pair order by b, c desc offset 5) s",
            2 * ROWS,
            "20000",
        ),
        (
            "select max(n) from (select row_number() over (order by c) n from t) s",
            2 * ROWS,
            "20000",
        ),
        (
            "select max(n) from (select sum(1) over (order by a) n from t) s",
            2 * ROWS,
            "20000",
        ),
        (
            "select count(*) from (select c from t except select c from t where a > 7) s",
            ROWS,
            "7",
        ),
        (
            "select count(*) from few, t where few.b + t.b < 0",
            3 * ROWS,
            "0",
        ),
        (
            "select count(*) from few f where f.b not in (select b from t where a > f.a)",
            ROWS,
            "1",
        ),
        (
            "select count(*) from generate_series(1, 50000) i",
            50_000,
            "50000",
        ),
        (
            "select count(*) from few, generate_series(1, 50000) i",
            50_000,
            "150000",
        ),
        (
            "with recursive r(x) as (select 1 union all select x + 1 from r where x < 2000) \
             select count(*) from r",
            2000,
            "2000",
        ),
        (
            "with recursive r(x) as (select a from t union select x + 1 from r where x < 20010) \
             select count(*) from r",
            ROWS,
            "20010",
        ),
        (
            "select length(string_agg(c, ',' order by c desc))::text from t",
            2 * ROWS,
            "188893",
        ),
        ("update t set c = c || '!'", ROWS, ""),
        ("insert into few select a + 10, b from t", ROWS, ""),
        ("delete from few where a > 10", ROWS, ""),
    ] {
        check(&mut bed, statement, rows, answer);
    }
}

/// Returns the processor time that this thread has had: other programs on the machine take nothing from it.
fn processor_time() -> Duration {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let on_processor = times.split(' ').next().unwrap();
    Duration::from_nanos(on_processor.parse().unwrap())
}

/// Statements that are too short to give others a turn once had none between them either: a client
/// that sent 20,000 at once had the worker for seconds. None of them is divided, which takes milliseconds in a build
/// without optimisation: a turn after each is enough there.
#[test]
fn statements_of_one_text_give_turns() {
    const STATEMENTS: u64 = 5_000;
    let mut bed = Bed::new();
    bed.run("create table t (a int primary key)").unwrap();
    let text = "explain select * from t where a = 1;".repeat(STATEMENTS as usize);
    let (before, began) = (bed.turns(), processor_time());
    bed.run(&text).unwrap();
    let (turns, took) = (bed.turns() - before, (processor_time() - began).as_millis());
    assert!(
        u128::from(turns) >= (took / 2).min(STATEMENTS.into()),
        "{turns} turns in {took} ms"
    );
}

/// Rows are units of a turn, and cheap ones were once followed by 256 that took 25 ms each before
/// the clock was read.
#[test]
fn rows_with_large_values_give_turns() {
    let mut bed = Bed::new();
    let number = "10::numeric ^ (20000 - i)";
    let rows = "from generate_series(1, 200) i";
    let literals = (0..60_000).map(|at| (1_000_000 + at).to_string());
    let literals = literals.collect::<Vec<_>>().join(", ");
    bed.run(&format!(
        "create table powers as
             select 10::numeric as a, (20000 - i)::numeric as b, 10::numeric ^ 16000 + i as large {rows};
         create table checked (i int check (i not in ({literals})))"
    ))
    .unwrap();
    for statement in [
        format!("select sum(length(({number})::text)) {rows}"),
        format!("select count(*) {rows} where length(({number})::text) > 0"),
        format!("select length(({number})::text) l, count(*) {rows} group by 1"),
        format!("select i {rows} order by {number}"),
        "select max(a ^ b) from powers".to_owned(),
        "select b from powers order by round(large, b::int % 1000)".to_owned(),
        "select i from (select i, case when i between 2001 and 2512 then 10::numeric ^ 16000 + i * 7919 % 512 else i end n \
         from generate_series(1, 5000) i) s order by n"
            .to_owned(),
        "select count(*) from powers x join powers y on x.large = y.large".to_owned(),
        format!("insert into checked select i {rows}"),
        format!(
            "select count(*) {rows} where i = any (array(select generate_series(1000, 60000)))"
        ),
    ] {
        let (before, began) = (bed.turns(), processor_time());
        bed.run(&statement).unwrap();
        let (turns, took) = (bed.turns() - before, (processor_time() - began).as_millis());
        assert!(
            u128::from(turns) >= took / 4,
            "{turns} turns in {took} ms: {statement}"
        );
    }
}
