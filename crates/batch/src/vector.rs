//! Columns of a batch: values of one type side by side, for operators that compute many rows at once.
//!
//! | values | form |
//! | --- | --- |
//! | `smallint`, `integer`, `bigint`, `date`, `time`, `timestamp`, `timestamptz` | 64-bit integers |
//! | `numeric` of one scale whose mantissas fit | 64-bit mantissas |
//! | `double precision` | floats |
//! | `boolean` | bytes |
//! | `text`, `varchar`, `char(n)`, `name` | borrowed strings |
//! | all others, and a mixture of the above | [`Value`]s |
//!
//! A vector takes the form of its first value that is not NULL, and becomes a list of [`Value`]s when one comes that
//! does not fit: whatever is put in comes out again. The form is a matter of speed alone.
//!
//! NULLs are marked beside the values, whose places then hold something of no meaning.
//!
//! A vector whose values are few besides may have *classes*: numbers such that positions of one class all have the same
//! value, or are all NULL. What is computed for one of them need not be computed for the others.

mod append;

use types::{Numeric, Scalar, Type, Value};

/// The type of a vector of integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntegerKind {
    /// `smallint`
    Int2,
    /// `integer`
    Int4,
    /// `bigint`
    Int8,
    /// `date`, in days
    Date,
    /// `time`, in microseconds
    Time,
    /// `timestamp`, in microseconds
    Timestamp,
    /// `timestamptz`, in microseconds
    TimestampTz,
}

impl IntegerKind {
    /// Returns the type and the integer of a value that is stored as one.
    #[inline(always)]
    pub fn of(value: Value<'_>) -> Option<(Self, i64)> {
        Some(match value {
            Value::Int2(value) => (Self::Int2, value.into()),
            Value::Int4(value) => (Self::Int4, value.into()),
            Value::Int8(value) => (Self::Int8, value),
            Value::Date(value) => (Self::Date, value.into()),
            Value::Time(value) => (Self::Time, value),
            Value::Timestamp(value) => (Self::Timestamp, value),
            Value::TimestampTz(value) => (Self::TimestampTz, value),
            _ => return None,
        })
    }

    /// Returns the kind of a type whose values are stored as integers.
    pub fn of_type(ty: Type) -> Option<Self> {
        let Type::Scalar(scalar) = ty else {
            return None;
        };
        Some(match scalar {
            Scalar::Int2 => Self::Int2,
            Scalar::Int4 => Self::Int4,
            Scalar::Int8 => Self::Int8,
            Scalar::Date => Self::Date,
            Scalar::Time => Self::Time,
            Scalar::Timestamp => Self::Timestamp,
            Scalar::TimestampTz => Self::TimestampTz,
            _ => return None,
        })
    }

    /// Returns the value of this type with an integer, which is one of the type's.
    #[inline(always)]
    pub fn value(self, integer: i64) -> Value<'static> {
        match self {
            Self::Int2 => Value::Int2(integer as i16),
            Self::Int4 => Value::Int4(integer as i32),
            Self::Int8 => Value::Int8(integer),
            Self::Date => Value::Date(integer as i32),
            Self::Time => Value::Time(integer),
            Self::Timestamp => Value::Timestamp(integer),
            Self::TimestampTz => Value::TimestampTz(integer),
        }
    }

    /// Returns the least and the greatest integer of the type.
    pub fn range(self) -> (i64, i64) {
        match self {
            Self::Int2 => (i16::MIN.into(), i16::MAX.into()),
            Self::Int4 | Self::Date => (i32::MIN.into(), i32::MAX.into()),
            _ => (i64::MIN, i64::MAX),
        }
    }
}

