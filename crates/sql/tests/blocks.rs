//! Tables that are scanned by blocks of columns: values of all types, rows that were written since, conditions, and
//! columns that are younger than the rows, are as in scans of records.

use engine::DatabaseConfig;
use io::{Faults, SimulatedDisk};

use crate::bed::Bed;

const ROWS: usize = 10_000;

/// A column of each kind: with few distinct values, many, NULLs between, and of several scales.
const TABLE: &str = "create type mood as enum ('sad', 'ok', 'happy');
create table t (a int primary key, i2 smallint, i8 bigint, few int, n numeric(12, 2), scales numeric, big numeric,
    mixed numeric, f8 double precision, f4 real, b bool, d date, tm time, ts timestamp, tz timestamptz, v interval,
    x text, word varchar(10), c char(3), bytes bytea, u uuid, j jsonb, m mood, list int[], nothing text);
insert into t select i, i % 300, i * 12345678901, i / 1000, i * 1.25, i * 0.001 + (i % 7) * 0.1, i * 1e30,
    case when i = 4000 then 'NaN' when i = 5000 then 1e30 else i / 4.0 end, sqrt(i), i * 0.5, i % 3 = 0,
    date '1992-01-01' + i % 2500, time '00:00' + i * interval '1 second', timestamp '2020-01-01' + i * interval '1 hour',
    timestamptz '2020-01-01 00:00+00' + i * interval '1 minute', i * interval '1 day', 'text ' || i,
    case i % 4 when 0 then 'air' when 1 then 'rail' when 2 then '' end, 'c' || i % 10, decode(lpad(to_hex(i), 8, '0'), 'hex'),
    ('00000000-0000-0000-0000-' || lpad(i::text, 12, '0'))::uuid, jsonb_build_object('i', i),
    case i % 3 when 0 then 'sad' when 1 then 'ok' else 'happy' end::mood, array[i, i % 5], null
    from generate_series(1, 10000) i";

/// Returns the rows of a query whose scan reads the whole table, and of the same with the records of the key's range,
/// both in the same order; and how many rows came from blocks, or were in blocks that the scan has passed by.
fn both(bed: &mut Bed, list: &str, condition: &str) -> (Vec<Vec<String>>, Vec<Vec<String>>, u64) {
    let in_blocks = |bed: &mut Bed| {
        let stats = bed.stats();
        stats.scanned_in_blocks + 4096 * stats.blocks_skipped
    };
    let before = in_blocks(bed);
    let rows = bed.run(&format!("select {list} from t where {condition}"));
    let in_blocks = in_blocks(bed) - before;
    let expected = bed.run(&format!(
        "select {list} from t where a > -1 and {condition} order by a"
    ));
    let mut rows = rows.unwrap().rows;
    rows.sort_by_key(|row| row[0].parse::<i64>().unwrap());
    (rows, expected.unwrap().rows, in_blocks)
}

fn assert_alike(bed: &mut Bed, list: &str, condition: &str) -> usize {
    let (rows, expected, in_blocks) = both(bed, list, condition);
    assert!(
        rows == expected,
        "{list} where {condition}: {} rows, {} expected",
        rows.len(),
        expected.len()
    );
    assert!(in_blocks >= 6000, "{condition}: {in_blocks} rows in blocks");
    rows.len()
}

#[test]
fn values_of_all_types_come_out_of_blocks() {
    let mut bed = Bed::new();
    bed.run(TABLE).unwrap();
    // The horizon comes up to the load, and a first scan that has come before it is made good.
    while bed.stats().blocks_built < 2 {
        assert_eq!(
            bed.run("select count(*) from t").unwrap().rows[0][0],
            "10000"
        );
    }
    assert_eq!(assert_alike(&mut bed, "*", "true"), ROWS);
    assert_eq!(
        assert_alike(&mut bed, "a, x, n", "few = 3 and i2 < 200"),
        700
    );
    assert_eq!(
        assert_alike(&mut bed, "a, c", "d < date '1992-01-11' and word = 'air'"),
        12
    );
    assert_eq!(assert_alike(&mut bed, "a", "nothing is not null"), 0);
    assert_alike(&mut bed, "*", "ts >= '2020-06-01' and not b and m <> 'ok'");
    assert_alike(&mut bed, "*", "mixed > 2000 or f8 < 10 or x like '%77%'");
    assert_alike(
        &mut bed,
        "a, scales, big",
        "scales = 4.5 or big > 9e33 or list[2] = 3 and word is null",
    );
    // Texts of few values, each of which is computed once.
    assert_alike(
        &mut bed,
        "a, word || '!', case when length(word) > 3 then 1 / (length(word) - 3) end",
        "(word like '%i%' or word = '' and c <> 'c4') and (c > 'c3' or word is null) is not false",
    );
    assert_alike(
        &mut bed,
        "a",
        "c in ('c1', 'c7') and not word in ('air', '')",
    );
    let error = "select count(*) from t where 1 / (length(word) - 3) > 0";
    assert_eq!(bed.run(error).unwrap_err().state().code(), "22012");
    for (condition, rows) in [
        ("a = 5000", 1),
        ("few > 100", 0),
        ("few >= 0", ROWS),
        ("i8 <> 12345678901", ROWS - 1),
    ] {
        let sum = "count(*), sum(n), min(x), max(ts), avg(f8), count(word), count(distinct c)";
        let by_columns = bed
            .run(&format!("select {sum} from t where {condition}"))
            .unwrap()
            .rows;
        let by_rows = format!("select {sum} from (select * from t where {condition} offset 0) t");
        assert_eq!(by_columns, bed.run(&by_rows).unwrap().rows);
        assert_eq!(by_columns[0][0], rows.to_string());
    }
}

