//! The memory that statements keep is within the database's memory limit: at its share, or where
//! the limit leaves no more, a statement ends with 53200. Others go on, and all of its memory is
//! given back.
//!
//! Operators once kept rows uncounted: an endless recursion whose client was gone grew to 5.9 GB,
//! and the system ended the process.

mod room;

use std::rc::Rc;

use sql::{CommandTag, Field, ResultRow, Sink};
use types::Value;

use crate::bed::Bed;

const MEMORY: usize = 32 << 20;

const TABLES: &str = "
    create table item (id int primary key, kind int, name text);
    create table part (i int);
    create table pair (a int, b int, primary key (a, b));
    insert into item select i, i % 10, 'item ' || i from generate_series(1, 2000) i;
    insert into part select i from generate_series(1, 2000) i;
    insert into pair select 1, i from generate_series(1, 2000) i;
    analyze item; analyze part";

/// Statements that keep more than there is.
const HUNGRY: &[&str] = &[
    // A recursion that is read once keeps nothing; if it is read twice, it keeps its rows.
    "with recursive r(i) as (select 1 union all select i + 1 from r) select (select count(*) from r), (select count(*) from r)",
    "with recursive r(i, t) as (select 1, repeat('x', 100000) union all select i + 1, repeat('x', 100000) from r where i < 2000)
     select (select max(length(t)) from r), (select min(length(t)) from r)",
    "with recursive r(i) as (select 1::bigint union select i + 1 from r) select count(*) from r",
    // Rows of functions; sorts, with and without texts.
    "select count(*) from generate_series(1, 100000000)",
    "select a.i from part a, part b order by a.i + b.i",
    "select a.name || b.name from item a, item b order by 1",
    "select a.id from item a, item b order by a.id, b.id limit 3000000",
    // One group of rows that are sorted at once, since the order of groups is that of the key.
    "select b from pair order by a, repeat(b::text, 10000)",
    // Groups, their states, and rows that were met before.
    "select a.id, b.id, count(*) from item a, item b group by a.id, b.id",
    "select a.id, count(*) from item a, item b group by cube(a.id, b.id, a.kind)",
    "select count(distinct a.name || b.name) from item a, item b",
    "select a.kind, count(distinct a.id + b.id * 2000) from item a, item b group by a.kind",
    "select distinct a.id, b.id from item a, item b",
    "select array_agg(a.id) from item a, item b",
    "select array_agg(a.id order by b.id) from item a, item b",
    "select string_agg(a.name, ',') from item a, item b",
    "select jsonb_agg(a.name) from item a, item b",
    "select json_object_agg(a.id, b.id) from item a, item b",
    "select percentile_cont(0.5) within group (order by a.id::float) from item a, item b",
    // Joins.
    "select count(*) from (select a.id * 2000 + b.id as id from item a, item b) c
     join (select a.id * 2000 + b.id as id from item a, item b) d on c.id = d.id",
    "select count(*) from (select a.name || b.name as name from item a, item b) c
     join (select a.name || b.name as name from item a, item b) d on c.name = d.name",
    "select count(*) from item c full join (select a.id * 2000 + b.id as id from item a, item b) d
     on c.id = d.id",
    "select count(*) from item c left join (select a.id + b.id as id from item a, item b) d on c.id < -d.id",
    "select count(*) from item c full join (select a.id + b.id as id from item a, item b) d on c.id < -d.id",
    // Settings that wait for the end of their statement.
    "select count(set_config('a.b' || i, repeat('x', 100000), false)) from generate_series(1, 1000) i",
    // Windows, sets, relations of WITH.
    "select count(*) from (select row_number() over () as n from item a, item b) c where n > 0",
    "select max(l) from (select length(lag(x) over (order by x, id)) as l
     from (select repeat('x', 100000) || id as x, id from item offset 0) c) d",
    "select sum(r) from (select rank() over (partition by repeat('x', 50000) || id) as r from item) c",
    "select sum(a.id) over (partition by b.kind) from item a, item b",
    "select a.id, b.id from item a, item b except select 1, 1",
    "select 1, 1 intersect select a.id, b.id from item a, item b",
    "select a.id, b.id from item a, item b union select 1, 1",
    "with d as materialized (select a.id, b.id from item a, item b) select count(*) from d, d e",
    // Subqueries.
    "select count(*) from item c where c.id not in (select -a.id * b.id from item a, item b)",
    "select array(select a.id from item a, item b)",
    "select count(*) from item c where (c.id, 1) in (select a.id * 2000 + b.id, a.kind from item a, item b)
     or c.id < 0",
    // Values, one by one and many.
    "select repeat('x', 100000000)",
    "select length(repeat('x', 100000000))",
    "select length(repeat(name, 100000)) from item",
    "select string_agg(repeat('x', 1000000), '') from item",
    "select repeat('x', 100000) from item order by 1",
    "select lpad('x', 100000000, 'yz')",
    "select array_fill(1, array[100000000])",
    "select format('%100000000s', 'x')",
    "select replace(repeat('x', 1000000), 'x', repeat('y', 1000))",
    "select array_to_string(array_fill(''::text, array[1000]), repeat('x', 1000000))",
    "select concat(a, a, a, a, a, a, a, a, a, a) from (select repeat('x', 4000000) a offset 0) s",
    "select a || a || a || a || a || a || a || a from (select repeat('x', 4000000) a offset 0) s",
    "select encode(repeat('x', 8000000)::bytea, 'hex')",
    "select array[a, a, a, a, a, a, a, a, a, a] from (select repeat('x', 4000000) a offset 0) s",
    "select jsonb_build_array(a, a, a, a, a, a, a, a, a, a) from (select repeat('x', 4000000) a offset 0) s",
    "select row_to_json(row(a, a, a, a, a, a, a, a, a, a)) from (select repeat('x', 4000000) a offset 0) s",
    "select greatest(upper(a), lower(a), upper(a), lower(a)) from (select repeat('x', 4000000) a offset 0) s",
    // Results of regular expressions.
    "select regexp_replace(repeat('x', 1000000), 'x', repeat('y', 1000), 'g')",
    "select regexp_replace(repeat('x', 100000), '^(.*)$', repeat('\\1', 1000))",
    "select regexp_split_to_array(repeat('x,', 1000000), ',')",
    "select count(*) from regexp_split_to_table(repeat('x,', 1000000), ',')",
    "select regexp_matches(repeat('x', 1000000), 'x', 'g')",
    "select string_to_array(repeat('x,', 2000000), ',')",
    "select count(*) from item a, (select repeat('x', 1000000) x offset 0) b, item c group by b.x || a.id",
    // Writes that are undone.
    "insert into part select a.id from item a, item b order by a.id + b.id",
    "update item set name = item.name
     from (select a.id, row_number() over (order by b.id) as other from item a, item b) c
     where item.id = c.id and c.other = -1",
    // Cursors that are left open, and other statements that keep rows.
    "begin; declare c cursor for select a.id, b.id from item a, item b; insert into part values (0)",
    "begin; declare c cursor with hold for select a.id, b.id from item a, item b; commit",
    "begin; declare c scroll cursor for select a.id, b.id from item a, item b; fetch last from c",
    "create table copies as select a.id, b.id as other from item a, item b order by a.id - b.id",
    "explain analyze select a.id from item a, item b order by a.id + b.id",
];