/// The values of a vector: see the module text. All lists are as long as the vector.
#[derive(Debug, Clone, Default)]
pub enum Data<'a> {
    /// No value that is not NULL has come yet.
    #[default]
    Nulls,
    /// Integers, dates and times.
    Integers(IntegerKind, Vec<i64>),
    /// `numeric`: the mantissas of numbers with this scale.
    Decimals(u16, Vec<i64>),
    /// `double precision`
    Floats(Vec<f64>),
    /// `boolean`
    Bools(Vec<bool>),
    /// Texts of all types but `json`.
    Texts(Vec<&'a str>),
    /// Values of any type.
    Values(Vec<Value<'a>>),
}

/// Values of a column.
#[derive(Debug, Clone, Default)]
pub struct Vector<'a> {
    data: Data<'a>,
    /// For each position, whether the value is NULL; empty if none is.
    nulls: Vec<bool>,
    len: usize,
    /// Class of each position, below `class_count`. They count if there are as many as values.
    classes: Vec<u16>,
    class_count: usize,
}

/// Runs a block for the list of a vector, whatever its form.
macro_rules! each_list {
    ($data:expr, $list:ident => $run:expr) => {
        match $data {
            Data::Nulls => {}
            Data::Integers(_, $list) => $run,
            Data::Decimals(_, $list) => $run,
            Data::Floats($list) => $run,
            Data::Bools($list) => $run,
            Data::Texts($list) => $run,
            Data::Values($list) => $run,
        }
    };
}

/// Returns a list of `len` values, of which the one at `at` is `value`.
fn list<T: Copy>(len: usize, at: usize, value: T, filler: T) -> Vec<T> {
    let mut list = Vec::with_capacity(len.max(crate::COLUMN_ROWS));
    list.resize(len, filler);
    list[at] = value;
    list
}

/// Makes methods by which a vector takes a form and the values that a function appends to its list, in place of those
/// that it has. Memory of a list of the same form is kept.
macro_rules! fill {
    ($name:ident, $form:literal, $list:ident, $element:ty, [$($tag:ident: $type:ty)?]) => {
        #[doc = concat!("Replaces all values by those that `fill` appends: ", $form, ". None is NULL.")]
        pub fn $name(&mut self, $($tag: $type,)? fill: impl FnOnce(&mut Vec<$element>)) {
            let mut list = match std::mem::take(&mut self.data) {
                Data::$list($(fill!(ignored $tag),)? list) => list,
                _ => Vec::new(),
            };
            list.clear();
            fill(&mut list);
            self.len = list.len();
            self.nulls.clear();
            self.classes.clear();
            self.data = Data::$list($($tag,)? list);
        }
    };
    (ignored $tag:ident) => { _ };
}

