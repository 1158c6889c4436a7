//! CREATE, ALTER and DROP of roles; users and groups are roles.

use std::fmt;

use sqlparser::tokenizer::Token;
use types::{Result, SqlError};

use super::{Command, Reader};
use crate::{refusal::refuse_redundant, reserved::NameKind};

/// A password as it was written. Nothing shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(pub String);

impl fmt::Debug for Password {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Password")
    }
}

/// The attributes that a statement gives a role; `None` where it says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RoleOptions {
    /// NULL takes the password away.
    pub password: Option<Option<Password>>,
    /// `LOGIN` or `NOLOGIN`: whether the role may connect.
    pub can_login: Option<bool>,
    /// `SUPERUSER` or `NOSUPERUSER`: whether the role passes all permission checks.
    pub is_superuser: Option<bool>,
    /// `CREATEROLE` or `NOCREATEROLE`: whether the role may create, alter and drop roles.
    pub can_create_roles: Option<bool>,
    /// `CREATEDB` or `NOCREATEDB`: whether the role may create databases.
    pub can_create_databases: Option<bool>,
    /// `INHERIT` or `NOINHERIT`: whether the role has the privileges of roles it is a member of.
    pub inherits: Option<bool>,
    /// Whether an attribute is given more than once.
    pub is_redundant: bool,
}

impl RoleOptions {
    /// Passes if no attribute is given more than once.
    ///
    /// # Errors
    /// 42601, which is no error of grammar.
    pub fn consistent(&self) -> Result<()> {
        refuse_redundant(self.is_redundant)
    }
}

/// A role by its name, or by what it is to the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleName {
    /// A role by its name.
    Named(String),
    /// `CURRENT_USER` or `CURRENT_ROLE`: the current user of the session.
    CurrentUser,
    /// `SESSION_USER`: the session user.
    SessionUser,
}

pub(super) fn read(reader: &mut Reader<'_, '_>) -> Result<Option<Command>> {
    for verb in ["create", "alter", "drop"] {
        for kind in ["role", "user", "group"] {
            if reader.sees(&[verb, kind, "mapping"]) {
                return Ok(None);
            }
            if reader.eat(&[verb, kind]) {
                let command = match verb {
                    "create" => create(reader, kind == "user")?,
                    "alter" => alter(reader, kind == "group")?,
                    _ => drop(reader)?,
                };
                return reader.end().map(|()| Some(command));
            }
        }
    }
    Ok(None)
}

fn create(reader: &mut Reader<'_, '_>, can_login: bool) -> Result<Command> {
    let name = reader.name_of(NameKind::Role)?;
    let mut options = options(reader)?;
    options.can_login.get_or_insert(can_login);
    Ok(Command::CreateRole { name, options })
}

fn alter(reader: &mut Reader<'_, '_>, is_group: bool) -> Result<Command> {
    let role = match !is_group && reader.eat(&["all"]) {
        true => None,
        false => Some(role_name(reader)?),
    };
    refuse_clauses(
        reader,
        &[
            (&["set"], "ALTER ROLE ... SET"),
            (&["reset"], "ALTER ROLE ... RESET"),
            (&["in", "database"], "ALTER ROLE ... IN DATABASE"),
        ],
    )?;
    // Settings alone are those of all roles.
    let role = role.ok_or_else(|| reader.unexpected())?;
    if reader.eat(&["rename", "to"]) {
        let name = reader.name_of(NameKind::Role)?;
        return Ok(Command::RenameRole { role, name });
    }
    refuse_clauses(
        reader,
        &[
            (&["add", "user"], "ALTER GROUP ... ADD USER"),
            (&["drop", "user"], "ALTER GROUP ... DROP USER"),
        ],
    )?;
    let options = options(reader)?;
    Ok(Command::AlterRole { role, options })
}

/// Reads a role's name, or the words for one of the session's.
fn role_name(reader: &mut Reader<'_, '_>) -> Result<RoleName> {
    Ok(
        if reader.eat(&["current_user"]) || reader.eat(&["current_role"]) {
            RoleName::CurrentUser
        } else if reader.eat(&["session_user"]) {
            RoleName::SessionUser
        } else {
            RoleName::Named(reader.name_of(NameKind::Role)?)
        },
    )
}

/// Refuses the clause that comes next, if it is one of these.
fn refuse_clauses(reader: &Reader<'_, '_>, clauses: &[(&[&str], &str)]) -> Result<()> {
    match clauses.iter().find(|(words, _)| reader.sees(words)) {
        Some((_, name)) => Err(SqlError::unsupported(name)),
        None => Ok(()),
    }
}

fn drop(reader: &mut Reader<'_, '_>) -> Result<Command> {
    let if_exists = reader.eat(&["if", "exists"]);
    let mut names = vec![role_name(reader)?];
    while reader.eat_token(&Token::Comma) {
        names.push(role_name(reader)?);
    }
    Ok(Command::DropRoles { names, if_exists })
}

fn options(reader: &mut Reader<'_, '_>) -> Result<RoleOptions> {
    let mut options = RoleOptions::default();
    reader.eat(&["with"]);
    while reader.token().is_some() {
        option(reader, &mut options)?;
    }
    Ok(options)
}

/// Reads one more option.
fn option(reader: &mut Reader<'_, '_>, options: &mut RoleOptions) -> Result<()> {
    let flags = [
        ("login", &mut options.can_login),
        ("superuser", &mut options.is_superuser),
        ("createrole", &mut options.can_create_roles),
        ("createdb", &mut options.can_create_databases),
        ("inherit", &mut options.inherits),
    ];
    for (word, flag) in flags {
        let value = if reader.eat(&[word]) {
            true
        } else if reader.eat(&[&format!("no{word}")]) {
            false
        } else {
            continue;
        };
        options.is_redundant |= flag.replace(value).is_some();
        return Ok(());
    }
    // No role has these rights, so there is nothing to take away.
    if reader.eat(&["noreplication"]) || reader.eat(&["nobypassrls"]) {
        return Ok(());
    }
    let unsupported: &[(&[&str], &str)] = &[
        (&["replication"], "REPLICATION"),
        (&["bypassrls"], "BYPASSRLS"),
        (&["connection", "limit"], "CONNECTION LIMIT"),
        (&["valid", "until"], "VALID UNTIL"),
        (&["in", "role"], "IN ROLE"),
        (&["in", "group"], "IN GROUP"),
        (&["role"], "ROLE"),
        (&["user"], "USER"),
        (&["admin"], "ADMIN"),
        (&["sysid"], "SYSID"),
        (&["unencrypted", "password"], "UNENCRYPTED PASSWORD"),
    ];
    refuse_clauses(reader, unsupported)?;
    reader.eat(&["encrypted"]);
    reader.expect(&["password"])?;
    let password = match reader.eat(&["null"]) {
        true => None,
        false => Some(reader.string().ok_or_else(|| reader.unexpected())?),
    };
    let password = password.map(Password);
    options.is_redundant |= options.password.replace(password).is_some();
    Ok(())
}
