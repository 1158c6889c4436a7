//! New layers: two keys that share a slice.
//!
//! The old key's suffix and the newcomer's may share further slices. The new layers, one per shared
//! slice, are built bottom-up and privately, and become visible at once when the border's word is
//! replaced; if memory runs out half-way, they are freed and leave no trace.

use memory::{Exhausted, Local};

use crate::{
    insert::Newcomer,
    key::{LONG, PIECE_BYTES, Piece},
    node::{Code, Entry, NodeId, Suffix, Version},
    observe::{NodeVersion, Observer},
    tree::Tree,
};

impl Tree {
    /// Makes a layer that holds the rest of `old` and of the newcomer. The rests differ. Returns
    /// the layer's root.
    pub(crate) fn new_layer(
        &self,
        local: &Local,
        old: Suffix<'_>,
        newcomer: Newcomer<'_>,
    ) -> Result<NodeId, Exhausted> {
        let (mut old_tail, mut new_tail) = (old.bytes, newcomer.suffix());
        let mut shared = 0;
        while Piece::of(old_tail) == Piece::of(new_tail) {
            // Equal short pieces would be equal rests.
            debug_assert_eq!(Piece::of(old_tail).class, LONG);
            old_tail = &old_tail[PIECE_BYTES..];
            new_tail = &new_tail[PIECE_BYTES..];
            shared += 1;
        }
        let mut root = self.new_pair(local, (old_tail, old.value), (new_tail, newcomer.value))?;
        for level in (0..shared).rev() {
            let slice = Piece::of(&old.bytes[level * PIECE_BYTES..]).slice;
            match self
                .nodes
                .new_border(local, Version::NEW_BORDER.rooted(), 0)
            {
                Ok(border) => {
                    border.insert(0, Entry::to_layer(slice, root));
                    root = self.nodes.border_id(border);
                }
                Err(exhausted) => {
                    self.free_layer(local, root);
                    return Err(exhausted);
                }
            }
        }
        Ok(root)
    }

    /// Makes a border with two keys whose first pieces differ.
    fn new_pair(
        &self,
        local: &Local,
        (left, left_value): (&[u8], u64),
        (right, right_value): (&[u8], u64),
    ) -> Result<NodeId, Exhausted> {
        let entry = |tail, value| {
            self.new_entry(
                local,
                Newcomer {
                    key: tail,
                    depth: 0,
                    piece: Piece::of(tail),
                    value,
                },
            )
        };
        let left = entry(left, left_value)?;
        let right = match entry(right, right_value) {
            Ok(right) => right,
            Err(exhausted) => {
                self.free_entry(local, left);
                return Err(exhausted);
            }
        };
        match self
            .nodes
            .new_border(local, Version::NEW_BORDER.rooted(), 0)
        {
            Ok(border) => {
                border.insert(0, left);
                border.insert(usize::from(left.piece() < right.piece()), right);
                Ok(self.nodes.border_id(border))
            }
            Err(exhausted) => {
                self.free_entry(local, left);
                self.free_entry(local, right);
                Err(exhausted)
            }
        }
    }

    /// Reports the borders that `new_layer` made as parts of the former range of `above`. The
    /// border `above` must still be latched and marked, so that no other operation is in the new
    /// borders.
    pub(crate) fn report_layer<O: Observer>(&self, above: NodeId, root: NodeId, observer: &mut O) {
        let mut next = Some(root);
        while let Some(id) = next {
            let border = self.nodes.at(id).border();
            observer.divided(above, NodeVersion::new(id, border.word.stable()));
            let entry = border.entry(border.permutation().slot(0));
            next = (entry.code == Code::LAYER).then(|| entry.layer());
        }
    }

    /// Frees layers that `new_layer` built and never linked.
    fn free_layer(&self, local: &Local, mut root: NodeId) {
        loop {
            let border = self.nodes.at(root).border();
            let mut below = None;
            for slot in border.permutation().slots() {
                let entry = border.entry(slot);
                match entry.code {
                    Code::LAYER => below = Some(entry.layer()),
                    _ => self.free_entry(local, entry),
                }
            }
            self.nodes.free_border(local, border);
            match below {
                Some(next) => root = next,
                None => return,
            }
        }
    }
}
