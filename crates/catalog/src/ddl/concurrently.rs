//! Building an index beside writers.
//!
//! 1. A transaction enters the index into the catalog, as not valid: its name is taken.
//! 2. The engine builds it (`engine::IndexBuild`). Writers maintain it from the beginning, without
//!    a lock on the table; no transaction is open meanwhile that the builder could wait for.
//! 3. A transaction makes it valid, if the table still has it and its storage is the one that it
//!    was built for.
//!
//! A failure in between, or a drop of the future, leaves an index that is not valid, and that a
//! DROP removes, as in PostgreSQL. After a crash between 2 and 3 the engine has an index that the
//! catalog does not call valid: that is dropped when the database is opened (`store.rs`).

use std::{rc::Rc, sync::Arc};

use engine::{Error, IfLocked, IndexBuild, Isolation, Session, TableLockMode, Transaction};
use interleave::Interleaved;
use types::{Result, SqlError, SqlState};

use super::{
    Ddl, NewIndex,
    index::{build_failed, enter},
};
use crate::{Catalog, Catalogs, Changes, Index, ObjectId, Table, failure::from_engine, record};

/// Creates an index that was bound in a committed catalog, in transactions of its own, and builds
/// it beside writers. `table` must not be locked by an open transaction of the caller's: the
/// builder waits for all that are open.
///
/// # Errors
/// 23505 if rows have the same key; 55000 if the table was truncated or rewritten meanwhile, 40001
/// if a name in its texts was changed; 42P07 if the index's name is taken; errors of the engine.
///
/// # Cancellation
/// Dropping the future leaves an index that is not valid.
pub async fn create_index_concurrently(
    session: &Rc<Session>,
    catalogs: &Arc<Catalogs>,
    bound_in: Arc<Catalog>,
    table: ObjectId,
    new: NewIndex,
) -> Result<()> {
    let name = new.name.clone();
    let (id, build) = begin(session, catalogs, bound_in, table, new).await?;
    let index = build
        .run(|_| {})
        .await
        .map_err(|error| build_failed(&name, error))?;
    finish(session, catalogs, table, id, index).await
}

/// Begins a transaction, and returns the table with a lock that keeps other changes of it away.
async fn open(
    session: &Rc<Session>,
    changes: &Changes,
    table: ObjectId,
) -> Result<(Transaction, Option<Arc<Table>>)> {
    let transaction = session
        .begin(Isolation::ReadCommitted)
        .map_err(from_engine)?;
    let mode = TableLockMode::ShareUpdateExclusive;
    let table = changes
        .lock_table(&transaction, table, mode, IfLocked::Wait)
        .await?;
    Ok((transaction, table))
}

async fn begin(
    session: &Rc<Session>,
    catalogs: &Arc<Catalogs>,
    bound_in: Arc<Catalog>,
    table: ObjectId,
    new: NewIndex,
) -> Result<(ObjectId, IndexBuild)> {
    let changes = Changes::new(catalogs);
    changes.bound_in(bound_in);
    let (transaction, _) = open(session, &changes, table).await?;
    changes.expect_as_bound(table)?;
    let ddl = Ddl::new(&transaction, &changes);
    ddl.keep_index(table, &new).await?;
    let id = ddl.new_id().await?;
    let index = new.into_index(id);
    let add = |table: &mut Table| enter(table, index, None, ObjectId::default());
    let entered = ddl
        .alter_table(table, TableLockMode::ShareUpdateExclusive, add)
        .await?;
    transaction.commit().await.map_err(from_engine)?;
    let catalog = catalogs.current();
    let index = entered.index(id).ok_or_else(changed)?;
    let (extract, options) = catalogs.keys.keys(&catalog, &entered, index)?;
    let build = session.begin_index(entered.storage(), &record::index_name(id), options, extract);
    Ok((id, build.map_err(|error| build_failed(&index.name, error))?))
}

async fn finish(
    session: &Rc<Session>,
    catalogs: &Arc<Catalogs>,
    table: ObjectId,
    id: ObjectId,
    built: engine::Index,
) -> Result<()> {
    let changes = Changes::new(catalogs);
    let (transaction, locked) = open(session, &changes, table).await?;
    let is_as_before = locked.is_some_and(|table| {
        Arc::ptr_eq(table.storage(), built.table()) && table.index(id).is_some()
    });
    if !is_as_before {
        match transaction
            .drop_index_named::<Interleaved>(&record::index_name(id))
            .await
        {
            Ok(()) => transaction.commit().await.map(drop).map_err(from_engine)?,
            Err(Error::NoSuchTable) => {}
            Err(error) => return Err(from_engine(error)),
        }
        return Err(changed());
    }
    let ddl = Ddl::new(&transaction, &changes);
    let make_valid = |table: &mut Table| {
        let mut indexes: Vec<Index> = table.indexes.to_vec();
        let index = indexes
            .iter_mut()
            .find(|index| index.id == id)
            .ok_or_else(changed)?;
        (index.is_valid, index.handle) = (true, Some(built));
        table.indexes = indexes.into();
        Ok(())
    };
    ddl.alter_table(table, TableLockMode::ShareUpdateExclusive, make_valid)
        .await?;
    transaction.commit().await.map(drop).map_err(from_engine)
}

fn changed() -> SqlError {
    SqlError::new(
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
        "the table was dropped, truncated or rewritten while its index was built",
    )
}
