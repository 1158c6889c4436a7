//! Statements that a client prepares, and runs with parameters.
//!
//! A statement is planned when it is prepared, and again when its plan has become invalid: a table
//! that it uses, the search path or the user has changed. Its parameters and its columns stay those that
//! the client was told. Its plan is the database's for its text (`plan_cache.rs`): a statement that
//! is prepared again and again, as the unnamed one is, is planned once.

mod portal;

use std::{
    any::Any,
    cell::{OnceCell, RefCell},
    pin::pin,
    rc::Rc,
    sync::Arc,
};

use types::{Charge, EnumId, Memory, Result, Scalar, SqlError, SqlState, Type};

use super::{
    Field, Session, Sink,
    explain::explained,
    interrupt::{Limits, interruptible},
    plan_cache::PlanKey,
    query::{CachedPlan, no_plan},
    settings::shown_fields,
    split,
};
use batch::Rows;
use catalog::{Catalog, ObjectId};
use explain::Names;
use syntax::{Source, Statement, command::Command, fingerprint::Literal, phase};

pub use self::portal::{Portal, Progress};

/// A statement that was prepared.
pub struct PreparedStatement {
    text: Box<str>,
    types: Arc<[Type]>,
    fields: Option<Arc<[Field]>>,
    kind: Kind,
    /// See [`PreparedStatement::described`].
    description: OnceCell<Rc<dyn Any>>,
    /// Charge for the statement, for as long as a name, a portal or a cursor holds it.
    charge: RefCell<Charge>,
    /// Part of the session's named statements, while it is one.
    counted: RefCell<Charge>,
}

enum Kind {
    Empty,
    Planned(Planned),
    /// The statement runs another prepared statement, by its name.
    Execute,
    Other {
        /// Whether a transaction that has failed lets it through.
        heals: bool,
    },
}

/// A statement that has a plan.
struct Planned {
    /// The newest plan, unless it was dropped.
    newest: RefCell<Option<Ready>>,
    /// Types of parameters as the client has declared them, if the statement can have any: with its text the key of
    /// its plan.
    declared: Option<Box<[Option<Type>]>>,
    is_query: bool,
    locks_rows: bool,
}

impl Planned {
    fn new(ready: Ready, declared: Option<&[Option<Type>]>) -> Self {
        Self {
            declared: declared.map(Box::from),
            is_query: ready.cached_plan.is_query(),
            locks_rows: ready.cached_plan.locks_rows(),
            newest: RefCell::new(Some(ready)),
        }
    }
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

    fn bytes(&self) -> usize {
        let bytes = |literal: &Literal<'_>| size_of::<Literal<'_>>() + literal.text.len();
        let literals = self.literals.iter().flat_map(|literals| literals.iter());
        self.cached_plan.bytes() + literals.map(bytes).sum::<usize>()
    }
}

impl PreparedStatement {
    /// Makes a prepared statement whose memory is charged.
    ///
    /// # Errors
    /// 53200 if the session may not have as much.
    fn new(
        text: &str,
        types: Arc<[Type]>,
        fields: Option<Arc<[Field]>>,
        kind: Kind,
        memory: &Rc<Memory>,
    ) -> Result<Self> {
        let prepared = Self {
            text: text.into(),
            types,
            fields,
            kind,
            description: OnceCell::new(),
            charge: RefCell::default(),
            counted: RefCell::default(),
        };
        prepared.charge(memory)?;
        Ok(prepared)
    }

    /// Charges the memory that the statement takes now.
    ///
    /// # Errors
    /// 53200 if the session may not have as much.
    fn charge(&self, memory: &Rc<Memory>) -> Result<()> {
        self.charge.borrow_mut().set(memory, self.bytes())
    }

    /// Counts the statement among those that have names, if there is room; returns whether there is.
    pub(super) fn count(&self, named: &Rc<Memory>) -> bool {
        let mut counted = self.counted.borrow_mut();
        counted.set(named, self.bytes()).is_ok()
    }

    /// Counts the statement anew if it has a name; returns whether there is room.
    pub(super) fn recount(&self, named: &Rc<Memory>) -> bool {
        self.counted.borrow().bytes() == 0 || self.count(named)
    }

    /// Notes that the statement has no name any more.
    pub(super) fn uncount(&self) {
        self.counted.borrow_mut().lower(0);
    }

