//! Registers that are overwritten blindly with unique values, and read twice. A
//! transaction that waits for others also locks registers, and takes writes back.

use engine::{Error, IfLocked, Isolation, Strength};
use interleave::Policy;

use super::Mood;
use crate::client::Client;

const PREFIX: u8 = b'r';

pub(super) async fn run<P: Policy>(client: &Client<'_>, mood: &mut Mood<'_>) -> Result<(), Error> {
    for _ in 0..mood.dice.between(1, 4) {
        let register = mood.dice.below(mood.world.parameters.registers) as u8;
        let key = [PREFIX, register];
        if client.waits() && mood.dice.chance(400) {
            if client.isolation() == Isolation::Snapshot && mood.dice.chance(600) {
                let strength = [Strength::Share, Strength::Update][mood.dice.below(2)];
                let if_locked = [IfLocked::Wait, IfLocked::Fail][mood.dice.below(2)];
                client.lock::<P>(&key, strength, if_locked).await?;
            } else {
                detour::<P>(client, mood).await?;
            }
        } else if mood.dice.chance(500) {
            client.get::<P>(&key).await?;
            mood.pause().await;
            client.get::<P>(&key).await?;
        } else {
            let value = client.value(padding(client, mood));
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

/// Draws a padding. A transaction that waits writes values of one length: whether a
/// version is overwritten in place or kept for a savepoint then makes no difference to
/// its memory.
fn padding(client: &Client<'_>, mood: &mut Mood<'_>) -> usize {
    if client.waits() { 0 } else { mood.padding() }
}

/// Writes some registers, and perhaps takes the writes back.
async fn detour<P: Policy>(client: &Client<'_>, mood: &mut Mood<'_>) -> Result<(), Error> {
    let mut savepoints = Vec::new();
    for _ in 0..mood.dice.between(1, 4) {
        if savepoints.is_empty() || mood.dice.chance(400) {
            savepoints.push(client.savepoint()?);
        }
        let key = [
            PREFIX,
            mood.dice.below(mood.world.parameters.registers) as u8,
        ];
        let value = client.value(padding(client, mood));
        client.upsert::<P>(&key, &value).await?;
        mood.pause().await;
    }
    if mood.dice.chance(600) {
        let savepoint = &savepoints[mood.dice.below(savepoints.len())];
        client.return_to(savepoint)?;
    }
    Ok(())
}
