//! Settings: their values, how long these last, and their effects.
//!
//! A setting has a value of the session and perhaps one of the transaction, which goes first. Both
//! are in one map, a persistent one: the map at the beginning of a transaction or a savepoint is
//! kept as it is, shares with the next one all that was not changed, and is put back to return to
//! it.
//!
//! | part | file |
//! | --- | --- |
//! | known settings, and their values | `settings/known.rs`, `settings/value.rs` |
//! | settings of functions, until the statement ends | `settings/pending.rs` |
//! | effects; the users among them | `settings/effect.rs`; `settings/users.rs` |
//! | SET, SHOW, RESET, DISCARD | `settings/statements.rs` |

mod effect;
pub(crate) mod known;
mod pending;
mod statements;
mod users;
mod value;

use std::{collections::BTreeMap, rc::Rc, sync::Arc};

use rpds::RedBlackTreeMap;
use types::{Charge, Memory, Result, SqlError, SqlState};

pub(super) use self::{
    effect::{Asked, Effects},
    pending::PendingSettings,
    statements::shown_fields,
};
use self::{
    known::{Definition, Meaning},
    users::Users,
};
use super::{Notice, Session, Sink};
use crate::database::Database;
use catalog::SearchPath;
use logical::bind::Inputs;
use syntax::command::Scope;

/// The values that a setting was set to; `None` where it was not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Setting {
    /// Value for the rest of the session.
    session: Option<String>,
    /// Value for the rest of the transaction.
    local: Option<String>,
}

impl Setting {
    /// Sets the value of the session, which ends that of the transaction, or the latter alone.
    fn set(&mut self, scope: Scope, value: String) {
        match scope {
            Scope::Session => {
                self.session = Some(value);
                self.local = None;
            }
            Scope::Local => self.local = Some(value),
        }
    }

    /// Returns the value that is in force, if one was set.
    fn shown(&self) -> Option<&String> {
        self.local.as_ref().or(self.session.as_ref())
    }

    /// Returns the estimated bytes of the setting and its name.
    fn bytes(&self, name: &str) -> usize {
        let values = self.session.iter().chain(&self.local);
        SETTING_BYTES + name.len() + values.map(String::len).sum::<usize>()
    }
}

/// Bytes of a setting in the map beside its texts, with the nodes that are copied on the way to it.
const SETTING_BYTES: usize = 2048;

/// Bytes of settings up to which they are not counted anew.
const COUNTED_MIN: usize = 64 * 1024;

/// The memory of a session's settings, those that its savepoints keep included.
#[derive(Default)]
struct Held {
    charge: Charge,
    /// Bytes of the map when it was last counted.
    counted: usize,
}

impl Held {
    /// Charges one more value.
    ///
    /// # Errors
    /// 53200 if there is no memory for it.
    fn grow(&mut self, memory: &Rc<Memory>, texts: usize) -> Result<()> {
        let bytes = self.charge.bytes() + SETTING_BYTES + texts;
        self.charge.set(memory, bytes)
    }

    /// Counts the settings if the charge has doubled since they were counted: each value is counted
    /// a few times at most. No savepoint keeps any values.
    fn count(&mut self, values: &Values, began_with: Option<&Values>) {
        if self.charge.bytes() > 2 * self.counted + COUNTED_MIN {
            self.counted = values.bytes() + began_with.map_or(0, Values::bytes);
            self.charge.lower(self.counted);
        }
    }
}

/// The values that were set, by name.
#[derive(Debug, Clone, Default)]
pub(super) struct Values {
    set: Rc<RedBlackTreeMap<String, Setting>>,
    /// Values that the connection began with, to which RESET returns.
    initial: Rc<BTreeMap<String, String>>,
}

