//! One client's side of a database: its transaction, its settings, its statements.
//!
//! A session lives on a worker's thread. Statements that read and change rows are bound and
//! planned, or found among the plans that the session has made before; then they run as operators
//! of the same task. Before they do, their tables are locked as PostgreSQL does it, so that the
//! definitions that a plan relies on stay in force until the transaction ends.
//!
//! | what | file |
//! | --- | --- |
//! | BEGIN, COMMIT, savepoints, failed transactions | `block.rs` |
//! | plans; their execution | `query.rs`; `execution.rs` |
//! | CREATE, DROP, TRUNCATE; ALTER TABLE | `define.rs`; `alter_table.rs` |
//! | foreign keys: defined; kept; put off | `foreign_key.rs`; `references.rs`; `deferred.rs`, `set_constraints.rs` |
//! | COPY | `copy.rs` |
//! | VACUUM and ANALYZE, by order and by themselves | `maintenance.rs` |
//! | SET and SHOW | `settings.rs` |
//! | prepared statements | `prepared.rs` |
//! | what functions ask about the session | `environment.rs` |

mod alter_table;
mod block;
mod copy;
mod deferred;
mod define;
mod enumeration;
mod environment;
mod execution;
mod foreign_key;
mod maintenance;
mod new_table;
mod prepared;
mod query;
mod references;
mod set_constraints;
mod settings;
#[cfg(test)]
mod tests;

use std::{cell::RefCell, collections::HashMap, fmt, rc::Rc, sync::Arc};

use engine::Transaction;
use functions::Patterns;
use sqlparser::ast::Statement;
use types::{Result, Settings, SqlError, SqlState, Type, TypeModifier, Value};

use self::{
    block::Block, deferred::Deferred, environment::Surrounding, query::Planned, settings::Values,
};
use crate::{
    catalog::{Changes, SearchPath},
    database::Database,
    parse::{self, Source, constraints::SetConstraints},
};

pub use self::{
    block::Status,
    copy::{CopyForm, CopyTarget},
    prepared::{Portal, Prepared, Progress},
};

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// What is attached to the type.
    pub modifier: TypeModifier,
    /// The table's number and the column's there, from 1, where it is one of a table's.
    pub origin: Option<(u32, u16)>,
}