#[test]
fn a_statement_that_keeps_too_much_ends_and_gives_everything_back() {
    let mut bed = Bed::with_memory(MEMORY);
    bed.run(TABLES).unwrap();
    let other = bed.client();
    let before = bed.statement_bytes();
    let mut wrong = Vec::new();
    for text in HUNGRY {
        let Err(error) = bed.run(text) else {
            wrong.push(*text);
            bed.run("rollback").unwrap();
            continue;
        };
        assert_eq!(error.state().code(), "53200", "{text}: {error}");
        assert_eq!(error.message(), "out of memory", "{text}");
        assert!(error.detail_text().is_some(), "{text}");
        assert!(error.hint_text().is_some(), "{text}");
        bed.run("rollback").unwrap();
        assert_eq!(bed.statement_bytes(), before, "{text}");
        let answer = bed.run_in(&other, "select name from item where id = 7");
        assert_eq!(answer.unwrap().rows, [["item 7"]], "{text}");
    }
    assert!(wrong.is_empty(), "these have an answer: {wrong:#?}");
}

#[test]
fn the_limit_and_the_share_are_told_and_the_share_can_be_set() {
    let mut bed = Bed::with_memory(MEMORY);
    let shown = |bed: &mut Bed, text: &str| bed.run(text).map(|answer| answer.rows);
    assert_eq!(shown(&mut bed, "show weft.memory").unwrap(), [["32MB"]]);
    let share = "show weft.statement_memory";
    assert_eq!(shown(&mut bed, share).unwrap(), [["8MB"]]);
    bed.run("set weft.statement_memory = '2MB'").unwrap();
    assert_eq!(shown(&mut bed, share).unwrap(), [["2MB"]]);
    let error = bed.run(HUNGRY[0]).unwrap_err();
    let detail = error.detail_text().unwrap();
    assert!(
        detail.ends_with("a statement may hold 2048 KiB."),
        "{detail}"
    );
    for (value, state) in [("'33MB'", "22023"), ("'much'", "22023")] {
        let error = bed.run(&format!("set weft.statement_memory = {value}"));
        assert_eq!(error.unwrap_err().state().code(), state, "{value}");
    }
    let error = bed.run("set weft.memory = '1GB'").unwrap_err();
    assert_eq!(error.state().code(), "55P02");
    bed.run("reset weft.statement_memory").unwrap();
    assert_eq!(shown(&mut bed, share).unwrap(), [["8MB"]]);
}

