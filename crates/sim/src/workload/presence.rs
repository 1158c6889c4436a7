//! Keys come and go, one at a time and in waves, so that nodes split and vanish
//! and RIDs are used again, while scans look on.

use std::ops::Bound;

use engine::{Direction, Error};
use interleave::{Policy, Sequential};

use super::{Mood, prefixed};
use crate::{
    client::{Client, Range},
    dice::Dice,
    history::Key,
    world::World,
};

const PREFIX: u8 = b'p';

/// Returns keys of several shapes: short ones, long ones with a common beginning
/// (deeper layers of the index), and prefixes of others.
fn key(number: usize) -> Key {
    let low = number as u8;
    let high = (number >> 8) as u8;
    match number % 4 {
        0 | 1 => vec![PREFIX, 1, high, low],
        2 => [b"p\x02 a beginning that many share ", &[high, low][..]].concat(),
        _ => [&b"p\x03"[..], &vec![b'x'; number % 40], &[low][..]].concat(),
    }
}

fn random_key(mood: &mut Mood<'_>) -> Key {
    key(mood.dice.below(mood.world.parameters.presence_keys))
}

pub(super) async fn load(client: &Client<'_>, world: &World, dice: &mut Dice) -> Result<(), Error> {
    for number in 0..world.parameters.presence_keys {
        if dice.chance(400) {
            let value = client.value(0);
            client.insert::<Sequential>(&key(number), &value).await?;
        }
    }
    Ok(())
}

pub(super) async fn run<P: Policy>(client: &Client<'_>, mood: &mut Mood<'_>) -> Result<(), Error> {
    for _ in 0..mood.dice.between(1, 5) {
        match mood.dice.below(11) {
            0..=1 => scan::<P>(client, mood).await?,
            2 => wave::<P>(client, mood).await?,
            _ if mood.joins() => {
                let (a, b) = (random_key(mood), random_key(mood));
                // Both operations often use one record.
                let b = if mood.dice.chance(400) { a.clone() } else { b };
                pair::<P>(client, mood, &a, &b).await?;
            }
            _ => {
                let key = random_key(mood);
                touch::<P>(client, mood, &key).await?;
            }
        }
        mood.pause().await;
    }
    Ok(())
}

async fn touch<P: Policy>(
    client: &Client<'_>,
    mood: &mut Mood<'_>,
    key: &[u8],
) -> Result<(), Error> {
    let value = client.value(mood.padding());
    if mood.dice.chance(mood.world.parameters.faults.abandon) {
        let turns = mood.dice.below(6);
        return client.upsert_within::<P>(turns, key, &value).await;
    }
    match mood.dice.below(6) {
        0 => client.get::<P>(key).await.map(drop),
        1 => client.update::<P>(key, &value).await.map(drop),
        2 => client.upsert::<P>(key, &value).await,
        3 => client.insert::<P>(key, &value).await.map(drop),
        _ => client.delete::<P>(key).await.map(drop),
    }
}

/// Runs two operations at once.
async fn pair<P: Policy>(
    client: &Client<'_>,
    mood: &mut Mood<'_>,
    a: &[u8],
    b: &[u8],
) -> Result<(), Error> {
    let (value, other) = (client.value(mood.padding()), client.value(mood.padding()));
    match mood.dice.below(6) {
        0 => drop(
            client
                .both(client.get::<P>(a), client.upsert::<P>(b, &value))
                .await?,
        ),
        1 => drop(
            client
                .both(client.upsert::<P>(a, &value), client.upsert::<P>(b, &other))
                .await?,
        ),
        2 => drop(
            client
                .both(client.insert::<P>(a, &value), client.delete::<P>(b))
                .await?,
        ),
        3 => drop(
            client
                .both(client.insert::<P>(a, &value), client.insert::<P>(b, &other))
                .await?,
        ),
        4 => drop(
            client
                .both(client.update::<P>(a, &value), client.get::<P>(b))
                .await?,
        ),
        _ => {
            let range = (Bound::Unbounded, Bound::Unbounded);
            let scan = client.scan::<P>(range, Direction::Forward, usize::MAX);
            client.both(scan, client.upsert::<P>(b, &value)).await?;
        }
    }
    Ok(())
}

/// Inserts or deletes many neighbours.
async fn wave<P: Policy>(client: &Client<'_>, mood: &mut Mood<'_>) -> Result<(), Error> {
    let keys = mood.world.parameters.presence_keys;
    let first = mood.dice.below(keys);
    let inserts = mood.dice.chance(400);
    for number in (first..keys).take(mood.dice.between(3, 25)) {
        if inserts {
            let value = client.value(0);
            client.insert::<P>(&key(number), &value).await?;
        } else {
            client.delete::<P>(&key(number)).await?;
        }
    }
    Ok(())
}

async fn scan<P: Policy>(client: &Client<'_>, mood: &mut Mood<'_>) -> Result<(), Error> {
    let range: Range = if mood.dice.chance(500) {
        prefixed(PREFIX)
    } else {
        (bound(mood), bound(mood))
    };
    let direction = if mood.dice.chance(500) {
        Direction::Forward
    } else {
        Direction::Backward
    };
    let limit = if mood.dice.chance(300) {
        mood.dice.between(1, 20)
    } else {
        usize::MAX
    };
    client.scan::<P>(range, direction, limit).await?;
    Ok(())
}

fn bound(mood: &mut Mood<'_>) -> Bound<Key> {
    match mood.dice.below(5) {
        0 => Bound::Unbounded,
        1 | 2 => Bound::Included(random_key(mood)),
        _ => Bound::Excluded(random_key(mood)),
    }
}
