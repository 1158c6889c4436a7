//! The upkeep of a session: work beside transactions that takes longer than a moment. One coroutine
//! per session, run by its worker like any task.

use std::{future::poll_fn, pin::pin, rc::Rc, task::Poll, time::Duration};

use crate::{
    checkpoint::{CheckpointError, pace::Haste},
    device_room::{DeviceRoom, Purse, Relief},
    log::{LaneWriter, Listening},
    session::Session,
};

/// Time between two checks of the session in charge whether a checkpoint is due.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Charge of checkpoints, until dropped.
struct InCharge<'s>(&'s DeviceRoom);

impl<'s> InCharge<'s> {
    fn try_become(session: &'s Session) -> Option<InCharge<'s>> {
        let room = &session.database.log()?.room;
        // Lazily: dropping a charge that was not needed would take the charge away.
        room.begin_attendance().then(|| InCharge(room))
    }
}

impl Drop for InCharge<'_> {
    fn drop(&mut self) {
        self.0.end_attendance();
    }
}

impl Session {
    /// Does the upkeep of the session: prepares log segments ahead of time, has records leave
    /// memory when there is too little room, deletes expired records in cold files, and compacts
    /// cold files of which little is live. One of the sessions also takes checkpoints when they are
    /// due ([`crate::CheckpointConfig`]), or when the log needs their room. Ends after
    /// [`Session::wind_up`].
    ///
    /// # Suspension
    /// All kinds of waits.
    ///
    /// # Cancellation
    /// Leaves its work to others: segments are prepared when they are needed, checkpoints are taken
    /// by the next session that takes charge of them.
    pub async fn upkeep(self: Rc<Self>) {
        let Some(lane) = self.lane() else { return };
        // Side by side: no part waits for another.
        let mut segments = pin!(self.keep_segments(lane));
        let mut checkpoints = pin!(self.keep_checkpoints(lane));
        let mut free = pin!(self.keep_free(lane));
        let mut together = pin!(self.keep_together(lane));
        let mut compact = pin!(self.keep_compact(lane));
        let mut ended = [false; 5];
        poll_fn(|context| {
            ended[0] = ended[0] || segments.as_mut().poll(context).is_ready();
            ended[1] = ended[1] || checkpoints.as_mut().poll(context).is_ready();
            ended[2] = ended[2] || free.as_mut().poll(context).is_ready();
            ended[3] = ended[3] || together.as_mut().poll(context).is_ready();
            ended[4] = ended[4] || compact.as_mut().poll(context).is_ready();
            match ended.iter().all(|ended| *ended) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }

    pub(crate) fn goes_on(&self, lane: &LaneWriter) -> bool {
        !self.winds_up() && lane.log().check_sound().is_ok()
    }

    async fn keep_segments(&self, lane: &LaneWriter) {
        while self.goes_on(lane) {
            let ring = lane.upkeep_is_due();
            if self.database.check_writable().is_ok() {
                // Without room the lane asks for a checkpoint, and tries again at the next look.
                let _ = lane.prepare_segment(Purse::Free).await;
            }
            next_look(ring).await;
        }
    }

    async fn keep_checkpoints(self: &Rc<Self>, lane: &LaneWriter) {
        let mut in_charge = None;
        let mut relief = Relief::default();
        while self.goes_on(lane) {
            let ring = lane.upkeep_is_due();
            in_charge = in_charge.or_else(|| InCharge::try_become(self));
            let room = &lane.log().room;
            let is_urgent = in_charge.is_some() && relief.is_due(room, self.clock().now());
            if in_charge.is_some() && (is_urgent || self.checkpoint_is_due()) {
                let Some(storage) = self.database.storage() else {
                    return;
                };
                let haste = match is_urgent {
                    true => Haste::AwaitedBySomebody,
                    false => Haste::Due {
                        expected_bytes: storage.checkpoint_bytes(),
                    },
                };
                let end = self.take_checkpoint(haste).await;
                storage.note_end(&end);
                if !matches!(end, Err(CheckpointError::UnderWay)) {
                    relief.note_end(room, end.is_err(), self.clock().now());
                    continue;
                }
            }
            next_look(ring).await;
        }
    }

    fn checkpoint_is_due(&self) -> bool {
        let (Some(storage), Some(log)) = (self.database.storage(), self.database.log()) else {
            return false;
        };
        let config = self.database.checkpoint_config();
        let (bytes, since) = storage.since_checkpoint(log);
        let by_size = config.log_bytes_max > 0 && bytes >= config.log_bytes_max;
        let by_time = !config.interval.is_zero() && since >= config.interval && bytes > 0;
        by_size || by_time
    }
}

/// Waits until the upkeep is called for, or for [`LOOK_INTERVAL`].
pub(crate) async fn next_look(ring: Listening<'_>) {
    let mut ring = pin!(ring);
    let mut look = pin!(interleave::sleep(LOOK_INTERVAL));
    poll_fn(|context| {
        if ring.as_mut().poll(context).is_ready() || look.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        Poll::Pending
    })
    .await;
}
