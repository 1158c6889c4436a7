//! Roles, as which clients connect.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Comments, ObjectId};

/// A role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// Number of the role.
    pub id: ObjectId,
    /// Name of the role.
    pub name: Arc<str>,
    /// Verifier of the password, as PostgreSQL writes it:
    /// `SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>`. `None` if no password is set.
    pub verifier: Option<Arc<str>>,
    /// Whether the role may connect.
    pub can_login: bool,
    /// Whether the role may do everything.
    pub is_superuser: bool,
    /// Whether the role may create, change and drop roles that are no superusers.
    #[serde(default)]
    pub can_create_roles: bool,
    /// Whether the role may create databases, of which there is one.
    #[serde(default)]
    pub can_create_databases: bool,
    /// Whether the role has the rights of the roles that it is a member of. There are no members
    /// yet.
    #[serde(default = "yes")]
    pub inherits: bool,
    /// Comments on the role.
    #[serde(default)]
    pub comments: Comments,
}

fn yes() -> bool {
    true
}
