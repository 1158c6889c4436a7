//! Admission: which task gets a slot, and when.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::atomic::Ordering,
    time::Duration,
};

use crate::{
    class::Class,
    config::Scheduling,
    slice::Label,
    slot::Slot,
    stage::Stage,
    task::{Place, drop_quietly, end},
    worker::{Running, Whereabouts, Worker, WorkerLocal},
};

/// Tasks that may wait for others, as a multiple of the number in flight.
const WAITING_MAX: usize = 2;

/// Longest time that the first task in the queue waits for room, since a task of the queue was last begun.
const ADMISSION_DELAY_MAX: Duration = Duration::from_millis(1);

impl<L: WorkerLocal> Worker<L> {
    pub(super) fn ended(&self) {
        self.inbox.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Begins tasks while there is room.
    pub fn admit(&mut self) {
        let _running = Running::new();
        if self.config.scheduling == Scheduling::StrictBatch && !self.is_at_rest() {
            return;
        }
        self.unstage();
        while (self.hot[Class::Interactive.index()].len() < self.hot_max() || self.is_overdue())
            && self.has_supply()
            && self.local.admits()
        {
            let Some(slot) = self.vacant() else { return };
            if self.fill_contained(&slot) {
                self.slots[slot.index() as usize].1 = Whereabouts::Hot;
                self.join(&slot, Stage::default());
            } else {
                self.release(slot.index());
            }
        }
    }

    /// Returns whether the first task in the queue has waited for so long that it may begin though there is no room:
    /// connections may want more places than there are, and a connection that has a place may keep it. One task in
    /// [`ADMISSION_DELAY_MAX`] begins this way.
    #[inline]
    fn is_overdue(&self) -> bool {
        self.overdue_at()
            .is_some_and(|at| self.timers.read_at() >= at)
    }

    /// Returns the time at which the first task in the queue is overdue, if there is one.
    #[inline]
    fn overdue_at(&self) -> Option<Duration> {
        let waits = !self.queue.is_empty() && self.config.scheduling != Scheduling::Sequential;
        waits.then(|| self.pace.admitted_at + ADMISSION_DELAY_MAX)
    }

    /// Returns how long a worker that has nothing else to do may sleep before the first task in the queue may begin.
    pub(super) fn overdue_in(&self, now: Duration) -> Option<Duration> {
        let at = self.overdue_at()?;
        (self.has_vacancy() && self.local.admits()).then(|| at.saturating_sub(now))
    }

    /// Returns how many tasks may be in the rotation.
    ///
    /// Tasks that wait for others are a part of what is in flight. Otherwise a record that every task writes would have
    /// all tasks begin, one after the other, only to join the queue for it: each of them holds a snapshot, leaves the
    /// cache, and makes the holder of the record share the worker with newcomers. If all tasks in flight wait, another
    /// may begin all the same, since they may wait for tasks of another worker; until twice as many wait.
    #[inline]
    pub(super) fn hot_max(&self) -> usize {
        let waiting = self.local.waiting();
        if waiting < self.room {
            return self.room - waiting;
        }
        usize::from(waiting < WAITING_MAX * self.room)
    }

    /// Returns whether a task could begin if there is one. Slots that were made under a higher bound do not count.
    pub(super) fn has_vacancy(&self) -> bool {
        self.open_tasks() < self.config.open_tasks_max && !self.is_crowded()
    }

    /// Returns the number of tasks in flight and parked.
    pub(super) fn open_tasks(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    #[inline]
    pub(super) fn has_supply(&self) -> bool {
        !self.queue.is_empty() || self.source.is_some()
    }

    pub(super) fn vacant(&mut self) -> Option<Rc<Slot>> {
        if !self.has_vacancy() {
            return None;
        }
        if let Some(index) = self.free.pop() {
            self.note_open();
            return Some(self.slots[index as usize].0.clone());
        }
        let index = self.slots.len() as u32;
        let slot = Slot::new(
            index,
            self.inbox.clone(),
            self.timers.clone(),
            self.in_flight > 1,
        );
        self.slots.push((slot.clone(), Whereabouts::Free, None));
        self.note_open();
        Some(slot)
    }

    /// Calls [`Worker::fill`] where the rotation does not contain panics.
    pub(super) fn fill_contained(&mut self, slot: &Slot) -> bool {
        match catch_unwind(AssertUnwindSafe(|| self.fill(slot))) {
            Ok(filled) => filled,
            Err(payload) => {
                drop_quietly(payload);
                self.source_panicked();
                // The source may have put a task there before it panicked.
                // SAFETY: the slot is not being resumed.
                end(None, || unsafe { slot.vacate() });
                false
            }
        }
    }

    /// Drops the source if it has panicked: it is not asked again. Returns whether it has panicked.
    pub(super) fn source_panicked(&mut self) -> bool {
        let asked = std::mem::take(&mut self.asks_source);
        if asked {
            self.drop_source();
        }
        asked
    }

    pub(super) fn drop_source(&mut self) {
        if let Some(source) = self.source.take() {
            end(None, || drop(source));
        }
    }

    /// Puts the next task into an empty slot. Returns false if there is none.
    #[inline]
    pub(super) fn fill(&mut self, slot: &Slot) -> bool {
        slot.set_class(Class::Interactive);
        slot.set_label(Label::default());
        // SAFETY: the slot is empty and not being resumed.
        let before = unsafe { slot.root() }.bytes();
        let filled = self.supply(slot);
        // SAFETY: the slot is not being resumed.
        let bytes = unsafe { slot.root() }.bytes();
        if bytes != before {
            self.frames_grew(bytes - before);
        }
        filled
    }

    #[inline(always)]
    fn supply(&mut self, slot: &Slot) -> bool {
        // SAFETY: the slot is empty and not being resumed.
        let root = unsafe { slot.root() };
        while let Some((task, ticket)) = self.queue.pop_front() {
            self.pace.admitted_at = self.timers.read_at();
            if ticket.cancelled.load(Ordering::Acquire) {
                self.stats.tasks_cancelled += 1;
                self.ended();
                end(None, || drop(task));
                continue;
            }
            task.start(&self.local, Place::new(root));
            if root.is_empty() {
                // The closure that makes the future panicked; its handle knows.
                self.stats.tasks_panicked += 1;
                self.ended();
                continue;
            }
            ticket.slot.store(slot.index(), Ordering::Relaxed);
            self.slots[slot.index() as usize].2 = Some(ticket);
            return true;
        }
        if let Some(source) = &mut self.source {
            // If the source panics, the code that catches the panic finds this set.
            self.asks_source = true;
            source.next(&self.local, Place::new(root));
            self.asks_source = false;
            if !root.is_empty() {
                return true;
            }
            self.drop_source();
        }
        false
    }

    pub(super) fn release(&mut self, index: u32) {
        let (_, place, ticket) = &mut self.slots[index as usize];
        *place = Whereabouts::Free;
        if ticket.take().is_some() {
            self.ended();
        }
        self.free.push(index);
    }
}
