//! Several statements of one session, and several sessions beside each other.

use crate::bed::{Bed, Client};

fn one(bed: &mut Bed, text: &str) -> String {
    let answer = bed.run(text).unwrap();
    let rows: Vec<String> = answer.rows.iter().map(|row| row.join(",")).collect();
    rows.join(";")
}

fn one_in(bed: &mut Bed, client: &Client, text: &str) -> String {
    let answer = bed.run_in(client, text).unwrap();
    let rows: Vec<String> = answer.rows.iter().map(|row| row.join(",")).collect();
    rows.join(";")
}

fn state(bed: &mut Bed, text: &str) -> String {
    bed.run(text).unwrap_err().state().code().to_owned()
}

fn accounts() -> Bed {
    let mut bed = Bed::new();
    bed.run("create table account (id int primary key, balance int not null)")
        .unwrap();
    bed.run("insert into account values (1, 100), (2, 200)")
        .unwrap();
    bed
}

#[test]
fn a_failed_statement_fails_its_transaction_until_it_is_rolled_back() {
    let mut bed = accounts();
    let tags = bed
        .run("begin; update account set balance = 0 where id = 1")
        .unwrap()
        .tags;
    assert_eq!(tags, ["BEGIN", "UPDATE 1"]);
    assert_eq!(state(&mut bed, "select 1 / 0"), "22012");
    assert_eq!(state(&mut bed, "select 1"), "25P02");
    assert_eq!(bed.run("commit").unwrap().tags, ["ROLLBACK"]);
    assert_eq!(
        one(&mut bed, "select balance from account where id = 1"),
        "100"
    );
}

/// A statement that is no query was read after the transaction was looked at, or before it if it is
/// about the session: an error of its syntax was not told in a failed transaction, and LISTEN was
/// refused there as what there is not.
#[test]
fn a_failed_transaction_tells_errors_of_syntax_and_refuses_all_else() {
    let mut bed = accounts();
    assert_eq!(state(&mut bed, "begin; select 1 / 0"), "22012");
    assert_eq!(state(&mut bed, "create tabel t (a int)"), "42601");
    assert_eq!(state(&mut bed, "set transaction"), "42601");
    for text in [
        "create table t (a int)",
        "create table t (a int) inherits (account)",
        "listen news",
    ] {
        assert_eq!(state(&mut bed, text), "25P02", "{text}");
    }
    assert_eq!(state(&mut bed, "rollback; listen news"), "0A000");
}

#[test]
fn savepoints_take_back_what_came_after_them_and_heal_a_failed_transaction() {
    let mut bed = accounts();
    bed.run("begin; savepoint a; delete from account; savepoint b")
        .unwrap();
    assert_eq!(state(&mut bed, "select nope"), "42703");
    bed.run("rollback to a").unwrap();
    assert_eq!(one(&mut bed, "select count(*) from account"), "2");
    assert_eq!(state(&mut bed, "rollback to b"), "3B001");
    bed.run("rollback").unwrap();
    assert_eq!(state(&mut bed, "savepoint a"), "25P01");
}

#[test]
fn several_statements_of_one_text_are_one_transaction() {
    let mut bed = accounts();
    let failed = bed.run("delete from account; insert into account values (1, null)");
    assert_eq!(failed.unwrap_err().state().code(), "23502");
    assert_eq!(one(&mut bed, "select count(*) from account"), "2");
}

#[test]
fn a_writer_waits_for_the_other_and_then_sees_what_it_has_done() {
    let mut bed = accounts();
    let other = bed.client();
    bed.run("begin; update account set balance = balance + 1 where id = 1")
        .unwrap();
    bed.send_to(
        &other,
        "update account set balance = balance * 2 where id = 1 returning balance",
    );
    assert!(bed.is_waiting(&other));
    bed.run("commit").unwrap();
    assert_eq!(bed.reply_of(&other).unwrap().rows, [["202"]]);
    // Conditions are checked again: the row that satisfied them does no longer.
    bed.run("begin; update account set balance = 0 where id = 2")
        .unwrap();
    bed.send_to(
        &other,
        "delete from account where balance = 200 returning id",
    );
    assert!(bed.is_waiting(&other));
    bed.run("commit").unwrap();
    assert!(bed.reply_of(&other).unwrap().rows.is_empty());
}

