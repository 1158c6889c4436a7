//! The driver over a bank of few accounts, honest and dishonest.

use std::ops::ControlFlow;

use weft::{Database, Options, Policy, Table, Transaction};

use super::driver::{Report, load};
use super::{Application, Reads, Source, Tally, missing, plan, rolled_back};
use bench::comparison::Asked;
use bench::measure::{Certifier, ConflictPolicy, Durability, Flusher, InFlight, Isolation};
use bench::mode::Mode;
use bench::report::Format;
use commands::Result;
use commands::progress::{Progress, Step};

const ACCOUNTS: u64 = 50;
const BALANCE: i64 = 100;

#[derive(Clone, Copy)]
enum Request {
    Transfer {
        from: u64,
        to: u64,
    },
    /// A transfer that is rolled back.
    Regret {
        from: u64,
    },
    Audit,
}

impl super::Request for Request {
    fn kind(&self) -> usize {
        match self {
            Self::Transfer { .. } => 0,
            Self::Regret { .. } => 1,
            Self::Audit => 2,
        }
    }

    fn only_reads(&self) -> bool {
        matches!(self, Self::Audit)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Conduct {
    Honest,
    /// Transfers lose money.
    LosesTransfers,
    /// A loaded account has more than the books say.
    LosesTheBooks,
}

#[derive(Clone)]
struct Bank {
    accounts: Table<u64, i64>,
    conduct: Conduct,
}

impl Application for Bank {
    type Settings = Conduct;
    type Request = Request;

    const NAME: &'static str = "bank";
    const KINDS: &'static [&'static str] = &["transfer", "regret", "audit"];

    fn load(&conduct: &Conduct, database: &Database, step: &Step) -> Result<Self> {
        let accounts: Table<u64, i64> = database.create_table("accounts").unwrap();
        let ours = accounts.clone();
        let loaded = database.run_blocking(async move |txn: &Transaction| {
            for account in 0..ACCOUNTS {
                let extra = i64::from(account == 0 && conduct == Conduct::LosesTheBooks);
                txn.insert(&ours, &account, &(BALANCE + extra)).await?;
            }
            Ok(())
        });
        loaded.unwrap();
        step.advance(ACCOUNTS);
        Ok(Self { accounts, conduct })
    }

    fn open(&conduct: &Conduct, database: &Database) -> Result<Self> {
        Ok(Self {
            accounts: database.open_table("accounts").unwrap(),
            conduct,
        })
    }

    fn load_steps(_: &Conduct) -> u64 {
        ACCOUNTS
    }

    fn source(&self, worker: usize, _workers: usize, seed: u64) -> Source<Request> {
        let mut state = seed.wrapping_add(worker as u64);
        Box::new(move || {
            state = bench::keys::mix(state.wrapping_add(1));
            let from = state % ACCOUNTS;
            match (state >> 32) % 10 {
                0 => Request::Audit,
                1 => Request::Regret { from },
                _ => Request::Transfer {
                    from,
                    to: (from + 1 + (state >> 40) % (ACCOUNTS - 1)) % ACCOUNTS,
                },
            }
        })
    }

    async fn execute<P: Policy>(
        &self,
        txn: &Transaction<P>,
        request: &Request,
        reads: Reads,
    ) -> weft::Result<u32> {
        let add = async |account: u64, amount: i64| {
            let balance = match reads {
                Reads::Single => txn.get(&self.accounts, &account).await?,
                Reads::Grouped => txn.multi_get(&self.accounts, &[account]).await?[0],
            };
            let balance = balance.ok_or_else(|| missing("account"))?;
            txn.update(&self.accounts, &account, &(balance + amount))
                .await
        };
        match *request {
            Request::Transfer { from, to } => {
                add(from, -1).await?;
                add(to, i64::from(self.conduct != Conduct::LosesTransfers)).await?;
                Ok(4)
            }
            Request::Regret { from } => {
                add(from, -1).await?;
                Err(rolled_back())
            }
            Request::Audit => Ok(txn.scan(&self.accounts, ..).count().await? as u32),
        }
    }

    fn frame_bytes<P: Policy>(&self, txn: &Transaction<P>) -> Vec<usize> {
        let of = |request| size_of_val(&self.execute(txn, &request, Reads::Single));
        let transfer = of(Request::Transfer { from: 0, to: 1 });
        vec![
            transfer,
            of(Request::Regret { from: 0 }),
            of(Request::Audit),
        ]
    }

    async fn inconsistencies<P: Policy>(&self, txn: &Transaction<P>) -> weft::Result<Vec<String>> {
        let mut sum = 0;
        let rows = txn.scan(&self.accounts, ..);
        rows.for_each(|_, balance| {
            sum += balance;
            ControlFlow::Continue(())
        })
        .await?;
        let expected = ACCOUNTS as i64 * BALANCE;
        Ok(match sum == expected {
            true => Vec::new(),
            false => vec![format!("the accounts have {sum}, not {expected}")],
        })
    }

    async fn tallies<P: Policy>(&self, _: &Transaction<P>) -> weft::Result<Vec<Tally>> {
        Ok(Vec::new())
    }
}

fn options(asked: Asked) -> plan::Options {
    plan::Options {
        asked,
        check_while_running: false,
        on_conflict: ConflictPolicy::Abort,
        offered: None,
    }
}

/// Returns settings for two workers, for a moment.
fn asked() -> Asked {
    Asked {
        declare_read_only: true,
        workers: 2,
        in_flight: InFlight::Fixed(8),
        seconds: 0.02,
        repeats: 2,
        ..Asked::default()
    }
}

fn load_and_measure(conduct: Conduct, plan: &plan::Plan, options: &Options) -> Result<Report> {
    let progress = Progress::hidden();
    load::<Bank>(&conduct, plan, options, &progress)?.measure(plan, &progress)
}

fn run(conduct: Conduct, options: plan::Options) -> Report {
    let plan = options.plan("usual").unwrap();
    load_and_measure(conduct, &plan, &Options::default()).unwrap()
}

#[test]
fn every_kind_is_measured_in_every_variant() {
    let report = run(
        Conduct::Honest,
        options(Asked {
            isolations: vec![Isolation::Snapshot, Isolation::Serializable],
            certifiers: Certifier::ALL.to_vec(),
            ..asked()
        }),
    );
    assert_eq!(report.inconsistencies, [""; 0]);
    assert!(report.outcome.verified());
    assert_eq!(report.outcome.summaries.len(), Mode::APPLICATION.len() * 3);
    for summary in &report.outcome.summaries {
        let [transfer, regret, audit] = &summary.median.kinds[..] else {
            panic!("three kinds: {summary:?}");
        };
        let rates = [transfer, regret, audit].map(|kind| kind.transactions_per_second);
        assert!(rates.iter().all(|&rate| rate > 0.0), "{rates:?}");
        assert_eq!((transfer.rolled_back, regret.rolled_back), (0.0, 1.0));
        assert!(transfer.frame_bytes > 0);
        let sum: f64 = rates.iter().sum();
        let all = summary.median.transactions_per_second;
        // The numbers are medians of two repeats each.
        assert!((sum / all - 1.0).abs() < 0.01, "{sum} of {all}");
    }
    for format in [Format::Table, Format::Csv, Format::Json] {
        let text = format.outcome(&report.outcome).unwrap();
        assert!(text.contains("hybrid"), "{text}");
    }
    let table = Format::Table.outcome(&report.outcome).unwrap();
    assert!(
        table.contains("regret") && table.contains("100.00 %"),
        "{table}"
    );
}

#[test]
fn who_writes_the_log_is_compared_on_databases_of_their_own() {
    let place = tempfile::tempdir().unwrap();
    let in_directory = Options {
        data_dir: Some(place.path().to_owned()),
        ..Options::default()
    };
    let asked = Asked {
        modes: vec![Mode::Sequential, Mode::Interleaved],
        durabilities: vec![Durability::Synchronous],
        flushers: Flusher::ALL.to_vec(),
        ..asked()
    };
    let plan = options(asked).plan("usual").unwrap();
    let report = load_and_measure(Conduct::Honest, &plan, &in_directory).unwrap();
    assert_eq!(report.inconsistencies, [""; 0]);
    let summaries = &report.outcome.summaries;
    let flushers: Vec<_> = summaries.iter().map(|all| all.median.flusher).collect();
    let both = Flusher::ALL.map(Some);
    assert_eq!(flushers, [both[0], both[0], both[1], both[1]]);
    // Each mode is compared with the sequential mode on the same database.
    assert!(summaries.iter().all(|all| all.times_sequential.is_some()));
    let mut directories: Vec<_> = std::fs::read_dir(place.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    directories.sort();
    assert_eq!(directories, ["ssn-thread", "ssn-workers"]);
    let table = Format::Table.outcome(&report.outcome).unwrap();
    assert!(table.contains("flusher-thread"), "{table}");
}

#[test]
fn money_lost_is_told_after_the_run_that_lost_it() {
    let report = run(
        Conduct::LosesTransfers,
        options(Asked {
            modes: vec![Mode::Sequential],
            ..asked()
        }),
    );
    assert!(!report.outcome.verified());
    assert_eq!(report.inconsistencies.len(), 2, "one for each repeat");
    let first = &report.inconsistencies[0];
    assert!(first.contains("after a run of sequential"), "{first}");
}

#[test]
fn checks_beside_clients_find_nothing() {
    let report = run(
        Conduct::Honest,
        plan::Options {
            check_while_running: true,
            ..options(Asked {
                isolations: vec![Isolation::Snapshot, Isolation::Serializable],
                ..asked()
            })
        },
    );
    assert_eq!(report.inconsistencies, [""; 0]);
    let runs = report.outcome.repeats.iter().flatten();
    let checks: Vec<_> = runs
        .map(|run| run.extra["checks_while_running"] as u64)
        .collect();
    assert!(checks.iter().all(|&checks| checks > 0), "{checks:?}");
    assert_eq!(checks.iter().sum::<u64>(), report.checks_while_running);
}

#[test]
fn money_lost_is_told_while_it_is_lost() {
    let report = run(
        Conduct::LosesTransfers,
        plan::Options {
            check_while_running: true,
            ..options(Asked {
                modes: vec![Mode::Interleaved],
                isolations: vec![Isolation::ReadCommitted],
                seconds: 0.2,
                ..asked()
            })
        },
    );
    assert!(!report.outcome.verified());
    let during = |found: &&String| found.starts_with("during a run of interleaved");
    let told = report.inconsistencies.iter().filter(during).count();
    assert_eq!(told, 2, "one for each repeat: {:?}", report.inconsistencies);
}

#[test]
fn an_offered_load_is_done_at_its_own_pace() {
    let rate = 2000.0;
    let report = run(
        Conduct::Honest,
        plan::Options {
            offered: Some(rate),
            ..options(Asked {
                modes: vec![Mode::Sequential, Mode::Interleaved],
                seconds: 0.5,
                repeats: 1,
                ..asked()
            })
        },
    );
    for summary in &report.outcome.summaries {
        // All modes run exactly the transactions that were due. A Poisson process has 1000 of them
        // on average; the seed fixes their number.
        let done = summary.median.transactions_per_second * summary.median.seconds;
        assert!((800.5..1200.0).contains(&done), "{done}");
        assert_eq!(done.round(), {
            let first = &report.outcome.summaries[0].median;
            (first.transactions_per_second * first.seconds).round()
        });
    }
}

#[test]
fn what_is_wrong_from_the_beginning_is_not_measured() {
    let plan = options(asked()).plan("usual").unwrap();
    let refused = load_and_measure(Conduct::LosesTheBooks, &plan, &Options::default());
    let error = refused.unwrap_err().to_string();
    assert!(
        error.contains("after loading: the accounts have 5001"),
        "{error}"
    );
}
