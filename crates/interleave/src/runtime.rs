//! Workers on threads of their own.

use std::{
    io,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use crate::{
    config::WorkerConfig,
    stats::WorkerStats,
    timer::Clock,
    worker::{Handle, Worker, WorkerLocal},
};

/// Stack of a worker's thread, in bytes: address space, of which memory is taken only for the pages
/// used. Polls of a task nest as deep as its futures do, so code that makes futures from data
/// bounds how deep they nest; SQL's operators are the deepest (`PLAN_DEPTH_MAX` of the crate
/// `logical`).
const STACK_BYTES: usize = 16 << 20;

/// A group of workers, one thread each. Dropping a runtime shuts its workers down gracefully and
/// waits for their end, except on one of its own threads: then the workers end when their tasks
/// have.
pub struct Runtime<L: WorkerLocal> {
    handles: Arc<[Handle<L>]>,
    threads: Vec<thread::JoinHandle<()>>,
    next: AtomicUsize,
}

impl<L: WorkerLocal> std::fmt::Debug for Runtime<L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime")
            .field("workers", &self.handles.len())
            .finish_non_exhaustive()
    }
}

impl<L: WorkerLocal> Runtime<L> {
    /// Starts `workers` threads named `{name}-0`, `{name}-1`, …; each thread calls `local` with its
    /// number to make the value that its tasks share. With `pin`, worker `i` stays on the i-th core
    /// that this process may use.
    ///
    /// # Errors
    /// `InvalidInput` if `workers` is 0 or [`WorkerConfig::validate`] refuses `config`; the
    /// system's error if it refuses a thread; the error of `local`.
    pub fn start(
        name: &str,
        workers: usize,
        pin: bool,
        config: WorkerConfig,
        local: impl Fn(usize) -> io::Result<L> + Send + Sync + 'static,
    ) -> io::Result<Runtime<L>> {
        if workers == 0 {
            let message = "workers is 0; a runtime needs at least one";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        config
            .validate()
            .map_err(|message| io::Error::new(io::ErrorKind::InvalidInput, message))?;
        let local = Arc::new(local);
        let cores = if pin {
            core_affinity::get_core_ids().unwrap_or_default()
        } else {
            Vec::new()
        };
        let mut runtime = Runtime {
            handles: Arc::new([]),
            threads: Vec::new(),
            next: AtomicUsize::new(0),
        };
        let mut handles = Vec::new();
        for number in 0..workers {
            let core = (!cores.is_empty()).then(|| cores[number % cores.len()]);
            let local = local.clone();
            let (sender, receiver) = mpsc::channel();
            let thread = thread::Builder::new()
                .name(format!("{name}-{number}"))
                .stack_size(STACK_BYTES)
                .spawn(move || {
                    if let Some(core) = core {
                        core_affinity::set_for_current(core);
                    }
                    // The starter waits for this message; if the starter is gone, so is the work.
                    match local(number) {
                        Ok(local) => {
                            let mut worker = Worker::new(config, Rc::new(local), Clock::real());
                            let _ = sender.send(Ok(worker.handle()));
                            worker.run();
                        }
                        Err(error) => drop(sender.send(Err(error))),
                    }
                })?;
            runtime.threads.push(thread);
            let handle = receiver
                .recv()
                .map_err(|_| io::Error::other("a worker failed to start"))??;
            handles.push(handle);
            runtime.handles = handles.clone().into();
        }
        Ok(runtime)
    }

    /// Returns the workers' handles.
    pub fn handles(&self) -> &Arc<[Handle<L>]> {
        &self.handles
    }

    /// Returns the handle of the less loaded of two workers chosen in turn.
    pub fn pick(&self) -> &Handle<L> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let count = self.handles.len();
        let (a, b) = (
            &self.handles[turn % count],
            &self.handles[(turn + 1) % count],
        );
        if b.open_tasks() < a.open_tasks() {
            b
        } else {
            a
        }
    }

    /// Returns the sum of the workers' counters.
    pub fn stats(&self) -> WorkerStats {
        let mut sum = WorkerStats::default();
        for handle in self.handles.iter() {
            sum.merge(&handle.stats());
        }
        sum
    }

    /// Lets every task that was submitted end, then ends the threads.
    pub fn shut_down(mut self) {
        self.join();
    }

    fn join(&mut self) {
        for handle in self.handles.iter() {
            handle.order(Worker::stop);
        }
        let this = thread::current().id();
        if self
            .threads
            .iter()
            .any(|worker| worker.thread().id() == this)
        {
            // The last owner was a task. Waiting for the threads would wait for that task.
            self.threads.clear();
        }
        for thread in self.threads.drain(..) {
            // A worker contains its tasks' panics; if a worker has died all the same, its tasks
            // have been told so.
            let _ = thread.join();
        }
    }
}

impl<L: WorkerLocal> Drop for Runtime<L> {
    fn drop(&mut self) {
        self.join();
    }
}