/// A failed block once kept its locks until its client said ROLLBACK, which may be never.
#[test]
fn a_block_that_has_failed_is_in_nobodys_way() {
    let mut bed = accounts();
    let other = bed.client();
    bed.run("begin; select pg_advisory_xact_lock(1); update account set balance = 0 where id = 1")
        .unwrap();
    assert_eq!(state(&mut bed, "select 1 / 0"), "22012");
    bed.run_in(&other, "update account set balance = balance + 1")
        .unwrap();
    assert_eq!(lock_in(&mut bed, &other, "1"), "t");
    assert_eq!(state(&mut bed, "select 1"), "25P02");
    bed.run("rollback").unwrap();
    assert_eq!(
        one(&mut bed, "select balance from account order by 1"),
        "101;201"
    );

    // Statements before the block's last savepoint can still be committed.
    bed.run("begin; update account set balance = 0 where id = 1; savepoint s")
        .unwrap();
    bed.run("update account set balance = 0 where id = 2")
        .unwrap();
    assert_eq!(state(&mut bed, "select 1 / 0"), "22012");
    bed.run_in(&other, "update account set balance = 7 where id = 2")
        .unwrap();
    bed.send_to(
        &other,
        "update account set balance = balance + 1 where id = 1",
    );
    assert!(bed.is_waiting(&other));
    assert_eq!(state(&mut bed, "select 1"), "25P02");
    bed.run("rollback to s; update account set balance = balance + 1 where id = 1; commit")
        .unwrap();
    bed.reply_of(&other).unwrap();
    assert_eq!(
        one(&mut bed, "select balance from account order by id"),
        "2;7"
    );
    // Definitions before the last savepoint can be committed, too.
    bed.run("begin; create table made (a int); savepoint s; create table more (a int)")
        .unwrap();
    assert_eq!(state(&mut bed, "select 1 / 0"), "22012");
    bed.run("rollback to s; insert into made values (1); commit")
        .unwrap();
    assert_eq!(one(&mut bed, "select a from made"), "1");
    assert_eq!(state(&mut bed, "select a from more"), "42P01");
}

/// COMMIT once waited for a key's owner, and obeyed neither its client nor a time limit.
#[test]
fn deferred_checks_hear_a_time_limit() {
    let mut bed = Bed::new();
    bed.run(
        "create table p (id int primary key);
         create table c (p int references p deferrable initially deferred);
         insert into p values (1)",
    )
    .unwrap();
    let other = bed.client();
    bed.run_in(&other, "begin; delete from p").unwrap();
    bed.run("set statement_timeout = '50ms'").unwrap();
    assert_eq!(state(&mut bed, "insert into c values (1)"), "57014");
    bed.run("begin; insert into c values (1)").unwrap();
    assert_eq!(state(&mut bed, "commit"), "57014");
    bed.run_in(&other, "rollback").unwrap();
    assert_eq!(one(&mut bed, "select count(*) from c"), "0");
}

