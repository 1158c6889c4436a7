//! Streams: clients that run the analytical queries one after another.

use std::time::{Duration, Instant};

use commands::Result;
use postgres::{Client, Error, SimpleQueryMessage, error::SqlState};
use servers::{Answer, failed};

use crate::queries;

/// Sum of the numbers of the next orders: it grows by one with each order.
const ORDERS: &str = "select sum(d_next_o_id) from district";

/// A query that was answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered {
    /// Number of the query.
    pub(crate) query: u8,
    /// Moment before the transaction of the query, which sees at least what has been acknowledged then if it is fresh.
    pub(crate) asked: Instant,
    /// Moment at which the query was sent.
    pub(crate) began: Instant,
    /// Moment at which the last row was there.
    pub(crate) ended: Instant,
    /// Orders that the query saw, counted as [`orders`] does.
    pub(crate) orders: u64,
}

/// Work that a stream has done.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Queries with their answers.
    pub(crate) answered: Vec<Answered>,
    /// Query that was under way at the end.
    pub(crate) unended: Option<u8>,
}

/// Counts the orders of the tables, from a number that is equal in all runs on them.
///
/// # Errors
/// Errors of the server.
pub(crate) fn orders(client: &mut Client) -> Result<u64, Error> {
    let messages = client.simple_query(ORDERS)?;
    let text = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    Ok(text.and_then(|text| text.parse().ok()).unwrap_or(0))
}

/// Returns the answer to a query outside of runs; `None` if it does not come within `limit`.
///
/// # Errors
/// Errors of the server.
pub(crate) fn answer(client: &mut Client, query: u8, limit: Duration) -> Result<Option<Answer>> {
    let answer = bound(client, limit).and_then(|()| client.simple_query(queries::text(query)));
    match answer {
        Ok(messages) => Ok(Some(Answer::of(&messages))),
        Err(error) if is_over(&error) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Runs queries until `end`, from the place `next` of `queries` on, and round again. The query that is under way at the
/// end is given up, and the next run of the kind goes on behind it.
///
/// # Errors
/// Errors of the server.
pub(crate) fn work(
    client: &mut Client,
    queries: &[u8],
    next: &mut usize,
    end: Instant,
) -> Result<Work> {
    let mut work = Work::default();
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        let query = queries[*next % queries.len()];
        *next += 1;
        match seen(client, query, left) {
            Ok(answered) => work.answered.push(answered),
            Err(error) if is_over(&error) => {
                client.batch_execute("rollback").map_err(failed)?;
                work.unended = Some(query);
            }
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(work)
}

/// Runs a query in a transaction of its own, which then counts the orders of its snapshot.
fn seen(client: &mut Client, query: u8, left: Duration) -> Result<Answered, Error> {
    bound(client, left)?;
    let asked = Instant::now();
    client.batch_execute("begin transaction isolation level repeatable read read only")?;
    let began = Instant::now();
    client.simple_query(queries::text(query))?;
    let ended = Instant::now();
    let orders = orders(client)?;
    client.batch_execute("commit")?;
    Ok(Answered {
        query,
        asked,
        began,
        ended,
        orders,
    })
}

/// Bounds the time of each statement that follows.
fn bound(client: &mut Client, limit: Duration) -> Result<(), Error> {
    // Zero would be no bound.
    let limit = limit.as_millis().max(1);
    client.batch_execute(&format!("set statement_timeout = {limit}"))
}

/// Tells whether a statement was ended because its time was over.
fn is_over(error: &Error) -> bool {
    error.code() == Some(&SqlState::QUERY_CANCELED)
}
