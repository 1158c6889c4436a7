//! The wall clock that measures expiries.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use super::Ttl;

/// A point in time, in microseconds since the beginning of 1970 (UTC).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(pub u64);

impl WallTime {
    /// Expiry of a record that never expires.
    pub(crate) const NEVER: WallTime = WallTime(u64::MAX);
    /// Mark for a time that was not read yet: no clock returns it.
    pub(crate) const UNKNOWN: WallTime = WallTime(u64::MAX);

    pub(crate) fn after(self, ttl: Ttl) -> WallTime {
        WallTime(self.0.saturating_add(ttl.micros()))
    }
}

impl From<SystemTime> for WallTime {
    /// Converts a system time; times before 1970 become its beginning.
    fn from(time: SystemTime) -> WallTime {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        WallTime(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }
}

impl From<WallTime> for SystemTime {
    /// Converts to a system time; times that the system cannot represent become the latest one,
    /// approximately.
    fn from(time: WallTime) -> SystemTime {
        let latest = Duration::from_secs(i64::MAX as u64 / 4);
        let since = Duration::from_micros(time.0).min(latest);
        UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
    }
}

/// A wall clock: the system's, or one that is set by hand. Clones are the same clock.
#[derive(Clone, Default)]
pub struct WallClock(Option<Arc<AtomicU64>>);

impl WallClock {
    /// Returns the operating system's clock.
    pub fn system() -> WallClock {
        WallClock(None)
    }

    /// Returns a clock that stands still at a time until it is set to another: for tests.
    pub fn manual(time: WallTime) -> WallClock {
        WallClock(Some(Arc::new(AtomicU64::new(time.0))))
    }

    /// Returns the current time.
    pub fn now(&self) -> WallTime {
        match &self.0 {
            None => SystemTime::now().into(),
            // Relaxed: a thread that must see a change learns of it by other means.
            Some(time) => WallTime(time.load(Ordering::Relaxed)),
        }
    }

    /// Sets a clock that is set by hand; no effect on the system's clock.
    pub fn set(&self, time: WallTime) {
        if let Some(now) = &self.0 {
            now.store(time.0, Ordering::Relaxed);
        }
    }

    /// Moves a clock that is set by hand on; no effect on the system's clock.
    pub fn advance(&self, by: Duration) {
        let micros = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
        self.set(WallTime(self.now().0.saturating_add(micros)));
    }
}

impl PartialEq for WallClock {
    /// Whether the two are the same clock.
    fn eq(&self, other: &WallClock) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl Eq for WallClock {}

impl fmt::Debug for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("WallClock(system)"),
            Some(_) => write!(f, "WallClock(by hand, at {})", self.now().0),
        }
    }
}
