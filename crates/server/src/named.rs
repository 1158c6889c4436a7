//! Prepared statements and portals, by name.

use std::collections::HashMap;

/// Things by name. The one without a name is used most and is found without hashing.
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
    /// The one of this name; `""` is the unnamed one.
    pub fn get(&self, name: &str) -> Option<&T> {
        match name {
            "" => self.unnamed.as_ref(),
            name => self.named.get(name),
        }
    }

    /// Keeps it under this name, and gives what was there before.
    pub fn insert(&mut self, name: &str, value: T) -> Option<T> {
        match name {
            "" => self.unnamed.replace(value),
            name => self.named.insert(name.into(), value),
        }
    }

    /// Takes it away, if it is there.
    pub fn remove(&mut self, name: &str) -> Option<T> {
        match name {
            "" => self.unnamed.take(),
            name => self.named.remove(name),
        }
    }

    /// Takes all of them away.
    pub fn clear(&mut self) {
        self.unnamed = None;
        self.named.clear();
    }

    /// Names and things; not the unnamed one.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.named.iter().map(|(name, value)| (&**name, value))
    }
}
