use std::collections::HashSet;

use functions::{Function, all_functions};

use super::{operators, procedures, types};

/// Returns whether a function can be called with so many arguments.
fn takes(function: &Function, arguments: usize) -> bool {
    let most = function.parameters.len();
    let least = most.saturating_sub(function.optional + usize::from(function.variadic));
    arguments >= least && (function.variadic || arguments <= most)
}

/// Functions over the session and the catalog, and words of the grammar, that have no lines.
const UNLISTED: &str = "\
    _pg_expandarray col_description current_catalog current_date current_role current_time current_timestamp \
    currval enum_first enum_last enum_range has_any_column_privilege has_column_privilege has_database_privilege \
    has_function_privilege has_schema_privilege has_sequence_privilege has_table_privilege has_type_privilege \
    inet_client_addr inet_client_port inet_server_addr inet_server_port lastval localtime localtimestamp nextval \
    obj_description pg_char_to_encoding pg_client_encoding pg_collation_actual_version pg_collation_is_visible \
    pg_column_is_updatable pg_conf_load_time pg_conversion_is_visible pg_database_collation_actual_version \
    pg_database_size pg_encoding_to_char pg_function_is_visible pg_get_constraintdef pg_get_expr \
    pg_get_function_arguments pg_get_function_identity_arguments pg_get_function_result pg_get_function_sqlbody \
    pg_get_functiondef pg_get_indexdef pg_get_partition_constraintdef pg_get_partkeydef pg_get_ruledef \
    pg_get_serial_sequence pg_get_statisticsobjdef pg_get_statisticsobjdef_columns pg_get_triggerdef \
    pg_get_userbyid pg_get_viewdef pg_has_role pg_index_has_property pg_indexam_has_property pg_indexes_size \
    pg_is_in_recovery pg_is_other_temp_schema pg_my_temp_schema pg_opclass_is_visible pg_operator_is_visible \
    pg_opfamily_is_visible pg_postmaster_start_time pg_relation_filenode pg_relation_is_publishable \
    pg_relation_is_updatable pg_relation_size pg_size_pretty pg_statistics_obj_is_visible pg_table_is_visible \
    pg_table_size pg_tablespace_location pg_total_relation_size pg_ts_config_is_visible pg_ts_dict_is_visible \
    pg_ts_parser_is_visible pg_ts_template_is_visible pg_type_is_visible row_security_active setval \
    shobj_description to_regclass to_regnamespace to_regproc to_regrole user";

/// Lines of functions that Weft has with fewer arguments, or not over hypothetical rows, or as a form of the grammar.
const LACKING: &[u32] = &[
    1846, 1847, // to_ascii with an encoding
    3154, 3156, // array_to_json and row_to_json with line feeds
    3986, 3988, 3990,
    3992, // rank, percent_rank, cume_dist and dense_rank of hypothetical rows
    4350, // normalize
];

/// A line without a function shows clients what they cannot call; a function without a line is none to those that look
/// for it in `pg_proc`. Nothing compared the two.
#[test]
fn procedures_and_functions_are_the_same() {
    // These are called by what names them, and have no names of Weft's.
    let named: HashSet<u32> = (types().iter().flat_map(|ty| ty.functions))
        .chain(operators().iter().map(|operator| operator.numbers[5]))
        .collect();
    let is_internal = |name: &str| {
        let is_cast = types().iter().any(|ty| ty.name == name);
        let io = ["enum_in", "enum_out", "enum_recv", "enum_send"];
        is_cast || name.ends_with("handler") || io.contains(&name)
    };
    let lacking = procedures().iter().filter(|procedure| {
        let mut functions = functions::functions(procedure.name).iter();
        let arguments = procedure.parameters.len();
        !named.contains(&procedure.oid)
            && !is_internal(procedure.name)
            && !functions.any(|function| takes(function, arguments))
    });
    let lacking: Vec<u32> = lacking.map(|procedure| procedure.oid).collect();
    assert_eq!(lacking, LACKING, "lines without a function");
    let names: HashSet<&str> = procedures()
        .iter()
        .map(|procedure| procedure.name)
        .collect();
    let unlisted = all_functions().map(|function| function.name);
    let mut unlisted: Vec<&str> = unlisted.filter(|name| !names.contains(name)).collect();
    unlisted.sort_unstable();
    unlisted.dedup();
    let known: Vec<&str> = UNLISTED.split_ascii_whitespace().collect();
    assert_eq!(unlisted, known, "functions without a line");
}
