use types::{Scalar, Type, TypeModifier};

use super::*;
use logical::expression::Function;

const BOOL: Type = Type::Scalar(Scalar::Bool);

/// Returns a column that is a condition.
fn is(id: u32) -> Expression {
    Expression::column(ColumnId(id), BOOL, TypeModifier::NONE)
}

fn and(parts: &[Expression]) -> Expression {
    Expression::all(parts.to_vec())
}

fn or(parts: &[Expression]) -> Expression {
    Expression::new(Kind::Or(parts.to_vec()), BOOL)
}

/// Returns a condition on a column that raises an error for some values.
fn raises(id: u32) -> Expression {
    let ty = Type::Scalar(Scalar::Int4);
    let column = Expression::column(ColumnId(id), ty, TypeModifier::NONE);
    let divide = functions::operators("/");
    let divide = divide
        .iter()
        .find(|function| function.result.fixed() == Some(ty));
    let call = Kind::Call {
        function: Function(divide.unwrap()),
        arguments: vec![column.clone(), column],
    };
    let operand = Box::new(Expression::new(call, ty));
    let negated = false;
    Expression::new(Kind::IsNull { operand, negated }, BOOL)
}

fn columns(ids: &[u32]) -> BTreeSet<ColumnId> {
    ids.iter().copied().map(ColumnId).collect()
}

#[test]
fn conditions_of_all_alternatives_are_drawn_out_once() {
    let (a, b, c, d) = (is(1), is(2), is(3), is(4));
    let left_and_right = or(&[and(&[a.clone(), b.clone()]), and(&[c.clone(), a.clone()])]);
    assert_eq!(
        factored(left_and_right),
        [a.clone(), or(&[b.clone(), c.clone()])]
    );
    let twice = or(&[
        and(&[a.clone(), a.clone(), b.clone()]),
        and(&[a.clone(), c.clone()]),
    ]);
    assert_eq!(factored(twice), [a.clone(), or(&[b.clone(), c.clone()])]);
    let nested = Kind::And(vec![b.clone(), and(&[c.clone(), a.clone()])]);
    let nested = or(&[Expression::new(nested, BOOL), and(&[d.clone(), a.clone()])]);
    let rest = or(&[and(&[b.clone(), c]), d.clone()]);
    assert_eq!(factored(nested), [a.clone(), rest]);
    // An alternative without others decides.
    assert_eq!(
        factored(or(&[a.clone(), and(&[a.clone(), b.clone()])])),
        vec![a.clone()]
    );
    for unchanged in [
        a.clone(),
        and(&[a.clone(), b.clone()]),
        or(&[a, and(&[b, d])]),
    ] {
        assert_eq!(factored(unchanged.clone()), [unchanged]);
    }
}

#[test]
fn conditions_that_may_raise_are_not_drawn_out() {
    let (a, b) = (is(1), is(2));
    let guarded = or(&[and(&[a.clone(), raises(9)]), and(&[b.clone(), raises(9)])]);
    assert_eq!(factored(guarded.clone()), vec![guarded.clone()]);
    assert_eq!(implied_for(&guarded, &columns(&[9])), None);
    assert_eq!(implied_for(&guarded, &columns(&[1, 2])), Some(or(&[a, b])));
}

#[test]
fn a_side_gets_what_every_alternative_says_of_it() {
    let (a, b, c, d) = (is(1), is(2), is(3), is(4));
    let both = or(&[
        and(&[a.clone(), c.clone()]),
        and(&[b.clone(), d.clone(), c.clone()]),
    ]);
    assert_eq!(
        implied_for(&both, &columns(&[1, 2])),
        Some(or(&[a.clone(), b.clone()]))
    );
    let of_right = or(&[c.clone(), and(&[d, c.clone()])]);
    assert_eq!(implied_for(&both, &columns(&[3, 4])), Some(of_right));
    // One alternative says nothing, or there is nothing but this side.
    assert_eq!(implied_for(&both, &columns(&[1])), None);
    assert_eq!(implied_for(&both, &columns(&[1, 2, 3, 4])), None);
    assert_eq!(implied_for(&and(&[a, c]), &columns(&[1])), None);
}

#[test]
fn long_disjunctions_are_left_as_they_are() {
    let alternatives = (0..100_000).map(|at| and(&[is(at), is(200_000)]));
    let long = or(&alternatives.collect::<Vec<_>>());
    assert_eq!(factored(long.clone()).len(), 1);
    let left: BTreeSet<ColumnId> = (0..100_000).map(ColumnId).collect();
    let implied = implied_for(&long, &left).unwrap();
    assert!(matches!(implied.kind, Kind::Or(parts) if parts.len() == 100_000));
    let conditions: Vec<_> = (0..100_000).map(is).collect();
    assert_eq!(factored(or(&[and(&conditions), and(&conditions)])).len(), 1);
}
