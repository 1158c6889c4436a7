//! A client: draws requests and carries them out (clause 2).

use postgres::Error;

use super::connection::Connection;
use super::ledger::Ledger;
use super::statements::Statements;
use super::transactions::{End, Under};
use crate::application::Request as _;
use crate::tpcc::Request;
use crate::tpcc::terminal::Terminal;
use servers::{Client, Done};

/// A client of TPC-C, on a connection of its own.
pub struct Session {
    connection: Connection,
    statements: Statements,
    terminal: Terminal,
    districts: u8,
    is_pipelined: bool,
    request: Option<Request>,
    ledger: Option<Ledger>,
    has_committed: bool,
}

impl Session {
    pub(super) fn new(
        connection: Connection,
        terminal: Terminal,
        districts: u8,
        is_pipelined: bool,
        ledger: Option<Ledger>,
    ) -> Result<Self, Error> {
        let statements = connection.wait(Statements::prepare(&connection, districts))?;
        Ok(Self {
            connection,
            statements,
            terminal,
            districts,
            is_pipelined,
            request: None,
            ledger,
            has_committed: false,
        })
    }

    /// Returns the kind of the drawn request, as the ledger counts them.
    pub fn kind(&self) -> Option<usize> {
        self.request.as_ref().map(Request::kind)
    }

    /// Returns whether the last attempt has committed: a NewOrder may have been rolled back as
    /// asked.
    pub fn has_committed(&self) -> bool {
        self.has_committed
    }
}

impl Client for Session {
    fn draw(&mut self) {
        self.request = Some(self.terminal.draw());
    }

    fn attempt(&mut self) -> Result<Done, Error> {
        let Some(request) = &self.request else {
            return Ok(Done::Right);
        };
        self.has_committed = false;
        let connection = &self.connection;
        let ledger = self.ledger.as_ref();
        let under = Under {
            connection,
            statements: &self.statements,
            is_pipelined: self.is_pipelined,
            counting: ledger.map(|ledger| (ledger, request.kind())),
        };
        let ended = connection.wait(under.carry_out(request, self.districts));
        let ended = match ended {
            Ok(End::Committed) => {
                self.has_committed = true;
                return Ok(Done::Right);
            }
            Ok(End::GivenUp) => Ok(Done::Right),
            Ok(End::Wrong(how)) => Ok(Done::Wrong(how)),
            Err(error) => Err(error),
        };
        // The transaction is open, or has failed.
        let rolled_back = connection.wait(connection.command("rollback"));
        match (ended, rolled_back) {
            (Ok(_), Err(error)) => Err(error),
            (ended, _) => ended,
        }
    }
}
