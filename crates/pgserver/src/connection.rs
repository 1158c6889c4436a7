//! SQL sessions behind the PostgreSQL protocol.

use std::{
    cell::RefCell,
    collections::HashMap,
    num::NonZeroU32,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{self, Poll},
    time::Duration,
};

use interleave::{Sleep, sleep};
use server::{
    Backend, Client, CommandTag, Control, Execution, Format, ParameterTypes, Parameters, Severity,
    Startup, Task, TransactionStatus, Verifier,
};
use sql::{
    CopyForm, CopyTarget, Field, Interrupt, Notice, Portal, PreparedStatement, Progress, ResultRow,
    Session, Sink, Status,
};
use types::{Memory, Result, SqlError, SqlState, Type};
use weft::Context;

/// A database and its workers.
pub(crate) struct Served {
    pub(crate) workers: weft::Database,
    pub(crate) database: Arc<sql::Database>,
}

impl Backend for Served {
    type Context = Context;
    type Session = Connection;

    fn spawn(&self, worker: usize, task: Task<Context>) {
        self.workers.workers()[worker].spawn(task);
    }

    async fn verifier(&self, _: &Context, user: &str) -> Result<Option<Verifier>> {
        let Some(kept) = self.database.verifier(user)? else {
            return Ok(None);
        };
        let verifier = kept.parse::<Verifier>().map_err(|error| {
            SqlError::new(
                SqlState::DATA_CORRUPTED,
                format!("the password of role \"{user}\": {error}"),
            )
        })?;
        Ok(Some(verifier))
    }

    async fn open(&self, context: Context, startup: Startup) -> Result<Connection> {
        if startup.database != self.database.name() {
            let message = format!("database \"{}\" does not exist", startup.database);
            return Err(SqlError::new(SqlState::INVALID_CATALOG_NAME, message)
                .hint(format!("There is one: \"{}\".", self.database.name())));
        }
        // The role may have been dropped since it was asked for its password.
        self.database.verifier(&startup.user)?;
        let mut session = Session::new(&self.database, context.engine_session(), &startup.user);
        session.set_process_id(startup.control.process());
        session.set_interrupt(Rc::new(Cancelled::new(startup.control.clone())));
        session.keep_passwords(crate::password::verifier_of);
        for (name, value) in &startup.settings {
            session.set_initially(name, value)?;
        }
        // The client is told these settings next.
        session.take_reported();
        let told = session.reported().collect();
        Ok(Connection { session, told })
    }
}

/// One client.
pub(crate) struct Connection {
    session: Session,
    /// Settings as the client knows them.
    told: HashMap<&'static str, String>,
}

/// Time for which statements go on after their client has closed its sending half. A client that
/// pipes a script into its socket and closes that half waits for answers; a killed client does not,
/// and must not keep its locks for longer.
const HALF_CLOSED_FOR: Duration = Duration::from_secs(1);

/// A request of a client, or of the server, to give the client's statement up.
struct Cancelled {
    control: Arc<Control>,
    /// Timer that runs from the first look at a half-closed connection on.
    patience: RefCell<Option<Pin<Box<Sleep>>>>,
}

impl Cancelled {
    fn new(control: Arc<Control>) -> Cancelled {
        Cancelled {
            control,
            patience: RefCell::default(),
        }
    }
}

impl Interrupt for Cancelled {
    fn poll(&self, context: &mut task::Context<'_>) -> Poll<SqlError> {
        if self.control.is_half_closed() {
            let mut patience = self.patience.borrow_mut();
            let sleep = patience.get_or_insert_with(|| Box::pin(sleep(HALF_CLOSED_FOR)));
            if sleep.as_mut().poll(context).is_ready() {
                self.control.lose();
            }
        }
        self.control.poll(context)
    }
}

/// A prepared statement, as described to clients.
#[derive(Clone)]
pub(crate) struct Statement {
    prepared: Rc<PreparedStatement>,
    description: Rc<Description>,
}

struct Description {
    parameters: Vec<u32>,
    fields: Option<Vec<server::Field>>,
}

impl Statement {
    fn new(prepared: Rc<PreparedStatement>) -> Statement {
        let describe = |prepared: &PreparedStatement| {
            let types = prepared.parameter_types().iter();
            let fields = prepared.fields();
            Description {
                parameters: types.map(|ty| ty.oid()).collect(),
                fields: fields.map(|fields| fields.iter().map(described).collect()),
            }
        };
        Statement {
            description: prepared.described(describe),
            prepared,
        }
    }
}

impl server::Statement for Statement {
    fn parameter_types(&self) -> &[u32] {
        &self.description.parameters
    }

    fn fields(&self) -> Option<&[server::Field]> {
        self.description.fields.as_deref()
    }
}

impl server::Session for Connection {
    type Statement = Statement;
    type Portal = Portal;

    fn parameters(&self, tell: &mut dyn FnMut(&str, &str)) {
        for (name, value) in self.session.reported() {
            tell(name, &value);
        }
    }

    fn changed_parameters(&mut self, tell: &mut dyn FnMut(&str, &str)) {
        if !self.session.take_reported() {
            return;
        }
        for (name, value) in self.session.reported() {
            if self.told.get(name) != Some(&value) {
                tell(name, &value);
                self.told.insert(name, value);
            }
        }
    }

    fn memory(&self) -> Option<Rc<Memory>> {
        Some(self.session.memory())
    }

    fn idle_limit(&self) -> Option<(Duration, SqlError)> {
        self.session.idle_limit()
    }

