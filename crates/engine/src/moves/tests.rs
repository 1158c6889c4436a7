use super::*;

/// Returns an address that is never looked into.
fn place(number: usize) -> *const Slot {
    std::ptr::without_provenance(number * 16)
}

/// Returns the final places of rows after the events that `note` notes, for any number of steps
/// done at once.
fn condensed(note: impl Fn(&mut MoveLog)) -> Vec<(usize, Option<Vec<u8>>)> {
    let mut outcomes = [1, 2, 7, usize::MAX].map(|steps_max| {
        let mut log = MoveLog::default();
        note(&mut log);
        while log.condense_some(steps_max) {}
        let entries = log.condensed().entries.iter();
        let told: Vec<_> = entries
            .map(|(at, key)| (at / 16, key.as_deref().map(Vec::from)))
            .collect();
        while log.forget_some(steps_max) {}
        assert!(log.is_empty() && log.condensed().is_empty());
        told
    });
    let first = std::mem::take(&mut outcomes[0]);
    assert!(outcomes[1..].iter().all(|outcome| *outcome == first));
    first
}

/// Notes a row that is moved as the engine does: the deletion is noted if the log is in use, the
/// insertion if it is over a row that the transaction has deleted.
fn move_row(log: &mut MoveLog, from: usize, to: usize, is_over_deleted: bool) {
    log.deleted(place(from));
    if is_over_deleted {
        log.replaced(place(to));
    }
    log.moved(place(from), place(to), &[to as u8]);
}

#[test]
fn a_row_that_is_moved_twice_is_found_where_it_ends() {
    let told = condensed(|log| {
        move_row(log, 1, 2, false);
        move_row(log, 2, 3, false);
    });
    assert_eq!(told, [(1, Some(vec![3]))]);
}

#[test]
fn rows_that_swap_their_keys_by_way_of_a_third_are_told_apart() {
    let swap = |log: &mut MoveLog| {
        move_row(log, 1, 9, false);
        move_row(log, 2, 1, true);
        move_row(log, 9, 2, true);
    };
    assert_eq!(condensed(swap), [(1, Some(vec![2])), (2, Some(vec![1]))]);
    // Another pair is swapped by way of the same third key: each row has its own way.
    let told = condensed(|log| {
        swap(log);
        move_row(log, 3, 9, true);
        move_row(log, 4, 3, true);
        move_row(log, 9, 4, true);
    });
    assert_eq!(
        told,
        [
            (1, Some(vec![2])),
            (2, Some(vec![1])),
            (3, Some(vec![4])),
            (4, Some(vec![3]))
        ]
    );
}

#[test]
fn a_row_that_is_replaced_is_gone_and_one_that_was_only_deleted_needs_no_word() {
    let replace = |log: &mut MoveLog| {
        log.deleted(place(5));
        assert!(log.is_empty());
        log.replaced(place(1));
        log.deleted(place(2));
    };
    assert_eq!(condensed(replace), [(1, None)]);
    // The row that replaced the first one is not waited for, wherever it goes.
    let told = condensed(|log| {
        replace(log);
        move_row(log, 1, 7, false);
    });
    assert_eq!(told, []);
}

#[test]
fn a_row_that_is_moved_and_then_deleted_is_gone() {
    let delete = |log: &mut MoveLog| {
        move_row(log, 1, 2, false);
        log.deleted(place(2));
    };
    assert_eq!(condensed(delete), []);
    let told = condensed(|log| {
        delete(log);
        log.replaced(place(1));
    });
    assert_eq!(told, [(1, None)]);
}

/// A million rows that are deleted beside one that is moved once took an entry each in two tables.
#[test]
fn deletions_beside_a_move_take_no_memory() {
    let mut log = MoveLog::default();
    move_row(&mut log, 1, 2, false);
    (3..10_000).for_each(|row| log.deleted(place(row)));
    let before = log.list_bytes();
    while log.condense_some(1) {
        assert!(log.list_bytes() < before + 1000);
    }
    assert_eq!(log.condensed().entries.len(), 1);
}

