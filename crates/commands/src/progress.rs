//! Shows on standard error the progress of a command. A terminal shows a bar, other outputs show
//! plain lines for steps that take longer than a second, and a hidden progress shows nothing.
//! Results never come this way.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// A step is silent on plain output until it has taken this long.
const SILENT: Duration = Duration::from_secs(1);
/// Time between two plain lines of one step.
const INTERVAL: Duration = Duration::from_secs(10);

/// Form in which progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Bar,
    Lines,
    Hidden,
}

/// Makes [`Step`]s and writes notes.
#[derive(Debug)]
pub struct Progress {
    form: Form,
}

impl Progress {
    /// Returns progress on standard error, as a bar if that is a terminal.
    pub fn stderr() -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self {
            form: if terminal { Form::Bar } else { Form::Lines },
        }
    }

    /// Returns progress that shows nothing, for tests.
    pub fn hidden() -> Self {
        Self { form: Form::Hidden }
    }

    /// Writes a fact about the run that the user should know, on a line of its own.
    pub fn note(&self, text: &str) {
        if self.form != Form::Hidden {
            line(&format!("note: {text}"));
        }
    }

    /// Begins a step of `total` units of work.
    pub fn step(&self, name: impl Into<String>, total: u64) -> Step {
        let name = name.into();
        let now = Instant::now();
        let bar = match self.form {
            Form::Bar => {
                let style = ProgressStyle::with_template(
                    "{msg:28} [{bar:32}] {percent:>3} % {elapsed:>5} (left {eta})",
                )
                .expect("the template is valid")
                .progress_chars("=> ");
                let bar = ProgressBar::new(total)
                    .with_style(style)
                    .with_message(name.clone());
                bar.enable_steady_tick(Duration::from_millis(200));
                bar
            }
            Form::Lines | Form::Hidden => ProgressBar::hidden(),
        };
        Step {
            plain: self.form == Form::Lines,
            name,
            bar,
            total,
            done: AtomicU64::new(0),
            start: now,
            next_line: Mutex::new(now + SILENT),
        }
    }
}

/// Writes a line to standard error; a closed standard error is ignored.
fn line(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// A step under way; ends when finished or dropped. May be advanced from many
/// threads.
#[derive(Debug)]
pub struct Step {
    name: String,
    bar: ProgressBar,
    plain: bool,
    total: u64,
    done: AtomicU64,
    start: Instant,
    next_line: Mutex<Instant>,
}

impl Step {
    /// Counts `units` more of the total as done. Costs two atomic additions and a clock reading:
    /// call it once per thousand records, not for each.
    pub fn advance(&self, units: u64) {
        // Relaxed: a count for people.
        let done = self.done.fetch_add(units, Ordering::Relaxed) + units;
        self.bar.inc(units);
        if !self.plain {
            return;
        }
        // The holder of the lock is writing the line already.
        if let Ok(mut next) = self.next_line.try_lock()
            && Instant::now() >= *next
            && done < self.total
        {
            *next = Instant::now() + INTERVAL;
            let percent = done * 100 / self.total.max(1);
            let seconds = self.start.elapsed().as_secs();
            line(&format!("{}: {percent} % after {seconds} s", self.name));
        }
    }

    /// Sets the text that the step shows.
    pub fn say(&self, text: impl Into<String>) {
        if !self.plain {
            self.bar.set_message(text.into());
        }
    }

    /// Ends the step.
    pub fn finish(self) {
        drop(self);
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        let elapsed = self.start.elapsed();
        if self.plain && elapsed > SILENT {
            line(&format!(
                "{}: done in {:.1} s",
                self.name,
                elapsed.as_secs_f64()
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_count_from_many_threads() {
        let step = Progress::hidden().step("counting", 400);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100).for_each(|_| step.advance(1)));
            }
        });
        assert_eq!(step.done.load(Ordering::Relaxed), 400);
        step.finish();
    }
}
