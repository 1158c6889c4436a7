//! The catalog's knowledge of values and types: names that users gave.

use std::borrow::Cow;

use crate::EnumId;

/// Names of user-defined objects. Each answer is `None` if there is no such object.
pub trait Names {
    /// Returns the name of an enum type, quoted if needed.
    fn enum_name(&self, _id: EnumId) -> Option<&str> {
        None
    }

    /// Returns the label of an enum at a position, the number that its values are stored as.
    /// Labels sort as their positions do; these need not be consecutive.
    fn enum_label(&self, _id: EnumId, _position: u32) -> Option<&str> {
        None
    }

    /// Returns the position of an enum's label.
    fn enum_position(&self, _id: EnumId, _label: &str) -> Option<u32> {
        None
    }

    /// Returns the positions of all labels of an enum, ascending.
    fn enum_positions(&self, _id: EnumId) -> Option<&[u32]> {
        None
    }

    /// Returns the enum of a name; for `regtype`.
    fn enum_named(&self, _name: &str) -> Option<EnumId> {
        None
    }

    /// Returns the name of a relation as it is written under the search path.
    fn relation_name(&self, _oid: u32) -> Option<Cow<'_, str>> {
        None
    }

    /// Returns the oid of the relation of a name, quoted and qualified as in SQL.
    fn relation_named(&self, _name: &str) -> Option<u32> {
        None
    }

    /// Returns the name of a schema, quoted if needed.
    fn schema_name(&self, _oid: u32) -> Option<Cow<'_, str>> {
        None
    }

    /// Returns the oid of a schema.
    fn schema_named(&self, _name: &str) -> Option<u32> {
        None
    }

    /// Returns the name of a role, quoted if needed.
    fn role_name(&self, _oid: u32) -> Option<Cow<'_, str>> {
        None
    }

    /// Returns the oid of a role.
    fn role_named(&self, _name: &str) -> Option<u32> {
        None
    }

    /// Returns the name of a function.
    fn function_name(&self, _oid: u32) -> Option<Cow<'_, str>> {
        None
    }

    /// Returns the oid of the function of a name.
    fn function_named(&self, _name: &str) -> Option<u32> {
        None
    }
}

/// The names without a catalog: there are none.
#[derive(Debug, Clone, Copy)]
pub struct NoNames;

impl Names for NoNames {}
