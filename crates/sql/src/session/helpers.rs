//! Statements that several workers carry out: parts of a statement in sessions of other workers.
//!
//! The operators divide their work (`executor/execute/parallel.rs`); here is what a part knows of its statement, and
//! how it reaches the other workers (`engine/help.rs`). A part has a session of its own for as long as it lasts, on
//! whose behalf its programs are computed. Of the statement's session it has the settings that values are read and
//! written by, the search path, the user, and the times of the transaction and the statement.

use std::{future::Future, pin::Pin, rc::Rc, sync::Arc};

use engine::DividedWork;

use super::Session;
use crate::database::Database;
use catalog::Catalog;
use executor::execute::{Division, ExecutionContext, Helpers, KeyChanges, SharedRows};
use logical::bind::Inputs;

/// The way from a statement to other workers.
pub(super) struct StatementHelpers<'s> {
    session: &'s Session,
    /// Catalog from which the statement's plan was made.
    catalog: &'s Arc<Catalog>,
}

impl<'s> StatementHelpers<'s> {
    pub(super) fn new(session: &'s Session, catalog: &'s Arc<Catalog>) -> Self {
        Self { session, catalog }
    }
}

impl Helpers for StatementHelpers<'_> {
    fn most(&self) -> usize {
        self.session.settings.effects().helpers_most
    }

    fn offer(&self, division: Arc<Division>) -> bool {
        let most = division.helpers_most();
        let session = self.session;
        let part = StatementPart {
            division,
            database: session.database.clone(),
            catalog: self.catalog.clone(),
            inputs: session.settings.inputs().clone(),
            times: session.environment.times(),
            is_sequential: session.settings.effects().is_sequential,
            read_ahead: session.settings.effects().read_ahead,
        };
        session
            .transaction
            .engine()
            .ask_for_help(Arc::new(part), most)
    }
}

/// A part of a statement, as it is offered to other workers.
struct StatementPart {
    division: Arc<Division>,
    database: Arc<Database>,
    catalog: Arc<Catalog>,
    inputs: Arc<Inputs>,
    /// Times at which the transaction and the statement began.
    times: (i64, i64),
    is_sequential: bool,
    read_ahead: usize,
}

impl DividedWork for StatementPart {
    fn take_part(
        self: Arc<Self>,
        session: Rc<engine::Session>,
    ) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move { self.run(&session).await })
    }

    fn is_done(&self) -> bool {
        self.division.is_done()
    }
}

impl StatementPart {
    async fn run(&self, engine: &Rc<engine::Session>) {
        let Some(helper) = self.division.join() else {
            return;
        };
        let Ok(transaction) = engine.begin_at(helper.snapshot()) else {
            return helper.decline();
        };
        let mut session = Session::new(&self.database, engine, &self.inputs.user);
        session.settings.adopt(&self.inputs);
        session.environment.set_times(self.times);
        let environment = session.statement_environment(&self.catalog);
        let parameters = helper.parameters();
        let shared = SharedRows::new(helper.budget());
        let key_changes = KeyChanges::new(&self.catalog, &shared.budget);
        let context = ExecutionContext {
            is_sequential: self.is_sequential,
            read_ahead: self.read_ahead,
            helpers: None,
            ..session.execution_context(
                &transaction,
                &environment,
                &parameters,
                &shared,
                &key_changes,
            )
        };
        helper.run(&context, session.memory.spare_rows()).await;
    }
}
