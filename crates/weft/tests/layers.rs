//! Values that crates above keep with a database.

use std::sync::{Arc, mpsc};

use weft::{Database, Error, Options};

#[derive(Debug, PartialEq)]
struct Layer(u8);

#[test]
fn all_handles_share_the_layer_that_was_made_first() {
    let db = Database::open(Options::default()).unwrap();
    let failed = db.layer::<Layer, _>(|| Err("the test's own"));
    assert_eq!(failed.unwrap(), Err("the test's own"));
    let made = db.layer(|| Ok::<_, ()>(Arc::new(Layer(1))));
    assert_eq!(*made.unwrap().unwrap(), Layer(1));
    let kept = db.clone().layer(|| Ok::<_, ()>(Arc::new(Layer(2))));
    assert_eq!(*kept.unwrap().unwrap(), Layer(1));
    db.close();
    let closed = db.layer(|| Ok::<_, ()>(Arc::new(Layer(3))));
    assert!(matches!(closed, Err(Error::Closed)));
}

/// A worker waited for the latch of the layers, within which another thread waited for the worker.
#[test]
fn a_worker_is_refused() {
    let db = Database::open(Options::default()).unwrap();
    let (answer, answers) = mpsc::channel();
    let ours = db.clone();
    db.workers()[0].spawn(move |_| async move {
        let refused = ours.layer(|| Ok::<_, ()>(Arc::new(Layer(1))));
        answer.send(refused).unwrap();
    });
    let refused = answers.recv().unwrap();
    assert!(matches!(refused, Err(Error::WouldBlockWorker)));
}
