//! Conversion of bytes to texts of statements.

use super::seeds::SEEDS;

/// Most edits of one statement.
const EDITS_MAX: u8 = 8;

/// Repetitions that an edit can ask for: few, and many.
const REPETITIONS: [usize; 8] = [2, 3, 4, 8, 30, 100, 300, 1000];

/// Bytes of a text beyond which no edit makes it longer.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Bytes that decide. After the last one, everything is zero.
struct Choices<'d>(&'d [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or(0)
    }

    /// Returns a number below `end`, which is not zero.
    fn below(&mut self, end: usize) -> usize {
        let wide = usize::from(self.byte()) << 8 | usize::from(self.byte());
        wide % end
    }
}

/// Returns the texts that `data` asks for, at most `most` of them; none if there is no data.
pub(super) fn texts(data: &[u8], most: usize) -> Vec<String> {
    let mut choices = Choices(data);
    let mut texts = Vec::new();
    while texts.len() < most && !choices.0.is_empty() {
        if choices.byte() % 16 == 15 {
            texts.push(String::from_utf8_lossy(choices.0).into_owned());
            break;
        }
        texts.push(text(&mut choices));
    }
    texts
}

/// Returns a statement that works, edited.
fn text(choices: &mut Choices<'_>) -> String {
    let mut tokens: Vec<&str> = pieces(SEEDS[choices.below(SEEDS.len())]);
    for _ in 0..choices.byte() % (EDITS_MAX + 1) {
        edit(&mut tokens, choices);
    }
    tokens.concat()
}

fn edit(tokens: &mut Vec<&'static str>, choices: &mut Choices<'_>) {
    let kind = choices.byte() % 6;
    let from = choices.below(tokens.len().max(1));
    let length = 1 + choices.below((tokens.len() - from.min(tokens.len())).clamp(1, 8));
    let range = from.min(tokens.len())..(from + length).min(tokens.len());
    match kind {
        0 => drop(tokens.drain(range)),
        1 | 2 => {
            let repetitions = REPETITIONS[choices.below(REPETITIONS.len())];
            let bytes: usize = tokens.iter().map(|token| token.len()).sum();
            let again: Vec<_> = tokens[range.clone()].to_vec();
            let added: usize = again.iter().map(|token| token.len()).sum();
            if bytes + added * repetitions <= TEXT_BYTES_MAX {
                let repeated = std::iter::repeat_n(again, repetitions).flatten();
                tokens.splice(range.end..range.end, repeated);
            }
        }
        3 => {
            let other = choices.below(tokens.len().max(1));
            if let (Some(_), Some(_)) = (tokens.get(from), tokens.get(other)) {
                tokens.swap(from, other);
            }
        }
        _ => {
            let donor = pieces(SEEDS[choices.below(SEEDS.len())]);
            let begin = choices.below(donor.len());
            let end = (begin + 1 + choices.below(8)).min(donor.len());
            let at = if kind == 4 { range } else { from..from };
            if at.end <= tokens.len() {
                tokens.splice(at, donor[begin..end].iter().copied());
            }
        }
    }
}

/// Cuts a text into words, signs and the spaces between them.
fn pieces(text: &'static str) -> Vec<&'static str> {
    let kind = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => 0,
        b' ' => 1,
        // Each sign is a piece of its own.
        _ => 2,
    };
    let bytes = text.as_bytes();
    let mut pieces = Vec::new();
    let mut begin = 0;
    for at in 1..=bytes.len() {
        let ends =
            at == bytes.len() || kind(bytes[at]) != kind(bytes[begin]) || kind(bytes[begin]) == 2;
        if ends {
            pieces.push(&text[begin..at]);
            begin = at;
        }
    }
    pieces
}
