//! The wait for memory.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use crate::{
    policy::Point,
    slot::{Wait, with_slot},
};

/// A memory wait: pending once, so that other slots run while a prefetch is under
/// way. Made by [`crate::Policy::touch`] and [`crate::yield_now`].
#[derive(Debug)]
#[must_use = "a touch waits only when it is awaited"]
pub struct Touch {
    point: Point,
    suspended: bool,
}

impl Touch {
    #[inline(always)]
    pub(crate) fn new(point: Point) -> Touch {
        Touch {
            point,
            suspended: false,
        }
    }
}

impl Future for Touch {
    type Output = ();

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.suspended {
            return Poll::Ready(());
        }
        let waits = with_slot(context, |slot| {
            let suspends = slot.suspends.get();
            if suspends {
                slot.wait.set(Wait::Memory);
                // A leaf around this touch takes the note back and arms itself.
                slot.ambiguous.set(true);
            }
            suspends
        });
        crate::injection::passed(self.point);
        if waits == Some(true) {
            self.suspended = true;
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }
}
