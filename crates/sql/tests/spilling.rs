//! Statements that keep more rows than they may have in memory put them by on the device: their answers are those of
//! the same statements with memory enough, and nothing is left on the device however they end.

mod joins;
mod kept;
mod neighbours;
mod sets;
mod windows;

use io::{Faults, SimulatedDisk};

use crate::bed::{Answer, Bed, Client};

const MEMORY: usize = 256 << 20;

/// Returns statements that make a table of `rows` rows with few and many different values of several types, with NULLs.
fn mixed(rows: usize) -> String {
    format!(
        "create table mixed (id int primary key, few int, number numeric, name text, at timestamp, list int[], wide float8);
    insert into mixed select
        i,
        nullif((i::bigint * 7919 % 101)::int, 0),
        nullif(i::bigint * 104729 % 50021, 17)::numeric / 1000,
        case when i % 13 = 0 then null else 'näme ' || md5((i % 40009)::text) end,
        case when i % 17 <> 0 then timestamp '2000-01-01' + (i::bigint * 15485863 % 1000003) * interval '1 second' end,
        case when i % 3 = 0 then array[i % 7, null, i % 1000] end,
        case when i % 5 = 0 then 'NaN' else (i % 977) / 7.0 end
    from generate_series(1, {rows}) i"
    )
}

/// A database on a disk, and the disk.
struct Device {
    disk: SimulatedDisk,
    bed: Bed,
}

impl Device {
    fn new(setup: &str) -> Device {
        Device::within(MEMORY, setup)
    }

    /// Makes a database with a [mixed] table.
    fn mixed(rows: usize) -> Device {
        Device::new(&mixed(rows))
    }

    /// Makes a database with a limit of `memory` bytes.
    fn within(memory: usize, setup: &str) -> Device {
        let disk = SimulatedDisk::new(5, Faults::default());
        let mut bed = Bed::on(&disk, memory);
        bed.run(setup).unwrap();
        Device { disk, bed }
    }

    /// Returns the rows of a query.
    fn rows(&mut self, query: &str) -> Vec<Vec<String>> {
        let answer = self.bed.run(query);
        answer
            .unwrap_or_else(|error| panic!("{query}: {error:?}"))
            .rows
    }

    /// Returns the lines of a query's measured plan.
    fn measured(&mut self, query: &str) -> Vec<String> {
        let lines = self.rows(&format!("explain (analyze, costs off) {query}"));
        lines.into_iter().flatten().collect()
    }

    /// Returns the names of temporary files.
    fn files(&self) -> Vec<String> {
        let names = self.disk.directory().list().unwrap().into_iter();
        names
            .filter(|name| name.starts_with("temporary-rows-"))
            .collect()
    }

    /// Sends `query` from another client, which leaves so many turns after it has a temporary file; nothing of it is
    /// left then, and statements hold `before` bytes.
    fn give_up(&mut self, query: &str, turns: usize, before: u64) {
        let client = self.bed.client();
        self.bed.run_in(&client, "set work_mem = '256kB'").unwrap();
        self.bed.send_to(&client, query);
        self.until_it_spills(&client);
        for _ in 0..turns {
            self.bed.turn(0);
        }
        drop(client);
        self.bed.turn(0);
        assert_eq!(self.files(), Vec::<String>::new(), "{turns}: {query}");
        assert_eq!(self.rows("select 1"), [["1"]]);
        assert_eq!(self.bed.statement_bytes(), before, "{turns}: {query}");
    }

    /// Returns the rows of a query in an order of their own.
    fn sorted(&mut self, query: &str) -> Vec<Vec<String>> {
        let mut rows = self.rows(query);
        rows.sort_unstable();
        rows
    }

    /// Checks that queries have the same rows under some settings as without, and leave nothing on the device: all of
    /// them under the first setting, and every third of them under each other one. Returns the lines of some queries'
    /// plans, as measured under the first.
    fn check_alike(&mut self, queries: &[&str], settings: &[&str]) -> Vec<Vec<String>> {
        let expected: Vec<_> = queries.iter().map(|query| self.sorted(query)).collect();
        let mut plans = Vec::new();
        for (number, setting) in settings.iter().enumerate() {
            self.bed.run(&format!("reset all; set {setting}")).unwrap();
            let (skipped, step) = if number == 0 { (0, 1) } else { (number - 1, 3) };
            let all = queries.iter().zip(&expected);
            for (query, expected) in all.skip(skipped).step_by(step) {
                let found = self.sorted(query);
                assert!(found == *expected, "{setting}: {query} has another answer");
                assert_eq!(self.files(), Vec::<String>::new(), "{setting}: {query}");
            }
            if number == 0 {
                let measured = queries.iter().step_by(3);
                plans = measured.map(|query| self.measured(query)).collect();
            }
        }
        self.bed.run("reset all").unwrap();
        plans
    }

