//! Names: those that programs see, and the changes that the real directory lacks.

use std::{
    collections::{BTreeMap, VecDeque},
    fs, io,
    path::PathBuf,
    sync::Arc,
};

use super::{Content, UNSYNCED};
use crate::{
    directory::{Directory, OpenMode},
    real::RealDirectory,
};

#[derive(Debug)]
pub(super) struct Names {
    path: PathBuf,
    /// Directory of new files until their names are written back.
    unsynced: RealDirectory,
    next_number: u64,
    live: BTreeMap<String, Arc<Content>>,
    /// Changes that the real directory lacks, oldest first.
    held: VecDeque<Change>,
}

#[derive(Debug)]
enum Change {
    Create { number: u64, name: String },
    Rename { from: String, to: String },
    Remove { name: String },
}

fn missing(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("there is no file {name}"))
}

impl Names {
    /// Returns the names of `real`, which is at `path`.
    pub(super) fn new(
        path: PathBuf,
        real: &RealDirectory,
        unsynced: RealDirectory,
    ) -> io::Result<Names> {
        let mut live = BTreeMap::new();
        for name in real.list()? {
            let content = Content::open(real, &name, OpenMode::Write)?;
            live.insert(name, Arc::new(content));
        }
        Ok(Names {
            path,
            unsynced,
            next_number: 0,
            live,
            held: VecDeque::new(),
        })
    }

    pub(super) fn list(&self) -> Vec<String> {
        self.live.keys().cloned().collect()
    }

    pub(super) fn get(&self, name: &str) -> io::Result<Arc<Content>> {
        self.live.get(name).cloned().ok_or_else(|| missing(name))
    }

    pub(super) fn create(&mut self, name: &str) -> io::Result<Arc<Content>> {
        if self.live.contains_key(name) {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                format!("there is a file {name} already"),
            ));
        }
        let number = self.next_number;
        let content = Content::open(&self.unsynced, &number.to_string(), OpenMode::Create)?;
        let content = Arc::new(content);
        self.next_number += 1;
        self.live.insert(name.to_owned(), content.clone());
        let name = name.to_owned();
        self.held.push_back(Change::Create { number, name });
        Ok(content)
    }

    pub(super) fn remove(&mut self, name: &str) -> io::Result<()> {
        self.live.remove(name).ok_or_else(|| missing(name))?;
        let name = name.to_owned();
        self.held.push_back(Change::Remove { name });
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let content = self.live.remove(from).ok_or_else(|| missing(from))?;
        self.live.insert(to.to_owned(), content);
        let (from, to) = (from.to_owned(), to.to_owned());
        self.held.push_back(Change::Rename { from, to });
        Ok(())
    }

    /// Makes all changes in the real directory.
    pub(super) fn write_back(&mut self, real: &RealDirectory) -> io::Result<()> {
        while let Some(change) = self.held.front() {
            match change {
                Change::Create { number, name } => {
                    let hidden = self.path.join(UNSYNCED).join(number.to_string());
                    fs::rename(hidden, self.path.join(name))?;
                }
                Change::Rename { from, to } => real.rename(from, to)?,
                Change::Remove { name } => real.remove(name)?,
            }
            self.held.pop_front();
        }
        Ok(())
    }
}
