//! Statements that a client prepares, and runs with parameters.
//!
//! A statement is planned when it is prepared, and again when its plan has become invalid: a table
//! that it uses, the search path or the user has changed. Its parameters and its columns stay those that
//! the client was told. Its plan is the database's for its text (`plan_cache.rs`): a statement that
//! is prepared again and again, as the unnamed one is, is planned once.

use std::{cell::RefCell, pin::pin, rc::Rc, sync::Arc};

use types::{Charge, EnumId, Result, Scalar, Scratch, SqlError, SqlState, Type, Value};

use super::{
    CopyForm, CopyTarget, Field, ResultRow, Session, Sink, Tag,
    explain::explained,
    interrupt::interruptible,
    plan_cache::PlanKey,
    query::CachedPlan,
    settings::shown_fields,
    split,
    suspended::{Rest, Suspended},
};
use batch::Rows;
use catalog::ObjectId;
use executor::execute::Budget;
use syntax::{Source, Statement, command::Command, fingerprint::Literal, phase};

/// A statement that was prepared.
pub struct PreparedStatement {
    text: Box<str>,
    types: Arc<[Type]>,
    fields: Option<Arc<[Field]>>,
    kind: Kind,
}

enum Kind {
    Empty,
    Planned(RefCell<Ready>),
    Other,
}

/// The newest plan of a prepared statement.
#[derive(Clone)]
struct Ready {
    cached_plan: Arc<CachedPlan>,
    /// Literals of the text that the plan has as parameters. There are none where the client has
    /// parameters of its own.
    literals: Option<Rc<[Literal<'static>]>>,
}

impl Ready {
    fn new((cached_plan, literals): (Arc<CachedPlan>, Vec<Literal<'_>>)) -> Self {
        let has_literals = !literals.is_empty();
        let own = || literals.into_iter().map(Literal::into_owned).collect();
        Self {
            cached_plan,
            literals: has_literals.then(own),
        }
    }
}

impl PreparedStatement {
    /// Makes a prepared statement that has no plan.
    fn other(source: &Source<'_>, fields: Option<Vec<Field>>) -> Self {
        Self {
            text: source.text().into(),
            types: Arc::default(),
            fields: fields.map(Arc::from),
            kind: Kind::Other,
        }
    }

    /// Returns the types of the parameters.
    pub fn parameter_types(&self) -> &[Type] {
        &self.types
    }

    /// Returns the columns of the statement's rows, if it gives any.
    pub fn fields(&self) -> Option<&[Field]> {
        self.fields.as_deref()
    }

    /// Returns whether the statement is a query.
    pub(super) fn is_query(&self) -> bool {
        matches!(&self.kind, Kind::Planned(ready) if ready.borrow().cached_plan.is_query())
    }

    /// Returns whether the statement is a query that locks rows.
    pub(super) fn locks_rows(&self) -> bool {
        matches!(&self.kind, Kind::Planned(ready) if ready.borrow().cached_plan.locks_rows())
    }

    /// Returns the newest plan, if the statement has one.
    #[cfg(test)]
    pub(super) fn plan(&self) -> Option<Arc<CachedPlan>> {
        match &self.kind {
            Kind::Planned(ready) => Some(ready.borrow().cached_plan.clone()),
            Kind::Empty | Kind::Other => None,
        }
    }

    /// Returns the estimated bytes that the statement takes.
    pub(super) fn bytes(&self) -> usize {
        let plan = match &self.kind {
            Kind::Planned(ready) => ready.borrow().cached_plan.bytes(),
            Kind::Empty | Kind::Other => 0,
        };
        std::mem::size_of::<Self>() + self.text.len() + plan
    }
}

/// A statement with its parameters, and its progress.
pub struct Portal {
    prepared: Rc<PreparedStatement>,
    parameters: Rc<Rows>,
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
    /// The portal is a query, which computes the rows that it is asked for.
    Open(Rc<Suspended>),
    /// The statement has run to its end, and these rows are left. A statement that writes always
    /// does so: its effect does not depend on a client that takes its rows.
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
    /// Returns the type of a number by which a client declares a parameter: a type of PostgreSQL's,
    /// an enum, or the array type of an enum.
    ///
    /// # Errors
    /// 42704 if there is none.
    pub fn type_of(&self, oid: u32) -> Result<Type> {
        if let Some(ty) = Type::from_oid(oid) {
            return Ok(ty);
        }
        let catalog = self.changes.catalog();
        let scalar = |oid: u32| {
            let ty = catalog.enum_type(ObjectId(oid))?;
            Some(Scalar::Enum(EnumId(ty.id.0)))
        };
        let scalar_type = scalar(oid).map(Type::Scalar);
        // The type of an enum's arrays has the next number.
        let array = || scalar(oid.checked_sub(1)?).map(Type::Array);
        scalar_type.or_else(array).ok_or_else(|| {
            let message = format!("type with OID {oid} does not exist");
            SqlError::new(SqlState::UNDEFINED_OBJECT, message)
        })
    }

