//! Requests, one after the other, and their answers.
//!
//! After an error the rest of a pipeline is skipped up to the Sync (`phase.rs` does so); a simple
//! query is its own Sync. Portals live to the end of their transaction: when a request, or a
//! Sync, ends the open transaction, all portals are gone.

use std::{convert::Infallible, num::NonZeroU32};

use types::{Result, SqlError, SqlState};

use crate::{
    client::Client,
    named::Named,
    protocol::{
        Bind, Fault, Format, Formats, Misunderstood, Parse, Phase, Request, Severity, Target,
        TransactionStatus,
    },
    session::{Execution, Session, Statement},
    wire::{Ended, Wire},
    within::within,
};

/// Requests that are executed before the worker's other tasks have their turn.
const REQUESTS_PER_TURN_MAX: u32 = 32;

/// Longest text that is kept for the next query.
const KEPT_TEXT_BYTES_MAX: usize = 64 * 1024;

/// A portal, and the form in which its client wants the result.
struct Bound<S: Session> {
    portal: S::Portal,
    statement: S::Statement,
    formats: Formats,
}

/// One connection, once its client is authenticated.
pub(super) struct Requests<'a, S: Session> {
    session: S,
    wire: &'a mut Wire,
    portals: Named<Bound<S>>,
    /// Text of a simple query, kept while more is read from the client.
    text: String,
    /// Whether the client was told that it can go on, and has sent nothing since.
    is_idle: bool,
}

