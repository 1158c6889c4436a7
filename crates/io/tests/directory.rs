//! Behaviour of every directory, whichever backend it has.

#[path = "common/backends.rs"]
mod backends;

use std::{
    io::ErrorKind,
    os::fd::{FromRawFd as _, OwnedFd},
    sync::Arc,
};

use backends::{Place, on_each};
use io::{Backend, Directory, OpenMode, RealDirectory};

#[test]
fn names_are_created_renamed_replaced_and_removed() {
    on_each(|directory| {
        assert!(directory.list().unwrap().is_empty());
        for name in ["b", "a", "c"] {
            let file = directory.open(name, OpenMode::Create, false).unwrap();
            file.write_at(name.as_bytes(), 0).unwrap();
        }
        assert_eq!(directory.list().unwrap(), ["a", "b", "c"]);
        directory.rename("a", "d").unwrap();
        directory.rename("b", "c").unwrap();
        directory.sync().unwrap();
        assert_eq!(directory.list().unwrap(), ["c", "d"]);
        let replaced = directory.open("c", OpenMode::Read, false).unwrap();
        let mut bytes = [0; 8];
        assert_eq!(replaced.read_at(&mut bytes, 0).unwrap(), 1);
        assert_eq!(bytes[0], b'b');
        directory.remove("d").unwrap();
        assert_eq!(directory.list().unwrap(), ["c"]);
    });
}

#[test]
fn misuse_of_names_is_an_error() {
    on_each(|directory| {
        let kind = |result: std::io::Result<_>| result.map(drop).unwrap_err().kind();
        for mode in [OpenMode::Read, OpenMode::Write] {
            let missing = directory.open("missing", mode, true);
            assert_eq!(kind(missing), ErrorKind::NotFound);
        }
        directory.open("file", OpenMode::Create, true).unwrap();
        let again = directory.open("file", OpenMode::Create, true);
        assert_eq!(kind(again), ErrorKind::AlreadyExists);
        let error = directory.remove("missing").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let error = directory.rename("missing", "file").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        for name in ["", ".", "..", "a/b", "/tmp"] {
            let outside = directory.open(name, OpenMode::Create, false);
            assert_eq!(kind(outside), ErrorKind::InvalidInput, "{name:?}");
        }
        assert_eq!(directory.list().unwrap(), ["file"]);
    });
}

#[test]
fn blocking_calls_on_direct_files_need_no_alignment() {
    on_each(|directory| {
        let file = directory.open("file", OpenMode::Create, true).unwrap();
        let mut model = Vec::new();
        for (offset, length) in [
            (0, 100),
            (4000, 5000),
            (50, 4096),
            (4096, 8192),
            (1, 30_000),
        ] {
            let bytes: Vec<u8> = (0..length).map(|i| (i * 7 + offset) as u8).collect();
            file.write_at(&bytes, offset as u64).unwrap();
            if model.len() < offset + length {
                model.resize(offset + length, 0);
            }
            model[offset..offset + length].copy_from_slice(&bytes);
            assert_eq!(file.length().unwrap(), model.len() as u64);
        }
        file.sync().unwrap();
        for (offset, length) in [(0, 40_000), (1, 10), (4096, 4096), (29_000, 5000)] {
            let mut bytes = vec![0; length];
            let read = file.read_at(&mut bytes, offset as u64).unwrap();
            assert_eq!(read, length.min(model.len() - offset));
            assert_eq!(bytes[..read], model[offset..offset + read]);
        }
    });
}

/// A database that was closed could not be opened again: another thread was just starting a
/// program, and between fork and exec the child has all descriptors, with them the lock. Here a
/// duplicate stands for the child's descriptor.
#[test]
fn a_lock_is_free_after_drop_though_a_child_still_has_its_descriptor() {
    let place = Place::new();
    let directory = RealDirectory::open(&place.0, Backend::Blocking).unwrap();
    let lock = directory.lock().unwrap();
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let of_lock = open.filter(|entry| {
        std::fs::read_link(entry.path()).is_ok_and(|file| file == place.0.join("LOCK"))
    });
    let numbers = of_lock.map(|entry| entry.file_name().into_string().unwrap());
    // All numbers are listed before the first copy, which the list would go on with.
    let numbers: Vec<String> = numbers.collect();
    let children: Vec<_> = numbers
        .into_iter()
        .map(|number| {
            // SAFETY: the call copies the descriptor of an open file; the copy belongs to the test
            // alone.
            unsafe { OwnedFd::from_raw_fd(libc::dup(number.parse().unwrap())) }
        })
        .collect();
    assert_eq!(children.len(), 1);
    drop(lock);
    directory.lock().unwrap();
}

#[test]
fn a_lock_is_refused_twice_and_free_after_drop() {
    on_each(|directory| {
        let lock = directory.lock().unwrap();
        let error = directory.lock().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        drop(lock);
        directory.lock().unwrap();
        assert!(directory.list().unwrap().is_empty(), "a lock is not a file");
    });
}

#[test]
fn there_is_free_space_and_a_location() {
    on_each(|directory| {
        assert!(directory.free_bytes().unwrap() > 0);
        assert!(!directory.location().is_empty());
        assert!(!directory.backend().is_empty());
    });
}

#[test]
fn opening_creates_all_that_leads_there() {
    let place = Place::new();
    let nested = place.0.join("a").join("b");
    for _ in 0..2 {
        let directory = RealDirectory::open(&nested, Backend::Blocking).unwrap();
        assert_eq!(directory.backend(), "blocking");
    }
    std::fs::write(place.0.join("file"), "").unwrap();
    RealDirectory::open(place.0.join("file").join("c"), Backend::Auto).unwrap_err();
}

#[test]
fn automatic_means_io_uring_where_it_can_be_had() {
    let place = Place::new();
    let directory: Arc<dyn Directory> =
        Arc::new(RealDirectory::open(&place.0, Backend::Auto).unwrap());
    match RealDirectory::open(&place.0, Backend::Uring) {
        Ok(_) => assert_eq!(directory.backend(), "io_uring"),
        Err(_) => assert!(directory.backend().starts_with("blocking (io_uring: ")),
    }
    directory.channel().unwrap();
}
