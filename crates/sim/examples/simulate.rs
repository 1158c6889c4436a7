//! A long simulation: `cargo run --release -p sim --example simulate -- --seeds 10000`.
//!
//! Progress goes to standard error; the process fails with the first seed that fails.

use std::{env, io::Write, process::ExitCode, time::Instant};

use sim::{
    ColumnParameters, CrashParameters, PRESETS, Parameters, run_columns_many, run_crashes_many,
    run_many,
};

const HELP: &str = "\
Runs seeded simulations of a whole database, or of a column, and checks what comes out.

  --seeds N      how many seeds (default 1000)
  --first S      the first seed (default 1)
  --preset NAME  snapshot, read-committed, mixed, faults, waiting, scarce,
                 groups, ssn, validation, indexes, indexes-waiting or indexes-ssn
                 (default: each of them), or
                 crashes: on a disk whose power fails, again and again, or
                 columns: one column, merged while it is written and read
  --jobs N       seeds at a time, for crashes (default 2)
  --points       lists how often each suspension point was passed
";

struct Options {
    seeds: u64,
    first: u64,
    jobs: usize,
    presets: Vec<String>,
    points: bool,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        seeds: 1000,
        first: 1,
        jobs: 2,
        presets: PRESETS.map(str::to_owned).to_vec(),
        points: false,
    };
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        let number = |text: String| text.parse().map_err(|_| format!("{text:?} is no number"));
        match argument.as_str() {
            "--seeds" => options.seeds = number(value()?)?,
            "--first" => options.first = number(value()?)?,
            "--jobs" => options.jobs = number(value()?)? as usize,
            "--preset" => options.presets = vec![value()?],
            "--points" => options.points = true,
            _ => return Err(HELP.to_owned()),
        }
    }
    Ok(options)
}

fn simulate(options: &Options) -> Result<(), String> {
    for name in &options.presets {
        match name.as_str() {
            "crashes" => crash(options)?,
            "columns" => merge_columns(options)?,
            name => transact(name, options)?,
        }
    }
    Ok(())
}

fn transact(name: &str, options: &Options) -> Result<(), String> {
    let mut err = std::io::stderr();
    let parameters =
        Parameters::preset(name).ok_or(format!("no parameter set is called {name:?}"))?;
    let sum = run_many(options.first, options.seeds, &parameters, |seed, sum| {
        if seed % 100 == 0 {
            let _ = writeln!(err, "{name}: seed {seed}, {} committed", sum.committed);
        }
    })
    .map_err(|failure| failure.to_string())?;
    let _ = writeln!(err, "{name}: {} seeds, {sum}", options.seeds);
    if options.points {
        for (point, times) in &sum.points {
            let _ = writeln!(err, "  {times:>10}  {point}");
        }
    }
    Ok(())
}

fn crash(options: &Options) -> Result<(), String> {
    let mut err = std::io::stderr();
    let start = Instant::now();
    let Options {
        first, seeds, jobs, ..
    } = *options;
    let parameters = CrashParameters::default();
    let sum = run_crashes_many(first, seeds, jobs, &parameters, |done, sum| {
        if done % 100 == 0 {
            let (points, seconds) = (sum.crash_points, start.elapsed().as_secs());
            let _ = writeln!(
                err,
                "crashes: {done} of {seeds} seeds, {points} crash points, 0 losses, {seconds} s"
            );
        }
    })
    .map_err(|failure| failure.to_string())?;
    let _ = writeln!(err, "crashes: {seeds} seeds, 0 losses, {sum}");
    Ok(())
}

fn merge_columns(options: &Options) -> Result<(), String> {
    let mut err = std::io::stderr();
    let Options { first, seeds, .. } = *options;
    let parameters = ColumnParameters::default();
    let sum = run_columns_many(first, seeds, &parameters, |seed, sum| {
        if seed % 1000 == 0 {
            let (merges, questions) = (sum.merges, sum.questions);
            let _ = writeln!(
                err,
                "columns: seed {seed}, {merges} merges, {questions} questions"
            );
        }
    })
    .map_err(|failure| failure.to_string())?;
    let _ = writeln!(err, "columns: {seeds} seeds, {sum}");
    Ok(())
}

fn main() -> ExitCode {
    match options().and_then(|options| simulate(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "{message}");
            ExitCode::FAILURE
        }
    }
}
