//! Many runs, on several threads, and a watchdog for a run that does not end.

use std::{
    io::Write,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

use super::{CrashFailure, CrashParameters, CrashReport, run_crashes};

/// Longer than any run takes. A run that takes longer is in an endless loop, which
/// only ending the process can stop.
const RUN_TIME_MAX: Duration = Duration::from_secs(120);

/// Runs `seeds` simulations of crashes from seed `first` on, `jobs` at a time; calls
/// `progress` after each.
///
/// # Errors
/// Returns the first failure that was noticed.
///
/// # Panics
/// Aborts the process, having named the seeds under way, if no run ends for minutes.
pub fn run_crashes_many(
    first: u64,
    seeds: u64,
    jobs: usize,
    parameters: &CrashParameters,
    mut progress: impl FnMut(u64, &CrashReport),
) -> Result<CrashReport, CrashFailure> {
    let next = AtomicU64::new(first);
    let end = first.saturating_add(seeds);
    let failed = AtomicBool::new(false);
    let under_way = Mutex::new(Vec::new());
    let (sender, outcomes) = channel();
    let work = |sender: std::sync::mpsc::Sender<_>| {
        while !failed.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                return;
            }
            note(&under_way, |seeds| seeds.push(seed));
            let outcome = run_crashes(seed, parameters);
            note(&under_way, |seeds| seeds.retain(|&other| other != seed));
            // A receiver that is gone has seen a failure.
            let _ = sender.send((seed, outcome));
        }
    };
    thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            let sender = sender.clone();
            scope.spawn(|| work(sender));
        }
        drop(sender);
        let mut sum = CrashReport::default();
        let mut done = 0;
        loop {
            match outcomes.recv_timeout(RUN_TIME_MAX) {
                Ok((_, Ok(report))) => {
                    sum.merge(&report);
                    done += 1;
                    progress(done, &sum);
                }
                Ok((_, Err(failure))) => {
                    failed.store(true, Ordering::Relaxed);
                    return Err(failure);
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(sum),
                Err(RecvTimeoutError::Timeout) => {
                    note(&under_way, |seeds| give_up(seeds, parameters));
                }
            }
        }
    })
}

fn note(under_way: &Mutex<Vec<u64>>, change: impl FnOnce(&mut Vec<u64>)) {
    change(&mut under_way.lock().unwrap_or_else(|e| e.into_inner()));
}

fn give_up(seeds: &[u64], parameters: &CrashParameters) {
    for &seed in seeds {
        let failure = CrashFailure::endless(seed, parameters);
        let _ = writeln!(std::io::stderr(), "{failure}");
    }
    std::process::abort();
}
