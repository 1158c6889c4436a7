//! Random numbers for tests.

/// xorshift64*: tests need a seed, not quality.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    /// Returns a number below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n
    }
}
