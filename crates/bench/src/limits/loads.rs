//! The measuring loops. Each returns a rate per second, of lines or bytes.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::region::{LINE_BYTES, LINE_WORDS, Region};

/// Number of loads written out per turn of the loop, so that the loop itself is no limit.
const UNROLLED: usize = 16;
/// Number of lines between two readings of the clock, some tens of microseconds.
const LINES_PER_LOOK: u64 = 4096;
/// Multiplier of a full-period generator modulo 2^64 (Knuth's MMIX).
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

/// Returns a line below `lines` from the top bits of `random`, without a division.
#[inline]
fn line_of(random: u64, lines: u64) -> u64 {
    ((u128::from(random) * u128::from(lines)) >> 64) as u64
}

/// Returns the start of a worker, unrelated to that of others.
fn start_of(worker: usize) -> u64 {
    crate::keys::mix(worker as u64)
}

/// Repeats `turn`, which handles [`LINES_PER_LOOK`] lines, for `duration`;
/// returns lines per second.
fn lines_per_second(duration: Duration, mut turn: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut lines = 0;
    loop {
        turn();
        lines += LINES_PER_LOOK;
        let elapsed = start.elapsed();
        if elapsed >= duration {
            return lines as f64 / elapsed.as_secs_f64();
        }
    }
}

/// Returns lines per second at addresses that depend on no load; as many misses overlap as the core
/// can track.
pub(super) fn independent(region: Region<'_>, worker: usize, duration: Duration) -> f64 {
    let lines = region.lines();
    let mut state = start_of(worker);
    let mut sum = 0_u64;
    let rate = lines_per_second(duration, || {
        for _ in 0..LINES_PER_LOOK / UNROLLED as u64 {
            // The compiler unrolls the loop: the bound is a small constant.
            for _ in 0..UNROLLED {
                state = state.wrapping_mul(MULTIPLIER).wrapping_add(1);
                sum = sum.wrapping_add(region.load(line_of(state, lines), 0));
            }
        }
    });
    black_box(sum);
    rate
}

/// Returns lines per second when each address takes in the value loaded before. The memory needs no
/// prepared chain: the loaded value only has to be unknown to the core, and is added to a generator
/// that visits lines at random anyway.
pub(super) fn dependent(region: Region<'_>, duration: Duration) -> f64 {
    let lines = region.lines();
    let mut state = start_of(0);
    let rate = lines_per_second(duration, || {
        for _ in 0..LINES_PER_LOOK {
            let loaded = region.load(line_of(state, lines), 0);
            // Twice the loaded value keeps the increment odd, so no value in memory shortens the
            // generator's period.
            state = state.wrapping_mul(MULTIPLIER).wrapping_add(loaded << 1 | 1);
        }
    });
    black_box(state);
    rate
}

/// Returns bytes per second read in order; worker `worker` of `workers` starts at its part of the
/// region and goes around.
pub(super) fn sequential(
    region: Region<'_>,
    worker: usize,
    workers: usize,
    duration: Duration,
) -> f64 {
    let lines = region.lines();
    let mut next = lines / workers as u64 * worker as u64;
    // One sum per word of a line: no addition waits for another.
    let mut sums = [0_u64; LINE_WORDS];
    let rate = lines_per_second(duration, || {
        let mut left = LINES_PER_LOOK;
        while left > 0 {
            let run = left.min(lines - next);
            for line in next..next + run {
                for (word, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.wrapping_add(region.load(line, word));
                }
            }
            left -= run;
            next = (next + run) % lines;
        }
    });
    black_box(sums);
    rate * LINE_BYTES as f64
}
