//! EXPLAIN: a statement is planned, and with ANALYZE carried out, and the plan is told.

use std::{sync::Arc, time::Instant};

use types::{Result, Scalar, SqlError, SqlState, Value};

use super::{
    CommandTag, Field, ResultRow, Session, Sink,
    copy::no_parameters,
    query::{CachedPlan, no_plan},
};
use batch::Rows;
use catalog::from_engine;
use executor::execute::{BATCH_ROWS, KeyChanges, Measurements, Opened, SharedRows};
use explain::{ExplainOptions, describe, json, lines};
use logical::bind::Parameters;
use syntax::{
    Source, phase,
    statement::{Explain, ExplainOption, InnerStatement},
};

/// The options, with their defaults.
#[derive(Debug, Default)]
struct Options {
    analyze: bool,
    verbose: bool,
    costs: bool,
    timing: Option<bool>,
    summary: Option<bool>,
    json: bool,
}

impl Session {
    pub(super) async fn explain(
        &mut self,
        explain: &Explain,
        source: &Source<'_>,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let options = Options::of(explain)?;
        let Some(statement) = &explain.statement else {
            return Err(SqlError::unsupported("EXPLAIN of this statement"));
        };
        let begun = Instant::now();
        self.begin()?;
        let (prepared, parameters) = match statement {
            InnerStatement::Rows(_) => (None, no_parameters()),
            InnerStatement::Execute(execute) => {
                let (prepared, parameters) = self.executed(execute, source).await?;
                (Some(prepared), parameters)
            }
        };
        let find = async || {
            let catalog = self.transaction.catalog();
            let (cached_plan, names) = phase::run(|| match (statement, &prepared) {
                (InnerStatement::Rows(rows), _) => {
                    self.explained(source, rows, Parameters::default(), &catalog)
                }
                (_, Some(prepared)) => self.explained_prepared(prepared, &catalog),
                (_, None) => Err(no_plan()),
            })
            .await?;
            Ok(Some((Arc::new(cached_plan), names)))
        };
        let found = match options.analyze {
            true => self.runnable(find).await?,
            false => self.locked_plan(find).await?,
        };
        let (cached_plan, names) = found.ok_or_else(no_plan)?;
        let (planned, catalog) = (&cached_plan.statement, &cached_plan.catalog);
        let planning = begun.elapsed();
        let mut measured = None;
        let mut execution = None;
        if options.analyze {
            let begun = Instant::now();
            let timing = options.timing.unwrap_or(true);
            let running = self.run_measured(&cached_plan, &parameters, timing, sink);
            let measurements = running.await?;
            // By the same clock as that of its operators, if there is one.
            let timed = measurements.execution().map(|measured| measured.total);
            execution = Some(timed.unwrap_or_else(|| begun.elapsed()));
            measured = Some(measurements);
        }
        let summary = options.summary.unwrap_or(options.analyze);
        let shown = ExplainOptions {
            measurements: measured.as_ref(),
            costs: options.costs,
            verbose: options.verbose,
            planning: summary.then_some(planning),
            execution: execution.filter(|_| summary),
        };
        let texts = phase::run(|| {
            let described = describe(&planned.plan, &names, &**catalog);
            Ok(match options.json {
                true => vec![json(&described, &shown)],
                false => lines(&described, &shown),
            })
        })
        .await?;
        let fields = query_plan(options.json);
        sink.fields(&fields)?;
        for text in &texts {
            let value = match options.json {
                true => Value::Json(text),
                false => Value::Text(text),
            };
            sink.row(&ResultRow {
                fields: &fields,
                values: &[value],
                context: self.context(&self.names(catalog)),
            })?;
        }
        sink.complete(CommandTag::Word("EXPLAIN"))
    }

