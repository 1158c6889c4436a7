//! One client's side of a database: its transaction, its settings, its statements.
//!
//! A session lives on a worker's thread. Statements that read and change rows are bound and
//! planned, or found among the plans that the database keeps; then they run as operators
//! of the same task. Before they do, their tables are locked as PostgreSQL does it, so that the
//! definitions that a plan relies on stay in force until the transaction ends.
//!
//! | what | file |
//! | --- | --- |
//! | statements about the session itself | `command.rs` |
//! | the transaction: BEGIN, COMMIT, savepoints, failed transactions | `transaction.rs` |
//! | plans; those that are kept; their execution; what of them stays open | `query.rs`; `plan_cache.rs`; `execution.rs`; `suspended.rs` |
//! | statements that several workers carry out | `helpers.rs` |
//! | comments | `comment.rs` |
//! | new tables, indexes, statistics objects, views; enum types | `new_table.rs`, `column_options.rs`, `new_table_as.rs`, `new_table_like.rs`, `new_index.rs`, `new_statistics.rs`, `new_view.rs`; `enumeration.rs` |
//! | CREATE, DROP, TRUNCATE; ALTER | `define.rs`; `alter_table.rs` |
//! | foreign keys: defined; kept; put off | `foreign_key.rs`; `references.rs`; `deferred.rs`, `set_constraints.rs` |
//! | COPY; rows that an INSERT is handed | `copy.rs`; `insertion.rs` |
//! | sequences | `sequence.rs` |
//! | EXPLAIN | `explain.rs` |
//! | VACUUM and ANALYZE, by order and by themselves; rows that were changed | `maintenance.rs`; `changed_rows.rs` |
//! | PREPARE, EXECUTE; cursors | `named.rs`; `cursor.rs` |
//! | roles and passwords; LOCK TABLE | `role.rs`; `lock.rs` |
//! | SET and SHOW, and what settings do | `settings.rs` |
//! | memory | `memory.rs` |
//! | giving a statement up; what is told beside results | `interrupt.rs`, `notice.rs` |
//! | prepared statements; their portals | `prepared.rs`; `prepared/portal.rs` |
//! | what functions ask about the session | `environment.rs` |

mod alter_table;
mod changed_rows;
mod column_options;
mod command;
mod comment;
mod copy;
mod cursor;
mod deferred;
mod define;
mod enumeration;
mod environment;
mod execution;
mod explain;
mod foreign_key;
mod helpers;
mod insertion;
mod interrupt;
mod lock;
mod maintenance;
mod memory;
mod named;
mod new_index;
mod new_statistics;
mod new_table;
mod new_table_as;
mod new_table_like;
mod new_view;
mod notice;
pub(crate) mod plan_cache;
mod prepared;
mod query;
mod references;
mod role;
mod sequence;
mod set_constraints;
mod settings;
mod stored_text;
mod suspended;
#[cfg(test)]
mod tests;
mod text_names;
mod transaction;

use std::{fmt, pin::pin, rc::Rc, sync::Arc, time::Duration};

use types::{Memory, Result, Scalar, SqlError, SqlState, Type, TypeModifier, Value};

use self::{
    cursor::Cursors,
    environment::SessionEnvironment,
    interrupt::{Limits, interruptible},
    memory::SessionMemory,
    named::PreparedStatements,
    settings::SessionSettings,
    suspended::SuspendedQueries,
    transaction::SessionTransaction,
};
use crate::database::Database;
use syntax::{self, Source, Statement, Tree, phase};

pub use self::{
    copy::{CopyForm, CopyTarget},
    interrupt::Interrupt,
    notice::{Notice, Severity},
    prepared::{Portal, PreparedStatement, Progress},
    transaction::Status,
};

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// The modifier that is attached to the type.
    pub modifier: TypeModifier,
    /// The table's number and the column's there, from 1, where it is one of a table's.
    pub origin: Option<(u32, u16)>,
}

impl Field {
    /// Makes a column of no table.
    fn of_scalar(name: &str, scalar: Scalar) -> Self {
        Self {
            name: name.to_owned(),
            ty: Type::Scalar(scalar),
            modifier: TypeModifier::NONE,
            origin: None,
        }
    }

    /// Whether rows look the same in both, wherever the column comes from.
    fn is_like(&self, other: &Field) -> bool {
        (&self.name, self.ty, self.modifier) == (&other.name, other.ty, other.modifier)
    }
}

