//! Foreign keys with several sessions beside each other: whatever the order and the isolation
//! level, no row refers to a missing key.

use crate::bed::{Bed, Client};

const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

fn bed(action: &str) -> Bed {
    let mut bed = Bed::new();
    bed.run("create table p (id int primary key, note text)")
        .unwrap();
    bed.run("create table other (id int)").unwrap();
    bed.run(&format!(
        "create table c (id int primary key, p int references p {action}, note text)"
    ))
    .unwrap();
    bed.run("insert into p values (1), (2), (3)").unwrap();
    bed
}

fn one(bed: &mut Bed, text: &str) -> String {
    let answer = bed.run(text).unwrap();
    let rows: Vec<String> = answer.rows.iter().map(|row| row.join(",")).collect();
    rows.join(";")
}

fn state(reply: Result<crate::bed::Answer, types::SqlError>) -> String {
    match reply {
        Ok(_) => "done".to_owned(),
        Err(error) => error.state().code().to_owned(),
    }
}

/// Begins a transaction, with a snapshot that cannot move any more.
fn begin(bed: &mut Bed, client: &Client, level: &str) {
    let text = format!("begin isolation level {level}; select count(*) from other");
    bed.run_in(client, &text).unwrap();
}

/// Sends a statement that has to wait.
fn waits(bed: &mut Bed, client: &Client, text: &str) {
    bed.send_to(client, text);
    assert!(bed.is_waiting(client), "{text} has not waited");
}

#[test]
fn who_refers_to_a_row_waits_for_who_deletes_it() {
    for level in LEVELS {
        let mut bed = self::bed("");
        let (deletes, inserts) = (bed.client(), bed.client());
        begin(&mut bed, &deletes, level);
        begin(&mut bed, &inserts, level);
        bed.run_in(&deletes, "delete from p where id = 1").unwrap();
        waits(&mut bed, &inserts, "insert into c values (1, 1)");
        // A row that is not committed yet is a new one in a place where the other transaction has
        // looked.
        let deleted = state(bed.run_in(&deletes, "commit"));
        let expected = match (level, deleted.as_str()) {
            ("read committed", "done") => "23503",
            ("serializable", "40001") => "done",
            (_, "done") => "40001",
            _ => panic!("{level}: {deleted}"),
        };
        assert_eq!(state(bed.reply_of(&inserts)), expected, "{level}");

        let mut bed = self::bed("");
        let (deletes, inserts) = (bed.client(), bed.client());
        begin(&mut bed, &deletes, level);
        begin(&mut bed, &inserts, level);
        bed.run_in(&deletes, "delete from p where id = 2").unwrap();
        waits(&mut bed, &inserts, "insert into c values (2, 2)");
        bed.run_in(&deletes, "rollback").unwrap();
        assert_eq!(state(bed.reply_of(&inserts)), "done", "{level}");
        bed.run_in(&inserts, "commit").unwrap();
        assert_eq!(one(&mut bed, "select id, p from c"), "2,2");
    }
}

#[test]
fn who_deletes_a_row_waits_for_who_refers_to_it() {
    for level in LEVELS {
        let mut bed = bed("");
        let (deletes, inserts) = (bed.client(), bed.client());
        begin(&mut bed, &deletes, level);
        begin(&mut bed, &inserts, level);
        bed.run_in(&inserts, "insert into c values (1, 1)").unwrap();
        waits(&mut bed, &deletes, "delete from p where id = 1");
        bed.run_in(&inserts, "commit").unwrap();
        assert_eq!(state(bed.reply_of(&deletes)), "23503", "{level}");
        bed.run_in(&deletes, "rollback").unwrap();

        begin(&mut bed, &deletes, level);
        begin(&mut bed, &inserts, level);
        bed.run_in(&inserts, "insert into c values (2, 2)").unwrap();
        waits(&mut bed, &deletes, "update p set id = 20 where id = 2");
        bed.run_in(&inserts, "rollback").unwrap();
        assert_eq!(state(bed.reply_of(&deletes)), "done", "{level}");
        bed.run_in(&deletes, "commit").unwrap();
        assert_eq!(one(&mut bed, "select id from p order by id"), "1;3;20");
    }
}

