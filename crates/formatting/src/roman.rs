//! Roman numbers.

const PARTS: [(u32, &str); 13] = [
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
];

/// Returns the number in capitals; an empty text for 0.
pub(super) fn roman(mut number: u32) -> String {
    let mut text = String::new();
    for (value, letters) in PARTS {
        while number >= value {
            text.push_str(letters);
            number -= value;
        }
    }
    text
}
