//! COPY: rows of a table or query to the client, rows of the client into a table.
//!
//! Rows from a client are those of an INSERT (`logical/bind/copy.rs`), whose plan runs once over each
//! batch of them; rows to it are those of a query. Nothing holds more than a batch: the client's
//! data is taken as it comes and not asked for while rows are put in, and a client that does not
//! take its rows keeps the query waiting.

use std::sync::Arc;

use types::{Context, Result, SqlError, SqlState};

use super::{
    CommandTag, Notice, ResultRow, Session, Sink,
    insertion::Insertion,
    query::{CachedPlan, no_plan},
};
use batch::Rows;
use catalog::{Table, from_engine};
use copy_formats::{Column, Decoder, Encoder, Format, Options};
use executor::execute::{KeyChanges, SharedRows};
use logical::bind::{Binder, CopiedColumns, Parameters};
use syntax::{
    self, Source,
    copy::{Copied, Copy, Target},
    name::{DottedName, Name, quoted},
    phase,
    statement::RowKind,
};

/// How the data of a COPY is told of in the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyForm {
    /// Text and CSV.
    Text,
    /// PostgreSQL's binary format.
    Binary,
}

/// Takes the data of a COPY.
#[expect(
    async_fn_in_trait,
    reason = "sessions and their sinks stay on one thread"
)]
pub trait CopyTarget {
    /// Takes the next bytes, cut anywhere. The caller waits until they are taken.
    ///
    /// # Errors
    /// The error that ends the statement.
    async fn take(&mut self, data: &[u8]) -> Result<()>;
}

impl From<Format> for CopyForm {
    fn from(format: Format) -> CopyForm {
        match format {
            Format::Text | Format::Csv => CopyForm::Text,
            Format::Binary => CopyForm::Binary,
        }
    }
}

impl Session {
    pub(super) async fn copy(
        &mut self,
        copy: &Copy,
        source: &Source<'_>,
        sink: &mut impl Sink,
    ) -> Result<()> {
        match copy.target {
            Target::Client => {}
            Target::File => {
                return Err(SqlError::unsupported("COPY of a file of the server")
                    .hint("Use \\copy of psql, or COPY FROM STDIN and COPY TO STDOUT."));
            }
            Target::Program => {
                return Err(SqlError::unsupported("COPY of a program of the server")
                    .hint("Use \\copy of psql, or COPY FROM STDIN and COPY TO STDOUT."));
            }
        }
        let options = Options::of(&copy.options, copy.is_from)?;
        match (&copy.relation, copy.is_from) {
            (Copied::Table { name, columns }, true) => {
                self.may_write("COPY FROM")?;
                self.begin()?;
                self.copy_from(source, name, columns, options, sink).await
            }
            _ => {
                self.begin()?;
                self.copy_to(source, copy, options, sink).await
            }
        }
    }

    async fn copy_from(
        &self,
        source: &Source<'_>,
        name: &DottedName,
        columns: &[Name],
        options: Options,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let find = async || {
            let catalog = self.transaction.catalog();
            let (cached_plan, copied) = phase::run(|| {
                let mut parameters = Parameters::default();
                let (bound, copied) = Binder::bind_copy_from(
                    &self.bind_context(&catalog),
                    source.lines(),
                    name,
                    columns,
                    &mut parameters,
                )?;
                let cached_plan = self.lowered(bound, RowKind::Insert, Vec::new(), &catalog)?;
                Ok((cached_plan, copied))
            })
            .await?;
            Ok(Some((Arc::new(cached_plan), copied)))
        };
        let Some((cached_plan, copied)) = self.runnable(find).await? else {
            return Err(no_plan());
        };
        let transaction = self.transaction.open()?;
        self.environment.begin_statement();
        // All of it sees one moment: what the defaults and keys of its rows refer to.
        let snapshot = transaction.statement_snapshot().map_err(from_engine)?;
        let environment = self.statement_environment(&cached_plan.catalog);
        let (shared, parameters) = (SharedRows::new(self.budget()), no_parameters());
        let key_changes = KeyChanges::new(&cached_plan.catalog, &shared.budget);
        let context = self.execution_context(
            transaction,
            &environment,
            &parameters,
            &shared,
            &key_changes,
        );
        let columns = described(&copied);
        let decoder = Decoder::new(&copied.table, columns, options, context.memory())?;
        let (form, columns) = (decoder.format().into(), decoder.columns());
        let names = self.names(&cached_plan.catalog);
        let mut copy_from = CopyFrom {
            decoder,
            insertion: Insertion::new(&cached_plan, columns, self.memory.spare_rows(), &context)?,
            value_context: self.context(&names),
        };
        sink.copy_in(form, columns, &mut copy_from).await?;
        let count = copy_from.finish().await?;
        // References are looked for among what is committed by now.
        drop(snapshot);
        self.keep_references(&key_changes).await?;
        let changed_rows = self.transaction.changed_rows();
        changed_rows.note(count, cached_plan.written());
        sink.complete(CommandTag::Rows("COPY", count))
    }

    async fn copy_to(
        &self,
        source: &Source<'_>,
        copy: &Copy,
        options: Options,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let find = async || self.plan_to_copy(source, copy).await.map(Some);
        let Some((cached_plan, table)) = self.runnable(find).await? else {
            return Err(no_plan());
        };
        let columns = cached_plan.fields.iter().map(|field| Column {
            name: field.name.as_str().into(),
            ty: field.ty,
            modifier: field.modifier,
        });
        let mut copy_to = CopyTo {
            encoder: Encoder::new(table.as_deref(), columns.collect(), options)?,
            out: Vec::new(),
            sink,
        };
        copy_to.begin()?;
        self.run(&cached_plan, &no_parameters(), &mut copy_to).await
    }

