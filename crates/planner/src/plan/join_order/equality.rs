//! Equalities of columns: which of them say something new, and which others they imply.

use logical::expression::{Expression, Kind};

/// The equalities of equated columns in the rows of some leaves: each column has a link to one that
/// it is equal to, or to itself.
#[derive(Clone)]
pub(super) struct Equal(Vec<usize>);

impl Equal {
    pub(super) fn none(columns: usize) -> Self {
        Self((0..columns).collect())
    }

    fn first(&self, mut column: usize) -> usize {
        while self.0[column] != column {
            column = self.0[column];
        }
        column
    }

    /// Notes that two columns are equal; returns whether that is new.
    pub(super) fn insert(&mut self, (one, two): (usize, usize)) -> bool {
        let (one, two) = (self.first(one), self.first(two));
        self.0[two] = one;
        one != two
    }

    /// Returns the equalities in the rows of two sets of leaves together; the sets have different
    /// columns.
    pub(super) fn with(&self, other: &Equal) -> Self {
        let both = self.0.iter().zip(&other.0).enumerate();
        let of_other = |(at, (one, two)): (usize, (&usize, &usize))| match *one == at {
            true => *two,
            false => *one,
        };
        Self(both.map(of_other).collect())
    }
}

/// Returns the equalities that others imply, with the places of their columns: of `a = b` and
/// `b = c`, `a = c`, by which `a` and `c` may be joined first. The `equated` columns have these
/// places, and the `given` equalities are of two columns of one type each.
pub(super) fn implied_equalities(
    equated: &[Expression],
    given: Vec<((usize, usize), &Expression)>,
) -> Vec<((usize, usize), Expression)> {
    let mut equal = Equal::none(equated.len());
    for (pair, _) in &given {
        equal.insert(*pair);
    }
    let mut implied = Vec::new();
    for two in 0..equated.len() {
        for one in 0..two {
            let is_given = given
                .iter()
                .any(|(pair, _)| [(one, two), (two, one)].contains(pair));
            if is_given || equal.first(one) != equal.first(two) {
                continue;
            }
            // All columns of a class are of one type, and have its equality.
            let mut class = given.iter();
            let of_class =
                class.find(|((of_class, _), _)| equal.first(*of_class) == equal.first(one));
            if let Some((_, model)) = of_class
                && let Kind::Call { function, .. } = &model.kind
            {
                let arguments = vec![equated[one].clone(), equated[two].clone()];
                let function = *function;
                let equality = Kind::Call {
                    function,
                    arguments,
                };
                implied.push(((one, two), Expression::new(equality, model.ty)));
            }
        }
    }
    implied
}
