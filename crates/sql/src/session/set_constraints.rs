//! SET CONSTRAINTS: which checks are put off until the commit, in the transaction that is open.

use types::{Result, SqlError, SqlState};

use super::{CommandTag, Session, Sink};
use catalog::{Catalog, ForeignKey, Object, ObjectId};
use syntax::{constraints::SetConstraints, name::DottedName};

impl Session {
    /// Carries out SET CONSTRAINTS. Checks that are not put off any more are made here.
    pub(super) async fn set_constraints(
        &mut self,
        set: &SetConstraints,
        sink: &mut impl Sink,
    ) -> Result<()> {
        self.begin()?;
        let catalog = self.transaction.catalog();
        let meant = match &set.names {
            None => None,
            Some(names) => {
                let mut meant = Vec::new();
                for name in names {
                    meant.extend(self.deferrable(&catalog, name)?);
                }
                Some(meant)
            }
        };
        self.transaction
            .deferred()
            .set(meant.as_deref(), set.is_deferred);
        if !set.is_deferred {
            self.keep_deferred(meant.as_deref()).await?;
        }
        sink.complete(CommandTag::Word("SET CONSTRAINTS"))
    }

    /// Finds the constraints of a name, in the first schema of the path that has any.
    fn deferrable(&self, catalog: &Catalog, written: &DottedName) -> Result<Vec<ObjectId>> {
        let written = written.qualified(&self.database.name)?;
        let schemas: Vec<ObjectId> = match &written.schema {
            Some(schema) => vec![catalog.expect_schema(schema)?.id],
            None => catalog.searched(self.settings.search_path()).collect(),
        };
        for schema in schemas {
            let mut found = Vec::new();
            let tables = catalog.objects().filter_map(|object| match object {
                Object::Table(table) if table.schema == schema => Some(table),
                _ => None,
            });
            for table in tables {
                let Some(id) = table.constraint(&written.name) else {
                    continue;
                };
                let is_meant = |key: &&ForeignKey| key.id == id && key.is_deferrable;
                if !table.foreign_keys.iter().any(|key| is_meant(&key)) {
                    let message = format!("constraint \"{}\" is not deferrable", written.name);
                    return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message));
                }
                found.push(id);
            }
            if !found.is_empty() {
                return Ok(found);
            }
        }
        let message = format!("constraint \"{}\" does not exist", written.name);
        Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message))
    }
}
