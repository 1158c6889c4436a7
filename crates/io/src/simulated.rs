//! A disk in memory that tears, loses, reorders, corrupts, fills up and fails, all
//! from one seed.
//!
//! A file has two contents: the *live* one, which programs see, and the *durable* one, which a
//! crash leaves; names likewise have two states. In between lie the writes and the changes of names
//! that were not synced, and the operations under way. A crash keeps any of these: writes sector by
//! sector (512 bytes; parts of more than that for writes over 64 KiB), names one by one. Afterwards
//! the live contents are the durable ones, and all earlier directories, files and channels are
//! dead: their calls fail.
//!
//! ```
//! use io::{Faults, OpenMode, SimulatedDisk};
//!
//! let disk = SimulatedDisk::new(1, Faults::default());
//! let directory = disk.directory();
//! let file = directory.open("file", OpenMode::Create, false)?;
//! file.write_at(b"kept", 0)?;
//! file.sync()?;
//! directory.sync()?;
//! file.write_at(b"lost, torn or kept", 4)?;
//! disk.crash();
//!
//! assert!(file.length().is_err());
//! let file = disk.directory().open("file", OpenMode::Read, false)?;
//! let mut bytes = [0; 4];
//! file.read_at(&mut bytes, 0)?;
//! assert_eq!(&bytes, b"kept");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Equal seeds and equal calls give equal outcomes. This holds on one thread; with more threads,
//! the schedule is part of the calls.
//!
//! # Limits of the simulation
//! - Direct transfers and the page cache differ only in that the former must be
//!   aligned.
//! - A rename is all or nothing.
//! - Only contents take space; names and metadata take none.
//!
//! | part | file |
//! | --- | --- |
//! | sparse bytes | `image.rs` |
//! | a file's two images and what lies between | `content.rs` |
//! | names | `names.rs` |
//! | the plug, the crash | `state.rs` |
//! | calls and their faults | `calls.rs`, `faults.rs` |
//! | operations and their order | `channel.rs` |

mod calls;
mod channel;
mod content;
mod directory;
mod faults;
mod image;
mod names;
mod state;

#[cfg(test)]
mod tests;

use std::{
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

pub use self::faults::{Counts, Faults, Planted};
use self::{
    directory::SimulatedDirectory,
    state::{State, Storage},
};
use crate::directory::Directory;

/// A disk in memory. Clones are the same disk.
#[derive(Clone, Debug)]
pub struct SimulatedDisk(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    seed: u64,
    state: Mutex<State>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SimulatedDisk {
    /// Returns an empty disk with one directory.
    pub fn new(seed: u64, faults: Faults) -> SimulatedDisk {
        Self::with(seed, State::new(seed, faults, Storage::default(), 0))
    }

    fn with(seed: u64, state: State) -> SimulatedDisk {
        SimulatedDisk(Arc::new(Shared {
            seed,
            state: Mutex::new(state),
        }))
    }

    /// Returns the directory, until the next crash.
    pub fn directory(&self) -> Arc<dyn Directory> {
        Arc::new(SimulatedDirectory {
            shared: self.0.clone(),
            generation: self.0.lock().generation,
        })
    }

    /// Lets the power fail and come back: unsynced changes are kept or lost, all handles are dead,
    /// the lock is free, and [`SimulatedDisk::crash_after`] is over.
    pub fn crash(&self) {
        self.0.lock().crash();
    }

    /// Returns the disk as it would be found if the power failed now, with this disk's faults and
    /// planted bug. This disk goes on undisturbed, so that many crashes of one moment can be looked
    /// at.
    pub fn after_crash(&self, seed: u64) -> SimulatedDisk {
        Self::with(seed, self.0.lock().after_crash(seed))
    }

    /// Lets `changes` more changes (see [`Counts::changes`]) be made. The next one
    /// fails halfway, and every call after it fails too, until
    /// [`SimulatedDisk::crash`]. Trying every number up to the changes of a run
    /// without a crash tries every point at which the power can fail.
    pub fn crash_after(&self, changes: u64) {
        self.0.lock().changes_left = Some(changes);
    }

    /// Lets the power fail now, without coming back before [`SimulatedDisk::crash`]: until then
    /// every call fails.
    pub fn unplug(&self) {
        self.0.lock().unplug();
    }

    /// Returns whether the power has failed.
    pub fn is_unplugged(&self) -> bool {
        self.0.lock().unplugged
    }

    /// Sets the faults from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.0.lock().faults = faults;
    }

    /// Plants a bug, or removes it.
    pub fn plant(&self, bug: Option<Planted>) {
        self.0.lock().planted = bug;
    }

    /// Returns the operations so far.
    pub fn counts(&self) -> Counts {
        self.0.lock().counts
    }

    /// Flips `bits` random bits in a range of a file, on the disk. Returns false, and flips
    /// nothing, if there is no such file or it does not reach into the range.
    pub fn rot(&self, name: &str, range: Range<u64>, bits: u32) -> bool {
        let mut state = self.0.lock();
        let State { storage, dice, .. } = &mut *state;
        let Some(file) = storage.names.get(name) else {
            return false;
        };
        let Some(content) = storage.files.get_mut(&file) else {
            return false;
        };
        let end = range.end.min(content.length());
        if range.start >= end {
            return false;
        }
        for _ in 0..bits {
            let offset = range.start + dice.below(end - range.start);
            content.rot(offset, dice.below(8) as u32);
        }
        true
    }

    /// Flips one random bit of all bits on the disk. Returns the file and the byte; `None` if the
    /// disk has no bits.
    pub fn rot_anywhere(&self) -> Option<(String, u64)> {
        let mut state = self.0.lock();
        let State { storage, dice, .. } = &mut *state;
        let length = |file| storage.files[&file].length();
        let total = storage.names.iter().map(|(_, file)| length(file)).sum();
        let mut ticket = dice.below(total);
        let (name, file) = storage.names.iter().find(|&(_, file)| {
            let here = ticket < length(file);
            if !here {
                ticket -= length(file);
            }
            here
        })?;
        let content = storage.files.get_mut(&file)?;
        content.rot(ticket, dice.below(8) as u32);
        Some((name.clone(), ticket))
    }
}
