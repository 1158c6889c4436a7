//! The change stream of a database without threads.

use std::fmt;

use super::{ChangedTransaction, ChangesFrom, Cursor, Position, begin};
use crate::{error::Result, local::LocalDatabase};

/// What transactions committed, in commit order, each once: as [`crate::Changes`], of a
/// local database. Made by [`LocalDatabase::changes`]. The calling thread reads it from the
/// log.
///
/// # Errors
/// As for [`crate::Changes`]; as for [`LocalDatabase`].
pub struct LocalChanges<'db> {
    database: &'db LocalDatabase,
    cursor: Cursor,
}

impl LocalDatabase {
    /// What transactions commit from `from` on. See [`crate::Database::changes`].
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # use weft::*;
    /// # let options = Options { data_dir: Some(directory.path().into()), ..Options::default() };
    /// let db = Database::open_local(options)?;
    /// let stock: Table<String, u32> = db.create_table("stock")?;
    /// let mut changes = db.changes(ChangesFrom::Now)?;
    /// db.truncate_table("stock")?;
    /// while let Some(transaction) = changes.next()? {
    ///     for change in transaction.changes() {
    ///         println!("{change:?}");
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`crate::Database::changes`], and for the type.
    pub fn changes(&self, from: ChangesFrom) -> Result<LocalChanges<'_>> {
        let session = self.session().clone();
        let reader = self.block_on(begin(session, from))??;
        Ok(LocalChanges {
            database: self,
            cursor: Cursor::new(self.shared().clone(), reader),
        })
    }
}

impl LocalChanges<'_> {
    /// The next transaction that has changed something; `None` if there is none yet:
    /// nobody would commit one while this thread waited. It can be asked again.
    ///
    /// # Errors
    /// See the type.
    #[allow(
        clippy::should_implement_trait,
        reason = "an iterator that goes on after its end, and fails, is none"
    )]
    pub fn next(&mut self) -> Result<Option<ChangedTransaction>> {
        if let Some(transaction) = self.cursor.next_at_hand() {
            return Ok(Some(transaction));
        }
        let newest = self.database.engine().now();
        let session = self.database.session().clone();
        let lent = self.cursor.lend()?;
        let given_back = self.database.block_on(lent.read(session, newest))?;
        self.cursor.take_back(given_back)?;
        Ok(self.cursor.next_at_hand())
    }

    /// That of the last transaction handed out; before that, where the stream began.
    pub fn position(&self) -> Position {
        self.cursor.position
    }
}

impl fmt::Debug for LocalChanges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalChanges")
            .field("position", &self.cursor.position)
            .field("at_hand", &self.cursor.at_hand.len())
            .finish_non_exhaustive()
    }
}
