//! Registers that are overwritten blindly with unique values, and read twice.

use engine::Error;
use interleave::Policy;

use super::Mood;
use crate::client::Client;

const PREFIX: u8 = b'r';

pub(super) async fn run<P: Policy>(client: &Client<'_>, mood: &mut Mood<'_>) -> Result<(), Error> {
    for _ in 0..mood.dice.between(1, 4) {
        let register = mood.dice.below(mood.world.parameters.registers) as u8;
        let key = [PREFIX, register];
        if mood.dice.chance(500) {
            client.get::<P>(&key).await?;
            mood.pause().await;
            client.get::<P>(&key).await?;
        } else {
            let value = client.value(mood.padding());
            if mood.dice.chance(mood.world.parameters.faults.abandon) {
                let turns = mood.dice.below(6);
                client.upsert_within::<P>(turns, &key, &value).await?;
            } else {
                client.upsert::<P>(&key, &value).await?;
            }
        }
        mood.pause().await;
    }
    Ok(())
}
