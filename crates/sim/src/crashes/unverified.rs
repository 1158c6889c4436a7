//! A directory whose log blocks always have the right checksum, for a recovery that
//! does not verify any: each block read is sealed anew.

use std::{io, sync::Arc};

use ::io::{BLOCK_BYTES, Channel, Directory, DirectoryLock, File, OpenMode};

/// The directory: see the module text.
#[derive(Debug)]
pub(super) struct Unverified(pub(super) Arc<dyn Directory>);

impl Directory for Unverified {
    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }

    fn open(&self, name: &str, mode: OpenMode, direct: bool) -> io::Result<Arc<dyn File>> {
        let file = self.0.open(name, mode, direct)?;
        if mode == OpenMode::Read && name.starts_with("log-") {
            return Ok(Arc::new(Sealed(file)));
        }
        Ok(file)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn as_file(&self) -> io::Result<Arc<dyn File>> {
        self.0.as_file()
    }

    fn lock(&self) -> io::Result<DirectoryLock> {
        self.0.lock()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.0.free_bytes()
    }

    fn channel(&self) -> io::Result<Box<dyn Channel>> {
        self.0.channel()
    }

    fn location(&self) -> String {
        self.0.location()
    }

    fn backend(&self) -> String {
        self.0.backend()
    }
}

/// A log file that is read from its start in whole blocks.
#[derive(Debug)]
struct Sealed(Arc<dyn File>);

impl File for Sealed {
    fn length(&self) -> io::Result<u64> {
        self.0.length()
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.0.read_at(bytes, offset)?;
        for start in (0..read).step_by(BLOCK_BYTES) {
            seal(&mut bytes[start..read]);
        }
        Ok(read)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn handle(&self) -> u64 {
        self.0.handle()
    }
}

/// Corrects the checksum of the block at the start of `bytes`, if there is one.
fn seal(bytes: &mut [u8]) {
    let Some(block) = super::rot::Block::at(bytes) else {
        return;
    };
    let checksum = block.checksum(bytes);
    bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
}
