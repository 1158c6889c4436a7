use std::ptr::NonNull;

use loom::{
    sync::atomic::{AtomicBool, AtomicUsize},
    thread,
};

use super::*;

/// A reader that follows a shared pointer under a pin never finds the object
/// reclaimed, whatever the writer and the collector do meanwhile.
#[test]
fn a_pinned_reader_never_sees_reclaimed_memory() {
    loom::model(|| {
        let epochs = Epochs::new();
        let linked = Arc::new(AtomicUsize::new(1));
        let reclaimed = Arc::new(AtomicBool::new(false));
        let reader = {
            let (epochs, linked, reclaimed) = (epochs.clone(), linked.clone(), reclaimed.clone());
            thread::spawn(move || {
                let me = Participant::new(&epochs);
                let pin = me.pin();
                if linked.load(Ordering::Acquire) == 1 {
                    assert!(!reclaimed.load(Ordering::Acquire));
                }
                drop(pin);
                me.quiesce();
            })
        };
        let me = Participant::new(&epochs);
        linked.store(0, Ordering::Release);
        me.retire(Retired {
            address: NonNull::dangling(),
            word: 0,
        });
        for _ in 0..3 {
            me.collect(|_| reclaimed.store(true, Ordering::Release), |_| true);
        }
        reader.join().unwrap();
    });
}
