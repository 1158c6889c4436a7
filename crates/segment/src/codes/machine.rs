//! The vector instructions of the machine, as found at run time.

#[cfg(target_arch = "x86_64")]
use super::{avx2::Avx2, avx512::Avx512};
use super::{lanes::Lanes, portable::Portable};

/// Work with vectors of any kind.
pub(super) trait Work {
    /// Does the work.
    ///
    /// # Safety
    /// The caller has the instructions of the vectors.
    unsafe fn run<L: Lanes>(self);
}

/// Vector instructions to scan with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Machine {
    /// No explicit instructions: only those that the compiler chooses.
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with VBMI.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Machine {
    /// Returns whether the machine has the instructions.
    pub(super) fn is_there(self) -> bool {
        match self {
            Machine::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Machine::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Machine::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vbmi")
            }
        }
    }

    /// Does some work with the machine's instructions.
    ///
    /// # Panics
    /// Panics if the machine does not have them.
    pub(super) fn run(self, work: impl Work) {
        assert!(self.is_there(), "the machine has no {self:?}");
        match self {
            // SAFETY: portable vectors need no instructions.
            Machine::Portable => unsafe { work.run::<Portable>() },
            // SAFETY: asserted above.
            #[cfg(target_arch = "x86_64")]
            Machine::Avx2 => unsafe { with_avx2(work) },
            // SAFETY: asserted above.
            #[cfg(target_arch = "x86_64")]
            Machine::Avx512 => unsafe { with_avx512(work) },
        }
    }

    /// All kinds, the best last.
    pub(super) const ALL: &'static [Machine] = &[
        Machine::Portable,
        #[cfg(target_arch = "x86_64")]
        Machine::Avx2,
        #[cfg(target_arch = "x86_64")]
        Machine::Avx512,
    ];

    /// Returns the best kind that the machine has.
    pub(super) fn best() -> Machine {
        let mut best_first = Machine::ALL.iter().rev();
        *best_first
            .find(|machine| machine.is_there())
            .unwrap_or(&Machine::Portable)
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2(work: impl Work) {
    // SAFETY: this function has the instructions.
    unsafe { work.run::<Avx2>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn with_avx512(work: impl Work) {
    // SAFETY: this function has the instructions.
    unsafe { work.run::<Avx512>() }
}
