//! Consecutive runs, and a watchdog for a run that does not end.

use std::{
    io::Write,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

use crate::{
    failure::{Failed, Failure, Replay},
    parameters::Parameters,
    report::Report,
    simulation::run,
};

/// Longer than any run takes. A run that takes longer is in an endless loop,
/// which only ending the process can stop.
const RUN_TIME_MAX: Duration = Duration::from_secs(120);

/// Runs `seeds` simulations from seed `first` on; calls `progress` after each.
///
/// # Errors
/// Returns the first failure.
///
/// # Panics
/// Aborts the process, having named the seed, if a run does not end.
pub fn run_many(
    first: u64,
    seeds: u64,
    parameters: &Parameters,
    progress: impl FnMut(u64, &Report),
) -> Result<Report, Failure> {
    run_seeds(first, seeds, parameters, run, Report::merge, progress)
}

/// Runs seeds of any kind of run by `run`; sums their reports by `merge`.
pub(crate) fn run_seeds<P: Replay + Copy + Send + 'static, R: Default>(
    first: u64,
    seeds: u64,
    parameters: &P,
    run: impl Fn(u64, &P) -> Result<R, Failed<P>>,
    merge: impl Fn(&mut R, &R),
    mut progress: impl FnMut(u64, &R),
) -> Result<R, Failed<P>> {
    let watch = Watch::new(*parameters);
    let mut sum = R::default();
    for seed in first..first.saturating_add(seeds) {
        watch.begins(seed);
        merge(&mut sum, &run(seed, parameters)?);
        progress(seed, &sum);
    }
    Ok(sum)
}

/// Aborts the process if no run ends for too long.
struct Watch(Sender<u64>);

impl Watch {
    fn new<P: Replay + Copy + Send + 'static>(parameters: P) -> Watch {
        let (sender, receiver) = channel();
        thread::spawn(move || watch(&receiver, &parameters));
        Watch(sender)
    }

    fn begins(&self, seed: u64) {
        // The watch lives as long as this sender does.
        let _ = self.0.send(seed);
    }
}

fn watch<P: Replay + Copy>(seeds: &Receiver<u64>, parameters: &P) {
    let mut running = None;
    loop {
        match seeds.recv_timeout(RUN_TIME_MAX) {
            Ok(seed) => running = Some(seed),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let failure = Failed::endless(running.unwrap_or_default(), parameters);
                let _ = writeln!(std::io::stderr(), "{failure}");
                std::process::abort();
            }
        }
    }
}
