//! Filling the register.

use weft::{Database, IndexDefinition, Transaction};

use super::population::{Entry, entry};
use super::{Settings, Subscriber, Tatp};
use crate::loading::in_batches;
use crate::progress::Step;
use crate::{Error, Result};

/// Subscribers per transaction.
const BATCH: u64 = 4;

/// See [`Application::load`](crate::application::Application::load).
pub(super) fn load(settings: &Settings, database: &Database, step: &Step) -> Result<Tatp> {
    settings.check()?;
    let register = Tatp::create(settings, database).map_err(Error::database)?;
    let all = 1..u64::from(settings.subscribers) + 1;
    in_batches(database, all, BATCH, Some(step), |subscribers| {
        let register = register.clone();
        async move |txn: &Transaction| {
            for s_id in subscribers.clone() {
                let s_id = s_id as u32;
                register.enter(txn, s_id, &entry(s_id)).await?;
            }
            Ok(())
        }
    })?;
    Ok(register)
}

impl Tatp {
    /// A register without subscribers.
    fn create(settings: &Settings, database: &Database) -> weft::Result<Tatp> {
        let subscribers = database.create_table("subscriber")?;
        let by_number =
            IndexDefinition::unique("subscriber_by_sub_nbr", |_: u32, subscriber: Subscriber| {
                Some(subscriber.sub_nbr)
            });
        Ok(Tatp {
            settings: *settings,
            by_number: database.create_index_blocking(&subscribers, by_number)?,
            subscribers,
            access: database.create_table("access_info")?,
            facilities: database.create_table("special_facility")?,
            forwardings: database.create_table("call_forwarding")?,
        })
    }

    async fn enter(&self, txn: &Transaction, s_id: u32, entry: &Entry) -> weft::Result<()> {
        txn.insert(&self.subscribers, &s_id, &entry.subscriber)
            .await?;
        for (ai_type, row) in &entry.access {
            txn.insert(&self.access, &(s_id, *ai_type), row).await?;
        }
        for facility in &entry.facilities {
            let key = (s_id, facility.sf_type);
            txn.insert(&self.facilities, &key, &facility.row).await?;
            for (start_time, row) in &facility.forwardings {
                let key = (s_id, facility.sf_type, *start_time);
                txn.insert(&self.forwardings, &key, row).await?;
            }
        }
        Ok(())
    }
}