/// All columns are on the device, from where each scan reads those that it wants. Blocks whose bounds say that no row
/// can pass a comparison are not read, whatever the comparison and wherever its limit is.
#[test]
fn blocks_on_the_device_answer_as_rows_do() {
    let disk = SimulatedDisk::new(5, Faults::default());
    let config = DatabaseConfig {
        block_bytes: Some(0),
        ..DatabaseConfig::with_memory(256 << 20)
    };
    let mut bed = Bed::configured(&disk, config);
    bed.run(TABLE).unwrap();
    while bed.stats().blocks_written < 2 {
        bed.run("select count(*) from t").unwrap();
    }
    let shown = bed.run("show weft.block_memory").unwrap().rows;
    let (kept, all) = shown[0][0].split_once(" of ").unwrap();
    assert!(
        kept == "0" && all.parse::<u64>().unwrap() > 100_000,
        "{shown:?}"
    );
    for ahead in ["0", "1", "1000"] {
        bed.run(&format!("set effective_io_concurrency = {ahead}"))
            .unwrap();
        assert_eq!(assert_alike(&mut bed, "*", "true"), ROWS);
        assert_alike(&mut bed, "a, x", "mixed > 2000 or f8 < 10 or x like '%77%'");
    }
    bed.run("alter table t add column young int default 7")
        .unwrap();
    let reads = bed.stats().block_reads;
    assert_alike(&mut bed, "a, young", "young = 7");
    assert!(bed.stats().block_reads > reads);
    let sum = "count(*), sum(n), min(x), max(young)";
    for comparison in ["<", "<=", "=", "<>", ">=", ">"] {
        for limit in [
            "-1",
            "1",
            "2",
            "3000",
            "4095",
            "4096",
            "4097",
            "8191",
            "8192",
            "10000",
            "10001",
            "null::int",
        ] {
            // No index has the column.
            let condition = format!("i8 {comparison} {limit} * 12345678901");
            let by_blocks = format!("select {sum} from t where {condition}");
            let by_rows =
                format!("select {sum} from (select * from t offset 0) t where {condition}");
            let found = bed.run(&by_blocks).unwrap().rows;
            assert_eq!(found, bed.run(&by_rows).unwrap().rows, "{by_blocks}");
        }
    }
    assert!(bed.stats().blocks_skipped > 20);
    assert_eq!(bed.stats().blocks_damaged, 0);
}

#[test]
fn rows_that_were_written_since_are_seen_by_those_who_may() {
    let mut bed = Bed::new();
    bed.run(TABLE).unwrap();
    while bed.stats().blocks_built < 2 {
        bed.run("select count(*) from t").unwrap();
    }
    let old = bed.client();
    let count = "select count(*), sum(a), count(x) from t";
    bed.run_in(&old, "begin isolation level repeatable read")
        .unwrap();
    let before = bed.run_in(&old, count).unwrap().rows;
    bed.run(
        "begin; update t set x = null where a % 500 = 0; delete from t where a % 700 = 1; savepoint s;
         delete from t; rollback to s",
    )
    .unwrap();
    // Rows 500, 1000 and so on lost their text; rows 1, 701 and so on are gone.
    let own = bed.run(count).unwrap().rows;
    assert_eq!((&own[0][0][..], &own[0][2][..]), ("9985", "9965"));
    assert_eq!(bed.run_in(&old, count).unwrap().rows, before);
    bed.run("insert into t (a, x) values (-5, 'new'); commit")
        .unwrap();
    assert_eq!(bed.run_in(&old, count).unwrap().rows, before);
    bed.run_in(&old, "commit").unwrap();
    let now = bed.run_in(&old, count).unwrap().rows;
    assert_eq!(now[0][0], "9986");
    // A column that is younger than all rows, then one row that has it.
    bed.run("alter table t add column young text default 'young'")
        .unwrap();
    bed.run("update t set young = 'own' where a = 4711")
        .unwrap();
    let before = bed.stats().scanned_in_blocks;
    let rows = bed
        .run("select young, count(*) from t group by young order by 1")
        .unwrap()
        .rows;
    assert_eq!(rows, [["own", "1"], ["young", "9985"]]);
    assert!(bed.stats().scanned_in_blocks > before + 6000);
}

