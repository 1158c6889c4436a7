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
    values: BTreeMap<String, Setting>,
    charge: Charge,
}

impl PendingSettings {
    /// Returns the newest value of a setting, if the statement has set it.
    pub(in crate::session) fn get(&self, name: &str) -> Option<&str> {
        let value = self.values.get(name).and_then(Setting::shown);
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
        let before = known.map_or(0, |known| known.bytes(&name));
        let mut setting = known.cloned().unwrap_or_default();
        setting.set(scope, value);
        let bytes = self.charge.bytes() - before + setting.bytes(&name);
        self.charge.set(memory, bytes)?;
        self.values.insert(name, setting);
        Ok(())
    }

    /// Returns the values that are to be in force after the statement: those of the session before those of the
    /// transaction.
    pub(in crate::session) fn into_values(self) -> impl Iterator<Item = (String, Scope, String)> {
        self.values.into_iter().flat_map(|(name, setting)| {
            let session = setting.session.map(|value| (Scope::Session, value));
            let local = setting.local.map(|value| (Scope::Local, value));
            let values = session.into_iter().chain(local);
            values.map(move |(scope, value)| (name.clone(), scope, value))
        })
    }
}
