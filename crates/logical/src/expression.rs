//! Scalar expressions as the binder leaves them: typed, with names resolved, with every operator a
//! function. The planner moves them about; its programs make them fast.
//!
//! Columns are told apart by a [`ColumnId`] that is unique within a statement, whatever operators
//! they have passed through. An expression can therefore be moved between operators as it is, and
//! refers to an outer query when its columns come from there.

use std::sync::Arc;

use types::{Type, TypeModifier};

use batch::OwnedValue;
use syntax::phase;

/// A column of some relation of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(pub u32);

/// A function, known by its entry in the registry.
#[derive(Clone, Copy)]
pub struct Function(pub &'static functions::Function);

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Function {
    /// Returns whether the function may have another result each time that it is called.
    pub fn is_volatile(&self) -> bool {
        self.0.volatility == functions::Volatility::Volatile
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.0.name)
    }
}

/// A cast, known by its two types.
#[derive(Clone, Copy)]
pub struct Conversion(pub functions::Cast);

impl PartialEq for Conversion {
    fn eq(&self, other: &Self) -> bool {
        (self.0.from(), self.0.to()) == (other.0.from(), other.0.to())
    }
}

impl std::fmt::Debug for Conversion {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "to {:?}", self.0.to())
    }
}

/// A value to be computed from a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    /// Operation that gives the value, with its operands.
    pub kind: Kind,
    /// Type of the value.
    pub ty: Type,
    /// Type modifier, as in `numeric(8, 2)`, where it is known.
    pub modifier: TypeModifier,
}

/// The operations of expressions.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Value that is known when the statement is bound.
    Constant(Arc<OwnedValue>),
    /// Parameter by its number, which is 0 for `$1`.
    Parameter(u32),
    /// Value of a column in the current row, or in a row of an outer query.
    Column(ColumnId),
    /// Call of a function or an operator.
    Call {
        /// Function that is called.
        function: Function,
        /// Arguments, already of the types of the function's parameters.
        arguments: Vec<Expression>,
    },
    /// Cast of a value to another type.
    Convert {
        /// Value that is cast.
        operand: Box<Expression>,
        /// Cast from the type of `operand` to the type of the expression.
        conversion: Conversion,
    },
    /// Adjustment of a value to a type modifier.
    Fit {
        /// Value that is fitted.
        operand: Box<Expression>,
        /// Modifier of the type, as in `varchar(10)`.
        modifier: TypeModifier,
        /// Reaction to text that is too long: an explicit cast cuts it, an assignment fails.
        coercion: types::Coercion,
    },
    /// Conjunction of at least two conditions.
    And(Vec<Expression>),
    /// Disjunction of at least two conditions.
    Or(Vec<Expression>),
    /// `NOT operand`; NULL if the operand is NULL.
    Not(Box<Expression>),
    /// `IS [NOT] NULL` and `IS [NOT] UNKNOWN`; of a row, the test is made for all its fields.
    IsNull {
        /// Value that is tested, of any type.
        operand: Box<Expression>,
        /// `IS NOT`.
        negated: bool,
    },
    /// `IS TRUE`, `IS FALSE`; NULL is neither.
    Is {
        /// Value that is tested, of type `boolean`.
        operand: Box<Expression>,
        /// `true` for `IS TRUE`, `false` for `IS FALSE`.
        value: bool,
        /// `IS NOT`.
        negated: bool,
    },
    /// `IS [NOT] DISTINCT FROM`, by an equality.
    Distinct {
        /// Equality of the type that both sides have.
        equals: Function,
        /// Left side.
        left: Box<Expression>,
        /// Right side.
        right: Box<Expression>,
        /// `IS NOT DISTINCT FROM`.
        negated: bool,
    },
    /// The first branch whose condition is true.
    Case {
        /// Conditions of type `boolean`, each with the result of its branch.
        branches: Vec<(Expression, Expression)>,
        /// Result of `ELSE`, where no condition is true.
        otherwise: Box<Expression>,
    },
    /// The first value that is not NULL.
    Coalesce(Vec<Expression>),
    /// `GREATEST`, `LEAST`: NULLs do not count.
    Extreme {
        /// `GREATEST`; `LEAST` otherwise.
        greatest: bool,
        /// Values that are compared, of one type; the result is NULL if all of them are.
        items: Vec<Expression>,
    },
    /// `left operator ANY (array)`, and `ALL`.
    Quantified {
        /// Value that is compared with each element.
        left: Box<Expression>,
        /// Function of the operator, which returns `boolean`.
        operator: Function,
        /// Array of the elements.
        array: Box<Expression>,
        /// `ALL`; `ANY` otherwise.
        all: bool,
    },
    /// `ARRAY[...]`, of its type's element type.
    Array(Vec<Expression>),
    /// `ROW(...)`, and a whole row of a relation.
    Row {
        /// Values of the fields.
        items: Vec<Expression>,
        /// Names of the fields; empty if they are `f1`, `f2`, and so on.
        names: Arc<[Box<str>]>,
    },
    /// Field of a row, by its position; NULL if the row is.
    Field {
        /// Row that has the field.
        record: Box<Expression>,
        /// Position of the field in the row, from 0.
        position: usize,
    },
    /// Element of an array: `array[index]...`.
    Element {
        /// Array that has the element.
        array: Box<Expression>,
        /// Subscripts of type `integer`, one for each dimension.
        indexes: Vec<Expression>,
    },
    /// Slice of an array: `array[lower:upper]...`.
    Slice {
        /// Array that is sliced.
        array: Box<Expression>,
        /// Lower and upper bounds, for each dimension; `None` is the bound of the array itself.
        bounds: Vec<(Option<Expression>, Option<Expression>)>,
    },
    /// The last of several steps, of which each may read the value of the one before: a long chain
    /// of operators, or a value that is needed in several places.
    Steps(Vec<Expression>),
    /// Value of the step before.
    Previous,
}

