//! Counters of a worker: plain numbers that it alone writes, published now and
//! then, summed by readers.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Work of workers since they started. Sums are over workers.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct WorkerStats { $($(#[$doc])* pub $name: u64),* }

        impl WorkerStats {
            /// Adds the counters of `other`. The largest frame stays the largest, and the longest
            /// slice the longest.
            pub fn merge(&mut self, other: &WorkerStats) {
                let frame_bytes_max = self.frame_bytes_max.max(other.frame_bytes_max);
                let slice_ns_max = self.slice_ns_max.max(other.slice_ns_max);
                $(self.$name += other.$name;)*
                self.frame_bytes_max = frame_bytes_max;
                self.slice_ns_max = slice_ns_max;
            }
        }

        #[derive(Default)]
        #[repr(align(128))]
        pub(crate) struct Published { $($name: AtomicU64),* }

        impl Published {
            pub(crate) fn publish(&self, stats: &WorkerStats) {
                $(self.$name.store(stats.$name, Ordering::Relaxed);)*
            }

            pub(crate) fn read(&self) -> WorkerStats {
                WorkerStats { $($name: self.$name.load(Ordering::Relaxed)),* }
            }
        }
    };
}

counters! {
    /// Tasks that ran to their end.
    tasks_finished,
    /// Tasks that panicked.
    tasks_panicked,
    /// Tasks dropped because no handle waited for them any more.
    tasks_cancelled,
    /// Times a slot was resumed.
    resumptions,
    /// Waits for memory: suspensions behind a prefetch, and turns given to other tasks.
    waits_memory,
    /// Waits for a read of the device, or for permission to start one.
    waits_device,
    /// Waits for events of any kind, those listed next included: timers, other tasks.
    waits_event,
    /// Waits for a lock ([`Wait::Lock`](crate::Wait::Lock)), included in `waits_event`.
    waits_lock,
    /// Waits for a log ([`Wait::Log`](crate::Wait::Log)), included in `waits_event`.
    waits_log,
    /// Waits for a client ([`Wait::Client`](crate::Wait::Client)), included in `waits_event`.
    waits_client,
    /// Times a worker went to sleep in the kernel.
    sleeps,
    /// Tasks the workers keep in flight now (a level, not a count).
    in_flight,
    /// Tasks that became batch ([`WorkerConfig::batch_after_us`](crate::WorkerConfig)).
    tasks_batch,
    /// Slices longer than [`SLICE_US_MAX`](crate::SLICE_US_MAX): a task held its worker.
    slices_long,
    /// Nanoseconds of the longest slice (a level, not a count); see
    /// [`Handle::longest_slice`](crate::Handle::longest_slice).
    slice_ns_max,
    /// Bytes of the largest root future seen (a level, not a count).
    frame_bytes_max,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_added_and_levels_at_most_are_kept() {
        // Frames were added too: two workers seemed to have frames of twice the size.
        let of = |tasks_finished, most| WorkerStats {
            tasks_finished,
            frame_bytes_max: most,
            slice_ns_max: 1000 - most,
            ..WorkerStats::default()
        };
        let mut sum = of(3, 500);
        sum.merge(&of(4, 200));
        assert_eq!((sum.tasks_finished, sum.frame_bytes_max), (7, 500));
        assert_eq!(sum.slice_ns_max, 800);
    }
}
