//! The coroutine of [`SortedArray`](crate::sorted::SortedArray), resumed in three ways: directly, as intended; from a
//! root, through coroutines that await it; and in boxes.

use std::{future::Future, pin::Pin};

use interleave::{Execution, Lookup, Policy, look_up_all};

use super::GROUP_MAX;
use crate::sorted::search::lower_bound;

/// Runs coroutines that are resumed directly.
pub fn coroutines<T: Copy + Ord>(elements: &[T], keys: &[T], group: usize, places: &mut [usize]) {
    run(&Direct(elements), keys, group, places);
}

/// Runs each search within five coroutines, all of which are resumed to get to it.
pub fn coroutines_from_root<T: Copy + Ord>(
    elements: &[T],
    keys: &[T],
    group: usize,
    places: &mut [usize],
) {
    run(&FromRoot(elements), keys, group, places);
}

/// Runs each search in a box of its own, resumed by a virtual call.
pub fn coroutines_boxed<T: Copy + Ord>(
    elements: &[T],
    keys: &[T],
    group: usize,
    places: &mut [usize],
) {
    run(&Boxed(elements), keys, group, places);
}

fn run<T: Copy, L: Lookup<T, Found = Result<usize, usize>>>(
    structure: &L,
    keys: &[T],
    group: usize,
    places: &mut [usize],
) {
    assert!(places.len() >= keys.len());
    let group = Execution::in_flight(group.clamp(1, GROUP_MAX));
    look_up_all(structure, keys, group, |at, found| {
        places[at] = found.unwrap_or_else(|place| place);
    });
}

struct Direct<'e, T>(&'e [T]);

impl<T: Copy + Ord> Lookup<T> for Direct<'_, T> {
    type Found = Result<usize, usize>;

    #[inline(always)]
    fn look_up<P: Policy>(&self, key: T) -> impl Future<Output = Self::Found> {
        lower_bound::<P, T>(self.0, key)
    }
}

struct FromRoot<'e, T>(&'e [T]);

impl<T: Copy + Ord> Lookup<T> for FromRoot<'_, T> {
    type Found = Result<usize, usize>;

    async fn look_up<P: Policy>(&self, key: T) -> Self::Found {
        transaction::<P, T>(self.0, key).await
    }
}

async fn transaction<P: Policy, T: Copy + Ord>(elements: &[T], key: T) -> Result<usize, usize> {
    operation::<P, T>(elements, key).await
}

async fn operation<P: Policy, T: Copy + Ord>(elements: &[T], key: T) -> Result<usize, usize> {
    dictionary::<P, T>(elements, key).await
}

async fn dictionary<P: Policy, T: Copy + Ord>(elements: &[T], key: T) -> Result<usize, usize> {
    locate::<P, T>(elements, key).await
}

async fn locate<P: Policy, T: Copy + Ord>(elements: &[T], key: T) -> Result<usize, usize> {
    lower_bound::<P, T>(elements, key).await
}

struct Boxed<'e, T>(&'e [T]);

impl<T: Copy + Ord> Lookup<T> for Boxed<'_, T> {
    type Found = Result<usize, usize>;

    fn look_up<P: Policy>(&self, key: T) -> impl Future<Output = Self::Found> {
        let search: Pin<Box<dyn Future<Output = Self::Found> + '_>> =
            Box::pin(lower_bound::<P, T>(self.0, key));
        search
    }
}
