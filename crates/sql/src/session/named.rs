//! PREPARE, EXECUTE and DEALLOCATE: prepared statements by name, those of the protocol among them.

use std::{cell::Cell, collections::BTreeMap, ops::Bound, pin::pin, rc::Rc};

use types::{Allowance, Charge, Memory, Result, Scratch, SqlError, SqlState};

use super::{
    CommandTag, PreparedStatement, Session, Sink,
    copy::no_parameters,
    interrupt::{Limits, interruptible},
    query::CachedPlan,
};
use batch::Rows;
use catalog::Changes;
use executor::execute::{KeyChanges, SharedRows};
use logical::{
    bind::{Binder, Parameters},
    data_type,
};
use planner::program::{Layout, Outer, compile};
use syntax::{
    Source, phase,
    statement::{Execute, TypeName},
};

/// Maximum number of named statements that a session keeps.
const STATEMENTS_MAX: usize = 10_000;

/// Maximum size of their texts and plans together, as [`PreparedStatement::bytes`] estimates it. A
/// statement without a name is one more.
const STATEMENTS_BYTES_MAX: usize = 64 << 20;

/// Named statements whose plans are looked at when a transaction begins: dropping a plan takes some microseconds.
const SWEPT_AT_ONCE: usize = 32;

/// Prepared statements by name. The one without a name is used most and is found without a search.
pub(super) struct PreparedStatements {
    unnamed: Option<Rc<PreparedStatement>>,
    named: BTreeMap<Box<str>, NamedPreparedStatement>,
    /// Count of the named ones' bytes, up to [`STATEMENTS_BYTES_MAX`]; the database's memory is charged apart from it.
    bytes: Rc<Memory>,
    /// Version of the catalog: plans of earlier ones have been dropped, or are about to be.
    version: u64,
    /// Whether there may be plans that were made with a transaction's own changes of the catalog.
    has_private_plans: Cell<bool>,
    /// Number of named statements whose plans may be old: those from `swept_to` on, in a circle.
    unswept: usize,
    swept_to: Box<str>,
}

impl Default for PreparedStatements {
    fn default() -> Self {
        Self {
            unnamed: None,
            named: BTreeMap::new(),
            bytes: Memory::new(&Allowance::unlimited(), STATEMENTS_BYTES_MAX),
            version: 0,
            has_private_plans: Cell::new(false),
            unswept: 0,
            swept_to: Box::default(),
        }
    }
}

struct NamedPreparedStatement {
    prepared: Rc<PreparedStatement>,
    /// Charge for the name and the place of the statement, which has its own.
    _charge: Charge,
}

impl PreparedStatements {
    /// Drops the plans that the session's next transaction cannot use, after a change of the catalog: they would keep
    /// their version of it for as long as their statements are idle. Each transaction that begins looks at some of the
    /// named statements, until all have been looked at after the change.
    pub(super) fn forget_old_plans(&mut self, changes: &Changes) {
        let version = changes.catalogs().version();
        let is_of_use = |cached_plan: &CachedPlan| changes.is_current(&cached_plan.catalog);
        if version != self.version || self.has_private_plans.take() {
            self.version = version;
            self.unswept = self.named.len();
            if let Some(unnamed) = &self.unnamed {
                unnamed.forget_plan(is_of_use);
            }
        }
        if self.unswept == 0 {
            return;
        }
        let behind = (Bound::Excluded(&*self.swept_to), Bound::Unbounded);
        let around = (Bound::Unbounded, Bound::Included(&*self.swept_to));
        let circle = self.named.range::<str, _>(behind);
        let circle = circle.chain(self.named.range::<str, _>(around));
        let swept = self.unswept.min(SWEPT_AT_ONCE);
        let mut last = None;
        for (name, known) in circle.take(swept) {
            known.prepared.forget_plan(is_of_use);
            last = Some(name.clone());
        }
        self.unswept -= swept;
        self.swept_to = last.unwrap_or_default();
    }

