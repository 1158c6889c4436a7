use super::*;

#[test]
fn styles_name_the_order_of_dates() {
    let order = DateOrder::YearMonthDay;
    for (style, expected) in [
        ("ISO, MDY", "ISO, MDY"),
        ("iso,dmy", "ISO, DMY"),
        ("European", "ISO, DMY"),
        ("ISO", "ISO, YMD"),
        ("default", "ISO, MDY"),
    ] {
        assert_eq!(order.with_style(style).unwrap().style(), expected);
    }
    for (style, state) in [
        ("SQL, DMY", SqlState::FEATURE_NOT_SUPPORTED),
        ("nonsense", SqlState::INVALID_PARAMETER_VALUE),
        ("", SqlState::INVALID_PARAMETER_VALUE),
    ] {
        assert_eq!(order.with_style(style).unwrap_err().state(), state);
    }
}
