//! Many runs, one after the other, and somebody who notices when one of them
//! does not come back.

use std::{
    io::Write,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

use crate::{
    failure::{Failure, Reason},
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
    mut progress: impl FnMut(u64, &Report),
) -> Result<Report, Failure> {
    let parameters = *parameters;
    let watch = Watch::new(move |seed| {
        let failure = Failure {
            seed,
            parameters: Box::new(parameters),
            reason: Reason::Stuck("in an endless loop".to_owned()),
        };
        failure.to_string()
    });
    let mut sum = Report::default();
    for seed in first..first.saturating_add(seeds) {
        watch.begins(seed);
        sum.merge(&run(seed, &parameters)?);
        progress(seed, &sum);
    }
    Ok(sum)
}

/// Aborts the process when nothing is heard for too long.
pub(crate) struct Watch(Sender<u64>);

impl Watch {
    /// `failure` says what is printed of a seed that does not end.
    pub(crate) fn new(failure: impl Fn(u64) -> String + Send + 'static) -> Watch {
        let (sender, receiver) = channel();
        thread::spawn(move || watch(&receiver, failure));
        Watch(sender)
    }

    /// A seed's run begins.
    pub(crate) fn begins(&self, seed: u64) {
        // The watch lives as long as this end does.
        let _ = self.0.send(seed);
    }
}

fn watch(seeds: &Receiver<u64>, failure: impl Fn(u64) -> String) {
    let mut running = None;
    loop {
        match seeds.recv_timeout(RUN_TIME_MAX) {
            Ok(seed) => running = Some(seed),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let failure = failure(running.unwrap_or_default());
                let _ = writeln!(std::io::stderr(), "{failure}");
                std::process::abort();
            }
        }
    }
}
