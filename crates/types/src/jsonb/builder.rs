//! Building `jsonb` from events: values, keys, beginnings and ends of containers.
//!
//! All nodes are in one buffer. The nodes of an open container stand one after the other at its
//! end; when the container is closed they are put together behind its tables, objects in the
//! order of their keys. Memory is twice the result, at any depth.

use std::cmp::Ordering;

use bumpalo::collections::Vec as ArenaVec;

use super::{ARRAY, DEPTH_MAX, FALSE, Jsonb, NULL, NUMBER, OBJECT, STRING, TRUE};
use crate::{Numeric, Result, Scratch, Sink as _, SqlError, SqlState};

/// Positions of a value and its key.
#[derive(Debug, Clone, Copy)]
struct Entry {
    key: (u32, u32),
    value: (u32, u32),
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    is_object: bool,
    /// Numbers of nodes' bytes, entries and keys' bytes at the container's beginning.
    nodes: usize,
    entries: usize,
    keys: usize,
    /// The key of the container itself in the one around it.
    key: (u32, u32),
}

/// A builder of a [`Jsonb`] from events in the order of the text.
///
/// Exactly one value is made, scalar or container. In an object, each value follows its
/// [`key`](Self::key). The last of several entries with equal keys stays.
#[derive(Debug)]
pub struct JsonbBuilder<'a> {
    nodes: ArenaVec<'a, u8>,
    keys: ArenaVec<'a, u8>,
    entries: ArenaVec<'a, Entry>,
    frames: ArenaVec<'a, Frame>,
    spare: ArenaVec<'a, u8>,
    key: (u32, u32),
}

impl<'a> JsonbBuilder<'a> {
    /// Returns an empty builder.
    pub fn new(scratch: &'a Scratch) -> Self {
        Self {
            nodes: ArenaVec::new_in(scratch),
            keys: ArenaVec::new_in(scratch),
            entries: ArenaVec::new_in(scratch),
            frames: ArenaVec::new_in(scratch),
            spare: ArenaVec::new_in(scratch),
            key: (0, 0),
        }
    }

    /// Adds `null`.
    pub fn null(&mut self) {
        self.node(|nodes| nodes.put_byte(NULL));
    }

    /// Adds `true` or `false`.
    pub fn boolean(&mut self, value: bool) {
        self.node(|nodes| nodes.put_byte(if value { TRUE } else { FALSE }));
    }

    /// Adds a number, which is neither infinite nor NaN.
    pub fn number(&mut self, value: Numeric<'_>) {
        self.node(|nodes| {
            nodes.put_byte(NUMBER);
            value.write_stored(nodes);
        });
    }

    /// Adds a string.
    pub fn string(&mut self, value: &str) {
        self.node(|nodes| {
            nodes.put_byte(STRING);
            nodes.put(value.as_bytes());
        });
    }

    /// Adds an existing value with its whole content.
    pub fn value(&mut self, value: Jsonb<'_>) {
        self.node(|nodes| nodes.put(value.as_stored()));
    }

    /// Adds the key of the value that follows.
    pub fn key(&mut self, key: &str) {
        let start = self.keys.len() as u32;
        self.keys.put(key.as_bytes());
        self.key = (start, self.keys.len() as u32);
    }

    /// Begins an array.
    ///
    /// # Errors
    /// `54001` if it is too deep.
    pub fn begin_array(&mut self) -> Result<()> {
        self.begin(false)
    }

    /// Begins an object.
    ///
    /// # Errors
    /// `54001` if it is too deep.
    pub fn begin_object(&mut self) -> Result<()> {
        self.begin(true)
    }

