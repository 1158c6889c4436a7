use super::*;

#[test]
fn days_and_dates_lead_to_each_other() {
    assert_eq!(days_from_civil(2000, 1, 1), 0);
    assert_eq!(days_from_civil(-4713, 11, 24), DATE_MIN.into());
    assert_eq!(days_from_civil(5_874_897, 12, 31), DATE_MAX.into());
    for days in (DATE_MIN..DATE_MAX).step_by(9973) {
        let date = Civil::from_days(days.into());
        assert!(date.day <= days_in_month(date.year, date.month));
        assert_eq!(
            days_from_civil(date.year, date.month, date.day),
            days.into()
        );
    }
}

#[test]
fn changes_of_the_clock_are_as_postgres_takes_them() {
    let zone = TimeZone::named("america/new_york").unwrap();
    assert_eq!(zone.name(), "America/New_York");
    assert_eq!(zone.abbreviation_at(0), "EST");
    assert_eq!(TimeZone::default().abbreviation_at(0), "UTC");
    let local =
        |day: i64, minutes: i64| day * MICROSECONDS_PER_DAY + minutes * MICROSECONDS_PER_MINUTE;
    let spring = days_from_civil(2024, 3, 10);
    assert_eq!(zone.offset_at_local(local(spring, 90)), -5 * 3600);
    assert_eq!(
        zone.offset_at_local(local(spring, 150)),
        -5 * 3600,
        "left out"
    );
    assert_eq!(zone.offset_at_local(local(spring, 180)), -4 * 3600);
    let autumn = days_from_civil(2024, 11, 3);
    assert_eq!(zone.offset_at_local(local(autumn, 90)), -5 * 3600, "twice");
    // A year that the database does not reach has the same rules.
    let far = days_from_civil(2024 + 400 * 700, 11, 3);
    assert_eq!(zone.offset_at_local(local(far, 30)), -4 * 3600);
    assert_eq!(zone.offset_at_local(local(far, 180)), -5 * 3600);
}

#[test]
fn moments_out_of_range_and_infinities_are_minded() {
    let zone = TimeZone::fixed(3600);
    assert_eq!(zone.name(), "<+01>-01");
    assert_eq!(zone.abbreviation_at(0), "+01");
    assert_eq!(zone.to_local(TIMESTAMP_INFINITY), Some(TIMESTAMP_INFINITY));
    assert_eq!(zone.to_local(TIMESTAMP_MAX), None);
    assert_eq!(zone.to_utc(TIMESTAMP_MIN), None);
    assert_eq!(zone.to_utc(MICROSECONDS_PER_HOUR), Some(0));
    assert!(TimeZone::named("Mars/Olympus").is_err());
}
