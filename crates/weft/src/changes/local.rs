//! The change stream of a database without threads.

use std::fmt;

use super::{ChangedTransaction, ChangesFrom, Cursor, Position, begin};
use crate::{error::Result, local::LocalDatabase};

/// A stream of committed transactions of a local database, in commit order, each once, like
/// [`crate::Changes`]. Made by [`LocalDatabase::changes`]. The calling thread reads it from the
/// log.
///
/// # Errors
/// Fails as [`crate::Changes`] does; also fails as [`LocalDatabase`] does.
pub struct LocalChanges<'db> {
    database: &'db LocalDatabase,
    cursor: Cursor,
}

impl LocalDatabase {
    /// Opens a stream of the transactions that commit from `from` on. See
    /// [`crate::Database::changes`].
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
    /// Fails as [`crate::Database::changes`] does, and as the type describes.
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
    /// Returns the next transaction that has changed something; `None` if there is none yet: no
    /// transaction could commit while this thread waited. The method can be called again.
    ///
    /// # Errors
    /// Fails as the type describes.
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

    /// Returns the position of the last transaction handed out; before that, the beginning of the
    /// stream.
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
