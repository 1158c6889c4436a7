//! Values of one vector added to another.

use super::{Data, Vector};

impl<'a> Vector<'a> {
    /// Adds the values of another vector at some positions.
    ///
    /// # Panics
    /// If there is no such position.
    pub fn append(
        &mut self,
        from: &Vector<'a>,
        positions: impl ExactSizeIterator<Item = usize> + Clone,
    ) {
        let (before, is_first) = (self.len, self.len == 0);
        if is_first {
            self.take_form_from(from);
        }
        if !self.append_of_form(from, positions.clone()) {
            positions.for_each(|at| self.push(from.value(at)));
            self.classes.clear();
            return;
        }
        self.len += positions.len();
        if !from.nulls.is_empty() || !self.nulls.is_empty() {
            self.nulls.resize(before, false);
            let marks = positions.clone();
            self.nulls.extend(marks.map(|at| from.is_null(at)));
        }
        self.classes.clear();
        if is_first && let Some((classes, count)) = from.classes() {
            self.classes.extend(positions.map(|at| classes[at]));
            self.class_count = count;
        }
    }

    /// Takes the form of another vector, without its values. Memory of the same form is kept.
    fn take_form_from(&mut self, from: &Vector<'a>) {
        self.clear();
        let memory = std::mem::take(&mut self.data);
        self.data = match (&from.data, memory) {
            (Data::Nulls, _) => Data::Nulls,
            (Data::Integers(kind, _), Data::Integers(_, list)) => Data::Integers(*kind, list),
            (Data::Integers(kind, _), _) => Data::Integers(*kind, Vec::new()),
            (Data::Decimals(scale, _), Data::Decimals(_, list)) => Data::Decimals(*scale, list),
            (Data::Decimals(scale, _), _) => Data::Decimals(*scale, Vec::new()),
            (Data::Floats(_), Data::Floats(list)) => Data::Floats(list),
            (Data::Floats(_), _) => Data::Floats(Vec::new()),
            (Data::Bools(_), Data::Bools(list)) => Data::Bools(list),
            (Data::Bools(_), _) => Data::Bools(Vec::new()),
            (Data::Texts(_), Data::Texts(list)) => Data::Texts(list),
            (Data::Texts(_), _) => Data::Texts(Vec::new()),
            (Data::Values(_), _) => Data::Values(Vec::new()),
        };
    }

    /// Appends to the list alone the values of a vector of the same form; returns false for one of another.
    fn append_of_form(
        &mut self,
        from: &Vector<'a>,
        positions: impl ExactSizeIterator<Item = usize>,
    ) -> bool {
        match (&mut self.data, &from.data) {
            (Data::Nulls, Data::Nulls) => {}
            (Data::Integers(kind, to), Data::Integers(of, list)) if kind == of => {
                to.extend(positions.map(|at| list[at]));
            }
            (Data::Decimals(scale, to), Data::Decimals(of, list)) if scale == of => {
                to.extend(positions.map(|at| list[at]));
            }
            (Data::Floats(to), Data::Floats(list)) => to.extend(positions.map(|at| list[at])),
            (Data::Bools(to), Data::Bools(list)) => to.extend(positions.map(|at| list[at])),
            (Data::Texts(to), Data::Texts(list)) => to.extend(positions.map(|at| list[at])),
            (Data::Values(to), Data::Values(list)) => to.extend(positions.map(|at| list[at])),
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use types::Value;

    use super::*;
    use crate::IntegerKind;

    /// Vectors of one form are put together as such, with their NULLs; classes count for one vector's positions alone.
    #[test]
    fn vectors_are_appended() {
        let mut dates = Vector::default();
        dates.fill_integers(IntegerKind::Date, |list| list.extend([5, 6, 7]));
        dates.mark_nulls(vec![false, true, false]);
        dates.classify([0, 1, 2].into_iter(), 3);
        let mut all = Vector::default();
        all.append(&dates, [2, 1].into_iter());
        assert_eq!(all.classes(), Some((&[2, 1][..], 3)));
        all.append(&dates, [0].into_iter());
        assert_eq!(all.classes(), None);
        let mut texts = Vector::default();
        texts.fill_texts(|list| list.push("text"));
        all.append(&texts, [0, 0].into_iter());
        all.append(&Vector::nulls(2), [1].into_iter());
        let expected = [
            Value::Date(7),
            Value::Null,
            Value::Date(5),
            Value::Text("text"),
            Value::Text("text"),
            Value::Null,
        ];
        let is_same = |(at, value): (usize, &Value<'_>)| all.value(at).is_same(value);
        assert!(all.len() == expected.len() && expected.iter().enumerate().all(is_same));
    }
}