#[test]
fn rows_that_are_newer_than_the_snapshot_are_found() {
    for level in LEVELS {
        let mut bed = bed("");
        let deletes = bed.client();
        begin(&mut bed, &deletes, level);
        bed.run("insert into c values (1, 1)").unwrap();
        let refused = bed.run_in(&deletes, "delete from p where id = 1");
        assert_eq!(state(refused), "23503", "{level}");
    }
}

#[test]
fn an_action_on_rows_that_are_newer_than_the_snapshot_is_refused() {
    for action in [
        "on delete cascade",
        "on delete set null",
        "on delete set default",
    ] {
        for level in LEVELS {
            let mut bed = bed(action);
            let deletes = bed.client();
            begin(&mut bed, &deletes, level);
            bed.run("insert into c values (1, 1)").unwrap();
            let deleted = state(bed.run_in(&deletes, "delete from p where id = 1"));
            let is_refused = deleted != "done";
            assert_eq!(
                is_refused,
                level != "read committed",
                "{level}, {action}: {deleted}"
            );
            bed.run_in(&deletes, "commit").unwrap();
            let dangling = "select count(*) from c where p not in (select id from p)";
            assert_eq!(one(&mut bed, dangling), "0");
        }
    }
}

#[test]
fn who_deletes_a_row_waits_for_who_deletes_those_that_refer_to_it() {
    let mut bed = bed("");
    let (child, parent) = (bed.client(), bed.client());
    bed.run("insert into c values (1, 1), (2, 2)").unwrap();
    bed.run_in(&child, "begin; delete from c where id = 1")
        .unwrap();
    waits(&mut bed, &parent, "delete from p where id = 1");
    bed.run_in(&child, "commit").unwrap();
    assert_eq!(state(bed.reply_of(&parent)), "done");

    bed.run_in(&child, "begin; update c set p = 3 where id = 2")
        .unwrap();
    // The check locks the row's own key only, which this change keeps: as in PostgreSQL, the row as
    // it was committed is in the way, and is not waited for.
    assert_eq!(
        state(bed.run_in(&parent, "delete from p where id = 2")),
        "23503"
    );
    bed.run_in(&child, "commit").unwrap();
    bed.run_in(&parent, "delete from p where id = 2").unwrap();
}

#[test]
fn a_cascade_follows_what_others_have_done_meanwhile() {
    let mut bed = bed("on delete cascade");
    let (child, parent) = (bed.client(), bed.client());
    bed.run("insert into c values (1, 1), (2, 1), (3, 1)")
        .unwrap();
    bed.run_in(
        &child,
        "begin; update c set note = 'kept' where id = 1; update c set p = 2 where id = 2; \
         insert into c values (4, 3)",
    )
    .unwrap();
    waits(&mut bed, &parent, "delete from p where id = 1");
    bed.run_in(&child, "commit").unwrap();
    assert_eq!(state(bed.reply_of(&parent)), "done");
    assert_eq!(one(&mut bed, "select id, p from c order by id"), "2,2;4,3");
}

#[test]
fn a_cascade_keeps_new_rows_from_coming_and_takes_those_that_came() {
    let mut bed = bed("on delete cascade");
    let (child, parent) = (bed.client(), bed.client());
    bed.run_in(&parent, "begin; delete from p where id = 1")
        .unwrap();
    waits(&mut bed, &child, "insert into c values (1, 1)");
    bed.run_in(&parent, "commit").unwrap();
    assert_eq!(state(bed.reply_of(&child)), "23503");

    bed.run_in(&child, "begin; insert into c values (2, 2)")
        .unwrap();
    waits(&mut bed, &parent, "delete from p where id = 2");
    bed.run_in(&child, "commit").unwrap();
    assert_eq!(state(bed.reply_of(&parent)), "done");
    assert_eq!(one(&mut bed, "select count(*) from c"), "0");
}

