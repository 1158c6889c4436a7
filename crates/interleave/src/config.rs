//! How a worker runs.

/// How many transactions are kept in flight (in the hot rotation) per worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFlight {
    /// Chosen while running: starts at 16, moves where more gets done, and stops
    /// suspending where nothing misses the cache.
    Auto,
    /// Always this many (1 to 1024). With 1 nothing suspends.
    Fixed(usize),
}

/// When the next task takes the place of a finished one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduling {
    /// When the whole batch has finished (paper 000, algorithm 1).
    StrictBatch,
    /// At once.
    #[default]
    Pipelined,
}

/// Settings of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerConfig {
    /// Tasks in flight. Default: [`InFlight::Auto`].
    pub in_flight: InFlight,
    /// Default: [`Scheduling::Pipelined`].
    pub scheduling: Scheduling,
    /// Tasks that may be open at once, in flight or parked; more wait in the
    /// queue. Range 1 to 2^20, default 65,536.
    pub open_tasks_max: usize,
    /// How long an idle worker polls before it sleeps in the kernel, in
    /// microseconds. Default 20.
    pub idle_spin_us: u32,
}

/// The most tasks a worker keeps in flight.
pub const IN_FLIGHT_MAX: usize = 1024;

impl Default for WorkerConfig {
    fn default() -> WorkerConfig {
        WorkerConfig {
            in_flight: InFlight::Auto,
            scheduling: Scheduling::Pipelined,
            open_tasks_max: 1 << 16,
            idle_spin_us: 20,
        }
    }
}

impl WorkerConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// A sentence that names the field, its value and its range.
    pub fn validate(&self) -> Result<(), String> {
        if let InFlight::Fixed(n) = self.in_flight
            && !(1..=IN_FLIGHT_MAX).contains(&n)
        {
            return Err(format!(
                "in_flight is {n}; it must lie between 1 and {IN_FLIGHT_MAX}"
            ));
        }
        if !(1..=1 << 20).contains(&self.open_tasks_max) {
            return Err(format!(
                "open_tasks_max is {}; it must lie between 1 and 1048576",
                self.open_tasks_max
            ));
        }
        Ok(())
    }
}
