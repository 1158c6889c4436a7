//! Settings that end statements, notices beside results, and the state that a session can forget.

use crate::bed::{Bed, Client};

fn table() -> Bed {
    let mut bed = Bed::new();
    bed.run("create table account (id int primary key, balance int not null)")
        .unwrap();
    bed.run("insert into account values (1, 100), (2, 200)")
        .unwrap();
    bed
}

fn one(bed: &mut Bed, text: &str) -> String {
    let answer = bed.run(text).unwrap();
    let rows: Vec<String> = answer.rows.iter().map(|row| row.join(",")).collect();
    rows.join(";")
}

fn refused(bed: &mut Bed, client: &Client, text: &str) -> (String, String) {
    let error = bed.run_in(client, text).unwrap_err();
    (error.state().code().to_owned(), error.message().to_owned())
}

fn timed_out() -> (String, String) {
    (
        "57014".to_owned(),
        "canceling statement due to statement timeout".to_owned(),
    )
}

#[test]
fn a_statement_timeout_ends_a_wait_for_a_row_and_for_a_table() {
    let mut bed = table();
    let other = bed.client();
    bed.run("begin; update account set balance = 0 where id = 1")
        .unwrap();
    bed.run_in(&other, "set statement_timeout = 20").unwrap();
    assert_eq!(
        refused(&mut bed, &other, "delete from account where id = 1"),
        timed_out()
    );
    assert_eq!(
        refused(&mut bed, &other, "begin; lock table account"),
        timed_out()
    );
    // The row that the statement waited for can be had once it is free.
    bed.run("commit").unwrap();
    bed.run_in(&other, "rollback; delete from account where id = 1")
        .unwrap();
    assert_eq!(one(&mut bed, "select count(*) from account"), "1");
}

#[test]
fn a_statement_timeout_ends_a_computation() {
    let mut bed = table();
    let client = bed.client();
    bed.run_in(&client, "set statement_timeout = 20").unwrap();
    let text = "select count(*) from generate_series(1, 100000) a, generate_series(1, 100000) b \
                where a + b < 0";
    assert_eq!(refused(&mut bed, &client, text), timed_out());
    let prepared = format!("prepare p as {text}; execute p");
    assert_eq!(refused(&mut bed, &client, &prepared), timed_out());
    let cursor = format!("begin; declare c cursor for {text}; fetch c");
    assert_eq!(refused(&mut bed, &client, &cursor), timed_out());
}

#[test]
fn a_lock_timeout_ends_a_wait_and_nothing_else() {
    let mut bed = table();
    let other = bed.client();
    bed.run("begin; update account set balance = 0 where id = 1")
        .unwrap();
    bed.run_in(&other, "set lock_timeout = 20").unwrap();
    let late = (
        "55P03".to_owned(),
        "canceling statement due to lock timeout".to_owned(),
    );
    assert_eq!(
        refused(&mut bed, &other, "delete from account where id = 1"),
        late
    );
    assert_eq!(refused(&mut bed, &other, "begin; lock table account"), late);
    // A limit that is set within a transaction counts from then on.
    let text = "rollback; begin; set local lock_timeout = 0; set local statement_timeout = 20; \
                delete from account where id = 1";
    assert_eq!(refused(&mut bed, &other, text), timed_out());
    bed.run_in(&other, "rollback").unwrap();
    let text = "lock table account in share mode nowait";
    let error = bed.run_in(&other, &format!("begin; {text}")).unwrap_err();
    assert_eq!(
        (error.state().code(), error.message()),
        ("55P03", "could not obtain lock on relation \"account\"")
    );
}

