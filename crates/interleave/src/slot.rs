//! Slots (in progress).
use std::{
    cell::Cell,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use crate::policy::Point;

thread_local! {
    static IN_SLOT: Cell<bool> = const { Cell::new(false) };
}

pub(crate) fn in_suspending_slot() -> bool {
    IN_SLOT.get()
}

/// A memory wait.
#[derive(Debug)]
pub struct Touch {
    suspended: bool,
}

impl Touch {
    pub(crate) fn new(_: Point) -> Touch {
        Touch { suspended: false }
    }
}

impl Future for Touch {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.suspended {
            return Poll::Ready(());
        }
        self.suspended = true;
        Poll::Pending
    }
}
