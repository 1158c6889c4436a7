//! Statements that several workers carry out. All workers are on the test's thread and have turns in an order that the
//! test draws; a turn of a task that computes takes about as long as a slice.

use io::{Faults, SimulatedDisk};

use crate::bed::{Bed, Client};

/// Rows of the table: more than the fewest for which other workers are asked.
const ROWS: u32 = 70_000;

/// Turns of a worker in which a task that is to end has some of its own: interactive tasks go first.
const TURNS_MAX: usize = 100_000;

const TABLE: &str = "create table t (a int primary key, b int, n numeric(12, 2), f double precision, x text, d date,
        wide numeric);
    insert into t select i, case when i % 11 > 0 then i % 7 end, i * 0.25, i / 8.0, 'text ' || i % 100,
        date '2000-01-01' + i % 1000, case when i % 2 = 0 then i * 1e30 else i * 0.001 end
        from generate_series(1, 70000) i;
    create table none (a int primary key, b int);
    create table s (k int, w int, y text);
    insert into s select case when i % 10 > 0 then i % 40 end, i, 'text ' || i % 50 from generate_series(1, 120) i;
    create table u (k int primary key, z numeric(12, 2));
    insert into u select i, i * 0.5 from generate_series(1, 5000) i;
    analyze t; analyze s; analyze u";

fn crew(workers: usize) -> Bed {
    let mut bed = Bed::crew(workers);
    bed.run(TABLE).unwrap();
    bed
}

/// Returns an order of turns for `workers` workers, by a seed.
fn order(seed: u64, workers: usize) -> impl FnMut() -> usize {
    let mut dice = fastrand::Rng::with_seed(seed);
    move || dice.usize(..workers)
}

/// Returns the sorted rows of a statement's answer, or the error's SQLSTATE, with turns in an order by `seed`.
fn ask(bed: &mut Bed, client: &Client, text: &str, seed: u64, workers: usize) -> Vec<String> {
    bed.send_to(client, text);
    match bed.reply_after(client, order(seed, workers)) {
        Ok(answer) => {
            let mut rows: Vec<_> = answer.rows.iter().map(|row| row.join("|")).collect();
            rows.sort_unstable();
            rows
        }
        Err(error) => vec![error.state().code().to_owned()],
    }
}

/// Returns the number of workers that EXPLAIN says to have helped with a statement.
fn helpers(bed: &mut Bed, client: &Client, text: &str, seed: u64, workers: usize) -> usize {
    let text = format!("explain (analyze, costs off, timing off) {text}");
    let told = ask(bed, client, &text, seed, workers);
    let mut numbers = told
        .iter()
        .filter_map(|line| line.split_once("Workers Launched: "));
    numbers
        .next()
        .map_or(0, |(_, number)| number.parse().unwrap())
}

/// Returns whether other workers help with a statement. It is asked for in several orders of turns, for it may be done
/// before one of them begins.
fn is_helped(bed: &mut Bed, client: &Client, text: &str, workers: usize) -> bool {
    (0..8).any(|seed| helpers(bed, client, text, seed, workers) > 0)
}

/// Gives a worker turns until all of its tasks have ended but `tasks`.
fn let_end(bed: &mut Bed, worker: usize, tasks: u64) {
    for _ in 0..TURNS_MAX {
        if bed.open_tasks(worker) <= tasks {
            return;
        }
        bed.turn(worker);
    }
    panic!("{} tasks", bed.open_tasks(worker));
}

/// Gives the first worker turns until another one has an offer beside `tasks` of its own.
fn await_offer(bed: &mut Bed, worker: usize, tasks: u64) {
    while bed.open_tasks(worker) == tasks {
        bed.turn(0);
    }
}

const ALONE: &str = "set max_parallel_workers_per_gather = 0";