/// How a statement has ended, as `INSERT 0 3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// Its name says all.
    Word(&'static str),
    /// With a number of rows.
    Rows(&'static str, u64),
    /// `INSERT 0` and the number of rows.
    Insert(u64),
}

impl fmt::Display for Tag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tag::Word(word) => formatter.write_str(word),
            Tag::Rows(word, rows) => write!(formatter, "{word} {rows}"),
            Tag::Insert(rows) => write!(formatter, "INSERT 0 {rows}"),
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
    /// The columns of the rows to come. Not told of statements that were prepared.
    ///
    /// # Errors
    /// Whatever ends the statement. So of the others.
    fn fields(&mut self, fields: &[Field]) -> Result<()>;

    /// A row.
    ///
    /// # Errors
    /// As above.
    fn row(&mut self, row: &ResultRow<'_>) -> Result<()>;

    /// A statement has ended.
    ///
    /// # Errors
    /// As above.
    fn complete(&mut self, tag: Tag) -> Result<()>;

    /// There was no statement in the text.
    fn empty(&mut self) {}

    /// Waits until more rows can be taken. Called between batches.
    ///
    /// # Errors
    /// As above.
    async fn drain(&mut self) -> Result<()> {
        Ok(())
    }

    /// Asks for the data of a COPY of so many columns, and hands it to `target` until it ends.
    ///
    /// # Errors
    /// As above; those of the target. 0A000 if there is nobody to be asked.
    async fn copy_in(
        &mut self,
        form: CopyForm,
        columns: usize,
        target: &mut impl CopyTarget,
    ) -> Result<()> {
        let _ = (form, columns, target);
        Err(SqlError::unsupported("COPY FROM STDIN here"))
    }

    /// The data of a COPY of so many columns follow.
    ///
    /// # Errors
    /// As above. 0A000 if there is nobody who takes it.
    fn begin_copy_out(&mut self, form: CopyForm, columns: usize) -> Result<()> {
        let _ = (form, columns);
        Err(SqlError::unsupported("COPY TO STDOUT here"))
    }

    /// Data of a COPY: a row, or what stands before or after them. [`Sink::drain`] is called
    /// between batches.
    ///
    /// # Errors
    /// As above.
    fn copy_out(&mut self, data: &[u8]) -> Result<()> {
        let _ = data;
        Err(SqlError::unsupported("COPY TO STDOUT here"))
    }

    /// That was all of it.
    fn end_copy_out(&mut self) {}
}

/// One client's side of a database.
pub struct Session {
    database: Arc<Database>,
    engine: Rc<engine::Session>,
    settings: Settings,
    /// As they were set, by name.
    values: Values,
    search_path: SearchPath,
    changes: Changes,
    block: Block,
    transaction: Option<Transaction>,
    deferred: Deferred,
    surrounding: Surrounding,
    patterns: Patterns,
    /// Plans by the text, or the shape, of their statements.
    plans: RefCell<HashMap<String, Rc<Planned>>>,
}

impl Session {
    /// A session of a user, within a session of the engine's.
    pub fn new(database: &Arc<Database>, engine: &Rc<engine::Session>, user: &str) -> Session {
        Session {
            database: database.clone(),
            engine: engine.clone(),
            settings: Settings::default(),
            values: Values::default(),
            search_path: SearchPath::default(),
            changes: Changes::new(&database.catalogs),
            block: Block::default(),
            transaction: None,
            deferred: Deferred::default(),
            surrounding: Surrounding::new(user, &database.name),
            patterns: Patterns::default(),
            plans: RefCell::default(),
        }
    }

    /// Whether a transaction is open, and whether it has failed.
    pub fn status(&self) -> Status {
        self.block.status()
    }

    /// Carries out all statements of a text, as PostgreSQL's simple protocol has it: if no
    /// transaction is open they are one, which ends with the text.
    ///
    /// # Errors
    /// Of the first statement that fails; those after it are not carried out. A transaction that
    /// is open has failed then.
    ///
    /// # Cancellation
    /// Dropping the future leaves the transaction as it was in the midst of the statement: the
    /// session has to be told [`Session::failed`].
    pub async fn execute(&mut self, text: &str, sink: &mut impl Sink) -> Result<()> {
        let outcome = self.all(text, sink).await;
        match outcome {
            Ok(()) => self.end_implicit().await,
            Err(error) => {
                self.failed();
                Err(error)
            }
        }
    }

    async fn all(&mut self, text: &str, sink: &mut impl Sink) -> Result<()> {
        let sources = parse::split(text)?;
        if sources.is_empty() {
            sink.empty();
        }
        for source in sources {
            self.statement(&source, sink).await?;
        }
        Ok(())
    }

    /// A statement has failed: so has its transaction. One that was not begun explicitly is
    /// rolled back.
    pub fn failed(&mut self) {
        match self.block.fail() {
            true => {}
            false => self.roll_back(),
        }
    }

    async fn statement(&mut self, source: &Source<'_>, sink: &mut impl Sink) -> Result<()> {
        if self.block.status() != Status::Failed && self.planned(source, sink).await? {
            return Ok(());
        }
        if let Some(set) = SetConstraints::read(source)? {
            self.block.check_open()?;
            return self.set_constraints(&set, sink).await;
        }
        if source.begins_with("copy") {
            self.block.check_open()?;
            return self.copy(source, sink).await;
        }
        let statement = source.parse()?;
        self.block.check(&statement)?;
        match &statement {
            Statement::StartTransaction { .. }
            | Statement::Commit { .. }
            | Statement::Rollback { .. }
            | Statement::Savepoint { .. }
            | Statement::ReleaseSavepoint { .. } => self.control(&statement, sink).await,
            Statement::CreateTable(_)
            | Statement::CreateIndex(_)
            | Statement::CreateView(_)
            | Statement::CreateSchema { .. }
            | Statement::CreateType { .. }
            | Statement::AlterType(_)
            | Statement::Drop { .. }
            | Statement::AlterTable(_)
            | Statement::Truncate(_) => self.define(&statement, sink).await,
            Statement::Set(_) | Statement::ShowVariable { .. } | Statement::Reset(_) => {
                self.setting(&statement, sink).await
            }
            Statement::Vacuum(_) => self.maintain(source, sink).await,
            other => {
                let text = other.to_string();
                let words: Vec<&str> = text.split_whitespace().take(2).collect();
                Err(SqlError::unsupported(words.join(" ")))
            }
        }
    }

    /// The transaction that statements run in; begun if there is none.
    fn begin(&mut self) -> Result<&Transaction> {
        if self.transaction.is_none() {
            let options = self.block.options();
            let transaction = self
                .engine
                .begin(options)
                .map_err(crate::catalog::from_engine)?;
            transaction.set_on_conflict(engine::OnConflict::Wait);
            self.changes.clear();
            self.surrounding.begin_transaction();
            self.transaction = Some(transaction);
        }
        self.transaction
            .as_ref()
            .ok_or_else(|| SqlError::new(SqlState::INTERNAL_ERROR, "no transaction"))
    }
}
