//! The content that a write puts into a record.

use std::{cell::RefCell, ops::ControlFlow};

use super::super::Transaction;
use crate::{
    error::Error,
    locks::Strength,
    table::Table,
    ttl::{EXPIRY_BYTES, put_expiry},
};

/// Content to store in place of the old content of a record; none for a deletion.
pub(in super::super) trait Content: Copy {
    /// Whether the old content is read to make the new one.
    const READS_OLD: bool;

    /// Calls `make` to make a version with the content, in place of a version with `old`, and with
    /// the strength at which the write locks the record. Does not call `make` if the record is to
    /// be left as it is. The method is called again if the version cannot be installed.
    ///
    /// # Errors
    /// Any error of `make`; [`Error::ValueTooLong`].
    fn with<R>(
        self,
        old: Option<&[u8]>,
        make: impl FnOnce(Option<&[u8]>, Strength) -> Result<R, Error>,
    ) -> Result<Option<R>, Error>;

    /// Whether the content is a deletion.
    fn is_deletion(self) -> bool;

    /// Returns the weakest strength that a write of this content may have.
    fn weakest(self) -> Strength {
        Strength::Update
    }
}

/// Content given beforehand.
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

/// Content made of the old value, by a `change` that appends the new value to the given memory, and
/// returns the strength at which the write locks the record.
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
