//! Names of files: those that programs see, those on the disk, and the changes between.

use std::collections::{BTreeMap, BTreeSet};

use crate::dice::Dice;

/// Number of a file.
pub(super) type FileId = u32;

#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    live: BTreeMap<String, FileId>,
    durable: BTreeMap<String, FileId>,
    /// Changes since the last sync, oldest first. A crash keeps any of them.
    unsynced: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Create {
        name: String,
        file: FileId,
    },
    Remove {
        name: String,
        file: FileId,
    },
    Rename {
        from: String,
        to: String,
        file: FileId,
    },
}

impl Names {
    pub(super) fn get(&self, name: &str) -> Option<FileId> {
        self.live.get(name).copied()
    }

    /// Returns names with files, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, FileId)> {
        self.live.iter().map(|(name, &file)| (name, file))
    }

    pub(super) fn create(&mut self, name: &str, file: FileId) {
        let name = name.to_owned();
        self.change(Change::Create { name, file });
    }

    /// Removes `name`. Returns false if there is no such name.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let Some(file) = self.get(name) else {
            return false;
        };
        let name = name.to_owned();
        self.change(Change::Remove { name, file });
        true
    }

    /// Renames `from` to `to`. Returns false if there is no name `from`.
    pub(super) fn rename(&mut self, from: &str, to: &str) -> bool {
        let Some(file) = self.get(from) else {
            return false;
        };
        let (from, to) = (from.to_owned(), to.to_owned());
        self.change(Change::Rename { from, to, file });
        true
    }

    fn change(&mut self, change: Change) {
        apply(&mut self.live, &change);
        self.unsynced.push(change);
    }

    pub(super) fn sync(&mut self) {
        self.unsynced.clear();
        self.durable.clone_from(&self.live);
    }

    /// Lets a sync fail: the oldest changes become durable, the others stay as they are. (Any
    /// others would let a later crash undo their order: a file under two names.)
    pub(super) fn sync_failing(&mut self, dice: &mut Dice) {
        let durable = dice.between(0, self.unsynced.len() as u64) as usize;
        for change in self.unsynced.drain(..durable) {
            apply(&mut self.durable, &change);
        }
    }

    pub(super) fn crash(&mut self, dice: &mut Dice) {
        let survival = dice.survival();
        for change in self.unsynced.drain(..) {
            if dice.survives(survival) {
                apply(&mut self.durable, &change);
            }
        }
        self.live.clone_from(&self.durable);
    }

    /// Returns the files that have a name or may have one again.
    pub(super) fn files(&self) -> BTreeSet<FileId> {
        let named = self.live.values().chain(self.durable.values()).copied();
        let changed = self.unsynced.iter().map(|change| match change {
            Change::Create { file, .. }
            | Change::Remove { file, .. }
            | Change::Rename { file, .. } => *file,
        });
        named.chain(changed).collect()
    }
}

/// Applies `change`. Earlier changes may have been lost: a rename then creates, and a missing name
/// is not removed.
fn apply(names: &mut BTreeMap<String, FileId>, change: &Change) {
    let mut unlink = |name: &String, file: FileId| {
        if names.get(name) == Some(&file) {
            names.remove(name);
        }
    };
    match change {
        Change::Create { name, file } => {
            names.insert(name.clone(), *file);
        }
        Change::Remove { name, file } => unlink(name, *file),
        Change::Rename { from, to, file } => {
            unlink(from, *file);
            names.insert(to.clone(), *file);
        }
    }
}
