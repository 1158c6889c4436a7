use types::TypeModifier;

use super::*;
use logical::expression::{ColumnId, Function};

const INT4: Type = Type::Scalar(Scalar::Int4);
const NUMERIC: Type = Type::Scalar(Scalar::Numeric);

fn column(ty: Type, modifier: TypeModifier) -> Expression {
    Expression::column(ColumnId(1), ty, modifier)
}

/// Returns a column of `numeric(precision, scale)`.
fn digits_of(precision: i32, scale: i32) -> Expression {
    let modifier = TypeModifier::new(Scalar::Numeric, &[precision, scale]).unwrap();
    column(NUMERIC, modifier)
}

/// Returns the call of an operator of arguments of one type.
fn call(symbol: &str, arguments: Vec<Expression>) -> Expression {
    let ty = arguments[0].ty;
    let operators = functions::operators(symbol).iter().copied();
    let mut found = operators.filter(|function| {
        let mut parameters = function.parameters.iter();
        function.parameters.len() == arguments.len()
            && parameters.all(|parameter| parameter.fixed() == Some(ty))
    });
    let function = Function(found.next().unwrap());
    let result = function.0.result.fixed().unwrap();
    Expression::new(
        Kind::Call {
            function,
            arguments,
        },
        result,
    )
}

/// Returns whether sums of an expression's values fit where nothing is known of computed columns.
fn fit(expression: &Expression) -> bool {
    sums_fit(expression, &KnownDigits::default())
}

#[test]
fn comparisons_raise_nothing_and_arithmetic_may() {
    let number = || column(INT4, TypeModifier::NONE);
    assert!(raises_nothing(&call("<", vec![number(), number()])));
    for symbol in ["+", "-", "*", "/", "%"] {
        let computed = call(symbol, vec![number(), number()]);
        assert!(!raises_nothing(&computed), "{symbol}");
        let compared = call("<", vec![computed, number()]);
        assert!(!raises_nothing(&compared), "{symbol}");
    }
    // An expression without columns has one error for all rows.
    let literals = call("/", vec![Expression::int4(1), Expression::int4(0)]);
    assert!(raises_nothing(&call("<", vec![number(), literals])));
    let fitted = Kind::Fit {
        operand: Box::new(digits_of(10, 2)),
        modifier: TypeModifier::new(Scalar::Numeric, &[2, 1]).unwrap(),
        coercion: types::Coercion::Explicit,
    };
    assert!(!raises_nothing(&Expression::new(fitted, NUMERIC)));
}

#[test]
fn numbers_of_known_digits_are_summed() {
    let price = || digits_of(15, 2);
    for (symbol, fits) in [
        ("+", true),
        ("-", true),
        ("*", true),
        ("/", false),
        ("%", false),
    ] {
        let computed = call(symbol, vec![price(), price()]);
        assert_eq!(fit(&computed), fits, "{symbol}");
        assert_eq!(raises_nothing(&computed), fits, "{symbol}");
    }
    let any = || column(NUMERIC, TypeModifier::NONE);
    assert!(raises_nothing(&any()));
    assert!(!fit(&any()));
    assert!(!raises_nothing(&call("+", vec![any(), price()])));
    assert!(!fit(&column(
        Type::Scalar(Scalar::Float8),
        TypeModifier::NONE
    )));
    assert!(fit(&column(INT4, TypeModifier::NONE)));
}

#[test]
fn products_of_many_digits_may_raise() {
    let product = |count: usize| {
        let mut parts = (0..count).map(|_| digits_of(1000, 0));
        let first = parts.next().unwrap();
        parts.fold(first, |product, part| call("*", vec![product, part]))
    };
    assert!(raises_nothing(&product(8)));
    assert!(!raises_nothing(&product(9)));
    assert!(raises_nothing(&digits_of(3, 5)));
    assert!(raises_nothing(&call(
        "*",
        vec![digits_of(2, -1000), digits_of(5, 1000)]
    )));
}
