//! `numeric`: groups of four digits.
//!
//! ```text
//! groups u16 │ weight i16 │ sign u16 │ scale u16 │ groups × u16
//! ```
//!
//! The number is the sum of each group times 10000 to the power of the weight less its position.

use super::{Reader, invalid};
use crate::{NUMERIC_SCALE_MAX, Numeric, Result, Scratch, Sink};

const POSITIVE: u16 = 0x0000;
const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xc000;
const INFINITY: u16 = 0xd000;
const NEGATIVE_INFINITY: u16 = 0xf000;

pub(super) fn read<'a>(reader: &mut Reader<'_>, scratch: &'a Scratch) -> Result<Numeric<'a>> {
    let count = reader.short()?;
    let weight = reader.short()? as i16;
    let sign = reader.short()?;
    let scale = reader.short()?;
    if scale > NUMERIC_SCALE_MAX {
        return Err(invalid("invalid scale in external \"numeric\" value"));
    }
    let bytes = reader.take(usize::from(count) * 2)?;
    let groups = bytes
        .chunks_exact(2)
        .map(|group| u16::from_be_bytes([group[0], group[1]]));
    if groups.clone().any(|group| group > 9999) {
        return Err(invalid("invalid digit in external \"numeric\" value"));
    }
    match sign {
        POSITIVE | NEGATIVE => {
            Numeric::from_groups(sign == NEGATIVE, groups, weight.into(), scale, scratch)
        }
        NAN => Ok(Numeric::NAN),
        INFINITY => Ok(Numeric::INFINITY),
        NEGATIVE_INFINITY => Ok(Numeric::NEGATIVE_INFINITY),
        _ => Err(invalid("invalid sign in external \"numeric\" value")),
    }
}

pub(super) fn write(number: Numeric<'_>, out: &mut impl Sink) {
    let sign = match number.signum() {
        _ if number.is_nan() => NAN,
        -1 if number.is_infinite() => NEGATIVE_INFINITY,
        _ if number.is_infinite() => INFINITY,
        -1 => NEGATIVE,
        _ => POSITIVE,
    };
    // PostgreSQL marks infinities with a scale.
    let special_scale = if number.is_infinite() {
        INFINITE_SCALE
    } else {
        0
    };
    number.with_groups(|groups, weight| {
        // At most 131072 digits before the point and 16383 after it, four in a group.
        out.put(&(groups.len() as u16).to_be_bytes());
        out.put(&(weight as i16).to_be_bytes());
        out.put(&sign.to_be_bytes());
        out.put(&number.scale().unwrap_or(special_scale).to_be_bytes());
        for group in groups {
            out.put(&group.to_be_bytes());
        }
    });
}

const INFINITE_SCALE: u16 = 32;
