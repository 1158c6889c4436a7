//! Visibility of objects by name alone, and look-ups by name.

use super::ObjectClass;
use crate::{
    Context, Function,
    argument::Oid,
    function::{BOOL, OID, REGCLASS, REGNAMESPACE, REGPROC, REGROLE, TEXT, entry},
};

/// Defines `pg_..._is_visible(oid)` for one kind of objects.
macro_rules! visible {
    ($name:literal, $class:ident) => {
        entry!($name(OID) -> BOOL, in context |context: &Context<'_>, Oid(oid): Oid| {
            context.environment.objects().is_visible(ObjectClass::$class, oid)
        })
        .stable()
    };
}

/// Defines `to_reg...(text)`: NULL where the cast would fail.
macro_rules! found {
    ($name:literal -> $result:ident, $class:ident) => {
        entry!($name(TEXT) -> $result, in context |context: &Context<'_>, name: &str| {
            context.environment.objects().named(ObjectClass::$class, name).map(Oid)
        })
        .stable()
    };
}

pub(super) static FUNCTIONS: &[Function] = &[
    visible!("pg_table_is_visible", Relation),
    visible!("pg_type_is_visible", Type),
    visible!("pg_function_is_visible", Routine),
    visible!("pg_operator_is_visible", Operator),
    visible!("pg_opclass_is_visible", OperatorClass),
    visible!("pg_opfamily_is_visible", OperatorClass),
    visible!("pg_collation_is_visible", Collation),
    visible!("pg_conversion_is_visible", Other),
    visible!("pg_statistics_obj_is_visible", Other),
    visible!("pg_ts_config_is_visible", Other),
    visible!("pg_ts_dict_is_visible", Other),
    visible!("pg_ts_parser_is_visible", Other),
    visible!("pg_ts_template_is_visible", Other),
    found!("to_regclass" -> REGCLASS, Relation),
    found!("to_regproc" -> REGPROC, Routine),
    found!("to_regnamespace" -> REGNAMESPACE, Schema),
    found!("to_regrole" -> REGROLE, Role),
];
