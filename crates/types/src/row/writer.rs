//! Writing a row, column after column.

use super::{HEADER, RowLayout, WIDE, end_width};
use crate::{Result, SqlError, SqlState, Value, stored};

/// Appends a row to a vector that the caller keeps.
///
/// Every column of the layout is [pushed](Self::push) once, in order, then the row is
/// [finished](Self::finish). A row that is not finished leaves bytes behind, which the caller
/// cuts off.
#[derive(Debug)]
pub struct RowWriter<'l, 'v> {
    layout: &'l RowLayout,
    out: &'v mut Vec<u8>,
    start: usize,
    /// Positions of the fixed columns, of the ends of the others, and of their bytes.
    fixed: usize,
    ends: usize,
    data: usize,
    column: usize,
}

impl<'l, 'v> RowWriter<'l, 'v> {
    /// Begins a row behind the content of `out`.
    pub fn new(layout: &'l RowLayout, out: &'v mut Vec<u8>) -> Self {
        let columns = layout.columns.len();
        let (fixed_bytes, variable) = layout.before(columns);
        let start = out.len();
        let fixed = start + HEADER + columns.div_ceil(8);
        let ends = fixed + fixed_bytes as usize;
        let data = ends + variable as usize * end_width(false);
        out.resize(data, 0);
        // `COLUMNS_MAX` leaves the bit of the width free.
        out[start..start + HEADER].copy_from_slice(&(columns as u16).to_le_bytes());
        Self {
            layout,
            out,
            start,
            fixed,
            ends,
            data,
            column: 0,
        }
    }

    /// Writes all values, which are as many as the layout's columns.
    ///
    /// # Errors
    /// Fails as [`push`](Self::push) and [`finish`](Self::finish) do.
    pub fn write(layout: &'l RowLayout, values: &[Value<'_>], out: &'v mut Vec<u8>) -> Result<()> {
        let mut writer = Self::new(layout, out);
        for value in values {
            writer.push(*value)?;
        }
        writer.finish()
    }

    /// Writes the next column.
    ///
    /// # Errors
    /// `XX000` if the value is not of the column's type, or there is no further column; `54000`
    /// if the row gets larger than 4 GB.
    pub fn push(&mut self, value: Value<'_>) -> Result<()> {
        let Some(place) = self.layout.columns.get(self.column) else {
            return Err(miscounted());
        };
        if value.is_null() {
            self.out[self.start + HEADER + self.column / 8] |= 1 << (self.column % 8);
        }
        match place.width {
            Some(_) if value.is_null() => {}
            Some(width) => {
                let mut fixed = Fixed {
                    bytes: [0; 16],
                    length: 0,
                };
                stored::write(value, place.ty, &mut fixed)?;
                let at = self.fixed + place.fixed_before as usize;
                self.out[at..at + usize::from(width)]
                    .copy_from_slice(&fixed.bytes[..usize::from(width)]);
            }
            None => {
                if !value.is_null() {
                    stored::write(value, place.ty, self.out)?;
                }
                self.note_end(place.variable_before as usize)?;
            }
        }
        self.column += 1;
        Ok(())
    }

    /// Ends the row.
    ///
    /// # Errors
    /// `XX000` if columns are left.
    pub fn finish(self) -> Result<()> {
        if self.column == self.layout.columns.len() {
            Ok(())
        } else {
            Err(miscounted())
        }
    }

    fn note_end(&mut self, index: usize) -> Result<()> {
        let end = self.out.len() - self.data;
        if !self.is_wide() {
            match u16::try_from(end) {
                Ok(end) => {
                    self.out[self.ends + index * 2..][..2].copy_from_slice(&end.to_le_bytes());
                    return Ok(());
                }
                Err(_) => self.widen(index),
            }
        }
        let end = u32::try_from(end)
            .map_err(|_| SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "row is too big"))?;
        self.out[self.ends + index * 4..][..4].copy_from_slice(&end.to_le_bytes());
        Ok(())
    }

    fn is_wide(&self) -> bool {
        self.out[self.start + 1] & (WIDE >> 8) as u8 != 0
    }

    /// Makes the ends 32 bits wide; `written` of them are there.
    fn widen(&mut self, written: usize) {
        let narrow = self.data - self.ends;
        let mut ends = vec![0; narrow * 2];
        for index in 0..written {
            ends[index * 4..][..2].copy_from_slice(&self.out[self.ends + index * 2..][..2]);
        }
        self.out.splice(self.ends..self.data, ends);
        self.data += narrow;
        self.out[self.start + 1] |= (WIDE >> 8) as u8;
    }
}

/// A value of fixed width on its way to its place.
struct Fixed {
    bytes: [u8; 16],
    length: usize,
}

impl crate::Sink for Fixed {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    fn written(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.length]
    }
}

#[cold]
fn miscounted() -> SqlError {
    SqlError::new(
        SqlState::INTERNAL_ERROR,
        "number of values does not match the row's columns",
    )
}