    /// Checks that a query with a `work_mem` of 256 kB leaves nothing, neither on the device nor in memory, if its
    /// client goes, or if the device fails.
    fn check_ends(&mut self, query: &str) {
        self.bed.run("set work_mem = '256kB'").unwrap();
        for _ in 0..2 {
            self.rows(query);
            self.rows("select 1");
        }
        let before = self.bed.statement_bytes();
        for turns in [0, 20, 400] {
            self.give_up(query, turns, before);
        }
        for faults in [
            Faults {
                read_error_per_mille: 200,
                ..Faults::default()
            },
            Faults {
                write_error_per_mille: 200,
                ..Faults::default()
            },
        ] {
            self.disk.set_faults(faults.clone());
            let error = self.bed.run(query);
            self.disk.set_faults(Faults::default());
            let error = error.map(|answer| answer.rows.len()).unwrap_err();
            assert_eq!(error.state().code(), "58030", "{faults:?}: {query}");
            assert!(error.to_string().contains("temporary file"), "{error}");
            assert_eq!(self.files(), Vec::<String>::new(), "{faults:?}: {query}");
        }
        self.bed.run("reset all").unwrap();
    }

    /// Gives `client` turns until it has a temporary file.
    fn until_it_spills(&mut self, client: &Client) {
        while self.files().is_empty() {
            assert!(!self.bed.has_reply(client), "it does not spill");
            self.bed.turn(0);
        }
    }
}

/// Returns the number behind `name` in one of the lines.
fn number(lines: &[String], name: &str) -> u64 {
    let behind = lines.iter().find_map(|line| line.split_once(name));
    let (_, behind) = behind.unwrap_or_else(|| panic!("no {name} in {lines:#?}"));
    let digits: String = { behind.chars() }
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap()
}

const SORTS: &[&str] = &[
    "select id from mixed order by few, id",
    "select id, few, number, name, at, list, wide from mixed order by number desc, id",
    "select name, id from mixed order by name nulls first, id desc",
    "select id, at from mixed order by at desc nulls last, few desc nulls first, id",
    "select list, wide, id from mixed order by list desc, wide, id",
    // Rows as values, with names and types of their fields.
    "select (few, name) as pair, id from mixed order by pair desc, id",
    // A collation has the order of bytes, as all have.
    "select upper(name) collate \"C\" as large, id from mixed order by large desc, id",
    // Limits that are too large for memory, and one that is not.
    "select name, id from mixed order by name, id limit 15000 offset 5000",
    "select name, id from mixed order by name, id limit 10",
];

#[test]
fn a_sort_on_the_device_gives_the_order_of_one_in_memory() {
    let mut device = Device::mixed(25_000);
    let expected: Vec<_> = SORTS.iter().map(|sort| device.rows(sort)).collect();
    assert_eq!(expected[0].len(), 25_000);
    for (setting, share, step) in [
        ("set weft.statement_memory = '3MB'", 3 << 10, 1),
        (
            "reset weft.statement_memory; set work_mem = '1MB'",
            64 << 10,
            3,
        ),
        // Merges of two runs at a time, in many passes.
        ("set work_mem = '64kB'", 64 << 10, 4),
    ] {
        device.bed.run(setting).unwrap();
        for (sort, expected) in SORTS.iter().zip(&expected).step_by(step) {
            let found = device.rows(sort);
            assert!(found == *expected, "{setting}: {sort} has another answer");
        }
        let lines = device.measured(SORTS[1]);
        let disk = number(&lines, "Sort Method: external merge  Disk: ");
        assert!((2 << 10..100 << 10).contains(&disk), "{lines:#?}");
        assert!(number(&lines, "Peak Memory: ") <= share, "{lines:#?}");
        let lines = device.measured(SORTS[8]);
        let is_merged = lines.iter().any(|line| line.contains("external merge"));
        assert!(!is_merged, "{lines:#?}");
        assert_eq!(device.files(), Vec::<String>::new());
    }
    let json = device.rows(&format!("explain (analyze, format json) {}", SORTS[1]));
    assert!(
        json[0][0].contains("\"Sort Space Type\": \"Disk\""),
        "{json:?}"
    );
}

