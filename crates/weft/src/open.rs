//! Opening: options to an engine, in memory or recovered from a directory.

use std::{rc::Rc, sync::Arc, time::Duration};

use engine::{DatabaseConfig, Recovery, RecoveryConfig, RecoveryProgress, RecoveryReport, Session};
use interleave::{FromFn, Handle, Worker};
use io::{Directory, RealDirectory};

use crate::{
    context::WorkerState,
    error::{Error, Result},
    options::Options,
};

/// Interval at which progress is reported.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// An engine that is being opened: sessions can be made, and if it lies in a directory, they have
/// to run the recovery.
pub(crate) struct Opening {
    pub(crate) engine: Arc<engine::Database>,
    recovery: Option<Arc<Recovery>>,
}

impl Opening {
    /// Reads the directory, if there is one.
    pub(crate) fn begin(options: &Options) -> Result<Opening> {
        match &options.data_dir {
            None => Opening::begin_in(options, None),
            Some(path) => {
                let directory = RealDirectory::open(path, options.storage.backend)?;
                Opening::begin_in(options, Some(Arc::new(directory)))
            }
        }
    }

    pub(crate) fn begin_in(
        options: &Options,
        directory: Option<Arc<dyn Directory>>,
    ) -> Result<Opening> {
        let config = DatabaseConfig {
            durability: options.durability,
            checkpoint: options.storage.checkpoint(),
            certifier: options.certifier,
            cold_tier: options.storage.cold(),
            block_bytes: options.storage.block_memory_bytes,
            ..DatabaseConfig::with_memory(options.memory_bytes_effective())
        };
        let Some(directory) = directory else {
            let engine = engine::Database::new(config).map_err(|_| Error::MemoryExhausted)?;
            engine.set_wall_clock(options.wall_clock.clone());
            return Ok(Opening {
                engine,
                recovery: None,
            });
        };
        let salvage = RecoveryConfig {
            salvage: options.storage.salvage,
        };
        let recovery = engine::Database::open(config, options.storage.log(), salvage, directory)
            .map_err(Box::new)?;
        recovery
            .database()
            .set_wall_clock(options.wall_clock.clone());
        Ok(Opening {
            engine: recovery.database().clone(),
            recovery: Some(recovery),
        })
    }

    /// Has the workers of these handles recover, waits for them, and starts the upkeep on each.
    pub(crate) fn finish(
        self,
        handles: &[Handle<WorkerState>],
        progress: &mut dyn FnMut(&RecoveryProgress),
    ) -> Result<Option<RecoveryReport>> {
        let Some(recovery) = self.recovery else {
            return Ok(None);
        };
        let (done, wait) = std::sync::mpsc::channel::<()>();
        for handle in handles {
            let (recovery, done) = (recovery.clone(), done.clone());
            handle.order(move |worker| {
                // The value is dropped when the worker has drawn all tasks and they have ended.
                let done = Rc::new(done);
                let mut tasks = recovery.tasks(&worker.local().session);
                worker.set_source(FromFn(move |_: &_| {
                    let (task, done) = (tasks()?, done.clone());
                    Some(async move {
                        task.await;
                        drop(done);
                    })
                }));
            });
        }
        drop(done);
        while let Err(std::sync::mpsc::RecvTimeoutError::Timeout) =
            wait.recv_timeout(REPORT_INTERVAL)
        {
            progress(&recovery.progress());
        }
        let report = recovery.finish().map_err(Box::new)?;
        progress(&report.progress);
        for handle in handles {
            start_upkeep(handle);
        }
        Ok(Some(report))
    }

    /// Finishes as [`Opening::finish`] does, with a worker that the calling thread runs.
    pub(crate) fn finish_on(
        self,
        worker: &mut Worker<WorkerState>,
    ) -> Result<Option<RecoveryReport>> {
        let Some(recovery) = self.recovery else {
            return Ok(None);
        };
        let mut tasks = recovery.tasks(&worker.local().session);
        worker.set_source(FromFn(move |_: &_| tasks()));
        worker.run_until_idle();
        let report = recovery.finish().map_err(Box::new)?;
        start_upkeep(&worker.handle());
        Ok(Some(report))
    }
}

fn start_upkeep(handle: &Handle<WorkerState>) {
    handle
        .submit(|state| Session::upkeep(state.session.clone()))
        .detach();
}
