//! Groups on their way from one worker to another: keys and states, some groups at a time.

use std::sync::Arc;

use functions::State;
use types::{Result, Value};

use super::{
    super::{
        ExecutionContext,
        parallel::{PartCharge, PartsMemory},
    },
    AggregateOperator,
    groups::Groups,
    states::States,
};
use batch::OwnedRows;

/// Most groups of a portion.
const PORTION_GROUPS: usize = 1024;

/// Some groups of a grouping set, which can go to another thread.
pub(in crate::execute) struct Portion {
    set: usize,
    keys: OwnedRows,
    /// States of each call, for the groups in order.
    states: Vec<Vec<State>>,
    /// Charge for the portion, given back when it is dropped.
    _charge: PartCharge,
}

/// The groups of an operator, to be taken portion by portion.
pub(in crate::execute) struct Portions<'o> {
    sets: &'o mut [Groups],
    /// Grouping set, and the group in it, that come next.
    next: (usize, usize),
    /// States of the set's calls that are left.
    states: Vec<std::vec::IntoIter<State>>,
}

impl AggregateOperator<'_> {
    /// Returns the number of groups.
    pub(in crate::execute) fn groups(&self) -> usize {
        self.sets.iter().map(|groups| groups.rows().len()).sum()
    }

    /// Returns all groups, whose states are taken.
    pub(in crate::execute) fn portions(&mut self) -> Portions<'_> {
        Portions {
            sets: &mut self.sets,
            next: (0, 0),
            states: Vec::new(),
        }
    }

    /// Forgets all groups.
    pub(in crate::execute) fn forget_groups(&mut self) {
        self.sets.iter_mut().for_each(Groups::clear);
    }

    /// Combines another worker's groups with those of the operator.
    ///
    /// # Errors
    /// Errors of the aggregates; 53200 if the statement may not hold the groups.
    pub(super) async fn combine(
        &mut self,
        portion: Portion,
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        self.scratch.reset();
        let groups = &mut self.sets[portion.set];
        let keys = portion.keys.rows();
        groups.make_room(keys.len(), context).await?;
        let side_by_side: Vec<Value<'_>> = keys.iter().flatten().copied().collect();
        let found = groups.of(&self.calls, &side_by_side, keys.len())?;
        context.pause(keys.len()).await;
        for (number, (call, others)) in self.calls.iter().zip(&portion.states).enumerate() {
            let mut function_context = context.function_context(&self.scratch);
            function_context.argument_types = &call.plan.argument_types;
            for (group, other) in found.iter().zip(others) {
                let states = &mut groups.states[number];
                groups.states_bytes += call.combine(states, *group, &function_context, other)?;
                context.pause(1).await;
            }
        }
        groups.charge(context.memory())
    }
}

impl Portions<'_> {
    /// Returns the next groups; `None` if there are no more.
    ///
    /// # Errors
    /// 53200 if the statement may not hold them.
    pub(in crate::execute) fn next(
        &mut self,
        memory: &Arc<PartsMemory>,
    ) -> Result<Option<Portion>> {
        while let Some(groups) = self.sets.get_mut(self.next.0) {
            let (set, first) = self.next;
            let until = groups.rows().len().min(first + PORTION_GROUPS);
            if first == until {
                self.next = (set + 1, 0);
                continue;
            }
            if first == 0 {
                let taken = groups.states.iter_mut().map(States::take_running);
                self.states = taken.map(Vec::into_iter).collect();
            }
            self.next.1 = until;
            let rows = (first..until).map(|group| groups.rows().row(group));
            let keys = OwnedRows::new(groups.rows().width(), rows);
            let left = self.states.iter_mut();
            let states = left.map(|states| states.take(until - first).collect());
            let states: Vec<Vec<State>> = states.collect();
            let of_state = |state: &State| size_of::<State>() + state.heap_bytes();
            let bytes: usize = states.iter().flatten().map(of_state).sum();
            return Ok(Some(Portion {
                set,
                _charge: PartCharge::new(memory, keys.bytes() + bytes)?,
                keys,
                states,
            }));
        }
        Ok(None)
    }
}