/// Without `work_mem`, a sort stays in memory as long as its statement's share has room.
#[test]
fn a_sort_that_fits_stays_in_memory() {
    let mut device = Device::mixed(100_000);
    for setting in ["reset work_mem", "set work_mem = '64MB'", "reset all"] {
        device.bed.run(setting).unwrap();
        let lines = device.measured(SORTS[1]);
        let is_merged = lines.iter().any(|line| line.contains("external merge"));
        assert!(!is_merged, "{setting}: {lines:#?}");
    }
}

/// Rows that come in the order of their first key, of which one group is too large; rows larger than a buffer; several
/// sorts in a statement, among them one that is begun again.
#[test]
fn sorts_of_all_kinds_use_the_device() {
    let mut device = Device::new(
        "create table logged (day int, id int, note text, primary key (day, id));
         insert into logged select i / 15000, i, repeat(chr(97 + i % 26), i % 300) from generate_series(1, 40000) i;
         create table large (id int primary key, note text);
         analyze logged",
    );
    for begin in (1..60).step_by(10) {
        device.rows(&format!(
            "insert into large select i, repeat(chr(97 + i % 26), i * 5000) from generate_series({begin}, {begin} + 9) i"
        ));
    }
    let queries = [
        "select day, note, id from logged order by day, note, id",
        "select day, id from logged order by day, note desc, id limit 20000",
        "select l.id, length(l.note) from large l order by l.note, l.id",
        "select * from (select id, note from logged order by note, id offset 5) a
         union all select * from (select id, note from logged order by note desc, id offset 7) b
         order by id desc, note",
        "select o.i, s.id from generate_series(1, 3) o(i), lateral
         (select id from logged where id % o.i = 0 order by note, id limit 12000 offset 10000) s",
    ];
    let expected: Vec<_> = queries.map(|query| device.rows(query)).into();
    for setting in [
        "set weft.statement_memory = '8MB'",
        "reset all; set work_mem = '256kB'",
    ] {
        device.bed.run(setting).unwrap();
        for (query, expected) in queries.iter().zip(&expected) {
            let found = device.rows(query);
            assert!(found == *expected, "{setting}: {query} has another answer");
            assert_eq!(device.files(), Vec::<String>::new(), "{query}");
        }
    }
    let plan = device.measured(queries[0]);
    assert!(
        plan.iter().any(|line| line.contains("Incremental Sort")),
        "{plan:#?}"
    );
    number(&plan, "Sort Method: external merge  Disk: ");
}

/// A statement that ends before its rows are all there: by its client, by a time limit, by an error, by a LIMIT, by the
/// end of a transaction with an open cursor.
#[test]
fn nothing_is_left_on_the_device_however_a_statement_ends() {
    let mut device = Device::mixed(100_000);
    device.bed.run("set work_mem = '256kB'").unwrap();
    let sort = "select id, name from mixed order by name, id";
    // Plans are kept beyond the statements, and blocks of columns.
    for _ in 0..3 {
        device.rows(sort);
        device.rows("select 1");
    }
    let before = device.bed.statement_bytes();
    for turns in [0, 1, 5, 20, 60] {
        device.give_up(sort, turns, before);
    }
    let limited = device
        .bed
        .run(&format!("set statement_timeout = '30ms'; {sort}"));
    assert_eq!(limited.unwrap_err().state().code(), "57014");
    device.bed.run("reset statement_timeout").unwrap();
    assert_eq!(device.files(), Vec::<String>::new());
    let error = device
        .bed
        .run("select 1 / (id - 77777) from (select id from mixed order by name, id offset 0) s");
    assert_eq!(error.unwrap_err().state().code(), "22012");
    assert_eq!(device.files(), Vec::<String>::new());
    device
        .bed
        .run("begin; declare c cursor for select id from mixed order by name, id")
        .unwrap();
    assert_eq!(device.rows("fetch 2 from c").len(), 2);
    assert_eq!(device.files().len(), 1);
    device.bed.run("rollback").unwrap();
    assert_eq!(device.files(), Vec::<String>::new());
    assert_eq!(device.bed.statement_bytes(), before);
}