    /// Drops the plan of an idle statement unless `is_of_use`; it is made anew when the statement is run.
    pub(super) fn forget_plan(&self, is_of_use: impl FnOnce(&CachedPlan) -> bool) {
        let Kind::Planned(planned) = &self.kind else {
            return;
        };
        let is_old = |ready: &mut Ready| !is_of_use(&ready.cached_plan);
        if planned.newest.borrow_mut().take_if(is_old).is_some() {
            let bytes = self.bytes();
            self.charge.borrow_mut().lower(bytes);
            self.counted.borrow_mut().lower(bytes);
        }
    }

    /// Returns whether the statement has a plan that was made with a transaction's own changes of the catalog.
    pub(super) fn has_private_plan(&self) -> bool {
        let Kind::Planned(planned) = &self.kind else {
            return false;
        };
        let newest = planned.newest.borrow();
        (newest.as_ref()).is_some_and(|ready| ready.cached_plan.catalog.is_private())
    }

    /// Returns a description of the statement in the terms of a protocol, which `describe` makes when it is first
    /// asked for: it lives as long as the statement.
    pub fn described<D: Any>(&self, describe: impl Fn(&Self) -> D) -> Rc<D> {
        let description = self.description.get_or_init(|| Rc::new(describe(self)));
        match description.clone().downcast() {
            Ok(description) => description,
            Err(_) => Rc::new(describe(self)),
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
        matches!(&self.kind, Kind::Planned(planned) if planned.is_query)
    }

    /// Returns whether the statement is a query that locks rows.
    pub(super) fn locks_rows(&self) -> bool {
        matches!(&self.kind, Kind::Planned(planned) if planned.locks_rows)
    }

    /// Returns the newest plan, if the statement has one.
    #[cfg(test)]
    pub(super) fn plan(&self) -> Option<Arc<CachedPlan>> {
        match &self.kind {
            Kind::Planned(planned) => {
                let newest = planned.newest.borrow();
                newest.as_ref().map(|ready| ready.cached_plan.clone())
            }
            Kind::Empty | Kind::Execute | Kind::Other { .. } => None,
        }
    }

    /// Returns the estimated bytes that the statement takes, with the description of its parameters and columns.
    pub(super) fn bytes(&self) -> usize {
        let plan = match &self.kind {
            Kind::Planned(planned) => {
                let declared = planned.declared.as_deref().map_or(0, size_of_val);
                let newest = planned.newest.borrow();
                newest.as_ref().map_or(0, Ready::bytes) + declared
            }
            Kind::Empty | Kind::Execute | Kind::Other { .. } => 0,
        };
        let fields = self.fields().map_or(0, |fields| 2 * size_of_val(fields));
        let types = 2 * size_of_val(&*self.types);
        size_of::<Self>() + self.text.len() + types + fields + plan
    }

    /// Returns whether there was no statement in the text.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self.kind, Kind::Empty)
    }

    /// Returns whether a transaction that has failed lets the statement through.
    fn heals(&self) -> bool {
        matches!(self.kind, Kind::Empty | Kind::Other { heals: true })
    }

    /// Returns whether the statement runs another prepared statement.
    pub(super) fn is_execute(&self) -> bool {
        matches!(self.kind, Kind::Execute)
    }

