use super::*;

#[test]
fn planted_bugs_lose_what_was_promised() {
    let survives = |seed, bug, check: fn(&SimulatedDisk) -> bool| {
        let disk = healthy(seed);
        disk.plant(bug);
        let file = synced(&disk, 1, 1);
        let mut channel = disk.directory().channel().unwrap();
        submit(&mut *channel, &file, Action::WriteDurable, 0, block_of(2));
        complete(&mut *channel).pop().unwrap().result.unwrap();
        assert_eq!(contents(&disk), [2; BLOCK_BYTES]);
        disk.crash();
        check(&disk)
    };
    let named = |disk: &SimulatedDisk| disk.directory().list().unwrap() == ["file"];
    let written = |disk: &SimulatedDisk| contents(disk) == [2; BLOCK_BYTES];
    let both = [false, true];
    assert!(
        outcomes(|seed| survives(seed, None, written))
            .iter()
            .eq(&[true])
    );
    for skips in [Planted::SkipSync, Planted::SkipDurableWrite] {
        let skipped = outcomes(|seed| survives(seed, Some(skips), written));
        assert!(skipped.iter().eq(&both));
    }
    let lost = outcomes(|seed| survives(seed, Some(Planted::LoseDirectorySync), named));
    assert!(lost.iter().eq(&both));
}

