//! CREATE, ALTER and DROP of roles, and their passwords.
//!
//! A verifier is kept of a password, which a client's proof is checked with, and never the
//! password. Rights to connect and to manage roles are checked. There are no other privileges:
//! every role may read and change every table, and a user that makes a role that is no superuser
//! gets a warning of this.

use std::sync::Arc;

use types::{Result, SqlError, SqlState};

use super::{Notice, Session, Severity, Sink};
use catalog::{Behavior, Comments, ObjectId, Role, Target};
use syntax::command::{Password, RoleName, RoleOptions};

fn denied(message: impl Into<std::borrow::Cow<'static, str>>) -> SqlError {
    SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
}

pub(super) fn no_role(name: &str) -> SqlError {
    let message = format!("role \"{name}\" does not exist");
    SqlError::new(SqlState::UNDEFINED_OBJECT, message)
}

/// Checks that a name can be that of a role.
///
/// # Errors
/// 42939 for names that mean something else.
fn check_name(name: &str) -> Result<()> {
    let is_system = name.starts_with("pg_");
    if !is_system && name != "public" && name != "none" {
        return Ok(());
    }
    let message = format!("role name \"{name}\" is reserved");
    let error = SqlError::new(SqlState::RESERVED_NAME, message);
    Err(match is_system {
        true => error.detail("Role names starting with \"pg_\" are reserved."),
        false => error,
    })
}

