//! No statement ends the process, doubles in time for each level, or keeps its worker to itself.
//!
//! A text, or a value in it, can repeat any construct as often as a client likes. Each is tried
//! with few and with very many repetitions: there is an answer, or the error that says which bound
//! was met. The tests run on a stack as small as a worker's.
//!
//! *The story*: `select 1+1+...` with 2,000 terms, 3,000 ORs, 400 UNION ALLs, 400 nested CASEs and
//! 200 nested subqueries overflowed the worker's stack, which ended the process for all clients. 21
//! nested calls took 7.8 s and 50 never ended, with a parser that tries each argument twice; 500
//! nested arrays and a cross join of 600 subqueries held their worker for good, and obeyed neither
//! a cancel nor a time limit.
//!
//! A further construct goes into a list of `hostile/`: its name, its text for `n` repetitions, the
//! number of repetitions up to which it has an answer, and the errors that it may end with.

mod construct;
mod data;
mod deep;
mod wide;

use std::time::{Duration, Instant};

use crate::bed::Bed;
use construct::Construct;

const REPETITIONS: [usize; 4] = [10, 1_000, 10_000, 100_000];

/// Repetitions of chains, lists and data, where each takes its time; those of [`LONGEST`] are tried
/// with more.
const WIDE_MAX: usize = 1_000;

/// Chains that are tried with the most repetitions. With `HOSTILE=all` all chains are, and with
/// `HOSTILE='sum of columns'` that one alone.
const LONGEST: [&str; 10] = [
    "concatenation of columns",
    "sum of columns",
    "or",
    "alternatives with a common condition",
    "alternatives over two tables",
    "conditions of an alternative",
    "union all",
    "casts",
    "subqueries in from",
    "lists of columns behind set null",
];

/// Bytes of a worker's stack (`interleave`, `runtime.rs`).
const WORKER_STACK_BYTES: usize = 16 << 20;

/// Time limit: far more than any construct takes, and far less than one takes whose time doubles
/// for each level.
const TIME_MAX: Duration = Duration::from_secs(600);

/// Runs a test on a thread with the stack of a worker.
pub(crate) fn on_a_workers_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(WORKER_STACK_BYTES);
    let ended = thread.spawn(test).unwrap().join();
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic);
    }
}

/// Runs all repetitions of some constructs; returns those that did not end as they may.
#[allow(clippy::print_stdout, reason = "a run by hand is watched")]
fn wrong(bed: &mut Bed, constructs: &[Construct], most: usize) -> Vec<String> {
    let only = std::env::var("HOSTILE").ok();
    let is_all = only.as_deref() == Some("all");
    let only = only.filter(|_| !is_all);
    let mut wrong = Vec::new();
    for construct in constructs {
        if only.as_ref().is_some_and(|only| only != construct.name) {
            continue;
        }
        let is_longest = is_all || only.is_some() || LONGEST.contains(&construct.name);
        for times in REPETITIONS {
            if times > most && !is_longest {
                break;
            }
            let text = (construct.text)(times);
            let begun = Instant::now();
            let ended = match bed.run(&text) {
                Ok(_) => Ok(()),
                Err(error) => Err(format!("{} {}", error.state().code(), error.message())),
            };
            let took = begun.elapsed();
            let may = match &ended {
                Ok(()) => true,
                Err(error) => {
                    times > construct.answers_up_to
                        && construct.errors.iter().any(|code| error.starts_with(code))
                }
            };
            let told = format!("{} x {times}: {ended:?} in {took:?}", construct.name);
            if only.is_some() || took > Duration::from_secs(2) {
                println!("{told}");
            }
            if !may || took > TIME_MAX {
                println!("WRONG {told}");
                wrong.push(told);
            }
        }
    }
    wrong
}