/// Statements whose aggregates are divided.
const DIVIDED: &[&str] = &[
    "select count(*) from t",
    "select b, count(*), count(b), sum(a), avg(a), min(x), max(x) from t group by b",
    "select b, sum(n), avg(n), min(n), max(n), sum(wide), avg(wide), variance(n), stddev_pop(a) from t group by b",
    "select x, sum(a) filter (where b > 3), count(*) filter (where b is null) from t group by x having sum(a) > 900",
    "select d, bool_and(a > 100), bool_or(b = 3), every(b < 6), bit_and(a), bit_or(b), bit_xor(a) from t group by d",
    "select sum(n * (1 - b)) from t where d >= date '2001-01-01' and d < date '2001-01-01' + interval '1 year'",
    "select b, x, count(*) from t group by grouping sets ((b), (x), (b, x), ())",
    "select sum(f), avg(f), min(f), max(f) from t",
    "select count(*), sum(a), min(x), bool_and(b > 0) from t where n < 0",
    "select sum(a * 1000000000000::bigint) from t",
    "select max(d - date '1999-12-31'), min(to_char(d, 'YYYY-MM')), sum(a % 50 * interval '1 hour') from t",
    "select s.c, count(*) from (select upper(x) as c, b from t where b <> 2) s where s.b <> 3 group by s.c",
    "select count(*) from t where x like '%7' and n > 10 and a <> all (array[7, 17, 27, 37, 47, 57, 67, 77, 87, 97])",
    "select a, count(*), sum(n) from t group by a",
];

/// Statements whose aggregates are divided above joins of all kinds, with NULL keys, several keys, other conditions,
/// and joins upon joins.
const JOINED: &[&str] = &[
    "select count(*), sum(t.n), sum(s.w) from t join s on s.k = t.b",
    "select t.b, count(*), sum(s.w), min(s.y), max(s.y) from t join s on s.y = t.x and s.w > t.b group by t.b",
    "select s.w, count(*) from t join s on s.k = t.b and s.y = t.x group by s.w",
    "select count(*), count(s.w), sum(s.w) from t left join s on s.k = t.b",
    "select t.x, count(*), count(s.w) from t left join s on s.k = t.b and s.w % 7 = t.a % 7 group by t.x",
    "select count(*), sum(a) from t where exists (select from s where s.k = t.b and s.w > t.a % 200)",
    "select count(*), sum(a) from t where not exists (select from s where s.k = t.b and s.y = t.x)",
    "select t.b, count(*) from t where x in (select y from s where w < 100) group by t.b",
    "select count(*), sum(u.z) from t join u on u.k = t.a % 5000 + 1",
    "select count(*), count(u.z), sum(u.z) from t left join u on u.k = t.a + 1000 and u.z > t.n",
    "select t.x, count(*), sum(u.z), sum(s.w) from t join u on u.k = t.a % 6000 join s on s.k = t.b group by t.x",
    "select v.y, count(*), sum(t.n) from t
        join (select s.k, s.y from s join u on u.k = s.w where u.z > 20) v on v.k = t.b group by v.y",
    "select count(*), sum(s.w) from t join s on s.k = t.b join s r on r.k = t.a % 40 and r.w < s.w",
    "select m.b, count(*), sum(m.c) from t
        join (select b, count(*) as c from t group by b) m on m.b = t.b group by m.b",
    "select count(*), sum(s.w) from t, s where s.w < 4 and t.n > s.w",
    "select t.a, count(*), sum(s.w) from t join s on s.k = t.b group by t.a",
];

/// Statements whose joins read no other side, for their tables are empty: helpers may come too late to begin.
const JOINED_IN_VAIN: &[&str] = &[
    "select count(*), sum(s.w) from t join s on s.k = t.b where s.w > 1000",
    "select t.x, count(*), sum(s.w) from t join s on s.k = t.b and s.y = 'none' group by t.x",
];

/// Statements whose joins keep them on one worker: rows of the other side that no row matches are known in the end.
const JOINED_ALONE: &[&str] = &[
    "select count(*), count(t.a), count(s.w) from t full join s on s.k = t.b",
    "select count(*), sum(s.w) from t join s on s.k = t.b where t.n + s.w + random() > 0",
];

/// Statements that one worker carries out, for their programs, their aggregates or their tables.
const UNDIVIDED: &[&str] = &[
    "select count(distinct b) from t",
    "select length(string_agg(x, ',' order by a)) from t",
    "select array_length(array_agg(b), 1) from t",
    "select count(*) from t where random() < 2",
    "select count(*) from t where current_setting('server_version') = '15.0'",
    "select count(*) from none",
    "select b, count(*) from none group by b",
    "select count(*) from t where a > 60000",
];

