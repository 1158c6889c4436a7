//! Roles: who may connect.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ObjectId;

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
}