/// Rows of one INSERT go in beside each other: a row that waited for another transaction's once
/// held back the error of the row before it, for as long as that transaction liked.
#[test]
fn a_row_that_fails_does_not_wait_for_those_behind_it() {
    let mut bed = accounts();
    let other = bed.client();
    bed.run("begin; insert into account values (3, 300)")
        .unwrap();
    bed.send_to(
        &other,
        "begin; savepoint a; insert into account values (4, 0), (1, 0), (3, 0), (1, 0)",
    );
    assert!(!bed.is_waiting(&other));
    let refused = bed.reply_of(&other).unwrap_err();
    assert_eq!(refused.state().code(), "23505");
    assert_eq!(refused.detail_text(), Some("Key (id)=(1) already exists."));
    // The rows before one that fails are waited for: they might fail, too.
    bed.send_to(
        &other,
        "rollback to a; insert into account values (3, 0), (1, 0)",
    );
    assert!(bed.is_waiting(&other));
    bed.run("commit").unwrap();
    let refused = bed.reply_of(&other).unwrap_err();
    assert_eq!(refused.detail_text(), Some("Key (id)=(3) already exists."));
    bed.run_in(
        &other,
        "rollback to a; insert into account values (4, 0); commit",
    )
    .unwrap();
    assert_eq!(
        one(&mut bed, "select id from account order by id"),
        "1;2;3;4"
    );
}

#[test]
fn who_closes_a_circle_of_waiting_is_told_of_a_deadlock() {
    let mut bed = accounts();
    let other = bed.client();
    bed.run("begin; update account set balance = 1 where id = 1")
        .unwrap();
    bed.run_in(&other, "begin; update account set balance = 2 where id = 2")
        .unwrap();
    bed.send_to(&other, "update account set balance = 2 where id = 1");
    assert!(bed.is_waiting(&other));
    let mine = bed.run("update account set balance = 1 where id = 2");
    let theirs = match &mine {
        Err(_) => {
            bed.run("rollback").unwrap();
            bed.reply_of(&other)
        }
        Ok(_) => bed.reply_of(&other),
    };
    let failed: Vec<String> = [mine, theirs]
        .into_iter()
        .filter_map(|reply| Some(reply.err()?.state().code().to_owned()))
        .collect();
    assert_eq!(failed, ["40P01"]);
}

#[test]
fn a_snapshot_stays_as_it_was_and_refuses_to_overwrite_what_is_newer() {
    let mut bed = accounts();
    let other = bed.client();
    bed.run("begin isolation level repeatable read; select * from account")
        .unwrap();
    bed.run_in(&other, "update account set balance = 7 where id = 1")
        .unwrap();
    assert_eq!(
        one(&mut bed, "select balance from account where id = 1"),
        "100"
    );
    assert_eq!(
        state(&mut bed, "update account set balance = 8 where id = 1"),
        "40001"
    );
    bed.run("rollback").unwrap();
    assert_eq!(
        one_in(&mut bed, &other, "select balance from account where id = 1"),
        "7"
    );
}

#[test]
fn rows_are_locked_passed_over_or_refused() {
    let mut bed = accounts();
    let other = bed.client();
    assert_eq!(
        one(
            &mut bed,
            "begin; select id from account where id = 1 for update"
        ),
        "1"
    );
    let skipped = "select id from account order by id for update skip locked";
    assert_eq!(one_in(&mut bed, &other, skipped), "2");
    let refused = bed.run_in(
        &other,
        "select id from account where id = 1 for update nowait",
    );
    assert_eq!(refused.unwrap_err().state().code(), "55P03");
    bed.send_to(&other, "select balance from account where id = 1 for share");
    assert!(bed.is_waiting(&other));
    bed.run("update account set balance = 5 where id = 1; commit")
        .unwrap();
    assert_eq!(bed.reply_of(&other).unwrap().rows, [["5"]]);
}

#[test]
fn definitions_are_rolled_back_with_the_rows() {
    let mut bed = accounts();
    bed.run("begin; create table made (a int); insert into made values (1); drop table account")
        .unwrap();
    assert_eq!(one(&mut bed, "select a from made"), "1");
    assert_eq!(state(&mut bed, "select * from account"), "42P01");
    bed.run("rollback").unwrap();
    assert_eq!(state(&mut bed, "select a from made"), "42P01");
    assert_eq!(one(&mut bed, "select count(*) from account"), "2");
}