#[test]
fn a_full_disk_says_so_and_a_removed_file_makes_room() {
    let disk = SimulatedDisk::new(
        1,
        Faults {
            capacity_bytes: Some(3 * BLOCK + 100),
            ..Faults::default()
        },
    );
    let file = synced(&disk, 2, 1);
    let directory = disk.directory();
    assert_eq!(directory.free_bytes().unwrap(), BLOCK + 100);
    let mut channel = directory.channel().unwrap();
    let long = Buffer::zeroed(2 * BLOCK_BYTES);
    submit(&mut *channel, &file, Action::WriteDurable, 2, long);
    let end = complete(&mut *channel).pop().unwrap();
    assert_eq!(
        end.result.unwrap(),
        BLOCK_BYTES,
        "as much as there is room for"
    );
    submit(&mut *channel, &file, Action::WriteDurable, 3, block_of(1));
    let end = complete(&mut *channel).pop().unwrap();
    assert_eq!(end.result.unwrap_err().kind(), ErrorKind::StorageFull);
    // Existing bytes can be overwritten.
    submit(&mut *channel, &file, Action::WriteDurable, 2, block_of(1));
    complete(&mut *channel).pop().unwrap().result.unwrap();
    let other = directory.open("other", OpenMode::Create, false).unwrap();
    let error = other.write_at(&[1; 200], 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    // An open file keeps its space.
    directory.remove("file").unwrap();
    assert_eq!(directory.free_bytes().unwrap(), 0);
    drop((file, channel));
    other.write_at(&[1; 200], 0).unwrap();
    disk.set_faults(Faults::default());
    other.write_at(&[1; 200], 1 << 40).unwrap();
}

#[test]
fn faults_of_every_kind_come_as_often_as_asked() {
    let always = |faults: Faults| {
        let disk = healthy(3);
        let file = synced(&disk, 2, 1);
        disk.set_faults(faults);
        let directory = disk.directory();
        let mut channel = directory.channel().unwrap();
        for (block, action) in [Action::Read, Action::Write, Action::WriteDurable]
            .into_iter()
            .enumerate()
        {
            let buffer = Buffer::zeroed(2 * BLOCK_BYTES);
            submit(&mut *channel, &file, action, block as u64, buffer);
        }
        let mut ends = complete(&mut *channel);
        ends.sort_by_key(|end| end.token);
        let mut outcomes: Vec<bool> = ends
            .iter()
            .map(|end| matches!(end.result, Ok(length) if length == end.buffer.len()))
            .collect();
        outcomes.extend([
            file.read_at(&mut [0; 8], 0).is_ok(),
            file.write_at(&[0; 8], 0).is_ok(),
            file.sync().is_ok(),
            directory.sync().is_ok(),
            directory.list().is_ok(),
            directory.rename("file", "name").is_ok(),
        ]);
        outcomes
            .into_iter()
            .map(|good| if good { '+' } else { '-' })
            .collect::<String>()
    };
    // Order of the signs: channel: read, write, durable write; file: read, write, sync; directory:
    // sync, list, rename. The read at the file's end is short in itself.
    let faults = Faults::default;
    assert_eq!(always(faults()), "+++++++++");
    assert_eq!(
        always(Faults {
            read_error_per_mille: 1000,
            ..faults()
        }),
        "-++-+++++"
    );
    assert_eq!(
        always(Faults {
            write_error_per_mille: 1000,
            ..faults()
        }),
        "+--+-++++"
    );
    assert_eq!(
        always(Faults {
            sync_error_per_mille: 1000,
            ..faults()
        }),
        "+++++--++"
    );
    assert_eq!(
        always(Faults {
            name_error_per_mille: 1000,
            ..faults()
        }),
        "+++++++--"
    );
    assert_eq!(
        always(Faults {
            short_per_mille: 1000,
            ..faults()
        }),
        "---++++++"
    );
}

#[test]
fn what_a_failed_sync_missed_no_later_one_makes_up_for() {
    let seen = outcomes(|seed| {
        let disk = healthy(seed);
        let file = synced(&disk, 1, 0);
        file.write_at(&[1; BLOCK_BYTES], 0).unwrap();
        disk.set_faults(Faults {
            sync_error_per_mille: 1000,
            ..Faults::default()
        });
        file.sync().unwrap_err();
        disk.set_faults(Faults::default());
        file.sync().unwrap();
        assert_eq!(contents(&disk), [1; BLOCK_BYTES]);
        disk.crash();
        fate(&contents(&disk))
    });
    assert!(seen.iter().eq(&FATES));
}

#[test]
fn a_failed_durable_write_may_be_on_the_disk() {
    let seen = outcomes(|seed| {
        let disk = healthy(seed);
        let file = synced(&disk, 1, 0);
        disk.set_faults(Faults {
            write_error_per_mille: 1000,
            ..Faults::default()
        });
        let mut channel = disk.directory().channel().unwrap();
        submit(&mut *channel, &file, Action::WriteDurable, 0, block_of(1));
        complete(&mut *channel).pop().unwrap().result.unwrap_err();
        disk.crash();
        fate(&contents(&disk))
    });
    assert!(seen.iter().eq(&FATES));
}

#[test]
fn rot_changes_bits_in_the_range_and_survives() {
    let disk = healthy(5);
    synced(&disk, 4, 0);
    assert!(!disk.rot("missing", 0..1, 1));
    assert!(!disk.rot("file", 4 * BLOCK..5 * BLOCK, 1));
    assert!(disk.rot("file", 5000..5001, 1));
    disk.crash();
    let bytes = contents(&disk);
    assert_eq!(bytes[5000].count_ones(), 1);
    let (name, offset) = disk.rot_anywhere().unwrap();
    assert_eq!(name, "file");
    assert_ne!(bytes[offset as usize], contents(&disk)[offset as usize]);
    assert_eq!(healthy(1).rot_anywhere(), None);
}

#[test]
fn a_slow_device_takes_its_reaps_and_completes_in_any_order() {
    let faults = Faults {
        delay_reaps_min: 3,
        delay_reaps_max: 6,
        ..Faults::default()
    };
    let orders = outcomes(|seed| {
        let disk = healthy(seed);
        let file = synced(&disk, 8, 1);
        disk.set_faults(faults.clone());
        let mut channel = disk.directory().channel().unwrap();
        for block in 0..3 {
            submit(&mut *channel, &file, Action::Read, block, block_of(0));
        }
        let mut completions = Vec::new();
        for reap in 0..7 {
            channel.reap(&mut completions);
            assert!(reap >= 3 || completions.is_empty());
        }
        assert_eq!(completions.len(), 3);
        completions.iter().map(|end| end.token).collect::<Vec<_>>()
    });
    assert_eq!(orders.len(), 6);
}

#[test]
fn unaligned_transfers_of_direct_files_are_refused() {
    let disk = healthy(1);
    let file = synced(&disk, 1, 0);
    let mut channel = disk.directory().channel().unwrap();
    for (offset, length) in [(512, BLOCK_BYTES), (0, 100)] {
        channel.submit(Operation {
            token: 0,
            action: Action::Write,
            file: file.clone(),
            offset,
            buffer: Buffer::zeroed(length),
        });
        let end = complete(&mut *channel).pop().unwrap();
        assert_eq!(end.result.unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}