#[test]
fn all_workers_give_the_answers_of_one() {
    for workers in [2, 4] {
        let mut bed = crew(workers);
        let (many, alone) = (bed.client_on(0), bed.client_on(0));
        assert!(ask(&mut bed, &alone, ALONE, 0, 1).is_empty());
        for (seed, text) in (0..).zip(DIVIDED.iter().chain(UNDIVIDED)) {
            let expected = ask(&mut bed, &alone, text, seed, workers);
            let found = ask(&mut bed, &many, text, seed, workers);
            assert_eq!(found, expected, "{text}, {workers} workers");
        }
        for (seed, text) in (0..).zip(DIVIDED).filter(|_| workers == 4) {
            let helped = helpers(&mut bed, &many, text, seed, workers);
            assert!(helped < workers, "{text}: {helped} of {workers}");
            assert!(
                helped > 0 || is_helped(&mut bed, &many, text, workers),
                "{text}"
            );
            assert_eq!(helpers(&mut bed, &alone, text, seed, workers), 0, "{text}");
        }
        for (seed, text) in (0..).zip(UNDIVIDED).filter(|_| workers == 4) {
            assert_eq!(helpers(&mut bed, &many, text, seed, workers), 0, "{text}");
        }
    }
}

/// The tables of joins are the same for all workers, which look into them at the same time.
#[test]
fn all_workers_join_as_one() {
    let mut bed = crew(3);
    let (many, alone) = (bed.client_on(0), bed.client_on(0));
    assert!(ask(&mut bed, &alone, ALONE, 0, 1).is_empty());
    let texts = [JOINED, JOINED_IN_VAIN, JOINED_ALONE].concat();
    for (seed, text) in (0..).zip(texts) {
        let expected = ask(&mut bed, &alone, text, seed, 3);
        let found = ask(&mut bed, &many, text, seed, 3);
        assert_eq!(found, expected, "{text}");
    }
    for text in JOINED {
        assert!(is_helped(&mut bed, &many, text, 3), "{text}");
    }
    for (seed, text) in (0..).zip(JOINED_ALONE) {
        assert_eq!(helpers(&mut bed, &many, text, seed, 3), 0, "{text}");
    }
}

/// A key, a condition or a value fails for one of the last rows, or in the build side; all parts end.
#[test]
fn errors_above_joins_are_those_of_the_statement() {
    let mut bed = crew(3);
    let client = bed.client_on(0);
    let texts = [
        "select sum(1 / (t.a - 69990)) from t join s on s.k = t.b",
        "select count(*) from t join s on s.k = 1 / (t.a - 69991)",
        "select count(*) from t join s on s.k = t.b and 1 / (t.a - 69992 + s.w - s.w) < 5",
        "select count(*) from t join (select 1 / (w - 100) as k from s) v on v.k = t.b",
        "select sum(u.z) from t join u on u.k = t.a and 1 / (u.k - 4999) < 5",
    ];
    for (seed, text) in (0..).zip(texts) {
        assert_eq!(ask(&mut bed, &client, text, seed, 3), ["22012"], "{text}");
        let all = ask(&mut bed, &client, JOINED[0], seed, 3);
        assert_eq!(all.len(), 1);
    }
    for worker in [1, 2] {
        let_end(&mut bed, worker, 0);
    }
    assert!(bed.is_horizon_now());
}

/// Tables that several workers read are gone with the statement, whenever its client leaves.
#[test]
fn joins_that_are_dropped_end_on_all_workers() {
    let mut bed = crew(3);
    let text =
        "select r.n, count(*) from t join t r on r.a = t.a + 1 and r.x < 'text 3' group by r.n";
    bed.run(text).unwrap();
    for worker in [1, 2] {
        let_end(&mut bed, worker, 0);
    }
    let before = bed.statement_bytes();
    for seed in 0..6 {
        let client = bed.client_on(0);
        bed.send_to(&client, text);
        let mut turns = order(seed, 3);
        for _ in 0..200 * seed {
            let worker = turns();
            bed.turn(worker);
        }
        drop(client);
        for worker in [0, 1, 2] {
            let_end(&mut bed, worker, u64::from(worker == 0));
        }
        assert!(bed.is_horizon_now(), "seed {seed}");
        assert_eq!(bed.statement_bytes(), before, "seed {seed}");
    }
}

