//! Interprets bytes as values of a block, which is compared with them, and as changes to its words; a changed block
//! that opens is read. For fuzzers and for a test with random bytes.

pub(crate) mod model;
mod read;

use self::{
    model::{Cell, block_of, check_block},
    read::read_all,
};
use crate::{
    Block,
    entry::{HEADER_WORDS, directory_checksum},
};

/// Maximum rows of a block.
const ROWS_MAX: u64 = 200;

/// Bytes that are drawn from; 0 behind the last.
struct Source<'d>(&'d [u8]);

impl Source<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, behind)) = self.0.split_first() else {
            return 0;
        };
        self.0 = behind;
        first
    }

    /// Draws a number of at most `bytes` bytes.
    fn number(&mut self, bytes: usize) -> u64 {
        (0..bytes).fold(0, |number, _| number << 8 | u64::from(self.byte()))
    }

    /// Draws a number of any size: some bytes, shifted.
    fn word(&mut self) -> u64 {
        let bytes = usize::from(self.byte() % 9);
        self.number(bytes) << (self.byte() % 64)
    }
}

/// Makes the block that the beginning of `data` describes and compares it with the values, then carries out the changes
/// that the rest describes. Returns whether the changed words opened.
///
/// # Panics
/// Panics if the block and the values differ, or reading a changed block fails.
pub fn run(data: &[u8]) -> bool {
    let mut source = Source(data);
    let columns = usize::from(source.byte() % 5);
    let rows = source.number(2) % (ROWS_MAX + 1);
    let columns: Vec<Vec<Cell>> = (0..columns).map(|_| draw(rows, &mut source)).collect();
    let block = block_of(&columns);
    check_block(&block, &columns);
    let mut words = block.words().to_vec();
    while !source.0.is_empty() {
        change(&mut words, &mut source);
    }
    seal(&mut words);
    let opened = Block::open(words);
    if let Ok(block) = &opened {
        read_all(block);
    }
    opened.is_ok()
}

/// Draws a column, from few bytes whatever the number of rows.
fn draw(rows: u64, source: &mut Source<'_>) -> Vec<Cell> {
    let kind = source.byte();
    let absent = u64::from(source.byte());
    let (factor, distinct, shift) = (source.word(), u64::from(source.byte()) + 1, source.byte());
    let cell = |row: u64| {
        let number = (row % distinct)
            .wrapping_mul(factor)
            .rotate_right(shift.into());
        if row.wrapping_mul(89) % 256 < absent {
            return Cell::Absent;
        }
        match kind % 3 {
            0 => Cell::Integer(number.cast_signed()),
            1 => Cell::Decimal(number.cast_signed(), (row % 256) as u8 & kind),
            _ => {
                let bytes = number % u64::from(kind / 3 + 1);
                Cell::Bytes(
                    number
                        .to_le_bytes()
                        .into_iter()
                        .cycle()
                        .take(bytes as usize)
                        .collect(),
                )
            }
        }
    };
    (0..rows).map(cell).collect()
}

/// Changes one word; those of the directory as likely as all others.
fn change(words: &mut [u64], source: &mut Source<'_>) {
    let (kind, place) = (source.byte(), source.number(2) as usize);
    let places = match kind % 2 {
        0 => words.len(),
        _ => directory_words(words).clamp(1, words.len()),
    };
    let word = &mut words[place % places];
    match kind / 2 % 4 {
        0 => *word ^= 1 << (source.byte() % 64),
        1 => *word = source.word(),
        2 => *word = word.wrapping_add(u64::from(source.byte()) << (kind / 8)),
        _ => *word = word.wrapping_sub(u64::from(source.byte()) << (kind / 8)),
    }
}

fn directory_words(words: &[u64]) -> usize {
    words[2] as u32 as usize
}

/// Gives the words the magic word, version, length and checksum of the directory that a block has: [`Block::open`] then
/// checks the words behind these.
pub(crate) fn seal(words: &mut [u64]) {
    let sound = block_of(&[]);
    words[0] = sound.words()[0];
    words[1] = words[1] & !0xffff | sound.words()[1] & 0xffff;
    words[2] = words[2] as u32 as u64 | (words.len() as u64) << 32;
    let directory = directory_words(words).clamp(HEADER_WORDS, words.len());
    words[3] = directory_checksum(words, directory).into();
}

#[cfg(test)]
mod tests {
    use crate::tests::random;

    #[test]
    fn random_changes_never_fail() {
        let mut state = 42;
        let (mut opened, mut refused) = (0, 0);
        for _ in 0..if cfg!(miri) { 30 } else { 5000 } {
            let bytes = random(&mut state) % 120;
            let data: Vec<u8> = (0..bytes).map(|_| random(&mut state) as u8).collect();
            if super::run(&data) {
                opened += 1;
            } else {
                refused += 1;
            }
        }
        // Many blocks of both kinds are made.
        let least = opened.min(refused);
        assert!(
            least * 20 > opened + refused,
            "{opened} opened, {refused} refused"
        );
    }

    #[test]
    fn random_words_never_fail() {
        let mut state = 43;
        for _ in 0..2000 {
            let words = random(&mut state) % 60;
            let mut words: Vec<u64> = (0..words).map(|_| random(&mut state)).collect();
            crate::Block::open(words.clone()).unwrap_err();
            if words.len() > 3 {
                words[2] %= 64;
                super::seal(&mut words);
                crate::Block::open(words).unwrap_err();
            }
        }
    }
}
