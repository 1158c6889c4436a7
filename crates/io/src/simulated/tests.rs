mod faults;

use std::{collections::BTreeSet, io::ErrorKind, sync::Arc};

use super::*;
use crate::{Action, BLOCK_BYTES, Buffer, Channel, Completion, File, OpenMode, Operation, Port};

const BLOCK: u64 = BLOCK_BYTES as u64;

fn block_of(byte: u8) -> Buffer {
    let mut buffer = Buffer::zeroed(BLOCK_BYTES);
    buffer.fill(byte);
    buffer
}

fn healthy(seed: u64) -> SimulatedDisk {
    SimulatedDisk::new(seed, Faults::default())
}

/// Makes a direct file with a synced name and `blocks` synced blocks of `byte`.
fn synced(disk: &SimulatedDisk, blocks: usize, byte: u8) -> Arc<dyn File> {
    let directory = disk.directory();
    let file = directory.open("file", OpenMode::Create, true).unwrap();
    file.write_at(&vec![byte; blocks * BLOCK_BYTES], 0).unwrap();
    file.sync().unwrap();
    directory.sync().unwrap();
    file
}

fn contents(disk: &SimulatedDisk) -> Vec<u8> {
    let file = disk.directory().open("file", OpenMode::Read, true).unwrap();
    let mut bytes = vec![0; file.length().unwrap() as usize];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
    bytes
}

fn submit(
    channel: &mut dyn Channel,
    file: &Arc<dyn File>,
    action: Action,
    block: u64,
    buffer: Buffer,
) {
    channel.submit(Operation {
        token: block,
        action,
        file: file.clone(),
        offset: block * BLOCK,
        buffer,
    });
}

fn complete(channel: &mut dyn Channel) -> Vec<Completion> {
    let mut completions = Vec::new();
    while channel.outstanding() > 0 {
        channel.wait(None);
        channel.reap(&mut completions);
    }
    completions
}

/// Fate of a write of 1 over 0: none, all or some sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Lost,
    Torn,
    Kept,
}

const FATES: [Fate; 3] = [Fate::Lost, Fate::Torn, Fate::Kept];

fn fate(bytes: &[u8]) -> Fate {
    for sector in bytes.chunks(512) {
        assert!(
            sector.iter().all(|&byte| byte == sector[0]),
            "a torn sector"
        );
    }
    match bytes.iter().map(|&byte| usize::from(byte)).sum() {
        0 => Fate::Lost,
        sum if sum == bytes.len() => Fate::Kept,
        _ => Fate::Torn,
    }
}

/// Returns the outcomes of `run` over many seeds.
fn outcomes<T: Ord>(run: impl Fn(u64) -> T) -> BTreeSet<T> {
    (0..200).map(run).collect()
}

#[test]
fn durable_writes_survive_every_crash_and_unsynced_ones_any_way() {
    let seen = outcomes(|seed| {
        let disk = healthy(seed);
        let file = synced(&disk, 4, 0);
        let mut channel = disk.directory().channel().unwrap();
        submit(&mut *channel, &file, Action::WriteDurable, 1, block_of(1));
        submit(&mut *channel, &file, Action::Write, 2, block_of(1));
        for completion in complete(&mut *channel) {
            assert_eq!(completion.result.unwrap(), BLOCK_BYTES);
        }
        disk.crash();
        let bytes = contents(&disk);
        assert_eq!(bytes.len(), 4 * BLOCK_BYTES);
        let fates: Vec<Fate> = bytes.chunks(BLOCK_BYTES).map(fate).collect();
        assert_eq!(
            [fates[0], fates[1], fates[3]],
            [Fate::Lost, Fate::Kept, Fate::Lost]
        );
        fates[2]
    });
    assert!(seen.iter().eq(&FATES));
}

#[test]
fn writes_under_way_are_kept_lost_or_torn() {
    for action in [Action::Write, Action::WriteDurable] {
        let seen = outcomes(|seed| {
            let disk = healthy(seed);
            let file = synced(&disk, 1, 0);
            let mut channel = disk.directory().channel().unwrap();
            submit(&mut *channel, &file, action, 0, block_of(1));
            if seed % 2 == 0 {
                disk.crash();
            } else {
                // With the plug pulled: an operation under way must not be lost when it is
                // reported.
                disk.unplug();
                complete(&mut *channel).pop().unwrap().result.unwrap_err();
                disk.crash();
            }
            for completion in complete(&mut *channel) {
                completion.result.unwrap_err();
            }
            fate(&contents(&disk))
        });
        assert!(seen.iter().eq(&FATES));
    }
}