/// The end of a statement as a client is told it, as in `INSERT 0 3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandTag {
    /// Its name says all.
    Word(&'static str),
    /// With a number of rows.
    Rows(&'static str, u64),
    /// `INSERT 0` and the number of rows.
    Insert(u64),
}

impl CommandTag {
    /// Returns the tag with this number of rows, if it has one.
    fn with_rows(self, rows: u64) -> CommandTag {
        match self {
            CommandTag::Word(word) => CommandTag::Word(word),
            CommandTag::Rows(word, _) => CommandTag::Rows(word, rows),
            CommandTag::Insert(_) => CommandTag::Insert(rows),
        }
    }
}

impl fmt::Display for CommandTag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandTag::Word(word) => formatter.write_str(word),
            CommandTag::Rows(word, rows) => write!(formatter, "{word} {rows}"),
            CommandTag::Insert(rows) => write!(formatter, "INSERT 0 {rows}"),
        }
    }
}

/// A row of a result, and how its values are written.
pub struct ResultRow<'r> {
    /// The columns.
    pub fields: &'r [Field],
    /// Their values.
    pub values: &'r [Value<'r>],
    /// The session's settings, and the names of what users have made.
    pub context: types::Context<'r>,
}

/// Takes what statements give.
#[expect(
    async_fn_in_trait,
    reason = "sessions and their sinks stay on one thread"
)]
pub trait Sink {
    /// Checks that rows of these columns can be taken, before a statement does what it cannot do again.
    ///
    /// # Errors
    /// 0A000 if the client was told of other columns.
    fn expects(&self, fields: &[Field]) -> Result<()> {
        let _ = fields;
        Ok(())
    }

    /// Takes the columns of the rows to come. They are not told of statements that were prepared.
    ///
    /// # Errors
    /// The statement ends with the error.
    fn fields(&mut self, fields: &[Field]) -> Result<()> {
        let _ = fields;
        Ok(())
    }

    /// Takes a row.
    ///
    /// # Errors
    /// The statement ends with the error.
    fn row(&mut self, row: &ResultRow<'_>) -> Result<()>;

    /// Notes that a statement has ended.
    ///
    /// # Errors
    /// The statement ends with the error.
    fn complete(&mut self, tag: CommandTag) -> Result<()> {
        let _ = tag;
        Ok(())
    }

    /// Notes that there was no statement in the text.
    fn empty(&mut self) {}

    /// Takes a notice, which is something to know beside the results.
    fn notice(&mut self, _: &Notice) {}

    /// Returns whether [`Sink::drain`] would return at once.
    fn has_room(&self) -> bool {
        true
    }

    /// Waits until more rows can be taken. Called between batches, and between rows that may be large.
    ///
    /// # Errors
    /// The statement ends with the error.
    async fn drain(&mut self) -> Result<()> {
        Ok(())
    }

    /// Asks for the data of a COPY of so many columns, and hands it to `target` until it ends.
    ///
    /// # Errors
    /// Errors of `target`; 0A000 if the sink has no client to ask. The statement ends with the error.
    async fn copy_in(
        &mut self,
        form: CopyForm,
        columns: usize,
        target: &mut impl CopyTarget,
    ) -> Result<()> {
        let _ = (form, columns, target);
        Err(SqlError::unsupported("COPY FROM STDIN here"))
    }

    /// Notes that the data of a COPY of so many columns follow.
    ///
    /// # Errors
    /// 0A000 if the sink takes no such data. The statement ends with the error.
    fn begin_copy_out(&mut self, form: CopyForm, columns: usize) -> Result<()> {
        let _ = (form, columns);
        Err(SqlError::unsupported("COPY TO STDOUT here"))
    }

    /// Takes data of a COPY: a row, or the bytes before and after all rows. [`Sink::drain`] is called between
    /// batches.
    ///
    /// # Errors
    /// The statement ends with the error.
    fn copy_out(&mut self, data: &[u8]) -> Result<()> {
        let _ = data;
        Err(SqlError::unsupported("COPY TO STDOUT here"))
    }

    /// Ends the data of a COPY.
    fn end_copy_out(&mut self) {}
}

/// Drops results.
impl Sink for () {
    fn row(&mut self, _: &ResultRow<'_>) -> Result<()> {
        Ok(())
    }
}

/// Makes of a password the text that is kept, in PostgreSQL's form; a text that is in that form
/// already is kept as it is.
pub type KeepPassword = fn(&str) -> Result<String>;

/// One client's side of a database.
pub struct Session {
    database: Arc<Database>,
    transaction: SessionTransaction,
    settings: SessionSettings,
    interrupt: Option<Rc<dyn Interrupt>>,
    passwords: Option<KeepPassword>,
    environment: SessionEnvironment,
    prepared_statements: PreparedStatements,
    cursors: Cursors,
    suspended: SuspendedQueries,
    memory: SessionMemory,
}

impl Session {
    /// A session of a user, within a session of the engine's.
    pub fn new(database: &Arc<Database>, engine: &Rc<engine::Session>, user: &str) -> Session {
        let memory = SessionMemory::new(&database.memory);
        Session {
            database: database.clone(),
            transaction: SessionTransaction::new(database, engine),
            settings: SessionSettings::new(database, user),
            interrupt: None,
            passwords: None,
            environment: SessionEnvironment::new(&database.name, memory.kept()),
            prepared_statements: PreparedStatements::default(),
            cursors: Cursors::default(),
            suspended: SuspendedQueries::default(),
            memory,
        }
    }