    /// Notes that a statement has been planned; returns whether there is room for the plan of a named one.
    pub(super) fn note_plan(&self, prepared: &PreparedStatement) -> bool {
        if prepared.has_private_plan() {
            self.has_private_plans.set(true);
        }
        prepared.recount(&self.bytes)
    }

    /// Returns the bytes of the named statements.
    #[cfg(test)]
    pub(super) fn named_bytes(&self) -> usize {
        self.bytes.used()
    }

    fn forget(&mut self, name: &str) -> bool {
        let known = self.named.remove(name);
        if let Some(known) = &known {
            known.prepared.uncount();
        }
        known.is_some()
    }

    /// # Errors
    /// 53200 if there are too many, or they are too large, or the database's limit leaves no memory
    /// for the name.
    fn keep(
        &mut self,
        name: &str,
        prepared: Rc<PreparedStatement>,
        memory: &Rc<Memory>,
    ) -> Result<()> {
        self.forget(name);
        let mut charge = Charge::default();
        charge.set(memory, size_of::<NamedPreparedStatement>() + name.len())?;
        if self.named.len() >= STATEMENTS_MAX || !prepared.count(&self.bytes) {
            let message = "too many prepared statements";
            let detail = format!(
                "A session keeps at most {STATEMENTS_MAX} of them, in at most {} MB.",
                STATEMENTS_BYTES_MAX >> 20
            );
            let error = SqlError::new(SqlState::OUT_OF_MEMORY, message).detail(detail);
            return Err(error.hint("DEALLOCATE those that are not used any more."));
        }
        let statement = NamedPreparedStatement {
            prepared,
            _charge: charge,
        };
        // A name within the part of the circle that is still to be looked at makes it longer.
        self.unswept += usize::from(self.unswept > 0);
        self.named.insert(name.into(), statement);
        Ok(())
    }
}

fn missing(name: &str) -> SqlError {
    let message = format!("prepared statement \"{name}\" does not exist");
    SqlError::new(SqlState::INVALID_SQL_STATEMENT_NAME, message)
}

impl Session {
    /// The prepared statement of a name; `""` is the unnamed one.
    pub fn prepared(&self, name: &str) -> Option<&Rc<PreparedStatement>> {
        match name {
            "" => self.prepared_statements.unnamed.as_ref(),
            name => {
                let known = self.prepared_statements.named.get(name)?;
                Some(&known.prepared)
            }
        }
    }

    /// Keeps a statement under a name, in place of the one that had it.
    ///
    /// # Errors
    /// 53200 if the session keeps too many, or too much memory with them.
    pub fn keep_prepared(&mut self, name: &str, prepared: Rc<PreparedStatement>) -> Result<()> {
        self.prepared_statements.note_plan(&prepared);
        match name {
            "" => self.prepared_statements.unnamed = Some(prepared),
            name => self
                .prepared_statements
                .keep(name, prepared, self.memory.kept())?,
        }
        Ok(())
    }

    /// Forgets the statement of a name; whether there was one.
    pub fn forget_prepared(&mut self, name: &str) -> bool {
        match name {
            "" => self.prepared_statements.unnamed.take().is_some(),
            name => self.prepared_statements.forget(name),
        }
    }

    pub(super) fn forget_all_prepared(&mut self) {
        let named = std::mem::take(&mut self.prepared_statements.named);
        named.values().for_each(|known| known.prepared.uncount());
    }

    /// PREPARE.
    pub(super) async fn prepare_named(
        &mut self,
        name: &str,
        types: &[TypeName],
        source: &Source<'_>,
    ) -> Result<()> {
        let catalog = self.transaction.catalog();
        let types = types.iter().map(|ty| {
            let (ty, _) = data_type::resolve(ty, &catalog, self.settings.search_path())?;
            Ok(Some(ty))
        });
        let types: Vec<_> = types.collect::<Result<_>>()?;
        let prepared = self.prepare_source(source, Some(&types)).await?;
        if self.prepared(name).is_some() {
            return Err(SqlError::new(
                SqlState::DUPLICATE_PREPARED_STATEMENT,
                format!("prepared statement \"{name}\" already exists"),
            ));
        }
        self.keep_prepared(name, Rc::new(prepared))
    }