/// All rows that were looked up at once were once in memory before any of them was counted: here 6
/// MB, of which the statement may have 5.
#[test]
fn rows_are_looked_up_until_they_have_many_bytes() {
    let mut bed = Bed::with_memory(MEMORY);
    bed.run(
        "create table wide (id int primary key, note text);
         insert into wide select 1000 + i, '' from generate_series(1, 20000) i;
         create table few (id int);
         insert into few select 131 - i from generate_series(1, 130) i",
    )
    .unwrap();
    for begin in (1..120).step_by(5) {
        bed.run(&format!(
            "insert into wide select i, repeat('x', 50000 + i)
             from generate_series({begin}, {begin} + 4) i"
        ))
        .unwrap();
    }
    let looked_up = "select count(*), count(w.id), sum(length(w.note) * (w.id = f.id)::int)
                     from few f left join wide w on w.id = f.id";
    let plan = bed.run(&format!("explain {looked_up}")).unwrap().rows;
    let is_looked_up = plan.iter().any(|line| line[0].contains("Lookup on wide"));
    assert!(is_looked_up, "{plan:?}");
    bed.run("set weft.statement_memory = '5MB'").unwrap();
    let found = bed.run(looked_up).unwrap().rows;
    assert_eq!(found, [["130", "120", "6007260"]]);
}

/// Operators that leave out whole batches once took their memory along, without its rows, for as long as they found no
/// row: here 16 MB, of which a statement may have 4.
#[test]
fn rows_that_are_left_out_are_not_held() {
    let mut bed = Bed::with_memory(4 * MEMORY);
    bed.run(
        "create table notes (id int primary key, note text);
         insert into notes select i, repeat('x', 1000 + i % 5) from generate_series(1, 8000) i;
         set weft.statement_memory = '4MB'",
    )
    .unwrap();
    for (query, rows) in [
        ("select distinct note, upper(note) from notes", 5),
        ("select note, upper(note) from notes offset 7990", 10),
        (
            "select * from (select id, note, upper(note) as large from notes offset 0) s
             where large = note || id",
            0,
        ),
        (
            "select note, upper(note) from notes except select note, upper(note) from notes where id < 6",
            0,
        ),
        (
            "select note, upper(note) from notes intersect select note, upper(note) from notes where id = 1",
            1,
        ),
    ] {
        let answer = bed.run(query);
        let found = answer
            .unwrap_or_else(|error| panic!("{query}: {error}"))
            .rows;
        assert_eq!(found.len(), rows, "{query}");
    }
}

/// A sort once kept all rows, also where they came in the order of its first keys: here 30 MB, of which a statement may
/// have 3.
#[test]
fn a_sort_keeps_one_group_at_a_time() {
    let mut bed = Bed::with_memory(4 * MEMORY);
    bed.run(
        "create table logged (day int, id int, note text, primary key (day, id));
         insert into logged select i / 1000, i, repeat('x', 300) from generate_series(1, 100000) i;
         set weft.statement_memory = '3MB'",
    )
    .unwrap();
    let before = bed.statement_bytes();
    let count = "select count(*), sum(length(note)) from (select note from logged order by day, -id offset 0) s";
    assert_eq!(bed.run(count).unwrap().rows, [["100000", "30000000"]]);
    assert_eq!(bed.statement_bytes(), before);
}

