//! Many runs, one after the other, and somebody who notices when one of them
//! does not come back.

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

/// No run takes that long. One that does is in an endless loop, which only ending
/// the process can stop.
const RUN_TIME_MAX: Duration = Duration::from_secs(120);

/// Runs `seeds` simulations from seed `first` on; `progress` is told after each.
///
/// # Errors
/// The first failure.
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

/// The same for runs of any kind, each by `run`, whose reports `merge` sums up.
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

/// Aborts the process when nothing is heard for too long.
struct Watch(Sender<u64>);

impl Watch {
    fn new<P: Replay + Copy + Send + 'static>(parameters: P) -> Watch {
        let (sender, receiver) = channel();
        thread::spawn(move || watch(&receiver, &parameters));
        Watch(sender)
    }

    fn begins(&self, seed: u64) {
        // The watch lives as long as this end does.
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
