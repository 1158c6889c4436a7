//! Kinds of join, by the treatment of rows that find nothing.

/// Rows of a join: each row with a match, or with nothing.
///
/// Without any of these methods a join is a left outer join.
pub trait Joined: Iterator<Item = (Self::Row, Option<Self::Match>)> + Sized {
    /// Row of the relation that is looked up for.
    type Row;
    /// Match in the relation that is looked up in.
    type Match;

    /// Returns the rows that found a match, with it.
    fn inner(self) -> impl Iterator<Item = (Self::Row, Self::Match)> {
        self.filter_map(|(row, found)| Some((row, found?)))
    }

    /// Returns the rows that found a match, once for each match.
    fn semi(self) -> impl Iterator<Item = Self::Row> {
        self.filter_map(|(row, found)| found.map(|_| row))
    }

    /// Returns the rows that found nothing.
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
