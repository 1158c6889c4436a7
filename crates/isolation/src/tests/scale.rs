//! Long histories are checked in a time that grows with their length.

use super::{
    model::{Kind, Mix, run},
    must_satisfy,
};
use crate::{Isolation, Level, check};

const LONG: Mix = Mix {
    transactions: 3_000,
    open: 20,
    operations: 5,
    lists: 200,
    hides: false,
};

#[test]
fn long_histories_are_checked() {
    must_satisfy(
        &run(Kind::Serializable, LONG, 1),
        Level::strict(Isolation::Serializable),
    );
    let skewed = check(&run(Kind::Snapshot, LONG, 1));
    assert!(skewed.satisfies(Level::strict(Isolation::Snapshot)));
    assert!(!skewed.satisfies(Level::of(Isolation::Serializable)));
}