#[test]
fn a_plan_does_not_outlive_its_table() {
    let mut bed = accounts();
    let other = bed.client();
    let asked = "select count(*) from account where balance > 0";
    assert_eq!(one(&mut bed, asked), "2");
    bed.run_in(
        &other,
        "drop table account; create table account (balance text)",
    )
    .unwrap();
    assert_eq!(state(&mut bed, asked), "42883");
    bed.run_in(
        &other,
        "drop table account; create table account (balance bigint)",
    )
    .unwrap();
    assert_eq!(one(&mut bed, asked), "0");
    bed.run_in(&other, "insert into account values (5), (-5)")
        .unwrap();
    assert_eq!(one(&mut bed, asked), "1");
}

#[test]
fn a_definition_waits_for_who_uses_the_table() {
    let mut bed = accounts();
    let other = bed.client();
    bed.run("begin; select * from account").unwrap();
    bed.send_to(&other, "drop table account");
    assert!(bed.is_waiting(&other));
    bed.run("insert into account values (3, 3); commit")
        .unwrap();
    bed.reply_of(&other).unwrap();
    assert_eq!(state(&mut bed, "select * from account"), "42P01");
}

#[test]
fn statements_that_differ_in_literals_only_are_answered_each_by_its_own() {
    let mut bed = accounts();
    for (id, balance) in [(1, "100"), (2, "200"), (3, "")] {
        let asked = format!("select balance from account where id = {id}");
        assert_eq!(one(&mut bed, &asked), balance);
    }
    assert_eq!(
        one(&mut bed, "select 'a', 1 from account order by 2, 1 limit 1"),
        "a,1"
    );
    assert_eq!(
        one(&mut bed, "select 'b', 2 from account order by 2, 1 limit 2"),
        "b,2;b,2"
    );
    assert_eq!(
        one(&mut bed, "select id from account where id = 3000000000"),
        ""
    );
    assert_eq!(
        one(
            &mut bed,
            "select id from account where id < 3000000000 order by id"
        ),
        "1;2"
    );
}

/// The aggregates were once refused, and before that computed over the inner query's rows. The
/// inner query has a row for each account; the outer query is answered only if the inner one is
/// limited to one row.
#[test]
fn an_aggregate_over_columns_of_an_outer_query_is_the_outer_querys() {
    let mut bed = accounts();
    for (argument, answer) in [
        ("sum(account.balance)", "300"),
        (
            "count(account.balance in (select balance from account))",
            "2",
        ),
        (
            "count((select max(third.balance) from account third where third.id = account.id))",
            "2",
        ),
        (
            "count((select account.balance in (select third.balance from account third limit 1)))",
            "2",
        ),
    ] {
        let text = format!("select (select {argument} from account other) from account");
        assert_eq!(state(&mut bed, &text), "21000", "{argument}");
        let text = format!("select (select {argument} from account other limit 1) from account");
        assert_eq!(one(&mut bed, &text), answer, "{argument}");
    }
    let text = "select (select sum(account.balance + other.balance) from account other) \
                from account order by id";
    assert_eq!(one(&mut bed, text), "500;700");
}

/// The remaining rows of an open cursor are computed before its transaction writes. Rows that it
/// locks were once all locked at once then, and a session that takes work from a queue row by row
/// kept all of it from the others.
#[test]
fn a_cursor_locks_the_rows_that_were_fetched_and_no_others() {
    let mut bed = accounts();
    let other = bed.client();
    bed.run("begin; declare c cursor for select id from account order by id for update")
        .unwrap();
    assert_eq!(one(&mut bed, "fetch c"), "1");
    bed.run("insert into account values (3, 300)").unwrap();
    let free = "select id from account order by id for update skip locked";
    assert_eq!(one_in(&mut bed, &other, free), "2");
    assert_eq!(one(&mut bed, "fetch all from c"), "2");
    assert_eq!(one_in(&mut bed, &other, free), "");
}

