//! Transactions as `isolation` generates them: on few lists and registers, and on rows
//! that come and go under scans.

use std::ops::Bound;

use engine::{Direction, Error};
use interleave::Policy;
use isolation::generate::{GROUP_KEYS, LISTS, Step};

use super::Mood;
use crate::{client::Client, history::Key};

const PREFIX: u8 = b'g';

fn key(number: u64) -> Key {
    let mut key = vec![PREFIX];
    key.extend(number.to_be_bytes());
    key
}

/// Returns whether a record is a list of elements, of eight bytes each.
pub(crate) fn is_list(key: &[u8]) -> bool {
    match key {
        [PREFIX, number @ ..] => number
            .first_chunk()
            .is_some_and(|number| u64::from_be_bytes(*number) % GROUP_KEYS < LISTS),
        _ => false,
    }
}

pub(super) async fn run<P: Policy>(client: &Client<'_>, mood: &mut Mood<'_>) -> Result<(), Error> {
    let (steps, _) = mood.world.generator.next(&mut mood.dice);
    for step in steps {
        carry_out::<P>(client, step).await?;
        mood.pause().await;
    }
    Ok(())
}

async fn carry_out<P: Policy>(client: &Client<'_>, step: Step) -> Result<(), Error> {
    match step {
        Step::Read(number) => drop(client.get::<P>(&key(number)).await?),
        Step::Append(number) => {
            let list = key(number);
            let mut value = client.get::<P>(&list).await?.unwrap_or_default();
            value.extend(client.unique().to_be_bytes());
            client.upsert::<P>(&list, &value).await?;
        }
        Step::Modify(number) => {
            client.get::<P>(&key(number)).await?;
            client.upsert::<P>(&key(number), &client.value(0)).await?;
        }
        Step::Overwrite(number) => client.upsert::<P>(&key(number), &client.value(8)).await?,
        Step::Scan(from, to) => {
            let range = (Bound::Included(key(from)), Bound::Excluded(key(to)));
            client
                .scan::<P>(range, Direction::Forward, usize::MAX)
                .await?;
        }
        Step::Insert(number) => {
            client.insert::<P>(&key(number), &client.value(0)).await?;
        }
        Step::Update(number) => {
            if client.get::<P>(&key(number)).await?.is_some() {
                client.update::<P>(&key(number), &client.value(16)).await?;
            }
        }
        Step::Delete(number) => {
            client.delete::<P>(&key(number)).await?;
        }
    }
    Ok(())
}
