//! What only the catalog knows of values and types: names that users gave.

use std::borrow::Cow;

use crate::EnumId;

/// Names of what users made. Each answer is `None` where there is no such thing.
pub trait Names {
    /// The name of an enum type, quoted if needed.
    fn enum_name(&self, _id: EnumId) -> Option<&str> {
        None
    }

    /// The label of an enum at a position: a number that values of the label are stored as. Labels
    /// sort as their positions do; these need not be consecutive.
    fn enum_label(&self, _id: EnumId, _position: u32) -> Option<&str> {
        None
    }

    /// The position of an enum's label.
    fn enum_position(&self, _id: EnumId, _label: &str) -> Option<u32> {
        None
    }

    /// The positions of all labels of an enum, ascending.
    fn enum_positions(&self, _id: EnumId) -> Option<&[u32]> {
        None
    }

    /// The enum that is called so; for `regtype`.
    fn enum_named(&self, _name: &str) -> Option<EnumId> {
        None
    }

    /// The name of a relation as the search path has it written.
    fn relation_name(&self, _oid: u32) -> Option<Cow<'_, str>> {
        None
    }

    /// The oid of the relation that is called so.
    fn relation_named(&self, _name: &str) -> Option<u32> {
        None
    }
}

/// Where there is no catalog: nobody has made anything.
#[derive(Debug, Clone, Copy)]
pub struct NoNames;

impl Names for NoNames {}