    /// Ends the innermost array or object.
    ///
    /// # Errors
    /// `54000` if it is larger than 256 MB; `XX000` if none is open.
    pub fn end(&mut self) -> Result<()> {
        let frame = self.frames.pop().ok_or_else(incomplete)?;
        if self.nodes.len() > BYTES_MAX || self.keys.len() > BYTES_MAX {
            return Err(too_large());
        }
        self.spare.clear();
        if frame.is_object {
            self.put_object(frame);
        } else {
            self.put_array(frame);
        }
        self.nodes.truncate(frame.nodes);
        self.nodes.extend_from_slice_copy(&self.spare);
        self.entries.truncate(frame.entries);
        self.keys.truncate(frame.keys);
        self.entries.push(Entry {
            key: frame.key,
            value: (frame.nodes as u32, self.nodes.len() as u32),
        });
        Ok(())
    }

    /// Returns the value.
    ///
    /// # Errors
    /// `XX000` if not exactly one has been made.
    pub fn finish(self) -> Result<Jsonb<'a>> {
        if self.frames.is_empty() && self.entries.len() == 1 {
            Ok(Jsonb(self.nodes.into_bump_slice()))
        } else {
            Err(incomplete())
        }
    }

    fn begin(&mut self, is_object: bool) -> Result<()> {
        if self.frames.len() >= DEPTH_MAX {
            return Err(crate::json::too_deep());
        }
        self.frames.push(Frame {
            is_object,
            nodes: self.nodes.len(),
            entries: self.entries.len(),
            keys: self.keys.len(),
            key: self.key,
        });
        Ok(())
    }

    fn node(&mut self, write: impl FnOnce(&mut ArenaVec<'a, u8>)) {
        let start = self.nodes.len() as u32;
        write(&mut self.nodes);
        self.entries.push(Entry {
            key: self.key,
            value: (start, self.nodes.len() as u32),
        });
    }

    fn put_array(&mut self, frame: Frame) {
        let entries = &self.entries[frame.entries..];
        self.spare.put_byte(ARRAY);
        self.spare.put(&(entries.len() as u32).to_le_bytes());
        for entry in entries {
            self.spare
                .put(&(entry.value.1 - frame.nodes as u32).to_le_bytes());
        }
        self.spare.put(&self.nodes[frame.nodes..]);
    }

    fn put_object(&mut self, frame: Frame) {
        let keys = &self.keys;
        let key = |entry: &Entry| &keys[entry.key.0 as usize..entry.key.1 as usize];
        let entries = &mut self.entries[frame.entries..];
        // Stable, so that the last of equal keys is the last of its run.
        entries.sort_by(|one, two| compare_key_bytes(key(one), key(two)));
        let mut count = 0;
        for index in 0..entries.len() {
            let entry = entries[index];
            if count > 0 && key(&entries[count - 1]) == key(&entry) {
                count -= 1;
            }
            entries[count] = entry;
            count += 1;
        }
        let entries = &entries[..count];
        self.spare.put_byte(OBJECT);
        self.spare.put(&(count as u32).to_le_bytes());
        let mut end = 0u32;
        for entry in entries {
            end += entry.key.1 - entry.key.0;
            self.spare.put(&end.to_le_bytes());
        }
        end = 0;
        for entry in entries {
            end += entry.value.1 - entry.value.0;
            self.spare.put(&end.to_le_bytes());
        }
        for entry in entries {
            self.spare.put(key(entry));
        }
        for entry in entries {
            self.spare
                .put(&self.nodes[entry.value.0 as usize..entry.value.1 as usize]);
        }
    }
}

/// Maximum bytes, as for PostgreSQL's `jsonb`.
const BYTES_MAX: usize = (1 << 28) - 1;

/// Compares keys in objects: the shorter first, then by bytes.
pub(super) fn compare_keys(one: &str, two: &str) -> Ordering {
    compare_key_bytes(one.as_bytes(), two.as_bytes())
}

fn compare_key_bytes(one: &[u8], two: &[u8]) -> Ordering {
    one.len().cmp(&two.len()).then_with(|| one.cmp(two))
}

#[cold]
fn too_large() -> SqlError {
    SqlError::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        format!("total size of jsonb elements exceeds the maximum of {BYTES_MAX} bytes"),
    )
}

#[cold]
fn incomplete() -> SqlError {
    SqlError::new(SqlState::INTERNAL_ERROR, "jsonb value is incomplete")
}
