//! EXPLAIN: the plan as a tree, and the measurements of its execution.

mod access;
mod estimates;
mod rewritten;
mod waits;

use crate::bed::Bed;
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
        // The cost of the inputs is part of the operator's. A limit costs no more than its input, of which it may ask
        // for a part.
        for input in plan["Plans"].as_array().into_iter().flatten() {
            let cost = number(&input["Total Cost"]);
            let is_limit = plan["Node Type"] == "Limit";
            assert!(
                if is_limit {
                    total <= cost
                } else {
                    cost <= total
                },
                "{plan}"
            );
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

#[test]
fn rows_in_the_order_of_the_first_keys_are_sorted_group_by_group() {
    let mut bed = Bed::new();
    bed.run(
        "create table reading (place int, at int, value int, primary key (place, at));
         create index reading_value on reading (value);
         insert into reading select i % 100, i, i % 1000 from generate_series(1, 5000) i;
         analyze",
    )
    .unwrap();
    let mut lines = |query: &str| told(&mut bed, &format!("explain (costs off) {query}"));
    assert_eq!(
        lines("select * from reading order by place desc, value"),
        [
            "Incremental Sort",
            "  Sort Key: place DESC, value",
            "  Presorted Key: place DESC",
            "  ->  Scan Backward on reading",
        ]
    );
    let few = lines("select * from reading order by value, place limit 3").join("\n");
    assert!(few.contains("Presorted Key: value\n"), "{few}");
    assert!(few.contains("Index Scan using reading_value"), "{few}");
    // One place says nothing about an order.
    let sorted = lines("select * from reading where place = 3 order by place, value");
    assert_eq!(sorted[0], "Sort");
    // An index of which many entries would be read for the first rows.
    let filtered =
        lines("select * from reading where at = 7 order by value, place limit 3").join("\n");
    assert!(!filtered.contains("Index"), "{filtered}");
    let all = "explain (format json) select * from reading order by place, value";
    let json = json(&mut bed, all);
    let sort = &json["Plan"];
    let first_group = number(&sort["Total Cost"]) / 100.0;
    assert!(number(&sort["Startup Cost"]) < first_group, "{json}");
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

/// A limit with OFFSET was shown with the rows that it skips among those that it gives, and without their cost.
#[test]
fn a_limit_costs_the_rows_that_it_skips() {
    let mut bed = tables();
    bed.run("analyze").unwrap();
    for (query, rows, startup, part) in [
        ("select * from orders offset 150 limit 30", 30, 0.5, 0.6),
        (
            "select * from orders offset 290 limit 30",
            10,
            290.0 / 300.0,
            1.0,
        ),
        ("select * from orders offset 100", 200, 1.0 / 3.0, 1.0),
        ("select * from orders offset 1000", 1, 1.0, 1.0),
    ] {
        let json = json(&mut bed, &format!("explain (format json) {query}"));
        let limit = &json["Plan"];
        assert_eq!(limit["Plan Rows"], rows, "{json}");
        let all = number(&limit["Plans"][0]["Total Cost"]);
        for (cost, part) in [("Startup Cost", startup), ("Total Cost", part)] {
            let difference = number(&limit[cost]) - part * all;
            assert!(difference.abs() < 0.1, "{cost}: {json}");
        }
    }
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

/// A join by hash read all of its other side where the table had no row: TPC-DS's queries 90, 94 and 95 took 10 to 18
/// times as long as with PostgreSQL.
#[test]
fn a_join_with_an_empty_table_reads_no_other_side() {
    let mut bed = Bed::new();
    bed.run(
        "create table probed (a int);
         create table built (a int);
         insert into probed select i from generate_series(1, 2000) i;
         insert into built select i from generate_series(1, 1000) i;
         analyze probed; analyze built",
    )
    .unwrap();
    for (join, is_read) in [
        ("join built b using (a) where b.a + 0 > 5000", false),
        ("where a in (select a from built where a + 0 > 5000)", false),
        (
            "left join (select a from built where a + 0 > 5000) b using (a)",
            true,
        ),
        (
            "where a not in (select a from built where a + 0 > 5000)",
            true,
        ),
    ] {
        let query = format!("select count(*) from probed p {join}");
        let rows = if is_read { "2000" } else { "0" };
        assert_eq!(bed.run(&query).unwrap().rows, [[rows]], "{join}");
        let lines = told(&mut bed, &format!("explain (analyze, summary off) {query}"));
        let probe = lines.iter().find(|line| line.contains("Scan on probed"));
        let is_left_out = probe.unwrap().ends_with("(never executed)");
        assert_eq!(is_left_out, !is_read, "{lines:#?}");
    }
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
