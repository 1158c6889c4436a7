//! The wait for memory: [`Touch`].

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use crate::{
    policy::Point,
    slot::with_slot,
    stage::Stage,
    wait::{Wait, note_wait},
};

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
            slot.is_some_and(|slot| slot.touched(stage, Wait::Memory))
        }) {
            self.suspended = true;
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }
}

/// Lets every other slot have a turn ([`Wait::Turn`]): as a wait for memory where the worker
/// keeps several tasks in flight, else as an event, so that messages and parked
/// tasks come to their right too. Outside a worker it returns at once.
pub fn yield_now() -> YieldNow {
    YieldNow { suspended: false }
}

/// See [`yield_now`].
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
            slot.map(|slot| slot.touched(Stage::of(POINT), Wait::Turn))
        });
        let Some(is_hot) = in_slot else {
            return Poll::Ready(());
        };
        self.suspended = true;
        if !is_hot {
            note_wait(Wait::Turn);
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}