/// Joins by hash over columns have the rows of joins over the same tables row by row (behind OFFSET 0): of every kind,
/// with keys of one and several parts, NULLs, conditions on both sides, rows with many matches, and texts of both
/// sides.
#[test]
fn joins_by_columns_are_as_joins_by_rows() {
    let mut bed = Bed::new();
    bed.run(TABLE).unwrap();
    bed.run(
        "create table o (k int, k2 int, label text, v numeric(8, 2));
         insert into o select case when i % 50 = 0 then null else i % 7000 end, i % 30,
            case when i % 9 = 0 then null else 'label ' || i end, i * 0.25 from generate_series(1, 9000) i;
         analyze",
    )
    .unwrap();
    while bed.stats().blocks_built < 4 {
        bed.run("select count(*) from t; select count(*) from o")
            .unwrap();
    }
    let by_rows = ("(select * from t offset 0)", "(select * from o offset 0)");
    let select = "select count(*), count(o.label), count(distinct t.x), sum(t.n), sum(o.v), min(t.x), max(o.label),
        count(t.word)";
    for kind in ["join", "left join", "right join", "full join"] {
        for on in [
            "t.a = o.k",
            "t.few = o.k and t.c = 'c' || o.k2",
            "t.a = o.k and t.i2 < o.k2 * 10",
            "t.a + 1 = o.k and (t.word = 'air' or o.label like '%7')",
            "t.few = o.k2 and t.a < 40",
            "t.a = o.k and t.i2 = o.k2",
            "t.i8 / 12345678901 = o.k and t.i2 = o.k2 and t.few = o.k2 % 3",
            "t.i2 = o.k2 and t.few = o.k % 4",
            "t.x = 'text ' || o.k",
            "t.i8 = o.k",
        ] {
            let mut run = |one: &str, two: &str| {
                let text = format!("{select} from {one} t {kind} {two} o on {on}");
                let rows = bed.run(&text).unwrap().rows;
                (text, rows)
            };
            let (text, by_columns) = run("t", "o");
            assert_eq!(by_columns, run(by_rows.0, by_rows.1).1, "{text}");
        }
    }
    for test in [
        "exists (select from o where t.a = o.k)",
        "not exists (select from o where t.a = o.k and o.v < t.n)",
        "t.few in (select k2 from o where label is null)",
        "not exists (select from o where o.k2 = t.few and o.v > 2000)",
    ] {
        let mut run = |table: &str, test: &str| {
            let list = "count(*), sum(a), max(x), count(word)";
            let text = format!("select {list} from {table} t where {test}");
            bed.run(&text).unwrap().rows
        };
        let by_columns = run("t", test);
        let test = test.replace(" o ", " (select * from o offset 0) o ");
        assert_eq!(by_columns, run(by_rows.0, &test), "{test}");
    }
    // Joins upon joins, whose reader takes rows.
    let text = "select t.x, o.label, p.label from t join o on o.k = t.a join o p on p.k = o.k2 and p.v > o.v
        order by 1, 2, 3";
    let by_columns = bed.run(text).unwrap().rows;
    let text = text
        .replace("from t", &format!("from {} t", by_rows.0))
        .replace("join o on", &format!("join {} o on", by_rows.1))
        .replace("join o p", &format!("join {} p", by_rows.1));
    assert!(by_columns.len() > 1000 && by_columns == bed.run(&text).unwrap().rows);
    // An error is that of the first row, and comes from a pair of rows that are joined alone.
    let error = bed.run("select count(*) from t join o on t.a = o.k and 1 / (t.a - 77) < o.k2");
    assert_eq!(error.unwrap_err().state().code(), "22012");
    let text = "select count(*) from t join o on t.a = o.k and 1 / (t.a - 7777) < o.k2";
    assert_eq!(bed.run(text).unwrap().rows, [["8580"]]);
}

/// The first aggregate over a table read its records one by one, and the second one built the blocks: of three runs two
/// were slow.
#[test]
fn aggregates_build_blocks_at_once_and_other_scans_the_second_time() {
    let mut bed = Bed::new();
    bed.run(
        "create table summed (i int primary key);
         insert into summed select i from generate_series(1, 10000) i;
         create table listed (i int primary key);
         insert into listed select i from generate_series(1, 10000) i",
    )
    .unwrap();
    let built = |bed: &mut Bed, query: &str| {
        // The horizon comes up to the load.
        let before = bed.stats().blocks_built;
        bed.run(query).unwrap();
        bed.stats().blocks_built - before
    };
    assert_eq!(built(&mut bed, "select i from listed where i % 2 = 0"), 0);
    assert_eq!(built(&mut bed, "select sum(i) from summed"), 2);
    assert_eq!(built(&mut bed, "select sum(i) from summed"), 0);
    assert_eq!(built(&mut bed, "select i from listed where i % 2 = 0"), 2);
}