    /// Gives the session the number by which clients know it.
    pub fn set_process_id(&mut self, process_id: i32) {
        self.environment.set_process_id(process_id);
    }

    /// Gives the session the source of requests to give its statements up.
    pub fn set_interrupt(&mut self, interrupt: Rc<dyn Interrupt>) {
        self.interrupt = Some(interrupt);
    }

    /// Refuses statements that end a transaction block, or lets them do it again: for an owner of the session
    /// that ends its block itself.
    pub fn keep_block(&mut self, is_kept: bool) {
        self.transaction.keep_block(is_kept);
    }

    /// Tells the session what is kept of passwords. Until then none can be set.
    pub fn keep_passwords(&mut self, keep: KeepPassword) {
        self.passwords = Some(keep);
    }

    /// Returns the memory that the session's things beside its statements are charged to: messages of
    /// its client as well.
    pub fn memory(&self) -> Rc<Memory> {
        self.memory.kept().clone()
    }

    /// How long its client may be idle by now, and the error that ends the connection then.
    pub fn idle_limit(&self) -> Option<(Duration, SqlError)> {
        let (limit, state, message) = match self.status() {
            Status::Idle => (
                self.settings.effects().idle_limit,
                SqlState::IDLE_SESSION_TIMEOUT,
                "terminating connection due to idle-session timeout",
            ),
            Status::Open | Status::Failed => (
                self.settings.effects().idle_in_transaction_limit,
                SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                "terminating connection due to idle-in-transaction timeout",
            ),
        };
        Some((limit?, SqlError::new(state, message)))
    }

    /// Whether a transaction is open, and whether it has failed.
    pub fn status(&self) -> Status {
        self.transaction.status()
    }

    /// Carries out all statements of a text, as PostgreSQL's simple protocol has it: if no
    /// transaction is open they are one, which ends with the text.
    ///
    /// # Errors
    /// The error of the first statement that fails; those after it are not carried out. A transaction
    /// that is open has failed then.
    ///
    /// # Cancellation
    /// Dropping the future leaves the transaction as it was in the midst of the statement: the
    /// session has to be told [`Session::failed`].
    pub async fn execute(&mut self, text: &str, sink: &mut impl Sink) -> Result<()> {
        let outcome = self.all(text, sink).await;
        match outcome {
            Ok(()) => self.end_implicit().await,
            Err(error) => {
                self.failed().await;
                Err(error)
            }
        }
    }

    async fn all(&mut self, text: &str, sink: &mut impl Sink) -> Result<()> {
        // The time of the first statement begins with its text, as in PostgreSQL; each other one has its own.
        let mut limits = self.limits();
        let sources = interruptible(&mut limits, pin!(split(text))).await?;
        if sources.is_empty() {
            sink.empty();
        }
        self.transaction.set_batch(sources.len() > 1);
        if self.transaction.is_batch() {
            // As PostgreSQL reads all of it before it carries out the first.
            for source in &sources {
                if !self.has_plan(source) {
                    self.give_way().await?;
                    let reading = pin!(phase::run(|| self.read(source)));
                    interruptible(&mut limits, reading).await?;
                }
            }
        }
        for (at, source) in sources.into_iter().enumerate() {
            self.give_way().await?;
            if at > 0 {
                limits = self.limits();
            }
            self.statement(&source, &mut limits, sink).await?;
        }
        self.transaction.set_batch(false);
        Ok(())
    }

    /// Between two statements of a text, each of which may be too short to give others a turn.
    ///
    /// # Errors
    /// The interrupt's.
    async fn give_way(&self) -> Result<()> {
        if !self.transaction.is_batch() || !interleave::turn_is_over() {
            return Ok(());
        }
        let turn = pin!(async {
            interleave::yield_now().await;
            Ok(())
        });
        interruptible(&mut Limits::new(self.interrupt.clone(), None), turn).await
    }

