//! The effects of settings: values for the rest of a session, brought up to date when a setting is
//! set.

use std::{sync::Arc, time::Duration};

use engine::{Durability, Transaction};
use types::{DateOrder, Encoding, Result, SqlError, SqlState, TimeZone};

use super::{
    SessionSettings, changeable,
    known::{self, Definition, Unit},
    value::{invalid, read_bool},
};
use crate::session::{Session, notice::Severity, transaction::Characteristics};
use catalog::Catalog;
use syntax::command::{Level, Modes};

/// Maximum number of blocks that a scan reads ahead, if the setting says nothing.
const READ_AHEAD: usize = 64;

/// The values of settings that take effect: see the module text. Values that plans depend on are
/// among the [`SessionSettings::inputs`].
#[derive(Debug)]
pub(in crate::session) struct Effects {
    /// Longest time that a statement may take.
    pub(in crate::session) statement_limit: Option<Duration>,
    /// Longest wait for a lock.
    pub(in crate::session) lock_limit: Option<Duration>,
    /// Longest time that a client may be idle within a transaction.
    pub(in crate::session) idle_in_transaction_limit: Option<Duration>,
    pub(in crate::session) idle_limit: Option<Duration>,
    /// Characteristics of new transactions.
    pub(in crate::session) characteristics: Characteristics,
    /// Durability of commits; until it is set, that of the database.
    durability: Option<Durability>,
    /// Whether keys are looked up one after the other.
    pub(in crate::session) is_sequential: bool,
    /// Maximum number of blocks that a scan reads ahead.
    pub(in crate::session) read_ahead: usize,
    /// Most workers that may help with a statement.
    pub(in crate::session) helpers_most: usize,
    /// Bytes that a statement may hold, if that was set.
    pub(in crate::session) statement_memory: Option<usize>,
    /// Bytes that an operator may keep in memory if it can use the device, if that was set.
    pub(in crate::session) operator_memory: Option<usize>,
    /// Least importance of notices that are sent.
    pub(in crate::session) least_told: Severity,
    /// Whether a setting may have changed that clients are told of.
    reports: bool,
}

impl Default for Effects {
    fn default() -> Self {
        Self {
            statement_limit: None,
            lock_limit: None,
            idle_in_transaction_limit: None,
            idle_limit: None,
            characteristics: Characteristics::default(),
            durability: None,
            is_sequential: false,
            read_ahead: READ_AHEAD,
            helpers_most: usize::MAX,
            statement_memory: None,
            operator_memory: None,
            least_told: Severity::Notice,
            reports: false,
        }
    }
}

impl Effects {
    /// Applies settings to a transaction.
    pub(in crate::session) fn apply(&self, transaction: &Transaction) {
        transaction.set_lock_timeout(self.lock_limit);
        if let Some(durability) = self.durability {
            transaction.set_durability(durability);
        }
    }
}

/// Settings as they can be asked for: values that were set, and values that follow from the
/// session's state.
#[derive(Clone, Copy)]
pub(in crate::session) struct Asked<'s> {
    pub(in crate::session) settings: &'s SessionSettings,
    /// Characteristics of the transaction.
    pub(in crate::session) characteristics: Characteristics,
    pub(in crate::session) catalog: &'s Catalog,
}