impl Kind {
    /// Returns the function that the operation itself calls, apart from its operands.
    pub(crate) fn function(&self) -> Option<&Function> {
        match self {
            Kind::Call { function, .. } => Some(function),
            Kind::Quantified { operator, .. } => Some(operator),
            Kind::Distinct { equals, .. } => Some(equals),
            _ => None,
        }
    }
}

impl Expression {
    /// Creates an expression of `kind` and type `ty`, without a type modifier.
    pub fn new(kind: Kind, ty: Type) -> Self {
        Self {
            kind,
            ty,
            modifier: TypeModifier::NONE,
        }
    }

    /// Creates a reference to the column `id`, of type `ty` with `modifier`.
    pub fn column(id: ColumnId, ty: Type, modifier: TypeModifier) -> Self {
        Self {
            kind: Kind::Column(id),
            ty,
            modifier,
        }
    }

    /// Creates a constant with `value`, of type `ty`.
    pub fn constant(value: OwnedValue, ty: Type) -> Self {
        Self::new(Kind::Constant(Arc::new(value)), ty)
    }

    /// Creates a row whose fields have no names.
    pub fn row(items: Vec<Expression>) -> Self {
        let names = Arc::from([]);
        Self::new(Kind::Row { items, names }, Type::Record)
    }

    /// Creates a constant of type `boolean`.
    pub fn bool(value: bool) -> Self {
        Self::constant(
            OwnedValue::new(types::Value::Bool(value)),
            Type::Scalar(types::Scalar::Bool),
        )
    }

    /// Creates a constant of type `integer`.
    pub fn int4(value: i32) -> Self {
        let ty = Type::Scalar(types::Scalar::Int4);
        Self::constant(OwnedValue::new(types::Value::Int4(value)), ty)
    }

    /// Creates a NULL of type `ty`.
    pub fn null(ty: Type) -> Self {
        Self::constant(OwnedValue::new(types::Value::Null), ty)
    }

    /// Returns whether the expression is a constant NULL.
    pub fn is_null(&self) -> bool {
        matches!(&self.kind, Kind::Constant(value) if value.value().is_null())
    }

    /// Returns the conjunction of `conjuncts`; true if there are none.
    pub fn all(mut conjuncts: Vec<Expression>) -> Self {
        match conjuncts.len() {
            0 => Self::bool(true),
            1 => conjuncts.remove(0),
            _ => Self::new(Kind::And(conjuncts), Type::Scalar(types::Scalar::Bool)),
        }
    }

    /// Returns the parts that all have to be true.
    pub fn into_conjuncts(self) -> Vec<Expression> {
        match self.kind {
            Kind::And(parts) => parts
                .into_iter()
                .flat_map(Expression::into_conjuncts)
                .collect(),
            _ => vec![self],
        }
    }

    /// Returns whether the expression consists of at least `count` expressions, itself counted.
    pub(crate) fn has_parts(&self, count: usize) -> bool {
        let mut left = count;
        self.any(&mut |_| {
            left = left.saturating_sub(1);
            left == 0
        })
    }

    /// Calls `visit` with this expression and all within it, outermost first.
    pub fn walk<'e>(&'e self, visit: &mut impl FnMut(&'e Expression)) {
        phase::pause();
        visit(self);
        self.for_each_child(&mut |child| child.walk(visit));
    }

    /// Returns whether `is` is true of this expression or of any within it.
    pub fn any(&self, is: &mut impl FnMut(&Expression) -> bool) -> bool {
        phase::pause();
        if is(self) {
            return true;
        }
        let mut found = false;
        self.for_each_child(&mut |child| found = found || child.any(is));
        found
    }

