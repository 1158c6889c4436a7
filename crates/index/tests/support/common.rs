//! Helpers shared by the integration tests.
#![allow(dead_code, unreachable_pub)]

use std::{
    future::Future,
    pin::Pin as StdPin,
    sync::Arc,
    task::{Context, Poll},
};

use index::{Batch, Direction, Tree};
use interleave::{Point, Policy, Sequential, run_inline};
use memory::{Arena, Epochs, Local, Pin};
use std::ops::Bound;

/// A policy that suspends once at every touch, whatever polls it.
#[derive(Clone, Copy, Debug, Default)]
pub struct AlwaysYield;

#[derive(Default)]
pub struct YieldOnce(bool);

impl Future for YieldOnce {
    type Output = ();
    fn poll(mut self: StdPin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl Policy for AlwaysYield {
    const NAME: &'static str = "always yield";
    const MAY_SUSPEND: bool = true;
    type Touch = YieldOnce;
    fn touch<T: ?Sized>(_: Point, _: *const T, _: usize) -> YieldOnce {
        YieldOnce(false)
    }
    fn prefetch<T: ?Sized>(_: *const T, _: usize) {}
    fn suspends() -> bool {
        true
    }
}

/// A reproducible source of numbers.
#[derive(Clone)]
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// Kinds of keys that stress different parts.
#[derive(Clone, Copy, Debug)]
pub enum Mix {
    /// Eight random bytes out of few.
    Eight,
    /// Ascending eight-byte numbers.
    Dense,
    /// Short, with embedded and trailing zeros, and the empty key.
    Short,
    /// Long shared prefixes: many layers.
    Deep,
    /// 64 random bytes.
    Wide,
    /// Few slices, all lengths: borders full of one slice.
    Crowded,
    /// All-ones slices, the greatest there are.
    Ones,
}

pub const MIXES: [Mix; 7] = [
    Mix::Eight,
    Mix::Dense,
    Mix::Short,
    Mix::Deep,
    Mix::Wide,
    Mix::Crowded,
    Mix::Ones,
];

impl Mix {
    pub fn key(self, rng: &mut Rng, span: u64) -> Vec<u8> {
        let number = rng.below(span);
        let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        match self {
            Mix::Eight => hash.to_be_bytes().to_vec(),
            Mix::Dense => number.to_be_bytes().to_vec(),
            Mix::Short => {
                let len = hash % 5;
                (0..len)
                    .map(|i| [0, b'a', 0xff][(hash >> (8 + 4 * i)) as usize % 3])
                    .collect()
            }
            Mix::Deep => {
                let mut key = vec![b'p'; (hash >> 8) as usize % 60];
                key.extend((0..hash % 4).map(|i| (hash >> (16 + i)) as u8 & 3));
                key
            }
            Mix::Wide => (0..8u64)
                .flat_map(|i| hash.rotate_left(i as u32 * 7).to_be_bytes())
                .collect(),
            Mix::Crowded => {
                let mut key = vec![0; 8];
                key[0] = (hash >> 40) as u8 & 3;
                key.extend([7; 12]);
                key.truncate(hash as usize % 18);
                key
            }
            Mix::Ones => vec![0xff; (hash >> 20) as usize % 40],
        }
    }
}

pub struct Setup {
    pub local: Local,
    pub tree: Tree,
}

pub fn setup(limit_bytes: usize) -> Setup {
    let arena = Arena::new(limit_bytes).unwrap();
    let local = Local::new(&arena, &Epochs::new());
    let tree = Tree::new(&local).unwrap();
    Setup { local, tree }
}

pub fn shared(limit_bytes: usize) -> (Arc<Arena>, Arc<Epochs>, Tree) {
    let arena = Arena::new(limit_bytes).unwrap();
    let epochs = Epochs::new();
    let tree = Tree::new(&Local::new(&arena, &epochs)).unwrap();
    (arena, epochs, tree)
}

pub type Pairs = Vec<(Vec<u8>, u64)>;

pub fn scan_all(
    tree: &Tree,
    pin: &Pin<'_>,
    range: (Bound<&[u8]>, Bound<&[u8]>),
    direction: Direction,
) -> Pairs {
    let mut scan = tree.scan(range, direction);
    let mut batch = Batch::new();
    let mut pairs = Pairs::new();
    while run_inline(scan.next::<Sequential>(pin, &mut batch)) {
        assert!(!batch.is_empty());
        pairs.extend(batch.iter().map(|(key, value)| (key.to_vec(), value)));
    }
    assert!(!run_inline(scan.next::<Sequential>(pin, &mut batch)));
    pairs
}