impl Asked<'_> {
    /// Returns the value as it is shown; `None` for a custom setting that does not exist.
    pub(in crate::session) fn get(&self, definition: &Definition, name: &str) -> Option<String> {
        let on = |is_on| if is_on { "on" } else { "off" };
        let computed = match definition.name {
            "transaction_isolation" => self.characteristics.level.name(),
            "transaction_read_only" => on(self.characteristics.read_only),
            "session_authorization" => self.settings.users.session(),
            "is_superuser" => on(self.is_superuser(self.settings.users.current())),
            "weft.block_memory" => {
                let (kept, all) = self.settings.database.memory.block_bytes();
                return Some(format!("{kept} of {all}"));
            }
            "weft.longest_slice" => {
                let longest = interleave::longest_slice();
                return Some(longest.map_or_else(String::new, |slice| slice.to_string()));
            }
            "weft.memory" => return Some(shown_size(self.settings.database.memory.limit_bytes())),
            "weft.statement_memory" => {
                let set = self.settings.values.get(definition, name);
                let set = set.and_then(|set| size(definition, &set));
                return Some(shown_size(
                    set.unwrap_or(self.settings.database.memory.share_bytes()),
                ));
            }
            _ => return self.settings.values.get(definition, name),
        };
        Some(computed.to_owned())
    }

    /// Returns a value that a setting is to have, as it is shown.
    ///
    /// # Errors
    /// 55P02 if the setting cannot be changed, 22023 if it cannot have the value, 0A000 if it can
    /// have the value in PostgreSQL alone.
    pub(in crate::session) fn check(
        &self,
        definition: &Definition,
        name: &str,
        value: &str,
    ) -> Result<String> {
        changeable(definition)?;
        match definition.name {
            "TimeZone" => Ok(zone(value)?.name().to_owned()),
            "DateStyle" => {
                let known = self.get(definition, name).unwrap_or_default();
                let order = DateOrder::default().with_style(&known)?.with_style(value)?;
                Ok(order.style().to_owned())
            }
            "client_encoding" => match Encoding::named(value) {
                // Some clients put the value in quotes.
                Some(Encoding::Utf8) => Ok("UTF8".to_owned()),
                Some(Encoding::Other) => Err(SqlError::unsupported(format_args!(
                    "client_encoding {value}"
                ))),
                None => Err(invalid(definition.name, value)),
            },
            "search_path" => match schemas(value) {
                Some(_) => Ok(value.to_owned()),
                None => Err(invalid(definition.name, value).detail("List syntax is invalid.")),
            },
            "weft.statement_memory" => {
                let read = definition.read(value)?;
                let most = kilobytes(self.settings.database.memory.limit_bytes());
                match read.number {
                    Some(number) if number > most => {
                        let unit = Unit::Kilobytes.name();
                        Err(definition.out_of_range(&number, unit, &0, &most))
                    }
                    _ => Ok(read.shown),
                }
            }
            "role" if value == "none" => Ok(value.to_owned()),
            "role" => self.check_role(value, self.settings.users.session(), "role"),
            "session_authorization" => {
                self.check_role(value, self.settings.users.login(), "session authorization")
            }
            _ => Ok(definition.read(value)?.shown),
        }
    }

    fn is_superuser(&self, role: &str) -> bool {
        let role = self.catalog.role_named(role);
        role.is_some_and(|role| role.is_superuser)
    }

    /// Checks that a session may act as a role: as any if it is a superuser's, otherwise as its
    /// own.
    fn check_role(&self, role: &str, own: &str, what: &str) -> Result<String> {
        if self.catalog.role_named(role).is_none() {
            let message = format!("role \"{role}\" does not exist");
            return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        if role != own && !self.is_superuser(own) {
            let message = match what {
                "role" => format!("permission denied to set role \"{role}\""),
                what => format!("permission denied to set {what}"),
            };
            return Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
        Ok(role.to_owned())
    }
}

/// Returns a time zone by its name, or by hours east of Greenwich.
fn zone(value: &str) -> Result<TimeZone> {
    let fixed = |minutes: f64| TimeZone::fixed((minutes * 60.0).round() as i32);
    match value.trim().parse::<f64>() {
        Ok(hours) if hours.abs() < 168.0 => Ok(fixed(hours * 60.0)),
        Ok(_) => Err(invalid("TimeZone", value)),
        // The value is the name of a fixed zone, as it is shown.
        Err(_) => match offset(value).map(fixed) {
            Some(zone) if zone.name() == value => Ok(zone),
            _ => TimeZone::named(value),
        },
    }
}

/// Returns the minutes of a name such as `<+05:30>-05:30`.
fn offset(name: &str) -> Option<f64> {
    let (shown, _) = name.strip_prefix('<')?.split_once('>')?;
    let (hours, minutes) = shown.split_once(':').unwrap_or((shown, "0"));
    let sign = if hours.starts_with('-') { -1.0 } else { 1.0 };
    let hours: f64 = hours.parse().ok()?;
    let minutes: f64 = minutes.parse().ok()?;
    Some(hours * 60.0 + sign * minutes)
}

/// Returns the names of a list, folded unless they are quoted; `None` if it is no list.
fn schemas(value: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = value.trim();
    if rest.is_empty() {
        return Some(names);
    }
    loop {
        let (name, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let mut name = String::new();
                let mut characters = quoted.char_indices().peekable();
                loop {
                    match characters.next()? {
                        (_, '"') if characters.next_if(|(_, next)| *next == '"').is_some() => {
                            name.push('"');
                        }
                        (at, '"') => break (name, &quoted[at + 1..]),
                        (_, other) => name.push(other),
                    }
                }
            }
            None => {
                let end = rest.find([',', '"']).unwrap_or(rest.len());
                let name = rest[..end].trim_end();
                if name.is_empty() || name.contains(char::is_whitespace) {
                    return None;
                }
                (name.to_lowercase(), &rest[end..])
            }
        };
        names.push(name);
        let after = after.trim_start();
        if after.is_empty() {
            return Some(names);
        }
        rest = after.strip_prefix(',')?.trim_start();
    }
}

fn kilobytes(bytes: usize) -> i64 {
    i64::try_from(bytes / 1024).unwrap_or(i64::MAX)
}

/// Returns a number of bytes in the form that settings are shown in.
fn shown_size(bytes: usize) -> String {
    Unit::Kilobytes.show(kilobytes(bytes))
}