#[test]
fn a_cursor_that_has_failed_is_there_and_cannot_be_run_on() {
    let mut bed = accounts();
    let failing = "begin; declare c cursor for select 1 / (id - 2) from account order by id; \
                   savepoint s";
    // The cursor fails at the fetch, and before a statement that writes.
    for writing in ["", "update account set balance = 1"] {
        bed.run(failing).unwrap();
        bed.run(writing).unwrap();
        assert_eq!(state(&mut bed, "fetch all from c"), "22012");
        bed.run("rollback to s").unwrap();
        assert_eq!(state(&mut bed, "fetch all from c"), "55000");
        bed.run("rollback to s; close c; rollback").unwrap();
    }
}

#[test]
fn cursors_of_earlier_transactions_stay_when_one_cannot_be_completed() {
    let mut bed = accounts();
    bed.run("begin; declare kept cursor with hold for select id from account order by id; commit")
        .unwrap();
    let failing = "begin; declare c cursor with hold for select 1 / (id - 2) from account; commit";
    assert_eq!(state(&mut bed, failing), "22012");
    assert_eq!(one(&mut bed, "fetch all from kept"), "1;2");
    assert_eq!(state(&mut bed, "fetch c"), "34000");
}

/// Returns whether a session gets a lock at once.
fn lock_in(bed: &mut Bed, client: &Client, key: &str) -> String {
    one_in(bed, client, &format!("select pg_try_advisory_lock({key})"))
}

#[test]
fn who_sleeps_keeps_nobody_waiting_and_hears_of_timeouts() {
    let mut bed = accounts();
    let (sleeper, limited) = (bed.client(), bed.client());
    bed.send_to(&sleeper, "select pg_sleep(0.2), 'awake'");
    bed.send_to(
        &limited,
        "set statement_timeout = '20ms'; select pg_sleep(3600)",
    );
    // Both statements wait for time alone, and this one goes on beside them.
    assert_eq!(one(&mut bed, "select count(*) from account"), "2");
    assert!(bed.is_waiting(&sleeper));
    let failed = bed.reply_of(&limited).unwrap_err();
    assert_eq!(
        failed.message(),
        "canceling statement due to statement timeout"
    );
    assert!(bed.is_waiting(&sleeper));
    assert_eq!(bed.reply_of(&sleeper).unwrap().rows, [["", "awake"]]);
}

#[test]
fn an_advisory_lock_is_waited_for_and_outlives_its_transaction() {
    let mut bed = Bed::new();
    let (other, third) = (bed.client(), bed.client());
    bed.run("begin; select pg_advisory_lock(7); rollback")
        .unwrap();
    assert_eq!(lock_in(&mut bed, &other, "7"), "f");
    assert_eq!(lock_in(&mut bed, &other, "0, 7"), "t");
    bed.send_to(&other, "select pg_advisory_lock_shared(7)");
    bed.send_to(&third, "select pg_advisory_lock_shared(7)");
    assert!(bed.is_waiting(&other) && bed.is_waiting(&third));
    assert_eq!(one(&mut bed, "select pg_advisory_unlock(7)"), "t");
    bed.reply_of(&other).unwrap();
    bed.reply_of(&third).unwrap();
    assert_eq!(one(&mut bed, "select pg_try_advisory_lock(7)"), "f");
    // A session's locks end with it.
    drop(other);
    bed.send_to(&third, "select pg_advisory_unlock_all()");
    bed.reply_of(&third).unwrap();
    let answer = bed.run("select pg_advisory_lock(7), pg_advisory_lock(0, 7)");
    assert_eq!(answer.unwrap().rows.len(), 1);
}

