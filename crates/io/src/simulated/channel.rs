//! A channel of the simulated disk.
//!
//! Operations take effect when they complete, and they complete when the dice say:
//! each sits out some reaps (see `Faults`), and those due in the same reap complete
//! in any order. Time does not pass in between, so a wait never blocks: it counts for
//! as many reaps as the next completion takes, and if nothing is under way, it
//! returns at once, also without a rouse.

use std::{sync::Arc, time::Duration};

use super::{Shared, state::UnderWay};
use crate::channel::{Channel, Completion, Operation, Rouse};

#[derive(Debug)]
pub(super) struct SimulatedChannel {
    shared: Arc<Shared>,
    generation: u32,
    id: u64,
    reaps: u64,
    outstanding: usize,
}

impl SimulatedChannel {
    pub(super) fn new(shared: Arc<Shared>, generation: u32) -> SimulatedChannel {
        let id = shared.lock().new_channel();
        SimulatedChannel {
            shared,
            generation,
            id,
            reaps: 0,
            outstanding: 0,
        }
    }
}

impl Channel for SimulatedChannel {
    fn submit(&mut self, operation: Operation) {
        let mut state = self.shared.lock();
        let (least, most) = (state.faults.delay_reaps_min, state.faults.delay_reaps_max);
        let delay = if most > least {
            state.dice.between(least.into(), most.into())
        } else {
            least.into()
        };
        let under_way = UnderWay {
            operation,
            generation: self.generation,
            due: self.reaps + 1 + delay,
        };
        state.under_way.entry(self.id).or_default().push(under_way);
        self.outstanding += 1;
    }

    #[inline]
    fn reap(&mut self, completions: &mut Vec<Completion>) {
        if self.outstanding == 0 {
            return;
        }
        self.reaps += 1;
        let mut state = self.shared.lock();
        let state = &mut *state;
        let now = if state.unplugged || state.generation != self.generation {
            u64::MAX
        } else {
            self.reaps
        };
        let under_way = state.under_way.entry(self.id).or_default();
        state
            .completing
            .extend(under_way.extract_if(.., |operation| operation.due <= now));
        state.dice.shuffle(&mut state.completing);
        while let Some(operation) = state.completing.pop() {
            self.outstanding -= 1;
            let completion = state.complete(operation);
            completions.push(completion);
        }
    }

    #[inline]
    fn outstanding(&self) -> usize {
        self.outstanding
    }

    fn wait(&mut self, _at_most: Option<Duration>) {
        let state = self.shared.lock();
        let due = state
            .under_way
            .get(&self.id)
            .and_then(|operations| operations.iter().map(|operation| operation.due).min());
        if let Some(due) = due {
            self.reaps = self.reaps.max(due - 1);
        }
    }

    fn rouser(&self) -> Arc<dyn Rouse> {
        Arc::new(Rouser)
    }
}

impl Drop for SimulatedChannel {
    fn drop(&mut self) {
        let mut completions = Vec::new();
        while self.outstanding > 0 {
            self.wait(None);
            self.reap(&mut completions);
        }
        self.shared.lock().under_way.remove(&self.id);
    }
}

/// Rouser without effect: waits end by themselves.
#[derive(Debug)]
struct Rouser;

impl Rouse for Rouser {
    fn rouse(&self) {}
}
