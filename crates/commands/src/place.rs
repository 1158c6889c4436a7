//! A directory that exists for the time of a run.

use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// A directory of a run's own, removed with its contents when this is dropped, unless it is kept.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    is_kept: bool,
}

impl Place {
    /// Makes the directory `path`, which must be missing or empty: no existing file is ever
    /// removed.
    ///
    /// # Errors
    /// [`Error::Input`] if the directory contains files, or cannot be made.
    pub fn make(path: &Path) -> Result<Self> {
        let refused = |error: std::io::Error| {
            Error::input(format!(
                "cannot make the directory {}: {error}; choose another --data-dir",
                path.display()
            ))
        };
        std::fs::create_dir_all(path).map_err(refused)?;
        if std::fs::read_dir(path).map_err(refused)?.next().is_some() {
            return Err(Error::input(format!(
                "{} has files in it, and the run begins with an empty directory; choose \
                 another --data-dir",
                path.display()
            )));
        }
        Ok(Self {
            path: path.to_owned(),
            is_kept: false,
        })
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the directory in place, to be looked at, and returns its path.
    pub fn keep(mut self) -> PathBuf {
        self.is_kept = true;
        self.path.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_kept {
            // A file that cannot be removed stays; the run itself has succeeded.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
