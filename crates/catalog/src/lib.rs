//! The SQL catalog: schemas, tables, indexes, sequences, views, types, roles.
//!
//! A [`Catalog`] is an immutable version of it, shared by all sessions; a statement is bound
//! against one. It consists of descriptors behind `Arc`s, which do not change either: an altered
//! table is another descriptor. `docs/design/sql.md` tells what is stored, how versions work, and
//! why DDL is safe beside DML.
//!
//! The crate knows definitions and how they are stored. It never knows relations, plans or
//! sessions.
//!
//! | part | file |
//! | --- | --- |
//! | descriptors | `object.rs`, `table.rs`, `index.rs`, `constraint.rs`, `statistics_object.rs`, `sequence.rs`, `view.rs`, `schema.rs`, `role.rs`, `enumeration.rs` |
//! | expressions that are kept as text, types as they are written down | `expression.rs`, `type_name.rs` |
//! | keys for rows of tables without a primary key | `row_numbers.rs` |
//! | one version, and names in it | `snapshot.rs`, `names.rs` |
//! | the newest version, for all; opening a database | `store.rs`, `record.rs` |
//! | changes of a transaction | `change.rs` |
//! | relations that every database has | `system.rs`, `system/` |
//! | DDL | `ddl.rs`, `ddl/` |
//! | dependencies | `dependents.rs` |
//! | sequences' values | `counter.rs`, `counters.rs`, `session_values.rs` |
//! | statistics of tables' values | `statistics.rs` |

mod change;
mod comment;
mod constraint;
mod counter;
mod counters;
mod ddl;
mod dependents;
mod enumeration;
mod expression;
mod failure;
mod index;
mod names;
mod object;
pub mod postgres;
mod record;
mod role;
mod row_numbers;
mod schema;
mod sequence;
mod session_values;
mod snapshot;
mod statistics;
mod statistics_object;
mod store;
pub mod system;
mod table;
#[cfg(test)]
mod tests;
mod type_name;
mod view;

pub use self::{
    change::{Changes, Mark},
    comment::{Comments, Part},
    constraint::{Check, ForeignKey, MatchKind, PrimaryKey, ReferentialAction, Unique},
    counter::CounterState,
    ddl::{
        Behavior, Constraint, Ddl, Dropped, LabelPlace, NewCheck, NewIndex, NewTable, NewUnique,
        PutOff, Target, create_index_concurrently,
    },
    enumeration::EnumType,
    expression::{Dependency, StoredExpression},
    failure::write_failed,
    index::{Index, IndexColumn, IndexKey},
    object::{Kind, Object, ObjectId},
    role::Role,
    row_numbers::RowNumbers,
    schema::Schema,
    sequence::{OwnedBy, Sequence, SequenceOptions},
    session_values::SessionValues,
    snapshot::{Catalog, NameClass, Relation, SearchPath},
    statistics::{
        ColumnDependency, ColumnStatistics, CommonGroup, CommonValue, Distinct, DistinctGroups,
        GroupStatistics, StatisticsSlot, StoredType, StoredValue, TableStatistics,
    },
    statistics_object::{STATISTICS_COLUMNS_MAX, StatisticsKinds, StatisticsObject},
    store::{Catalogs, IndexKeys},
    table::{Column, Generation, IdentityMode, RowKey, Table, TableKind},
    view::{View, ViewColumn},
};
pub use self::{dependents::for_each_expression, failure::from_engine, names::Searched};
