//! Text of hostile clients, for fuzzers and for tests with random bytes.
//!
//! [`statements`] is a whole session with tables in memory; the bytes decide what is sent to it.
//! For every input: nothing panics, no statement ends in an internal error (XX000), each ends
//! within its time limit, and afterwards the session still answers and the tables of others are as
//! they were before, since all of it is rolled back.
//!
//! Random bytes seldom pass the tokenizer, and the input therefore mostly edits statements that
//! work (`seeds.rs`): tokens are removed, doubled, exchanged, taken from other statements, or
//! repeated many times (`draft.rs`).

mod draft;
mod seeds;
#[cfg(test)]
mod tests;

use std::{
    cell::RefCell,
    future::Future,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use engine::{Database as Engine, DatabaseConfig};
use interleave::{Clock, Worker, WorkerConfig};
use types::{Result, SqlError, SqlState};

use crate::{CopyForm, Database, Interrupt, ResultRow, Session, Sink};

/// Statement that sets the limit of each statement of the input, unless an earlier one has set
/// another.
const TIME_LIMIT: &str = "set statement_timeout = '100ms'";

/// Statement that is sent before the module's own ones, which may wait for longer on a busy
/// machine.
const NO_TIME_LIMIT: &str = "set statement_timeout = 0";

/// Time after which the client gives up a statement whose limit was removed.
const PATIENCE: Duration = Duration::from_secs(1);

/// Time after which a statement has obeyed neither its limit nor its client. Sanitizers and busy
/// machines are slow; this is therefore much longer than both.
const TIME_MAX: Duration = Duration::from_secs(20);

/// Memory of the engine under test.
const MEMORY_BYTES: usize = 64 << 20;

/// Most statements of one input.
const STATEMENTS_MAX: usize = 4;

/// Sends a session the statements that `data` asks for.
///
/// # Panics
/// If an answer breaks the rules in the module's text; the message has the statement.
pub fn statements(data: &[u8]) {
    try_statements(data, |_| {}).unwrap_or_else(|message| panic!("{message}"));
}

/// Sends a session the statements that `data` asks for, and hands each error's code to `observe`.
fn try_statements(
    data: &[u8],
    observe: impl Fn(&str) + Send + 'static,
) -> std::result::Result<(), String> {
    let texts = draft::texts(data, STATEMENTS_MAX);
    let engine = Engine::new(DatabaseConfig::with_memory(MEMORY_BYTES))
        .map_err(|error| format!("no database: {error}"))?;
    let session = engine::Session::new(&engine).map_err(|error| format!("no session: {error}"))?;
    let mut worker = Worker::new(WorkerConfig::default(), session, Clock::real());
    let task = worker
        .handle()
        .submit(move |session: &Rc<engine::Session>| {
            let session = session.clone();
            async move {
                let database = Database::open(&session, "weft", "weft").await;
                let database = database.map_err(|error| error.to_string())?;
                let mut session = Session::new(&database, &session, "weft");
                converse(&mut session, &texts, &observe).await
            }
        });
    worker
        .run_until(task)
        .unwrap_or_else(|lost| Err(format!("the session panicked: {lost}")))
}

async fn converse(
    session: &mut Session,
    texts: &[String],
    observe: &impl Fn(&str),
) -> std::result::Result<(), String> {
    let must = |text: &str, done: Result<()>| {
        done.map_err(|error| format!("{text}: {} {}", error.state().code(), error.message()))
    };
    let client = Rc::new(Impatient::default());
    session.set_interrupt(client.clone());
    must("setup", session.execute(seeds::SETUP, &mut Nowhere).await)?;
    for text in texts {
        must(TIME_LIMIT, session.execute(TIME_LIMIT, &mut Nowhere).await)?;
        must("begin", session.execute("begin", &mut Nowhere).await)?;
        let begun = Instant::now();
        client.begin(PATIENCE);
        let done = session.execute(text, &mut Nowhere).await;
        client.end();
        let taken = begun.elapsed();
        if let Err(error) = &done {
            observe(error.state().code());
            if is_internal(error) {
                return Err(format!("XX000 {}: {text}", error.message()));
            }
        }
        if taken > TIME_MAX {
            return Err(format!("took {taken:?}: {text}"));
        }
        // The text may have ended the transaction, and begun another one.
        must("rollback", session.execute("rollback", &mut Nowhere).await)?;
        let lifted = session.execute(NO_TIME_LIMIT, &mut Nowhere).await;
        must(NO_TIME_LIMIT, lifted)?;
    }
    let after = session.execute(seeds::PROBE, &mut Nowhere).await;
    must(seeds::PROBE, after)
}

fn is_internal(error: &SqlError) -> bool {
    error.state() == SqlState::INTERNAL_ERROR
}

/// A client that gives its statement up after a while.
#[derive(Default)]
struct Impatient(RefCell<Option<Pin<Box<dyn Future<Output = ()>>>>>);

impl Impatient {
    fn begin(&self, patience: Duration) {
        self.0.replace(Some(Box::pin(interleave::sleep(patience))));
    }

    fn end(&self) {
        self.0.replace(None);
    }
}

impl Interrupt for Impatient {
    fn poll(&self, context: &mut Context<'_>) -> Poll<SqlError> {
        match &mut *self.0.borrow_mut() {
            Some(timer) => timer
                .as_mut()
                .poll(context)
                .map(|()| SqlError::new(SqlState::QUERY_CANCELED, "the client has lost patience")),
            None => Poll::Pending,
        }
    }
}

/// A sink that writes rows as for a client, and keeps nothing.
struct Nowhere;

impl Sink for Nowhere {
    fn row(&mut self, row: &ResultRow<'_>) -> Result<()> {
        let mut bytes = Vec::new();
        for (value, field) in row.values.iter().zip(row.fields) {
            if !value.is_null() {
                bytes.clear();
                types::text::write(*value, field.ty, &row.context, &mut bytes)?;
            }
        }
        Ok(())
    }

    fn begin_copy_out(&mut self, _: CopyForm, _: usize) -> Result<()> {
        Ok(())
    }

    fn copy_out(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }
}