/// An error of the device ends the statement that uses it, and no other.
#[test]
fn errors_of_the_device_end_the_statement() {
    let mut device = Device::mixed(100_000);
    let other = device.bed.client();
    device.bed.run("set work_mem = '256kB'").unwrap();
    let length = |disk: &SimulatedDisk| {
        let directory = disk.directory();
        let lengths = directory.list().unwrap().into_iter().map(|name| {
            let file = directory.open(&name, io::OpenMode::Read, false).unwrap();
            file.length().unwrap()
        });
        lengths.sum::<u64>()
    };
    let full = length(&device.disk) + (1 << 20);
    // The log prepares its next file in the background, when the worker waits for the device.
    device.rows("select id from mixed order by name, id");
    assert!(device.bed.is_waiting(&other));
    for (faults, state) in [
        (
            Faults {
                write_error_per_mille: 100,
                ..Faults::default()
            },
            "58030",
        ),
        (
            Faults {
                read_error_per_mille: 100,
                ..Faults::default()
            },
            "58030",
        ),
        (
            Faults {
                name_error_per_mille: 1000,
                ..Faults::default()
            },
            "58030",
        ),
        (
            Faults {
                capacity_bytes: Some(full),
                ..Faults::default()
            },
            "53100",
        ),
    ] {
        device.disk.set_faults(faults.clone());
        let client = device.bed.client();
        device
            .bed
            .run_in(&client, "set work_mem = '256kB'")
            .unwrap();
        let error = device
            .bed
            .run_in(&client, "select id from mixed order by name, id");
        device.disk.set_faults(Faults::default());
        assert_eq!(error.unwrap_err().state().code(), state, "{faults:?}");
        assert_eq!(device.files(), Vec::<String>::new(), "{faults:?}");
        let answer = device.bed.run_in(
            &other,
            "update mixed set few = few where id = 7; select id from mixed where id = 7",
        );
        assert_eq!(answer.unwrap().rows, [["7"]], "{faults:?}");
        let again = device
            .bed
            .run_in(&client, "select id from mixed order by name, id");
        assert_eq!(again.unwrap().rows.len(), 100_000, "{faults:?}");
    }
}

/// Short statements are answered while others sort on a slow device.
#[test]
fn short_statements_go_on_beside_sorts() {
    let mut device = Device::mixed(100_000);
    device.disk.set_faults(Faults {
        delay_reaps_max: 20,
        ..Faults::default()
    });
    let hungry = [device.bed.client(), device.bed.client()];
    for client in &hungry {
        device.bed.run_in(client, "set work_mem = '256kB'").unwrap();
        device
            .bed
            .send_to(client, "select id, name from mixed order by name, id");
    }
    let mut answers = 0;
    while hungry.iter().any(|client| !device.bed.has_reply(client)) {
        let answer: Answer = device
            .bed
            .run("select id from mixed where id = 4711")
            .unwrap();
        assert_eq!(answer.rows, [["4711"]]);
        answers += 1;
    }
    assert!(answers > 100, "{answers} answers beside two sorts");
    let sorted: Vec<_> = { hungry.iter() }
        .map(|client| device.bed.reply_of(client).unwrap().rows)
        .collect();
    assert!(sorted[0].len() == 100_000 && sorted[0] == sorted[1]);
}

const GROUPS: &[&str] = &[
    // One integer; several keys, computed ones and NULLs among them; groups of many rows and of few.
    "select id % 30011 as k, count(*), sum(number), min(name), max(at), avg(wide) from mixed group by 1",
    "select few, name, count(*), count(distinct id % 3), sum(id) filter (where id % 2 = 0) from mixed group by 1, 2",
    "select upper(name) as large, number, list, count(at) from mixed group by 1, 2, 3",
    "select name, array_agg(id order by id desc), string_agg(few::text, ',' order by id) from mixed where id % 13 > 0 group by name",
    "select number, count(*) from mixed group by number having count(*) > 1",
    // A DISTINCT that is a list of groups.
    "select count(*), sum(n) from (select name, at, count(*) as n from mixed group by name, at) s",
    "select at, (few, name) as pair, count(*) from mixed group by at, pair",
];

#[test]
fn groups_on_the_device_are_those_in_memory() {
    let mut device = Device::mixed(40_000);
    let all: Vec<String> = { GROUPS.iter() }
        .map(|query| format!("select * from ({query}) g order by g::text"))
        .collect();
    let expected: Vec<_> = all.iter().map(|query| device.rows(query)).collect();
    assert_eq!(expected[0].len(), 30_011);
    for (setting, step) in [
        ("set weft.statement_memory = '4MB'", 1),
        ("reset weft.statement_memory; set work_mem = '1MB'", 3),
        ("set work_mem = '64kB'", 4),
    ] {
        device.bed.run(setting).unwrap();
        for (query, expected) in all.iter().zip(&expected).step_by(step) {
            let found = device.rows(query);
            assert!(found == *expected, "{setting}: {query} has another answer");
            assert_eq!(device.files(), Vec::<String>::new());
        }
        let lines = device.measured(GROUPS[0]);
        assert!(number(&lines, "Batches: ") > 3, "{lines:#?}");
        assert!(
            (512..100 << 10).contains(&number(&lines, "Disk Usage: ")),
            "{lines:#?}"
        );
    }
    device.bed.run("reset all").unwrap();
    let lines = device.measured(GROUPS[4]);
    assert!(
        !lines.iter().any(|line| line.contains("Batches")),
        "{lines:#?}"
    );
}

