//! Contents of a file: a length, and the pages that are not zero.

use std::{collections::BTreeMap, sync::Arc};

const PAGE_BYTES: usize = 4096;

type Page = [u8; PAGE_BYTES];

static ZEROS: Page = [0; PAGE_BYTES];

/// Bytes to be written somewhere.
#[derive(Clone, Copy, Debug)]
pub(super) enum Data<'a> {
    /// Zeros, of the given length.
    Zeros(u64),
    Bytes(&'a [u8]),
}

impl<'a> Data<'a> {
    pub(super) fn len(self) -> u64 {
        match self {
            Data::Zeros(length) => length,
            Data::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Returns `length` of the bytes, from `start` on.
    pub(super) fn part(self, start: u64, length: u64) -> Data<'a> {
        match self {
            Data::Zeros(_) => Data::Zeros(length),
            Data::Bytes(bytes) => Data::Bytes(&bytes[start as usize..(start + length) as usize]),
        }
    }
}

/// Bytes that are kept; zeros take no memory.
#[derive(Clone, Debug)]
pub(super) enum OwnedData {
    Zeros(u64),
    Bytes(Arc<[u8]>),
}

impl OwnedData {
    pub(super) fn new(data: Data<'_>) -> OwnedData {
        match data {
            Data::Bytes(bytes) if !all_zero(bytes) => OwnedData::Bytes(bytes.into()),
            _ => OwnedData::Zeros(data.len()),
        }
    }

    pub(super) fn borrow(&self) -> Data<'_> {
        match self {
            OwnedData::Zeros(length) => Data::Zeros(*length),
            OwnedData::Bytes(bytes) => Data::Bytes(bytes),
        }
    }
}

fn all_zero(bytes: &[u8]) -> bool {
    bytes
        .chunks(PAGE_BYTES)
        .all(|chunk| *chunk == ZEROS[..chunk.len()])
}

/// A file's bytes. Clones share pages until they are written.
#[derive(Clone, Debug, Default)]
pub(super) struct Image {
    pub(super) length: u64,
    /// Pages by number; missing ones are zero, also those beyond the length.
    pages: BTreeMap<u64, Arc<Page>>,
}

impl Image {
    /// Fills as much of `bytes` as there is from `offset` on. Returns the number of bytes filled.
    pub(super) fn read(&self, bytes: &mut [u8], offset: u64) -> usize {
        let there = self.length.saturating_sub(offset).min(bytes.len() as u64);
        for (number, within, range) in pieces(offset, there) {
            let into = &mut bytes[range.start as usize..range.end as usize];
            match self.pages.get(&number) {
                Some(page) => into.copy_from_slice(&page[within..within + into.len()]),
                None => into.fill(0),
            }
        }
        there as usize
    }

    /// Writes `data` at `offset`; the file grows if need be.
    pub(super) fn write(&mut self, offset: u64, data: Data<'_>) {
        self.length = self.length.max(offset + data.len());
        match data {
            Data::Zeros(length) => self.clear(offset, length),
            Data::Bytes(bytes) => {
                for (number, within, range) in pieces(offset, bytes.len() as u64) {
                    let from = &bytes[range.start as usize..range.end as usize];
                    if let Ok(page) = <&Page>::try_from(from) {
                        if *page == ZEROS {
                            self.pages.remove(&number);
                        } else {
                            self.pages.insert(number, Arc::new(*page));
                        }
                    } else {
                        let page = self.pages.entry(number).or_insert_with(|| Arc::new(ZEROS));
                        Arc::make_mut(page)[within..within + from.len()].copy_from_slice(from);
                    }
                }
            }
        }
    }

    fn clear(&mut self, offset: u64, length: u64) {
        let end = offset + length;
        let touched = offset / PAGE_BYTES as u64..end.div_ceil(PAGE_BYTES as u64);
        if self.pages.range(touched.clone()).next().is_none() {
            return;
        }
        let whole = offset.div_ceil(PAGE_BYTES as u64)..end / PAGE_BYTES as u64;
        for (number, within, range) in pieces(offset, length) {
            if whole.contains(&number) {
                self.pages.remove(&number);
            } else if let Some(page) = self.pages.get_mut(&number) {
                let length = (range.end - range.start) as usize;
                Arc::make_mut(page)[within..within + length].fill(0);
            }
        }
    }

    /// Flips a bit of the byte at `offset`, which must be within the length.
    pub(super) fn flip(&mut self, offset: u64, bit: u32) {
        let number = offset / PAGE_BYTES as u64;
        let page = self.pages.entry(number).or_insert_with(|| Arc::new(ZEROS));
        Arc::make_mut(page)[offset as usize % PAGE_BYTES] ^= 1 << bit;
    }
}

/// Returns the pages that a range touches: number, offset in the page, and part of the range.
fn pieces(offset: u64, length: u64) -> impl Iterator<Item = (u64, usize, std::ops::Range<u64>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == length {
            return None;
        }
        let position = offset + done;
        let within = position % PAGE_BYTES as u64;
        let start = done;
        done = length.min(done + PAGE_BYTES as u64 - within);
        Some((position / PAGE_BYTES as u64, within as usize, start..done))
    })
}
