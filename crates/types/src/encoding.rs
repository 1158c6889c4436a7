//! Names of character encodings. All text is UTF-8; other encodings have names, and nothing is converted.

/// A character encoding that PostgreSQL knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, by any of its names.
    Utf8,
    /// Another one, which Weft never uses.
    Other,
}

/// PostgreSQL's names of encodings other than UTF-8 without a number, and the numbers behind each.
const OTHERS: [(&str, &[&str]); 26] = [
    ("abc", &[""]),
    ("alt", &[""]),
    ("big", &["5"]),
    ("euccn", &[""]),
    ("eucjis", &["2004"]),
    ("eucjp", &[""]),
    ("euckr", &[""]),
    ("euctw", &[""]),
    ("gb", &["18030"]),
    ("gbk", &[""]),
    (
        "iso8859",
        &[
            "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "13", "14", "15", "16",
        ],
    ),
    ("johab", &[""]),
    ("koi", &["8"]),
    ("koi8r", &[""]),
    ("koi8u", &[""]),
    (
        "latin",
        &["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"],
    ),
    ("mskanji", &[""]),
    ("muleinternal", &[""]),
    ("shiftjis", &["", "2004"]),
    ("sjis", &[""]),
    ("sqlascii", &[""]),
    ("tcvn", &["", "5712"]),
    ("uhc", &[""]),
    ("vscii", &[""]),
    (
        "win",
        &[
            "", "866", "874", "932", "936", "949", "950", "1250", "1251", "1252", "1253", "1254",
            "1255", "1256", "1257", "1258",
        ],
    ),
    (
        "windows",
        &[
            "866", "874", "932", "936", "949", "950", "1250", "1251", "1252", "1253", "1254",
            "1255", "1256", "1257", "1258",
        ],
    ),
];

impl Encoding {
    /// Returns the encoding of a name, of which letters and digits alone count; `None` if PostgreSQL knows no such
    /// encoding.
    pub fn named(name: &str) -> Option<Encoding> {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let plain = plain.to_ascii_lowercase();
        if matches!(plain.as_str(), "utf8" | "unicode") {
            return Some(Encoding::Utf8);
        }
        let is_other = OTHERS.iter().any(|(family, numbers)| {
            let number = plain.strip_prefix(family);
            number.is_some_and(|number| numbers.contains(&number))
        });
        is_other.then_some(Encoding::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::Encoding;

    /// Names were taken for PostgreSQL's by their first letters: `winter` was an encoding.
    #[test]
    fn encodings_have_postgresqls_names() {
        for name in ["utf8", "UTF-8", "Unicode", "u t f 8"] {
            assert_eq!(Encoding::named(name), Some(Encoding::Utf8), "{name}");
        }
        for name in [
            "latin1",
            "ISO_8859-15",
            "WIN1252",
            "SQL_ASCII",
            "koi8r",
            "windows-949",
        ] {
            assert_eq!(Encoding::named(name), Some(Encoding::Other), "{name}");
        }
        for name in [
            "",
            "winter",
            "latin",
            "latin11",
            "iso885911",
            "utf16",
            "nosuch",
        ] {
            assert_eq!(Encoding::named(name), None, "{name}");
        }
    }
}
