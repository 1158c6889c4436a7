//! Prepared statements and portals, by name.

use std::collections::HashMap;

/// Values by name. The value without a name is used most and is found without
/// hashing.
#[derive(Debug)]
pub struct Named<T> {
    unnamed: Option<T>,
    named: HashMap<Box<str>, T>,
}

impl<T> Default for Named<T> {
    fn default() -> Named<T> {
        Named {
            unnamed: None,
            named: HashMap::new(),
        }
    }
}

impl<T> Named<T> {
    /// Returns the value of `name`; `""` is the unnamed one.
    pub fn get(&self, name: &str) -> Option<&T> {
        match name {
            "" => self.unnamed.as_ref(),
            name => self.named.get(name),
        }
    }

    /// Keeps `value` under `name`, and returns the value that was there before.
    pub fn insert(&mut self, name: &str, value: T) -> Option<T> {
        match name {
            "" => self.unnamed.replace(value),
            name => self.named.insert(name.into(), value),
        }
    }

    /// Removes the value of `name`, if there is one, and returns it.
    pub fn remove(&mut self, name: &str) -> Option<T> {
        match name {
            "" => self.unnamed.take(),
            name => self.named.remove(name),
        }
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.unnamed = None;
        self.named.clear();
    }

    /// Returns names and values, without the unnamed one.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.named.iter().map(|(name, value)| (&**name, value))
    }
}
