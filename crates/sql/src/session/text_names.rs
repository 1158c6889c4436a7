//! Names that stored texts have in them. No text is written anew when what it names gets another name,
//! and the change is refused therefore.
//!
//! A text that depends on a thing need not name it: the literal in `color default 'red'` is of the type
//! and names it nowhere, and `nextval` in a default has its sequence's number. Therefore the text is asked
//! (`syntax/kept_text.rs`).

use types::{Result, SqlError};

use super::Session;
use catalog::{Column, Dependency, Object, ObjectId, for_each_expression};

impl Session {
    /// # Errors
    /// 0A000, if `names` is true for the text of a view or of a table's expression that depends on an
    /// object as a whole.
    pub(super) fn no_text_names(
        &self,
        id: ObjectId,
        what: &str,
        names: impl Fn(&str) -> bool,
    ) -> Result<()> {
        self.no_expression_names(id, what, |_, text| names(text))
    }

    /// Refuses the same, where `names` is also given the column whose expression it is.
    ///
    /// # Errors
    /// As for [`Session::no_text_names`].
    pub(super) fn no_expression_names(
        &self,
        id: ObjectId,
        what: &str,
        names: impl Fn(Option<&Column>, &str) -> bool,
    ) -> Result<()> {
        let on = Dependency::on(id);
        let catalog = self.transaction.catalog();
        for object in catalog.objects() {
            let mut is_named = false;
            match object {
                Object::View(view) => {
                    is_named = view.dependencies.contains(&on) && names(None, &view.text);
                }
                Object::Table(table) => for_each_expression(table, &mut |column, expression| {
                    is_named |=
                        expression.dependencies.contains(&on) && names(column, &expression.text);
                }),
                _ => {}
            }
            if is_named {
                return Err(named_by(object, what));
            }
        }
        Ok(())
    }
}

/// Returns the refusal of what cannot be done, since a text of this object names it.
fn named_by(object: &Object, what: &str) -> SqlError {
    let dependent = format!("{} \"{}\"", object.kind().noun(), object.name());
    SqlError::unsupported(format_args!("{what} that {dependent} names"))
        .hint("Drop what names it, and create that again.")
}

/// Returns whether a text that depends on a relation has its name rather than its number.
pub(super) fn names_relation(text: &str, id: ObjectId) -> bool {
    !text.contains(&format!("'{id}'"))
}