impl<'a, S: Session> Requests<'a, S> {
    pub(super) fn new(session: S, wire: &'a mut Wire) -> Requests<'a, S> {
        if let Some(memory) = session.memory() {
            wire.conversation.input.charge_to(memory);
        }
        Requests {
            session,
            wire,
            portals: Named::default(),
            text: String::new(),
            is_idle: true,
        }
    }

    /// Executes requests until the connection ends.
    ///
    /// # Errors
    /// Returns always: the reason why the connection has ended.
    pub(super) async fn run(&mut self) -> std::result::Result<Infallible, Ended> {
        let mut turn = 0;
        loop {
            match self.next().await? {
                Carried::Out => {
                    self.wire.counters.requests.add(1);
                    turn += 1;
                    if turn == REQUESTS_PER_TURN_MAX {
                        turn = 0;
                        interleave::yield_now().await;
                    }
                }
                Carried::Awaited => {
                    turn = 0;
                    self.receive().await?;
                    // A cancel that came before was not meant for the next request.
                    self.wire.control.begin();
                }
            }
            if self.wire.conversation.phase() == Phase::Closed {
                return Err(Ended::Lost);
            }
        }
    }

    /// Waits for bytes, but no longer than a client may be idle.
    async fn receive(&mut self) -> std::result::Result<(), Ended> {
        match self.session.idle_limit().filter(|_| self.is_idle) {
            None => self.wire.receive().await,
            Some((limit, error)) => within(limit, self.wire.receive())
                .await
                .unwrap_or(Err(Ended::Fatal(error))),
        }
    }

    /// Ends the session after [`Requests::run`]; nothing is left open.
    pub(super) async fn end(&mut self) {
        self.portals.clear();
        self.session.end().await;
    }

    async fn next(&mut self) -> std::result::Result<Carried, Ended> {
        let request = match self.wire.conversation.request() {
            Ok(Some(request)) => request,
            Ok(None) => return Ok(Carried::Awaited),
            Err(Misunderstood { fault, extended }) => {
                match fault {
                    Fault::Fatal(error) => return Err(Ended::Fatal(error)),
                    Fault::Error(error) if extended => self.fail(error).await?,
                    Fault::Error(error) => {
                        self.tell(error).await?;
                        self.ready();
                    }
                }
                return Ok(Carried::Out);
            }
        };
        self.is_idle = false;
        let done = match request {
            Request::Query(text) => {
                self.text.clear();
                self.text.push_str(text);
                self.query().await?;
                Ok(())
            }
            Request::Parse(parse) => {
                let done = parse_into(&mut self.session, parse).await;
                done.map(|()| self.wire.output.parse_complete())
            }
            Request::Bind(bind) => {
                let done = bind_into(&mut self.session, &mut self.portals, bind).await;
                done.map(|()| self.wire.output.bind_complete())
            }
            Request::Describe(Target::Statement, name) => {
                let statement = find_statement(&mut self.session, name);
                statement.and_then(|statement| {
                    let output = &mut self.wire.output;
                    output.parameter_description(statement.parameter_types());
                    match statement.fields() {
                        Some(fields) => output.row_description(fields, &Formats::All(Format::Text)),
                        None => {
                            output.no_data();
                            Ok(())
                        }
                    }
                })
            }
            Request::Describe(Target::Portal, name) => match self.portals.get(name) {
                None => Err(no_portal(name)),
                Some(bound) => match bound.statement.fields() {
                    Some(fields) => self.wire.output.row_description(fields, &bound.formats),
                    None => {
                        self.wire.output.no_data();
                        Ok(())
                    }
                },
            },
            Request::Execute(name, rows_max) => {
                let bound = self.portals.remove(name).ok_or_else(|| no_portal(name));
                match bound {
                    // The unnamed portal is the usual one: its name takes no memory.
                    Ok(bound) => {
                        let name = name.to_owned();
                        self.execute(name, bound, rows_max).await
                    }
                    Err(error) => Err(error),
                }
            }
            // A name that does not exist counts as closed.
            Request::Close(target, name) => {
                match target {
                    Target::Statement => self.session.forget_statement(name),
                    Target::Portal => drop(self.portals.remove(name)),
                }
                self.wire.output.close_complete();
                Ok(())
            }
            Request::Flush => {
                self.wire.flushes = true;
                Ok(())
            }
            Request::Sync => {
                if let Err(error) = self.session.sync().await {
                    self.wire.output.take_complete_back();
                    self.tell(error).await?;
                }
                self.ready();
                Ok(())
            }
            Request::Terminate => return Err(Ended::Lost),
        };
        if let Err(error) = done {
            self.fail(error).await?;
        }
        Ok(Carried::Out)
    }

    async fn query(&mut self) -> std::result::Result<(), Ended> {
        self.session.forget_statement("");
        self.portals.remove("");
        let formats = Formats::All(Format::Text);
        let mut client = Client::new(self.wire, &formats);
        if let Err(error) = self.session.simple(&self.text, &mut client).await {
            self.tell(error).await?;
        }
        self.text.clear();
        self.text.shrink_to(KEPT_TEXT_BYTES_MAX);
        self.ready();
        Ok(())
    }

    async fn execute(&mut self, name: String, mut bound: Bound<S>, rows_max: u32) -> Result<()> {
        let before = self.session.status();
        let rows_max = NonZeroU32::new(rows_max);
        let mut client = Client::new(self.wire, &bound.formats);
        let execution = self
            .session
            .execute(&mut bound.portal, rows_max, &mut client)
            .await;
        let output = &mut self.wire.output;
        let execution = execution.map(|execution| match execution {
            Execution::Complete(tag) => output.command_complete(tag),
            Execution::Suspended => output.portal_suspended(),
            Execution::Empty => output.empty_query(),
        });
        match (before, self.session.status()) {
            (
                TransactionStatus::InTransaction | TransactionStatus::Failed,
                TransactionStatus::Idle,
            ) => {
                self.portals.clear();
            }
            _ => drop(self.portals.insert(&name, bound)),
        }
        execution
    }

    /// Tells the client of `error`.
    ///
    /// # Errors
    /// Fails if `error` comes of the connection's own end, which the client is told of instead.
    async fn tell(&mut self, error: SqlError) -> std::result::Result<(), Ended> {
        self.session.failed().await;
        if error.state() == SqlState::ADMIN_SHUTDOWN {
            return Err(Ended::Fatal(error));
        }
        if error.state() == SqlState::CONNECTION_FAILURE && self.wire.control.is_lost() {
            return Err(Ended::Lost);
        }
        self.wire.output.error(Severity::Error, &error);
        Ok(())
    }

    /// Tells the client of `error`, and skips the rest of the pipeline.
    async fn fail(&mut self, error: SqlError) -> std::result::Result<(), Ended> {
        self.tell(error).await?;
        // The client may wait for the error before it sends its Sync.
        self.wire.flushes = true;
        self.wire.conversation.enter(Phase::Skipping);
        Ok(())
    }

    /// Tells the client that it can go on.
    fn ready(&mut self) {
        let status = self.session.status();
        if status == TransactionStatus::Idle {
            self.portals.clear();
        }
        let output = &mut self.wire.output;
        self.session
            .changed_parameters(&mut |name, value| output.parameter_status(name, value));
        output.ready_for_query(status);
        self.wire.flushes = true;
        self.is_idle = true;
    }
}

/// Result of looking for a request.
enum Carried {
    Out,
    /// The request has not arrived yet.
    Awaited,
}

async fn parse_into<S: Session>(session: &mut S, parse: Parse<'_>) -> Result<()> {
    let name = parse.name;
    if name.is_empty() {
        session.forget_statement(name);
    } else if session.statement(name).is_some() {
        return Err(SqlError::new(
            SqlState::DUPLICATE_PREPARED_STATEMENT,
            format!("prepared statement \"{name}\" already exists"),
        ));
    }
    let statement = session.parse(parse.text, parse.types).await?;
    session.keep_statement(name, statement)
}

async fn bind_into<S: Session>(
    session: &mut S,
    portals: &mut Named<Bound<S>>,
    bind: Bind<'_>,
) -> Result<()> {
    let statement = find_statement(session, bind.statement)?;
    let wanted = statement.parameter_types().len();
    if bind.parameters.len() != wanted {
        return Err(SqlError::new(
            SqlState::PROTOCOL_VIOLATION,
            format!(
                "bind message supplies {} parameters, but prepared statement \"{}\" requires {wanted}",
                bind.parameters.len(),
                bind.statement
            ),
        ));
    }
    let columns = statement.fields().map_or(0, <[_]>::len);
    if !bind.results.fits(columns) {
        return Err(SqlError::new(
            SqlState::PROTOCOL_VIOLATION,
            format!(
                "bind message has {} result formats but query has {columns} columns",
                bind.results.len()
            ),
        ));
    }
    if !bind.portal.is_empty() && portals.get(bind.portal).is_some() {
        return Err(SqlError::new(
            SqlState::DUPLICATE_CURSOR,
            format!("cursor \"{}\" already exists", bind.portal),
        ));
    }
    portals.remove(bind.portal);
    let portal = session.bind(&statement, bind.parameters).await?;
    let bound = Bound {
        portal,
        statement,
        formats: bind.results.to_formats(),
    };
    portals.insert(bind.portal, bound);
    Ok(())
}

fn find_statement<S: Session>(session: &mut S, name: &str) -> Result<S::Statement> {
    session.statement(name).ok_or_else(|| {
        SqlError::new(
            SqlState::INVALID_SQL_STATEMENT_NAME,
            match name {
                "" => "unnamed prepared statement does not exist".to_owned(),
                name => format!("prepared statement \"{name}\" does not exist"),
            },
        )
    })
}

fn no_portal(name: &str) -> SqlError {
    SqlError::new(
        SqlState::INVALID_CURSOR_NAME,
        format!("portal \"{name}\" does not exist"),
    )
}
