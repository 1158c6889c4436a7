//! Settings that functions have set (`set_config`), until their statement ends.
//!
//! A statement may set one setting for each of its rows. A name therefore has its last values alone, and names with
//! values are charged to the session's memory. The number of names is bounded, because all of them are given up at once
//! where the statement fails.

use std::{collections::BTreeMap, rc::Rc};

use types::{Charge, Memory, Result, SqlError, SqlState};

use super::Setting;
use syntax::command::Scope;

/// Settings that one statement may set.
const NAMES_MAX: usize = 10_000;

/// The settings of a statement that runs. They are in force for its functions alone.
#[derive(Debug, Default)]
pub(in crate::session) struct PendingSettings {
    values: BTreeMap<String, Pending>,
    /// Number of calls so far.
    calls: u64,
    charge: Charge,
}

#[derive(Debug, Clone, Default)]
struct Pending {
    setting: Setting,
    /// Number of the last call for it.
    call: u64,
}

impl PendingSettings {
    /// Returns the newest value of a setting, if the statement has set it.
    pub(in crate::session) fn get(&self, name: &str) -> Option<&str> {
        let value = self.values.get(name)?.setting.shown();
        value.map(String::as_str)
    }

    /// Sets a setting, charged to `memory`.
    ///
    /// # Errors
    /// 53200 if there is no memory for the value, 54000 if the statement has set too many settings.
    pub(in crate::session) fn set(
        &mut self,
        name: String,
        scope: Scope,
        value: String,
        memory: &Rc<Memory>,
    ) -> Result<()> {
        let known = self.values.get(&name);
        if known.is_none() && self.values.len() == NAMES_MAX {
            let message = format!("a statement sets more than {NAMES_MAX} settings");
            return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        let before = known.map_or(0, |known| known.setting.bytes(&name));
        let mut pending = known.cloned().unwrap_or_default();
        pending.setting.set(scope, value);
        let bytes = self.charge.bytes() - before + pending.setting.bytes(&name);
        self.charge.set(memory, bytes)?;
        self.calls += 1;
        pending.call = self.calls;
        self.values.insert(name, pending);
        Ok(())
    }

    /// Returns the values that are to be in force after the statement, in the order of their calls: some settings end
    /// others. Of each name, the value of the session comes before that of the transaction.
    pub(in crate::session) fn into_values(self) -> impl Iterator<Item = (String, Scope, String)> {
        let mut values: Vec<_> = self.values.into_iter().collect();
        values.sort_by_key(|(_, pending)| pending.call);
        values.into_iter().flat_map(|(name, pending)| {
            let session = pending.setting.session.map(|value| (Scope::Session, value));
            let local = pending.setting.local.map(|value| (Scope::Local, value));
            let values = session.into_iter().chain(local);
            values.map(move |(scope, value)| (name.clone(), scope, value))
        })
    }
}
