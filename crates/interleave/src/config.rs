//! Configuration of a worker.

/// Number of tasks kept in flight (in the hot rotation) per worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFlight {
    /// Chosen while running: starts at 8, moves to where more gets done per unit of time, and stops
    /// suspending where nothing misses the cache.
    Auto,
    /// Always this many (1 to 1024). With 1 no task suspends.
    Fixed(usize),
}

/// Rule by which the next task takes the place of a finished one, or of one that waits for the
/// device ([`Wait::Device`](crate::Wait::Device)). Under all rules, tasks that wait for other
/// events have left the rotation, and come back to it when they are woken. The local carries out
/// the reads, hence also the waits and refusals of reads described here
/// ([`WorkerLocal::schedule`](crate::WorkerLocal::schedule)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduling {
    /// One task at a time; while it waits for the device no other begins, and the worker polls
    /// until the read is ready (paper 001, section 6.2, "sequential"). [`InFlight`] is ignored.
    Sequential,
    /// New tasks begin when the whole batch has finished, tasks that wait for the device included
    /// (paper 000, algorithm 1, and paper 001, section 4.2, "storage-aware batch"): meanwhile the
    /// other tasks of the batch are resumed, and the worker looks for completions before each
    /// round.
    StrictBatch,
    /// A finished task is replaced at once; a task that waits for the device keeps its place of the
    /// number in flight (paper 001, section 4.3, "pipelined"). To leave places for tasks that do
    /// not need the device, only some tasks may wait for it: the read of a task in excess does not
    /// begin until another read has ended, and the task waits for that in its place.
    Reserved {
        /// Maximum reads under way. Range 1 to 1024; the paper has half of those in flight.
        device_slots: usize,
    },
    /// A finished task is replaced at once, and so is a task that waits for the device: it moves to
    /// a queue of its own. After its read has ended, it waits in a staging area for a place in the
    /// rotation, before new tasks (paper 001, section 4.4, "dual-queue pipelined"). If the queue is
    /// full, the read is refused, and the task has to give up.
    DualQueue {
        /// Maximum reads under way. Range 1 to 1024; the paper has 16.
        cold_slots: usize,
        /// Finished tasks from one look for completions to the next; the worker also looks when
        /// nothing else is to be done, or when no task has finished for a long time. At least 1;
        /// the paper has 8.
        visit_interval: u32,
    },
    /// A finished task is replaced at once, and so is a task that waits for the device. The latter
    /// is back in the rotation as soon as the worker sees that its read has ended; no read is
    /// refused. The number of reads under way and the frequency of looks for completions are found
    /// while running: looks come so often that each brings some completions, and at least every
    /// [`VISIT_DELAY_US_MAX`] microseconds or so.
    #[default]
    Pipelined,
}

impl Scheduling {
    /// Returns the number of device slots of this rule, with the name of its field.
    fn slots(self) -> Option<(&'static str, usize)> {
        match self {
            Scheduling::Reserved { device_slots } => Some(("device_slots", device_slots)),
            Scheduling::DualQueue { cold_slots, .. } => Some(("cold_slots", cold_slots)),
            Scheduling::Sequential | Scheduling::StrictBatch | Scheduling::Pipelined => None,
        }
    }
}

/// Settings of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerConfig {
    /// Tasks in flight. Default: [`InFlight::Auto`].
    pub in_flight: InFlight,
    /// Default: [`Scheduling::Pipelined`].
    pub scheduling: Scheduling,
    /// Maximum tasks open at once, in flight or parked; more wait in the queue. Range 1 to 2^20,
    /// default 65,536.
    pub open_tasks_max: usize,
    /// Time for which an idle worker polls before it sleeps in the kernel, in microseconds. Default 20.
    pub idle_spin_us: u32,
    /// Time on the worker, in microseconds, since a task began or since its client's last request,
    /// after which the task is *batch*: it takes no place of those in flight, and interactive tasks
    /// go first, within their share. At least 1, default 2,000: some ten slices.
    pub batch_after_us: u32,
    /// Share of the worker that batch tasks have while interactive tasks want all of it, in
    /// percent. Range 1 to 99, default 10: transactions beside an analytical query keep nine tenths of what they had.
    pub batch_percent: u8,
    /// Share of the worker from which on it is in demand if interactive tasks have it, in percent
    /// ([`is_in_demand`](crate::is_in_demand)). Range 1 to 100, where 100 is never; default 25.
    pub demand_percent: u8,
}

/// Maximum tasks that a worker keeps in flight.
pub const IN_FLIGHT_MAX: usize = 1024;

/// Longest time until a completion is looked at under [`Scheduling::Pipelined`], roughly, in
/// microseconds.
pub const VISIT_DELAY_US_MAX: u64 = 200;

impl Default for WorkerConfig {
    fn default() -> WorkerConfig {
        WorkerConfig {
            in_flight: InFlight::Auto,
            scheduling: Scheduling::Pipelined,
            open_tasks_max: 1 << 16,
            idle_spin_us: 20,
            batch_after_us: 2000,
            batch_percent: 10,
            demand_percent: 25,
        }
    }
}

impl WorkerConfig {
    /// Checks the ranges of all fields.
    ///
    /// # Errors
    /// Returns a sentence that names the field, its value and its range.
    pub fn validate(&self) -> Result<(), String> {
        if let InFlight::Fixed(n) = self.in_flight
            && !(1..=IN_FLIGHT_MAX).contains(&n)
        {
            return Err(format!(
                "in_flight is {n}; it must lie between 1 and {IN_FLIGHT_MAX}"
            ));
        }
        if let Some((name, slots)) = self.scheduling.slots()
            && !(1..=IN_FLIGHT_MAX).contains(&slots)
        {
            return Err(format!(
                "{name} is {slots}; it must lie between 1 and {IN_FLIGHT_MAX}"
            ));
        }
        if let Scheduling::DualQueue {
            visit_interval: 0, ..
        } = self.scheduling
        {
            return Err("visit_interval is 0; it must be at least 1".into());
        }
        if self.batch_after_us == 0 {
            return Err("batch_after_us is 0; it must be at least 1".into());
        }
        if !(1..=99).contains(&self.batch_percent) {
            return Err(format!(
                "batch_percent is {}; it must lie between 1 and 99",
                self.batch_percent
            ));
        }
        if !(1..=100).contains(&self.demand_percent) {
            return Err(format!(
                "demand_percent is {}; it must lie between 1 and 100",
                self.demand_percent
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
