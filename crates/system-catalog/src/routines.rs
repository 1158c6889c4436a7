//! `pg_proc` and `pg_operator`: those of PostgreSQL's that Weft has, under PostgreSQL's numbers.

use types::{Result, Scalar, Value};

use super::{Emitter, NO, NONE, OWNER, Source, letter, oid, small, vector};
use catalog::{ObjectId, postgres};

/// Number of the language `internal`.
const INTERNAL: u32 = 12;

pub(super) fn procedures(source: &Source<'_>, out: &mut Emitter<'_>) -> Result<()> {
    for procedure in postgres::procedures() {
        let parameters: Vec<_> = procedure
            .parameters
            .iter()
            .map(|ty| Value::Oid(*ty))
            .collect();
        let mut row = vec![
            Value::Oid(procedure.oid),
            Value::Text(procedure.name),
            oid(ObjectId::PG_CATALOG),
            OWNER,
            Value::Oid(INTERNAL),
            Value::Float4(1.0),
            Value::Float4(if procedure.returns_set { 1_000.0 } else { 0.0 }),
            Value::Oid(procedure.variadic),
            NONE,
            letter(procedure.kind),
            NO,
            NO,
            Value::Bool(procedure.strict),
            Value::Bool(procedure.returns_set),
            letter(procedure.volatility),
            letter('s'),
            small(parameters.len()),
            Value::Int2(0),
            Value::Oid(procedure.result),
            vector(Scalar::Oid, &parameters, source.scratch)?,
        ];
        row.extend([Value::Null; 5]);
        row.push(Value::Text(procedure.name));
        row.extend([Value::Null; 4]);
        out.row(&row);
    }
    Ok(())
}

pub(super) fn operators(_: &Source<'_>, out: &mut Emitter<'_>) {
    for operator in postgres::operators() {
        let [left, right, result, commutator, negator, function] = operator.numbers.map(Value::Oid);
        out.row(&[
            Value::Oid(operator.oid),
            Value::Text(operator.name),
            oid(ObjectId::PG_CATALOG),
            OWNER,
            letter(operator.kind),
            Value::Bool(operator.can_merge),
            Value::Bool(operator.can_hash),
            left,
            right,
            result,
            commutator,
            negator,
            function,
            NONE,
            NONE,
        ]);
    }
}
