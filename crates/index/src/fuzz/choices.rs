//! Bytes as choices: the source that interpreters of a fuzzer's bytes draw from, in this crate and in those above.

/// Bytes that are left. Reads zeros at their end.
#[derive(Debug)]
pub struct Choices<'d>(&'d [u8]);

impl<'d> Choices<'d> {
    /// Returns a source of all bytes of `data`.
    pub fn new(data: &'d [u8]) -> Self {
        Self(data)
    }

    /// Returns whether no bytes are left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the bytes that are left.
    pub fn rest(&self) -> &'d [u8] {
        self.0
    }

    /// Returns the next byte.
    pub fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&byte, rest)) => {
                self.0 = rest;
                byte
            }
            None => 0,
        }
    }

    /// Returns a number below `bound`, drawn from one byte; 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound.max(1)
    }

    /// Returns a number below `bound`, drawn from three bytes; 0 if `bound` is 0.
    pub fn below_many(&mut self, bound: usize) -> usize {
        let wide = usize::from(self.byte()) << 16
            | usize::from(self.byte()) << 8
            | usize::from(self.byte());
        wide % bound.max(1)
    }

    /// Returns a string of a small family, chosen by `shape`: a run of one byte, of a length given by `shape` and
    /// `times`, then a few chosen bytes. Runs make equal beginnings, the rest makes neighbours.
    pub fn string(&mut self, shape: u8, times: usize) -> Vec<u8> {
        let run = usize::from(shape >> 4) * times;
        let mut string = vec![[0, b'k', 0xff, 1][usize::from(shape & 3)]; run];
        for _ in 0..shape >> 2 & 3 {
            string.push(self.byte());
        }
        string
    }
}

/// Returns a float that does not compare as numbers do, or is an extreme, if `shape` says so.
pub fn special_float(shape: u8) -> Option<f64> {
    const SPECIAL: [f64; 7] = [
        f64::NAN,
        -f64::NAN,
        0.0,
        -0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        5e-324,
    ];
    SPECIAL.get(usize::from(shape % 16)).copied()
}

/// Runs `run` on `cases` random inputs of fewer than `bytes` bytes each.
pub fn smoke(seed: u64, cases: usize, bytes: usize, run: impl Fn(&[u8])) {
    let mut state = seed;
    for case in 0..cases {
        let data: Vec<u8> = (0..case % bytes)
            .map(|_| {
                state = state
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                (state >> 40) as u8
            })
            .collect();
        run(&data);
    }
}