    /// Prepares the one statement of a text; types that are not declared follow from their use.
    ///
    /// # Errors
    /// 42601 for several statements; errors of binding.
    pub async fn prepare(
        &mut self,
        text: &str,
        types: &[Option<Type>],
    ) -> Result<PreparedStatement> {
        let (interrupt, limit) = self.limits();
        interruptible(interrupt, limit, pin!(self.prepare_text(text, types))).await
    }

    async fn prepare_text(
        &mut self,
        text: &str,
        types: &[Option<Type>],
    ) -> Result<PreparedStatement> {
        if let Some(prepared) = self.prepared_before(text, types)? {
            return Ok(prepared);
        }
        let sources = split(text).await?;
        match sources.as_slice() {
            [] => Ok(PreparedStatement {
                text: "".into(),
                types: Arc::default(),
                fields: None,
                kind: Kind::Empty,
            }),
            [source] => self.prepare_source(source, Some(types)).await,
            _ => {
                let message = "cannot insert multiple commands into a prepared statement";
                Err(SqlError::new(SqlState::SYNTAX_ERROR, message))
            }
        }
    }

    /// Prepares a statement with parameters whose text has been planned before, without a look at
    /// its tokens; returns `None` if it has not been planned.
    ///
    /// # Errors
    /// 25P02 in a transaction that has failed.
    fn prepared_before(
        &self,
        text: &str,
        types: &[Option<Type>],
    ) -> Result<Option<PreparedStatement>> {
        // The end of a kept text is in no comment, which makes trimming the same characters here
        // safe.
        let text = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == ';');
        if types.is_empty() && !text.contains('$') {
            return Ok(None);
        }
        let plan_key = PlanKey::Text {
            text,
            declared: types,
        };
        let Some(cached_plan) = self.known(plan_key) else {
            return Ok(None);
        };
        self.block.check()?;
        Ok(Some(PreparedStatement {
            text: text.into(),
            types: cached_plan.parameters.clone(),
            fields: cached_plan.shows_rows().then(|| cached_plan.fields.clone()),
            kind: Kind::Planned(RefCell::new(Ready::new((cached_plan, Vec::new())))),
        }))
    }

    /// Prepares a statement; positions in errors are those of the whole text. Without `types`, the
    /// statement can have no parameters.
    pub(super) async fn prepare_source(
        &mut self,
        source: &Source<'_>,
        types: Option<&[Option<Type>]>,
    ) -> Result<PreparedStatement> {
        if !source.may_have_plan() {
            let this = &*self;
            return phase::run(|| this.prepared_without_plan(source)).await;
        }
        self.block.check()?;
        let Some(found) = self.plan(source, types).await? else {
            return Ok(PreparedStatement::other(source, None));
        };
        let ready = Ready::new(found);
        let cached_plan = &ready.cached_plan;
        let types = match self.values_of(&ready)? {
            // The parameters are literals, whose errors are raised now.
            Some(_) => Arc::default(),
            None => cached_plan.parameters.clone(),
        };
        Ok(PreparedStatement {
            text: source.text().into(),
            types,
            fields: cached_plan.shows_rows().then(|| cached_plan.fields.clone()),
            kind: Kind::Planned(RefCell::new(ready)),
        })
    }

