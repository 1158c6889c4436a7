use std::{
    env,
    path::PathBuf,
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use super::*;
use crate::{Action, BLOCK_BYTES, Buffer, Port};

const BLOCK: u64 = BLOCK_BYTES as u64;
const HONEST: Laziness = Laziness {
    seed: 1,
    early_per_mille: 0,
    planted: None,
};

/// A path of its own, removed at the end.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        Place(env::temp_dir().join(format!("weft-lazy-{}-{next}", process::id())))
    }

    fn open(&self, laziness: Laziness) -> Arc<dyn Directory> {
        Arc::new(LazyDirectory::open(&self.0, Backend::Auto, laziness).unwrap())
    }

    /// Returns names and contents of the real files: all that a kill would leave.
    fn real(&self) -> Vec<(String, Vec<u8>)> {
        let directory = RealDirectory::open(&self.0, Backend::Blocking).unwrap();
        let read = |name: String| {
            let file = directory.open(&name, OpenMode::Read, false).unwrap();
            let mut bytes = vec![0; file.length().unwrap() as usize];
            assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
            (name, bytes)
        };
        directory.list().unwrap().into_iter().map(read).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn block_of(byte: u8) -> Buffer {
    let mut buffer = Buffer::zeroed(BLOCK_BYTES);
    buffer.fill(byte);
    buffer
}

fn named(name: &str, bytes: &[u8]) -> (String, Vec<u8>) {
    (name.to_owned(), bytes.to_vec())
}

#[test]
fn bytes_wait_for_the_files_sync_and_names_for_the_directorys() {
    let place = Place::new();
    let directory = place.open(HONEST);
    let file = directory.open("file", OpenMode::Create, false).unwrap();
    file.write_at(b"kept", 0).unwrap();
    file.sync().unwrap();
    assert!(place.real().is_empty());
    directory.sync().unwrap();
    assert_eq!(place.real(), [named("file", b"kept")]);

    file.write_at(b"lost", 2).unwrap();
    file.reserve(10).unwrap();
    let mut bytes = [1; 20];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), 10);
    assert_eq!(&bytes[..10], b"kelost\0\0\0\0");
    directory.rename("file", "other").unwrap();
    directory.open("new", OpenMode::Create, false).unwrap();
    assert_eq!(directory.list().unwrap(), ["new", "other"]);
    assert_eq!(place.real(), [named("file", b"kept")]);
    directory.sync().unwrap();
    assert_eq!(place.real(), [named("new", b""), named("other", b"kept")]);

    directory.remove("other").unwrap();
    file.sync().unwrap();
    assert_eq!(
        place.real(),
        [named("new", b""), named("other", b"kelost\0\0\0\0")]
    );
    drop((file, directory));
    assert_eq!(place.open(HONEST).list().unwrap(), ["new", "other"]);
}

#[test]
fn a_durable_write_makes_itself_durable_and_nothing_else() {
    let place = Place::new();
    let directory = place.open(HONEST);
    let file = directory.open("file", OpenMode::Create, true).unwrap();
    directory.sync().unwrap();
    let port = Port::new(directory.channel().unwrap());
    for block in 0..4 {
        let write = port.begin(Action::Write, &file, block * BLOCK, block_of(1));
        assert_eq!(write.block().1.unwrap(), BLOCK_BYTES);
    }
    let durable = port.begin(Action::WriteDurable, &file, BLOCK, block_of(2));
    assert_eq!(place.real(), [named("file", b"")]);
    assert_eq!(durable.block().1.unwrap(), BLOCK_BYTES);
    let [zeros, ones, twos] = [0, 1, 2].map(|byte| [byte; BLOCK_BYTES]);
    assert_eq!(place.real(), [named("file", &[zeros, twos].concat())]);
    let (buffer, read) = port
        .begin(Action::Read, &file, 0, Buffer::zeroed(5 * BLOCK_BYTES))
        .block();
    assert_eq!(read.unwrap(), 4 * BLOCK_BYTES);
    let seen = [ones, twos, ones, ones].concat();
    assert_eq!(buffer[..4 * BLOCK_BYTES], seen);
    let sync = port.begin(Action::Sync, &file, 0, Buffer::with_capacity(0));
    sync.block().1.unwrap();
    assert_eq!(place.real(), [named("file", &seen)]);
}

#[test]
fn an_operation_under_way_is_lost() {
    let place = Place::new();
    let directory = place.open(HONEST);
    let file = directory.open("file", OpenMode::Create, true).unwrap();
    let names = directory.as_file().unwrap();
    let port = Port::new(directory.channel().unwrap());
    let write = port.begin(Action::WriteDurable, &file, 0, block_of(1));
    let sync = port.begin(Action::Sync, &names, 0, Buffer::with_capacity(0));
    assert!(place.real().is_empty());
    write.block().1.unwrap();
    sync.block().1.unwrap();
    assert_eq!(place.real(), [named("file", &[1; BLOCK_BYTES])]);
}

#[test]
fn some_things_are_written_early() {
    let place = Place::new();
    let directory = place.open(Laziness {
        early_per_mille: 500,
        ..HONEST
    });
    let names: Vec<String> = (0..40).map(|number| format!("{number:02}")).collect();
    for name in &names {
        let file = directory.open(name, OpenMode::Create, false).unwrap();
        file.write_at(b"some", 0).unwrap();
    }
    let real = place.real();
    assert!(real.iter().map(|(name, _)| name).eq(&names[..real.len()]));
    let written = real.iter().filter(|(_, bytes)| bytes == b"some").count();
    assert!(real.len() > 20 && written > 5 && written < real.len() - 5);
}

#[test]
fn planted_bugs_keep_things_held() {
    for (planted, left) in [
        (Planted::SkipSync, vec![named("file", b"")]),
        (Planted::SkipDurableWrite, vec![named("file", b"")]),
        (Planted::LoseDirectorySync, vec![]),
    ] {
        let place = Place::new();
        let directory = place.open(Laziness {
            planted: Some(planted),
            ..HONEST
        });
        let file = directory.open("file", OpenMode::Create, true).unwrap();
        let port = Port::new(directory.channel().unwrap());
        let write = port.begin(Action::WriteDurable, &file, 0, block_of(1));
        assert_eq!(write.block().1.unwrap(), BLOCK_BYTES);
        let names = directory.as_file().unwrap();
        let sync = |file| port.begin(Action::Sync, file, 0, Buffer::with_capacity(0));
        sync(&names).block().1.unwrap();
        names.sync().unwrap();
        directory.sync().unwrap();
        assert_eq!(place.real(), left);
        sync(&file).block().1.unwrap();
        file.sync().unwrap();
        if planted == Planted::SkipSync {
            assert_eq!(place.real(), left);
        }
    }
}
