use std::collections::VecDeque;

use super::*;

/// Type of a kilobyte: 1,024 elements to a part.
type Large = [u64; 128];

const LEN: usize = Parts::<Large>::PART_LEN;

fn large(number: usize) -> Large {
    [number as u64; 128]
}

#[test]
fn a_list_is_what_a_vector_would_be_around_each_end_of_a_part() {
    assert_eq!(LEN, 1024);
    for len in [0, 1, 3, LEN - 1, LEN, LEN + 1, 3 * LEN, 3 * LEN + 7] {
        let mut list = Parts::default();
        list.extend((0..len).map(large));
        assert_eq!((list.len(), list.is_empty()), (len, len == 0));
        let all: Vec<u64> = list.iter().map(|element| element[0]).collect();
        assert!(all.iter().copied().eq(0..len as u64));
        assert!(
            list.iter()
                .rev()
                .map(|element| element[0])
                .eq((0..len as u64).rev())
        );
        assert_eq!(list.last().map(|element| element[0]), all.last().copied());
        assert!(list.get(len).is_none());
        for to in [0, 1, LEN - 1, LEN, LEN + 1, 2 * LEN, len] {
            if to > len {
                continue;
            }
            assert!(
                list.range(to..)
                    .map(|element| element[0])
                    .eq(to as u64..len as u64)
            );
            let mut cut = Parts::default();
            cut.extend((0..len).map(large));
            cut.truncate(to);
            assert!(
                cut.iter().map(|element| element[0]).eq(0..to as u64),
                "{len} to {to}"
            );
            cut.push(large(77));
            assert_eq!((cut.len(), cut[to][0]), (to + 1, 77));
        }
        for left in (0..len).rev() {
            assert_eq!(list.pop().map(|element| element[0]), Some(left as u64));
        }
        assert!(list.pop().is_none() && list.last().is_none());
    }
}

#[test]
fn an_element_is_taken_out_of_a_list_across_the_end_of_a_part() {
    let mut list = Parts::default();
    list.extend((0..LEN + 2).map(large));
    assert_eq!(list.remove(LEN - 1)[0], LEN as u64 - 1);
    let expected = (0..LEN as u64 + 2).filter(|number| *number != LEN as u64 - 1);
    assert!(list.iter().map(|element| element[0]).eq(expected));
}

#[test]
fn nothing_of_a_list_moves_beyond_the_first_part_and_memory_goes_by_parts() {
    let mut list = Parts::default();
    list.extend((0..LEN + 1).map(large));
    let place = std::ptr::from_ref(&list[5]);
    list.extend((0..9 * LEN).map(large));
    assert_eq!(std::ptr::from_ref(&list[5]), place);
    let mut before = list.capacity_bytes();
    assert!(before >= 10 * PART_BYTES);
    while list.drop_part() {
        let now = list.capacity_bytes();
        assert_eq!(before - now, PART_BYTES);
        before = now;
    }
    assert!(list.is_empty() && list.capacity_bytes() < 2 * PART_BYTES);
}

#[test]
fn a_queue_is_what_a_deque_would_be_and_gives_parts_back() {
    let (mut queue, mut model) = (PartsQueue::default(), VecDeque::new());
    let mut next = 0;
    // More elements come in than leave, then the reverse, across several parts.
    for (pushed, popped) in [
        (5, 3),
        (2000, 900),
        (3000, 3500),
        (10, 612),
        (1024, 1024),
        (1, 1),
    ] {
        for _ in 0..pushed {
            queue.push_back(large(next));
            model.push_back(next as u64);
            next += 1;
        }
        for _ in 0..popped {
            assert_eq!(
                queue.front().map(|element| element[0]),
                model.front().copied()
            );
            assert_eq!(
                queue.pop_front().map(|element| element[0]),
                model.pop_front()
            );
        }
        assert_eq!(
            (queue.len(), queue.is_empty()),
            (model.len(), model.is_empty())
        );
        let parts = queue.len().div_ceil(LEN) + 1;
        assert!(
            queue.capacity_bytes() <= parts * PART_BYTES + 4096,
            "{pushed}, {popped}"
        );
    }
    assert!(queue.pop_front().is_none());
    queue.extend((0..3).map(large));
    let mut other = PartsQueue::default();
    other.extend((3..2000).map(large));
    queue.append(other);
    let mut emptied = std::iter::from_fn(|| queue.pop_front());
    assert!(emptied.by_ref().map(|element| element[0]).eq(0..2000));
}
