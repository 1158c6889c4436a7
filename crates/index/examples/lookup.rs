//! Counts words, then looks some up.
#![allow(clippy::print_stdout)]

use std::ops::Bound;

use index::{Batch, Direction, Inserted, Tree};
use interleave::{Sequential, run_inline};
use memory::{Arena, Epochs, Local};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arena = Arena::new(16 << 20)?;
    let local = Local::new(&arena, &Epochs::new());
    let tree = Tree::new(&local)?;

    let text = "a woof is what a weft was when a weaver wove";
    for (position, word) in text.split(' ').enumerate() {
        let pin = local.pin();
        let inserted = tree.insert::<Sequential>(&local, &pin, word.as_bytes(), position as u64);
        if let Inserted::Present(first) = run_inline(inserted)? {
            println!("{word:?} at {position} was first seen at {first}");
        }
    }

    let pin = local.pin();
    let found = run_inline(tree.get::<Sequential>(&pin, b"weft"));
    println!("\"weft\" is word number {found:?}");

    let mut scan = tree.scan(
        (Bound::Included(b"wa"), Bound::Unbounded),
        Direction::Forward,
    );
    let mut batch = Batch::new();
    while run_inline(scan.next::<Sequential>(&pin, &mut batch)) {
        for (word, position) in batch.iter() {
            println!("{} {position}", String::from_utf8_lossy(word));
        }
    }
    Ok(())
}
