//! Views: queries with names.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use types::{Type, TypeModifier};

use super::{Comments, Dependency, ObjectId, type_name};

/// A view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Its number.
    pub id: ObjectId,
    /// The schema it lies in.
    pub schema: ObjectId,
    /// Its name.
    pub name: Arc<str>,
    /// The query.
    pub text: Arc<str>,
    /// The schemas in which its names are looked for, in order: those of the search path under
    /// which it was defined. `pg_catalog` comes first unless it is among them.
    #[serde(default = "public")]
    pub search_path: Arc<[ObjectId]>,
    /// Its columns, in order.
    pub columns: Arc<[ViewColumn]>,
    /// What the query refers to, sorted if `names_columns`.
    pub dependencies: Arc<[Dependency]>,
    /// Whether `dependencies` has the columns that it reads. A view that was created before that
    /// was kept is taken to read all.
    #[serde(default)]
    pub names_columns: bool,
    /// The primary keys that its GROUP BY cannot be without, by their own numbers.
    #[serde(default)]
    pub grouped_by: Arc<[ObjectId]>,
    /// What is said of it and its parts.
    #[serde(default)]
    pub comments: Comments,
}

impl View {
    /// Whether it reads a column of a table or view, by its position from 0.
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

/// What names of views and of expressions were looked up in before these kept that.
pub(super) fn public() -> Arc<[ObjectId]> {
    [ObjectId::PUBLIC].into()
}

/// A column of a view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewColumn {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    #[serde(with = "type_name")]
    pub ty: Type,
    /// What is attached to the type.
    #[serde(with = "type_name::modifier")]
    pub modifier: TypeModifier,
}
