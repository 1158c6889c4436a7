//! Kinds of join, by what becomes of rows that find nothing.

/// What comes out of a join, row by row: each row with what it found, or with nothing.
///
/// Without any of these it is a left outer join.
pub trait Joined: Iterator<Item = (Self::Row, Option<Self::Match>)> + Sized {
    /// Of the relation that is looked up for.
    type Row;
    /// Of the one that is looked up in.
    type Match;

    /// Rows that found something, with it.
    fn inner(self) -> impl Iterator<Item = (Self::Row, Self::Match)> {
        self.filter_map(|(row, found)| Some((row, found?)))
    }

    /// Rows that found something, once for each time that they did.
    fn semi(self) -> impl Iterator<Item = Self::Row> {
        self.filter_map(|(row, found)| found.map(|_| row))
    }

    /// Rows that found nothing.
    fn anti(self) -> impl Iterator<Item = Self::Row> {
        self.filter_map(|(row, found)| found.is_none().then_some(row))
    }
}

impl<I, R, M> Joined for I
where
    I: Iterator<Item = (R, Option<M>)>,
{
    type Row = R;
    type Match = M;
}