#[test]
fn who_waits_in_a_circle_is_told() {
    let mut bed = bed("");
    let (one_client, other) = (bed.client(), bed.client());
    bed.run_in(&one_client, "begin; insert into c values (1, 1)")
        .unwrap();
    bed.run_in(&other, "begin; insert into c values (2, 2)")
        .unwrap();
    waits(&mut bed, &one_client, "delete from p where id = 2");
    let refused = bed.run_in(&other, "delete from p where id = 1");
    assert_eq!(state(refused), "40P01");
    bed.run_in(&other, "rollback").unwrap();
    assert_eq!(state(bed.reply_of(&one_client)), "done");
}

#[test]
fn what_is_put_off_is_looked_at_as_it_is_at_the_commit() {
    for level in LEVELS {
        let mut bed = bed("deferrable initially deferred");
        let (inserts, deletes) = (bed.client(), bed.client());
        begin(&mut bed, &inserts, level);
        bed.run_in(&inserts, "insert into c values (1, 1)").unwrap();
        bed.run_in(&deletes, "delete from p where id = 1").unwrap();
        let refused = bed.run_in(&inserts, "commit");
        let expected = if level == "read committed" {
            "23503"
        } else {
            "40001"
        };
        assert_eq!(state(refused), expected, "{level}");
        assert_eq!(one(&mut bed, "select count(*) from c"), "0");

        begin(&mut bed, &deletes, level);
        bed.run_in(&deletes, "delete from p where id = 2").unwrap();
        waits(&mut bed, &inserts, "insert into c values (2, 2)");
        bed.run_in(&deletes, "insert into p values (2); commit")
            .unwrap();
        // The row that the check has waited for is gone, and the one that has the key now is newer
        // than what the check sees: PostgreSQL's answer.
        assert_eq!(state(bed.reply_of(&inserts)), "23503", "{level}");
    }
}

#[test]
fn a_foreign_key_is_added_beside_nobody_who_writes() {
    let mut bed = Bed::new();
    bed.run("create table p (id int primary key); create table c (p int)")
        .unwrap();
    let (writes, defines) = (bed.client(), bed.client());
    bed.run_in(&writes, "begin; insert into c values (7)")
        .unwrap();
    waits(
        &mut bed,
        &defines,
        "alter table c add foreign key (p) references p",
    );
    bed.run_in(&writes, "commit").unwrap();
    assert_eq!(state(bed.reply_of(&defines)), "23503");
    bed.run("delete from c").unwrap();
    bed.run_in(
        &defines,
        "begin; alter table c add foreign key (p) references p",
    )
    .unwrap();
    waits(&mut bed, &writes, "insert into c values (7)");
    bed.run_in(&defines, "commit").unwrap();
    assert_eq!(state(bed.reply_of(&writes)), "23503");
}

#[test]
fn what_is_missing_is_refused_by_name() {
    let mut bed = bed("");
    for text in [
        "create table d (a int, b int, foreign key (a) references p on delete set null (a))",
        "create table d (a int references p match partial)",
    ] {
        assert_eq!(state(bed.run(text)), "0A000", "{text}");
    }
}