    /// Prepares a statement that has no plan.
    fn prepared_without_plan(&self, source: &Source<'_>) -> Result<PreparedStatement> {
        let fields = match &*self.admitted(source.statement())? {
            Statement::Session(command) => self.fields_of(command),
            Statement::Explain(explain) => explained(explain),
            _ => None,
        };
        Ok(PreparedStatement::other(source, fields))
    }

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
        let catalog = self.changes.catalog();
        let names = self.names(&catalog);
        let context = self.context(&names);
        let scratch = Scratch::new();
        let read = values
            .zip(&*prepared.types)
            .map(|((is_binary, bytes), ty)| match bytes {
                None => Ok(Value::Null),
                Some(bytes) if is_binary => types::binary::read(bytes, *ty, &context, &scratch),
                Some(bytes) => {
                    let text = std::str::from_utf8(bytes).map_err(|_| {
                        let message = "invalid byte sequence for encoding \"UTF8\"";
                        SqlError::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, message)
                    })?;
                    types::text::read(text, *ty, &context, &scratch)
                }
            });
        let read: Vec<Value<'_>> = read.collect::<Result<_>>()?;
        let mut parameters = Rows::new(prepared.types.len());
        parameters.push(read);
        parameters.settle(&self.kept)?;
        let mut charge = Charge::default();
        charge.set(&self.kept, PORTAL_BYTES)?;
        Ok(Portal {
            prepared: prepared.clone(),
            parameters: Rc::new(parameters),
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
            match self.open_portal(portal, rows_max, sink).await? {
                Some(stage) => portal.progress = stage,
                None => return Ok(Progress::Empty),
            }
        }
        match &mut portal.progress {
            Stage::New => Ok(Progress::Empty),
            Stage::Open(query) => {
                self.block.check()?;
                let end = self.resume(query, rows_max, sink).await?;
                Ok(end.map_or(Progress::Suspended, Progress::Complete))
            }
            Stage::Rest { rest, tag } => {
                let fields = portal.prepared.fields().unwrap_or_default();
                let (_, is_over) = self.hand_over(rest, fields, rows_max, sink).await?;
                Ok(match is_over {
                    true => tag.map_or(Progress::Empty, Progress::Complete),
                    false => Progress::Suspended,
                })
            }
        }
    }

    /// Begins the portal's statement; does nothing if there is no statement.
    async fn open_portal(
        &mut self,
        portal: &Portal,
        rows_max: Option<usize>,
        sink: &mut impl Sink,
    ) -> Result<Option<Stage>> {
        let prepared = &portal.prepared;
        match &prepared.kind {
            Kind::Empty => return Ok(None),
            Kind::Planned(..) => {
                if let Some((cached_plan, parameters)) =
                    self.open(prepared, &portal.parameters).await?
                {
                    let query = self.suspend("", &cached_plan, parameters)?;
                    return Ok(Some(Stage::Open(query)));
                }
            }
            Kind::Other => {}
        }
        let mut kept = Kept {
            inner: sink,
            rows: rows_max
                .map(|_| Rows::new(prepared.fields.as_ref().map_or(0, |fields| fields.len()))),
            budget: self.budget(),
            tag: None,
        };
        self.run_prepared(prepared, &portal.parameters, &mut kept)
            .await?;
        let Kept { rows, tag, .. } = kept;
        Ok(Some(Stage::Rest {
            rest: Rest::new(rows.unwrap_or_default()),
            tag,
        }))
    }

    /// Locks the tables of a query that can stay open, and returns its plan and that plan's
    /// parameters; `None` for another statement.
    pub(super) async fn open(
        &mut self,
        prepared: &PreparedStatement,
        given: &Rc<Rows>,
    ) -> Result<Option<(Arc<CachedPlan>, Rc<Rows>)>> {
        let Kind::Planned(newest) = &prepared.kind else {
            return Ok(None);
        };
        self.block.check()?;
        self.enter();
        let (interrupt, limit) = self.limits();
        let ready =
            interruptible(interrupt, limit, pin!(self.lock_prepared(prepared, newest))).await?;
        if !ready.cached_plan.only_reads() {
            return Ok(None);
        }
        let parameters = match self.values_of(&ready)? {
            Some(literals) => Rc::new(literals),
            None => given.clone(),
        };
        Ok(Some((ready.cached_plan, parameters)))
    }