impl<'a> Vector<'a> {
    fill!(fill_integers, "integers of a kind", Integers, i64, [kind: IntegerKind]);
    fill!(fill_decimals, "mantissas of numbers with this scale", Decimals, i64, [scale: u16]);
    fill!(fill_floats, "floats", Floats, f64, []);
    fill!(fill_bools, "truth values", Bools, bool, []);
    fill!(fill_texts, "texts", Texts, &'a str, []);
    fill!(fill_values, "values of any type", Values, Value<'a>, []);

    /// Makes a vector of `len` NULLs.
    pub fn nulls(len: usize) -> Self {
        Self {
            nulls: vec![true; len],
            len,
            ..Self::default()
        }
    }

    /// Makes a vector of these values, none of which is NULL.
    pub fn of(data: Data<'a>) -> Self {
        let mut len = 0;
        each_list!(&data, list => len = list.len());
        Self {
            data,
            len,
            ..Self::default()
        }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the values by their form; those at positions that are NULL have no meaning.
    pub fn data(&self) -> &Data<'a> {
        &self.data
    }

    /// Returns, for each position, whether the value is NULL; `None` if none is.
    pub fn null_marks(&self) -> Option<&[bool]> {
        (!self.nulls.is_empty()).then_some(&self.nulls[..])
    }

    /// Returns whether the value at a position is NULL.
    #[inline]
    pub fn is_null(&self, at: usize) -> bool {
        self.nulls.get(at).is_some_and(|is_null| *is_null)
    }

    /// Returns the value at a position.
    ///
    /// # Panics
    /// If there is no such position.
    #[inline]
    pub fn value(&self, at: usize) -> Value<'a> {
        if self.is_null(at) {
            return Value::Null;
        }
        match &self.data {
            Data::Nulls => Value::Null,
            Data::Integers(kind, values) => kind.value(values[at]),
            Data::Decimals(scale, values) => Value::Numeric(Numeric::small(values[at], *scale)),
            Data::Floats(values) => Value::Float8(values[at]),
            Data::Bools(values) => Value::Bool(values[at]),
            Data::Texts(values) => Value::Text(values[at]),
            Data::Values(values) => values[at],
        }
    }

    /// Returns whether values of the vector's form may borrow.
    pub(crate) fn may_borrow(&self) -> bool {
        matches!(self.data, Data::Texts(_) | Data::Values(_))
    }

    /// Returns the bytes that the value at a position borrows.
    #[inline]
    pub(crate) fn borrowed_bytes(&self, at: usize) -> usize {
        match &self.data {
            Data::Texts(texts) => texts[at].len(),
            Data::Values(values) => values[at].borrowed_bytes(),
            _ => 0,
        }
    }

    /// Adds a value.
    #[inline(always)]
    pub fn push(&mut self, value: Value<'a>) {
        match (&mut self.data, value) {
            (Data::Integers(kind, values), value) => match IntegerKind::of(value) {
                Some((of, value)) if of == *kind => values.push(value),
                _ => return self.push_other(value),
            },
            (Data::Decimals(scale, values), Value::Numeric(number)) => match number.as_small() {
                Some((mantissa, of)) if of == *scale => values.push(mantissa),
                _ => return self.push_other(value),
            },
            (Data::Floats(values), Value::Float8(value)) => values.push(value),
            (Data::Bools(values), Value::Bool(value)) => values.push(value),
            (Data::Texts(values), Value::Text(value)) => values.push(value),
            _ => return self.push_other(value),
        }
        self.len += 1;
        if !self.nulls.is_empty() {
            self.nulls.push(false);
        }
    }

    /// Adds NULL, or a value that does not have the vector's form.
    #[cold]
    fn push_other(&mut self, value: Value<'a>) {
        self.len += 1;
        self.marks();
        match &mut self.data {
            Data::Nulls => {}
            Data::Integers(_, values) | Data::Decimals(_, values) => values.push(0),
            Data::Floats(values) => values.push(0.0),
            Data::Bools(values) => values.push(false),
            Data::Texts(values) => values.push(""),
            Data::Values(values) => values.push(Value::Null),
        }
        self.set(self.len - 1, value);
    }

    /// Replaces the value at a position.
    ///
    /// # Panics
    /// If there is no such position.
    pub fn set(&mut self, at: usize, value: Value<'a>) {
        self.classes.clear();
        if value.is_null() {
            self.marks()[at] = true;
            return;
        }
        if !self.put(at, value) {
            self.take_form_of(at, value);
        }
        if let Some(mark) = self.nulls.get_mut(at) {
            *mark = false;
        }
    }

    /// Replaces the values at some positions by one value.
    ///
    /// # Panics
    /// If there is no such position.
    pub fn set_all(&mut self, positions: &[u32], value: Value<'a>) {
        if let (Data::Bools(list), Value::Bool(value), true) =
            (&mut self.data, value, self.nulls.is_empty())
        {
            self.classes.clear();
            positions.iter().for_each(|at| list[*at as usize] = value);
            return;
        }
        for at in positions {
            self.set(*at as usize, value);
        }
    }

    /// Replaces the value at a position, if the new one has the vector's form; returns whether it has.
    #[inline]
    fn put(&mut self, at: usize, value: Value<'a>) -> bool {
        match (&mut self.data, value) {
            (Data::Integers(kind, values), value) => match IntegerKind::of(value) {
                Some((of, value)) if of == *kind => values[at] = value,
                _ => return false,
            },
            (Data::Decimals(scale, values), Value::Numeric(number)) => match number.as_small() {
                Some((mantissa, of)) if of == *scale => values[at] = mantissa,
                _ => return false,
            },
            (Data::Floats(values), Value::Float8(value)) => values[at] = value,
            (Data::Bools(values), Value::Bool(value)) => values[at] = value,
            (Data::Texts(values), Value::Text(value)) => values[at] = value,
            (Data::Values(values), value) => values[at] = value,
            _ => return false,
        }
        true
    }

    /// Puts in a value that is not NULL and does not have the vector's form: if the others are NULL, the vector takes
    /// the value's form, and otherwise that of values of any type.
    fn take_form_of(&mut self, at: usize, value: Value<'a>) {
        let len = self.len;
        let is_only = (0..len).all(|other| other == at || self.is_null(other));
        if !is_only {
            let mut values: Vec<_> = (0..len).map(|at| self.value(at)).collect();
            values[at] = value;
            self.data = Data::Values(values);
            return;
        }
        self.data = match value {
            Value::Float8(value) => Data::Floats(list(len, at, value, 0.0)),
            Value::Bool(value) => Data::Bools(list(len, at, value, false)),
            Value::Text(value) => Data::Texts(list(len, at, value, "")),
            Value::Numeric(number) => match number.as_small() {
                Some((mantissa, scale)) => Data::Decimals(scale, list(len, at, mantissa, 0)),
                None => Data::Values(list(len, at, value, Value::Null)),
            },
            value => match IntegerKind::of(value) {
                Some((kind, integer)) => Data::Integers(kind, list(len, at, integer, 0)),
                None => Data::Values(list(len, at, value, Value::Null)),
            },
        };
    }

    /// Returns the marks of NULLs, one for each position.
    fn marks(&mut self) -> &mut Vec<bool> {
        self.nulls.resize(self.len, false);
        &mut self.nulls
    }

    /// Marks positions as NULL.
    ///
    /// # Panics
    /// If there are not as many marks as values.
    pub fn mark_nulls(&mut self, nulls: Vec<bool>) {
        assert_eq!(nulls.len(), self.len, "marks of another vector");
        self.classes.clear();
        self.nulls = match nulls.contains(&true) {
            true => nulls,
            false => Vec::new(),
        };
    }

    /// Forgets all values. Memory is kept for values of the same form, which the first of the next ones decides anew.
    pub fn clear(&mut self) {
        if let Data::Values(_) = self.data {
            self.data = Data::Nulls;
        }
        each_list!(&mut self.data, list => list.clear());
        self.nulls.clear();
        self.classes.clear();
        self.len = 0;
    }

    /// Gives the positions classes, which are below `count`: positions of one class must have the same value, or NULL.
    /// A value that is added or replaced ends them.
    ///
    /// # Panics
    /// If there are not as many classes as values.
    pub fn classify(&mut self, classes: impl Iterator<Item = u16>, count: usize) {
        self.classes.clear();
        self.classes.extend(classes);
        assert_eq!(self.classes.len(), self.len, "classes of another vector");
        debug_assert!(self.classes.iter().all(|class| usize::from(*class) < count));
        self.class_count = count;
    }

    /// Returns the class of each position, and the number that they are below, if the vector has classes.
    pub fn classes(&self) -> Option<(&[u16], usize)> {
        let has_classes = self.len > 0 && self.classes.len() == self.len;
        has_classes.then_some((&self.classes[..], self.class_count))
    }

    /// Returns the bytes that the vector takes, without those that its values borrow.
    pub fn bytes(&self) -> usize {
        let mut bytes = self.nulls.capacity() + room(&self.classes);
        each_list!(&self.data, list => bytes += room(list));
        bytes
    }
}

fn room<T>(list: &Vec<T>) -> usize {
    list.capacity() * size_of::<T>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(mantissa: i64, scale: u16) -> Value<'static> {
        Value::Numeric(Numeric::small(mantissa, scale))
    }