    fn status(&self) -> TransactionStatus {
        match self.session.status() {
            Status::Idle => TransactionStatus::Idle,
            Status::Open => TransactionStatus::InTransaction,
            Status::Failed => TransactionStatus::Failed,
        }
    }

    fn statement(&mut self, name: &str) -> Option<Statement> {
        self.session.prepared(name).cloned().map(Statement::new)
    }

    fn keep_statement(&mut self, name: &str, statement: Statement) -> Result<()> {
        self.session.keep_prepared(name, statement.prepared)
    }

    fn forget_statement(&mut self, name: &str) {
        self.session.forget_prepared(name);
    }

    async fn simple(&mut self, text: &str, client: &mut Client<'_>) -> Result<()> {
        self.session.execute(text, &mut ToClient(client)).await
    }

    async fn parse(&mut self, text: &str, types: ParameterTypes<'_>) -> Result<Statement> {
        let types = types.iter().map(|oid| match oid {
            None => Ok(None),
            Some(oid) => match self.session.type_of(oid)? {
                Type::Unknown => Ok(None),
                ty => Ok(Some(ty)),
            },
        });
        let types = types.collect::<Result<Vec<_>>>()?;
        let prepared = self.session.prepare(text, &types).await?;
        Ok(Statement::new(Rc::new(prepared)))
    }

    async fn bind(&mut self, statement: &Statement, parameters: Parameters<'_>) -> Result<Portal> {
        let values: Vec<(bool, Option<&[u8]>)> = parameters
            .iter()
            .map(|(format, bytes)| (format == Format::Binary, bytes))
            .collect();
        self.session.bind(&statement.prepared, values.into_iter())
    }

    async fn execute(
        &mut self,
        portal: &mut Portal,
        rows_max: Option<NonZeroU32>,
        client: &mut Client<'_>,
    ) -> Result<Execution> {
        let rows_max = rows_max.map(|most| most.get() as usize);
        let progress = self
            .session
            .run_portal(portal, rows_max, &mut ToClient(client))
            .await?;
        Ok(match progress {
            Progress::Complete(tag) => Execution::Complete(tag_of(tag)),
            Progress::Suspended => Execution::Suspended,
            Progress::Empty => Execution::Empty,
        })
    }

    async fn failed(&mut self) {
        self.session.failed().await;
    }

    async fn sync(&mut self) -> Result<()> {
        self.session.end_implicit().await
    }

    async fn end(&mut self) {
        self.session.leave().await;
    }
}

/// Results on their way to a client.
struct ToClient<'c, 'w>(&'c mut Client<'w>);

impl Sink for ToClient<'_, '_> {
    fn fields(&mut self, fields: &[Field]) -> Result<()> {
        let fields: Vec<_> = fields.iter().map(described).collect();
        self.0.fields(&fields)
    }

    fn row(&mut self, row: &ResultRow<'_>) -> Result<()> {
        self.0.values(row.values, |column, value, format, bytes| {
            let ty = row.fields[column].ty;
            match format {
                Format::Text => types::text::write(*value, ty, &row.context, bytes),
                Format::Binary => types::binary::write(*value, ty, &row.context, bytes),
            }
        })
    }

    fn complete(&mut self, tag: sql::CommandTag) -> Result<()> {
        self.0.complete(tag_of(tag));
        Ok(())
    }

    fn empty(&mut self) {
        self.0.empty_query();
    }

    fn notice(&mut self, notice: &Notice) {
        let report = &notice.report;
        self.0.notice(&server::Notice {
            severity: match notice.severity {
                sql::Severity::Notice => Severity::Notice,
                sql::Severity::Warning | sql::Severity::Error => Severity::Warning,
            },
            code: report.state().code().to_owned().into(),
            message: report.message().to_owned().into(),
            detail: report.detail_text().map(str::to_owned),
            hint: report.hint_text().map(|hint| hint.to_owned().into()),
        });
    }

    fn has_room(&self) -> bool {
        self.0.has_room()
    }

    async fn drain(&mut self) -> Result<()> {
        self.0.control().check()?;
        self.0.room().await
    }

    async fn copy_in(
        &mut self,
        form: CopyForm,
        columns: usize,
        target: &mut impl CopyTarget,
    ) -> Result<()> {
        let mut data = self.0.copy_in(format_of(form), columns);
        while let Some(bytes) = data.next().await? {
            target.take(bytes).await?;
        }
        Ok(())
    }

    fn begin_copy_out(&mut self, form: CopyForm, columns: usize) -> Result<()> {
        self.0.begin_copy_out(format_of(form), columns);
        Ok(())
    }

    fn copy_out(&mut self, data: &[u8]) -> Result<()> {
        self.0.copy_data(|bytes| {
            bytes.extend_from_slice(data);
            Ok(())
        })
    }

    fn end_copy_out(&mut self) {
        self.0.end_copy_out();
    }
}

fn format_of(form: CopyForm) -> Format {
    match form {
        CopyForm::Text => Format::Text,
        CopyForm::Binary => Format::Binary,
    }
}

fn tag_of(tag: sql::CommandTag) -> CommandTag {
    match tag {
        sql::CommandTag::Word(word) => CommandTag::Word(word),
        sql::CommandTag::Rows(word, rows) => CommandTag::Rows(word, rows),
        sql::CommandTag::Insert(rows) => CommandTag::Insert(rows),
    }
}

fn described(field: &Field) -> server::Field {
    let (table, column) = field.origin.unwrap_or_default();
    server::Field {
        name: field.name.as_str().into(),
        table,
        column: i16::try_from(column).unwrap_or(0),
        type_oid: field.ty.oid(),
        type_size: field.ty.length(),
        type_modifier: field.modifier.0,
    }
}