#[test]
fn a_default_isolation_level_is_that_of_transactions() {
    let mut bed = table();
    let other = bed.client();
    let sum = "select sum(balance) from account";
    let see = |bed: &mut Bed, begin: &str| {
        bed.run(&format!("{begin}; {sum}")).unwrap();
        bed.run_in(
            &other,
            "update account set balance = balance + 1 where id = 1",
        )
        .unwrap();
        let before = one(bed, "select balance from account where id = 1");
        bed.run("commit").unwrap();
        let after = one(bed, "select balance from account where id = 1");
        before == after
    };
    assert!(see(&mut bed, "begin"));
    bed.run("set default_transaction_isolation = 'repeatable read'")
        .unwrap();
    assert!(!see(&mut bed, "begin"));
    assert!(see(&mut bed, "begin isolation level read committed"));
    bed.run("reset all").unwrap();
    assert!(see(&mut bed, "begin"));
}

#[test]
fn a_statement_that_means_little_where_it_is_warns() {
    let mut bed = table();
    let mut notices = |text: &str| bed.run(text).unwrap().notices;
    assert_eq!(
        notices("begin; begin"),
        ["25001 there is already a transaction in progress"]
    );
    assert_eq!(notices("commit"), [""; 0]);
    assert_eq!(
        notices("commit"),
        ["25P01 there is no transaction in progress"]
    );
    assert_eq!(
        notices("set local work_mem = 100"),
        ["25P01 SET LOCAL can only be used in transaction blocks"]
    );
    assert_eq!(
        notices("set transaction read only"),
        ["25P01 SET TRANSACTION can only be used in transaction blocks"]
    );
    assert_eq!(notices("set client_min_messages = error; commit"), [""; 0]);
}

#[test]
fn discard_all_forgets_what_the_session_was_told() {
    let mut bed = table();
    bed.run(
        "set statement_timeout = 5000; prepare p as select 1; begin; \
         declare c cursor with hold for select 1; commit",
    )
    .unwrap();
    assert_eq!(one(&mut bed, "execute p"), "1");
    bed.run("discard all").unwrap();
    assert_eq!(one(&mut bed, "show statement_timeout"), "0");
    assert_eq!(bed.run("execute p").unwrap_err().state().code(), "26000");
    assert_eq!(bed.run("fetch c").unwrap_err().state().code(), "34000");
}

#[test]
fn a_function_sets_as_set_does() {
    let mut bed = table();
    let text = "begin; select set_config('search_path', '', true); select id from account";
    assert_eq!(bed.run(text).unwrap_err().state().code(), "42P01");
    bed.run("rollback").unwrap();
    assert_eq!(one(&mut bed, "select count(*) from account"), "2");
    bed.run("select set_config('search_path', '', false)")
        .unwrap();
    assert_eq!(one(&mut bed, "show search_path"), "");
    assert_eq!(
        bed.run("select id from account")
            .unwrap_err()
            .state()
            .code(),
        "42P01"
    );
}

#[test]
fn a_prepared_statement_follows_its_tables() {
    let mut bed = table();
    bed.run("prepare p (int) as select balance from account where id = $1")
        .unwrap();
    assert_eq!(one(&mut bed, "execute p (2)"), "200");
    bed.run("create index on account (balance)").unwrap();
    assert_eq!(one(&mut bed, "execute p (1)"), "100");
    bed.run("drop table account").unwrap();
    let error = bed.run("execute p (1)").unwrap_err();
    assert_eq!(error.state().code(), "42P01");
}

