//! How a worker runs.

/// How many transactions are kept in flight (in the hot rotation) per worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFlight {
    /// Chosen while running: starts at 8, moves where more gets done in the time that it
    /// takes, and stops suspending where nothing misses the cache.
    Auto,
    /// Always this many (1 to 1024). With 1 nothing suspends.
    Fixed(usize),
}

/// When the next task takes the place of a finished one, or of one that waits for the device
/// ([`Wait::Device`](crate::Wait::Device)). Tasks that wait for other events have left the
/// rotation in all of them, and come back to it when they are woken. What is said of reads that
/// wait or are refused, whoever carries out the reads sees to
/// ([`WorkerLocal::schedule`](crate::WorkerLocal::schedule)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduling {
    /// One task at a time; while it waits for the device no other begins, and the worker
    /// polls until it is ready (paper 001, section 6.2, "sequential"). [`InFlight`] does not
    /// matter.
    Sequential,
    /// When the whole batch has finished, with those that wait for the device (paper 000,
    /// algorithm 1, and paper 001, section 4.2, "storage-aware batch"): meanwhile the others
    /// are resumed, and completions are looked at before they are.
    StrictBatch,
    /// At once, of a finished one; who waits for the device keeps his place of the number in
    /// flight (paper 001, section 4.3, "pipelined"). So that there are places left for those
    /// who need none of the device, only some may wait for it: who is one too many does not
    /// get his read begun until one of them has ended, and waits for that in his place.
    Reserved {
        /// How many reads may be under way. Range 1 to 1024; the paper has half of those in
        /// flight.
        device_slots: usize,
    },
    /// At once, also of one that waits for the device: that is in a queue of its own. When its
    /// read has ended, it waits in a staging area for a place in the rotation, before those
    /// that are new (paper 001, section 4.4, "dual-queue pipelined"). If the queue is full, the
    /// read is refused, and the task has to give up.
    DualQueue {
        /// How many reads may be under way. Range 1 to 1024; the paper has 16.
        cold_slots: usize,
        /// Completions are looked at when so many tasks have finished, when nothing else is
        /// to be done, or when no task has finished for a long time. At least 1; the paper
        /// has 8.
        visit_interval: u32,
    },
    /// At once, also of one that waits for the device. That is back in the rotation as soon as
    /// it is seen that its read has ended; no read is refused. How many reads are under way
    /// and how often completions are looked at is found while running: the latter as often as
    /// brings some each time, and at least every [`VISIT_DELAY_US_MAX`] microseconds or so.
    #[default]
    Pipelined,
}

impl Scheduling {
    /// The slots named in it, and by what name.
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
    /// Tasks that may be open at once, in flight or parked; more wait in the
    /// queue. Range 1 to 2^20, default 65,536.
    pub open_tasks_max: usize,
    /// How long an idle worker polls before it sleeps in the kernel, in
    /// microseconds. Default 20.
    pub idle_spin_us: u32,
    /// A task that has had the worker for so long, in microseconds, since it began or since
    /// its client's last request, is *batch* from then on: it takes nobody's place of those in
    /// flight, and interactive tasks go first, within their share. At least 1, default 2,000:
    /// some ten slices.
    pub batch_after_us: u32,
    /// Which share of the worker batch tasks have while interactive ones want all of it, in
    /// percent. Range 1 to 99, default 50.
    pub batch_percent: u8,
}

/// The most tasks a worker keeps in flight.
pub const IN_FLIGHT_MAX: usize = 1024;

/// About how long a completion is not looked at, at most, under [`Scheduling::Pipelined`], in
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
            batch_percent: 50,
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
        if !(1..=1 << 20).contains(&self.open_tasks_max) {
            return Err(format!(
                "open_tasks_max is {}; it must lie between 1 and 1048576",
                self.open_tasks_max
            ));
        }
        Ok(())
    }
}
