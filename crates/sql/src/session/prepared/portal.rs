//! Portals: a statement with its parameters, run at once or bit by bit.

use std::rc::Rc;

use types::{Charge, Result, Scratch, SqlError, SqlState, Type, Value, row::Taking};

use super::{Kind, PreparedStatement, check_told};
use crate::session::{
    CopyForm, CopyTarget, Field, Notice, ResultRow, Session, Sink, Tag,
    suspended::{Rest, Suspended},
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
    /// The statement has failed, or was given up: it cannot be run again.
    Failed,
    /// The portal is a query whose client takes a number of rows at a time: it computes those that it is asked for.
    Open(Rc<Suspended>),
    /// The statement has run to its end, and these rows are left. A statement that writes always
    /// does so: its effect does not depend on a client that takes its rows. A query does so if it is asked for all
    /// of its rows, and none are left.
    Rest { rest: Rest, tag: Option<Tag> },
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
    Complete(Tag),
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
        let mut parameters = self.spare_rows.take(prepared.types.len());
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
        if let Stage::New = portal.progress {
            if let Kind::Planned(..) = portal.prepared.kind {
                self.transaction.check()?;
                portal.progress = Stage::Failed;
            }
            match self.open_portal(portal, rows_max, sink).await? {
                Some(stage) => portal.progress = stage,
                None => return Ok(Progress::Empty),
            }
        }
        match &mut portal.progress {
            Stage::New => Ok(Progress::Empty),
            Stage::Failed => {
                self.transaction.check()?;
                let message = "the portal cannot be run again: its statement has failed";
                let state = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
                Err(SqlError::new(state, message))
            }
            Stage::Open(query) => {
                self.transaction.check()?;
                let end = self.resume(query, rows_max, sink).await?;
                Ok(end.map_or(Progress::Suspended, Progress::Complete))
            }
            Stage::Rest { rest, tag } => {
                if let Kind::Planned(..) = portal.prepared.kind {
                    self.transaction.check()?;
                }
                let fields = portal.prepared.fields().unwrap_or_default();
                let (_, is_over) = self.hand_over(rest, fields, rows_max, sink).await?;
                if !is_over {
                    return Ok(Progress::Suspended);
                }
                let complete = tag.map_or(Progress::Empty, Progress::Complete);
                // A query that is run once more has no rows.
                if let Some(Tag::Rows(_, rows)) = tag
                    && portal.prepared.is_query()
                {
                    *rows = 0;
                }
                Ok(complete)
            }
        }
    }

    /// Begins the portal's statement; does nothing if there is no statement.
    async fn open_portal(
        &mut self,
        portal: &mut Portal,
        rows_max: Option<usize>,
        sink: &mut impl Sink,
    ) -> Result<Option<Stage>> {
        let prepared = &portal.prepared;
        let mut parameters = std::mem::take(&mut portal.parameters);
        match &prepared.kind {
            Kind::Empty => return Ok(None),
            Kind::Planned(..) if rows_max.is_some() => {
                let given = Rc::new(parameters);
                if let Some((cached_plan, parameters)) = self.open(prepared, &given).await? {
                    let query = self.suspend("", &cached_plan, parameters)?;
                    return Ok(Some(Stage::Open(query)));
                }
                parameters = Rc::into_inner(given).unwrap_or_default();
            }
            Kind::Planned(..) | Kind::Execute | Kind::Other => {}
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
        self.run_prepared(prepared, &parameters, &mut kept).await?;
        self.spare_rows.give_back(parameters);
        let Kept { rows, tag, .. } = kept;
        Ok(Some(Stage::Rest {
            rest: Rest::new(rows.map_or_else(Rows::default, |(rows, _)| rows)),
            tag,
        }))
    }
}

/// A sink that keeps the rows that a client has not asked for yet, and the statement's tag.
struct Kept<'s, S> {
    inner: &'s mut S,
    /// Columns that the client was told when the statement was prepared.
    told: Option<&'s [Field]>,
    /// Rows, with their budget, if the client has not asked for all.
    rows: Option<(Rows, Budget)>,
    tag: Option<Tag>,
}

impl<S: Sink> Sink for Kept<'_, S> {
    /// Checks the columns of EXECUTE and FETCH: another statement may have the name, another cursor be open.
    fn fields(&mut self, fields: &[Field]) -> Result<()> {
        check_told(Some(fields), self.told)
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

    fn complete(&mut self, tag: Tag) -> Result<()> {
        self.tag = Some(tag);
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) {
        self.inner.notice(notice);
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
