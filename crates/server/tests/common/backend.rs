//! A backend with a language of its own, small but real: sessions, transactions, portals, COPY.
//!
//! | statement | effect |
//! | --- | --- |
//! | `SELECT n` | one row: the integer |
//! | `ROWS n` | n rows: 1, 2, ... |
//! | `ECHO n` | one row: its n parameters, texts |
//! | `WIDE n` | one row: a text of n bytes |
//! | `BEGIN`, `COMMIT`, `ROLLBACK` | as usual |
//! | `FAIL` | an error with all its fields |
//! | `BREAK` | an error in the middle of a row |
//! | `PANIC` | panics in the middle of a row |
//! | `WAIT` | waits until it is given up |
//! | `SLEEP n` | waits n milliseconds |
//! | `NOTICE` | a warning |
//! | `COPYIN`, `COPYOUT n` | data from the client, counted; data to it |

use std::{
    collections::HashMap, fmt::Write as _, num::NonZeroU32, rc::Rc, sync::Arc, time::Duration,
};

use interleave::{Handle, Outside, Rouser, Runtime, WorkerConfig, WorkerLocal};
use server::{
    Backend, Client, CommandTag, Config, Control, Execution, Field, Format, Named, Notice,
    ParameterTypes, Parameters, Reactor, Server, Session, Severity, Startup, Statement, Task,
    TransactionStatus, Verifier,
};
use types::{Result, SqlError, SqlState, Value};

pub(crate) const INT4: u32 = 23;
pub(crate) const TEXT: u32 = 25;

/// A worker's state: its reactor.
pub(crate) struct Local(pub Arc<Reactor>);

impl WorkerLocal for Local {
    fn poll(&self, idle: bool) {
        if idle {
            self.0.poll_idle();
        }
    }

    fn look_outside(&self) {
        self.0.look();
    }

    fn rouser(&self) -> Option<Rouser> {
        Some(self.0.rouser())
    }

    fn sleep(&self, at_most: Option<Duration>) {
        self.0.sleep(at_most);
    }

    fn after_sleep(&self) {
        self.0.take_in();
    }
}

pub(crate) struct TestBackend {
    handles: Arc<[Handle<Local>]>,
    passwords: HashMap<&'static str, Verifier>,
}

/// Workers, and a server on them.
pub(crate) struct Running {
    pub server: Server<TestBackend>,
    /// The workers, which end with the server.
    _runtime: Runtime<Local>,
}