/// The commit of 400,000 moved rows once condensed all of them in one go, and then threw the result
/// away.
#[test]
fn a_step_is_short_and_too_much_is_not_even_begun() {
    let mut log = MoveLog::default();
    let mut steps = 0;
    (0..1000).for_each(|row| move_row(&mut log, row, 1_000_000 + row, false));
    while log.condense_some(100) {
        steps += 1;
    }
    assert!(steps > 30, "{steps}");
    assert_eq!(log.condensed().entries.len(), 1000);
    let mut steps = 0;
    while log.forget_some(100) {
        steps += 1;
    }
    assert!(steps > 20, "{steps}");
    log.forget();
    let all = ENTRIES_MAX + 1;
    (0..all).for_each(|row| move_row(&mut log, row, all + row, false));
    assert!(!log.condense_some(usize::MAX));
    let moves = Moves::default();
    moves.publish(Timestamp(5), log.condensed());
    assert_eq!(moves.of(place(1), Timestamp(5)), Gone::Forgotten);
    // Events that are taken back do not count any more.
    log.truncate(100);
    assert!(log.condense_some(100));
    log.forget();
    log.moved(place(1), place(2), &vec![0; KEYS_BYTES_MAX + 1]);
    assert!(!log.condense_some(usize::MAX));
}

fn publish(moves: &Moves, at: Timestamp, entries: impl IntoIterator<Item = (usize, Option<u8>)>) {
    let entries = entries.into_iter();
    let entries: Entries = entries
        .map(|(at, key)| (at * 16, key.map(|key| [key].into())))
        .collect();
    let mut condensed = Condensed {
        keys_bytes: entries.values().map(bytes_of).sum(),
        entries,
        is_too_much: false,
    };
    moves.publish(at, &mut condensed);
}

#[test]
fn moves_are_forgotten_once_no_snapshot_is_older() {
    let moves = Moves::default();
    assert_eq!(moves.of(place(1), Timestamp(5)), Gone::Unmoved);
    publish(&moves, Timestamp(5), [(1, Some(7)), (2, None)]);
    assert_eq!(moves.of(place(1), Timestamp(5)), Gone::To([7].into()));
    assert_eq!(moves.of(place(2), Timestamp(5)), Gone::Replaced);
    assert_eq!(moves.of(place(1), Timestamp(6)), Gone::Unmoved);
    moves.collect(|| Timestamp(4), |_| true);
    assert_eq!(moves.of(place(2), Timestamp(5)), Gone::Replaced);
    moves.collect(|| Timestamp(5), |_| true);
    assert_eq!(moves.of(place(2), Timestamp(5)), Gone::Unmoved);
    assert!(!moves.is_used.load(Ordering::Relaxed));
}

#[test]
fn a_collection_frees_as_much_as_it_may() {
    let moves = Moves::default();
    publish(&moves, Timestamp(5), (0..10).map(|row| (row, Some(1))));
    publish(&moves, Timestamp(6), (0..10).map(|row| (row, None)));
    for left in [17, 14, 11, 8] {
        moves.collect(|| Timestamp(6), |freed| freed < 3);
        assert_eq!(moves.lock().entries, left);
    }
    assert_eq!(moves.lock().keys_bytes, 0);
    assert_eq!(moves.of(place(9), Timestamp(6)), Gone::Replaced);
}

#[test]
fn moves_that_were_not_kept_are_told_as_such() {
    let moves = Moves::default();
    publish(&moves, Timestamp(3), [(1, Some(7))]);
    let many = (0..ENTRIES_MAX).map(|row| (row, None));
    publish(&moves, Timestamp(5), many);
    assert_eq!(moves.of(place(1), Timestamp(3)), Gone::To([7].into()));
    assert_eq!(moves.of(place(1), Timestamp(5)), Gone::Forgotten);
    assert_eq!(moves.of(place(1), Timestamp(4)), Gone::Forgotten);
    assert_eq!(moves.of(place(1), Timestamp(6)), Gone::Unmoved);
    moves.collect(|| Timestamp(5), |_| true);
    assert_eq!(moves.of(place(1), Timestamp(5)), Gone::Unmoved);
}
