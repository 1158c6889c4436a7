use super::*;
use crate::{NoNames, TypeModifier};

#[test]
fn names_lead_to_types_and_back() {
    for scalar in Scalar::all() {
        for ty in [Type::Scalar(scalar), Type::Array(scalar)] {
            assert_eq!(Type::named(&ty.name(&NoNames)), Some(ty));
            assert_eq!(Type::from_oid(ty.oid()), Some(ty));
        }
        assert_eq!(
            Scalar::from_internal_name(scalar.internal_name()),
            Some(scalar)
        );
    }
    assert_eq!(Type::named("Char"), Some(Type::Scalar(Scalar::Bpchar)));
    assert_eq!(Type::named("\"char\""), Some(Type::Scalar(Scalar::Char)));
    assert_eq!(Type::named("_int4"), Some(Type::Array(Scalar::Int4)));
    assert_eq!(Type::named("integer [][]"), Some(Type::Array(Scalar::Int4)));
    assert_eq!(Type::named("int5"), None);
}

#[test]
fn types_are_displayed_with_their_modifiers() {
    let shown = |scalar: Scalar, modifier: i32| {
        Type::Scalar(scalar).format(TypeModifier(modifier), &NoNames)
    };
    assert_eq!(shown(Scalar::Varchar, 14), "character varying(10)");
    assert_eq!(shown(Scalar::Varchar, -1), "character varying");
    assert_eq!(shown(Scalar::Bpchar, 5), "character(1)");
    assert_eq!(shown(Scalar::Bpchar, -1), "bpchar");
    assert_eq!(shown(Scalar::Numeric, (8 << 16 | 2) + 4), "numeric(8,2)");
    assert_eq!(
        shown(Scalar::Timestamp, 3),
        "timestamp(3) without time zone"
    );
    assert_eq!(shown(Scalar::Interval, (0x7fff << 16) | 2), "interval(2)");
    assert_eq!(
        Type::Array(Scalar::Numeric).format(TypeModifier((8 << 16 | 2) + 4), &NoNames),
        "numeric(8,2)[]"
    );
}
