//! The SQL catalog: schemas, tables, indexes, sequences, views, types, roles.
//!
//! A [`Catalog`] is an immutable picture of it, shared by all sessions; a statement is bound
//! against one. What it consists of are descriptors behind `Arc`s, which do not change either: an
//! altered table is another descriptor.
//!
//! | what | file |
//! | --- | --- |
//! | descriptors | `object.rs`, `table.rs`, `index.rs`, `constraint.rs`, `sequence.rs`, `view.rs`, `schema.rs`, `role.rs`, `enumeration.rs` |
//! | what is attached to expressions that are kept as text | `expression.rs` |
//! | the picture, and names in it | `snapshot.rs` |

mod constraint;
mod enumeration;
mod expression;
mod index;
mod object;
mod role;
mod schema;
mod sequence;
mod snapshot;
mod table;
mod type_name;
mod view;

pub use self::{
    constraint::{Check, ForeignKey, MatchKind, PrimaryKey, ReferentialAction, Unique},
    enumeration::EnumType,
    expression::{Dependency, StoredExpression},
    index::{Index, IndexColumn, IndexKey},
    object::{Kind, Object, ObjectId},
    role::Role,
    schema::Schema,
    sequence::{OwnedBy, Sequence, SequenceOptions},
    snapshot::{Catalog, NameClass, Relation, SearchPath},
    table::{Column, Generation, IdentityMode, RowKey, Table, TableKind},
    view::{View, ViewColumn},
};
