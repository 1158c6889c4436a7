//! Views: queries with names.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use types::{Type, TypeModifier};

use super::{Comments, Dependency, ObjectId, type_name};

/// A view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Number of the view.
    pub id: ObjectId,
    /// Schema of the view.
    pub schema: ObjectId,
    /// Name of the view.
    pub name: Arc<str>,
    /// Text of the query.
    pub text: Arc<str>,
    /// Schemas in which its names are looked up, in order: those of the search path under which it
    /// was defined. `pg_catalog` comes first unless it is among them.
    #[serde(default = "public")]
    pub search_path: Arc<[ObjectId]>,
    /// Columns, in order.
    pub columns: Arc<[ViewColumn]>,
    /// Objects that the query refers to, sorted if `names_columns`.
    pub dependencies: Arc<[Dependency]>,
    /// Whether `dependencies` has the columns that the query reads. A view that was created before
    /// columns were kept is taken to read all.
    #[serde(default)]
    pub names_columns: bool,
    /// Numbers of the primary keys that its GROUP BY cannot be without.
    #[serde(default)]
    pub grouped_by: Arc<[ObjectId]>,
    /// Comments on the view and its parts.
    #[serde(default)]
    pub comments: Comments,
}

impl View {
    /// Returns whether the view reads a column of a table or view, by its position from 0.
    pub fn reads(&self, relation: ObjectId, position: u16) -> bool {
        let column = Dependency::on_column(relation, position);
        if self.names_columns {
            return self.dependencies.binary_search(&column).is_ok();
        }
        let whole = Dependency::on(relation);
        self.dependencies
            .iter()
            .any(|on| *on == column || *on == whole)
    }
}

/// Returns the schemas in which names of older views and expressions were looked up, which do not
/// keep theirs.
pub(super) fn public() -> Arc<[ObjectId]> {
    [ObjectId::PUBLIC].into()
}

/// A column of a view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewColumn {
    /// Name of the column.
    pub name: Arc<str>,
    /// Type of the column.
    #[serde(with = "type_name")]
    pub ty: Type,
    /// Modifier of the type.
    #[serde(with = "type_name::modifier")]
    pub modifier: TypeModifier,
}
