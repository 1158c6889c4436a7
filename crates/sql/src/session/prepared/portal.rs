//! Portals: a statement with its parameters, run at once or bit by bit.

use std::{pin::pin, rc::Rc};

use types::{Charge, Result, Scratch, SqlError, SqlState, Type, Value, row::Taking};

use super::{Kind, PreparedStatement, check_told};
use crate::session::{
    CommandTag, CopyForm, CopyTarget, Field, Notice, ResultRow, Session, Sink,
    interrupt::{Limits, interruptible},
    suspended::Suspended,
};
use batch::Rows;
use executor::execute::Budget;

/// A statement with its parameters, and its progress.
pub struct Portal {
    prepared: Rc<PreparedStatement>,
    /// Parameters, until the portal runs.
    parameters: Rows,
    progress: Stage,
    /// Charge for the portal itself; its parameters have their own.
    _charge: Charge,
}

/// Approximate bytes of a portal beside its parameters and its rows: its place, its name,
/// operators.
const PORTAL_BYTES: usize = 2048;

/// The progress of a portal.
enum Stage {
    /// The portal was not run yet.
    New,
    /// The statement has failed, or was given up, or has run to its end and gives no rows: it cannot be run again.
    Done,
    /// The portal is a query whose client takes a number of rows at a time: it computes those that it is asked for.
    Open(Rc<Suspended>),
    /// The statement has run to its end, and these rows are left. A statement that writes always
    /// does so: its effect does not depend on a client that takes its rows. A query does so if it is asked for all
    /// of its rows, and none are left: `None`.
    Rest {
        rest: Option<Rc<Suspended>>,
        tag: CommandTag,
    },
}

/// The outcome of beginning a portal's statement.
enum Begun {
    /// The statement is a query that computes the rows that it is asked for.
    Open(Rc<Suspended>),
    /// The statement has run to its end. Its rows are kept unless all were asked for, or there are none.
    Complete {
        rest: Option<Rc<Suspended>>,
        tag: CommandTag,
    },
}

impl Portal {
    /// Returns the statement.
    pub fn prepared(&self) -> &PreparedStatement {
        &self.prepared
    }
}

/// The outcome of running a portal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The statement has run to its end.
    Complete(CommandTag),
    /// There are rows left.
    Suspended,
    /// There was no statement in the text.
    Empty,
}

