//! Point lookup under a policy. The lookup itself is in `lookup.rs`.

use interleave::Policy;
use memory::Pin;

use crate::{
    descend::NODE_POINT,
    lookup::{Lookup, Step},
    observe::{NodeVersion, Observer},
    tree::Tree,
};

impl Tree {
    /// A lookup of `key`, to be stepped under `pin`.
    #[inline(always)]
    pub fn lookup<'t, 'k>(&'t self, pin: &Pin<'_>, key: &'k [u8]) -> Lookup<'t, 'k> {
        Lookup::new(self, pin, key)
    }

    /// The value of `key`.
    ///
    /// # Suspension
    /// At each line that is probably not in the cache, under policy `P`.
    #[inline]
    pub async fn get<P: Policy>(&self, pin: &Pin<'_>, key: &[u8]) -> Option<u64> {
        self.get_observed::<P, ()>(pin, key, ()).await
    }

    /// [`Tree::get`] that tells `observer` on which border an absence depends.
    /// (A presence is the business of whoever owns the record.)
    ///
    /// # Suspension
    /// As for [`Tree::get`].
    #[inline]
    pub async fn get_observed<P: Policy, O: Observer>(
        &self,
        pin: &Pin<'_>,
        key: &[u8],
        mut observer: O,
    ) -> Option<u64> {
        let mut lookup = self.lookup(pin, key);
        let found = loop {
            match lookup.step() {
                Step::Touch(address, bytes) => {
                    P::touch(NODE_POINT.at(lookup.touches()), address, bytes).await
                }
                Step::Done(found) => break found,
            }
        };
        if O::ACTIVE
            && found.is_none()
            && let Some((border, version)) = lookup.absent_from()
        {
            observer.depended(NodeVersion::new(self.nodes.border_id(border), version));
        }
        found
    }
}
