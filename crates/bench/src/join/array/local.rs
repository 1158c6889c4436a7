//! A sorted array and its binary search.

use std::hint::select_unpredictable;

use interleave::{Lookup, Point, Policy};

use crate::join::Technique;

pub(super) struct Sorted<T>(pub(super) Vec<T>);

impl<T: Copy + Ord> Lookup<T> for Sorted<T> {
    type Found = Result<usize, usize>;

    #[inline(always)]
    async fn look_up<P: Policy>(&self, key: T) -> Result<usize, usize> {
        let array = self.0.as_slice();
        let (mut low, mut size) = (0, array.len());
        while size > 1 {
            let half = size / 2;
            let probe = &array[low + half - 1];
            P::touch(Point::new("probe"), probe, size_of::<T>()).await;
            low = select_unpredictable(*probe < key, low + half, low);
            size -= half;
        }
        let low = low + usize::from(array.get(low).is_some_and(|value| *value < key));
        match array.get(low) {
            Some(value) if *value == key => Ok(low),
            _ => Err(low),
        }
    }
}

type Search<T> = fn(&[T], &[T], usize, &mut [usize]);

/// The techniques without a body of their own here, by what they are called.
pub(super) fn search<T: Copy + Ord>(technique: Technique) -> Option<Search<T>> {
    match technique {
        Technique::Std => Some(|array, keys, _, answers| {
            for (key, answer) in keys.iter().zip(answers) {
                *answer = array.partition_point(|value| value < key);
            }
        }),
        Technique::BranchFree => Some(|array, keys, _, answers| {
            for (key, answer) in keys.iter().zip(answers) {
                *answer = branch_free(array, *key);
            }
        }),
        _ => None,
    }
}

/// The first place whose value is not below the key.
#[inline(always)]
fn branch_free<T: Copy + Ord>(array: &[T], key: T) -> usize {
    let (mut low, mut size) = (0, array.len());
    while size > 1 {
        let half = size / 2;
        let probe = &array[low + half - 1];
        low = select_unpredictable(*probe < key, low + half, low);
        size -= half;
    }
    low + usize::from(array.get(low).is_some_and(|value| *value < key))
}
