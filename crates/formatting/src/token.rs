//! Patterns of dates and times, taken apart.

/// Field of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Hour12,
    Hour24,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    /// This many digits of a second.
    Fraction(u32),
    SecondsOfDay,
    Meridiem {
        dots: bool,
    },
    YearWithComma,
    /// This many last digits of the year.
    Year(usize),
    IsoYear(usize),
    Era {
        dots: bool,
    },
    Month,
    MonthShort,
    MonthNumber,
    MonthRoman,
    Day,
    DayShort,
    DayOfYear,
    IsoDayOfYear,
    DayOfMonth,
    DayOfWeek,
    IsoDayOfWeek,
    WeekOfMonth,
    WeekOfYear,
    IsoWeek,
    Century,
    Julian,
    Quarter,
    ZoneName,
    ZoneHour,
    ZoneMinute,
    Offset,
}

/// Letters in which a name is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Upper,
    Lower,
    Capital,
}

impl Case {
    pub(super) fn apply(self, name: &str) -> String {
        match self {
            Self::Upper => name.to_ascii_uppercase(),
            Self::Lower => name.to_ascii_lowercase(),
            Self::Capital => name.to_owned(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Field {
        field: Field,
        case: Case,
        /// Whether blanks and zeros in front are left out.
        fill: bool,
        /// Suffix `st`, `nd`, `rd` or `th`, in this case.
        ordinal: Option<Case>,
    },
    /// A character of quoted text.
    Quoted(char),
    /// Any other character.
    Plain(char),
}

use Field as F;

/// Longer names before their prefixes.
const FIELDS: &[(&str, Field)] = &[
    ("SSSSS", F::SecondsOfDay),
    ("SSSS", F::SecondsOfDay),
    ("HH24", F::Hour24),
    ("HH12", F::Hour12),
    ("HH", F::Hour12),
    ("MONTH", F::Month),
    ("MON", F::MonthShort),
    ("MM", F::MonthNumber),
    ("MI", F::Minute),
    ("MS", F::Millisecond),
    ("SS", F::Second),
    ("US", F::Microsecond),
    ("FF1", F::Fraction(1)),
    ("FF2", F::Fraction(2)),
    ("FF3", F::Fraction(3)),
    ("FF4", F::Fraction(4)),
    ("FF5", F::Fraction(5)),
    ("FF6", F::Fraction(6)),
    ("A.M.", F::Meridiem { dots: true }),
    ("P.M.", F::Meridiem { dots: true }),
    ("AM", F::Meridiem { dots: false }),
    ("PM", F::Meridiem { dots: false }),
    ("A.D.", F::Era { dots: true }),
    ("B.C.", F::Era { dots: true }),
    ("AD", F::Era { dots: false }),
    ("BC", F::Era { dots: false }),
    ("Y,YYY", F::YearWithComma),
    ("YYYY", F::Year(4)),
    ("YYY", F::Year(3)),
    ("YY", F::Year(2)),
    ("Y", F::Year(1)),
    ("IYYY", F::IsoYear(4)),
    ("IYY", F::IsoYear(3)),
    ("IY", F::IsoYear(2)),
    ("IDDD", F::IsoDayOfYear),
    ("ID", F::IsoDayOfWeek),
    ("IW", F::IsoWeek),
    ("I", F::IsoYear(1)),
    ("DAY", F::Day),
    ("DDD", F::DayOfYear),
    ("DD", F::DayOfMonth),
    ("DY", F::DayShort),
    ("D", F::DayOfWeek),
    ("WW", F::WeekOfYear),
    ("W", F::WeekOfMonth),
    ("CC", F::Century),
    ("J", F::Julian),
    ("Q", F::Quarter),
    ("RM", F::MonthRoman),
    ("TZH", F::ZoneHour),
    ("TZM", F::ZoneMinute),
    ("TZ", F::ZoneName),
    ("OF", F::Offset),
];

/// The pattern's parts in order.
pub(super) struct Tokens<'p> {
    rest: &'p str,
    /// Whether the rest begins within quotes.
    quoted: bool,
}

impl<'p> Tokens<'p> {
    pub(super) fn of(pattern: &'p str) -> Self {
        Self {
            rest: pattern,
            quoted: false,
        }
    }

    fn take(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let first = characters.next();
        self.rest = characters.as_str();
        first
    }

    fn accept(&mut self, word: &str) -> bool {
        match self.rest.strip_prefix(word) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn field(&mut self) -> Option<(Field, Case)> {
        for (name, field) in FIELDS {
            let Some(written) = self.rest.get(..name.len()) else {
                continue;
            };
            if !written.eq_ignore_ascii_case(name) {
                continue;
            }
            let mut letters = written.chars().filter(char::is_ascii_alphabetic);
            let first = letters
                .next()
                .is_some_and(|first| first.is_ascii_uppercase());
            let rest_upper = letters.all(|letter| letter.is_ascii_uppercase());
            let case = match (first, rest_upper) {
                (true, true) => Case::Upper,
                (true, false) => Case::Capital,
                (false, _) => Case::Lower,
            };
            self.rest = &self.rest[name.len()..];
            return Some((*field, case));
        }
        None
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Self::Item> {
        while self.quoted {
            match self.take()? {
                '"' => self.quoted = false,
                // A backslash makes the next character plain.
                '\\' => return self.take().map(Token::Quoted),
                plain => return Some(Token::Quoted(plain)),
            }
        }
        let mut fill = false;
        loop {
            if self.accept("FM") || self.accept("fm") {
                fill = true;
            } else if !(self.accept("FX")
                || self.accept("fx")
                || self.accept("TM")
                || self.accept("tm"))
            {
                break;
            }
        }
        if let Some((field, case)) = self.field() {
            let ordinal = if self.accept("TH") {
                Some(Case::Upper)
            } else if self.accept("th") {
                Some(Case::Lower)
            } else {
                None
            };
            return Some(Token::Field {
                field,
                case,
                fill,
                ordinal,
            });
        }
        if self.rest.starts_with("\\\"") {
            self.take();
            return self.take().map(Token::Plain);
        }
        match self.take()? {
            '"' => {
                self.quoted = true;
                self.next()
            }
            plain => Some(Token::Plain(plain)),
        }
    }
}