    /// Runs a plan whose operators are measured, and lets its rows go.
    async fn run_measured(
        &self,
        cached_plan: &CachedPlan,
        parameters: &Rows,
        timing: bool,
        sink: &mut impl Sink,
    ) -> Result<Measurements> {
        let (planned, catalog) = (&cached_plan.statement, &cached_plan.catalog);
        let transaction = self.transaction.open()?;
        self.environment.begin_statement();
        let snapshot = transaction.statement_snapshot().map_err(from_engine)?;
        let command = match planned.is_command {
            true => Some(transaction.command().map_err(from_engine)?),
            false => None,
        };
        let environment = self.statement_environment(catalog);
        let shared = match timing {
            true => SharedRows::timed(self.budget()),
            false => SharedRows::new(self.budget()),
        };
        let key_changes = KeyChanges::new(catalog, &shared.budget);
        let execution = async {
            let context = self.execution_context(
                transaction,
                &environment,
                parameters,
                &shared,
                &key_changes,
            );
            let mut opened = Opened::new(planned.plan.clone(), self.memory.spare_rows())?;
            let mut batch = Rows::new(opened.width());
            while opened.next(&context, &mut batch).await? {
                batch.clear();
                sink.drain().await?;
                context.pause(BATCH_ROWS).await;
            }
            drop(opened);
            drop(command);
            drop(snapshot);
            self.keep_references(&key_changes).await
        };
        shared.measure(execution).await?;
        Ok(shared.into_measurements())
    }
}

/// Returns the column that EXPLAIN gives; `None` if its options are refused.
pub(super) fn explained(explain: &Explain) -> Option<Vec<Field>> {
    let options = Options::of(explain).ok()?;
    Some(query_plan(options.json).to_vec())
}

fn query_plan(json: bool) -> [Field; 1] {
    let scalar = if json { Scalar::Json } else { Scalar::Text };
    [Field::of_scalar("QUERY PLAN", scalar)]
}

impl Options {
    /// Reads EXPLAIN's options.
    ///
    /// # Errors
    /// 42601 and 22023 as PostgreSQL; 0A000 for what is not told.
    fn of(explain: &Explain) -> Result<Options> {
        let mut options = Options {
            analyze: explain.analyze,
            verbose: explain.verbose,
            costs: true,
            json: match explain.format.as_deref() {
                None | Some("TEXT") => false,
                Some("JSON") => true,
                Some(other) => {
                    return Err(SqlError::unsupported(format_args!("FORMAT {other}")));
                }
            },
            ..Options::default()
        };
        for option in &explain.options {
            options.take(option)?;
        }
        if options.timing == Some(true) && !options.analyze {
            let message = "EXPLAIN option TIMING requires ANALYZE";
            return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        Ok(options)
    }

    fn take(&mut self, option: &ExplainOption) -> Result<()> {
        let name = option.name.as_str();
        match name {
            "analyze" => self.analyze = boolean(name, option)?,
            "verbose" => self.verbose = boolean(name, option)?,
            "summary" => self.summary = Some(boolean(name, option)?),
            "costs" => self.costs = boolean(name, option)?,
            "timing" => self.timing = Some(boolean(name, option)?),
            "buffers" | "wal" | "settings" => {
                if boolean(name, option)? {
                    let what = name.to_uppercase();
                    return Err(
                        SqlError::unsupported(format_args!("EXPLAIN option {what}")).hint(
                            "ANALYZE tells where the time went, waits for the device included.",
                        ),
                    );
                }
            }
            "format" => {
                self.json = match option.value.as_deref() {
                    Some("text") => false,
                    Some("json") => true,
                    Some(format @ ("xml" | "yaml")) => {
                        let format = format.to_uppercase();
                        return Err(SqlError::unsupported(format_args!("FORMAT {format}")));
                    }
                    other => {
                        let message = format!(
                            "unrecognized value for EXPLAIN option \"format\": \"{}\"",
                            other.unwrap_or_default()
                        );
                        return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
                    }
                }
            }
            _ => {
                let message = format!("unrecognized EXPLAIN option \"{name}\"");
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
            }
        }
        Ok(())
    }
}

fn boolean(name: &str, option: &ExplainOption) -> Result<bool> {
    match option.value.as_deref() {
        None | Some("true" | "on" | "1") => Ok(true),
        Some("false" | "off" | "0") => Ok(false),
        Some(_) => {
            let message = format!("{name} requires a Boolean value");
            Err(SqlError::new(SqlState::SYNTAX_ERROR, message))
        }
    }
}
