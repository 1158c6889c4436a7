//! Bytes that were written to a file and are not in it yet.

use std::{collections::BTreeMap, ops::Range};

/// Number of a write.
pub(super) type WriteId = u64;

/// Extents by offset, which do not overlap.
#[derive(Debug, Default)]
pub(super) struct Held(BTreeMap<u64, Extent>);

#[derive(Clone, Debug)]
struct Extent {
    bytes: Vec<u8>,
    /// Write that the bytes are from.
    write: WriteId,
}

impl Held {
    /// Holds `bytes` of `write` at `offset`, in place of bytes held there.
    pub(super) fn insert(&mut self, offset: u64, bytes: &[u8], write: WriteId) {
        if bytes.is_empty() {
            return;
        }
        self.remove(offset..offset + bytes.len() as u64, |_| true);
        let bytes = bytes.to_vec();
        self.0.insert(offset, Extent { bytes, write });
    }

    /// Forgets the held bytes in `range` that are `of` a write to forget.
    pub(super) fn remove(&mut self, range: Range<u64>, of: impl Fn(WriteId) -> bool) {
        let touched: Vec<u64> = self
            .touching(range.clone())
            .map(|(start, _)| start)
            .collect();
        for start in touched {
            if !of(self.0[&start].write) {
                continue;
            }
            let Some(extent) = self.0.remove(&start) else {
                continue;
            };
            let end = start + extent.bytes.len() as u64;
            for (from, to) in [(start, range.start), (range.end, end)] {
                if from < to {
                    let bytes = &extent.bytes[(from - start) as usize..(to - start) as usize];
                    let rest = Extent {
                        bytes: bytes.to_vec(),
                        ..extent
                    };
                    self.0.insert(from, rest);
                }
            }
        }
    }

    /// Copies held bytes over the part of `bytes`, which lies at `offset`, that they cover.
    pub(super) fn overlay(&self, bytes: &mut [u8], offset: u64) {
        let end = offset + bytes.len() as u64;
        for (start, extent) in self.touching(offset..end) {
            let from = start.max(offset);
            let to = end.min(start + extent.bytes.len() as u64);
            bytes[(from - offset) as usize..(to - offset) as usize]
                .copy_from_slice(&extent.bytes[(from - start) as usize..(to - start) as usize]);
        }
    }

    /// Returns all held bytes, from front to back.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.0
            .iter()
            .map(|(&offset, extent)| (offset, extent.bytes.as_slice()))
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    fn touching(&self, range: Range<u64>) -> impl Iterator<Item = (u64, &Extent)> {
        self.0
            .range(..range.end)
            .rev()
            .map(|(&start, extent)| (start, extent))
            .take_while(move |(start, extent)| start + extent.bytes.len() as u64 > range.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    #[test]
    fn extents_are_the_bytes_they_should_be() {
        for seed in 0..100 {
            let mut dice = Dice::new(seed);
            let mut held = Held::default();
            let mut model: Vec<Option<(u8, WriteId)>> = vec![None; 100];
            for turn in 0..50_u8 {
                let start = dice.below(80) as usize;
                let end = start + dice.below(20) as usize;
                let write = dice.below(3);
                if dice.chance(700) {
                    held.insert(start as u64, &vec![turn; end - start], write);
                    model[start..end].fill(Some((turn, write)));
                } else {
                    held.remove(start as u64..end as u64, |of| of == write);
                    for byte in &mut model[start..end] {
                        *byte = byte.filter(|&(_, of)| of != write);
                    }
                }
                let (from, mut bytes) = (dice.below(50), [255; 50]);
                held.overlay(&mut bytes, from);
                for (byte, expected) in bytes.iter().zip(&model[from as usize..]) {
                    assert_eq!(*byte, expected.map_or(255, |(byte, _)| byte));
                }
                let count: usize = held.iter().map(|(_, bytes)| bytes.len()).sum();
                assert_eq!(count, model.iter().flatten().count());
            }
        }
    }
}