#[test]
fn a_file_that_grew_without_a_sync_has_any_length() {
    let seen = outcomes(|seed| {
        let disk = healthy(seed);
        let file = synced(&disk, 1, 1);
        file.write_at(&[1; 2 * BLOCK_BYTES], BLOCK).unwrap();
        disk.crash();
        let bytes = contents(&disk);
        assert!(bytes[..BLOCK_BYTES].iter().all(|&byte| byte == 1));
        bytes.len()
    });
    assert!(seen.contains(&BLOCK_BYTES) && seen.contains(&(3 * BLOCK_BYTES)));
    assert!(seen.len() > 3, "{seen:?}");
}

#[test]
fn a_durable_write_is_not_undone_by_an_older_one() {
    for seed in 0..200 {
        let disk = healthy(seed);
        let file = synced(&disk, 3, 0);
        file.write_at(&[1; 3 * BLOCK_BYTES], 0).unwrap();
        let mut channel = disk.directory().channel().unwrap();
        submit(&mut *channel, &file, Action::WriteDurable, 1, block_of(2));
        complete(&mut *channel).pop().unwrap().result.unwrap();
        disk.crash();
        let bytes = contents(&disk);
        assert!(
            bytes[BLOCK_BYTES..2 * BLOCK_BYTES]
                .iter()
                .all(|&byte| byte == 2)
        );
        fate(&bytes[..BLOCK_BYTES]);
        fate(&bytes[2 * BLOCK_BYTES..]);
    }
}

#[test]
fn names_survive_one_by_one_until_the_directory_is_synced() {
    let seen = outcomes(|seed| {
        let disk = healthy(seed);
        let directory = disk.directory();
        for name in ["removed", "old"] {
            directory.open(name, OpenMode::Create, false).unwrap();
        }
        directory.sync().unwrap();
        directory.open("created", OpenMode::Create, false).unwrap();
        directory.rename("old", "new").unwrap();
        directory.remove("removed").unwrap();
        if seed % 4 == 0 {
            directory.sync().unwrap();
            disk.crash();
            assert_eq!(disk.directory().list().unwrap(), ["created", "new"]);
        } else {
            disk.crash();
        }
        let names = disk.directory().list().unwrap();
        assert_eq!(
            names
                .iter()
                .filter(|name| *name == "old" || *name == "new")
                .count(),
            1
        );
        names.join(" ")
    });
    assert_eq!(seen.len(), 8, "{seen:?}");
}

#[test]
fn contents_go_with_the_file_not_with_the_name() {
    for seed in 0..50 {
        let disk = healthy(seed);
        let directory = disk.directory();
        for (name, byte) in [("file", 1), ("next", 2)] {
            let file = directory.open(name, OpenMode::Create, false).unwrap();
            file.write_at(&[byte; 600], 0).unwrap();
            file.sync().unwrap();
        }
        directory.sync().unwrap();
        directory.rename("next", "file").unwrap();
        disk.crash();
        let replaced = disk.directory().list().unwrap() == ["file"];
        assert_eq!(contents(&disk), [1 + u8::from(replaced); 600]);
    }
}

#[test]
fn everything_of_before_the_crash_is_dead() {
    let disk = healthy(1);
    let directory = disk.directory();
    let file = synced(&disk, 1, 1);
    let mut channel = directory.channel().unwrap();
    let lock = directory.lock().unwrap();
    disk.crash();
    directory.list().unwrap_err();
    directory.open("file", OpenMode::Read, false).unwrap_err();
    directory.sync().unwrap_err();
    file.length().unwrap_err();
    file.read_at(&mut [0; 8], 0).unwrap_err();
    file.write_at(&[0; 8], 0).unwrap_err();
    file.sync().unwrap_err();
    let reopened = disk
        .directory()
        .open("file", OpenMode::Write, true)
        .unwrap();
    for file in [&file, &reopened] {
        submit(&mut *channel, file, Action::WriteDurable, 0, block_of(2));
    }
    for completion in complete(&mut *channel) {
        completion.result.unwrap_err();
    }
    let new_lock = disk.directory().lock().unwrap();
    drop(lock);
    disk.directory().lock().unwrap_err();
    drop(new_lock);
    assert_eq!(contents(&disk), [1; BLOCK_BYTES]);
}

