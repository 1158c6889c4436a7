//! A place where transactions wait for an event, until the simulation lets them
//! go.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
};

use crate::dice::Dice;

#[derive(Default)]
struct Place {
    free_to_go: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

/// All transactions that are parked.
#[derive(Default)]
pub(crate) struct Parking(Mutex<Vec<Arc<Place>>>);

impl Parking {
    /// Parks the calling transaction.
    pub(crate) fn park(&self) -> Parked {
        let place = Arc::new(Place::default());
        self.places().push(place.clone());
        Parked(place)
    }

    /// Lets one transaction go; returns whether there was one.
    pub(crate) fn release(&self, dice: &mut Dice) -> bool {
        let place = {
            let mut places = self.places();
            if places.is_empty() {
                return false;
            }
            let index = dice.below(places.len());
            places.swap_remove(index)
        };
        place.free_to_go.store(true, Ordering::Release);
        let waker = place.waker.lock().unwrap_or_else(|e| e.into_inner()).take();
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    fn places(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Place>>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// An event wait that ends when [`Parking::release`] chooses it.
pub(crate) struct Parked(Arc<Place>);

impl Future for Parked {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut waker = self.0.waker.lock().unwrap_or_else(|e| e.into_inner());
        if self.0.free_to_go.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        *waker = Some(context.waker().clone());
        Poll::Pending
    }
}
