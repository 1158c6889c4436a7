use types::{TypeModifier, Value};

use super::*;
use logical::expression::{ColumnId, Function};

const INT4: Type = Type::Scalar(Scalar::Int4);

/// Returns a call of an operator over two integers.
fn call(operator: &str, left: Expression, right: Expression) -> Expression {
    let found = functions::operators(operator)
        .iter()
        .find(|function| function.result.fixed() == Some(INT4) && function.parameters.len() == 2);
    let kind = Kind::Call {
        function: Function(found.unwrap()),
        arguments: vec![left, right],
    };
    Expression::new(kind, INT4)
}

fn int4(value: i32) -> Expression {
    Expression::int4(value)
}

#[test]
fn arithmetic_over_constants_is_computed() {
    let product = call("*", int4(3), call("+", int4(1), int4(10)));
    assert_eq!(folded(&product), Some(OwnedValue::new(Value::Int4(33))));
    let array = Expression::new(
        Kind::Array(vec![product, int4(2)]),
        Type::Array(Scalar::Int4),
    );
    assert!(matches!(folded(&array).unwrap().value(), Value::Array(_)));
}

#[test]
fn what_depends_on_rows_or_raises_is_not_computed() {
    let column = Expression::column(ColumnId(1), INT4, TypeModifier::NONE);
    let parameter = Expression::new(Kind::Parameter(0), INT4);
    for operand in [column, parameter] {
        assert_eq!(folded(&call("+", operand, int4(1))), None);
    }
    assert_eq!(folded(&call("/", int4(1), int4(0))), None);
    assert_eq!(folded(&call("+", int4(i32::MAX), int4(1))), None);
    assert_eq!(folded(&int4(1)), None);
    let long = (0..PARTS_MAX).fold(int4(1), |sum, _| call("+", sum, int4(1)));
    assert_eq!(folded(&long), None);
}