#[test]
fn one_moment_has_many_crashes() {
    let disk = healthy(1);
    let file = synced(&disk, 1, 0);
    let mut channel = disk.directory().channel().unwrap();
    submit(&mut *channel, &file, Action::Write, 0, block_of(1));
    let seen = outcomes(|seed| fate(&contents(&disk.after_crash(seed))));
    assert!(seen.iter().eq(&FATES));
    complete(&mut *channel).pop().unwrap().result.unwrap();
    assert_eq!(contents(&disk), [1; BLOCK_BYTES]);
}

#[test]
fn the_plug_can_be_pulled_at_every_change() {
    // Replaces a file the careful way; no other state may ever be seen.
    let replace = |disk: &SimulatedDisk| {
        let directory = disk.directory();
        let next = directory.open("next", OpenMode::Create, true)?;
        let port = Port::new(directory.channel()?);
        let ends: Vec<_> = (0..4)
            .map(|block| port.begin(Action::WriteDurable, &next, block * BLOCK, block_of(2)))
            .collect();
        for end in ends {
            end.block().1?;
        }
        directory.sync()?;
        directory.rename("next", "file")?;
        directory.sync()
    };
    let whole = healthy(0);
    synced(&whole, 4, 1);
    let before = whole.counts().changes();
    replace(&whole).unwrap();
    let changes = whole.counts().changes() - before;
    assert_eq!(changes, 8);
    let mut replaced = BTreeSet::new();
    for point in 0..=changes {
        for seed in 0..50 {
            let disk = healthy(seed);
            synced(&disk, 4, 1);
            disk.crash_after(point);
            assert_eq!(replace(&disk).is_ok(), point == changes);
            assert_eq!(disk.is_unplugged(), point < changes);
            disk.crash();
            let bytes = contents(&disk);
            assert!(bytes == [1; 4 * BLOCK_BYTES] || bytes == [2; 4 * BLOCK_BYTES]);
            replaced.insert((point, bytes[0] == 2));
            if point == changes {
                assert_eq!(bytes[0], 2);
            }
        }
    }
    // A rename that was not synced goes both ways.
    assert!(replaced.contains(&(changes - 1, true)) && replaced.contains(&(changes - 1, false)));
}

#[test]
fn equal_seeds_give_equal_disks() {
    let run = |seed| {
        let faults = Faults {
            delay_reaps_max: 5,
            short_per_mille: 100,
            write_error_per_mille: 100,
            sync_error_per_mille: 100,
            ..Faults::default()
        };
        let disk = healthy(seed);
        let file = synced(&disk, 8, 0);
        disk.set_faults(faults);
        let mut channel = disk.directory().channel().unwrap();
        let mut story = Vec::new();
        for turn in 0..100 {
            submit(
                &mut *channel,
                &file,
                Action::Write,
                turn % 8,
                block_of(turn as u8),
            );
            let mut completions = Vec::new();
            channel.reap(&mut completions);
            story.extend(
                completions
                    .iter()
                    .map(|end| (end.token, end.result.as_ref().ok().copied())),
            );
            if turn % 16 == 0 {
                story.push((99, file.sync().ok().map(|()| 0)));
            }
        }
        disk.crash();
        (story, contents(&disk))
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn images_are_the_bytes_they_should_be() {
    use super::image::{Data, Image, OwnedData};
    use crate::dice::Dice;
    for seed in 0..50 {
        let mut dice = Dice::new(seed);
        let mut image = Image::default();
        let mut model: Vec<u8> = Vec::new();
        for turn in 0..60_u8 {
            let offset = dice.below(30_000) as usize;
            let length = dice.between(1, 20_000) as usize;
            let (offset, length) = if dice.chance(500) {
                (
                    offset / BLOCK_BYTES * BLOCK_BYTES,
                    length.next_multiple_of(BLOCK_BYTES),
                )
            } else {
                (offset, length)
            };
            let byte = if dice.chance(400) { 0 } else { turn };
            let bytes = vec![byte; length];
            let kept = OwnedData::new(Data::Bytes(&bytes));
            if dice.chance(500) {
                image.write(offset as u64, kept.borrow());
            } else {
                image.write(offset as u64, Data::Bytes(&bytes));
            }
            model.resize(model.len().max(offset + length), 0);
            model[offset..offset + length].copy_from_slice(&bytes);
            let from = dice.below(60_000);
            let mut read = vec![9; 10_000];
            let count = image.read(&mut read, from);
            let expected = model.get(from as usize..).unwrap_or_default();
            assert_eq!(count, expected.len().min(read.len()));
            assert_eq!(read[..count], expected[..count]);
        }
    }
}