    /// Returns the plan whose rows go out, and the table that they are of, if it is one.
    async fn plan_to_copy(
        &self,
        source: &Source<'_>,
        copy: &Copy,
    ) -> Result<(Arc<CachedPlan>, Option<Arc<Table>>)> {
        match &copy.relation {
            Copied::Query(statement) => {
                let Some(statement) = statement else {
                    return Err(SqlError::unsupported("COPY of this statement"));
                };
                let cached_plan = self.plan_within(source, statement).await?;
                if !cached_plan.shows_rows() {
                    let message = "COPY query must have a RETURNING clause";
                    return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                }
                Ok((cached_plan, None))
            }
            Copied::Table { name, columns } => {
                let catalog = self.transaction.catalog();
                let (text, table) = phase::run(|| {
                    let bind_context = self.bind_context(&catalog);
                    let mut none = Parameters::default();
                    let lines = source.lines();
                    let copied =
                        Binder::bind_copy_to(&bind_context, lines, name, columns, &mut none)?;
                    Ok((query_over(&copied, name), copied.table))
                })
                .await?;
                let sources = syntax::split(&text)?;
                let planned = match sources.as_slice() {
                    [query] => self.plan(query, None).await?,
                    _ => None,
                };
                let no_query = || SqlError::new(SqlState::INTERNAL_ERROR, "not one query");
                let (cached_plan, _) = planned.ok_or_else(no_query)?;
                Ok((cached_plan, Some(table)))
            }
        }
    }
}

/// Returns the query whose rows are those columns of a table.
fn query_over(copied: &CopiedColumns, name: &DottedName) -> String {
    let columns = copied
        .columns
        .iter()
        .map(|at| quoted(&copied.table.columns[*at].name));
    let columns: Vec<String> = columns.collect();
    format!("SELECT {} FROM {name}", columns.join(", "))
}

fn described(copied: &CopiedColumns) -> Vec<Column> {
    let columns = copied.columns.iter().map(|at| {
        let column = &copied.table.columns[*at];
        Column {
            name: column.name.clone(),
            ty: column.ty,
            modifier: column.modifier,
        }
    });
    columns.collect()
}

/// One row without values.
pub(super) fn no_parameters() -> Rows {
    let mut rows = Rows::new(0);
    rows.push([]);
    rows
}

/// A client's rows on their way into a table.
struct CopyFrom<'l, 'r> {
    decoder: Decoder,
    insertion: Insertion<'l, 'r>,
    value_context: Context<'l>,
}

impl CopyFrom<'_, '_> {
    /// Reads what rows there are, and puts in those that fill a batch.
    async fn read(&mut self) -> Result<()> {
        while self
            .decoder
            .next(&self.value_context, &mut self.insertion.batch)?
        {
            // Data that is there already would keep the worker's other tasks waiting.
            self.insertion.context().pause(1).await;
            if self.insertion.batch.is_full() {
                self.put().await?;
            }
        }
        Ok(())
    }

    async fn put(&mut self) -> Result<()> {
        let put = self.insertion.put().await;
        put.map_err(
            |error| match self.insertion.context().shared.copy_source.failed() {
                Some(at) => self.decoder.explained(at, error),
                None => error,
            },
        )
    }

    /// Puts the last rows in; returns how many they were in all.
    async fn finish(mut self) -> Result<u64> {
        self.decoder.end();
        self.read().await?;
        self.put().await?;
        Ok(self.insertion.count())
    }
}

impl CopyTarget for CopyFrom<'_, '_> {
    async fn take(&mut self, data: &[u8]) -> Result<()> {
        self.decoder.push(data)?;
        self.read().await
    }
}

/// Rows of a query on their way to the client, one message each. Clients expect the header of the
/// binary format in the message of the first row, or in the last one if there are no rows.
struct CopyTo<'u, S> {
    encoder: Encoder,
    out: Vec<u8>,
    sink: &'u mut S,
}

impl<S: Sink> CopyTo<'_, S> {
    fn begin(&mut self) -> Result<()> {
        let form = self.encoder.format().into();
        self.sink.begin_copy_out(form, self.encoder.columns())?;
        self.encoder.begin(&mut self.out);
        match form {
            CopyForm::Text => self.send(),
            CopyForm::Binary => Ok(()),
        }
    }

    fn send(&mut self) -> Result<()> {
        if !self.out.is_empty() {
            self.sink.copy_out(&self.out)?;
            self.out.clear();
        }
        Ok(())
    }
}

impl<S: Sink> Sink for CopyTo<'_, S> {
    fn row(&mut self, row: &ResultRow<'_>) -> Result<()> {
        self.encoder.row(row.values, &row.context, &mut self.out)?;
        self.send()
    }

    fn complete(&mut self, tag: CommandTag) -> Result<()> {
        self.encoder.end(&mut self.out);
        self.send()?;
        self.sink.end_copy_out();
        let (CommandTag::Rows(_, count) | CommandTag::Insert(count)) = tag else {
            return self.sink.complete(tag);
        };
        self.sink.complete(CommandTag::Rows("COPY", count))
    }

    fn notice(&mut self, notice: &Notice) {
        self.sink.notice(notice);
    }

    fn has_room(&self) -> bool {
        self.sink.has_room()
    }

    async fn drain(&mut self) -> Result<()> {
        self.sink.drain().await
    }
}
