//! Roles: who may connect.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Comments, ObjectId};

/// A role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// Its number.
    pub id: ObjectId,
    /// Its name.
    pub name: Arc<str>,
    /// What its password is checked against, as PostgreSQL writes it:
    /// `SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>`. `None`: no password is set.
    pub verifier: Option<Arc<str>>,
    /// It may connect.
    pub can_login: bool,
    /// Nothing is refused to it.
    pub is_superuser: bool,
    /// It may create, change and drop roles that are no superusers.
    #[serde(default)]
    pub can_create_roles: bool,
    /// It may create databases, of which there is one.
    #[serde(default)]
    pub can_create_databases: bool,
    /// It has what the roles have that it is a member of. There are no members yet.
    #[serde(default = "yes")]
    pub inherits: bool,
    /// What is said of it and its parts.
    #[serde(default)]
    pub comments: Comments,
}

fn yes() -> bool {
    true
}