    /// Returns the statement that EXECUTE names and the values that it gives, in a transaction that has begun.
    ///
    /// # Errors
    /// 26000 if there is no such statement; errors of the arguments.
    pub(super) async fn executed(
        &mut self,
        execute: &Execute,
        source: &Source<'_>,
    ) -> Result<(Rc<PreparedStatement>, Rows)> {
        let name = execute.name.as_str();
        let prepared = self.prepared(name).cloned().ok_or_else(|| missing(name))?;
        self.begin()?;
        let this = &*self;
        let arguments = phase::run(|| this.arguments(&prepared, execute, source));
        let parameters = arguments.await?;
        Ok((prepared, parameters))
    }

    /// EXECUTE.
    pub(super) async fn execute_named(
        &mut self,
        execute: &Execute,
        source: &Source<'_>,
        limits: &mut Limits,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let (prepared, parameters) =
            interruptible(limits, pin!(self.executed(execute, source))).await?;
        // The protocol may have prepared an EXECUTE under this name, of this name itself even.
        if prepared.is_execute() {
            let name = &execute.name;
            let message = format!("EXECUTE of \"{name}\", which is an EXECUTE itself");
            let error = SqlError::unsupported(&message);
            return Err(error.hint("Execute the statement that it names."));
        }
        if prepared.is_empty() {
            return sink.complete(CommandTag::Word("EXECUTE"));
        }
        if let Some(fields) = prepared.fields()
            && !prepared.tells_fields()
        {
            sink.fields(fields)?;
        }
        // A statement of the protocol that has no plan is carried out as any other.
        Box::pin(self.run_prepared(&prepared, &parameters, limits, sink)).await
    }

    /// The values that a statement is given.
    fn arguments(
        &self,
        prepared: &PreparedStatement,
        Execute { name, arguments }: &Execute,
        source: &Source<'_>,
    ) -> Result<Rows> {
        let types = prepared.parameter_types();
        let mut values = Rows::new(types.len());
        // PostgreSQL ignores arguments of a statement without parameters.
        if types.is_empty() {
            values.push([]);
            return Ok(values);
        }
        if arguments.len() != types.len() {
            let message = format!("wrong number of parameters for prepared statement \"{name}\"");
            let detail = format!(
                "Expected {} parameters but got {}.",
                types.len(),
                arguments.len()
            );
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message).detail(detail));
        }
        let catalog = self.transaction.catalog();
        let mut none = Parameters::default();
        let bind_context = self.bind_context(&catalog);
        let mut binder = Binder::for_text(&bind_context, source.lines(), &mut none);
        let bound = binder.arguments(arguments, types)?;
        let programs = bound
            .iter()
            .map(|argument| compile(argument, &Layout::new([]), &Outer::default()));
        let programs: Vec<_> = programs.collect::<Result<_>>()?;
        let transaction = self.transaction.open()?;
        let no_parameters = no_parameters();
        let environment = self.statement_environment(&catalog);
        let shared = SharedRows::new(self.budget());
        let key_changes = KeyChanges::new(&catalog, &shared.budget);
        let context = self.execution_context(
            transaction,
            &environment,
            &no_parameters,
            &shared,
            &key_changes,
        );
        let scratch = Scratch::new();
        let mut evaluator = context.evaluator(&scratch);
        let computed = programs
            .iter()
            .map(|program| program.run(&mut evaluator, &[]));
        let computed: Vec<_> = computed.collect::<Result<_>>()?;
        values.push(computed);
        values.settle(self.memory.kept())?;
        Ok(values)
    }

    /// DEALLOCATE.
    pub(super) fn deallocate(&mut self, name: &str) -> Result<()> {
        match self.forget_prepared(name) {
            true => Ok(()),
            false => Err(missing(name)),
        }
    }
}
