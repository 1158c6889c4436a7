//! Events of a JSON text, and their listeners.

use crate::{JsonbBuilder, Numeric, Result, Scratch};

/// A listener to the events of a text.
pub(crate) trait Events {
    /// Whether strings and numbers are wanted; if not, escapes are checked for their form only.
    const WANTS_VALUES: bool;

    fn null(&mut self);
    fn boolean(&mut self, value: bool);
    fn number(&mut self, text: &str, scratch: &Scratch) -> Result<()>;
    fn string(&mut self, value: &str);
    fn key(&mut self, key: &str);
    fn begin_array(&mut self) -> Result<()>;
    fn begin_object(&mut self) -> Result<()>;
    fn end(&mut self) -> Result<()>;
}

/// A listener that ignores all events, for checking whether a text is JSON.
pub(super) struct Nobody;

impl Events for Nobody {
    const WANTS_VALUES: bool = false;

    fn null(&mut self) {}
    fn boolean(&mut self, _: bool) {}
    fn number(&mut self, _: &str, _: &Scratch) -> Result<()> {
        Ok(())
    }
    fn string(&mut self, _: &str) {}
    fn key(&mut self, _: &str) {}
    fn begin_array(&mut self) -> Result<()> {
        Ok(())
    }
    fn begin_object(&mut self) -> Result<()> {
        Ok(())
    }
    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Events for JsonbBuilder<'_> {
    const WANTS_VALUES: bool = true;

    fn null(&mut self) {
        JsonbBuilder::null(self);
    }
    fn boolean(&mut self, value: bool) {
        JsonbBuilder::boolean(self, value);
    }
    fn number(&mut self, text: &str, scratch: &Scratch) -> Result<()> {
        JsonbBuilder::number(self, Numeric::parse(text, scratch)?);
        Ok(())
    }
    fn string(&mut self, value: &str) {
        JsonbBuilder::string(self, value);
    }
    fn key(&mut self, key: &str) {
        JsonbBuilder::key(self, key);
    }
    fn begin_array(&mut self) -> Result<()> {
        JsonbBuilder::begin_array(self)
    }
    fn begin_object(&mut self) -> Result<()> {
        JsonbBuilder::begin_object(self)
    }
    fn end(&mut self) -> Result<()> {
        JsonbBuilder::end(self)
    }
}
