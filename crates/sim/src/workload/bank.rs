//! Accounts: transfers leave the total unchanged, and audits add it up.

use std::collections::BTreeMap;

use engine::{Direction, Error, Isolation};
use interleave::{Policy, Sequential};

use super::{Mood, prefixed};
use crate::{
    client::Client,
    history::{Key, Value},
    world::World,
};

/// First byte of the accounts' keys.
pub(crate) const PREFIX: u8 = b'b';
const INITIAL: u64 = 1000;

fn account(balance: u64, unique: u64) -> Value {
    [balance.to_be_bytes(), unique.to_be_bytes()].concat()
}

fn balance(value: &[u8]) -> u64 {
    value
        .first_chunk()
        .map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// Checks that the accounts of a state, if there are any, have their total.
pub(crate) fn check(state: &BTreeMap<Key, Value>) -> Result<(), String> {
    let accounts = state.range(vec![PREFIX]..vec![PREFIX + 1]);
    let (count, total) = accounts.fold((0, 0), |(count, total), (_, value)| {
        (count + 1, total + balance(value))
    });
    if total == INITIAL * count {
        return Ok(());
    }
    Err(format!("{count} accounts hold {total}"))
}

pub(super) async fn load(client: &Client<'_>, world: &World) -> Result<(), Error> {
    for number in 0..world.parameters.accounts as u8 {
        let value = account(INITIAL, client.unique());
        client
            .insert::<Sequential>(&[PREFIX, number], &value)
            .await?;
    }
    Ok(())
}

pub(super) async fn run<P: Policy>(client: &Client<'_>, mood: &mut Mood<'_>) -> Result<(), Error> {
    let accounts = mood.world.parameters.accounts;
    if mood.dice.chance(300) {
        return audit::<P>(client, mood).await;
    }
    let from = [PREFIX, mood.dice.below(accounts) as u8];
    let to = [PREFIX, mood.dice.below(accounts) as u8];
    if from == to {
        return Ok(());
    }
    let (have, has) = if mood.joins() {
        client
            .both(client.get::<P>(&from), client.get::<P>(&to))
            .await?
    } else {
        (client.get::<P>(&from).await?, client.get::<P>(&to).await?)
    };
    mood.pause().await;
    let (Some(have), Some(has)) = (have, has) else {
        return Ok(()); // The accounts could not be loaded.
    };
    let amount = mood.dice.below(balance(&have) as usize + 1) as u64;
    let less = account(balance(&have) - amount, client.unique());
    let more = account(balance(&has) + amount, client.unique());
    if mood.joins() {
        let (less, more) = (
            client.update::<P>(&from, &less),
            client.update::<P>(&to, &more),
        );
        client.both(less, more).await?;
    } else {
        client.update::<P>(&from, &less).await?;
        mood.pause().await;
        client.update::<P>(&to, &more).await?;
    }
    Ok(())
}

async fn audit<P: Policy>(client: &Client<'_>, mood: &mut Mood<'_>) -> Result<(), Error> {
    let direction = if mood.dice.chance(500) {
        Direction::Forward
    } else {
        Direction::Backward
    };
    let found = client
        .scan::<P>(prefixed(PREFIX), direction, usize::MAX)
        .await?;
    // Without snapshots, transfers are lost, and the total with them.
    if client.isolation() != Isolation::ReadCommitted && !found.is_empty() {
        let total = found.iter().map(|(_, value)| balance(value)).sum();
        let expected = INITIAL * mood.world.parameters.accounts as u64;
        client.claim("the total of all accounts", expected, total);
    }
    Ok(())
}