/// Keys that differ each time they are computed belong to one group each; an aggregate that is begun again; rows of an
/// open cursor; a statement that is given up while its partitions are grouped.
#[test]
fn groups_on_the_device_are_whole_however_they_are_asked_for() {
    let mut device = Device::mixed(100_000);
    device.bed.run("set work_mem = '128kB'").unwrap();
    let volatile = "select count(*), count(distinct k), sum(n) from
                    (select (random() * 50000)::int as k, count(*) as n from mixed group by 1 offset 0) s";
    let counted = device.rows(volatile);
    assert!(
        counted[0][0] == counted[0][1] && counted[0][2] == "100000",
        "{counted:?}"
    );
    let again = "select o.i, s.groups from generate_series(1, 3) o(i), lateral
                 (select count(*) as groups from (select id / o.i as k, count(*) from mixed group by 1 offset 0) t) s";
    assert_eq!(
        device.rows(again),
        [["1", "100000"], ["2", "50001"], ["3", "33334"]]
    );
    device
        .bed
        .run("begin; declare c cursor for select id, count(*) from mixed group by id")
        .unwrap();
    assert_eq!(device.rows("fetch 30000 from c").len(), 30_000);
    assert_eq!(device.files().len(), 1);
    assert_eq!(device.rows("fetch all from c").len(), 70_000);
    device.bed.run("commit").unwrap();
    assert_eq!(device.files(), Vec::<String>::new());
    let before = device.bed.statement_bytes();
    for turns in [0, 10, 100, 400] {
        let client = device.bed.client();
        device
            .bed
            .run_in(&client, "set work_mem = '128kB'")
            .unwrap();
        device.bed.send_to(
            &client,
            "select id, count(*), min(name) from mixed group by id",
        );
        device.until_it_spills(&client);
        for _ in 0..turns {
            device.bed.turn(0);
        }
        drop(client);
        device.bed.turn(0);
        assert_eq!(device.files(), Vec::<String>::new(), "{turns}");
        assert_eq!(device.rows("select 1"), [["1"]]);
        assert_eq!(device.bed.statement_bytes(), before, "{turns}");
    }
}

/// States of groups cannot be put by: a group that is larger than memory fails, and so do grouping sets.
#[test]
fn groups_that_cannot_be_put_by_fail_as_before() {
    let mut device = Device::mixed(100_000);
    device.bed.run("set weft.statement_memory = '3MB'").unwrap();
    for query in [
        "select few % 3 as k, array_agg(name) from mixed group by 1",
        "select id, name, count(*) from mixed group by cube (id, name)",
    ] {
        let error = device.bed.run(query).unwrap_err();
        assert_eq!(error.state().code(), "53200", "{query}");
        assert_eq!(device.files(), Vec::<String>::new(), "{query}");
        assert_eq!(device.rows("select 1"), [["1"]]);
    }
}

/// Groups of several workers cannot be put by: a divided aggregate whose groups have no room begins again, alone.
#[test]
fn a_divided_aggregate_begins_again_alone() {
    let mut device = Device::mixed(100_000);
    let query = "select count(*), sum(n), min(low), max(low) from
                 (select id % 90001 as k, count(*) as n, min(name) as low from mixed group by 1 offset 0) s";
    let expected = device.rows(query);
    device.bed.add_workers(2);
    let client = device.bed.client();
    for (setting, seed) in [("8MB", 1), ("8MB", 2), ("12MB", 3)] {
        let set = format!("set weft.statement_memory = '{setting}'");
        device.bed.run_in(&client, &set).unwrap();
        for explain in ["", "explain (analyze, costs off, timing off) "] {
            let mut dice = fastrand::Rng::with_seed(seed);
            device.bed.send_to(&client, &format!("{explain}{query}"));
            let answer = device.bed.reply_after(&client, || dice.usize(..3));
            let rows = answer.unwrap().rows;
            match explain.is_empty() {
                true => assert_eq!(rows, expected, "{setting} {seed}"),
                false => {
                    number(&rows.concat(), "Batches: ");
                }
            }
        }
        assert_eq!(device.files(), Vec::<String>::new());
    }
}
