use ::io::{Faults, SimulatedDisk};

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

fn entry(number: u32) -> ColdFileEntry {
    ColdFileEntry {
        number,
        bytes: 4096,
    }
}

/// Blocks go to new files, in the order of their numbers, and from the last number to the
/// first.
#[test]
fn after_the_last_number_comes_the_first_that_is_free() {
    let directory = SimulatedDisk::new(1, Faults::default()).directory();
    let named = [0, 2, NUMBERS - 2];
    for number in named {
        let file = directory.open(&file_name(number), OpenMode::Create, true);
        file.unwrap().write_at(&[0; 4096], 0).unwrap();
    }
    let files = ColdFiles::open(&directory, 7, &named.map(entry), 8192).unwrap();
    let numbers = (0..8).map(|_| locate(files.take(4096).unwrap().position));
    let numbers: Vec<_> = numbers.collect();
    let expected = [NUMBERS - 1, 1, 3, 4];
    let expected = expected.iter().flat_map(|n| [(*n, 0), (*n, 4096)]);
    assert!(numbers.iter().copied().eq(expected), "{numbers:?}");
    // A block that is larger than a file gets a file of its own.
    assert_eq!(locate(files.take(40_960).unwrap().position), (5, 0));
    assert_eq!(locate(files.take(4096).unwrap().position), (6, 0));
}

#[test]
fn an_emptied_file_goes_when_no_reader_can_be_about_to_read_it() {
    let directory = SimulatedDisk::new(1, Faults::default()).directory();
    let files = ColdFiles::open(&directory, 7, &[], 4096).unwrap();
    for _ in 0..3 {
        files.take(4096).unwrap();
    }
    let count = || directory.list().unwrap().len();
    let remove =
        |named: &[ColdFileEntry], horizon| files.remove_emptied(named, Timestamp(horizon)).unwrap();
    files.file(0).unwrap().close();
    assert_eq!((remove(&[], 100), count()), (0, 3));
    files.file(0).unwrap().note_emptied(Timestamp(50));
    assert_eq!((remove(&[], 50), count()), (0, 3));
    assert_eq!((remove(&[entry(0)], 51), count()), (0, 3));
    assert_eq!((remove(&[entry(1)], 51), count()), (1, 2));
    assert!(files.file(0).is_none());
    // The number of a removed file is not used again as long as a version may remember it.
    files.tail().last = None;
    assert_eq!(locate(files.take(4096).unwrap().position).0, 3);
}
