//! PREPARE, EXECUTE and DEALLOCATE: prepared statements by name, those of the protocol among them.

use std::{cell::Cell, collections::HashMap, pin::pin, rc::Rc};

use types::{Charge, Memory, Result, Scratch, SqlError, SqlState};

use super::{
    PreparedStatement, Session, Sink, Tag,
    interrupt::{Limits, interruptible},
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

/// Prepared statements by name. The one without a name is used most and is found without hashing.
#[derive(Default)]
pub(super) struct PreparedStatements {
    unnamed: Option<Rc<PreparedStatement>>,
    named: HashMap<Box<str>, NamedPreparedStatement>,
    /// The size of the named ones.
    bytes: usize,
    /// Version of the catalog: plans of earlier ones have been dropped.
    version: u64,
    /// Whether there may be plans that were made with a transaction's own changes of the catalog.
    has_private_plans: Cell<bool>,
}

struct NamedPreparedStatement {
    prepared: Rc<PreparedStatement>,
    /// Charge for the name and the place of the statement, which has its own.
    _charge: Charge,
    /// Its size when it was prepared.
    bytes: usize,
}

impl PreparedStatements {
    /// Drops the plans that the session's next transaction cannot use, after a change of the catalog: they would keep
    /// their version of it for as long as their statements are idle. Looks at each statement, once for each change.
    pub(super) fn forget_old_plans(&mut self, changes: &Changes) {
        let version = changes.catalogs().version();
        if version == self.version && !self.has_private_plans.get() {
            return;
        }
        self.version = version;
        self.has_private_plans.set(false);
        let named = self.named.values().map(|known| &known.prepared);
        for prepared in self.unnamed.iter().chain(named) {
            prepared.forget_plan(|cached_plan| changes.is_current(&cached_plan.catalog));
        }
    }

    /// Notes that a statement has been planned.
    pub(super) fn note_plan(&self, prepared: &PreparedStatement) {
        if prepared.has_private_plan() {
            self.has_private_plans.set(true);
        }
    }

    fn forget(&mut self, name: &str) -> bool {
        let known = self.named.remove(name);
        self.bytes -= known.as_ref().map_or(0, |known| known.bytes);
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
        let bytes = prepared.bytes() + name.len();
        if self.named.len() >= STATEMENTS_MAX || self.bytes + bytes > STATEMENTS_BYTES_MAX {
            let message = "too many prepared statements";
            let detail = format!(
                "A session keeps at most {STATEMENTS_MAX} of them, in at most {} MB.",
                STATEMENTS_BYTES_MAX >> 20
            );
            let error = SqlError::new(SqlState::OUT_OF_MEMORY, message).detail(detail);
            return Err(error.hint("DEALLOCATE those that are not used any more."));
        }
        let mut charge = Charge::default();
        charge.set(memory, size_of::<NamedPreparedStatement>() + name.len())?;
        self.bytes += bytes;
        let statement = NamedPreparedStatement {
            prepared,
            _charge: charge,
            bytes,
        };
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
        self.prepared_statements.named.clear();
        self.prepared_statements.bytes = 0;
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
        if !source.may_have_plan() {
            return Err(source.not_expected());
        }
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
            return sink.complete(Tag::Word("EXECUTE"));
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
        let mut no_parameters = Rows::new(0);
        no_parameters.push([]);
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
