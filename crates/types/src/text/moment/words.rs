//! Words in dates and times.

/// Abbreviations of zones, with their hours and minutes east of Greenwich: those of PostgreSQL's
/// default set that are in wide use and always mean the same.
const ABBREVIATIONS: &[(&str, i32, i32)] = &[
    ("acdt", 10, 30),
    ("acst", 9, 30),
    ("adt", -3, 0),
    ("aedt", 11, 0),
    ("aest", 10, 0),
    ("akdt", -8, 0),
    ("akst", -9, 0),
    ("ast", -4, 0),
    ("awst", 8, 0),
    ("brst", -2, 0),
    ("brt", -3, 0),
    ("bst", 1, 0),
    ("cadt", 10, 30),
    ("cast", 9, 30),
    ("cdt", -5, 0),
    ("cest", 2, 0),
    ("cet", 1, 0),
    ("chadt", 13, 45),
    ("cst", -6, 0),
    ("eat", 3, 0),
    ("edt", -4, 0),
    ("eest", 3, 0),
    ("eet", 2, 0),
    ("est", -5, 0),
    ("gmt", 0, 0),
    ("hkt", 8, 0),
    ("hst", -10, 0),
    ("ict", 7, 0),
    ("idt", 3, 0),
    ("ist", 2, 0),
    ("jst", 9, 0),
    ("kst", 9, 0),
    ("mdt", -6, 0),
    ("mest", 2, 0),
    ("mesz", 2, 0),
    ("met", 1, 0),
    ("mez", 1, 0),
    ("mst", -7, 0),
    ("ndt", -2, -30),
    ("npt", 5, 45),
    ("nst", -3, -30),
    ("nzdt", 13, 0),
    ("nzst", 12, 0),
    ("nzt", 12, 0),
    ("pdt", -7, 0),
    ("pgt", 10, 0),
    ("pht", 8, 0),
    ("pkst", 6, 0),
    ("pkt", 5, 0),
    ("pst", -8, 0),
    ("sast", 2, 0),
    ("sct", 4, 0),
    ("sgt", 8, 0),
    ("uct", 0, 0),
    ("ut", 0, 0),
    ("utc", 0, 0),
    ("wast", 7, 0),
    ("wat", 1, 0),
    ("wet", 0, 0),
    ("z", 0, 0),
    ("zulu", 0, 0),
];

/// A word that is no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    Infinity,
    NegativeInfinity,
    Epoch,
    Now,
    Today,
    Tomorrow,
    Yesterday,
    /// Midnight in Greenwich.
    AllBalls,
    AnnoDomini,
    BeforeChrist,
    Morning,
    Afternoon,
    /// Before a time: `2024-01-31T10:30`.
    TimeFollows,
    /// Before the number of a day: `J2451187`.
    JulianDayFollows,
    /// A word without a meaning.
    Filler,
}

const KEYWORDS: &[(&str, Keyword)] = &[
    ("t", Keyword::TimeFollows),
    ("infinity", Keyword::Infinity),
    ("-infinity", Keyword::NegativeInfinity),
    ("epoch", Keyword::Epoch),
    ("now", Keyword::Now),
    ("today", Keyword::Today),
    ("tomorrow", Keyword::Tomorrow),
    ("yesterday", Keyword::Yesterday),
    ("allballs", Keyword::AllBalls),
    ("ad", Keyword::AnnoDomini),
    ("bc", Keyword::BeforeChrist),
    ("am", Keyword::Morning),
    ("pm", Keyword::Afternoon),
    ("j", Keyword::JulianDayFollows),
    ("at", Keyword::Filler),
    ("on", Keyword::Filler),
];

/// Returns the meaning of a word, if it is no name.
pub(super) fn keyword(word: &str) -> Option<Keyword> {
    KEYWORDS
        .iter()
        .find(|(name, _)| word.eq_ignore_ascii_case(name))
        .map(|(_, keyword)| *keyword)
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const DAYS: &[&str] = &[
    "sunday",
    "sun",
    "monday",
    "mon",
    "tuesday",
    "tue",
    "tues",
    "wednesday",
    "wed",
    "weds",
    "thursday",
    "thu",
    "thur",
    "thurs",
    "friday",
    "fri",
    "saturday",
    "sat",
];

/// Returns the number of a month's name, whole or its first three letters; `sept` too.
pub(super) fn month(word: &str) -> Option<u32> {
    let position = MONTHS.iter().position(|month| {
        word.eq_ignore_ascii_case(month)
            || word.eq_ignore_ascii_case(&month[..3])
            || (*month == "september" && word.eq_ignore_ascii_case("sept"))
    })?;
    Some(position as u32 + 1)
}

pub(super) fn is_day(word: &str) -> bool {
    DAYS.iter().any(|day| word.eq_ignore_ascii_case(day))
}

/// Returns the seconds east of Greenwich of an abbreviation.
pub(super) fn abbreviation(word: &str) -> Option<i32> {
    ABBREVIATIONS
        .iter()
        .find(|(name, ..)| word.eq_ignore_ascii_case(name))
        .map(|(_, hours, minutes)| (hours * 60 + minutes) * 60)
}
