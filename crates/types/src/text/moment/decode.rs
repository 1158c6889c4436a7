//! The joint meaning of the tokens of a date or time.

use super::{
    Failure,
    clock::{HOURS_PER_DAY, read_clock, read_fraction},
    date::Parts,
    tokens::{Token, Tokens, tokens},
    words::{self, Keyword},
};
use crate::{
    Context, TimeZone,
    datetime::{Civil, MICROSECONDS_PER_DAY, MICROSECONDS_PER_HOUR},
    text::parse_offset,
};

/// Content of a text.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) moment: Moment,
    pub(super) zone: Zone,
}

/// The moment that a text gives.
#[derive(Debug, Clone, Copy)]
pub(super) enum Moment {
    Infinity,
    NegativeInfinity,
    Epoch,
    Now,
    Fields {
        date: Option<Civil>,
        /// Microseconds since midnight.
        time: Option<i64>,
    },
}

/// The zone that a text gives.
#[derive(Debug)]
pub(super) enum Zone {
    /// No zone is given: the session's.
    Session,
    /// Seconds east of Greenwich.
    Fixed(i32),
    Named(TimeZone),
}

struct Decoder<'c, 't> {
    context: &'c Context<'c>,
    /// Whether the date may be left out, so that bare digits are a time.
    is_time: bool,
    date: Parts,
    time: Option<i64>,
    zone: Zone,
    moment: Option<Moment>,
    before_christ: Option<bool>,
    half: Option<Half>,
    tokens: Tokens<'t>,
    /// Index of the current token.
    index: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    Morning,
    Afternoon,
}

/// Decodes a text. `is_time` means that it is for a type without a date.
pub(super) fn decode(text: &str, context: &Context<'_>, is_time: bool) -> Result<Decoded, Failure> {
    let mut decoder = Decoder {
        context,
        is_time,
        date: Parts::default(),
        time: None,
        zone: Zone::Session,
        moment: None,
        before_christ: None,
        half: None,
        tokens: tokens(text)?,
        index: 0,
    };
    decoder.run()?;
    decoder.finish()
}

impl Decoder<'_, '_> {
    fn run(&mut self) -> Result<(), Failure> {
        if self.tokens.len() == 0 {
            return Err(Failure::Syntax);
        }
        while let Some(token) = self.tokens.get(self.index) {
            match token {
                Token::Date(text) if self.date.is_complete() || self.is_run_together(text) => {
                    self.run_together(text)?;
                }
                Token::Date(text) => {
                    self.date.separated(text)?;
                    let order = self.context.settings.date_order;
                    self.date.separated_numbers(text, order)?;
                    // Parts that are written together all belong to a date: not `1999-08-Jan`.
                    if !self.date.is_complete() {
                        return Err(Failure::Syntax);
                    }
                }
                Token::Time(text) => self.set_time(read_clock(text, HOURS_PER_DAY)? as i64)?,
                Token::Offset(text) => {
                    let offset = parse_offset(text).ok_or(Failure::Displacement)?;
                    self.set_zone(Zone::Fixed(offset))?;
                }
                Token::Number(text) => self.number(text)?,
                Token::Word(text) => self.word(text)?,
            }
            self.index += 1;
        }
        Ok(())
    }

    /// Returns whether the text is a time with an offset, where a date may be left out:
    /// `103000-08`.
    fn is_run_together(&self, text: &str) -> bool {
        self.is_time && text.matches('-').count() == 1 && matches!(text.find('-'), Some(4 | 6))
    }

    fn run_together(&mut self, text: &str) -> Result<(), Failure> {
        let (time, _) = text.split_once('-').ok_or(Failure::Syntax)?;
        self.digits_of_time(time, "")?;
        let offset = parse_offset(&text[time.len()..]).ok_or(Failure::Displacement)?;
        self.set_zone(Zone::Fixed(offset))
    }

    fn set_time(&mut self, time: i64) -> Result<(), Failure> {
        match self.time.replace(time) {
            None => Ok(()),
            Some(_) => Err(Failure::Syntax),
        }
    }

    fn set_zone(&mut self, zone: Zone) -> Result<(), Failure> {
        match std::mem::replace(&mut self.zone, zone) {
            Zone::Session => Ok(()),
            _ => Err(Failure::Syntax),
        }
    }

    fn number(&mut self, text: &str) -> Result<(), Failure> {
        let before = self.index.checked_sub(1);
        let previous = before.and_then(|before| self.tokens.get(before));
        let follows = |word: &str| matches!(previous, Some(Token::Word(before)) if before.eq_ignore_ascii_case(word));
        if follows("j") {
            return self.julian(text);
        }
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if follows("t") || self.date.is_complete() || (self.is_time && whole.len() >= 4) {
            return self.digits_of_time(whole, fraction);
        }
        if !fraction.is_empty() {
            return Err(Failure::Syntax);
        }
        if self.date.is_empty() && whole.len() >= 6 {
            return self.date.concatenated(whole);
        }
        self.date.number(whole, self.context.settings.date_order)
    }

    /// Reads `1030`, `103000`, `103000.5`.
    fn digits_of_time(&mut self, whole: &str, fraction: &str) -> Result<(), Failure> {
        let colons = match whole.len() {
            4 => format!("{}:{}", &whole[..2], &whole[2..]),
            6 => format!("{}:{}:{}", &whole[..2], &whole[2..4], &whole[4..]),
            _ => return Err(Failure::Syntax),
        };
        if !fraction.is_empty() && whole.len() != 6 {
            return Err(Failure::Syntax);
        }
        self.set_time(read_clock(&colons, HOURS_PER_DAY)? as i64 + read_fraction(fraction)?)
    }

