//! `CREATE TABLE`.

use sqlparser::{ast, keywords::Keyword, tokenizer::Token};
use types::{Result, SqlError, SqlState};

use super::{column::ColumnDefinition, constraint::TableConstraint, storage_parameter::Owner};
use crate::{
    name::DottedName,
    refusal::{Misplaced, refuse_keywords},
    table_like::TableLike,
};

/// A table that is created.
#[derive(Debug, Clone)]
pub struct CreateTable {
    /// The name of the new table, with or without a schema.
    pub name: DottedName,
    /// Whether `IF NOT EXISTS` is written: a relation of this name makes the statement do nothing.
    pub if_not_exists: bool,
    /// Whether the table is `TEMPORARY`.
    pub temporary: bool,
    /// The columns that are written out.
    pub columns: Vec<ColumnDefinition>,
    /// The `LIKE` elements, in order.
    pub likes: Vec<TableLike>,
    /// The constraints that belong to no column.
    pub constraints: Vec<TableConstraint>,
    /// The error for a clause behind or before the elements that there is not.
    pub supported: Result<()>,
}

impl CreateTable {
    /// Takes a definition from the parser, and its `LIKE` elements, which the parser has not seen.
    ///
    /// # Errors
    /// Clauses of other systems; those of the columns and constraints.
    pub(crate) fn of(
        written: ast::CreateTable,
        likes: Vec<TableLike>,
    ) -> std::result::Result<Self, Misplaced> {
        refuse_foreign(&written)?;
        let supported = refuse_unsupported(&written);
        let columns = written.columns.into_iter().map(ColumnDefinition::of);
        let columns = columns.collect::<std::result::Result<_, _>>()?;
        let constraints = written.constraints.into_iter().map(TableConstraint::of);
        Ok(Self {
            name: DottedName::of(&written.name),
            if_not_exists: written.if_not_exists,
            temporary: written.temporary,
            columns,
            likes,
            constraints: constraints.collect::<std::result::Result<_, _>>()?,
            supported,
        })
    }
}