/// A table of a join counts once, however many workers look into it.
#[test]
fn tables_of_joins_count_once() {
    let mut bed = crew(4);
    let (many, alone) = (bed.client_on(0), bed.client_on(0));
    ask(&mut bed, &alone, ALONE, 0, 1);
    let text = "select count(*), sum(r.n) from t join t r on r.a = t.a";
    let explain = format!("explain (analyze, costs off, timing off) {text}");
    let told = ask(&mut bed, &alone, &explain, 1, 4);
    let mut peaks = told
        .iter()
        .filter_map(|line| line.strip_prefix("Peak Memory: "));
    let peak = peaks.next().unwrap().strip_suffix("kB").unwrap();
    let peak: usize = peak.parse().unwrap();
    let expected = ask(&mut bed, &alone, text, 2, 4);
    let bound = |kilobytes| format!("set weft.statement_memory = '{kilobytes}kB'");
    ask(&mut bed, &many, &bound(peak + peak / 2), 0, 1);
    assert_eq!(ask(&mut bed, &many, text, 2, 4), expected);
    assert!(is_helped(&mut bed, &many, text, 4));
    ask(&mut bed, &many, &bound(peak / 2), 0, 1);
    assert_eq!(ask(&mut bed, &many, text, 4, 4), ["53200"]);
}

/// A subquery that is divided for each row of another query makes one offer at a time for each worker.
#[test]
fn one_offer_waits_for_a_busy_worker() {
    let mut bed = crew(3);
    let client = bed.client_on(0);
    let lateral = "select i, c.c from generate_series(1, 20) i,
        lateral (select count(*) as c from t where b > i and a <> i) c";
    assert_eq!(ask(&mut bed, &client, lateral, 0, 1).len(), 20);
    for worker in [1, 2] {
        assert_eq!(bed.open_tasks(worker), 1);
        let_end(&mut bed, worker, 0);
    }
}

#[test]
fn a_setting_bounds_the_helpers_of_a_statement() {
    let mut bed = crew(4);
    let client = bed.client_on(0);
    let text = "select sum(a) from t";
    let show = "show max_parallel_workers_per_gather";
    assert_eq!(ask(&mut bed, &client, show, 0, 1), ["1024"]);
    for most in [1, 2] {
        let set = format!("set max_parallel_workers_per_gather = {most}");
        ask(&mut bed, &client, &set, 0, 1);
        // Turns in a circle: each worker hears of the offer before the chunks are taken.
        let explain = format!("explain (analyze, costs off, timing off) {text}");
        bed.send_to(&client, &explain);
        let mut next = 0;
        let told = bed.reply_after(&client, || {
            next += 1;
            next % 4
        });
        let told = told.unwrap();
        let line = format!("  Workers Launched: {most}");
        assert!(
            told.rows.iter().any(|row| row[0] == line),
            "{:?}",
            told.rows
        );
    }
}

/// The statement's worker waits for no worker that has other work to do, or none at all.
#[test]
fn a_statement_does_not_wait_for_workers_that_do_not_begin() {
    let mut bed = crew(3);
    let client = bed.client_on(0);
    let answer = ask(&mut bed, &client, "select count(*) from t", 0, 1);
    assert_eq!(answer, [ROWS.to_string()]);
    // They find nothing left to do.
    for worker in [1, 2] {
        assert_eq!(bed.open_tasks(worker), 1);
        let_end(&mut bed, worker, 0);
    }
    assert!(bed.is_horizon_now());
}

/// One of many rows fails, on whichever worker reads it; the others end.
#[test]
fn an_error_of_any_part_is_that_of_the_statement() {
    let mut bed = crew(3);
    let client = bed.client_on(0);
    for seed in 0..12 {
        let row = seed * 5_500 + 1;
        let text = format!("select sum(1 / (a - {row})) from t");
        assert_eq!(
            ask(&mut bed, &client, &text, seed, 3),
            ["22012"],
            "row {row}"
        );
        let all = ask(&mut bed, &client, "select count(*) from t", seed, 3);
        assert_eq!(all, [ROWS.to_string()]);
    }
    for worker in [1, 2] {
        let_end(&mut bed, worker, 0);
    }
    assert!(bed.is_horizon_now());
}