    fn for_each_child<'e>(&'e self, visit: &mut impl FnMut(&'e Expression)) {
        match &self.kind {
            Kind::Constant(_) | Kind::Parameter(_) | Kind::Column(_) | Kind::Previous => {}
            Kind::Call {
                arguments: items, ..
            }
            | Kind::And(items)
            | Kind::Or(items)
            | Kind::Coalesce(items)
            | Kind::Extreme { items, .. }
            | Kind::Array(items)
            | Kind::Row { items, .. }
            | Kind::Steps(items) => items.iter().for_each(visit),
            Kind::Not(operand)
            | Kind::Field {
                record: operand, ..
            }
            | Kind::IsNull { operand, .. }
            | Kind::Is { operand, .. }
            | Kind::Convert { operand, .. }
            | Kind::Fit { operand, .. } => {
                visit(operand);
            }
            Kind::Distinct { left, right, .. }
            | Kind::Quantified {
                left, array: right, ..
            } => {
                visit(left);
                visit(right);
            }
            Kind::Case {
                branches,
                otherwise,
            } => {
                for (condition, result) in branches {
                    visit(condition);
                    visit(result);
                }
                visit(otherwise);
            }
            Kind::Element { array, indexes } => {
                visit(array);
                indexes.iter().for_each(visit);
            }
            Kind::Slice { array, bounds } => {
                visit(array);
                bounds
                    .iter()
                    .flat_map(|(lower, upper)| [lower, upper])
                    .flatten()
                    .for_each(visit);
            }
        }
    }

    /// Returns the expression with each part replaced for which `replace` returns an expression,
    /// outermost first; parts of a replacement are not visited.
    pub fn replaced(mut self, replace: &mut impl FnMut(&Expression) -> Option<Expression>) -> Self {
        self.replace(replace);
        self
    }

    /// Replaces each part for which `replace` returns an expression, outermost first; parts of a
    /// replacement are not visited.
    pub fn replace(&mut self, replace: &mut impl FnMut(&Expression) -> Option<Expression>) {
        phase::pause();
        if let Some(other) = replace(self) {
            *self = other;
            return;
        }
        self.for_each_child_mut(&mut |child| child.replace(replace));
    }

    fn for_each_child_mut(&mut self, visit: &mut impl FnMut(&mut Expression)) {
        match &mut self.kind {
            Kind::Constant(_) | Kind::Parameter(_) | Kind::Column(_) | Kind::Previous => {}
            Kind::Call {
                arguments: items, ..
            }
            | Kind::And(items)
            | Kind::Or(items)
            | Kind::Coalesce(items)
            | Kind::Extreme { items, .. }
            | Kind::Array(items)
            | Kind::Row { items, .. }
            | Kind::Steps(items) => items.iter_mut().for_each(visit),
            Kind::Not(operand)
            | Kind::Field {
                record: operand, ..
            }
            | Kind::IsNull { operand, .. }
            | Kind::Is { operand, .. }
            | Kind::Convert { operand, .. }
            | Kind::Fit { operand, .. } => {
                visit(operand);
            }
            Kind::Distinct { left, right, .. }
            | Kind::Quantified {
                left, array: right, ..
            } => {
                visit(left);
                visit(right);
            }
            Kind::Case {
                branches,
                otherwise,
            } => {
                for (condition, result) in branches {
                    visit(condition);
                    visit(result);
                }
                visit(otherwise);
            }
            Kind::Element { array, indexes } => {
                visit(array);
                indexes.iter_mut().for_each(visit);
            }
            Kind::Slice { array, bounds } => {
                visit(array);
                let bounds = bounds.iter_mut().flat_map(|(lower, upper)| [lower, upper]);
                bounds.flatten().for_each(visit);
            }
        }
    }

    /// Returns the columns that the expression is computed from, each once, in the order of their
    /// numbers.
    pub fn columns(&self) -> Vec<ColumnId> {
        let mut columns = Vec::new();
        self.walk(&mut |part| {
            if let Kind::Column(id) = part.kind {
                columns.push(id);
            }
        });
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Returns whether the expression has the same value whenever it is computed within a
    /// statement, for the same row.
    pub fn is_stable(&self) -> bool {
        !self.any(&mut |part| part.kind.function().is_some_and(Function::is_volatile))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Scalar;

    /// Operators of quantified comparisons were once not looked at. No operator is volatile today, so
    /// a function stands for one.
    #[test]
    fn a_quantified_comparison_is_as_stable_as_its_operator() {
        let quantified = |function| {
            let kind = Kind::Quantified {
                left: Box::new(Expression::int4(1)),
                operator: Function(function),
                array: Box::new(Expression::null(Type::Array(Scalar::Int4))),
                all: false,
            };
            Expression::new(kind, Type::Scalar(Scalar::Bool))
        };
        assert!(quantified(functions::operators("=")[0]).is_stable());
        assert!(!quantified(functions::functions("random")[0]).is_stable());
    }
}
