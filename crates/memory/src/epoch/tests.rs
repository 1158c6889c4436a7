use std::ptr::NonNull;

use super::*;

fn retired(word: u64) -> Retired {
    Retired {
        address: NonNull::dangling(),
        word,
    }
}

fn collected(participant: &Participant) -> Vec<u64> {
    let mut words = Vec::new();
    participant.collect(|retired| words.push(retired.word), |_| true);
    words
}

#[test]
fn a_pin_of_another_participant_holds_garbage_back() {
    let epochs = Epochs::new();
    let (reader, writer) = (Participant::new(&epochs), Participant::new(&epochs));
    let pin = reader.pin();
    writer.retire(retired(7));
    for _ in 0..10 {
        reader.quiesce();
        assert!(collected(&writer).is_empty());
    }
    drop(pin);
    reader.quiesce();
    let mut seen = Vec::new();
    for _ in 0..3 {
        reader.quiesce();
        seen.extend(collected(&writer));
    }
    assert_eq!(seen, [7]);
}

#[test]
fn an_idle_participant_holds_nothing_back() {
    let epochs = Epochs::new();
    let (reader, writer) = (Participant::new(&epochs), Participant::new(&epochs));
    drop(reader.pin());
    assert!(reader.go_idle());
    writer.retire(retired(1));
    let seen: Vec<u64> = (0..3).flat_map(|_| collected(&writer)).collect();
    assert_eq!(seen, [1]);
}

#[test]
fn idle_is_refused_while_a_pin_is_open() {
    let epochs = Epochs::new();
    let reader = Participant::new(&epochs);
    let pin = reader.pin();
    assert!(!reader.go_idle());
    drop(pin);
    assert!(reader.go_idle());
}

#[test]
fn pins_taken_later_do_not_delay_what_was_retired_before_forever() {
    // Overlapping pins without a gap: the pipelined scheduler's normal state.
    let epochs = Epochs::new();
    let (reader, writer) = (Participant::new(&epochs), Participant::new(&epochs));
    writer.retire(retired(9));
    let mut pin = reader.pin();
    let mut seen = Vec::new();
    for _ in 0..10 {
        reader.quiesce();
        let next = reader.pin();
        drop(std::mem::replace(&mut pin, next));
        seen.extend(collected(&writer));
    }
    assert_eq!(seen, [9]);
}

#[test]
fn garbage_of_a_participant_that_left_is_collected_by_others() {
    let epochs = Epochs::new();
    let (leaver, other) = (Participant::new(&epochs), Participant::new(&epochs));
    leaver.retire(retired(3));
    drop(leaver);
    let seen: Vec<u64> = (0..4).flat_map(|_| collected(&other)).collect();
    assert_eq!(seen, [3]);
}