/// Everything that a statement sees is of one moment, whatever is written while its parts are carried out.
#[test]
fn parts_see_one_snapshot_beside_writers() {
    let mut bed = crew(3);
    let (reader, writer) = (bed.client_on(0), bed.client_on(1));
    let text = "select count(*), sum(a), sum(n) from t";
    for seed in 0..8 {
        let expected = ask(&mut bed, &reader, text, seed, 3);
        bed.send_to(&reader, text);
        let mut turns = order(seed, 3);
        for _ in 0..50 * seed {
            let worker = turns();
            bed.turn(worker);
        }
        let write = format!(
            "delete from t where a % 100 = {seed}; update t set n = n + 1 where a % 50 = {seed};
             insert into t select 1000000 + {seed} * 1000 + i, 1, 1 from generate_series(1, 500) i"
        );
        bed.send_to(&writer, &write);
        let mut turns = order(seed + 100, 3);
        let found = bed.reply_after(&reader, &mut turns).unwrap();
        bed.reply_after(&writer, turns).unwrap();
        let began_after = ask(&mut bed, &reader, text, seed, 3);
        let found = found.rows[0].join("|");
        // The write may have come first as a whole.
        assert!(
            found == expected[0] || found == began_after[0],
            "seed {seed}: {found}, not {expected:?} or {began_after:?}"
        );
    }
}

#[test]
fn a_transaction_that_has_written_sees_its_own_writes() {
    let mut bed = crew(2);
    let client = bed.client_on(0);
    ask(
        &mut bed,
        &client,
        "begin; delete from t where a <= 1000",
        0,
        2,
    );
    let text = "select count(*) from t";
    assert_eq!(ask(&mut bed, &client, text, 1, 2), ["69000"]);
    assert_eq!(helpers(&mut bed, &client, text, 1, 2), 0);
    ask(&mut bed, &client, "rollback", 0, 2);
    assert_eq!(ask(&mut bed, &client, text, 1, 2), ["70000"]);
    assert_eq!(helpers(&mut bed, &client, text, 1, 2), 1);
    // A serializable transaction is certified by what it reads itself.
    ask(
        &mut bed,
        &client,
        "begin isolation level serializable",
        0,
        2,
    );
    assert_eq!(helpers(&mut bed, &client, text, 1, 2), 0);
    ask(&mut bed, &client, "commit", 0, 2);
    ask(
        &mut bed,
        &client,
        "begin isolation level repeatable read",
        0,
        2,
    );
    assert_eq!(helpers(&mut bed, &client, text, 1, 2), 1);
    assert_eq!(ask(&mut bed, &client, text, 1, 2), ["70000"]);
}

/// Parameters, and values of the rows around a subquery, are those of the statement on all workers.
#[test]
fn parts_know_the_parameters() {
    let mut bed = crew(3);
    let client = bed.client_on(0);
    let prepare = "prepare p (int, text) as select count(*) from t where b = $1 and x <> $2";
    ask(&mut bed, &client, prepare, 0, 1);
    let expected = ask(
        &mut bed,
        &client,
        "select count(*) from t where b = 3 and x <> 'text 9'",
        0,
        1,
    );
    let execute = "execute p (3, 'text 9')";
    assert_eq!(ask(&mut bed, &client, execute, 1, 3), expected);
    assert!(is_helped(&mut bed, &client, execute, 3));
    let lateral = "select i, s.c from generate_series(0, 2) i,
        lateral (select count(*) + 0 * random() as c from t where b > i and a <> i) s";
    let alone = bed.client_on(0);
    ask(&mut bed, &alone, ALONE, 0, 1);
    let expected = ask(&mut bed, &alone, lateral, 0, 1);
    assert_eq!(expected.len(), 3);
    assert_eq!(ask(&mut bed, &client, lateral, 2, 3), expected);
}

/// A statement whose client is gone ends on all workers, and nothing is left of it.
#[test]
fn a_statement_that_is_dropped_ends_on_all_workers() {
    let mut bed = crew(3);
    bed.run("select count(*) from t").unwrap();
    for worker in [1, 2] {
        let_end(&mut bed, worker, 0);
    }
    let before = bed.statement_bytes();
    for seed in 0..6 {
        let client = bed.client_on(0);
        bed.send_to(&client, "select a, count(*), sum(n) from t group by a");
        let mut turns = order(seed, 3);
        for _ in 0..100 * seed {
            let worker = turns();
            bed.turn(worker);
        }
        drop(client);
        // The statement's task ends first; that of the bed's own session stays.
        for worker in [0, 1, 2] {
            let_end(&mut bed, worker, u64::from(worker == 0));
        }
        assert!(bed.is_horizon_now(), "seed {seed}");
        assert_eq!(bed.statement_bytes(), before, "seed {seed}");
    }
}

