//! The wall clock that expiries are measured by.

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
    /// What expires then never does.
    pub(crate) const NEVER: WallTime = WallTime(u64::MAX);
    /// Nobody has looked: no clock says that.
    pub(crate) const UNKNOWN: WallTime = WallTime(u64::MAX);

    pub(crate) fn after(self, ttl: Ttl) -> WallTime {
        WallTime(self.0.saturating_add(ttl.micros()))
    }
}

impl From<SystemTime> for WallTime {
    /// What came before 1970 is its beginning.
    fn from(time: SystemTime) -> WallTime {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        WallTime(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }
}

impl From<WallTime> for SystemTime {
    /// What the system cannot represent is the latest that it can, about.
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
    /// The operating system's.
    pub fn system() -> WallClock {
        WallClock(None)
    }

    /// One that stands still at a time until it is set to another: for tests.
    pub fn manual(time: WallTime) -> WallClock {
        WallClock(Some(Arc::new(AtomicU64::new(time.0))))
    }

    /// What time it is.
    pub fn now(&self) -> WallTime {
        match &self.0 {
            None => SystemTime::now().into(),
            // Relaxed: who must see a change is told of it by other means.
            Some(time) => WallTime(time.load(Ordering::Relaxed)),
        }
    }

    /// Sets a clock that is set by hand; the system's goes on as it does.
    pub fn set(&self, time: WallTime) {
        if let Some(now) = &self.0 {
            now.store(time.0, Ordering::Relaxed);
        }
    }

    /// Moves a clock that is set by hand on.
    pub fn advance(&self, by: Duration) {
        let micros = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
        self.set(WallTime(self.now().0.saturating_add(micros)));
    }
}

impl PartialEq for WallClock {
    /// Whether they are the same clock.
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
