//! EXPLAIN: the plan as a tree, and what its execution came to.

#[path = "common/bed.rs"]
mod bed;

use bed::Bed;

fn told(bed: &mut Bed, text: &str) -> Vec<String> {
    let rows = bed.run(text).unwrap().rows;
    rows.into_iter().map(|mut row| row.remove(0)).collect()
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
        "explain select name from customer where id = 7 and region is not null",
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
        "explain select * from orders where customer = 3 and total > 5.5 or id in (1, 2)",
    );
    assert_eq!(lines[0], "Scan on orders");
    let filter = &lines[1];
    for part in ["(customer = 3)", "5.5", " AND ", " OR "] {
        assert!(filter.contains(part), "{filter} has no {part}");
    }
    let lines = told(
        &mut bed,
        "explain select * from orders where customer >= 3 and customer < 5",
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
        "explain (verbose) select region, count(*) from customer group by region order by 2 desc limit 2",
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
        "explain (analyze, timing off, summary off)
         select * from customer where region = 1",
    );
    assert_eq!(
        lines,
        [
            "Scan on customer  (actual rows=10 loops=1)",
            "  Filter: (region = 1)",
        ]
    );
    let lines = told(
        &mut bed,
        "explain analyze delete from orders where id <= 20",
    );
    let text = lines.join("\n");
    assert_eq!(lines[0], "Delete on orders  (actual rows=20 loops=1)");
    for part in ["Planning Time: ", "Execution Time: "] {
        assert!(text.contains(part), "{text} has no {part}");
    }
    // It was carried out.
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
    let json: serde_json::Value = serde_json::from_str(&told(&mut bed, text)[0]).unwrap();
    let plan = &json[0]["Plan"];
    assert_eq!(plan["Node Type"], "Update on customer");
    assert_eq!(plan["Actual Rows"], 1);
    assert_eq!(plan["Plans"][0]["Node Type"], "Lookup on customer");
    assert_eq!(plan["Plans"][0]["Key Cond"], "(id = 1)");
    assert!(json[0]["Execution Time"].as_f64().unwrap() > 0.0);
}

#[test]
fn options_that_there_are_not_are_refused() {
    let mut bed = tables();
    let mut state = |text: &str| bed.run(text).unwrap_err().state().code().to_owned();
    assert_eq!(state("explain (buffers) select 1"), "0A000");
    assert_eq!(state("explain (format xml) select 1"), "0A000");
    assert_eq!(state("explain (format dot) select 1"), "22023");
    assert_eq!(state("explain (analyze, timing) select 1"), "0A000");
    assert_eq!(state("explain (nonsense) select 1"), "42601");
    assert_eq!(state("explain (analyze maybe) select 1"), "42601");
}
