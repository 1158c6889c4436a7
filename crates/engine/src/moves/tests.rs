use super::*;

/// Places that are never looked into.
fn place(number: usize) -> *const Slot {
    std::ptr::without_provenance(number * 16)
}

fn condensed(log: &MoveLog) -> Vec<(usize, Option<Vec<u8>>)> {
    let mut all: Vec<_> = log
        .condense()
        .into_iter()
        .map(|(place, key)| (place / 16, key.map(Vec::from)))
        .collect();
    all.sort();
    all
}

/// As the engine notes a row that is moved: the deletion is noted if the log is in use, the
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
    let mut log = MoveLog::default();
    move_row(&mut log, 1, 2, false);
    move_row(&mut log, 2, 3, false);
    assert_eq!(condensed(&log), [(1, Some(vec![3]))]);
}

#[test]
fn rows_that_swap_their_keys_by_way_of_a_third_are_told_apart() {
    let mut log = MoveLog::default();
    move_row(&mut log, 1, 9, false);
    move_row(&mut log, 2, 1, true);
    move_row(&mut log, 9, 2, true);
    assert_eq!(condensed(&log), [(1, Some(vec![2])), (2, Some(vec![1]))]);
    // The same third key once more: each row has its own way.
    move_row(&mut log, 3, 9, true);
    move_row(&mut log, 4, 3, true);
    move_row(&mut log, 9, 4, true);
    assert_eq!(
        condensed(&log),
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
    let mut log = MoveLog::default();
    log.deleted(place(5));
    assert!(log.is_empty());
    log.replaced(place(1));
    log.deleted(place(2));
    assert_eq!(condensed(&log), [(1, None)]);
    // The one that replaced it is nobody's who waits, wherever it goes.
    move_row(&mut log, 1, 7, false);
    assert_eq!(condensed(&log), []);
}

#[test]
fn a_row_that_is_moved_and_then_deleted_is_gone() {
    let mut log = MoveLog::default();
    move_row(&mut log, 1, 2, false);
    log.deleted(place(2));
    assert_eq!(condensed(&log), []);
    log.replaced(place(1));
    assert_eq!(condensed(&log), [(1, None)]);
}

#[test]
fn moves_are_forgotten_once_no_snapshot_is_older() {
    let moves = Moves::default();
    assert_eq!(moves.of(place(1), Timestamp(5)), Gone::Unmoved);
    moves.publish(Timestamp(5), vec![(16, Some([7].into())), (32, None)]);
    assert_eq!(moves.of(place(1), Timestamp(5)), Gone::To([7].into()));
    assert_eq!(moves.of(place(2), Timestamp(5)), Gone::Replaced);
    assert_eq!(moves.of(place(1), Timestamp(6)), Gone::Unmoved);
    moves.collect(|| Timestamp(4), |_| true);
    assert_eq!(moves.of(place(2), Timestamp(5)), Gone::Replaced);
    moves.collect(|| Timestamp(5), |_| true);
    assert_eq!(moves.of(place(2), Timestamp(5)), Gone::Unmoved);
}

#[test]
fn moves_that_were_not_kept_are_told_as_such() {
    let moves = Moves::default();
    let many = (0..ENTRIES_MAX + 1).map(|at| (at * 16, None)).collect();
    moves.publish(Timestamp(5), many);
    assert_eq!(moves.of(place(1), Timestamp(5)), Gone::Forgotten);
    assert_eq!(moves.of(place(1), Timestamp(4)), Gone::Forgotten);
    assert_eq!(moves.of(place(1), Timestamp(6)), Gone::Unmoved);
    moves.collect(|| Timestamp(5), |_| true);
    assert_eq!(moves.of(place(1), Timestamp(5)), Gone::Unmoved);
}