#[test]
fn roles_are_managed_by_who_may() {
    let mut bed = table();
    let notices = bed.run("create role reader login").unwrap().notices;
    assert_eq!(
        notices,
        ["01000 role \"reader\" can read and change all tables"]
    );
    bed.run("create user chief superuser; create role clerk createrole")
        .unwrap();
    assert_eq!(
        one(
            &mut bed,
            "set role reader; select current_user, session_user"
        ),
        "reader,weft"
    );
    assert_eq!(one(&mut bed, "show is_superuser"), "off");
    for (text, state) in [
        ("create role other", "42501"),
        ("alter role chief nologin", "42501"),
        ("drop role clerk", "42501"),
    ] {
        assert_eq!(bed.run(text).unwrap_err().state().code(), state, "{text}");
    }
    bed.run("set role clerk; create role other; drop role other")
        .unwrap();
    for (text, state) in [
        ("create role other superuser", "42501"),
        ("drop role chief", "42501"),
        ("drop role clerk", "55006"),
    ] {
        assert_eq!(bed.run(text).unwrap_err().state().code(), state, "{text}");
    }
    bed.run("reset role; alter role chief rename to captain; drop role captain, clerk")
        .unwrap();
    assert_eq!(
        bed.run("drop role weft").unwrap_err().state().code(),
        "55006"
    );
    assert_eq!(
        bed.run("begin; create role gone; rollback; drop role gone")
            .unwrap_err()
            .state()
            .code(),
        "42704"
    );
    bed.run("drop role if exists gone").unwrap();
}

/// A value that a failed statement had given a setting was in force from the next statement on.
#[test]
fn a_setting_of_a_failed_statement_stays_as_it_was() {
    let mut bed = Bed::new();
    let fails = "select set_config('a.b', 'lost', false), 1 / (i - 1) from generate_series(1, 1) i";
    let held = format!("declare c cursor with hold for {fails}; commit");
    let kept = "select current_setting('a.b')";
    bed.run("set a.b = 'kept'").unwrap();
    for (begin, fails, end) in [
        ("select 1", fails, "select 1"),
        ("begin; savepoint s", fails, "rollback to s"),
        ("rollback; begin", fails, "rollback"),
        ("begin", &held, "select 1"),
    ] {
        bed.run(begin).unwrap();
        assert_eq!(bed.run(fails).unwrap_err().state().code(), "22012");
        bed.run(end).unwrap();
        for _ in 0..2 {
            assert_eq!(bed.run(kept).unwrap().rows, [["kept"]], "{begin}");
        }
    }
}

/// Custom settings whose class begins as the settings of transactions do were taken, and not set.
#[test]
fn custom_settings_have_any_class() {
    let mut bed = Bed::new();
    bed.run("set transaction_a.b = 'x'").unwrap();
    assert_eq!(bed.run("show transaction_a.b").unwrap().rows, [["x"]]);
    let many = "select count(set_config('a.b' || i, '', false)) from generate_series(1, 10001) i";
    assert_eq!(bed.run(many).unwrap_err().state().code(), "54000");
    // The last value of a name in its scope counts, and one of the transaction hides that of the session.
    let text = "begin; select set_config('a.c', 'session', false), set_config('a.c', 'local', true),
        current_setting('a.c'); select current_setting('a.c'); commit; select current_setting('a.c')";
    assert_eq!(bed.run(text).unwrap().rows, [["session"]]);
    let text = "select set_config('a.c', 'local', true), set_config('a.c', 'newer', false),
        current_setting('a.c')";
    assert_eq!(bed.run(text).unwrap().rows, [["local", "newer", "newer"]]);
    bed.run("discard all").unwrap();
    assert_eq!(bed.run("show a.c").unwrap_err().state().code(), "42704");
}

/// The end of a session authorization ends SET ROLE also if nothing had set one, and settings of one statement take
/// effect in the order of their calls: by their names, `role` came before the authorization that ends it.
#[test]
fn a_session_authorization_ends_the_role() {
    let mut bed = Bed::new();
    bed.run("create role r1 superuser; create role r2").unwrap();
    let login = bed.run("select current_user").unwrap().rows;
    for end in [
        "set session authorization default",
        "reset session authorization",
    ] {
        bed.run("set role r2").unwrap();
        assert_eq!(bed.run("select current_user").unwrap().rows, [["r2"]]);
        bed.run(end).unwrap();
        assert_eq!(bed.run("select current_user").unwrap().rows, login);
    }
    let both =
        "select set_config('session_authorization', 'r1', false), set_config('role', 'r2', false);
        select session_user, current_user";
    assert_eq!(bed.run(both).unwrap().rows, [["r1", "r2"]]);
}