    /// Reads the number of a day from 4714-11-24 BC.
    fn julian(&mut self, text: &str) -> Result<(), Failure> {
        let days: i64 = text.parse().map_err(|_| Failure::Syntax)?;
        let from_epoch = days + i64::from(crate::datetime::DATE_MIN);
        if i32::try_from(days).is_err() || from_epoch > crate::datetime::DATE_MAX.into() {
            return Err(Failure::Field);
        }
        let date = Civil::from_days(from_epoch);
        self.date.set(date);
        Ok(())
    }

    fn word(&mut self, text: &str) -> Result<(), Failure> {
        if let Some(month) = words::month(text) {
            return self.date.name_month(month);
        }
        let is_last = self.index + 1 == self.tokens.len();
        match words::keyword(text) {
            Some(Keyword::Infinity) => self.set_moment(Moment::Infinity),
            Some(Keyword::NegativeInfinity) => self.set_moment(Moment::NegativeInfinity),
            Some(Keyword::Epoch) => self.set_moment(Moment::Epoch),
            Some(Keyword::Now) => self.set_moment(Moment::Now),
            Some(Keyword::Today) => self.relative_day(0),
            Some(Keyword::Tomorrow) => self.relative_day(1),
            Some(Keyword::Yesterday) => self.relative_day(-1),
            Some(Keyword::AllBalls) => {
                self.set_zone(Zone::Fixed(0))?;
                self.set_time(0)
            }
            Some(Keyword::AnnoDomini) => self.set_era(false),
            Some(Keyword::BeforeChrist) => self.set_era(true),
            Some(Keyword::Morning) => self.set_half(Half::Morning),
            Some(Keyword::Afternoon) => self.set_half(Half::Afternoon),
            Some(Keyword::Filler) => Ok(()),
            // Read together with the next token.
            Some(Keyword::TimeFollows | Keyword::JulianDayFollows) if !is_last => Ok(()),
            _ if words::is_day(text) => Ok(()),
            _ => self.zone_name(text),
        }
    }

    fn set_moment(&mut self, moment: Moment) -> Result<(), Failure> {
        match self.moment.replace(moment) {
            None => Ok(()),
            Some(_) => Err(Failure::Syntax),
        }
    }

    fn relative_day(&mut self, days: i64) -> Result<(), Failure> {
        if !self.date.is_empty() {
            return Err(Failure::Syntax);
        }
        let today = super::local_now(self.context).div_euclid(MICROSECONDS_PER_DAY);
        self.date.set(Civil::from_days(today + days));
        Ok(())
    }

    fn set_era(&mut self, before_christ: bool) -> Result<(), Failure> {
        match self.before_christ.replace(before_christ) {
            None => Ok(()),
            Some(_) => Err(Failure::Syntax),
        }
    }

    fn set_half(&mut self, half: Half) -> Result<(), Failure> {
        match self.half.replace(half) {
            None => Ok(()),
            Some(_) => Err(Failure::Syntax),
        }
    }

    /// Reads an abbreviation, perhaps with an offset that follows (`UTC+3`, POSIX's, counted
    /// westwards of it), or a name of the database.
    fn zone_name(&mut self, text: &str) -> Result<(), Failure> {
        let next = self.tokens.get(self.index + 1);
        if let (Some(Token::Offset(offset)), true) = (next, self.index > 0)
            && let Some(zone) = TimeZone::find(&format!("{text}{offset}"))
        {
            self.index += 1;
            return self.set_zone(Zone::Named(zone));
        }
        if let Some(seconds) = words::abbreviation(text) {
            return self.set_zone(Zone::Fixed(seconds));
        }
        let is_name = text.contains('/') || text.len() > 2;
        match is_name.then(|| TimeZone::find(text)).flatten() {
            Some(zone) => self.set_zone(Zone::Named(zone)),
            None if text.contains(['/', '_']) => Err(Failure::Zone(text.to_ascii_lowercase())),
            None => Err(Failure::Syntax),
        }
    }

    fn finish(self) -> Result<Decoded, Failure> {
        if let Some(moment) = self.moment {
            // Beside words that give everything, fields mean nothing, and are no mistake.
            if matches!(moment, Moment::Now) && (!self.date.is_empty() || self.time.is_some()) {
                return Err(Failure::Syntax);
            }
            return Ok(Decoded {
                moment,
                zone: self.zone,
            });
        }
        if self.is_time && self.date.is_empty() && matches!(self.zone, Zone::Named(_)) {
            // The zone's offset depends on the date.
            return Err(Failure::Syntax);
        }
        let date = self.date.finish(self.before_christ == Some(true))?;
        let time = match (self.time, self.half) {
            (time, None) => time,
            (None, Some(_)) => return Err(Failure::Syntax),
            (Some(time), Some(half)) => Some(in_half(time, half)?),
        };
        Ok(Decoded {
            moment: Moment::Fields { date, time },
            zone: self.zone,
        })
    }
}

fn in_half(time: i64, half: Half) -> Result<i64, Failure> {
    let noon = 12 * MICROSECONDS_PER_HOUR;
    let after_twelve = (noon..noon + MICROSECONDS_PER_HOUR).contains(&time);
    if time >= noon + MICROSECONDS_PER_HOUR {
        return Err(Failure::Field);
    }
    Ok(match half {
        Half::Morning if after_twelve => time - noon,
        Half::Afternoon if !after_twelve => time + noon,
        _ => time,
    })
}