/// Starts a server at a free port of this machine.
pub(crate) fn start(workers: usize, config: Config, passwords: &[(&'static str, &str)]) -> Running {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    start_at(listener, workers, config, passwords)
}

pub(crate) fn start_at(
    listener: std::net::TcpListener,
    workers: usize,
    config: Config,
    passwords: &[(&'static str, &str)],
) -> Running {
    let reactors: Vec<_> = (0..workers).map(|_| Reactor::new().unwrap()).collect();
    let worker_config = WorkerConfig {
        idle_spin_us: 0,
        ..WorkerConfig::default()
    };
    let locals = reactors.clone();
    let runtime = Runtime::start("served", workers, false, worker_config, move |number| {
        Ok(Local(locals[number].clone()))
    })
    .unwrap();
    let backend = TestBackend {
        handles: runtime.handles().clone(),
        passwords: passwords
            .iter()
            .map(|(user, password)| (*user, Verifier::of(password).unwrap()))
            .collect(),
    };
    let server = Server::start(Arc::new(backend), reactors, vec![listener], config).unwrap();
    Running {
        server,
        _runtime: runtime,
    }
}

impl Backend for TestBackend {
    type Context = Rc<Local>;
    type Session = TestSession;

    fn spawn(&self, worker: usize, task: Task<Rc<Local>>) {
        self.handles[worker]
            .submit(move |local| task(local.clone()))
            .detach();
    }

    async fn verifier(&self, _: &Rc<Local>, user: &str) -> Result<Option<Verifier>> {
        Ok(self.passwords.get(user).cloned())
    }

    async fn open(&self, _: Rc<Local>, startup: Startup) -> Result<TestSession> {
        if startup.database == "nowhere" {
            return Err(SqlError::new(
                SqlState::INVALID_CATALOG_NAME,
                "database \"nowhere\" does not exist",
            ));
        }
        Ok(TestSession {
            status: TransactionStatus::Idle,
            statements: Named::default(),
            control: startup.control,
            application_name: startup.settings.get("application_name").cloned(),
        })
    }
}

pub(crate) struct TestSession {
    status: TransactionStatus,
    statements: Named<Shared>,
    control: Arc<Control>,
    application_name: Option<String>,
}

pub(crate) struct Prepared {
    command: Command,
    types: Vec<u32>,
    fields: Option<Vec<Field>>,
}

#[derive(Clone)]
pub(crate) struct Shared(Rc<Prepared>);

impl Statement for Shared {
    fn parameter_types(&self) -> &[u32] {
        &self.0.types
    }

    fn fields(&self) -> Option<&[Field]> {
        self.0.fields.as_deref()
    }
}

#[derive(Clone, Copy)]
enum Command {
    Nothing,
    Select(i32),
    Rows(i32),
    Echo(usize),
    Wide(usize),
    Begin,
    Commit,
    Rollback,
    Fail,
    Break,
    Panic,
    Wait,
    Sleep(u64),
    Notice,
    CopyIn,
    CopyOut(i32),
}

pub(crate) struct TestPortal {
    prepared: Rc<Prepared>,
    parameters: Vec<Option<Vec<u8>>>,
    row: i32,
    done: bool,
}

fn field(name: &str, type_oid: u32) -> Field {
    Field {
        name: name.into(),
        table: 0,
        column: 0,
        type_oid,
        type_size: if type_oid == INT4 { 4 } else { -1 },
        type_modifier: -1,
    }
}

fn prepare(text: &str) -> Result<Rc<Prepared>> {
    let mut words = text.split_whitespace();
    let name = words.next().unwrap_or_default().to_ascii_uppercase();
    let number = words
        .next()
        .and_then(|word| word.parse::<i32>().ok())
        .unwrap_or(0);
    let command = match &*name {
        "" => Command::Nothing,
        "SELECT" => Command::Select(number),
        "ROWS" => Command::Rows(number),
        "ECHO" => Command::Echo(number as usize),
        "WIDE" => Command::Wide(number as usize),
        "BEGIN" => Command::Begin,
        "COMMIT" => Command::Commit,
        "ROLLBACK" => Command::Rollback,
        "FAIL" => Command::Fail,
        "BREAK" => Command::Break,
        "PANIC" => Command::Panic,
        "WAIT" => Command::Wait,
        "SLEEP" => Command::Sleep(number as u64),
        "NOTICE" => Command::Notice,
        "COPYIN" => Command::CopyIn,
        "COPYOUT" => Command::CopyOut(number),
        other => {
            return Err(SqlError::new(
                SqlState::SYNTAX_ERROR,
                format!("syntax error at or near \"{other}\""),
            )
            .at(1));
        }
    };
    let (types, fields) = match command {
        Command::Select(_) | Command::Rows(_) | Command::Break | Command::Panic => {
            (Vec::new(), Some(vec![field("?column?", INT4)]))
        }
        Command::Echo(count) => (vec![TEXT; count], Some(vec![field("echo", TEXT); count])),
        Command::Wide(_) => (Vec::new(), Some(vec![field("wide", TEXT)])),
        _ => (Vec::new(), None),
    };
    Ok(Rc::new(Prepared {
        command,
        types,
        fields,
    }))
}

fn write(_: usize, value: &Value<'_>, format: Format, bytes: &mut Vec<u8>) -> Result<()> {
    match (value, format) {
        (Value::Int4(number), Format::Text) => bytes.extend(number.to_string().bytes()),
        (Value::Int4(number), Format::Binary) => bytes.extend(number.to_be_bytes()),
        (Value::Text(text), _) => bytes.extend(text.bytes()),
        _ => return Err(SqlError::unsupported("this type")),
    }
    Ok(())
}

impl TestSession {
    async fn run(
        &mut self,
        portal: &mut TestPortal,
        rows_max: Option<NonZeroU32>,
        client: &mut Client<'_>,
    ) -> Result<Execution> {
        let command = portal.prepared.command;
        if self.status == TransactionStatus::Failed
            && !matches!(command, Command::Commit | Command::Rollback)
        {
            return Err(SqlError::new(
                SqlState::IN_FAILED_SQL_TRANSACTION,
                "current transaction is aborted, commands ignored until end of transaction block",
            ));
        }
        let rows_max = rows_max.map_or(i32::MAX, |rows| rows.get() as i32);
        if std::mem::replace(&mut portal.done, true) && portal.prepared.fields.is_none() {
            return Err(SqlError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "portal cannot be run",
            ));
        }
        let mut tag = CommandTag::Rows("SELECT", 1);
        match command {
            Command::Nothing => return Ok(Execution::Empty),
            Command::Select(number) => client.values(&[Value::Int4(number)], write)?,
            Command::Rows(count) => {
                let begin = portal.row;
                while portal.row < count {
                    if portal.row - begin == rows_max {
                        return Ok(Execution::Suspended);
                    }
                    portal.row += 1;
                    client.values(&[Value::Int4(portal.row)], write)?;
                    if !client.has_room() {
                        client.room().await?;
                    }
                }
                tag = CommandTag::Rows("SELECT", (portal.row - begin) as u64);
            }
            Command::Echo(count) => client.row(count, |row| {
                for parameter in &portal.parameters {
                    match parameter {
                        Some(bytes) => row.bytes(bytes),
                        None => row.null(),
                    }
                }
                Ok(())
            })?,
            Command::Wide(bytes) => {
                let wide = "w".repeat(bytes);
                client.values(&[Value::Text(&wide)], write)?;
                client.room().await?;
            }
            Command::Begin => {
                self.status = TransactionStatus::InTransaction;
                tag = CommandTag::Word("BEGIN");
            }
            Command::Commit | Command::Rollback => {
                let failed = self.status == TransactionStatus::Failed;
                self.status = TransactionStatus::Idle;
                tag = CommandTag::Word(match command {
                    Command::Commit if !failed => "COMMIT",
                    _ => "ROLLBACK",
                });
            }
            Command::Fail => {
                return Err(SqlError::new(SqlState::UNIQUE_VIOLATION, "it failed")
                    .detail("All of it.")
                    .hint("Do not.")
                    .at(3)
                    .table("yarn")
                    .column("colour")
                    .constraint("yarn_pkey"));
            }
            Command::Break => client.row(2, |row| {
                row.bytes(b"half");
                row.value(|bytes| {
                    bytes.push(b'x');
                    Err(SqlError::new(
                        SqlState::DIVISION_BY_ZERO,
                        "division by zero",
                    ))
                })
            })?,
            Command::Panic => client.row(2, |row| {
                row.bytes(b"half");
                panic!("a statement of a test panics");
            })?,
            Command::Wait => return Err(self.control.requested().await),
            Command::Sleep(milliseconds) => {
                interleave::sleep(Duration::from_millis(milliseconds)).await;
                tag = CommandTag::Word("SLEEP");
            }
            Command::Notice => {
                client.notice(&Notice::new(Severity::Warning, "it is getting late"));
                client.parameter("application_name", "noticed");
                tag = CommandTag::Word("NOTICE");
            }
            Command::CopyIn => {
                let mut copy = client.copy_in(Format::Text, 1);
                let mut lines = 0;
                while let Some(bytes) = copy.next().await? {
                    lines += bytes.iter().filter(|&&byte| byte == b'\n').count();
                }
                tag = CommandTag::Rows("COPY", lines as u64);
            }
            Command::CopyOut(count) => {
                client.begin_copy_out(Format::Text, 1);
                let mut line = String::new();
                for number in 1..=count {
                    line.clear();
                    let _ = writeln!(line, "{number}");
                    client.copy_data(|bytes| {
                        bytes.extend(line.bytes());
                        Ok(())
                    })?;
                    client.room().await?;
                }
                client.end_copy_out();
                tag = CommandTag::Rows("COPY", count as u64);
            }
        }
        Ok(Execution::Complete(tag))
    }
}

impl Session for TestSession {
    type Statement = Shared;
    type Portal = TestPortal;

    fn parameters(&self, tell: &mut dyn FnMut(&str, &str)) {
        for (name, value) in [
            ("server_version", "15.0"),
            ("server_encoding", "UTF8"),
            ("client_encoding", "UTF8"),
            ("DateStyle", "ISO, MDY"),
            ("integer_datetimes", "on"),
            ("standard_conforming_strings", "on"),
        ] {
            tell(name, value);
        }
        if let Some(name) = &self.application_name {
            tell("application_name", name);
        }
    }

    fn status(&self) -> TransactionStatus {
        self.status
    }

    fn statement(&mut self, name: &str) -> Option<Shared> {
        self.statements.get(name).cloned()
    }

    fn keep_statement(&mut self, name: &str, statement: Shared) -> Result<()> {
        self.statements.insert(name, statement);
        Ok(())
    }

    fn forget_statement(&mut self, name: &str) {
        self.statements.remove(name);
    }

    async fn simple(&mut self, text: &str, client: &mut Client<'_>) -> Result<()> {
        let texts: Vec<_> = text
            .split(';')
            .filter(|text| !text.trim().is_empty())
            .collect();
        if texts.is_empty() {
            client.empty_query();
        }
        for text in texts {
            let prepared = prepare(text)?;
            if let Some(fields) = &prepared.fields {
                client.fields(fields)?;
            }
            let mut portal = TestPortal {
                prepared,
                parameters: Vec::new(),
                row: 0,
                done: false,
            };
            if let Execution::Complete(tag) = self.run(&mut portal, None, client).await? {
                client.complete(tag);
            }
        }
        Ok(())
    }

    async fn parse(&mut self, text: &str, _: ParameterTypes<'_>) -> Result<Shared> {
        prepare(text.trim_end_matches(';')).map(Shared)
    }

    async fn bind(&mut self, statement: &Shared, parameters: Parameters<'_>) -> Result<TestPortal> {
        Ok(TestPortal {
            prepared: statement.0.clone(),
            parameters: parameters
                .iter()
                .map(|(_, bytes)| bytes.map(<[u8]>::to_vec))
                .collect(),
            row: 0,
            done: false,
        })
    }

    async fn execute(
        &mut self,
        portal: &mut TestPortal,
        rows_max: Option<NonZeroU32>,
        client: &mut Client<'_>,
    ) -> Result<Execution> {
        self.run(portal, rows_max, client).await
    }

    async fn failed(&mut self) {
        if self.status == TransactionStatus::InTransaction {
            self.status = TransactionStatus::Failed;
        }
    }

    async fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}
