//! Injected panics: at named suspension points, now and then.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    panic::resume_unwind,
    rc::Rc,
};

use interleave::Point;

use crate::dice::Dice;

/// Payload of an injected panic. Not text, to be told from the engine's own
/// panics.
struct Injected;

/// Returns whether a task that panicked with this message was hit by an
/// [`Injector`].
pub(crate) fn is_injected(message: &str) -> bool {
    message == "a value that is not text"
}

#[derive(Default)]
struct State {
    enabled: Cell<bool>,
    per_100_000: u32,
    panics: Cell<u64>,
    points: RefCell<BTreeMap<&'static str, u64>>,
}

/// Injector of panics at suspension points. A handle; clones share the state.
#[derive(Clone)]
pub(crate) struct Injector(Rc<State>, Rc<RefCell<Dice>>);

impl Injector {
    pub(crate) fn new(seed: u64, per_100_000: u32) -> Injector {
        let state = State {
            per_100_000,
            ..State::default()
        };
        Injector(Rc::new(state), Rc::new(RefCell::new(Dice::new(!seed))))
    }

    pub(crate) fn enable(&self, enabled: bool) {
        self.0.enabled.set(enabled);
    }

    /// Counts a passed point, and panics or not, silently.
    pub(crate) fn passed(&self, point: Point) {
        *self.0.points.borrow_mut().entry(point.name()).or_default() += 1;
        if self.0.per_100_000 == 0 || !self.0.enabled.get() {
            return;
        }
        if self.1.borrow_mut().below(100_000) < self.0.per_100_000 as usize {
            self.0.panics.set(self.0.panics.get() + 1);
            resume_unwind(Box::new(Injected));
        }
    }

    pub(crate) fn panics(&self) -> u64 {
        self.0.panics.get()
    }

    /// Returns the number of passes of each named point.
    pub(crate) fn points(&self) -> BTreeMap<&'static str, u64> {
        self.0.points.borrow().clone()
    }
}
