//! The wait for memory: [`Touch`].

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use crate::{
    policy::Point,
    slot::{Slot, with_slot},
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
        let waits = with_slot(context, |slot, _| slot.is_some_and(Slot::touched));
        crate::injection::passed(self.point);
        if waits {
            self.suspended = true;
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }
}