#[test]
fn advisory_locks_of_a_transaction_end_with_it_or_with_its_savepoint() {
    let mut bed = Bed::new();
    let other = bed.client();
    bed.run("begin; select pg_advisory_xact_lock(1); savepoint s; select pg_advisory_xact_lock(2)")
        .unwrap();
    bed.run("select pg_advisory_lock(3)").unwrap();
    for key in ["1", "2", "3"] {
        assert_eq!(lock_in(&mut bed, &other, key), "f");
    }
    bed.run("rollback to s").unwrap();
    assert_eq!(lock_in(&mut bed, &other, "2"), "t");
    assert_eq!(lock_in(&mut bed, &other, "1"), "f");
    assert_eq!(lock_in(&mut bed, &other, "3"), "f");
    bed.run("commit").unwrap();
    assert_eq!(lock_in(&mut bed, &other, "1"), "t");
    assert_eq!(lock_in(&mut bed, &other, "3"), "f");
    bed.run("discard all").unwrap();
    assert_eq!(lock_in(&mut bed, &other, "3"), "t");
    let answer = bed.run("select pg_advisory_unlock(3), pg_advisory_unlock_shared(3)");
    assert_eq!(
        answer.unwrap().notices,
        [
            "01000 you don't own a lock of type ExclusiveLock",
            "01000 you don't own a lock of type ShareLock"
        ]
    );
}

#[test]
fn waits_for_advisory_locks_end_by_deadlock_detection_and_by_timeouts() {
    let mut bed = Bed::new();
    let other = bed.client();
    bed.run("select pg_advisory_lock(1)").unwrap();
    bed.run_in(&other, "select pg_advisory_lock(2)").unwrap();
    bed.send_to(&other, "select pg_advisory_lock(1)");
    assert!(bed.is_waiting(&other));
    assert_eq!(state(&mut bed, "select pg_advisory_lock(2)"), "40P01");
    assert!(bed.is_waiting(&other));
    bed.run("select pg_advisory_unlock(1)").unwrap();
    bed.reply_of(&other).unwrap();
    for limit in ["lock_timeout", "statement_timeout"] {
        let text = format!("set {limit} = '10ms'; select pg_advisory_xact_lock(1)");
        let failed = bed.run(&text).unwrap_err();
        let expected = format!("canceling statement due to {}", limit.replace('_', " "));
        assert_eq!(failed.message(), expected);
        bed.run("reset all").unwrap();
    }
    // A session that has given up is in no other's way.
    bed.run_in(&other, "select pg_advisory_unlock_all()")
        .unwrap();
    assert_eq!(one(&mut bed, "select pg_try_advisory_lock(1)"), "t");
}

/// A cursor whose rows were computed went on after a failed FETCH, from wherever that had come to: one that outlived
/// its transaction, and one that had come to its end. A cursor WITH HOLD that had failed kept its transaction from
/// committing. As PostgreSQL 15 answers.
#[test]
fn a_cursor_that_has_failed_cannot_be_run_on() {
    const BACK: &str = "fetch backward 1 from c";
    let mut bed = accounts();
    let declare = "declare c no scroll cursor with hold for select generate_series(1, 5)";
    bed.run(declare).unwrap();
    assert_eq!(one(&mut bed, "fetch 2 from c"), "1;2");
    let failed = bed.run(BACK).unwrap_err();
    assert_eq!(failed.message(), "cursor can only scan forward");
    let refused = bed.run("fetch 1 from c").unwrap_err();
    assert_eq!(refused.message(), "portal \"c\" cannot be run");
    assert_eq!(state(&mut bed, "move 1 from c"), "55000");
    bed.run("close c").unwrap();
    for (fetch, rows) in [("fetch all from c", "1;2;3;4;5"), ("fetch 2 from c", "1;2")] {
        bed.run(&format!("begin; {declare}")).unwrap();
        assert_eq!(one(&mut bed, fetch), rows);
        bed.run("savepoint s").unwrap();
        assert_eq!(state(&mut bed, BACK), "55000");
        bed.run("rollback to s").unwrap();
        let refused = bed.run("fetch 1 from c").unwrap_err();
        assert_eq!(refused.message(), "portal \"c\" cannot be run");
        bed.run("rollback to s").unwrap();
        assert_eq!(bed.run("commit").unwrap().tags, ["COMMIT"]);
        assert_eq!(state(&mut bed, "fetch 1 from c"), "34000");
    }
}
