//! The workloads that need no file: YCSB's six, shipped as files inside the
//! program, and the five that isolate one kind of operation.

use super::{OperationKind, Proportions, ScanLaw, ScanLength, Selection, Workload, properties};
use crate::distribution::Distribution;
use crate::keys::InsertOrder;
use commands::Result;

/// Every built-in name.
pub const NAMES: [&str; 11] = [
    "read-only",
    "update-only",
    "rmw",
    "insert",
    "scan",
    "a",
    "b",
    "c",
    "d",
    "e",
    "f",
];

/// Share of read-modify-writes in `rmw`; the rest are reads.
const RMW_SHARE: f64 = 0.2;
/// Number of operations per transaction in workloads about transactions rather than records.
const OPERATIONS: u32 = 10;

/// Returns the built-in workload named `name`, `None` when there is none.
///
/// # Errors
/// Returns no error in practice: the shipped files are tested.
pub fn named(name: &str) -> Result<Option<Workload>> {
    let only = |kind: OperationKind| {
        let share = |of| f64::from(u8::from(of == kind));
        Proportions {
            read: share(OperationKind::Read),
            update: share(OperationKind::Update),
            insert: share(OperationKind::Insert),
            scan: share(OperationKind::Scan),
            read_modify_write: share(OperationKind::ReadModifyWrite),
        }
    };
    let (proportions, operations) = match name {
        "read-only" => (only(OperationKind::Read), OPERATIONS),
        "update-only" => (only(OperationKind::Update), OPERATIONS),
        "insert" => (only(OperationKind::Insert), OPERATIONS),
        "scan" => (only(OperationKind::Scan), 1),
        "rmw" => {
            let read = 1.0 - RMW_SHARE;
            let shares = Proportions {
                read,
                read_modify_write: RMW_SHARE,
                ..Default::default()
            };
            (shares, OPERATIONS)
        }
        _ => {
            let source = match name {
                "a" => include_bytes!("../../workloads/workloada.properties").as_slice(),
                "b" => include_bytes!("../../workloads/workloadb.properties"),
                "c" => include_bytes!("../../workloads/workloadc.properties"),
                "d" => include_bytes!("../../workloads/workloadd.properties"),
                "e" => include_bytes!("../../workloads/workloade.properties"),
                "f" => include_bytes!("../../workloads/workloadf.properties"),
                _ => return Ok(None),
            };
            return properties::parse(name, source).map(Some);
        }
    };
    Ok(Some(Workload {
        name: name.to_owned(),
        proportions,
        selection: Selection::Quota,
        distribution: Distribution::Uniform,
        operations_per_transaction: operations,
        scan_length: ScanLength {
            law: ScanLaw::Constant,
            min: 1,
            max: 100,
        },
        insert_order: InsertOrder::Hashed,
        records: None,
        value_bytes: None,
        notes: Vec::new(),
    }))
}