/// A helper that is dropped, as after a panic, has taken chunks that nobody has read.
#[test]
fn a_statement_fails_if_a_worker_gives_up_its_part() {
    let mut bed = crew(3);
    let client = bed.client_on(0);
    bed.send_to(&client, "select b, count(*), sum(n) from t group by b");
    await_offer(&mut bed, 2, 0);
    bed.turn(2);
    bed.turn(2);
    assert_eq!(bed.open_tasks(2), 1);
    bed.end_worker(2);
    let reply = bed.reply_after(&client, order(1, 2));
    let error = reply.unwrap_err();
    assert_eq!(error.state().code(), "XX000", "{error:?}");
}

/// All parts together stay within the statement's memory.
#[test]
fn parts_share_the_memory_of_the_statement() {
    let mut bed = crew(2);
    let client = bed.client_on(0);
    let text = "select x || a, count(*), sum(n) from t group by 1";
    ask(&mut bed, &client, "set weft.statement_memory = '4MB'", 0, 1);
    for seed in 0..4 {
        assert_eq!(ask(&mut bed, &client, text, seed, 2), ["53200"]);
    }
    ask(&mut bed, &client, "reset weft.statement_memory", 0, 1);
    assert_eq!(ask(&mut bed, &client, text, 5, 2).len(), ROWS as usize);
}

/// A division that had no room for its groups read the build sides of its joins again: a WITH query, which keeps no
/// rows if it is read once, had none the second time.
#[test]
fn a_statement_that_goes_on_alone_keeps_the_tables_of_its_joins() {
    let disk = SimulatedDisk::new(2, Faults::default());
    let mut bed = Bed::on(&disk, 256 << 20);
    bed.add_workers(1);
    bed.run(TABLE).unwrap();
    let (many, alone) = (bed.client_on(0), bed.client_on(0));
    ask(&mut bed, &alone, ALONE, 0, 1);
    ask(&mut bed, &many, "set weft.statement_memory = '4MB'", 0, 1);
    for text in [
        "with m as materialized (select k, w from s)
         select t.a, count(*), sum(m.w) from t join m on m.k = t.b group by t.a",
        "with recursive r(k) as (select 1 union all select k + 1 from r where k < 40)
         select t.a, count(*), sum(r.k) from t left join r on r.k = t.b group by t.a",
    ] {
        let expected = ask(&mut bed, &alone, text, 1, 2);
        assert!(expected.len() > 50_000, "{text}");
        assert!(ask(&mut bed, &many, text, 1, 2) == expected, "{text}");
        let told = format!("explain (analyze, costs off, timing off) {text}");
        let told = ask(&mut bed, &many, &told, 1, 2).join("\n");
        assert!(told.contains("Workers Launched: 1"), "{told}");
        assert!(told.contains("Batches: "), "{told}");
    }
}

/// Short statements on a worker that helps come through within as many turns as without it.
#[test]
fn a_helper_gives_turns_to_its_neighbours() {
    let mut bed = crew(2);
    let (client, neighbour) = (bed.client_on(0), bed.client_on(1));
    let short = "select n from t where a = 77";
    let turns_of_short = |bed: &mut Bed| {
        bed.send_to(&neighbour, short);
        let mut turns = 0;
        let turn = || {
            turns += 1;
            1
        };
        bed.reply_after(&neighbour, turn).unwrap();
        turns
    };
    turns_of_short(&mut bed);
    let alone = turns_of_short(&mut bed);
    bed.send_to(
        &client,
        "select b, count(*), sum(n), min(x) from t group by b",
    );
    await_offer(&mut bed, 1, 1);
    bed.turn(1);
    let (mut answered, mut late) = (0, 0);
    while bed.open_tasks(1) > 1 {
        let turns = turns_of_short(&mut bed);
        late += u32::from(turns > 2 * alone + 2);
        answered += 1;
    }
    assert!(answered > 8, "the helper has yielded {answered} times");
    // A statement that the machine has held up is no longer interactive.
    assert!(
        4 * late <= answered,
        "{late} of {answered} are late, {alone} turns alone"
    );
    bed.reply_after(&client, || 0).unwrap();
}
