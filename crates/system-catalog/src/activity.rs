//! `pg_settings` and `pg_stat_activity` of the session that asks; other sessions are not shown.

use types::Value;

use super::{Emitter, NO, Source, names};

pub(super) fn settings(source: &Source<'_>, out: &mut Emitter<'_>) {
    source.environment.each_setting(&mut |name, value| {
        let mut row = [Value::Null; 17];
        row[0] = Value::Text(name);
        row[1] = Value::Text(value);
        row[3] = Value::Text("");
        row[4] = Value::Text("");
        row[6] = Value::Text("user");
        row[7] = Value::Text("string");
        row[8] = Value::Text("session");
        row[12] = Value::Text(value);
        row[13] = Value::Text(value);
        row[16] = NO;
        out.row(&row);
    });
}

pub(super) fn sessions(source: &Source<'_>, out: &mut Emitter<'_>) {
    let environment = source.environment;
    let user = environment.session_user();
    let name = environment.setting("application_name");
    let mut row = [Value::Null; 22];
    row[0] = Value::Oid(names::DATABASE);
    row[1] = Value::Text(environment.database());
    row[2] = Value::Int4(environment.process_id());
    row[4] = source
        .catalog
        .role_named(user)
        .map_or(Value::Null, |role| Value::Oid(role.id.0));
    row[5] = Value::Text(user);
    row[6] = Value::Text(name.as_deref().unwrap_or_default());
    row[11] = Value::TimestampTz(environment.transaction_time());
    row[12] = Value::TimestampTz(environment.statement_time());
    row[13] = Value::TimestampTz(environment.statement_time());
    row[16] = Value::Text("active");
    row[21] = Value::Text("client backend");
    out.row(&row);
}
