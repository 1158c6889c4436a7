//! A backend that knows few statements, enough to produce every kind of answer.

use std::num::NonZeroU32;

use types::{Result, SqlError, SqlState};

use crate::{
    Backend, Client, CommandTag, Execution, Field, Format, Named, ParameterTypes, Parameters,
    Session, Startup, Statement, Task, TransactionStatus, Verifier,
};

#[derive(Debug)]
pub(super) struct Few;

#[derive(Debug, Default)]
pub(super) struct FewSession {
    status: Option<TransactionStatus>,
    statements: Named<Prepared>,
}

#[derive(Debug, Clone)]
pub(super) struct Prepared {
    text: Box<str>,
    types: Box<[u32]>,
    fields: Option<[Field; 1]>,
}

impl Statement for Prepared {
    fn parameter_types(&self) -> &[u32] {
        &self.types
    }

    fn fields(&self) -> Option<&[Field]> {
        self.fields.as_ref().map(<[Field; 1]>::as_slice)
    }
}

impl Backend for Few {
    type Context = ();
    type Session = FewSession;

    fn spawn(&self, _: usize, _: Task<()>) {}

    async fn verifier(&self, (): &(), user: &str) -> Result<Option<Verifier>> {
        Ok((user != "weft").then(|| Verifier::nobody(b"", user)))
    }

    async fn open(&self, (): (), _: Startup) -> Result<FewSession> {
        Ok(FewSession::default())
    }
}

fn prepare(text: &str, types: impl Iterator<Item = u32>) -> Prepared {
    let field = Field {
        name: "a".into(),
        table: 0,
        column: 0,
        type_oid: 25,
        type_size: -1,
        type_modifier: -1,
    };
    Prepared {
        text: text.into(),
        types: types.collect(),
        fields: matches!(text, "one" | "many" | "half").then(|| [field]),
    }
}

impl FewSession {
    async fn run(
        &mut self,
        text: &str,
        rows_max: Option<NonZeroU32>,
        client: &mut Client<'_>,
    ) -> Result<Execution> {
        let rows = match text {
            "one" => 1,
            "many" => 20,
            _ => 0,
        };
        let limit = rows_max.map_or(rows, |limit| limit.get().min(rows));
        for _ in 0..limit {
            client.row(1, |row| {
                row.bytes(b"row");
                Ok(())
            })?;
            client.room().await?;
        }
        let tag = match text {
            "" => return Ok(Execution::Empty),
            "one" | "many" if limit < rows => return Ok(Execution::Suspended),
            "one" | "many" => CommandTag::Rows("SELECT", limit.into()),
            "begin" => {
                self.status = Some(TransactionStatus::InTransaction);
                CommandTag::Word("BEGIN")
            }
            "commit" => {
                self.status = None;
                CommandTag::Word("COMMIT")
            }
            "copy" => {
                let mut copy = client.copy_in(Format::Text, 1);
                let mut count = 0;
                while let Some(bytes) = copy.next().await? {
                    count += bytes.len() as u64;
                }
                CommandTag::Rows("COPY", count)
            }
            "half" => {
                return client
                    .row(1, |row| {
                        row.value(|_| Err(SqlError::unsupported("the other half")))
                    })
                    .map(|()| Execution::Empty);
            }
            other => {
                let message = format!("syntax error at or near \"{other}\"");
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
            }
        };
        Ok(Execution::Complete(tag))
    }
}

impl Session for FewSession {
    type Statement = Prepared;
    type Portal = Box<str>;

    fn parameters(&self, tell: &mut dyn FnMut(&str, &str)) {
        tell("client_encoding", "UTF8");
    }

    fn status(&self) -> TransactionStatus {
        self.status.unwrap_or(TransactionStatus::Idle)
    }

    fn statement(&mut self, name: &str) -> Option<Prepared> {
        self.statements.get(name).cloned()
    }

    fn keep_statement(&mut self, name: &str, statement: Prepared) -> Result<()> {
        self.statements.insert(name, statement);
        Ok(())
    }

    fn forget_statement(&mut self, name: &str) {
        self.statements.remove(name);
    }

    async fn simple(&mut self, text: &str, client: &mut Client<'_>) -> Result<()> {
        if let Some(fields) = &prepare(text, [].into_iter()).fields {
            client.fields(fields)?;
        }
        match self.run(text, None, client).await? {
            Execution::Complete(tag) => client.complete(tag),
            Execution::Suspended | Execution::Empty => client.empty_query(),
        }
        Ok(())
    }

    async fn parse(&mut self, text: &str, types: ParameterTypes<'_>) -> Result<Prepared> {
        Ok(prepare(text, types.iter().flatten()))
    }

    async fn bind(&mut self, statement: &Prepared, values: Parameters<'_>) -> Result<Box<str>> {
        assert_eq!(values.len(), values.iter().count());
        Ok(statement.text.clone())
    }

    async fn execute(
        &mut self,
        text: &mut Box<str>,
        rows_max: Option<NonZeroU32>,
        client: &mut Client<'_>,
    ) -> Result<Execution> {
        let text = text.clone();
        self.run(&text, rows_max, client).await
    }

    async fn failed(&mut self) {
        self.status = self.status.map(|_| TransactionStatus::Failed);
    }

    async fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}
