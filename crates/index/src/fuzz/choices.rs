//! Bytes as choices: what interpreters of a fuzzer's bytes draw from, in this crate and in those above.

/// Bytes that are left. Reads zeros at their end.
#[derive(Debug)]
pub struct Choices<'d>(&'d [u8]);

impl<'d> Choices<'d> {
    /// All of these.
    pub fn new(data: &'d [u8]) -> Self {
        Self(data)
    }

    /// Whether there are none left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that are left.
    pub fn rest(&self) -> &'d [u8] {
        self.0
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&byte, rest)) => {
                self.0 = rest;
                byte
            }
            None => 0,
        }
    }

    /// A number below the bound, of one byte; 0 if there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound.max(1)
    }

    /// The same of three bytes.
    pub fn below_many(&mut self, bound: usize) -> usize {
        let wide = usize::from(self.byte()) << 16
            | usize::from(self.byte()) << 8
            | usize::from(self.byte());
        wide % bound.max(1)
    }

    /// A string of a small family, which its first byte tells: a run of one byte, as long as that says,
    /// so many times, then a few chosen bytes. Runs make equal beginnings, the rest makes neighbours.
    pub fn string(&mut self, shape: u8, times: usize) -> Vec<u8> {
        let run = usize::from(shape >> 4) * times;
        let mut string = vec![[0, b'k', 0xff, 1][usize::from(shape & 3)]; run];
        for _ in 0..shape >> 2 & 3 {
            string.push(self.byte());
        }
        string
    }
}

/// A float that does not compare as numbers do, or is an extreme, if the byte says so.
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

/// Runs random inputs, of fewer than so many bytes each.
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