/// Sessions insert, move and delete at both ends of foreign keys with all actions, in transactions
/// of all levels, each waiting for the others where it has to.
#[test]
fn no_row_refers_to_nothing_whatever_happens() {
    let seed = std::env::var("WEFT_SEED").map_or(7, |seed| seed.parse().unwrap());
    let mut random = fastrand::Rng::with_seed(seed);
    let mut bed = Bed::new();
    bed.run(
        "create table p (id int primary key, code int unique);
         create table plain (id int primary key, p int references p);
         create table goes (id int primary key, p int references p on delete cascade on update cascade);
         create table nulled (id int primary key, p int references p (code) on delete set null on update cascade);
         create table later (id int primary key, p int references p deferrable initially deferred);
         create table below (id int primary key, g int references goes on delete cascade on update cascade);
         create index on goes (p)",
    )
    .unwrap();
    let clients: Vec<Client> = (0..6).map(|_| bed.client()).collect();
    let (mut is_open, mut is_busy) = ([false; 6], [false; 6]);
    let (mut done, mut refused) = (0, 0);
    for _ in 0..4000 {
        let at = random.usize(..clients.len());
        if is_busy[at] {
            if bed.is_waiting(&clients[at]) {
                continue;
            }
            is_busy[at] = false;
            match state(bed.reply_of(&clients[at])).as_str() {
                "done" => done += 1,
                "23503" | "23505" | "40001" | "40P01" | "25P02" => refused += 1,
                other => panic!("{other}, seed {seed}"),
            }
            continue;
        }
        let text = match (is_open[at], random.u32(..8)) {
            (false, 0..4) => {
                is_open[at] = true;
                format!("begin isolation level {}", LEVELS[random.usize(..3)])
            }
            (true, 0) => {
                is_open[at] = false;
                "rollback".to_owned()
            }
            (true, 1 | 2) => {
                is_open[at] = false;
                "commit".to_owned()
            }
            _ => statement(&mut random),
        };
        bed.send_to(&clients[at], &text);
        is_busy[at] = true;
    }
    // A session that waits does so for one that does not.
    while is_busy.contains(&true) || is_open.contains(&true) {
        for (at, client) in clients.iter().enumerate() {
            if is_busy[at] && !bed.is_waiting(client) {
                let _ = bed.reply_of(client);
                is_busy[at] = false;
            }
            if is_open[at] && !is_busy[at] {
                bed.run_in(client, "rollback").unwrap();
                is_open[at] = false;
            }
        }
    }
    for (from, column, table, key) in [
        ("plain", "p", "p", "id"),
        ("goes", "p", "p", "id"),
        ("nulled", "p", "p", "code"),
        ("later", "p", "p", "id"),
        ("below", "g", "goes", "id"),
    ] {
        let dangling = format!(
            "select {column} from {from} o where {column} is not null \
             and not exists (select 1 from {table} t where t.{key} = o.{column})"
        );
        assert_eq!(one(&mut bed, &dangling), "", "{from}, seed {seed}");
    }
    assert!(
        done > 1000 && refused > 50,
        "{done} were done, {refused} refused"
    );
}

/// The row of a reference with more columns than the primary key is found by that key: the others are conditions on
/// the row. A lock by the key alone, which looked at the scan's filter and not at its tests of columns, would take it
/// without them.
#[test]
fn columns_beside_the_primary_key_have_to_agree() {
    let mut bed = Bed::new();
    bed.run(
        "create table pair (a int primary key, b int, unique (b, a), unique (a, b));
         create table of_pair (a int, b int, foreign key (a, b) references pair (a, b));
         insert into pair values (1, 10), (2, 20)",
    )
    .unwrap();
    for pairs in ["(1, 20)", "(1, 10), (2, 10)", "(3, 10)"] {
        let inserted = bed.run(&format!("insert into of_pair values {pairs}"));
        assert_eq!(state(inserted), "23503", "{pairs}");
    }
    bed.run("insert into of_pair values (1, 10), (2, 20)")
        .unwrap();
}

fn statement(random: &mut fastrand::Rng) -> String {
    let (id, p) = (random.u32(..12), random.u32(..6));
    let child = ["plain", "goes", "nulled", "later"][random.usize(..4)];
    match random.u32(..10) {
        0 | 1 => format!("insert into p values ({p}, {p}) on conflict do nothing"),
        2 => format!("delete from p where id = {p}"),
        3 => format!("update p set id = {} where id = {p}", random.u32(..6)),
        4 => format!("update p set code = {} where id = {p}", random.u32(..6)),
        5 | 6 => format!(
            "insert into {child} values ({id}, {p}) on conflict (id) do update set p = excluded.p"
        ),
        7 => format!("delete from {child} where id = {id}"),
        8 => format!(
            "insert into below values ({id}, {}) on conflict do nothing",
            random.u32(..12)
        ),
        _ => format!("update goes set id = {} where id = {id}", random.u32(..12)),
    }
}
