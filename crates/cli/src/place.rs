//! A directory for the time of a benchmark.

use std::path::{Path, PathBuf};

/// A directory of the benchmark's own, removed with what is in it when this is
/// dropped.
#[derive(Debug)]
pub(crate) struct Place {
    path: PathBuf,
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
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What cannot be removed stays, and is no error of the benchmark.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
