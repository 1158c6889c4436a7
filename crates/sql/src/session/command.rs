//! Statements about the session itself: each to the file that carries it out.

use std::pin::pin;

use types::Result;

use super::{
    CommandTag, Notice, Session, Sink,
    interrupt::{Limits, interruptible},
};
use syntax::{Source, command::Command};

impl Session {
    /// Carries out a statement about the session itself.
    pub(super) async fn command(
        &mut self,
        command: &Command,
        source: &Source<'_>,
        limits: &mut Limits,
        sink: &mut impl Sink,
    ) -> Result<()> {
        match command {
            Command::Commit { chains } => return self.commit_block(*chains, sink).await,
            Command::Rollback { chains } => return self.roll_back_block(*chains, sink).await,
            Command::Begin { .. }
            | Command::Savepoint(_)
            | Command::Release(_)
            | Command::RollbackTo(_) => self.control(command, sink).await?,
            Command::SetTransaction(modes) => {
                if !self.transaction.is_in_block() {
                    self.tell(sink, &Notice::outside_block("SET TRANSACTION"));
                }
                self.set_modes(*modes)?;
            }
            Command::SetCharacteristics { modes, scope } => {
                self.set_characteristics(*modes, *scope)?;
            }
            Command::Set { name, scope, value } => self.set_statement(name, *scope, value, sink)?,
            Command::Reset(name) => self.reset(name)?,
            Command::ResetAll => self.reset_all()?,
            Command::Show(_) | Command::ShowAll => self.show(command, sink)?,
            Command::DiscardAll => self.discard_all()?,
            Command::DiscardPlans => self.transaction.forget_private_plans(),
            Command::DiscardSequences => self.environment.sequences().clear(),
            // There are no temporary tables.
            Command::DiscardTemporary => {}
            Command::Prepare {
                name,
                types,
                begins,
            } => {
                let source = source.part(*begins)?;
                let preparing = self.prepare_named(name, types, &source);
                interruptible(limits, pin!(preparing)).await?;
            }
            Command::Execute(execute) => {
                return self.execute_named(execute, source, limits, sink).await;
            }
            Command::Deallocate(name) => self.deallocate(name)?,
            Command::DeallocateAll => self.forget_all_prepared(),
            Command::Declare(declared) => {
                let query = source.part(declared.begins)?;
                interruptible(limits, pin!(self.declare(declared, &query))).await?;
            }
            Command::Fetch {
                name,
                direction,
                is_move,
            } => return self.fetch(name, *direction, *is_move, limits, sink).await,
            Command::Close(name) => self.close(name)?,
            Command::CloseAll => self.cursors.clear(),
            Command::CreateRole { name, options } => {
                let creating = self.create_role(name, options, sink);
                interruptible(limits, pin!(creating)).await?;
            }
            Command::AlterRole { role, options } => {
                let changing = self.alter_role(role, options, sink);
                interruptible(limits, pin!(changing)).await?;
            }
            Command::RenameRole { role, name } => {
                interruptible(limits, pin!(self.rename_role(role, name))).await?;
            }
            Command::DropRoles { names, if_exists } => {
                let dropping = self.drop_roles(names, *if_exists, sink);
                interruptible(limits, pin!(dropping)).await?;
            }
            Command::Lock {
                tables,
                mode,
                waits,
            } => {
                let locking = self.lock_tables(tables, *mode, *waits);
                interruptible(limits, pin!(locking)).await?;
            }
        }
        match command.tag() {
            Some(tag) => sink.complete(CommandTag::Word(tag)),
            None => Ok(()),
        }
    }
}
