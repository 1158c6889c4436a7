//! Memory that will be claimed next is backed by the system before it is: [`Ahead`].
//!
//! The system backs a huge page when it is first written to. It clears the page for that, and on a virtual
//! machine the hypervisor may have to find each of its parts: measured 0.2 ms where it has them still, 4.4 at
//! the median and up to 27 where it does not. Whoever writes first waits so long, and with a worker all of its
//! tasks. So a thread that serves nobody writes first. It is begun when an arena has grown so much that there
//! is something to be ahead of, sleeps until a claim comes near, and ends with the arena.

mod run;

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use self::run::Run;
use crate::mapping::Mapping;

/// See the module text.
pub(crate) struct Ahead {
    shared: Arc<Shared>,
    /// The thread; none if the system has refused it.
    thread: OnceLock<Option<JoinHandle<()>>>,
}

struct Shared {
    mapping: Arc<Mapping>,
    runs: [Run; 2],
    /// No more than so many bytes are claimed of both.
    limit_bytes: usize,
    is_over: AtomicBool,
}

/// Which half of an arena's mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Half {
    /// All but versions.
    Lower,
    /// Versions.
    Upper,
}

impl Ahead {
    /// Of an arena that takes at most so many bytes.
    pub(crate) fn new(mapping: &Arc<Mapping>, limit_bytes: usize) -> Ahead {
        let half = mapping.bytes() / 2;
        Ahead {
            shared: Arc::new(Shared {
                mapping: mapping.clone(),
                runs: [Run::new(0, half), Run::new(half, mapping.bytes())],
                limit_bytes,
                is_over: AtomicBool::new(false),
            }),
            thread: OnceLock::new(),
        }
    }

    /// Memory up to `end`, from the beginning of its half on, is claimed; `bytes` of it just now. To be called
    /// before it is written to.
    pub(crate) fn claimed(&self, half: Half, end: usize, bytes: usize) {
        let run = &self.shared.runs[half as usize];
        run.claim(end, bytes);
        if run.next(self.shared.left_bytes()).is_some() {
            self.rouse();
        }
    }

    #[cold]
    fn rouse(&self) {
        let begin = || {
            let shared = self.shared.clone();
            let named = thread::Builder::new().name("weft-memory".to_owned());
            named.spawn(move || shared.work()).ok()
        };
        if let Some(thread) = self.thread.get_or_init(begin) {
            thread.thread().unpark();
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        if let Some(Some(thread)) = self.thread.take() {
            self.shared.is_over.store(true, Ordering::Release);
            thread.thread().unpark();
            // It does not panic, and who closes an arena could do nothing about it.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Bytes that are still to be claimed.
    fn left_bytes(&self) -> usize {
        let claimed = self.runs.iter().map(Run::claimed);
        self.limit_bytes.saturating_sub(claimed.sum())
    }

    /// What the thread does.
    fn work(&self) {
        leave_the_claimers_core();
        while !self.is_over.load(Ordering::Acquire) {
            let mut is_done = true;
            for run in &self.runs {
                if let Some(page) = run.next(self.left_bytes()) {
                    // SAFETY: `Run::touch`, see the module text.
                    run.touch(page, || unsafe { self.mapping.touch(page) });
                    is_done = false;
                }
            }
            if is_done {
                thread::park();
            }
        }
    }
}

/// The thread was begun by a worker, and a worker may be bound to a core: it is to run where the process's first
/// thread may.
fn leave_the_claimers_core() {
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: a set of processors is plain data, all zeros is an empty one, and both calls have its size. Should one
    // fail, the thread stays where it is.
    unsafe {
        let mut cores: libc::cpu_set_t = std::mem::zeroed();
        let bytes = size_of::<libc::cpu_set_t>();
        if libc::sched_getaffinity(libc::getpid(), bytes, &mut cores) == 0 {
            libc::sched_setaffinity(0, bytes, &cores);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
