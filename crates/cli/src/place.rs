//! A directory for the time of a benchmark.

use std::path::{Path, PathBuf};

/// A directory of the benchmark's own, removed with what is in it when this is
/// dropped, unless it is kept.
#[derive(Debug)]
pub(crate) struct Place {
    path: PathBuf,
    is_kept: bool,
}

impl Place {
    /// Makes `path`, which must not exist or be empty: nobody's files are lost.
    pub(crate) fn make(path: &Path) -> bench::Result<Place> {
        let refused = |error: std::io::Error| {
            bench::Error::input(format!(
                "cannot make the directory {}: {error}; choose another --data-dir",
                path.display()
            ))
        };
        std::fs::create_dir_all(path).map_err(refused)?;
        if std::fs::read_dir(path).map_err(refused)?.next().is_some() {
            return Err(bench::Error::input(format!(
                "{} has files in it, and a benchmark begins with an empty directory; choose \
                 another --data-dir",
                path.display()
            )));
        }
        Ok(Place {
            path: path.to_owned(),
            is_kept: false,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves it as it is, to be looked at.
    pub(crate) fn keep(mut self) -> PathBuf {
        self.is_kept = true;
        self.path.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_kept {
            // What cannot be removed stays, and is no error of the benchmark.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