/// Refuses clauses of other systems that the parser takes. All fields are named, so that none which a
/// later parser adds is ignored in silence.
fn refuse_foreign(create: &ast::CreateTable) -> std::result::Result<(), Misplaced> {
    let ast::CreateTable {
        or_replace,
        temporary,
        external,
        dynamic,
        global,
        if_not_exists: _,
        transient,
        volatile,
        iceberg,
        snapshot,
        name: _,
        columns: _,
        constraints: _,
        hive_distribution,
        hive_formats,
        table_options,
        file_format,
        location,
        query,
        without_rowid,
        like,
        clone,
        version,
        comment,
        on_commit: _,
        on_cluster,
        primary_key,
        order_by,
        partition_by: _,
        cluster_by,
        clustered_by,
        inherits: _,
        partition_of: _,
        for_values: _,
        strict,
        copy_grants,
        enable_schema_evolution,
        change_tracking,
        data_retention_time_in_days,
        max_data_extension_time_in_days,
        default_ddl_collation,
        with_aggregation_policy,
        with_row_access_policy,
        with_storage_lifecycle_policy,
        with_tags,
        external_volume,
        base_location,
        catalog,
        catalog_sync,
        storage_serialization_policy,
        target_lag,
        warehouse,
        refresh_mode,
        initialize,
        require_user,
        diststyle,
        distkey,
        sortkey,
        backup,
    } = create;
    // The parser knows no SKEWED.
    let is_distributed = !matches!(hive_distribution, ast::HiveDistributionStyle::NONE);
    let formats = hive_formats.as_ref();
    let row_format = formats.is_some_and(|formats| formats.row_format.is_some());
    let properties = formats.is_some_and(|formats| formats.serde_properties.is_some());
    let storage = formats.is_some_and(|formats| formats.storage.is_some());
    let hive_location = formats.is_some_and(|formats| formats.location.is_some());
    let options = match table_options {
        ast::CreateTableOptions::None | ast::CreateTableOptions::With(_) => None,
        ast::CreateTableOptions::Options(_) => Some(Keyword::OPTIONS),
        ast::CreateTableOptions::TableProperties(_) => Some(Keyword::TBLPROPERTIES),
        ast::CreateTableOptions::Plain(options) => plain_option(options),
    };
    refuse_keywords(&[
        (*or_replace, Keyword::TABLE),
        (*external, Keyword::EXTERNAL),
        (*dynamic, Keyword::DYNAMIC),
        (global.is_some() && !temporary, Keyword::TABLE),
        (*transient, Keyword::TRANSIENT),
        (*volatile, Keyword::VOLATILE),
        (*iceberg, Keyword::ICEBERG),
        (*snapshot, Keyword::SNAPSHOT),
        (is_distributed, Keyword::PARTITIONED),
        (row_format, Keyword::ROW),
        (properties, Keyword::SERDEPROPERTIES),
        (storage || file_format.is_some(), Keyword::STORED),
        (hive_location || location.is_some(), Keyword::LOCATION),
        (options.is_some(), options.unwrap_or(Keyword::NoKeyword)),
        (query.is_some(), Keyword::AS),
        (*without_rowid, Keyword::ROWID),
        (like.is_some(), Keyword::LIKE),
        (clone.is_some(), Keyword::CLONE),
        (version.is_some(), Keyword::FOR),
        (comment.is_some(), Keyword::COMMENT),
        (on_cluster.is_some(), Keyword::ON),
        (primary_key.is_some(), Keyword::PRIMARY),
        (order_by.is_some(), Keyword::ORDER),
        (cluster_by.is_some(), Keyword::CLUSTER),
        (clustered_by.is_some(), Keyword::CLUSTERED),
        (*strict, Keyword::STRICT),
        (*copy_grants, Keyword::COPY),
        (
            enable_schema_evolution.is_some(),
            Keyword::ENABLE_SCHEMA_EVOLUTION,
        ),
        (change_tracking.is_some(), Keyword::CHANGE_TRACKING),
        (
            data_retention_time_in_days.is_some(),
            Keyword::DATA_RETENTION_TIME_IN_DAYS,
        ),
        (
            max_data_extension_time_in_days.is_some(),
            Keyword::MAX_DATA_EXTENSION_TIME_IN_DAYS,
        ),
        (
            default_ddl_collation.is_some(),
            Keyword::DEFAULT_DDL_COLLATION,
        ),
        (with_aggregation_policy.is_some(), Keyword::AGGREGATION),
        (with_row_access_policy.is_some(), Keyword::ROW),
        (with_storage_lifecycle_policy.is_some(), Keyword::STORAGE),
        (with_tags.is_some(), Keyword::TAG),
        (external_volume.is_some(), Keyword::EXTERNAL_VOLUME),
        (base_location.is_some(), Keyword::BASE_LOCATION),
        (catalog.is_some(), Keyword::CATALOG),
        (catalog_sync.is_some(), Keyword::CATALOG_SYNC),
        (
            storage_serialization_policy.is_some(),
            Keyword::STORAGE_SERIALIZATION_POLICY,
        ),
        (target_lag.is_some(), Keyword::TARGET_LAG),
        (warehouse.is_some(), Keyword::WAREHOUSE),
        (refresh_mode.is_some(), Keyword::REFRESH_MODE),
        (initialize.is_some(), Keyword::INITIALIZE),
        (*require_user, Keyword::REQUIRE),
        (diststyle.is_some(), Keyword::DISTSTYLE),
        (distkey.is_some(), Keyword::DISTKEY),
        (sortkey.is_some(), Keyword::SORTKEY),
        (backup.is_some(), Keyword::BACKUP),
    ])
}

/// Returns the keyword of the first option of another system that stands behind a table by itself, as
/// `ENGINE = x`.
fn plain_option(options: &[ast::SqlOption]) -> Option<Keyword> {
    let foreign = |option: &&ast::SqlOption| !matches!(option, ast::SqlOption::TableSpace(_));
    let first = options.iter().find(foreign)?.to_string();
    let word = first.split(['=', ' ', '(']).next().unwrap_or_default();
    let token = Token::make_word(word, None);
    match token {
        Token::Word(word) => Some(word.keyword),
        _ => None,
    }
}

fn refuse_unsupported(create: &ast::CreateTable) -> Result<()> {
    let is_partitioned = create.partition_by.is_some() || create.partition_of.is_some();
    super::refuse_first(&[
        (create.inherits.is_some(), "INHERITS"),
        (is_partitioned, "partitioning"),
    ])?;
    if create.on_commit.is_some() && !create.temporary {
        let message = "ON COMMIT can only be used on temporary tables";
        return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message));
    }
    match &create.table_options {
        ast::CreateTableOptions::With(options) => Owner::NewTable.accept_written(options),
        _ => Ok(()),
    }
}