impl Values {
    /// Returns the value of a setting, as it is shown; `None` for a custom setting that does not
    /// exist.
    pub(super) fn get(&self, definition: &Definition, name: &str) -> Option<String> {
        let name = definition.kept_name(name);
        let set = self.set.get(&name);
        if let Some(value) = set.and_then(Setting::shown) {
            return Some(value.clone());
        }
        let initial = self.initial.get(&name).cloned();
        // A custom setting that was reset is empty.
        let is_known = !definition.name.is_empty() || set.is_some();
        initial.or_else(|| is_known.then(|| definition.default.to_owned()))
    }

    /// Returns whether the session, the transaction or the client when it connected has given a setting its value.
    fn is_set(&self, definition: &Definition, name: &str) -> bool {
        let name = definition.kept_name(name);
        let set = self.set.get(&name).and_then(Setting::shown);
        set.is_some() || self.initial.contains_key(&name)
    }

    /// Returns whether nothing has set a setting, which is no custom one: RESET leaves it as it is.
    fn is_initial(&self, definition: &Definition, kept_name: &str) -> bool {
        !definition.name.is_empty() && !self.set.contains_key(kept_name)
    }

    /// Sets a setting, or with `None` resets it.
    fn put(&mut self, name: String, scope: Scope, value: Option<String>, default: &str) {
        let session = match scope {
            Scope::Session => value.clone(),
            Scope::Local => self.set.get(&name).and_then(|set| set.session.clone()),
        };
        let local = (scope == Scope::Local).then(|| {
            let initial = self.initial.get(&name).map_or(default, String::as_str);
            value.unwrap_or_else(|| initial.to_owned())
        });
        Rc::make_mut(&mut self.set).insert_mut(name, Setting { session, local });
    }

    /// Returns the estimated bytes of the values.
    fn bytes(&self) -> usize {
        let bytes = self.set.iter().map(|(name, set)| set.bytes(name));
        bytes.sum()
    }

    /// Forgets the values that were set for the transaction; returns their names.
    fn end_transaction(&mut self) -> Vec<String> {
        let local = self.set.iter().filter(|(_, set)| set.local.is_some());
        let session = local.map(|(name, set)| {
            let session = set.session.clone();
            (
                name.clone(),
                Setting {
                    session,
                    local: None,
                },
            )
        });
        let session: Vec<_> = session.collect();
        let mut names = Vec::with_capacity(session.len());
        for (name, setting) in session {
            Rc::make_mut(&mut self.set).insert_mut(name.clone(), setting);
            names.push(name);
        }
        names
    }

    /// Returns the names of settings that differ in `other`.
    fn differences(&self, other: &Values) -> Vec<String> {
        if Rc::ptr_eq(&self.set, &other.set) {
            return Vec::new();
        }
        let names = self.set.keys().chain(other.set.keys());
        let differ = names.filter(|name| self.set.get(*name) != other.set.get(*name));
        differ.cloned().collect()
    }
}

/// The settings of a session, and what follows from them.
///
/// Values are changed here alone, and each change is followed by its effect: what statements act by is in
/// [`Effects`], what plans depend on in [`Inputs`]. Plans hold the inputs that they were bound with; the inputs are
/// therefore replaced, never changed in place.
pub(super) struct SessionSettings {
    /// Settings as they were set, by name.
    values: Values,
    effects: Effects,
    inputs: Arc<Inputs>,
    users: Users,
    held: Held,
    database: Arc<Database>,
}

impl SessionSettings {
    /// Makes the settings of a user's session before any is set.
    pub(super) fn new(database: &Arc<Database>, user: &str) -> Self {
        let inputs = Arc::new(Inputs {
            user: user.to_owned(),
            ..Inputs::default()
        });
        Self {
            values: Values::default(),
            effects: Effects::default(),
            inputs: database.plan_cache.shared(inputs),
            users: Users::new(user),
            held: Held::default(),
            database: database.clone(),
        }
    }

    /// Takes over the inputs of another session, a part of whose statement this one carries out.
    pub(super) fn adopt(&mut self, inputs: &Arc<Inputs>) {
        self.inputs = inputs.clone();
    }

    /// Returns the values for a later [`Session::restore`].
    pub(super) fn values(&self) -> &Values {
        &self.values
    }

