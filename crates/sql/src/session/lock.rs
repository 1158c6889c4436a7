//! LOCK TABLE.

use engine::{IfLocked, TableLockMode};
use types::{Result, SqlError, SqlState};

use super::Session;
use catalog::Relation;
use syntax::name::DottedName;

impl Session {
    pub(super) async fn lock_tables(
        &mut self,
        tables: &[DottedName],
        mode: TableLockMode,
        waits: bool,
    ) -> Result<()> {
        self.transaction.needs_block("LOCK TABLE")?;
        self.begin()?;
        let if_locked = match waits {
            true => IfLocked::Wait,
            false => IfLocked::Fail,
        };
        for written in tables {
            let catalog = self.transaction.catalog();
            let (found, name) = self.relation_written(&catalog, written)?;
            let id = match found {
                Relation::Table(table) => table.id,
                Relation::View(_) => return Err(SqlError::unsupported("LOCK TABLE of a view")),
                Relation::Index(..) => return Err(refused(&name, "indexes")),
                Relation::Sequence(_) => return Err(refused(&name, "sequences")),
            };
            let locked = self.transaction.lock_table(id, mode, if_locked);
            if locked.await?.is_none() {
                let message = format!("relation \"{written}\" does not exist");
                return Err(SqlError::new(SqlState::UNDEFINED_TABLE, message));
            }
        }
        Ok(())
    }
}

/// Returns the error for a relation that is no table and cannot be locked.
fn refused(name: &str, kind: &str) -> SqlError {
    let message = format!("cannot lock relation \"{name}\"");
    SqlError::new(SqlState::WRONG_OBJECT_TYPE, message)
        .detail(format!("This operation is not supported for {kind}."))
}