/// Rows of a partition were copied beside those that the sort keeps.
#[test]
fn a_window_keeps_its_rows_once() {
    let mut bed = Bed::with_memory(4 * MEMORY);
    let rows =
        "(select i, repeat('x', 1000) || i as t from generate_series(1, 10000) i offset 0) s";
    let mut peak = |query: &str| -> u64 {
        let lines = bed.run(&format!("explain (analyze, costs off) {query}"));
        let lines = lines.unwrap().rows.concat().join(" ");
        let (_, behind) = lines.split_once("Peak Memory: ").unwrap();
        behind[..behind.find("kB").unwrap()].parse().unwrap()
    };
    let sorted = peak(&format!("select * from {rows} order by i"));
    let window = peak(&format!("select *, ntile(3) over (order by i) from {rows}"));
    assert!(
        sorted > 10_000 && window < sorted * 5 / 4,
        "{sorted} and {window}"
    );
}

/// A document of which a query returns the length was charged twice: once where it was read, and once as if the client
/// were about to get it.
#[test]
fn values_that_are_not_handed_on_are_charged_once() {
    let mut bed = Bed::with_memory(4 * MEMORY);
    bed.run(
        "create table notes (id int primary key, note text);
         insert into notes values (1, repeat('x', 6000000));
         set weft.statement_memory = '10MB'",
    )
    .unwrap();
    for query in [
        "select id, length(note) from notes",
        "select id, left(note, 7) from notes",
    ] {
        assert_eq!(bed.run(query).unwrap().rows.len(), 1, "{query}");
    }
}

/// Counts the bytes of texts that a statement hands over between two pauses of its client.
#[derive(Default)]
struct Widest {
    bytes: usize,
    most: usize,
}

impl Sink for Widest {
    fn fields(&mut self, _: &[Field]) -> types::Result<()> {
        Ok(())
    }

    fn row(&mut self, row: &ResultRow<'_>) -> types::Result<()> {
        let texts = row.values.iter().map(|value| match value {
            Value::Text(text) => text.len(),
            _ => 0,
        });
        self.bytes += texts.sum::<usize>();
        self.most = self.most.max(self.bytes);
        Ok(())
    }

    fn complete(&mut self, _: CommandTag) -> types::Result<()> {
        Ok(())
    }

    fn has_room(&self) -> bool {
        self.bytes < 1 << 20
    }

    async fn drain(&mut self) -> types::Result<()> {
        self.bytes = 0;
        Ok(())
    }
}

/// A batch of changed rows once had 256 rows, or all of an INSERT that reads its own table, however large they were:
/// here 12 MB, none of which was charged before the batch had ended.
#[test]
fn batches_of_changed_rows_end_by_their_bytes() {
    let mut bed = Bed::with_memory(4 * MEMORY);
    bed.run("create table wide (id int primary key, note text)")
        .unwrap();
    for begin in (1..120).step_by(20) {
        bed.run(&format!(
            "insert into wide select i, repeat('x', 100000) from generate_series({begin}, {begin} + 19) i"
        ))
        .unwrap();
    }
    for statement in [
        "insert into wide select id + 1000, note from wide returning note",
        "update wide set note = note || 'y' where id < 1000 returning note",
        "insert into wide select id, note from wide where id > 1000 on conflict (id)
         do update set note = excluded.note || 'z' returning note",
        "delete from wide where id > 1000 returning note",
    ] {
        bed.within(async move |session| {
            let mut widest = Widest::default();
            session.execute(statement, &mut widest).await.unwrap();
            let most = widest.most;
            assert!(
                (1..2 << 20).contains(&most),
                "{most} bytes at once: {statement}"
            );
        });
    }
    assert_eq!(
        bed.run("select count(*) from wide").unwrap().rows,
        [["120"]]
    );
}

/// A short statement may show one column many times: the client's output had 40 MB of a batch of 400 KB before the
/// client was asked to take them, and none of it was charged.
#[test]
fn columns_that_are_shown_often_are_handed_over_in_parts() {
    let mut bed = Bed::with_memory(4 * MEMORY);
    bed.run(
        "create table notes (id int primary key, note text);
         insert into notes select i, repeat('x', 10000) from generate_series(1, 40) i",
    )
    .unwrap();
    bed.run("set weft.statement_memory = '3MB'").unwrap();
    let notes = vec!["note"; 100].join(", ");
    bed.within(async move |session| {
        let mut widest;
        // A column that is computed makes a row as wide as its output.
        for more in ["", ", id + 1", ", id + 1, notes"] {
            let query = format!("select {notes}{more} from notes");
            widest = Widest::default();
            session.execute(&query, &mut widest).await.unwrap();
            let most = widest.most;
            assert!((1_000_000..3 << 20).contains(&most), "{most} bytes at once");
        }
    });
}

