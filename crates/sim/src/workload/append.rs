//! Lists that grow by unique elements. A reader of a list sees the order in
//! which its elements were appended, so every read tells a lot.

use engine::{Error, Isolation};
use interleave::Policy;

use super::Mood;
use crate::client::Client;

/// First byte of the lists' keys.
pub(crate) const PREFIX: u8 = b'a';

/// Returns the elements of a list.
pub(crate) fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.chunks(8)
}

pub(super) async fn run<P: Policy>(client: &Client<'_>, mood: &mut Mood<'_>) -> Result<(), Error> {
    for _ in 0..mood.dice.between(1, 4) {
        let list = mood.dice.below(mood.world.parameters.lists) as u8;
        let key = [PREFIX, list];
        if client.isolation() != Isolation::ReadCommitted && mood.dice.chance(200) {
            let element = client.unique().to_be_bytes();
            let append = |value: &mut Vec<u8>| value.extend(element);
            client.modify::<P>(&key, append).await?;
            mood.pause().await;
            continue;
        }
        let found = client.get::<P>(&key).await?;
        mood.pause().await;
        if mood.dice.chance(250) {
            continue;
        }
        let mut value = found.clone().unwrap_or_default();
        value.extend(client.unique().to_be_bytes());
        if found.is_none() {
            client.insert::<P>(&key, &value).await?;
        } else if mood.dice.chance(500) {
            client.update::<P>(&key, &value).await?;
        } else {
            client.upsert::<P>(&key, &value).await?;
        }
        mood.pause().await;
    }
    Ok(())
}
