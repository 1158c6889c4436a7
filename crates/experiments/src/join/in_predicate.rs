//! Queries with IN-predicates on dictionary-encoded columns, from a list of values to the numbers
//! of the rows that have one of them (paper 003, sections 2.2 and 5.5).
//!
//! Rows refer to values at random. If there are fewer rows than values, rows refer to a part of the
//! dictionary, and most values of a list are encoded and then found in no row.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use column::{Column, ColumnError, Delta, InPredicate, Main, Snapshot};

use super::arrival::Arrival;
use super::compete::{Arena, Attempt, Chosen, Contender, Task, compete};
use super::keys::List;
use super::{Experiment, Join, Population, Settings, Technique};
use commands::number::bytes_text;
use commands::progress::Progress;
use commands::{Error, Result};

/// Executions of a query.
const TECHNIQUES: [Technique; 3] = [
    Technique::Sequential,
    Technique::Coroutines,
    Technique::Auto,
];

/// The part of the column that has the rows.
#[derive(Clone, Copy)]
enum Part {
    Main,
    Delta,
}

/// Measures columns of each part and size, with lists of each length.
pub(super) fn queries(
    experiment: Experiment,
    settings: &Settings,
    progress: &Progress,
) -> Result<Vec<Join>> {
    let mut results = Vec::new();
    for part in [Part::Main, Part::Delta] {
        for &bytes in &settings.bytes {
            let queried = Queried::new(part, bytes, settings, progress)?;
            for &list in &settings.lists {
                let settings = Settings {
                    lists: vec![list],
                    ..settings.clone()
                };
                results.extend(queried.measure(experiment, &settings, progress));
            }
        }
    }
    Ok(results)
}

/// A column, and the codes of its rows.
struct Queried {
    part: Part,
    bytes: u64,
    entries: u64,
    snapshot: Snapshot<u32>,
    population: Population,
}

fn refused(error: ColumnError) -> Error {
    Error::run(format!("cannot build the column: {error}"))
}

impl Queried {
    fn new(part: Part, bytes: u64, settings: &Settings, progress: &Progress) -> Result<Queried> {
        let step = progress.step(format!("column of {}", bytes_text(bytes)), 1);
        let entries = (bytes / 4).max(1);
        let checked = |count: u64| u32::try_from(count).expect("settings have been checked");
        let population = Population::new(checked(entries), checked(settings.rows), settings.seed)?;
        let codes = population.codes().map(Some);
        let column = match part {
            Part::Main => {
                let values = population.sorted_values();
                let main = Main::from_dictionary(values, codes).map_err(refused)?;
                Column::of_parts(main, Delta::new())
            }
            Part::Delta => {
                let arrival = Arrival::of(entries);
                let places = 0..checked(entries);
                let values = places.map(|code| arrival.value(u64::from(code)));
                let delta = Delta::from_dictionary(values, codes).map_err(refused)?;
                Column::of_parts(Main::new().map_err(refused)?, delta)
            }
        };
        step.finish();
        Ok(Queried {
            part,
            bytes,
            entries,
            snapshot: column.snapshot(),
            population,
        })
    }

    fn measure(
        &self,
        experiment: Experiment,
        settings: &Settings,
        progress: &Progress,
    ) -> Vec<Join> {
        let structure = match self.part {
            Part::Main => "Main",
            Part::Delta => "Delta",
        };
        let arena = Arena {
            settings,
            result: Join {
                bytes: self.bytes,
                entries: self.entries,
                rows: Some(settings.rows),
                ..Join::empty(experiment, structure, settings)
            },
            batches: settings.batches,
            region: None,
        };
        let techniques = settings.techniques.iter().copied();
        let techniques = techniques.filter(|one| TECHNIQUES.contains(one));
        let contenders = techniques.map(|technique| self.contender(technique, settings));
        compete(&arena, contenders.collect(), progress)
    }

    fn contender<'s>(&'s self, technique: Technique, settings: &'s Settings) -> Contender<'s> {
        let is_auto = technique == Technique::Auto;
        let chosen = Rc::new(Cell::<Chosen>::default());
        let tell = Rc::clone(&chosen);
        let predicate_of = move |group| match is_auto {
            true => InPredicate::auto(),
            // Lists come in the order of the request.
            false => InPredicate::fixed(technique.execution(group), false),
        };
        let mut group = 0;
        let mut predicate = predicate_of(group);
        let mut rows = Vec::new();
        let attempt = move |task: Task| {
            if task.group != group {
                group = task.group;
                predicate = predicate_of(group);
            }
            let list = self.draw(settings, task.number);
            let values: Vec<Option<u32>> = list.keys.iter().copied().map(Some).collect();
            rows.clear();
            let start = Instant::now();
            let done = predicate.rows_in(&self.snapshot, &values, &mut rows);
            let nanoseconds = start.elapsed().as_nanos() as f64 / values.len() as f64;
            let encoding = predicate.encoding().as_nanos() as f64 / values.len() as f64;
            tell.set(Chosen {
                execution: match self.part {
                    Part::Main => predicate.main_execution(),
                    Part::Delta => predicate.delta_execution(),
                },
                costs: None,
            });
            Attempt {
                nanoseconds,
                parts: Some([encoding, (nanoseconds - encoding).max(0.0)]),
                is_right: done.is_ok() && rows == self.rows_of(&list),
            }
        };
        Contender {
            technique,
            groups: settings.groups_of(technique),
            chosen: is_auto.then_some(chosen),
            attempt: Box::new(attempt),
        }
    }

    fn draw(&self, settings: &Settings, number: u64) -> List<u32> {
        match self.part {
            Part::Main => {
                let lists = settings.lists_of(self.entries);
                lists.draw_as(number, |value| value as u32)
            }
            Part::Delta => Arrival::of(self.entries).draw(settings, number),
        }
    }

    /// Returns the rows that a query with `list` has to find.
    fn rows_of(&self, list: &List<u32>) -> Vec<u64> {
        let codes = list.places.iter().flatten().map(|&code| code as u32);
        self.population.rows_of(codes)
    }
}
