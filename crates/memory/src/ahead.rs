//! Backing of memory by the system before it is claimed: [`Ahead`].
//!
//! The system backs a huge page when it is first written to. It clears the page for that, and on a virtual machine the
//! hypervisor may have to find each of its parts: measured 0.2 ms where it has them still, 4.4 at the median and up to
//! 27 where it does not. The first writer waits so long, and with a worker all of its tasks. A thread that serves no
//! task therefore writes first. It starts when an arena has grown so much that there is a page to back ahead, sleeps
//! until a claim comes near, and ends with the arena.

mod run;

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
};

use self::run::Run;
use crate::mapping::Mapping;

/// A thread that has memory backed ahead; see the module text.
pub(crate) struct Ahead {
    shared: Arc<Shared>,
    /// The thread; none if the system has refused it.
    thread: OnceLock<Option<JoinHandle<()>>>,
}

struct Shared {
    mapping: Arc<Mapping>,
    runs: [Run; 2],
    /// Maximum bytes that can still be claimed, as reported with the last claim.
    left_bytes: AtomicUsize,
    is_over: AtomicBool,
}

/// One half of an arena's mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Half {
    /// Memory of all blocks but versions.
    Lower,
    /// Memory of versions.
    Upper,
}

impl Ahead {
    /// Makes the state for a mapping of which nothing is claimed yet.
    pub(crate) fn new(mapping: &Arc<Mapping>) -> Ahead {
        let half = mapping.bytes() / 2;
        Ahead {
            shared: Arc::new(Shared {
                mapping: mapping.clone(),
                runs: [Run::new(0, half), Run::new(half, mapping.bytes())],
                left_bytes: AtomicUsize::new(0),
                is_over: AtomicBool::new(false),
            }),
            thread: OnceLock::new(),
        }
    }

    /// Notes that memory up to `end`, from the beginning of its half on, is claimed; `bytes` of it just now, and no
    /// more than `left` bytes can be claimed from now on. Called before the memory is written to.
    pub(crate) fn claimed(&self, half: Half, end: usize, bytes: usize, left: usize) {
        self.shared.left_bytes.store(left, Ordering::Relaxed);
        self.shared.runs[half as usize].claim(end, bytes);
        if self.shared.next(half).is_some() {
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
            // The thread does not panic, and the closer of an arena could do nothing about it.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Returns the page of a half to be touched next, if it is time: the pages ahead of both halves stay within what
    /// can be claimed.
    fn next(&self, half: Half) -> Option<usize> {
        let other = &self.runs[1 - half as usize];
        let left = self.left_bytes.load(Ordering::Relaxed);
        self.runs[half as usize].next(left.saturating_sub(other.ahead_bytes()))
    }

    /// Runs the thread.
    fn work(&self) {
        leave_the_claimers_core();
        while !self.is_over.load(Ordering::Acquire) {
            let mut is_done = true;
            for half in [Half::Lower, Half::Upper] {
                if let Some(page) = self.next(half) {
                    // SAFETY: `Run::touch`, see the module text.
                    self.runs[half as usize].touch(page, || unsafe { self.mapping.touch(page) });
                    is_done = false;
                }
            }
            if is_done {
                thread::park();
            }
        }
    }
}

/// Lets the thread run where the process's first thread may. The thread was started by a worker, and a worker may be
/// bound to a core. (If a program has bound its first thread, the thread runs beside it; and if memory is near to some
/// cores only, the thread is not always near to the worker.)
fn leave_the_claimers_core() {
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: a set of processors is plain data, all zeros is an empty one, and both calls have its size. If one fails,
    // the thread stays where it is.
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
