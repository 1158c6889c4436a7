//! The wait for memory: [`Touch`].

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use crate::{policy::Point, slot::with_slot, stage::Stage};

/// A memory wait: pending once, so that other slots run while a prefetch is under
/// way. Made by [`crate::Policy::touch`] and [`crate::yield_now`].
#[derive(Debug)]
#[must_use = "a touch waits only when it is awaited"]
pub struct Touch {
    stage: Stage,
    suspended: bool,
}

impl Touch {
    #[inline(always)]
    pub(crate) fn new(point: Point) -> Touch {
        crate::injection::passed(point);
        Touch {
            stage: Stage::of(point),
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
        let stage = self.stage;
        if with_slot(context, |slot, _| {
            slot.is_some_and(|slot| slot.touched(stage))
        }) {
            self.suspended = true;
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }
}

/// Lets every other slot have a turn ([`Wait::Turn`](crate::Wait::Turn)), and the worker look for
/// events from outside. The task stays in the rotation. Outside a worker the future returns at
/// once.
pub fn yield_now() -> YieldNow {
    YieldNow { suspended: false }
}

/// A turn given to the other slots; see [`yield_now`].
#[derive(Debug)]
#[must_use = "a yield waits only when it is awaited"]
pub struct YieldNow {
    suspended: bool,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        const POINT: Point = Point::new("yield");
        if self.suspended {
            return Poll::Ready(());
        }
        crate::injection::passed(POINT);
        let in_slot = with_slot(context, |slot, _| {
            slot.map(|slot| slot.yielded(Stage::of(POINT)))
        });
        if in_slot.is_none() {
            return Poll::Ready(());
        }
        self.suspended = true;
        Poll::Pending
    }
}
