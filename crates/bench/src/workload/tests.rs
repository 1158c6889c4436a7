use super::*;

fn parse(text: &str) -> Result<Workload> {
    properties::parse("test", text.as_bytes())
}

fn refusal(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn every_builtin_name_is_a_workload_without_notes() {
    for name in builtin::NAMES {
        let workload = Workload::named_or_file(name).unwrap();
        assert_eq!(workload.name, name);
        assert!((workload.proportions.sum() - 1.0).abs() < 1e-9, "{name}");
        assert!(workload.notes.is_empty(), "{name}: {:?}", workload.notes);
    }
}

#[test]
fn the_six_have_their_standard_shares() {
    let workload = |name| Workload::named_or_file(name).unwrap();
    let shares = |name| workload(name).proportions;
    let none = Proportions::default();
    assert_eq!(
        shares("a"),
        Proportions {
            read: 0.5,
            update: 0.5,
            ..none
        }
    );
    assert_eq!(
        shares("b"),
        Proportions {
            read: 0.95,
            update: 0.05,
            ..none
        }
    );
    assert_eq!(shares("c"), Proportions { read: 1.0, ..none });
    assert_eq!(
        shares("d"),
        Proportions {
            read: 0.95,
            insert: 0.05,
            ..none
        }
    );
    assert_eq!(
        shares("e"),
        Proportions {
            scan: 0.95,
            insert: 0.05,
            ..none
        }
    );
    assert_eq!(
        shares("f"),
        Proportions {
            read: 0.5,
            read_modify_write: 0.5,
            ..none
        }
    );
    assert_eq!(
        workload("d").distribution,
        Distribution::Latest { theta: 0.99 }
    );
    assert_eq!(
        workload("a").distribution,
        Distribution::Scrambled { theta: 0.99 }
    );
    assert_eq!(
        workload("e").scan_length,
        ScanLength {
            law: ScanLaw::Uniform,
            min: 1,
            max: 100
        }
    );
}

#[test]
fn operations_per_transaction_have_their_defaults() {
    for (name, operations) in [
        ("read-only", 10),
        ("rmw", 10),
        ("scan", 1),
        ("a", 1),
        ("e", 1),
    ] {
        let workload = Workload::named_or_file(name).unwrap();
        assert_eq!(workload.operations_per_transaction, operations, "{name}");
    }
}

#[test]
fn the_property_format_is_read_in_full() {
    let workload = parse(
        "# a comment\n! another\n\n  recordcount : 5_000\nfieldcount=4\r\nfieldlength = 25\n\
         readproportion=0.\\\n    75\nupdateproportion 0.25\ninsertorder=ordered\n\
         requestdistribution=zipfian\nzipfianconstant=0.8\nmaxscanlength=7\n",
    )
    .unwrap();
    assert_eq!(workload.records, Some(5000));
    assert_eq!(workload.value_bytes, Some(100));
    assert_eq!(workload.proportions.read, 0.75);
    assert_eq!(workload.insert_order, InsertOrder::Ordered);
    assert_eq!(
        workload.distribution,
        Distribution::Scrambled { theta: 0.8 }
    );
    assert_eq!(workload.scan_length.max, 7);
    assert_eq!(workload.value_bytes, Some(100));
}

#[test]
fn one_field_property_implies_the_others_default() {
    assert_eq!(parse("fieldlength=50").unwrap().value_bytes, Some(500));
    assert_eq!(parse("").unwrap().value_bytes, None);
}

#[test]
fn an_unknown_property_is_refused_with_its_line_and_the_known_ones() {
    let error = refusal("readproportion=1\nreedproportion=1\n");
    assert!(
        error.contains("line 2") && error.contains("reedproportion"),
        "{error}"
    );
    assert!(
        error.contains("readproportion") && error.contains("maxscanlength"),
        "{error}"
    );
}

#[test]
fn properties_without_effect_are_noted_once() {
    let workload = parse(
        "workload=site.ycsb.workloads.CoreWorkload\ntable=t\noperationcount=10\n\
         readallfields=true\nwriteallfields=false\n",
    )
    .unwrap();
    let notes = workload.notes.join("\n");
    assert_eq!(workload.notes.len(), 3, "{notes}");
    assert!(
        notes.contains("table=t") && notes.contains("--seconds"),
        "{notes}"
    );
    assert!(notes.contains("writeallfields=false"), "{notes}");
}

#[test]
fn proportions_are_normalised_and_said_so() {
    let workload = parse("scanproportion=1").unwrap();
    assert_eq!(workload.proportions.scan, 0.5);
    assert!(
        workload.notes[0].contains("sum to 2"),
        "{:?}",
        workload.notes
    );
}

#[test]
fn bad_values_are_refused() {
    for (text, word) in [
        ("readproportion=lots", "lots"),
        ("readproportion=1.5", "0 to 1"),
        ("readproportion=-1", "0 to 1"),
        ("readproportion=NaN", "NaN"),
        (
            "readproportion=0\nupdateproportion=0",
            "all proportions are 0",
        ),
        ("requestdistribution=hotspot", "hotspot"),
        ("scanlengthdistribution=normal", "normal"),
        ("insertorder=random", "random"),
        ("recordcount=0", "from 1"),
        ("recordcount=ten", "ten"),
        ("zipfianconstant=3", "theta 3"),
        ("minscanlength=5\nmaxscanlength=4", "above"),
        ("workload=my.own.Workload", "CoreWorkload"),
        ("operationspertransaction=0", "from 1"),
    ] {
        let error = refusal(text);
        assert!(error.contains(word), "{text}: {error}");
    }
}

#[test]
fn bytes_that_are_no_text_are_no_panic() {
    let _ = properties::parse("test", &[0xFF, 0x00, b'=', 0x80, b'\n', b'\\', b'u', b'x']);
}

#[test]
fn a_missing_file_lists_the_builtin_names() {
    let error = Workload::named_or_file("no/such/file")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("no/such/file") && error.contains("update-only"),
        "{error}"
    );
}
