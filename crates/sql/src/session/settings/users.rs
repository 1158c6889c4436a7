//! The users of a session: the one that has connected, and those that settings put in its place.

/// The users in whose names a session acts.
pub(in crate::session) struct Users {
    /// User that has connected.
    login: String,
    /// User of SET SESSION AUTHORIZATION.
    session_user: Option<String>,
    /// Role of SET ROLE, if statements are not carried out as the session's user.
    role: Option<String>,
}

impl Users {
    pub(super) fn new(login: &str) -> Self {
        Self {
            login: login.to_owned(),
            session_user: None,
            role: None,
        }
    }

    /// Returns the user that has connected.
    pub(super) fn login(&self) -> &str {
        &self.login
    }

    /// Returns the session's user.
    pub(in crate::session) fn session(&self) -> &str {
        self.session_user.as_ref().unwrap_or(&self.login)
    }

    /// Returns the user as whom statements are carried out.
    pub(in crate::session) fn current(&self) -> &str {
        self.role.as_deref().unwrap_or_else(|| self.session())
    }

    /// Sets the session's user; the empty name stands for the user that has connected.
    pub(super) fn set_session(&mut self, user: &str) {
        self.session_user = (!user.is_empty()).then(|| user.to_owned());
    }

    pub(super) fn set_role(&mut self, role: Option<&str>) {
        self.role = role.map(str::to_owned);
    }
}