/// Keys and records of new rows were charged in batches alone, not with ON CONFLICT or MERGE, and changed rows that are
/// made beside the output never: each of these held one large row more than the statement was charged for.
#[test]
fn rows_on_their_way_into_a_table_are_charged() {
    let mut bed = Bed::with_memory(8 * MEMORY);
    bed.run(
        "create table wide (id int primary key, note text);
         set weft.statement_memory = '100MB';
         create view large as select repeat('x', 8000000) as note;
         insert into wide values (1, 'short'), (2, repeat('x', 8000000))",
    )
    .unwrap();
    let mut wrong = Vec::new();
    for (statement, least) in [
        ("insert into wide select 3, note from large", 20_000),
        (
            "insert into wide select 4, note from large on conflict do nothing",
            20_000,
        ),
        (
            "insert into wide select 2, note from large on conflict (id) do update set note = excluded.note",
            28_000,
        ),
        (
            "merge into wide using (select 5 as id) s on wide.id = s.id
             when not matched then insert values (s.id, repeat('x', 8000000))",
            14_000,
        ),
        (
            "merge into wide using (select 1 as id, note from large) s on wide.id = s.id
             when matched then update set note = s.note",
            20_000,
        ),
        ("update wide set note = note || 'y' where id < 3", 50_000),
        ("delete from wide where id < 3 returning note", 20_000),
    ] {
        let analyzed = format!("begin; explain (analyze, timing off) {statement}; rollback");
        let answer = bed.run(&analyzed).unwrap().rows.concat();
        let peak = answer
            .iter()
            .find_map(|line| line.strip_prefix("Peak Memory: "));
        let peak = peak.and_then(|peak| peak.strip_suffix("kB")?.trim().parse().ok());
        let peak: u64 = peak.unwrap_or_else(|| panic!("no peak: {answer:?}"));
        if peak < least {
            wrong.push((statement, peak, least));
        }
    }
    assert!(
        wrong.is_empty(),
        "too little is charged for these: {wrong:#?}"
    );
}

/// FETCH of rows that a cursor keeps, 256 at a time however large they were, filled the buffer of a client that did not
/// read: with 1 MB each, 238 MB that nothing was charged for, without a turn for others.
#[test]
fn kept_rows_wait_for_their_client() {
    let mut bed = Bed::with_memory(4 * MEMORY);
    bed.within(async |session| {
        let mut widest = Widest::default();
        let texts = "begin; declare c scroll cursor for select repeat('x', 100000) from generate_series(1, 100);
                     move last in c; move absolute 0 in c; fetch all from c; commit";
        session.execute(texts, &mut widest).await.unwrap();
        let most = widest.most;
        assert!((1..2 << 20).contains(&most), "{most} bytes at once");
    });
}

/// A row that does not end was once kept up to a gigabyte.
#[test]
fn a_line_of_copy_that_does_not_end_is_refused() {
    let mut bed = Bed::with_memory(MEMORY);
    bed.run(TABLES).unwrap();
    let before = bed.statement_bytes();
    let line = vec![b'7'; 40 << 20];
    for form in ["text", "csv"] {
        let text = format!("copy part from stdin (format {form})");
        let error = bed.run_with(&text, &line, 1 << 16).unwrap_err();
        assert_eq!(error.state().code(), "53200", "{error}");
        assert_eq!(bed.statement_bytes(), before);
    }
    let mut lines = line[..1 << 10].to_vec();
    lines.push(b'\n');
    let error = bed
        .run_with("copy part from stdin", &lines, 100)
        .unwrap_err();
    assert_eq!(error.state().code(), "22003");
}