    /// A statement has failed: so has its transaction. One that was not begun explicitly is
    /// rolled back.
    pub async fn failed(&mut self) {
        self.environment.forget_pending();
        if !self.transaction.fail().await {
            self.roll_back().await;
        }
    }

    /// Rolls back what is open, in turns with others: before the session is dropped, which would
    /// do it at once.
    pub async fn leave(&mut self) {
        self.roll_back().await;
    }

    /// Reads a statement that is carried out later.
    ///
    /// # Errors
    /// Those that [`comes_first`]. Others are found in its turn.
    fn read(&self, source: &Source<'_>) -> Result<()> {
        match source.statement() {
            Err(error) if comes_first(&error) => Err(error),
            _ => Ok(()),
        }
    }

    async fn statement(
        &mut self,
        source: &Source<'_>,
        limits: &mut Limits,
        sink: &mut impl Sink,
    ) -> Result<()> {
        self.enter();
        // In a failed transaction, a statement is read for the errors of its grammar alone.
        if source.may_have_plan() && self.transaction.check().is_ok() {
            interruptible(limits, pin!(self.on_rows(source, sink))).await?;
            return self.set_pending(sink).await;
        }
        // Errors of the limits are told whatever the transaction's state.
        let reading = pin!(async { Ok(source.read().await) });
        let read = interruptible(limits, reading).await?;
        let statement = self.admitted(read)?;
        if let Statement::Session(command) = &*statement {
            return self.command(command, source, limits, sink).await;
        }
        interruptible(
            limits,
            Box::pin(self.without_plan(&statement, source, sink)).as_mut(),
        )
        .await?;
        self.set_pending(sink).await
    }

    /// Returns a utility statement that was read, if the transaction lets it through. Errors that
    /// [`comes_first`] come before that of a failed transaction, as in PostgreSQL; others come after it.
    ///
    /// # Errors
    /// 25P02; those of reading.
    fn admitted(&self, read: Result<Tree<Statement>>) -> Result<Tree<Statement>> {
        let is_let_through = match &read {
            Ok(statement) => statement.heals(),
            Err(error) => comes_first(error),
        };
        if !is_let_through {
            self.transaction.check()?;
        }
        read
    }

    /// Carries out a statement that begins as those do that read or change rows.
    async fn on_rows(&mut self, source: &Source<'_>, sink: &mut impl Sink) -> Result<()> {
        if self.execute_planned(source, sink).await? {
            return Ok(());
        }
        let statement = source.read().await?;
        Box::pin(self.without_plan(&statement, source, sink)).await
    }

    /// Carries out a statement that has no plan and is not about the session. Such futures are large,
    /// and most statements have a plan, so the future is boxed by its callers.
    async fn without_plan(
        &mut self,
        statement: &Statement,
        source: &Source<'_>,
        sink: &mut impl Sink,
    ) -> Result<()> {
        if let Some(name) = statement.defines() {
            if matches!(statement, Statement::Drop(dropped) if dropped.concurrently) {
                self.not_in_block("DROP INDEX CONCURRENTLY")?;
            }
            self.may_write(name)?;
            return self.define(statement, source, sink).await;
        }
        match statement {
            Statement::SetConstraints(set) => self.set_constraints(set, sink).await,
            Statement::Copy(copy) => self.copy(copy, source, sink).await,
            Statement::Explain(explain) => self.explain(explain, source, sink).await,
            Statement::Maintenance(order) => self.maintain(order, sink).await,
            Statement::Refused(error) => Err(error.clone()),
            _ => Err(SqlError::new(
                SqlState::INTERNAL_ERROR,
                "a statement that is carried out elsewhere",
            )),
        }
    }

    /// Begins the transaction that statements run in, if there is none.
    fn begin(&mut self) -> Result<()> {
        if self.transaction.begin(&self.settings, &self.environment)? {
            self.prepared_statements
                .forget_old_plans(self.transaction.changes());
        }
        Ok(())
    }
}

/// Returns whether an error of reading is raised where the statement is read, before the first of a text is
/// carried out and in whatever state the transaction is: an error of grammar, or of resources.
fn comes_first(error: &SqlError) -> bool {
    [
        SqlState::SYNTAX_ERROR,
        SqlState::STATEMENT_TOO_COMPLEX,
        SqlState::OUT_OF_MEMORY,
    ]
    .contains(&error.state())
}

/// Cuts a text into statements, as a phase if it is long.
async fn split(text: &str) -> Result<Vec<Source<'_>>> {
    phase::run_if(text.len() > syntax::SHORT_BYTES, || syntax::split(text)).await
}
