//! The vector instructions of the machine, as found at run time.

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
