//! Trees of short texts.

use crate::{
    Source, Statement, Tree,
    expression::{Expr, ExprKind, Literal, Quantifier, Refused},
    parse_expression, phase,
    position::{Lines, OperatorForm},
    query::{GroupingElement, Query, QueryBody},
    statement::RowStatement,
};

fn expr(text: &str) -> Expr {
    parse_expression(text).unwrap().tree().clone()
}

fn statement(text: &str) -> Tree<Statement> {
    let sources: Vec<Source<'_>> = crate::split(text).unwrap();
    sources[0].statement().unwrap()
}

/// Calls a function with the query that a text is.
fn with_query<T>(text: &str, look: impl FnOnce(&Query) -> T) -> T {
    match &*statement(text) {
        Statement::Rows(RowStatement::Query(query)) => look(query),
        _ => panic!("{text} is no query"),
    }
}

#[test]
fn parentheses_and_places_leave_no_trace() {
    assert_eq!(expr("a + (b * 2)"), expr("(A)+((b) * 2)"));
    assert_ne!(expr("a + b * 2"), expr("(a + b) * 2"));
    assert_ne!(expr("\"A\""), expr("a"));
    assert_eq!(expr("a in (select 1)"), expr("a = any ((select 1))"));
}

/// The parser tells no place of what stands behind OVER, so that errors of an operator behind a window pointed at the
/// window.
#[test]
fn operators_stand_between_the_words_of_their_operands() {
    for (text, at) in [
        ("a + b", 3),
        ("(a) - (b)", 5),
        ("f(a) over (partition by b order by c) + d", 39),
        ("f(a) over () + d", 14),
        ("count(*) * d", 10),
        ("a::int + b", 8),
        ("a[1] + b", 6),
        ("case when a then b end || c", 24),
    ] {
        let ExprKind::Operator { left, right, .. } = expr(text).kind else {
            panic!("{text} has no operator");
        };
        assert_eq!(
            Lines::new(text).between(left.span, right.span, OperatorForm::Signs),
            Some(at),
            "{text}"
        );
    }
}

#[test]
fn a_minus_is_a_part_of_its_number() {
    let number = |digits: &str| ExprKind::Literal(Literal::Number(digits.to_owned()));
    assert_eq!(expr("-2147483648").kind, number("-2147483648"));
    assert_eq!(expr("- (-1)").kind, number("1"));
    assert!(matches!(
        expr("-a").kind,
        ExprKind::Prefix { operator: "-", .. }
    ));
}

#[test]
fn forms_that_mean_one_thing_are_one() {
    let call = |text| match expr(text).kind {
        ExprKind::SpecialCall {
            function,
            arguments,
        } => (function, arguments.len()),
        other => panic!("{text} is {other:?}"),
    };
    assert_eq!(call("trim(leading 'x' from a)"), ("ltrim", 2));
    assert_eq!(call("substring(a for 2)"), ("substring", 3));
    assert_eq!(call("position('a' in b)"), ("position", 2));
    let ExprKind::QuantifiedQuery { quantifier, .. } = expr("a not in (select 1)").kind else {
        panic!("a subquery behind IN is none");
    };
    assert_eq!(quantifier, Quantifier::None);
    assert!(matches!(
        expr("row(a, b)").kind,
        ExprKind::Row { items, is_explicit: true } if items.len() == 2
    ));
}

#[test]
fn chains_lean_to_the_left() {
    let text = vec!["a"; 10_000].join(" or ");
    let links = phase::at_once(|| {
        let chain = parse_expression(&text)?;
        let mut at = chain.tree();
        let mut links = 0;
        while let Some(left) = at.left_operand() {
            (at, links) = (left, links + 1);
        }
        Ok(links)
    });
    assert_eq!(links.unwrap(), 9_999);
}

#[test]
fn foreign_forms_are_refused_where_they_are_bound() {
    let ExprKind::Refused(Refused(error)) = expr("a rlike b").kind else {
        panic!("RLIKE is known");
    };
    assert_eq!(error.message(), "RLIKE is not supported");
}

#[test]
fn parentheses_around_a_query_add_clauses_to_it() {
    with_query("(select a from t order by a) limit 2", |query| {
        assert_eq!((query.order.len(), query.limit.is_some()), (1, true));
        assert!(matches!(query.body, QueryBody::Select(_)));
    });
    with_query("(select 1) union (select 2 limit 1)", |query| {
        let QueryBody::SetOperation(union) = &query.body else {
            panic!("a union is none");
        };
        assert!(matches!(union.left, QueryBody::Select(_)));
        assert!(matches!(union.right, QueryBody::Query(_)));
    });
    let sources = crate::split("(select 1 limit 1) limit 2").unwrap();
    assert!(sources[0].statement().is_err());
}

#[test]
fn grouping_elements_are_told_from_rows() {
    with_query(
        "select 1 group by (a, b), row(a, b), rollup (a, b), ()",
        |query| {
            let QueryBody::Select(select) = &query.body else {
                panic!("a query block is none");
            };
            let keys = |at: usize| match &select.grouping[at] {
                GroupingElement::Keys(keys) => keys.len(),
                GroupingElement::Rollup(parts) => parts.len(),
                other => panic!("{other:?}"),
            };
            assert_eq!([0, 1, 2, 3].map(keys), [2, 1, 2, 0]);
        },
    );
}

#[test]
fn overriding_is_noted_in_an_insert() {
    let insert = statement("insert into t overriding user value values (1)");
    let Statement::Rows(RowStatement::Change(crate::change::Change::Insert(insert))) = &*insert
    else {
        panic!("an INSERT is none");
    };
    assert_eq!(insert.overriding, Some(crate::change::Overriding::User));
}