    /// Returns the values that statements act by.
    pub(super) fn effects(&self) -> &Effects {
        &self.effects
    }

    /// Returns the inputs that binding depends on.
    pub(super) fn inputs(&self) -> &Arc<Inputs> {
        &self.inputs
    }

    /// Returns the schemas in which names are looked for.
    pub(super) fn search_path(&self) -> &SearchPath {
        &self.inputs.search_path
    }

    /// Returns the users in whose names the session acts.
    pub(super) fn users(&self) -> &Users {
        &self.users
    }

    /// Charges the memory of a value that is about to be set, or with `None` reset, in a transaction with `savepoints`.
    ///
    /// # Errors
    /// 53200 if there is no memory for it. A reset that frees memory needs none.
    fn charge(
        &mut self,
        name: &str,
        value: Option<&str>,
        savepoints: usize,
        memory: &Rc<Memory>,
    ) -> Result<()> {
        // A savepoint keeps the map as it was. A custom setting that is reset is there from then on.
        if value.is_none() && savepoints == 0 && self.values.set.contains_key(name) {
            return Ok(());
        }
        let texts = 2 * name.len() + value.map_or(0, str::len);
        self.held.grow(memory, texts)
    }

    /// Sets a setting, or with `None` resets it.
    ///
    /// # Errors
    /// Errors of its effect.
    fn put(
        &mut self,
        definition: &Definition,
        name: &str,
        scope: Scope,
        value: Option<String>,
    ) -> Result<()> {
        self.values
            .put(name.to_owned(), scope, value, definition.default);
        self.take_effect(name)
    }

    /// Sets a value that RESET will return to.
    fn put_initial(&mut self, name: &str, value: String) -> Result<()> {
        Rc::make_mut(&mut self.values.initial).insert(name.to_owned(), value);
        self.take_effect(name)
    }

    /// Forgets the names of custom settings, all of which were reset: they would be there still, and empty.
    fn forget_custom(&mut self) {
        self.values.set = Rc::default();
        self.held.count(&self.values, None);
    }

    /// Restores settings to earlier values.
    fn restore(&mut self, values: Values) {
        let changed = self.values.differences(&values);
        self.values.set = values.set;
        self.follow(&changed);
    }

    /// Ends the transaction's own values.
    fn end_transaction(&mut self) {
        let changed = self.values.end_transaction();
        self.follow(&changed);
    }

    /// Counts the memory of the settings if need be; `began_with` are those of the transaction's beginning. No
    /// savepoint keeps any.
    fn count(&mut self, began_with: Option<&Values>) {
        self.held.count(&self.values, began_with);
    }

    fn follow(&mut self, changed: &[String]) {
        for name in changed {
            // The value was in force before, and can therefore be again.
            let _ = self.take_effect(name);
        }
    }
}

impl Session {
    /// Returns the value of a setting as it is shown to a client.
    ///
    /// # Errors
    /// 42704 if there is no setting with the name.
    pub fn shows(&self, name: &str) -> Result<String> {
        let definition = Definition::expect(name)?;
        let catalog = self.transaction.catalog();
        self.asked(&catalog)
            .get(definition, name)
            .ok_or_else(|| known::unrecognized(name))
    }

    /// Iterates over the settings that clients are told when they connect, and when they change.
    pub fn reported(&self) -> impl Iterator<Item = (&'static str, String)> {
        let reported = known::REPORTED.iter();
        reported.filter_map(|name| Some((*name, self.shows(name).ok()?)))
    }

    /// Returns whether one of [`Session::reported`] may have changed since the last call.
    pub fn take_reported(&mut self) -> bool {
        self.settings.take_reports()
    }

