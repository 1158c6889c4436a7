//! A follower of the change stream, which remembers its position across crashes.
//!
//! The transactions that it received must be those that survive: each once, whole, in
//! order, and nothing that a crash takes back. Now and then it goes back to an earlier
//! position. When the log from there on is not kept any more, it goes on from the
//! oldest position that there is.

use std::{
    collections::BTreeMap,
    rc::Rc,
    sync::{Arc, Mutex, MutexGuard},
};

use engine::{ChangedTransaction, ChangesError, ChangesFrom, Session, Timestamp};

use super::CrashReport;
use crate::{
    check,
    dice::Dice,
    failure::Reason,
    history::{Key, Record, Value},
    parameters::Planted,
    workload::expiring,
    world::World,
};

type Effects = BTreeMap<Key, Option<Value>>;

/// The follower: see the module text.
#[derive(Clone, Default)]
pub(super) struct Follower(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Position after which the follower has received everything.
    since: u64,
    /// Transactions received since.
    told: Vec<(u64, Effects)>,
    is_under_way: bool,
    /// An observation that must not occur.
    failure: Option<String>,
    report: CrashReport,
}

impl State {
    fn position(&self) -> u64 {
        self.told.last().map_or(self.since, |&(at, _)| at)
    }
}

/// A guard: the follower is under way until this is dropped.
struct UnderWay(Follower);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.state().is_under_way = false;
    }
}

impl Follower {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Sets out from its last position, or an earlier one, unless it is under way.
    pub(super) fn set_out(
        &self,
        world: &Arc<World>,
        dice: &mut Dice,
    ) -> Option<impl AsyncFnOnce(Rc<Session>) + Send + 'static> {
        let mut state = self.state();
        if std::mem::replace(&mut state.is_under_way, true) {
            return None;
        }
        if dice.chance(300) && !state.told.is_empty() {
            let kept = dice.below(state.told.len());
            state.told.truncate(kept);
        }
        state.report.followers += 1;
        let (under_way, world) = (UnderWay(self.clone()), world.clone());
        Some(async move |session: Rc<Session>| {
            let follower = &under_way.0;
            while let Err(error) = follower.follow(&session, &world).await {
                match error {
                    ChangesError::NotKept { oldest, .. } => {
                        let mut state = follower.state();
                        (state.since, state.told) = (oldest.0, Vec::new());
                        state.report.not_kept += 1;
                    }
                    ChangesError::Damaged(_) | ChangesError::Unreached { .. } => {
                        follower.state().failure.get_or_insert(error.to_string());
                        return;
                    }
                    _ => return,
                }
            }
        })
    }

    async fn follow(&self, session: &Rc<Session>, world: &World) -> Result<(), ChangesError> {
        let planted = world.parameters.planted;
        let position = {
            let state = self.state();
            match state.told[..] {
                [.., (before, _), _] if planted == Some(Planted::RepeatChange) => before,
                _ => state.position(),
            }
        };
        let from = ChangesFrom::After(Timestamp(position));
        let mut reader = session.changes(from).await?;
        let is_forgetful = planted == Some(Planted::ForgetChange);
        loop {
            let batch = reader.next(session).await?;
            let mut state = self.state();
            for (number, transaction) in batch.iter().enumerate() {
                let effects = effects(transaction, world);
                let is_forgotten = is_forgetful && number == 1;
                if !effects.is_empty() && !is_forgotten {
                    state.told.push((transaction.timestamp().0, effects));
                    state.report.followed += 1;
                }
            }
        }
    }

    /// Checks that all transactions received have survived, in an image up to commit
    /// `up_to`.
    pub(super) fn check_position(&self, up_to: u64) -> Result<(), Reason> {
        let state = self.state();
        if let Some(failure) = &state.failure {
            return Err(Reason::Changes(failure.clone()));
        }
        let position = state.told.last().map_or(0, |&(at, _)| at);
        if position <= up_to {
            return Ok(());
        }
        Err(Reason::Changes(format!(
            "recovered up to {up_to}, but {position} was streamed"
        )))
    }

    /// Compares the transactions received with the survivors.
    pub(super) fn check<'r>(
        &self,
        survivors: impl Iterator<Item = &'r Record>,
    ) -> Result<(), Reason> {
        let state = self.state();
        let known = state.since + 1..=state.position();
        let mut expected = BTreeMap::new();
        for record in survivors {
            if let Some(at) = record.written_at()
                && known.contains(&at)
            {
                let changed = record.effects();
                // The catalog is not streamed; expired records are also deleted without
                // a recorded transaction.
                let is_followed = |key: &Key| !check::is_name(key) && !expiring::is_expiring(key);
                let changed = changed.filter(|(key, _)| is_followed(key));
                let changed = changed.map(|(key, value)| (key.clone(), value.cloned()));
                let changed: Effects = changed.collect();
                if !changed.is_empty() {
                    expected.insert(at, changed);
                }
            }
        }
        let mut told = state.told.iter();
        let mut expected = expected.iter();
        loop {
            match (told.next(), expected.next()) {
                (None, None) => return Ok(()),
                (Some((at, told)), Some((expected_at, expected)))
                    if (at, told) == (expected_at, expected) => {}
                (told, expected) => {
                    return Err(Reason::Changes(format!(
                        "after {}, {told:?} was streamed in place of {expected:?}",
                        state.since
                    )));
                }
            }
        }
    }

    /// Takes the counters since the last call.
    pub(super) fn take_report(&self) -> CrashReport {
        std::mem::take(&mut self.state().report)
    }
}

/// Returns the changes of a transaction in the tables of the run.
fn effects(transaction: &ChangedTransaction, world: &World) -> Effects {
    let records = transaction.records();
    let of_the_run = records.filter(|record| world.has_record(record.table.storage, record.key));
    of_the_run
        .map(|record| (record.key.to_vec(), record.value.map(<[u8]>::to_vec)))
        .collect()
}