    /// Values of all forms, alone and after one another in every order, with NULLs before, between and behind.
    #[test]
    fn values_come_out_as_they_were_put_in() {
        let forms = [
            Value::Int2(-3),
            Value::Int4(i32::MIN),
            Value::Int8(i64::MAX),
            Value::Date(i32::MAX),
            Value::Time(86_400_000_000),
            Value::Timestamp(i64::MIN),
            Value::TimestampTz(1),
            number(150, 2),
            number(15, 1),
            Value::Numeric(Numeric::NAN),
            Value::Float8(-0.0),
            Value::Float4(1.5),
            Value::Bool(true),
            Value::Text("text"),
            Value::Json("1"),
            Value::Null,
        ];
        for one in forms {
            for two in forms {
                let all = [Value::Null, one, Value::Null, two, one, Value::Null];
                let mut vector = Vector::default();
                all.iter().for_each(|value| vector.push(*value));
                let is_same = |vector: &Vector<'_>| {
                    let mut places = all.iter().enumerate();
                    places.all(|(at, value)| vector.value(at).is_same(value))
                };
                assert!(is_same(&vector), "{one:?} {two:?}: {vector:?}");
                let mut set = Vector::nulls(all.len());
                for (at, value) in all.iter().enumerate().rev() {
                    set.set(at, two);
                    set.set(at, *value);
                }
                assert!(is_same(&set), "{one:?} {two:?}: {set:?}");
            }
        }
    }

    /// A filled vector has the values it was filled with, whatever it had before, and none of the NULLs.
    #[test]
    fn a_vector_is_filled_anew() {
        let mut vector = Vector::nulls(2);
        vector.fill_integers(IntegerKind::Date, |list| list.extend([1, 2, 3]));
        vector.mark_nulls(vec![false, true, false]);
        assert!(vector.value(1).is_null() && vector.value(2).is_same(&Value::Date(3)));
        vector.fill_integers(IntegerKind::Int4, |list| list.push(7));
        assert!(vector.len() == 1 && vector.value(0).is_same(&Value::Int4(7)));
        vector.fill_decimals(2, |list| list.push(150));
        assert!(vector.value(0).is_same(&number(150, 2)));
        vector.fill_floats(|list| list.push(0.5));
        vector.fill_bools(|list| list.push(true));
        assert!(vector.value(0).is_same(&Value::Bool(true)));
        vector.fill_texts(|list| list.push("text"));
        vector.push(Value::Text("other"));
        assert!(vector.len() == 2 && vector.value(1).is_same(&Value::Text("other")));
        vector.fill_values(|list| list.push(Value::Json("1")));
        assert!(vector.len() == 1 && vector.value(0).is_same(&Value::Json("1")));
    }

    /// Classes hold for the values that they were given for.
    #[test]
    fn classes_end_with_a_change() {
        let mut vector = Vector::default();
        let classified = |vector: &mut Vector<'_>| {
            vector.fill_texts(|list| list.extend(["a", "b", "a"]));
            vector.classify([0, 1, 0].into_iter(), 2);
            assert_eq!(vector.classes(), Some((&[0, 1, 0][..], 2)));
        };
        let changes: [fn(&mut Vector<'_>); 6] = [
            |vector| vector.push(Value::Text("a")),
            |vector| vector.push(Value::Null),
            |vector| vector.set(0, Value::Text("b")),
            |vector| vector.set(0, Value::Null),
            |vector| vector.fill_texts(|list| list.extend(["a", "b", "c"])),
            |vector| vector.clear(),
        ];
        for change in changes {
            classified(&mut vector);
            change(&mut vector);
            assert_eq!(vector.classes(), None);
        }
        classified(&mut vector);
        vector.mark_nulls(vec![false; 3]);
        assert_eq!(vector.classes(), None);
    }

    /// A vector that was cleared keeps its memory, and takes another form if other values come.
    #[test]
    fn a_cleared_vector_is_used_again() {
        let mut vector = Vector::default();
        (0..1000).for_each(|number| vector.push(Value::Int8(number)));
        let bytes = vector.bytes();
        vector.clear();
        assert!(vector.is_empty() && vector.bytes() == bytes);
        vector.push(Value::Null);
        vector.push(Value::Text("other"));
        assert!(matches!(vector.data(), Data::Texts(_)));
        vector.push(Value::Int8(1));
        assert!(matches!(vector.data(), Data::Values(_)));
        assert!(vector.value(0).is_null() && vector.value(1).is_same(&Value::Text("other")));
        vector.clear();
        vector.push(Value::Int8(1));
        assert!(matches!(vector.data(), Data::Integers(..)));
    }
}