    /// Returns the parameters of a plan that has a statement's literals as parameters.
    fn values_of(&self, ready: &Ready) -> Result<Option<Rows>> {
        let literals = ready.literals.as_deref();
        let values = literals.map(|literals| self.literals(&ready.cached_plan, literals));
        values.transpose()
    }

    /// Returns the columns that a statement about the session gives, if it gives any.
    fn fields_of(&self, command: &Command) -> Option<Vec<Field>> {
        let fields = match command {
            Command::Execute { name, .. } => self.prepared(name)?.fields()?,
            Command::Fetch {
                name,
                is_move: false,
                ..
            } => self.cursor_fields(name)?,
            other => return shown_fields(other),
        };
        Some(fields.to_vec())
    }

    pub(super) async fn run_prepared(
        &mut self,
        prepared: &PreparedStatement,
        parameters: &Rows,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let Kind::Planned(newest) = &prepared.kind else {
            let sources = split(&prepared.text).await?;
            for source in &sources {
                self.statement(source, sink).await?;
            }
            return Ok(());
        };
        self.block.check()?;
        self.enter();
        let (interrupt, limit) = self.limits();
        let running = async {
            let ready = self.lock_prepared(prepared, newest).await?;
            let literals = self.values_of(&ready)?;
            let parameters = literals.as_ref().unwrap_or(parameters);
            self.run(&ready.cached_plan, parameters, &mut *sink).await
        };
        interruptible(interrupt, limit, pin!(running)).await?;
        self.set_pending(sink)
    }

    /// Returns the plan of a statement, whose tables are locked, in a transaction.
    async fn lock_prepared(
        &mut self,
        prepared: &PreparedStatement,
        newest: &RefCell<Ready>,
    ) -> Result<Ready> {
        loop {
            self.begin()?;
            let ready = newest.borrow().clone();
            if !self.is_current(&ready.cached_plan)
                || !self.is_well_founded(&ready.cached_plan).await
            {
                let renewed = self.again(prepared).await?;
                newest.replace(renewed);
                continue;
            }
            ready.cached_plan.may_run(self)?;
            if self.lock(&ready.cached_plan).await? {
                return Ok(ready);
            }
        }
    }

    /// Plans a statement again after a dependency of its plan has changed.
    ///
    /// # Errors
    /// 0A000 if it gives other columns than the client was told.
    async fn again(&self, prepared: &PreparedStatement) -> Result<Ready> {
        let types: Vec<_> = prepared.types.iter().map(|ty| Some(*ty)).collect();
        let sources = split(&prepared.text).await?;
        let cached_plan = match sources.as_slice() {
            [source] => self.plan(source, Some(&types)).await?,
            _ => None,
        };
        let Some((cached_plan, literals)) = cached_plan else {
            return Err(SqlError::new(SqlState::INTERNAL_ERROR, "not one statement"));
        };
        let fields = cached_plan.shows_rows().then_some(&*cached_plan.fields);
        let is_as_told = match (fields, prepared.fields()) {
            (Some(fields), Some(told)) => {
                fields.len() == told.len() && fields.iter().zip(told).all(|(a, b)| a.is_like(b))
            }
            (None, None) => true,
            _ => false,
        };
        if !is_as_told {
            let message = "cached plan must not change result type";
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        Ok(Ready::new((cached_plan, literals)))
    }
}

/// A sink that keeps the rows that a client has not asked for yet, and the statement's tag.
struct Kept<'s, S> {
    inner: &'s mut S,
    rows: Option<Rows>,
    /// Budget of these rows.
    budget: Budget,
    tag: Option<Tag>,
}

impl<S: Sink> Sink for Kept<'_, S> {
    fn fields(&mut self, _: &[Field]) -> Result<()> {
        Ok(())
    }

    fn row(&mut self, row: &ResultRow<'_>) -> Result<()> {
        match &mut self.rows {
            Some(rows) => {
                rows.push(row.values.iter().copied());
                rows.settle(self.budget.memory())
            }
            None => self.inner.row(row),
        }
    }

    fn complete(&mut self, tag: Tag) -> Result<()> {
        self.tag = Some(tag);
        Ok(())
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