/// Returns the bytes of a value; `None` if it is 0.
fn size(definition: &Definition, value: &str) -> Option<usize> {
    let kilobytes = usize::try_from(definition.read(value).ok()?.number?).ok()?;
    (kilobytes > 0).then(|| kilobytes.saturating_mul(1024))
}

/// Returns the time of a value; `None` if it is 0.
fn limit(definition: &Definition, value: &str) -> Option<Duration> {
    let milliseconds = definition.read(value).ok()?.number?;
    let milliseconds = u64::try_from(milliseconds).ok()?;
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}

impl SessionSettings {
    /// Returns whether a setting that clients are told of may have changed since the last call.
    pub(super) fn take_reports(&mut self) -> bool {
        std::mem::take(&mut self.effects.reports)
    }

    /// Applies a setting after it was set or restored.
    pub(super) fn take_effect(&mut self, name: &str) -> Result<()> {
        let Some(definition) = Definition::named(name) else {
            return Ok(());
        };
        let value = self.values.get(definition, name).unwrap_or_default();
        let value = value.as_str();
        let is_set = self.values.is_set(definition, name);
        let effects = &mut self.effects;
        effects.reports |= known::REPORTED.contains(&definition.name);
        match definition.name {
            "statement_timeout" => effects.statement_limit = limit(definition, value),
            "idle_in_transaction_session_timeout" => {
                effects.idle_in_transaction_limit = limit(definition, value);
            }
            "idle_session_timeout" => effects.idle_limit = limit(definition, value),
            "lock_timeout" => effects.lock_limit = limit(definition, value),
            "synchronous_commit" => {
                effects.durability = Some(match value {
                    "off" => Durability::Relaxed,
                    _ => Durability::Synchronous,
                });
            }
            "default_transaction_isolation" => {
                effects.characteristics.level = Level::named(value).unwrap_or(Level::ReadCommitted);
            }
            "default_transaction_read_only" => {
                effects.characteristics.read_only = value == "on";
            }
            "weft.statement_memory" => effects.statement_memory = size(definition, value),
            "work_mem" => {
                effects.operator_memory = size(definition, value).filter(|_| is_set);
            }
            "max_parallel_workers_per_gather" => {
                effects.helpers_most = value.parse().unwrap_or(usize::MAX);
            }
            "effective_io_concurrency" => {
                effects.read_ahead = value.parse().unwrap_or(READ_AHEAD);
            }
            "weft.longest_slice" => interleave::forget_longest_slice(),
            "weft.interleaving" => effects.is_sequential = value == "off",
            "client_min_messages" => effects.least_told = Severity::named(value),
            "TimeZone" => {
                Arc::make_mut(&mut self.inputs).settings.time_zone = zone(value)?;
                self.share_inputs();
            }
            "DateStyle" => {
                let order = DateOrder::default().with_style(value)?;
                Arc::make_mut(&mut self.inputs).settings.date_order = order;
                self.share_inputs();
            }
            "search_path" => self.follow_search_path(value),
            "role" | "session_authorization" => {
                let role = self.values.get(definition, "role").unwrap_or_default();
                self.follow_user(definition.name, value, &role);
            }
            _ => {}
        }
        Ok(())
    }

    fn follow_search_path(&mut self, value: &str) {
        let user = self.users.current().to_owned();
        let schemas = schemas(value).unwrap_or_default().into_iter();
        let inputs = Arc::make_mut(&mut self.inputs);
        inputs.search_path.schemas = schemas
            .map(|schema| match schema.as_str() {
                "$user" => user.clone(),
                _ => schema,
            })
            .collect();
        inputs.user = user;
        self.share_inputs();
    }

    /// Shares the inputs with other sessions that have the same ones: lookups of plans then compare
    /// addresses.
    fn share_inputs(&mut self) {
        self.inputs = self.database.plan_cache.shared(self.inputs.clone());
    }

    fn follow_user(&mut self, name: &str, value: &str, role: &str) {
        if name == "session_authorization" {
            self.users.set_session(value);
        }
        let role = (name == "role" && role != "none").then_some(role);
        self.users.set_role(role);
        self.effects.reports = true;
        let path = Definition::named("search_path")
            .and_then(|definition| self.values.get(definition, "search_path"));
        self.follow_search_path(&path.unwrap_or_default());
    }
}

impl Session {
    /// Returns the settings that can be asked for.
    pub(in crate::session) fn asked<'s>(&'s self, catalog: &'s Catalog) -> Asked<'s> {
        Asked {
            settings: &self.settings,
            characteristics: self.characteristics(),
            catalog,
        }
    }

    /// Applies a setting of the transaction's own.
    pub(super) fn set_transaction_setting(&mut self, name: &str, value: &str) -> Result<()> {
        let modes = match name {
            "transaction_isolation" => Modes {
                level: Level::named(value),
                ..Modes::default()
            },
            "transaction_read_only" => Modes {
                read_only: read_bool(value),
                ..Modes::default()
            },
            _ => return Ok(()),
        };
        self.set_modes(modes)
    }
}
