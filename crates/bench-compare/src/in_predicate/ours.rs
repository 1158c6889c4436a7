//! Weft's column: all rows in the Main, whose dictionary is sorted.

use std::time::Duration;

use column::{Column, ColumnError, Delta, InPredicate, Main, Snapshot};
use commands::progress::Progress;
use commands::{Error, Result};
use experiments::join::Population;
use interleave::Execution;

use super::{Answer, Contender, Identity, Request, Taken, timed};

pub(super) const ENGINE: &str = "weft";
/// Name of the form that others are compared with, which is the form of applications.
pub(super) const AUTO: &str = "auto";

fn failed(error: ColumnError) -> Error {
    Error::run(format!("Weft's column says: {error}"))
}

/// A column of Weft.
pub(super) struct Ours {
    snapshot: Snapshot<u32>,
}

impl Ours {
    /// Builds a column of the rows of `population`.
    ///
    /// # Errors
    /// [`Error::Run`] when the memory cannot be allocated.
    pub(super) fn build(population: &Population, progress: &Progress) -> Result<Ours> {
        let step = progress.step("weft: building", 1);
        let codes = population.codes().map(Some);
        let main = Main::from_dictionary(population.sorted_values(), codes).map_err(failed)?;
        let column = Column::of_parts(main, Delta::new());
        step.finish();
        Ok(Ours {
            snapshot: column.snapshot(),
        })
    }

    /// Returns contenders of each execution, for each answer.
    pub(super) fn contenders(&self, request: &Request) -> Vec<Box<dyn Contender + '_>> {
        let fixed = |lookups| InPredicate::fixed(Execution::in_flight(lookups), false);
        let forms = [
            ("sequential", fixed(0)),
            ("interleaved", fixed(request.in_flight)),
            (AUTO, InPredicate::auto()),
        ];
        let all = Answer::ALL.iter().flat_map(|&answer| {
            forms.iter().map(move |(form, predicate)| {
                Box::new(Query {
                    snapshot: &self.snapshot,
                    form,
                    predicate: predicate.clone(),
                    answer,
                    values: Vec::new(),
                }) as Box<dyn Contender + '_>
            })
        });
        all.collect()
    }

    /// Describes the set-up: a line for people.
    pub(super) fn description(&self, request: &Request) -> String {
        format!(
            "column, all rows in the Main: sorted dictionary and packed codes of {} MiB together; \
             one thread; interleaved: {} lookups in flight, lists as they come; auto: execution and \
             order of lists chosen by what was measured before",
            self.snapshot.main().bytes() >> 20,
            request.in_flight
        )
    }
}

/// A contender with one execution.
struct Query<'c> {
    snapshot: &'c Snapshot<u32>,
    form: &'static str,
    predicate: InPredicate,
    answer: Answer,
    values: Vec<Option<u32>>,
}

impl Contender for Query<'_> {
    fn identity(&self) -> Identity {
        Identity {
            engine: ENGINE,
            form: self.form,
            list: Taken::Ready,
            threads: 1,
            answer: self.answer,
        }
    }

    /// Answers a list. A column cannot count rows without their numbers, so a count makes them too.
    fn answer(&mut self, list: &[u32], rows: &mut Vec<u64>) -> Result<(u64, Duration)> {
        self.values.clear();
        self.values.extend(list.iter().copied().map(Some));
        timed(|| {
            let (snapshot, values) = (self.snapshot, &self.values);
            let done = self.predicate.rows_in(snapshot, values, rows);
            done.map_err(failed).map(|()| rows.len() as u64)
        })
    }
}