impl Session {
    /// Checks that a role can be given a name.
    ///
    /// # Errors
    /// 42939 for names that mean something else; 42710 if another role has it.
    fn check_new_role(&self, name: &str) -> Result<()> {
        check_name(name)?;
        if self.transaction.catalog().role_named(name).is_some() {
            let message = format!("role \"{name}\" already exists");
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, message));
        }
        Ok(())
    }

    /// Returns the role as which statements are carried out.
    fn acting(&self) -> Result<Arc<Role>> {
        self.role_of(&RoleName::CurrentUser)
    }

    fn role_of(&self, role: &RoleName) -> Result<Arc<Role>> {
        let name = match role {
            RoleName::Named(name) => name,
            RoleName::CurrentUser => self.settings.users().current(),
            RoleName::SessionUser => self.settings.users().session(),
        };
        let catalog = self.transaction.catalog();
        catalog
            .role_named(name)
            .cloned()
            .ok_or_else(|| no_role(name))
    }

    /// Returns the verifier of a password; `None` for an empty one.
    fn verifier_of(
        &self,
        password: Option<&Password>,
        sink: &mut impl Sink,
    ) -> Result<Option<Arc<str>>> {
        let Some(Password(password)) = password else {
            return Ok(None);
        };
        if password.is_empty() {
            let notice = Notice {
                severity: Severity::Notice,
                report: SqlError::new(
                    SqlState::SUCCESSFUL_COMPLETION,
                    "empty string is not a valid password, clearing password",
                ),
            };
            self.tell(sink, &notice);
            return Ok(None);
        }
        let keep = self
            .passwords
            .ok_or_else(|| SqlError::unsupported("a password without a server"))?;
        Ok(Some(keep(password)?.into()))
    }

    fn warn_of_privileges(&self, role: &str, sink: &mut impl Sink) {
        let message = format!("role \"{role}\" can read and change all tables");
        let mut notice = Notice::warning(SqlState::WARNING, message);
        notice.report = notice
            .report
            .detail("Privileges on tables are not supported, so none are checked.");
        self.tell(sink, &notice);
    }

    pub(super) async fn create_role(
        &mut self,
        name: &str,
        options: &RoleOptions,
        sink: &mut impl Sink,
    ) -> Result<()> {
        self.may_write("CREATE ROLE")?;
        options.consistent()?;
        self.begin()?;
        let acting = self.acting()?;
        let is_superuser = options.is_superuser == Some(true);
        if is_superuser && !acting.is_superuser {
            return Err(denied("must be superuser to create superusers"));
        }
        if !acting.is_superuser && !acting.can_create_roles {
            return Err(denied("permission denied to create role"));
        }
        self.check_new_role(name)?;
        let password = options.password.as_ref().and_then(Option::as_ref);
        let role = Role {
            id: ObjectId::default(),
            name: name.into(),
            verifier: self.verifier_of(password, sink)?,
            can_login: options.can_login == Some(true),
            is_superuser,
            can_create_roles: options.can_create_roles == Some(true),
            can_create_databases: options.can_create_databases == Some(true),
            inherits: options.inherits != Some(false),
            comments: Comments::default(),
        };
        self.transaction.ddl()?.create_role(role).await?;
        if !is_superuser {
            self.warn_of_privileges(name, sink);
        }
        Ok(())
    }

    pub(super) async fn alter_role(
        &mut self,
        role: &RoleName,
        options: &RoleOptions,
        sink: &mut impl Sink,
    ) -> Result<()> {
        self.may_write("ALTER ROLE")?;
        options.consistent()?;
        self.begin()?;
        let acting = self.acting()?;
        let role = self.role_of(role)?;
        let concerns_superusers = role.is_superuser || options.is_superuser.is_some();
        if concerns_superusers && !acting.is_superuser {
            return Err(denied(
                "must be superuser to alter superuser roles or change superuser attribute",
            ));
        }
        let password_alone = RoleOptions {
            password: options.password.clone(),
            ..RoleOptions::default()
        };
        let is_own_password = acting.id == role.id && *options == password_alone;
        if !acting.is_superuser && !acting.can_create_roles && !is_own_password {
            return Err(denied("permission denied"));
        }
        if role.id == ObjectId::FIRST_ROLE && options.is_superuser == Some(false) {
            return Err(SqlError::unsupported(
                "taking SUPERUSER from the first role of a database",
            ));
        }
        let verifier = match &options.password {
            None => None,
            Some(password) => Some(self.verifier_of(password.as_ref(), sink)?),
        };
        let edit = |role: &mut Role| {
            if let Some(verifier) = verifier {
                role.verifier = verifier;
            }
            let flags = [
                (options.can_login, &mut role.can_login),
                (options.is_superuser, &mut role.is_superuser),
                (options.can_create_roles, &mut role.can_create_roles),
                (options.can_create_databases, &mut role.can_create_databases),
                (options.inherits, &mut role.inherits),
            ];
            for (value, flag) in flags {
                *flag = value.unwrap_or(*flag);
            }
        };
        self.transaction.ddl()?.alter_role(role.id, edit).await?;
        if options.is_superuser == Some(false) {
            self.warn_of_privileges(&role.name, sink);
        }
        Ok(())
    }

    pub(super) async fn rename_role(&mut self, role: &RoleName, name: &str) -> Result<()> {
        self.may_write("ALTER ROLE")?;
        self.begin()?;
        let acting = self.acting()?;
        let role = self.role_of(role)?;
        if role.is_superuser && !acting.is_superuser {
            return Err(denied("must be superuser to rename superusers"));
        }
        if !acting.is_superuser && !acting.can_create_roles {
            return Err(denied("permission denied to rename role"));
        }
        if *role.name == *self.settings.users().session() {
            return Err(SqlError::unsupported("renaming the session's user"));
        }
        if *role.name == *self.settings.users().current() {
            return Err(SqlError::unsupported("renaming the current user"));
        }
        self.check_new_role(name)?;
        self.transaction.ddl()?.rename(role.id, name).await
    }

    pub(super) async fn drop_roles(
        &mut self,
        names: &[RoleName],
        if_exists: bool,
        sink: &mut impl Sink,
    ) -> Result<()> {
        self.may_write("DROP ROLE")?;
        self.begin()?;
        let acting = self.acting()?;
        if !acting.is_superuser && !acting.can_create_roles {
            return Err(denied("permission denied to drop role"));
        }
        let mut targets = Vec::with_capacity(names.len());
        for name in names {
            let RoleName::Named(name) = name else {
                let message = "cannot use special role specifier in DROP ROLE";
                return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
            };
            let catalog = self.transaction.catalog();
            let Some(role) = catalog.role_named(name) else {
                if !if_exists {
                    return Err(no_role(name));
                }
                let message = format!("role \"{name}\" does not exist, skipping");
                let report = SqlError::new(SqlState::SUCCESSFUL_COMPLETION, message);
                let severity = Severity::Notice;
                self.tell(sink, &Notice { severity, report });
                continue;
            };
            let in_use = |who: &str| {
                let message = format!("{who} user cannot be dropped");
                Err(SqlError::new(SqlState::OBJECT_IN_USE, message))
            };
            if *role.name == *self.settings.users().current() {
                return in_use("current");
            }
            if *role.name == *self.settings.users().session() {
                return in_use("session");
            }
            if role.is_superuser && !acting.is_superuser {
                return Err(denied("must be superuser to drop superusers"));
            }
            if role.id == ObjectId::FIRST_ROLE {
                let message = format!(
                    "cannot drop role {name} because it is required by the database system"
                );
                return Err(SqlError::new(
                    SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                    message,
                ));
            }
            targets.push(Target::Object(role.id));
        }
        match targets.is_empty() {
            true => Ok(()),
            false => {
                let ddl = self.transaction.ddl()?;
                ddl.drop(&targets, Behavior::Restrict).await.map(drop)
            }
        }
    }
}
