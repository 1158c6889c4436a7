//! Reading of little-endian fields from untrusted bytes.

/// Bytes that are left to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'b>(pub(crate) &'b [u8]);

/// Error: the bytes ended too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooShort;

impl<'b> Reader<'b> {
    #[inline]
    pub(crate) fn take(&mut self, count: usize) -> Result<&'b [u8], TooShort> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(TooShort)?;
        self.0 = rest;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], TooShort> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(TooShort)?;
        self.0 = rest;
        Ok(*taken)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16, TooShort> {
        self.array().map(u16::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, TooShort> {
        self.array().map(u32::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Result<u64, TooShort> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads bytes behind their length, a `u32`.
    pub(crate) fn counted(&mut self) -> Result<&'b [u8], TooShort> {
        let length = self.u32()?;
        self.take(length as usize)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Appends bytes behind their length, as [`Reader::counted`] reads them.
pub(crate) fn put_counted(bytes: &mut Vec<u8>, counted: &[u8]) {
    bytes.extend_from_slice(&(counted.len() as u32).to_le_bytes());
    bytes.extend_from_slice(counted);
}
