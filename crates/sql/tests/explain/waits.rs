//! EXPLAIN ANALYZE: operators with the times that they wait and compute, which add up to the execution's.

use std::time::Instant;

use super::{KINDS, json, number, operators, parsed, tables};
use crate::bed::{Bed, Client};
use interleave::InFlight;
use serde_json::Value;

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
    let json = super::json(&mut bed, text);
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
    let json = super::json(&mut bed, text);
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