impl Session {
    /// Gives a statement its parameters, each as text or in binary form; `None` is NULL.
    ///
    /// # Errors
    /// 08P01 if there are too many or too few; 22P02, 22P03 and others if a value is not of its
    /// type.
    pub fn bind<'b>(
        &self,
        prepared: &Rc<PreparedStatement>,
        values: impl ExactSizeIterator<Item = (bool, Option<&'b [u8]>)>,
    ) -> Result<Portal> {
        if values.len() != prepared.types.len() {
            let message = format!(
                "bind message supplies {} parameters, but prepared statement requires {}",
                values.len(),
                prepared.types.len()
            );
            return Err(SqlError::new(SqlState::PROTOCOL_VIOLATION, message));
        }
        let catalog = self.transaction.catalog();
        let names = self.names(&catalog);
        let context = self.context(&names);
        let scratch = Scratch::new();
        let read = |(is_binary, bytes): (bool, Option<&'b [u8]>), ty: &Type| match bytes {
            None => Ok(Value::Null),
            Some(bytes) if is_binary => types::binary::read(bytes, *ty, &context, &scratch),
            Some(bytes) => {
                let text = std::str::from_utf8(bytes).map_err(|_| {
                    let message = "invalid byte sequence for encoding \"UTF8\"";
                    SqlError::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, message)
                })?;
                types::text::read(text, *ty, &context, &scratch)
            }
        };
        let mut parameters = self.memory.spare_rows().take(prepared.types.len());
        parameters.push_with(|row| {
            for (value, ty) in values.zip(&*prepared.types) {
                row.take(read(value, ty)?);
            }
            Ok(())
        })?;
        parameters.settle(self.memory.kept())?;
        let mut charge = Charge::default();
        charge.set(self.memory.kept(), PORTAL_BYTES)?;
        Ok(Portal {
            prepared: prepared.clone(),
            parameters,
            progress: Stage::New,
            _charge: charge,
        })
    }

    /// Runs a portal on: all rows that are left, or a limited number.
    ///
    /// # Errors
    /// Errors of the statement. The session has to be told ([`Session::failed`]).
    pub async fn run_portal(
        &mut self,
        portal: &mut Portal,
        rows_max: Option<usize>,
        sink: &mut impl Sink,
    ) -> Result<Progress> {
        if portal.prepared.is_empty() {
            return Ok(Progress::Empty);
        }
        if !portal.prepared.heals() {
            self.transaction.check()?;
        }
        let mut limits = self.limits();
        if let Stage::New = portal.progress {
            portal.progress = Stage::Done;
            match self
                .begin_portal(portal, rows_max, &mut limits, sink)
                .await?
            {
                Begun::Open(query) => portal.progress = Stage::Open(query),
                Begun::Complete { rest, tag } => {
                    let gives_rows = portal.prepared.fields().is_some();
                    if gives_rows {
                        portal.progress = Stage::Rest { rest, tag };
                    }
                    if !gives_rows || rows_max.is_none() {
                        return Ok(Progress::Complete(tag));
                    }
                }
            }
        }
        match &mut portal.progress {
            Stage::New | Stage::Done => {
                let message = "the portal cannot be run again: its statement has ended";
                let state = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
                Err(SqlError::new(state, message))
            }
            Stage::Open(query) => {
                let running = pin!(self.resume(query, rows_max, sink));
                let end = interruptible(&mut limits, running).await?;
                Ok(end.map_or(Progress::Suspended, Progress::Complete))
            }
            Stage::Rest { rest, tag } => {
                let fields = portal.prepared.fields().unwrap_or_default();
                let (rows, is_over) = match rest {
                    Some(rest) => {
                        let handing_over = pin!(self.resume_rows(rest, fields, rows_max, sink));
                        interruptible(&mut limits, handing_over).await?
                    }
                    None => (0, true),
                };
                Ok(match is_over {
                    true => Progress::Complete(tag.with_rows(rows)),
                    false => Progress::Suspended,
                })
            }
        }
    }

    /// Begins the portal's statement.
    async fn begin_portal(
        &mut self,
        portal: &mut Portal,
        rows_max: Option<usize>,
        limits: &mut Limits,
        sink: &mut impl Sink,
    ) -> Result<Begun> {
        let prepared = &portal.prepared;
        let mut parameters = std::mem::take(&mut portal.parameters);
        if rows_max.is_some() && matches!(prepared.kind, Kind::Planned(_)) {
            let given = Rc::new(parameters);
            let opened = {
                let opening = pin!(self.open(prepared, &given));
                interruptible(limits, opening).await?
            };
            if let Some((cached_plan, parameters)) = opened {
                let query = self.suspend("", &cached_plan, parameters)?;
                return Ok(Begun::Open(query));
            }
            parameters = Rc::into_inner(given).unwrap_or_default();
        }
        let mut kept = Kept {
            inner: sink,
            told: prepared.fields(),
            rows: rows_max.map(|_| {
                let width = prepared.fields().map_or(0, <[Field]>::len);
                (Rows::new(width), self.budget())
            }),
            tag: None,
        };
        self.run_prepared(prepared, &parameters, limits, &mut kept)
            .await?;
        self.memory.spare_rows().give_back(parameters);
        let Kept { rows, tag, .. } = kept;
        let tag = tag.ok_or_else(|| SqlError::new(SqlState::INTERNAL_ERROR, "no tag"))?;
        let rest = rows
            .filter(|(rows, _)| !rows.is_empty())
            .map(|(rows, budget)| self.suspend_rows(rows, budget.memory().clone()));
        Ok(Begun::Complete { rest, tag })
    }
}

/// A sink that keeps the rows that a client has not asked for yet, and the statement's tag.
struct Kept<'s, S> {
    inner: &'s mut S,
    /// Columns that the client was told when the statement was prepared.
    told: Option<&'s [Field]>,
    /// Rows, with their budget, if the client has not asked for all.
    rows: Option<(Rows, Budget)>,
    tag: Option<CommandTag>,
}

impl<S: Sink> Sink for Kept<'_, S> {
    /// Checks the columns of EXECUTE and FETCH: another statement may have the name, another cursor be open.
    fn expects(&self, fields: &[Field]) -> Result<()> {
        check_told(Some(fields), self.told)
    }

    fn fields(&mut self, fields: &[Field]) -> Result<()> {
        self.expects(fields)
    }

    fn row(&mut self, row: &ResultRow<'_>) -> Result<()> {
        match &mut self.rows {
            Some((rows, budget)) => {
                rows.push(row.values.iter().copied());
                rows.settle(budget.memory())
            }
            None => self.inner.row(row),
        }
    }

    fn complete(&mut self, tag: CommandTag) -> Result<()> {
        self.tag = Some(tag);
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) {
        self.inner.notice(notice);
    }

    fn has_room(&self) -> bool {
        self.rows.is_some() || self.inner.has_room()
    }

    async fn drain(&mut self) -> Result<()> {
        match self.rows {
            Some(_) => Ok(()),
            None => self.inner.drain().await,
        }
    }

    async fn copy_in(
        &mut self,
        form: CopyForm,
        columns: usize,
        target: &mut impl CopyTarget,
    ) -> Result<()> {
        self.inner.copy_in(form, columns, target).await
    }

    fn begin_copy_out(&mut self, form: CopyForm, columns: usize) -> Result<()> {
        self.inner.begin_copy_out(form, columns)
    }

    fn copy_out(&mut self, data: &[u8]) -> Result<()> {
        self.inner.copy_out(data)
    }

    fn end_copy_out(&mut self) {
        self.inner.end_copy_out();
    }
}