/// The fields of a line of COPY, where escapes were taken out of it, and their places were held outside of all limits.
#[test]
fn the_fields_of_a_line_of_copy_are_within_the_statements_memory() {
    let mut bed = Bed::with_memory(MEMORY);
    bed.run("create table t (a text); set weft.statement_memory = '8MB'")
        .unwrap();
    let before = bed.statement_bytes();
    for (piece, state) in [("\t", "22P04"), ("\\x", "53200")] {
        let mut line = piece.repeat((5 << 20) / piece.len()).into_bytes();
        line.extend_from_slice(b"\tx\n");
        let reply = bed.run_with("copy t from stdin", &line, line.len());
        let error = reply.unwrap_err();
        assert_eq!(error.state().code(), state, "{error}");
        assert_eq!(bed.statement_bytes(), before);
    }
}

/// A statement that takes all memory it can get leaves as much as it has; other statements go on,
/// and so do writes.
#[test]
fn a_hungry_neighbour_leaves_room_for_modest_statements_and_for_writes() {
    let mut bed = Bed::with_memory(MEMORY);
    bed.run(TABLES).unwrap();
    let modest =
        "select count(*) from (select a.id from item a, part b where b.i < 10 order by b.i) s";
    let hungry: Vec<_> = (0..4).map(|_| bed.client()).collect();
    for client in &hungry {
        bed.run_in(client, "set weft.statement_memory = '32MB'")
            .unwrap();
        let declared =
            "begin; declare c cursor for select a.id, b.id from item a, item b order by a.id";
        bed.run_in(client, declared).unwrap();
    }
    let mut refused = 0;
    for client in &hungry {
        match bed.run_in(client, "fetch 1 from c") {
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error.state().code(), "53200", "{error}");
                refused += 1;
            }
        }
        assert_eq!(bed.run(modest).unwrap().rows, [["18000"]]);
        bed.run("insert into part select 10 + i from generate_series(1, 1000) i")
            .unwrap();
    }
    assert!(refused > 0);
}

/// Portals once had no bound, nor had prepared statements.
#[test]
fn portals_and_prepared_statements_are_within_the_limit() {
    let mut bed = Bed::with_memory(MEMORY);
    let before = bed.statement_bytes();
    bed.within(async |session| {
        let prepared = Rc::new(session.prepare("select $1::text", &[]).await.unwrap());
        let value = vec![b'x'; 1000];
        let parameters = || [(false, Some(value.as_slice()))].into_iter();
        let mut portals = Vec::new();
        let error = loop {
            match session.bind(&prepared, parameters()) {
                Ok(portal) => portals.push(portal),
                Err(error) => break error,
            }
            assert!(portals.len() < 100_000);
        };
        assert_eq!(error.state().code(), "53200");
        assert!(portals.len() > 1000, "{}", portals.len());
        portals.clear();
        session.bind(&prepared, parameters()).unwrap();
        let mut number = 0;
        let error = loop {
            let text = format!("select {number} + $1::int");
            let prepared = session.prepare(&text, &[]).await;
            let name = format!("statement {number}");
            let kept = prepared.and_then(|new| session.keep_prepared(&name, Rc::new(new)));
            if let Err(error) = kept {
                break error;
            }
            number += 1;
            assert!(number < 100_000);
        };
        assert_eq!(error.state().code(), "53200");
        assert!(session.prepared("statement 0").is_some());
        for other in 0..number {
            assert!(session.forget_prepared(&format!("statement {other}")));
        }
        let again = session.prepare("select 1", &[]).await.unwrap();
        session.keep_prepared("again", Rc::new(again)).unwrap();
    });
    assert_eq!(bed.statement_bytes(), before);
}

/// A session's savepoints, and settings that it reset, were charged to nothing: short statements filled the server.
#[test]
fn state_that_outlives_statements_is_charged() {
    let mut bed = Bed::with_memory(MEMORY);
    let mut until_refused = |statement: &dyn Fn(usize) -> String| {
        let texts = (0..2000).map(|text| {
            let statements = (0..200).map(|at| statement(200 * text + at));
            statements.collect::<String>()
        });
        let mut refused = texts.filter_map(|text| bed.run(&text).err());
        let error = refused.next().expect("there is no memory for all of them");
        assert_eq!(error.state().code(), "53200");
        bed.run("rollback").unwrap();
        bed.run("discard all").unwrap();
    };
    // Twice: the first round's memory was given back.
    for _ in 0..2 {
        until_refused(&|at| format!("{} savepoint a;", if at == 0 { "begin;" } else { "" }));
        until_refused(&|at| format!("reset a.n{at};"));
        until_refused(&|at| {
            format!(
                "{} set local a.n{at} to default;",
                if at == 0 { "begin;" } else { "" }
            )
        });
    }
}