fn all_end_as_they_may(constructs: fn() -> Vec<Construct>, most: usize) {
    on_a_workers_stack(move || {
        let wrong = wrong(&mut Bed::new(), &constructs(), most);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

#[test]
fn chains_and_lists_have_answers() {
    all_end_as_they_may(wide::constructs, WIDE_MAX);
}

#[test]
fn nesting_is_refused_beyond_its_bound() {
    all_end_as_they_may(deep::constructs, usize::MAX);
}

#[test]
fn data_does_not_decide_a_depth() {
    all_end_as_they_may(data::constructs, WIDE_MAX);
}

/// The constructs are run through a prepared statement, EXPLAIN, a view and a table's definition:
/// each has its own way to the phases, and its own place to drop their results.
#[test]
fn every_way_to_a_plan_bears_it() {
    on_a_workers_stack(|| {
        let mut bed = Bed::new();
        let sum = vec!["1"; 20_000].join("+");
        for text in [
            format!("prepare p as select {sum}"),
            format!("explain select {sum}"),
            format!("explain (verbose, format json) select {sum}"),
            format!("create view v as select {sum} as a"),
            "select * from v".to_owned(),
            format!("create table t (a int default ({sum}), check (a < {sum}))"),
            "insert into t default values".to_owned(),
            format!("create index i on t ((a + {sum}))"),
            format!("alter table t add column b int default ({sum})"),
            format!("alter table t add check (b < {sum})"),
            format!("create table u as select {sum} as a"),
            format!("copy (select {sum}) to stdout"),
            format!("update t set a = {sum}"),
            "select pg_get_expr(adbin, adrelid) is null from pg_attrdef".to_owned(),
            "prepare q as select $1 + 1".to_owned(),
            format!("execute q({sum})"),
        ] {
            let ended = bed.run(&text);
            if let Err(error) = ended {
                let shown: String = text.chars().take(60).collect();
                let state = error.state();
                let may = ["54001", "23514"].contains(&state.code());
                assert!(may, "{shown}: {} {}", state.code(), error.message());
            }
        }
    });
}

/// Statements of a text are read before the first is carried out, each with the one within it: a PREPARE within a
/// PREPARE was read with all within that again, so that 8,000 of them took half a minute.
#[test]
fn statements_within_statements_are_read_one_level_deep() {
    on_a_workers_stack(|| {
        let mut bed = Bed::new();
        for kind in ["prepare a as ", "declare c cursor for "] {
            let text = format!("select 1; {}select 1", kind.repeat(100_000));
            let error = bed.run(&text).unwrap_err();
            assert_eq!(error.state().code(), "42601", "{kind}");
        }
    });
}

/// Places in the query of a view were once counted in the query's text as the catalog keeps it, and told as places of
/// the client's text.
#[test]
fn errors_in_views_have_places_in_the_clients_text() {
    let mut bed = Bed::new();
    for text in [
        "create view v as select nothing",
        "select 1;\n create   view v as\n select nothing",
    ] {
        let error = bed.run(text).unwrap_err();
        let place = text.find("nothing").map(|at| at as u32 + 1);
        assert_eq!(error.position(), place, "{text}");
    }
}

/// A character beyond ASCII once had each statement of a line look for its place from the line's begin: 20,000
/// statements of 9 bytes took 6 s in a build with optimisation, without a turn for others.
#[test]
fn statements_in_one_line_are_found_in_it() {
    let mut bed = Bed::new();
    for last in ["x", "\u{e4}"] {
        let text = "select 1;".repeat(20_000) + "select nothing -- " + last;
        let sources = syntax::split(&text).unwrap();
        assert_eq!(sources.len(), 20_001);
        assert_eq!(sources[20_000].text(), "select nothing", "{last}");
        let error = bed.run(&text[9 * 19_990..]).unwrap_err();
        assert_eq!(error.position(), Some(9 * 10 + 8), "{last}");
    }
}

/// Views upon views are as deep as a client makes them.
#[test]
fn views_upon_views_are_bounded() {
    on_a_workers_stack(|| {
        let mut bed = Bed::new();
        bed.run("create view v0 as select 1 as a").unwrap();
        let mut refused = None;
        for at in 1..300 {
            let text = format!("create view v{at} as select a + 1 as a from v{}", at - 1);
            if let Err(error) = bed.run(&text) {
                refused = Some(error.state().code().to_owned());
                break;
            }
        }
        assert_eq!(refused.as_deref(), Some("54001"));
    });
}

/// Rows that refer to each other in a chain are deleted one after the other, however many.
#[test]
fn cascades_are_as_long_as_their_data() {
    on_a_workers_stack(|| {
        let mut bed = Bed::new();
        bed.run(
            "create table t (id int primary key, parent int references t on delete cascade); \
             create index on t (parent); \
             insert into t select i, nullif(i - 1, 0) from generate_series(1, 3000) i; \
             delete from t where id = 1",
        )
        .unwrap();
        let left = bed.run("select count(*) from t").unwrap();
        assert_eq!(left.rows, [["0"]]);
    });
}

/// A phase that takes long lets other tasks work, and obeys a time limit.
#[test]
fn a_phase_hears_a_time_limit() {
    on_a_workers_stack(|| {
        let mut bed = Bed::new();
        bed.run("set statement_timeout = '50ms'").unwrap();
        let text = format!("select {}", vec!["x"; 100_000].join(" + "));
        let begun = Instant::now();
        let error = bed
            .run(&format!("{text} from (values (1)) v(x)"))
            .unwrap_err();
        assert_eq!(error.state().code(), "57014");
        assert!(begun.elapsed() < Duration::from_secs(20));
        // A statement that was given up leaves the session as it was.
        bed.run("reset statement_timeout").unwrap();
        bed.run("select 1").unwrap();
    });
}