    /// Returns whether the statement tells the columns of its rows itself, whenever it is run.
    pub(super) fn tells_fields(&self) -> bool {
        matches!(self.kind, Kind::Execute | Kind::Other { .. })
    }
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
        let catalog = self.transaction.catalog();
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
        let mut limits = self.limits();
        interruptible(&mut limits, pin!(self.prepare_text(text, types))).await
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
            [] => PreparedStatement::new("", Arc::default(), None, Kind::Empty, self.memory.kept()),
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
        self.transaction.check()?;
        let parameters = cached_plan.parameters.clone();
        let fields = cached_plan.told_fields().cloned();
        let ready = Ready::new((cached_plan, Vec::new()));
        let kind = Kind::Planned(Planned::new(ready, Some(types)));
        PreparedStatement::new(text, parameters, fields, kind, self.memory.kept()).map(Some)
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
        self.transaction.check()?;
        let Some(found) = self.plan(source, types).await? else {
            return self.planless(source, None, Kind::Other { heals: false });
        };
        let ready = Ready::new(found);
        let cached_plan = &ready.cached_plan;
        let literals = ready.literals.as_deref();
        let parameters = match self.values_of(cached_plan, literals)? {
            // The parameters are literals, whose errors are raised now.
            Some(_) => Arc::default(),
            None => cached_plan.parameters.clone(),
        };
        let fields = cached_plan.told_fields().cloned();
        let kind = Kind::Planned(Planned::new(ready, types));
        PreparedStatement::new(source.text(), parameters, fields, kind, self.memory.kept())
    }

    /// Prepares a statement that has no plan.
    fn prepared_without_plan(&self, source: &Source<'_>) -> Result<PreparedStatement> {
        let statement = self.admitted(source.statement())?;
        let fields = match &*statement {
            Statement::Session(command) => self.fields_of(command),
            Statement::Explain(explain) => explained(explain),
            _ => None,
        };
        let kind = match &*statement {
            Statement::Session(Command::Execute(_)) => Kind::Execute,
            _ => Kind::Other {
                heals: statement.heals(),
            },
        };
        self.planless(source, fields, kind)
    }

    fn planless(
        &self,
        source: &Source<'_>,
        fields: Option<Vec<Field>>,
        kind: Kind,
    ) -> Result<PreparedStatement> {
        let fields = fields.map(Arc::from);
        PreparedStatement::new(
            source.text(),
            Arc::default(),
            fields,
            kind,
            self.memory.kept(),
        )
    }

    /// Locks the tables of a query that can stay open, and returns its plan and that plan's
    /// parameters; `None` for another statement.
    pub(super) async fn open(
        &mut self,
        prepared: &PreparedStatement,
        given: &Rc<Rows>,
    ) -> Result<Option<(Arc<CachedPlan>, Rc<Rows>)>> {
        let Kind::Planned(planned) = &prepared.kind else {
            return Ok(None);
        };
        self.transaction.check()?;
        self.enter();
        let (cached_plan, literals) = self.lock_prepared(prepared, planned).await?;
        if !cached_plan.only_reads() {
            return Ok(None);
        }
        let parameters = literals.map_or_else(|| given.clone(), Rc::new);
        Ok(Some((cached_plan, parameters)))
    }

    /// Locks the tables of a query, and returns its plan and that plan's parameters.
    ///
    /// # Errors
    /// 42809 for another statement; errors of planning and locking.
    pub(super) async fn prepared_query(
        &mut self,
        prepared: &PreparedStatement,
        given: Rows,
    ) -> Result<(Arc<CachedPlan>, Rows)> {
        match &prepared.kind {
            Kind::Planned(planned) if planned.is_query => {
                let (cached_plan, literals) = self.lock_prepared(prepared, planned).await?;
                Ok((cached_plan, literals.unwrap_or(given)))
            }
            _ => {
                let message = "prepared statement is not a SELECT";
                Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message))
            }
        }
    }

    /// Plans a prepared statement for EXPLAIN, and returns the names in it besides.
    ///
    /// # Errors
    /// 0A000 for a statement that has no plan, or gives other columns than the client was told; errors of planning.
    pub(super) fn explained_prepared(
        &self,
        prepared: &PreparedStatement,
        catalog: &Arc<Catalog>,
    ) -> Result<(CachedPlan, Names)> {
        let Kind::Planned(_) = &prepared.kind else {
            return Err(SqlError::unsupported("EXPLAIN of this statement"));
        };
        let explained = self.explained_text(&prepared.text, &prepared.types, catalog)?;
        check_told(
            explained.0.told_fields().map(Arc::as_ref),
            prepared.fields(),
        )?;
        Ok(explained)
    }

    /// Returns the parameters of a plan that has a statement's literals as parameters.
    fn values_of(
        &self,
        cached_plan: &CachedPlan,
        literals: Option<&[Literal<'_>]>,
    ) -> Result<Option<Rows>> {
        let values = literals.map(|literals| self.literals(cached_plan, literals));
        values.transpose()
    }

    /// Returns the columns that a statement about the session gives, if it gives any.
    fn fields_of(&self, command: &Command) -> Option<Vec<Field>> {
        let fields = match command {
            Command::Execute(execute) => self.prepared(&execute.name)?.fields()?,
            Command::Fetch {
                name,
                is_move: false,
                ..
            } => self.cursor_fields(name)?,
            other => return shown_fields(other),
        };
        Some(fields.to_vec())
    }

    /// Runs a statement to its end, within the limits of the statement or portal that runs it.
    pub(super) async fn run_prepared(
        &mut self,
        prepared: &PreparedStatement,
        parameters: &Rows,
        limits: &mut Limits,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let Kind::Planned(planned) = &prepared.kind else {
            let sources = split(&prepared.text).await?;
            for source in &sources {
                self.statement(source, limits, sink).await?;
            }
            return Ok(());
        };
        self.transaction.check()?;
        self.enter();
        let running = async {
            let (cached_plan, literals) = self.lock_prepared(prepared, planned).await?;
            let parameters = literals.as_ref().unwrap_or(parameters);
            self.run(&cached_plan, parameters, &mut *sink).await
        };
        interruptible(limits, pin!(running)).await?;
        self.set_pending(sink).await
    }

    /// Returns the plan of a statement, whose tables are locked, in a transaction, and the literals of the statement
    /// where they are the plan's parameters. The plan is the statement's newest one, or made anew.
    async fn lock_prepared(
        &mut self,
        prepared: &PreparedStatement,
        planned: &Planned,
    ) -> Result<(Arc<CachedPlan>, Option<Rows>)> {
        self.begin()?;
        let this = &*self;
        let find = async || {
            let newest = planned.newest.borrow().clone();
            let ready = match newest.filter(|ready| this.is_current(&ready.cached_plan)) {
                Some(ready) => ready,
                None => {
                    let renewed = this.again(prepared, planned).await?;
                    planned.newest.replace(Some(renewed.clone()));
                    let charged = prepared.charge(this.memory.kept());
                    // A plan without room runs once: the statement has been taken, and others have grown.
                    let has_room = this.prepared_statements.note_plan(prepared);
                    if charged.is_err() || !has_room {
                        prepared.forget_plan(|_| false);
                    }
                    charged?;
                    renewed
                }
            };
            Ok(Some((ready.cached_plan, ready.literals)))
        };
        let (cached_plan, literals) = this.runnable(find).await?.ok_or_else(no_plan)?;
        let literals = this.values_of(&cached_plan, literals.as_deref())?;
        Ok((cached_plan, literals))
    }

    /// Plans a statement again after a dependency of its plan has changed. Its plan is asked for as it was at first, so
    /// that it is shared with others; if its parameters would be of other types now, it is asked for with the types
    /// that the client was told.
    ///
    /// # Errors
    /// 0A000 if it gives other columns than the client was told.
    async fn again(&self, prepared: &PreparedStatement, planned: &Planned) -> Result<Ready> {
        let sources = split(&prepared.text).await?;
        let [source] = sources.as_slice() else {
            return Err(SqlError::new(SqlState::INTERNAL_ERROR, "not one statement"));
        };
        let mut found = self.plan(source, planned.declared.as_deref()).await;
        let is_as_told = matches!(&found, Ok(Some((cached_plan, literals)))
            if !literals.is_empty() || *cached_plan.parameters == *prepared.types);
        if !is_as_told && !prepared.types.is_empty() {
            let types: Vec<_> = prepared.types.iter().map(|ty| Some(*ty)).collect();
            found = self.plan(source, Some(&types)).await;
        }
        let (cached_plan, literals) = found?.ok_or_else(no_plan)?;
        check_told(
            cached_plan.told_fields().map(Arc::as_ref),
            prepared.fields(),
        )?;
        Ok(Ready::new((cached_plan, literals)))
    }
}

/// # Errors
/// 0A000 if a statement's rows have other columns than its client was told.
fn check_told(fields: Option<&[Field]>, told: Option<&[Field]>) -> Result<()> {
    let are_like = |fields: &[Field], told: &[Field]| {
        fields.len() == told.len() && fields.iter().zip(told).all(|(a, b)| a.is_like(b))
    };
    match (fields, told) {
        (Some(fields), Some(told)) if are_like(fields, told) => Ok(()),
        (None, None) => Ok(()),
        _ => {
            let message = "cached plan must not change result type";
            Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message))
        }
    }
}
