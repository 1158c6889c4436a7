//! Ledger of the commits of clients, in a table of its own: for each client and kind of transaction
//! the number of commits. It is written in the transactions that it counts, so after a crash it
//! tells which of them are there.

use postgres::types::ToSql;
use postgres::{Client, Error, Statement};

use super::connection::{Connection, Sent};
use crate::tpcc::mix::Kind;

/// Number of kinds of transactions.
pub const KINDS: usize = Kind::NAMES.len();
/// The kind that enters an order.
pub const NEW_ORDER: usize = Kind::NewOrder as usize;
/// The kind that makes a payment.
pub const PAYMENT: usize = Kind::Payment as usize;

/// Number of transactions of each kind that a client has committed.
pub type Counts = [i64; KINDS];

/// Makes the ledger's table, for `clients` clients.
///
/// # Errors
/// Returns an error of the server.
pub fn create(connection: &mut Client, clients: u16) -> Result<(), Error> {
    connection.batch_execute(
        "create table ledger (client int, kind int, committed bigint not null, \
         primary key (client, kind))",
    )?;
    for client in 0..i32::from(clients) {
        for kind in 0..KINDS as i32 {
            let key: [&(dyn ToSql + Sync); 2] = [&client, &kind];
            connection.execute("insert into ledger values ($1, $2, 0)", &key)?;
        }
    }
    Ok(())
}

/// Reads the counts of each client.
///
/// # Errors
/// Returns an error of the server.
pub fn read(connection: &mut Client, clients: u16) -> Result<Vec<Counts>, Error> {
    let mut counts = vec![[0; KINDS]; clients.into()];
    for row in connection.query("select client, kind, committed from ledger", &[])? {
        let (client, kind): (i32, i32) = (row.get(0), row.get(1));
        if let Some(count) = counts
            .get_mut(client as usize)
            .and_then(|counts| counts.get_mut(kind as usize))
        {
            *count = row.get(2);
        }
    }
    Ok(counts)
}

/// The statement that counts a client's transactions.
pub(crate) struct Ledger {
    statement: Statement,
    client: i32,
}

impl Ledger {
    pub(super) fn prepare(connection: &Connection, client: u64) -> Result<Self, Error> {
        let text = "update ledger set committed = committed + 1 where client = $1 and kind = $2";
        Ok(Self {
            statement: connection.wait(connection.prepare(text))?,
            client: client as i32,
        })
    }

    /// Counts one more transaction of the kind `kind`, if the transaction commits.
    pub(super) fn count<'s>(&'s self, connection: &'s Connection, kind: usize) -> Sent<'s> {
        connection.statement(
            &self.statement,
            vec![self.client.into(), (kind as i32).into()],
        )
    }
}
