use std::sync::{Arc, Mutex};

use super::*;
use crate::Scratch;

/// A source that counts taken bytes, up to a limit, and the requests.
struct Limited {
    limit: usize,
    state: Mutex<(usize, usize)>,
}

impl Limited {
    fn new(limit: usize) -> Arc<Limited> {
        let state = Mutex::default();
        Arc::new(Limited { limit, state })
    }

    fn taken(&self) -> usize {
        self.state.lock().unwrap().0 - FREE
    }

    fn asked(&self) -> usize {
        self.state.lock().unwrap().1
    }
}

impl MemorySource for Limited {
    fn admit(&self, bytes: usize) {
        self.state.lock().unwrap().0 += bytes;
    }

    fn take(&self, bytes: usize, _: usize) -> bool {
        let mut state = self.state.lock().unwrap();
        state.1 += 1;
        let fits = state.0 + bytes <= self.limit + FREE;
        if fits {
            state.0 += bytes;
        }
        fits
    }

    fn give_back(&self, bytes: usize) {
        self.state.lock().unwrap().0 -= bytes;
    }

    fn left(&self, _: usize) -> usize {
        self.limit + FREE - self.state.lock().unwrap().0
    }

    fn why_refused(&self, _: usize) -> String {
        "There is no more.".to_owned()
    }
}

const FREE: usize = 64 << 10;

#[test]
fn a_statement_within_the_free_bytes_asks_nobody() {
    let source = Limited::new(0);
    let memory = Memory::new(&Allowance::new(source.clone(), FREE), usize::MAX);
    let mut charge = Charge::default();
    charge.set(&memory, FREE).unwrap();
    charge.set(&memory, 10).unwrap();
    assert_eq!((memory.used(), memory.peak()), (10, FREE));
    assert_eq!(source.asked(), 0);
    assert!(charge.set(&memory, FREE + 1).is_err());
    assert_eq!(memory.used(), 10);
}

#[test]
fn pieces_are_taken_and_all_of_them_given_back() {
    let source = Limited::new(100 << 20);
    let allowance = Allowance::new(source.clone(), FREE);
    let memory = Memory::new(&allowance, usize::MAX);
    let mut charge = Charge::default();
    for bytes in (0..10 << 20).step_by(4096) {
        charge.set(&memory, bytes).unwrap();
    }
    assert!(source.asked() <= 60);
    assert!(source.taken() >= (10 << 20) - FREE - 4096);
    charge.set(&memory, 1 << 20).unwrap();
    assert!(source.taken() <= (1 << 20) + 2 * PIECE_BYTES_MAX);
    drop(charge);
    assert_eq!((source.taken(), allowance.used()), (0, 0));
}

#[test]
fn the_last_bytes_of_the_limit_are_given_though_they_are_no_piece() {
    let source = Limited::new(PIECE_BYTES_MAX + 100);
    let memory = Memory::new(&Allowance::new(source.clone(), FREE), usize::MAX);
    let mut charge = Charge::default();
    charge.set(&memory, FREE + 1).unwrap();
    charge.set(&memory, FREE + PIECE_BYTES_MAX + 100).unwrap();
    let error = charge
        .set(&memory, FREE + PIECE_BYTES_MAX + 101)
        .unwrap_err();
    assert_eq!(error.state(), SqlState::OUT_OF_MEMORY);
    assert!(error.detail_text().unwrap().ends_with("There is no more."));
    drop(charge);
    assert_eq!(source.taken(), 0);
}

#[test]
fn a_statement_ends_at_its_share_though_there_is_more() {
    let source = Limited::new(100 << 20);
    let allowance = Allowance::new(source.clone(), FREE);
    let (one, other) = (
        Memory::new(&allowance, 1 << 20),
        Memory::new(&allowance, 1 << 20),
    );
    let (mut of_one, mut of_other) = (Charge::default(), Charge::default());
    of_one.set(&one, 1 << 20).unwrap();
    assert!(of_one.set(&one, (1 << 20) + 1).is_err());
    assert!(one.ask(1).is_err());
    of_other.set(&other, 1 << 20).unwrap();
    assert_eq!(allowance.used(), 2 << 20);
}

#[test]
fn an_arena_is_charged_as_it_grows_and_shrinks() {
    let source = Limited::new(8 << 20);
    let memory = Memory::new(&Allowance::new(source.clone(), FREE), usize::MAX);
    let mut scratch = Scratch::new();
    scratch.alloc_slice_fill_copy(1000, 0_u8);
    scratch.charge_to(&memory);
    scratch.settle().unwrap();
    assert_eq!(memory.used(), scratch.allocated_bytes());
    scratch.alloc_slice_fill_copy(1 << 20, 0_u8);
    scratch.settle().unwrap();
    assert!(memory.used() > 1 << 20);
    assert!(scratch.ask(8 << 20).is_err());
    scratch.reset();
    assert_eq!(memory.used(), 0);
    // Growth that was not noticed, and is kept, is noticed later.
    scratch.alloc_slice_fill_copy(10_000, 0_u8);
    scratch.reset();
    scratch.settle().unwrap();
    assert_eq!(memory.used(), scratch.allocated_bytes());
    drop(scratch);
    assert_eq!((memory.used(), source.taken()), (0, 0));
}

/// Parts of a statement on other workers have a part of its share.
#[test]
fn a_statement_does_not_grow_into_what_it_has_lent() {
    let memory = Memory::new(&Allowance::unlimited(), 1000);
    let mut charge = Charge::default();
    charge.set(&memory, 600).unwrap();
    memory.lend(300);
    assert!(charge.set(&memory, 701).is_err());
    charge.set(&memory, 700).unwrap();
    memory.lend(0);
    charge.set(&memory, 1000).unwrap();
    assert_eq!((memory.used(), memory.share()), (1000, 1000));
}
