//! Records in several tables at once: a transaction is whole in all of them or in
//! none.

use engine::Error;
use interleave::Policy;

use super::Mood;
use crate::client::Client;

/// First byte of the keys; the number of the table is the second.
pub(crate) const PREFIX: u8 = b't';

/// Records per table.
const RECORDS: usize = 5;

pub(super) async fn run<P: Policy>(client: &Client<'_>, mood: &mut Mood<'_>) -> Result<(), Error> {
    for number in mood.world.further_tables() {
        let key = [PREFIX, number, mood.dice.below(RECORDS) as u8];
        match mood.dice.below(6) {
            0 => {}
            1 => drop(client.get::<P>(&key).await?),
            2 => drop(client.delete::<P>(&key).await?),
            _ => {
                let value = client.value(mood.padding());
                client.upsert::<P>(&key, &value).await?;
            }
        }
        mood.pause().await;
    }
    Ok(())
}
