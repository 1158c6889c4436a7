//! Comments on objects and their parts.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ObjectId;

/// The part of an object that a comment is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    /// The object itself.
    Whole,
    /// A column, by position.
    Column(u16),
    /// An index of a table.
    Index(ObjectId),
    /// A constraint of a table.
    Constraint(ObjectId),
    /// A statistics object of a table.
    Statistics(ObjectId),
}

/// The comments on an object and its parts. Comments on parts that are gone may be among them:
/// neither positions nor numbers are used again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Comments(Arc<[(Part, Arc<str>)]>);

impl Comments {
    /// Returns the comment on a part.
    pub fn on(&self, part: Part) -> Option<&str> {
        let mut all = self.0.iter();
        let found = all.find(|(on, _)| *on == part);
        found.map(|(_, text)| &**text)
    }

    /// Iterates over all comments.
    pub fn iter(&self) -> impl Iterator<Item = (Part, &str)> {
        self.0.iter().map(|(part, text)| (*part, &**text))
    }

    /// Returns these comments with another one on a part, or with none on it.
    #[must_use]
    pub fn with(&self, part: Part, text: Option<&str>) -> Comments {
        let others = self.0.iter().filter(|(on, _)| *on != part).cloned();
        let new = text.map(|text| (part, Arc::from(text)));
        Comments(others.chain(new).collect())
    }
}
