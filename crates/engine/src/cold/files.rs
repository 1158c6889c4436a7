//! The cold files: their names, and room for blocks.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, RwLock},
};

use ::io::{Directory, File, OpenMode};

use crate::manifest::ColdFileEntry;

/// Bytes of a file.
const FILE_BYTES: u64 = 64 << 20;

/// The name of a cold file.
pub(crate) fn file_name(number: u32) -> String {
    format!("cold-{number:08}")
}

/// The number in the name of a cold file.
pub(crate) fn file_number(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("cold-")?;
    let all_digits = digits.len() >= 8 && digits.bytes().all(|b| b.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
}

/// Which file has a position, and where.
pub(crate) fn locate(position: u64) -> (u32, u64) {
    ((position / FILE_BYTES) as u32, position % FILE_BYTES)
}

/// Removes what an earlier process left but for these files: what else was cold, log and
/// checkpoint have.
pub(crate) fn remove_others(
    directory: &Arc<dyn Directory>,
    files: &[ColdFileEntry],
) -> io::Result<()> {
    let is_kept = |number| files.iter().any(|file| file.number == number);
    let names = directory.list()?.into_iter();
    let mut others = names.filter(|name| file_number(name).is_some_and(|n| !is_kept(n)));
    others.try_for_each(|name| directory.remove(&name))
}

/// All cold files of a database.
pub(super) struct ColdFiles {
    directory: Arc<dyn Directory>,
    pub(super) database: u64,
    open: RwLock<HashMap<u32, Arc<dyn File>>>,
    /// Where the first block went, or goes, since the database was opened.
    pub(super) first: u64,
    /// Where the next block goes.
    end: Mutex<u64>,
}

/// Room for a block.
pub(super) struct Room {
    /// From the start of all files.
    pub(super) position: u64,
    pub(super) file: Arc<dyn File>,
    /// In the file.
    pub(super) offset: u64,
}

impl ColdFiles {
    /// Opens these files; the next block goes behind them. What is missing is left out.
    pub(super) fn open(
        directory: &Arc<dyn Directory>,
        database: u64,
        files: &[ColdFileEntry],
    ) -> io::Result<ColdFiles> {
        let mut open = HashMap::new();
        for file in files {
            match directory.open(&file_name(file.number), OpenMode::Write, true) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                opened => drop(open.insert(file.number, opened?)),
            }
        }
        let numbers = files.iter().map(|file| u64::from(file.number));
        let end = numbers.max().map_or(0, |last| (last + 1) * FILE_BYTES);
        Ok(ColdFiles {
            directory: directory.clone(),
            database,
            open: RwLock::new(open),
            first: end,
            end: Mutex::new(end),
        })
    }

    /// Where the room in a file ends that was taken so far.
    pub(super) fn end_of(&self, number: u32) -> u64 {
        let end = *self.end.lock().unwrap_or_else(|e| e.into_inner());
        let start = u64::from(number) * FILE_BYTES;
        end.saturating_sub(start).min(FILE_BYTES)
    }

    /// An open file.
    pub(super) fn file(&self, number: u32) -> Option<Arc<dyn File>> {
        let open = self.open.read().unwrap_or_else(|e| e.into_inner());
        open.get(&number).cloned()
    }

    /// Takes room for a block of so many bytes. Blocks do not go beyond the end of a file.
    ///
    /// # Errors
    /// What the directory says to a new file: `StorageFull`, for one.
    pub(super) fn take(&self, bytes: usize) -> io::Result<Room> {
        let bytes = bytes as u64;
        debug_assert!(bytes <= FILE_BYTES);
        let mut end = self.end.lock().unwrap_or_else(|e| e.into_inner());
        let (_, offset) = locate(*end);
        let position = match offset + bytes > FILE_BYTES {
            true => end.next_multiple_of(FILE_BYTES),
            false => *end,
        };
        let (number, offset) = locate(position);
        let file = match self.file(number) {
            Some(file) => file,
            None => self.create(number)?,
        };
        *end = position + bytes;
        Ok(Room {
            position,
            file,
            offset,
        })
    }

    fn create(&self, number: u32) -> io::Result<Arc<dyn File>> {
        let name = file_name(number);
        let file = self.directory.open(&name, OpenMode::Create, true)?;
        if let Err(error) = file.reserve(FILE_BYTES) {
            // Nobody has written to it.
            let _ = self.directory.remove(&name);
            return Err(error);
        }
        let mut open = self.open.write().unwrap_or_else(|e| e.into_inner());
        open.insert(number, file.clone());
        Ok(file)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_match() {
        for number in [0, 7, 99_999_999, u32::MAX] {
            assert_eq!(file_number(&file_name(number)), Some(number));
        }
        for name in [
            "cold-1",
            "cold-",
            "cold-0000000x",
            "cold-99999999999",
            "log-00000001",
        ] {
            assert_eq!(file_number(name), None, "{name}");
        }
    }
}