    /// Sets a value that a connection begins with, to which RESET will return.
    ///
    /// # Errors
    /// 42704 if there is no setting with the name, 55P02 if it cannot be changed, 22023 if it
    /// cannot have the value, 0A000 if it can have the value in PostgreSQL alone.
    pub fn set_initially(&mut self, name: &str, value: &str) -> Result<()> {
        let definition = Definition::expect(name)?;
        let shown = self.check(definition, name, value)?;
        self.settings
            .put_initial(&definition.kept_name(name), shown)?;
        self.follow_settings();
        Ok(())
    }

    /// Sets a setting; `None` resets it.
    fn assign(&mut self, name: &str, scope: Scope, value: Option<&str>) -> Result<()> {
        let definition = Definition::expect(name)?;
        let kept = definition.kept_name(name);
        let shown = match value {
            Some(value) => Some(self.check(definition, name, value)?),
            None => changeable(definition).map(|()| None)?,
        };
        if definition.name.starts_with("transaction_") {
            let values = self.settings.values();
            let default = values.get(definition, name).unwrap_or_default();
            return self.set_transaction_setting(&kept, &shown.unwrap_or(default));
        }
        if shown.is_none() && self.settings.values.is_initial(definition, &kept) {
            // The end of a session authorization ends SET ROLE, too.
            self.settings.take_effect(&kept)?;
            self.follow_settings();
            return Ok(());
        }
        let savepoints = self.transaction.depth();
        if savepoints == 0 {
            self.settings.count(self.transaction.began_with());
        }
        self.settings
            .charge(&kept, shown.as_deref(), savepoints, self.memory.kept())?;
        self.settings.put(definition, &kept, scope, shown)?;
        self.follow_settings();
        Ok(())
    }

    /// Returns a value that a setting is to have, as it is shown.
    fn check(&self, definition: &Definition, name: &str, value: &str) -> Result<String> {
        let catalog = self.transaction.catalog();
        self.asked(&catalog).check(definition, name, value)
    }

    /// Restores settings to earlier values.
    pub(super) fn restore(&mut self, values: Values) {
        self.settings.restore(values);
        self.follow_settings();
    }

    /// Ends the transaction's own values after a commit.
    pub(super) fn keep_settings(&mut self) {
        self.settings.end_transaction();
        self.settings.count(None);
        self.follow_settings();
    }

    /// Restores settings to their values at the beginning of the block after a rollback.
    pub(super) fn forget_settings(&mut self, began: Option<Values>) {
        if let Some(values) = began {
            self.restore(values);
        }
        self.settings.count(None);
    }

    /// Sets the settings that functions have set.
    pub(super) async fn set_pending(&mut self, sink: &mut impl Sink) -> Result<()> {
        for warning in self.transaction.advisory().take_warnings() {
            self.tell(sink, &Notice::warning(SqlState::WARNING, warning));
        }
        for (name, scope, value) in self.environment.take_pending().into_values() {
            if interleave::turn_is_over() {
                interleave::yield_now().await;
            }
            self.assign(&name, scope, Some(&value))?;
        }
        Ok(())
    }

    /// Applies settings to the open transaction and to the advisory locks, after some were set or restored.
    fn follow_settings(&mut self) {
        self.transaction.follow(self.settings.effects());
    }

    /// Iterates over all settings with their values, without custom ones.
    pub(crate) fn all_settings(
        &self,
    ) -> impl Iterator<Item = (&'static Definition, String)> + use<'_> {
        let all = known::DEFINITIONS.iter();
        all.filter_map(|definition| Some((definition, self.shows(definition.name).ok()?)))
    }
}

/// Checks that a setting can be changed.
///
/// # Errors
/// 55P02 for a setting that can only be shown.
fn changeable(definition: &Definition) -> Result<()> {
    let message = match definition.meaning {
        Meaning::Fixed => format!("parameter \"{}\" cannot be changed", definition.name),
        Meaning::AtStart => format!(
            "parameter \"{}\" cannot be changed without restarting the server",
            definition.name
        ),
        _ => return Ok(()),
    };
    Err(SqlError::new(SqlState::CANT_CHANGE_RUNTIME_PARAM, message))
}

#[cfg(test)]
mod tests;
