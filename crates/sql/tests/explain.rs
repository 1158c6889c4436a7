//! EXPLAIN: the plan as a tree, and the measurements of its execution.

use std::time::Instant;

use crate::bed::{Bed, Client};
use interleave::InFlight;
use serde_json::Value;

/// Kinds of time.
const KINDS: [&str; 8] = [
    "Computing",
    "Memory",
    "Device",
    "Locks",
    "Log",
    "Client",
    "Other Tasks",
    "Other Events",
];

fn told(bed: &mut Bed, text: &str) -> Vec<String> {
    let rows = bed.run(text).unwrap().rows;
    rows.into_iter().map(|mut row| row.remove(0)).collect()
}

/// Returns the plan of a statement as JSON.
fn json(bed: &mut Bed, text: &str) -> Value {
    parsed(told(bed, text).remove(0))
}

fn parsed(text: String) -> Value {
    let mut json: Value = serde_json::from_str(&text).unwrap();
    json[0].take()
}

/// Returns all operators of a plan.
fn operators(plan: &Value) -> Vec<&Value> {
    let below = plan["Plans"].as_array().into_iter().flatten();
    let below = below.flat_map(|plan| operators(plan));
    [plan].into_iter().chain(below).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn tables() -> Bed {
    let mut bed = Bed::new();
    bed.run(
        "create table customer (id int primary key, name text, region int);
         create table orders (id int primary key, customer int, total numeric(8, 2));
         create index orders_customer on orders (customer);
         insert into customer select n, 'c' || n, n % 3 from generate_series(1, 30) n;
         insert into orders select n, n % 30 + 1, n from generate_series(1, 300) n",
    )
    .unwrap();
    bed
}

#[test]
fn conditions_are_told_as_sql() {
    let mut bed = tables();
    let lines = told(
        &mut bed,
        "explain (costs off) select name from customer where id = 7 and region is not null",
    );
    assert_eq!(
        lines,
        [
            "Lookup on customer",
            "  Key Cond: (id = 7)",
            "  Filter: (region IS NOT NULL)",
        ]
    );
    let lines = told(
        &mut bed,
        "explain (costs off) select * from orders where customer = 3 and total > 5.5 or id in (1, 2)",
    );
    assert_eq!(lines[0], "Scan on orders");
    let filter = &lines[1];
    for part in ["(customer = 3)", "5.5", " AND ", " OR "] {
        assert!(filter.contains(part), "{filter} has no {part}");
    }
    let lines = told(
        &mut bed,
        "explain (costs off) select * from orders where customer >= 3 and customer < 5",
    );
    assert_eq!(
        lines,
        [
            "Index Scan using orders_customer on orders",
            "  Index Cond: (customer >= 3) AND (customer < 5)",
        ]
    );
}

#[test]
fn operators_stand_below_those_that_read_them() {
    let mut bed = tables();
    let lines = told(
        &mut bed,
        "explain (verbose, costs off) select region, count(*) from customer group by region order by 2 desc limit 2",
    );
    let titles: Vec<&str> = lines
        .iter()
        .filter(|line| line.contains("->"))
        .map(|line| line.trim_start().trim_start_matches("->  "))
        .collect();
    assert!(lines[0].starts_with("Limit"), "{lines:?}");
    assert_eq!(titles.last(), Some(&"Scan on customer"), "{lines:?}");
    let text = lines.join("\n");
    for part in [
        "Sort Key: count(*) DESC",
        "Group Key: region",
        "Rows: (2)::bigint",
    ] {
        assert!(text.contains(part), "{text} has no {part}");
    }
}

#[test]
fn an_execution_tells_its_rows() {
    let mut bed = tables();
    let lines = told(
        &mut bed,
        "explain (analyze, costs off, timing off, summary off)
         select * from customer where region = 1",
    );
    assert_eq!(
        lines,
        [
            "Scan on customer (actual rows=10 loops=1)",
            "  Filter: (region = 1)",
        ]
    );
    let lines = told(
        &mut bed,
        "explain (analyze, timing off) delete from orders where id <= 20",
    );
    let text = lines.join("\n");
    assert!(lines[0].starts_with("Delete on orders  (cost="), "{text}");
    assert!(lines[0].ends_with(") (actual rows=20 loops=1)"), "{text}");
    for part in ["Planning Time: ", "Execution Time: "] {
        assert!(text.contains(part), "{text} has no {part}");
    }
    // The statement was carried out.
    let left = bed.run("select count(*) from orders").unwrap().rows;
    assert_eq!(left[0], ["280"]);
    assert_eq!(
        bed.run("explain select nothing")
            .unwrap_err()
            .state()
            .code(),
        "42703"
    );
}

#[test]
fn programs_read_json() {
    let mut bed = tables();
    let text = "explain (analyze, format json)
                update customer set region = region + 1 where id = 1";
    let json = json(&mut bed, text);
    let plan = &json["Plan"];
    assert_eq!(plan["Node Type"], "Update on customer");
    assert_eq!(plan["Actual Rows"], 1);
    assert_eq!(plan["Plans"][0]["Node Type"], "Lookup on customer");
    assert_eq!(plan["Plans"][0]["Key Cond"], "(id = 1)");
    assert!(json["Execution Time"].as_f64().unwrap() > 0.0);
    // PostgreSQL's keys, and those of waits.
    for plan in [plan, &plan["Plans"][0]] {
        for key in [
            "Startup Cost",
            "Total Cost",
            "Plan Rows",
            "Plan Width",
            "Actual Startup Time",
            "Actual Total Time",
            "Actual Loops",
        ] {
            assert!(plan[key].is_number(), "{key}");
        }
        for kind in KINDS {
            assert!(plan["Self Time"][kind].is_number(), "{kind}");
        }
    }
}

#[test]
fn options_that_there_are_not_are_refused() {
    let mut bed = tables();
    let mut state = |text: &str| bed.run(text).unwrap_err().state().code().to_owned();
    assert_eq!(state("explain (buffers) select 1"), "0A000");
    assert_eq!(state("explain (format xml) select 1"), "0A000");
    assert_eq!(state("explain (format dot) select 1"), "22023");
    assert_eq!(state("explain (timing) select 1"), "22023");
    assert_eq!(state("explain (nonsense) select 1"), "42601");
    assert_eq!(state("explain (analyze maybe) select 1"), "42601");
}

#[test]
fn estimates_stand_beside_the_operators() {
    let mut bed = tables();
    bed.run("analyze").unwrap();
    let lines = told(&mut bed, "explain select * from customer where id = 7");
    // A whole key has one record: two integers and a short text.
    assert!(
        lines[0].starts_with("Lookup on customer  (cost=0.00.."),
        "{lines:?}"
    );
    assert!(lines[0].contains(" rows=1 width=1"), "{lines:?}");
    let text = "explain (format json)
        select region, count(*), sum(total) from orders join customer on customer = customer.id
        where total > 10 group by region union select 1, 2, 3 order by 1 limit 2";
    let json = json(&mut bed, text);
    let all = operators(&json["Plan"]);
    assert!(all.len() > 6, "{json}");
    for plan in &all {
        let (startup, total) = (number(&plan["Startup Cost"]), number(&plan["Total Cost"]));
        assert!(0.0 <= startup && startup <= total, "{plan}");
        assert!(number(&plan["Plan Rows"]) >= 1.0, "{plan}");
        // The cost of the inputs is part of the operator's, but for rows that a limit does not ask for.
        for input in plan["Plans"].as_array().into_iter().flatten() {
            let is_part = number(&input["Total Cost"]) <= total;
            assert!(is_part || plan["Node Type"] == "Limit", "{plan}");
        }
        assert!(plan["Actual Rows"].is_null() && plan["Self Time"].is_null());
    }
    let find = |title: &str| {
        let found = all.iter().find(|plan| plan["Node Type"] == title);
        found.unwrap_or_else(|| panic!("{title} is not in {json}"))
    };
    assert_eq!(find("Scan on orders")["Plan Rows"], 290);
    assert_eq!(find("Hash Aggregate")["Plan Rows"], 3);
    // A sort gives no row before all rows went in.
    let (sort, input) = (find("Sort"), &find("Sort")["Plans"][0]);
    assert!(number(&sort["Startup Cost"]) >= number(&input["Total Cost"]));
}

/// A limit was shown with the cost of all rows below it, and with more for handing them on.
#[test]
fn a_limit_costs_what_it_asks_for() {
    let mut bed = tables();
    bed.run("analyze").unwrap();
    let mut costs = |query: &str| {
        let json = json(&mut bed, &format!("explain (format json) {query}"));
        let limit = &json["Plan"];
        assert_eq!(limit["Node Type"], "Limit", "{json}");
        let total = |plan: &Value| number(&plan["Total Cost"]);
        (total(limit), total(&limit["Plans"][0]))
    };
    let (few, all) = costs("select * from orders limit 30");
    assert!((few - all / 10.0).abs() < 0.1, "{few} of {all}");
    let (few, all) = costs("select * from orders limit 1000");
    assert_eq!(few, all);
    // The rows of a sort are there once the first is.
    let (few, all) = costs("select total, id from orders order by total offset 3 limit 2");
    assert!(0.9 * all < few && few <= all, "{few} of {all}");
}

#[test]
fn an_operator_is_told_as_it_would_be_planned_without_explain() {
    // EXPLAIN wraps operators, and planning looks at some of them: an order that a key gives, and a
    // row that is changed as it is read.
    let mut bed = tables();
    let lines = told(
        &mut bed,
        "explain (costs off) select id from orders order by id limit 3",
    );
    let text = lines.join("\n");
    assert!(!text.contains("Sort"), "{text}");
    let text = "explain (analyze, costs off, timing off, summary off)
        select id from orders order by id limit 3";
    let lines = told(&mut bed, text);
    assert!(lines[0].starts_with("Limit (actual rows=3 "), "{lines:?}");
    let update = "explain (format json) update orders set total = 0 where id = 4";
    let json = json(&mut bed, update);
    assert_eq!(json["Plan"]["Startup Cost"], 0.0);
}

/// Sends a statement that waits for another transaction; returns its answer, and for how long it waited at least, in
/// milliseconds. The time begins when the engine has counted the wait, however late the machine lets it begin.
fn held_up(bed: &mut Bed, client: &Client, text: &str, release: &str) -> (Value, f64) {
    let before = bed.lock_waits();
    bed.send_to(client, text);
    // The statement locks other rows first.
    while bed.lock_waits() == before {
        assert!(bed.is_waiting(client));
    }
    // The wait is measured once the statement's poll has ended, in a turn before this one.
    let begun = Instant::now();
    assert!(bed.is_waiting(client));
    let held = begun.elapsed().as_secs_f64() * 1e3;
    bed.run(release).unwrap();
    (answer_of(bed, client), held)
}

/// Returns what EXPLAIN has answered to a client.
fn answer_of(bed: &mut Bed, client: &Client) -> Value {
    parsed(bed.reply_of(client).unwrap().rows[0].remove(0))
}

#[test]
fn a_wait_for_a_lock_is_told_where_it_was_waited_for() {
    let mut bed = tables();
    let other = bed.client();
    for (text, title) in [
        (
            "explain (analyze, format json) update customer set region = 1 where id = 7",
            "Update on customer",
        ),
        (
            "explain (analyze, format json)
             select count(*) from (select * from customer where id < 10 for update) locked",
            "Lock Rows of customer",
        ),
        (
            "explain (analyze, format json)
             insert into customer values (7, 'again', 1) on conflict do nothing",
            "Insert on customer",
        ),
    ] {
        bed.run("begin; update customer set region = 2 where id = 7")
            .unwrap();
        let (json, held) = held_up(&mut bed, &other, text, "commit");
        for plan in operators(&json["Plan"]) {
            let own = &plan["Self Time"];
            if plan["Node Type"] == title {
                assert!(number(&own["Locks"]) >= held - 0.001, "{held} {json}");
                assert_eq!(own["Locks Waits"], 1, "{json}");
                assert!(number(&own["Computing"]) > 0.0, "{json}");
            } else {
                assert_eq!(own["Locks"], 0.0, "{json}");
            }
        }
        assert_eq!(json["Time"]["Locks Waits"], 1, "{json}");
        assert_eq!(json["Outside Operators"]["Locks"], 0.0, "{json}");
        assert!(number(&json["Plan"]["Actual Total Time"]) >= held - 0.001);
    }
}

#[test]
fn functions_that_wait_say_what_for() {
    let mut bed = tables();
    let other = bed.client();
    bed.run("select pg_advisory_lock(7)").unwrap();
    let text = "explain (analyze, format json) select pg_advisory_lock(7), pg_advisory_unlock(7)";
    bed.send_to(&other, text);
    assert!(bed.is_waiting(&other));
    bed.run("select pg_advisory_unlock(7)").unwrap();
    let json = answer_of(&mut bed, &other);
    assert_eq!(json["Time"]["Locks Waits"], 1, "{json}");
    assert!(number(&json["Time"]["Locks"]) > 0.0, "{json}");
    let text = "explain (analyze, format json) select pg_sleep(0.02)";
    let json = self::json(&mut bed, text);
    // The worker's clock, by which a function sleeps, may be somewhat old when the sleep begins.
    assert!(number(&json["Time"]["Other Events"]) >= 10.0, "{json}");
    assert_eq!(json["Time"]["Other Events Waits"], 1, "{json}");
}

#[test]
fn what_foreign_keys_wait_for_is_told_outside_the_operators() {
    let mut bed = tables();
    bed.run("create table place (region int, customer int references customer)")
        .unwrap();
    let other = bed.client();
    bed.run("begin; delete from customer where id = 7").unwrap();
    let text = "explain (analyze, format json) insert into place values (1, 7)";
    let (json, held) = held_up(&mut bed, &other, text, "rollback");
    assert!(
        number(&json["Outside Operators"]["Locks"]) >= held - 0.001,
        "{json}"
    );
    assert_eq!(json["Plan"]["Self Time"]["Locks"], 0.0, "{json}");
}

#[test]
fn waits_for_memory_are_told_where_there_are_any() {
    // With one task in flight a worker waits for no memory: there is no other task to go on
    // meanwhile.
    for (in_flight, waits) in [(8, true), (1, false)] {
        let mut bed = Bed::with_in_flight(InFlight::Fixed(in_flight));
        bed.run("create table t (id int primary key, n int)")
            .unwrap();
        bed.run("insert into t select n, n from generate_series(1, 1000) n")
            .unwrap();
        let text = "explain (analyze, format json) update t set n = 0 where id between 5 and 9";
        let json = json(&mut bed, text);
        let own = |plan: &Value| number(&plan["Self Time"]["Memory Waits"]);
        let all = operators(&json["Plan"]);
        // Each of five records is looked up to be changed, with several waits: a worker that
        // resumed the leaf past the operators would show only the first.
        assert_eq!(own(all[0]) >= 3.0 * 5.0, waits, "{json}");
        let outside = number(&json["Outside Operators"]["Memory Waits"]);
        let sum = all.iter().map(|plan| own(plan)).sum::<f64>() + outside;
        assert_eq!(sum, number(&json["Time"]["Memory Waits"]), "{json}");
        assert_eq!(sum > 0.0, waits, "{json}");
    }
}

#[test]
fn records_that_have_left_memory_are_waited_for_where_they_are_read() {
    let mut bed = Bed::on_disk();
    bed.run("create table t (id int primary key, n int); create table u (id int primary key)")
        .unwrap();
    bed.run(
        "insert into t select n, n from generate_series(1, 500) n;
         insert into u select n from generate_series(1, 3) n",
    )
    .unwrap();
    bed.demote();
    let text = "explain (analyze, format json) select sum(n) from t";
    let json = json(&mut bed, text);
    let all = operators(&json["Plan"]);
    let waits = |plan: &Value| number(&plan["Self Time"]["Device Waits"]);
    let scan = all.iter().find(|plan| plan["Node Type"] == "Scan on t");
    let own = waits(scan.unwrap());
    assert!(own > 0.0, "{json}");
    assert_eq!(number(&json["Time"]["Device Waits"]), own, "{json}");
    // Records that are looked up together are waited for by the join.
    let text = "explain (analyze, format json) select * from u join t on t.id = u.id * 100";
    bed.demote();
    let json = self::json(&mut bed, text);
    assert!(number(&json["Time"]["Device Waits"]) > 0.0, "{json}");
}

#[test]
fn the_times_of_all_operators_add_up() {
    let mut bed = tables();
    let text = "explain (analyze, format json)
        with big as (select n, n % 7 as seventh from generate_series(1, 20000) n)
        select region, count(*), (select max(seventh) from big) from orders
        join customer on customer = customer.id
        where total > (select avg(n) / 1000 from big where n > customer.id)
        group by region order by 2";
    let json = json(&mut bed, text);
    let all = operators(&json["Plan"]);
    let measured: Vec<_> = all
        .iter()
        .filter(|plan| plan["Actual Loops"].is_number())
        .collect();
    let sum = |spent: &Value| KINDS.iter().map(|kind| number(&spent[kind])).sum::<f64>();
    let own = measured.iter().map(|plan| sum(&plan["Self Time"]));
    let parts = own.sum::<f64>() + sum(&json["Outside Operators"]);
    // Each number is rounded to a microsecond.
    let tolerance = 0.001 * ((measured.len() + 1) * KINDS.len()) as f64;
    let whole = number(&json["Execution Time"]);
    assert!((parts - whole).abs() <= tolerance, "{parts} of {whole}");
    assert!((sum(&json["Time"]) - whole).abs() <= tolerance, "{json}");
    for kind in KINDS {
        let own = measured.iter().map(|plan| number(&plan["Self Time"][kind]));
        let parts = own.sum::<f64>() + number(&json["Outside Operators"][kind]);
        assert!(
            (parts - number(&json["Time"][kind])).abs() <= tolerance,
            "{kind}"
        );
    }
    for plan in &measured {
        let total = number(&plan["Actual Total Time"]);
        assert!(number(&plan["Actual Startup Time"]) <= total, "{plan}");
        let loops = number(&plan["Actual Loops"]);
        // The time of an operator is part of its total, which is part of the execution's.
        let rounded = 0.001 * (loops + KINDS.len() as f64);
        assert!(sum(&plan["Self Time"]) <= total * loops + rounded, "{plan}");
        assert!(total * loops <= whole + rounded, "{plan}");
    }
    // The execution has let other tasks have turns.
    assert!(number(&json["Time"]["Other Tasks Waits"]) > 0.0, "{json}");
}

#[test]
fn people_read_where_the_time_went() {
    let mut bed = tables();
    let lines = told(&mut bed, "explain analyze select count(*) from orders");
    let text = lines.join("\n");
    assert!(lines[0].starts_with("Aggregate  (cost="), "{text}");
    assert!(lines[0].contains(") (actual time="), "{text}");
    assert!(lines[0].ends_with(" rows=1 loops=1)"), "{text}");
    assert!(lines[1].starts_with("  Self Time: computing "), "{text}");
    assert!(
        lines[2].starts_with("  ->  Scan on orders  (cost="),
        "{text}"
    );
    assert!(
        lines[3].starts_with("        Self Time: computing "),
        "{text}"
    );
    let names = lines[4..].iter().filter_map(|line| line.split(':').next());
    let names: Vec<&str> = names.collect();
    assert_eq!(
        names,
        [
            "Outside Operators",
            "Peak Memory",
            "Planning Time",
            "Execution Time",
            "Time"
        ]
    );
    assert!(!text.contains("locks"), "nobody had one: {text}");
    // An operator below that was never begun says so, and shows no time.
    let lines = told(
        &mut bed,
        "explain (analyze, summary off) select * from customer limit 0",
    );
    assert!(lines[0].contains("rows=0 loops=1"), "{lines:?}");
    let scan = lines.iter().position(|line| line.contains("->")).unwrap();
    assert!(lines[scan].ends_with(") (never executed)"), "{lines:?}");
    assert_eq!(lines.len(), scan + 1, "{lines:?}");
}

/// The memory that a statement takes has to be shown, for users that want to give it less.
#[test]
fn the_most_memory_is_told() {
    let mut bed = tables();
    bed.run(
        "create table much (i int); insert into much select i from generate_series(1, 20000) i",
    )
    .unwrap();
    let mut peak = |text: &str| {
        let json = json(&mut bed, &format!("explain (analyze, format json) {text}"));
        let kilobytes = json["Peak Memory"].as_u64();
        kilobytes.unwrap_or_else(|| panic!("no peak: {json}"))
    };
    let counted = peak("select count(*) from much");
    let sorted = peak("select i from much order by i desc");
    // 20,000 rows of two values of 24 bytes.
    assert!(sorted > counted + 900, "{counted} and {sorted} kB");
    assert!(counted < 500, "{counted} kB");
    let text = "explain (analyze, timing off) select i from much order by i desc";
    let lines = told(&mut bed, text);
    let line = lines.iter().find(|line| line.starts_with("Peak Memory: "));
    assert!(line.is_some_and(|line| line.ends_with("kB")), "{lines:?}");
    for text in [
        "explain select i from much order by i desc",
        "explain (analyze, summary off) select i from much order by i desc",
    ] {
        let lines = told(&mut bed, text);
        assert!(!lines.join("\n").contains("Peak"), "{lines:?}");
    }
}

#[test]
fn without_timing_there_are_no_times_of_operators() {
    let mut bed = tables();
    let text = "explain (analyze, timing off) select count(*) from orders";
    let lines = told(&mut bed, text);
    assert!(lines[0].ends_with(") (actual rows=1 loops=1)"), "{lines:?}");
    let text = lines.join("\n");
    for part in ["time=", "Self Time", "Outside", "\nTime: "] {
        assert!(!text.contains(part), "{text} has {part}");
    }
    assert!(text.contains("\nExecution Time: "), "{text}");
    let text = "explain (analyze, timing off, costs off, format json) select count(*) from orders";
    let json = json(&mut bed, text);
    let plan = json["Plan"].as_object().unwrap();
    for key in ["Actual Total Time", "Self Time", "Total Cost", "Plan Rows"] {
        assert!(!plan.contains_key(key), "{json}");
    }
    assert_eq!(plan["Actual Rows"], 1);
    assert!(json["Time"].is_null() && json["Execution Time"].is_number());
}

/// EXPLAIN knew no EXECUTE. The plan of a prepared statement is shown with its parameters, and measured with their
/// values.
#[test]
fn a_prepared_statement_is_explained() {
    let mut bed = tables();
    bed.run("prepare p(int, text) as select total from orders where customer = $1 and total::text <> $2")
        .unwrap();
    let execute = "execute p(2 + 1, 'x')";
    let lines = told(&mut bed, &format!("explain (costs off) {execute}"));
    assert_eq!(
        lines,
        [
            "Index Scan using orders_customer on orders",
            "  Index Cond: (customer = $1)",
            "  Filter: ((total)::text <> $2)",
        ]
    );
    for analyze in ["explain analyze", "explain (analyze, verbose)"] {
        let lines = told(&mut bed, &format!("{analyze} {execute}"));
        assert!(lines[0].contains("rows=10 loops=1"), "{lines:?}");
    }
    let plan = json(
        &mut bed,
        &format!("explain (analyze, format json) {execute}"),
    );
    assert_eq!(number(&plan["Plan"]["Actual Rows"]), 10.0);
    // Literals of a statement without parameters stand in their places.
    bed.run("prepare literal as select total from orders where id = 7")
        .unwrap();
    let lines = told(&mut bed, "explain (costs off) execute literal");
    assert_eq!(lines[1].trim(), "Key Cond: (id = 7)");
}

/// EXPLAIN planned by what was known of the tables, while the statement itself looks at them first.
#[test]
fn explain_looks_at_the_tables_first() {
    let mut bed = Bed::new();
    bed.run(
        "create table grown (id int primary key, kind int);
         create index on grown (kind);
         insert into grown select i, i % 2 from generate_series(1, 20000) i",
    )
    .unwrap();
    let lines = told(&mut bed, "explain select * from grown where kind = 1");
    assert!(lines[0].starts_with("Scan on grown"), "{lines:?}");
}
