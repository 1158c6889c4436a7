//! What a write puts into a record.

use std::{cell::RefCell, ops::ControlFlow};

use super::super::Transaction;
use crate::{
    error::Error,
    locks::Strength,
    table::Table,
    ttl::{EXPIRY_BYTES, put_expiry},
};

/// What is stored in place of what a record holds; nothing, if it is deleted.
pub(in super::super) trait Content: Copy {
    /// Whether what is stored there is read for it.
    const READS_OLD: bool;

    /// Has `make` make a version with it, in place of one with `old`, whose write locks the record
    /// so strongly. Not if the record is to be left as it is. If the version cannot be put in its
    /// place, this is called again.
    ///
    /// # Errors
    /// What `make` returns; [`Error::ValueTooLong`].
    fn with<R>(
        self,
        old: Option<&[u8]>,
        make: impl FnOnce(Option<&[u8]>, Strength) -> Result<R, Error>,
    ) -> Result<Option<R>, Error>;

    /// Whether it is nothing.
    fn is_deletion(self) -> bool;

    /// The weakest strength that a write may say it has.
    fn weakest(self) -> Strength {
        Strength::Update
    }
}

/// Given beforehand.
impl Content for Option<&[u8]> {
    const READS_OLD: bool = false;

    #[inline(always)]
    fn with<R>(
        self,
        _old: Option<&[u8]>,
        make: impl FnOnce(Option<&[u8]>, Strength) -> Result<R, Error>,
    ) -> Result<Option<R>, Error> {
        make(self, Strength::Update).map(Some)
    }

    #[inline(always)]
    fn is_deletion(self) -> bool {
        self.is_none()
    }
}

/// Made of the value that the record has, by a `change` that appends it to memory that it
/// is given, and says how strongly the write locks the record.
pub(in super::super) struct Changed<'t, F> {
    transaction: &'t Transaction,
    table: &'t Table,
    change: RefCell<F>,
}

impl<'t, F> Changed<'t, F>
where
    F: FnMut(&[u8], &mut Vec<u8>) -> ControlFlow<(), Strength>,
{
    pub(in super::super) fn new(transaction: &'t Transaction, table: &'t Table, change: F) -> Self {
        Changed {
            transaction,
            table,
            change: RefCell::new(change),
        }
    }
}

impl<F> Content for &Changed<'_, F>
where
    F: FnMut(&[u8], &mut Vec<u8>) -> ControlFlow<(), Strength>,
{
    const READS_OLD: bool = true;

    #[inline]
    fn with<R>(
        self,
        old: Option<&[u8]>,
        make: impl FnOnce(Option<&[u8]>, Strength) -> Result<R, Error>,
    ) -> Result<Option<R>, Error> {
        let (transaction, table) = (self.transaction, self.table);
        let old = old.expect("only a record that is there is changed");
        let mut new = transaction.session.values.lend();
        new.clear();
        let ttl = table.time_to_live();
        put_expiry(&mut new, ttl.map(|ttl| transaction.present().after(ttl)));
        let change = &mut *self.change.borrow_mut();
        let ControlFlow::Continue(strength) = change(table.split(old).1, &mut new) else {
            return Ok(None);
        };
        if new.len() > crate::VALUE_BYTES_MAX {
            let bytes = new.len() - ttl.map_or(0, |_| EXPIRY_BYTES);
            return Err(Error::ValueTooLong { bytes });
        }
        make(Some(&new), strength).map(Some)
    }

    fn is_deletion(self) -> bool {
        false
    }

    fn weakest(self) -> Strength {
        Strength::NoKeyUpdate
    }
}
