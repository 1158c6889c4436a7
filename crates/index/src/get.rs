//! Point lookup under a policy. The lookup itself is in `lookup.rs`.

use interleave::Policy;
use memory::Pin;

use crate::{descend::NODE_POINT, look_up, lookup::Lookup, tree::Tree};

impl Tree {
    /// Returns a lookup of `key`, to be stepped under `pin`.
    #[inline(always)]
    pub fn lookup<'t, 'k>(&'t self, pin: &Pin<'_>, key: &'k [u8]) -> Lookup<'t, 'k> {
        Lookup::new(self, pin, key)
    }

    /// Returns the value of `key`.
    ///
    /// # Suspension
    /// Suspends at each line that is probably not in the cache, under policy `P`.
    #[inline]
    pub async fn get<P: Policy>(&self, pin: &Pin<'_>, key: &[u8]) -> Option<u64> {
        let mut lookup = self.lookup(pin, key);
        look_up!(P, NODE_POINT, lookup)
    }
}
