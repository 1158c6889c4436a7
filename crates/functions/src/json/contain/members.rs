//! The elements of a long array of `jsonb`, in which many values are looked up.
//!
//! A scalar is found by bisection. A container is compared only with those elements that have its
//! rarest *print*: the hash of a node's path, which is keys and kinds of containers but no
//! positions, and of its value if it is a scalar. An element that contains another has all prints
//! of the other. Containers whose every print is common, though no element has them all, are still
//! compared pairwise.

use std::{
    cell::OnceCell,
    hash::{DefaultHasher, Hash, Hasher},
};

use types::{Jsonb, JsonbArray, JsonbView, Result};

/// Elements by their values and prints.
pub(super) struct Members<'a> {
    /// Scalars in the order of `jsonb`.
    scalars: Vec<Jsonb<'a>>,
    containers: Vec<Jsonb<'a>>,
    /// A print, and the position of a container that has it; in order, each pair once. Made when a
    /// container is first looked up.
    prints: OnceCell<Vec<(u64, u32)>>,
}

impl<'a> Members<'a> {
    /// Reads all elements. Linear but for the sorting.
    ///
    /// # Errors
    /// `XX001` if the array is damaged.
    pub(super) fn new(array: JsonbArray<'a>) -> Result<Self> {
        let (mut scalars, mut containers) = (Vec::new(), Vec::new());
        for element in array.iter() {
            let element = element?;
            if element.is_container() {
                containers.push(element);
            } else {
                scalars.push(element);
            }
        }
        scalars.sort_unstable_by(|one, two| one.compare(*two));
        Ok(Self {
            scalars,
            containers,
            prints: OnceCell::new(),
        })
    }

    /// Returns the prints of all containers, read to the bottom the first time.
    fn prints(&self) -> Result<&[(u64, u32)]> {
        if let Some(prints) = self.prints.get() {
            return Ok(prints);
        }
        let mut prints = Vec::new();
        for (position, container) in self.containers.iter().enumerate() {
            each_print(*container, 0, &mut |print| {
                prints.push((print, position as u32))
            })?;
        }
        prints.sort_unstable();
        prints.dedup();
        Ok(self.prints.get_or_init(|| prints))
    }

    /// Returns whether an element equals a scalar.
    pub(super) fn has_scalar(&self, wanted: Jsonb<'_>) -> bool {
        self.scalars
            .binary_search_by(|scalar| scalar.compare(wanted))
            .is_ok()
    }

    /// Returns all elements that are containers.
    pub(super) fn containers(&self) -> impl Iterator<Item = Jsonb<'a>> + use<'_, 'a> {
        self.containers.iter().copied()
    }

    /// Returns the elements that may contain a container: those that have its rarest print.
    ///
    /// # Errors
    /// `XX001` if a value is damaged.
    pub(super) fn candidates(
        &self,
        wanted: Jsonb<'_>,
    ) -> Result<impl Iterator<Item = Jsonb<'a>> + use<'_, 'a>> {
        let prints = self.prints()?;
        let mut rarest = prints;
        each_print(wanted, 0, &mut |print| {
            let first = prints.partition_point(|(other, _)| *other < print);
            let rest = &prints[first..];
            let found = &rest[..rest.partition_point(|(other, _)| *other == print)];
            if found.len() < rarest.len() {
                rarest = found;
            }
        })?;
        Ok(rarest
            .iter()
            .map(|(_, position)| self.containers[*position as usize]))
    }
}

/// Visits the prints of all nodes of a value below a path.
fn each_print(value: Jsonb<'_>, path: u64, visit: &mut impl FnMut(u64)) -> Result<()> {
    match value.view()? {
        JsonbView::Array(array) => {
            let path = extended(path, |state| b'['.hash(state));
            visit(path);
            for element in array.iter() {
                each_print(element?, path, visit)?;
            }
        }
        JsonbView::Object(object) => {
            let path = extended(path, |state| b'{'.hash(state));
            visit(path);
            for entry in object.iter() {
                let (key, value) = entry?;
                each_print(value, extended(path, |state| key.hash(state)), visit)?;
            }
        }
        _ => visit(extended(path, |state| value.feed_hasher(state))),
    }
    Ok(())
}

fn extended(path: u64, by: impl FnOnce(&mut DefaultHasher)) -> u64 {
    let mut state = DefaultHasher::new();
    path.hash(&mut state);
    by(&mut state);
    state.finish()
}
